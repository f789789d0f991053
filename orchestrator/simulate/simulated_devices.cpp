// SPDX-License-Identifier: Apache-2.0
#include "orchestrator/simulate/simulated_devices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/hash.hpp"
#include "sweeps/gpu_catalogue.hpp"

namespace batchsweep::orchestrator {
namespace {

// What a rehearsal's file says of a device name: declared, else of the catalogue (one of the two,
// as was checked when it was read).
protocol::DeviceOffer offer_of(const std::string& type, const sweeps::SweepSpec& sweep) {
  protocol::DeviceOffer offer;
  offer.type = type;
  offer.driver_name = "simulated " + type;
  if (const sweeps::GpuType* card = sweeps::find_gpu(type)) {
    offer.kind = sweeps::DeviceKind::kCuda;
    offer.memory_bytes = card->memory_bytes;
    offer.compute_capability = card->compute_capability;
  }
  const auto declared = std::ranges::find(sweep.devices, type, &sweeps::DeclaredDevice::name);
  if (declared != sweep.devices.end()) {
    offer.kind = declared->kind;
    offer.cap_bytes = declared->memory_bytes;
    if (declared->memory_bytes) offer.memory_bytes = *declared->memory_bytes;
    offer.reserve_bytes = declared->reserve_bytes;
    offer.threads = declared->threads.value_or(1);
  }
  offer.limit_bytes = offer.memory_bytes - std::min(offer.memory_bytes, offer.reserve_bytes);
  return offer;
}

std::vector<protocol::DeviceOffer> offers_of(const std::string& host,
                                             const std::map<std::string, std::int64_t>& devices,
                                             const sweeps::SweepSpec& sweep) {
  std::vector<protocol::DeviceOffer> offers;
  for (const auto& [type, count] : devices) {
    for (std::int64_t i = 0; i < count; ++i) {
      protocol::DeviceOffer offer = offer_of(type, sweep);
      offer.index = static_cast<int>(offers.size());
      offer.uuid = fmt::format("simulated-{}-{}-{}", host, type, i);
      offers.push_back(std::move(offer));
    }
  }
  return offers;
}

}  // namespace

std::vector<protocol::Register> simulated_nodes(const sweeps::SweepSpec& sweep) {
  std::vector<sweeps::RehearsalNode> nodes = sweep.rehearsal->nodes;
  if (nodes.empty()) {
    nodes.emplace_back();
    for (const sweeps::DeclaredDevice& device : sweep.devices)
      nodes.back().devices[device.name] += device.count;
  }
  std::vector<protocol::Register> registrations;
  for (const sweeps::RehearsalNode& node : nodes) {
    for (std::int64_t i = 0; i < node.count; ++i) {
      protocol::Register registration;
      results::HostRecord& host = registration.host;
      host.hostname = fmt::format("n{}", registrations.size() + 1);
      host.cpu_name = "simulated";
      host.id = hex(sha256("simulated " + host.hostname)).substr(0, 16);
      registration.devices = offers_of(host.hostname, node.devices, sweep);
      registrations.push_back(std::move(registration));
    }
  }
  return registrations;
}

}  // namespace batchsweep::orchestrator
