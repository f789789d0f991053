// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/device_inventory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "base/error.hpp"
#include "base/units.hpp"
#include "sweeps/gpu_catalogue.hpp"
#include "worker/agent/cpu_set.hpp"
#include "worker/agent/host_list.hpp"

namespace batchsweep::agent {
namespace {

using protocol::DeviceOffer;
using sweeps::DeclaredDevice;
using sweeps::DeviceKind;

std::string printable(std::uint64_t bytes) { return format_bytes(static_cast<double>(bytes)); }

// ---- CUDA_VISIBLE_DEVICES

// The GPU that one entry names: an index in PCI order, or a UUID or the unique beginning of one.
const FoundGpu* named(const std::vector<FoundGpu>& gpus, std::string_view entry) {
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(entry.data(), entry.data() + entry.size(), index);
  if (error == std::errc{} && end == entry.data() + entry.size())
    return index < gpus.size() ? &gpus[index] : nullptr;
  if (!entry.starts_with("GPU-") && !entry.starts_with("MIG-")) return nullptr;
  const FoundGpu* found = nullptr;
  for (const FoundGpu& gpu : gpus) {
    if (!gpu.uuid.starts_with(entry)) continue;
    if (found != nullptr) return nullptr;
    found = &gpu;
  }
  return found;
}

// ---- offers

// Collects the offers and everything wrong with the declarations.
class Offers {
 public:
  explicit Offers(const FoundHost& host) : host_(host) {}

  void add_found(const FoundGpu& gpu) {
    DeviceOffer offer = on_gpu(gpu);
    offer.type = type_of(gpu);
    offer.limit_bytes = gpu.memory_bytes;
    add(std::move(offer));
  }

  // A view on each of the first `count` GPUs that can carry it. Without any, the type is merely
  // absent on this host.
  void add_cuda(const DeclaredDevice& declared) {
    const auto cap = cap_of(declared);
    std::int64_t carriers = 0;
    for (const FoundGpu& gpu : host_.gpus) {
      if (!carries(declared, gpu, cap)) continue;
      if (++carriers > declared.count) continue;
      DeviceOffer offer = on_gpu(gpu);
      offer.cap_bytes = cap;
      offer.emulated = type_of(gpu) != declared.name && sweeps::find_gpu(declared.name) != nullptr;
      add_declared(declared, std::move(offer));
    }
    if (carriers > 0 && carriers < declared.count) {
      complain(declared, fmt::format("count = {}, but host {} has {} GPU(s) that could carry it",
                                     declared.count, host_.name, carriers));
    }
  }

  // In a rehearsal nothing is computed: any number of any card.
  void add_played(const DeclaredDevice& declared) {
    const auto cap = cap_of(declared);
    if (!cap)
      return complain(declared, "no memory given, and the GPU catalogue does not know this name");
    for (std::int64_t i = 0; i < declared.count; ++i) {
      DeviceOffer offer{.kind = declared.kind,
                        .driver_name = host_.record.cpu_name,
                        .memory_bytes = *cap,
                        .cap_bytes = cap};
      offer.uuid = fmt::format("played-{}-{}", host_.name, offers_.size());
      offer.threads = declared.threads.value_or(1);
      add_declared(declared, std::move(offer));
    }
  }

  void add_cpu(const DeclaredDevice& declared, std::int64_t cpus_in_all) {
    const std::int64_t threads =
        declared.threads.value_or(std::max<std::int64_t>(1, host_.cores_allowed / declared.count));
    if (!declared.oversubscribe) threads_in_use_ += threads * declared.count;
    if (!declared.oversubscribe && threads_in_use_ > host_.cores_allowed) {
      complain(declared, fmt::format("count x threads of the cpu devices comes to {} here, but "
                                     "host {} allows {} core(s): lower "
                                     "threads or count, or set oversubscribe = true",
                                     threads_in_use_, host_.name, host_.cores_allowed));
    }
    for (std::int64_t i = 0; i < declared.count; ++i) {
      DeviceOffer offer{.kind = DeviceKind::kCpu,
                        .driver_name = host_.record.cpu_name,
                        .memory_bytes = host_.memory_available_bytes};
      offer.cap_bytes = declared.memory_bytes.value_or(share_of_memory(cpus_in_all));
      offer.uuid = fmt::format("cpu-{}-{}", host_.name, offers_.size());
      offer.threads = threads;
      if (!declared.oversubscribe) offer.cpus = take_cores(threads);
      offer.emulated = sweeps::find_gpu(declared.name) != nullptr;
      add_declared(declared, std::move(offer));
    }
  }

  // The cores that no CPU device has are shared out among the GPUs, as evenly as whole cores allow;
  // all views on a GPU have the same. Where there are not enough, they share all.
  void share_cores_among_gpus() {
    const std::size_t gpus = host_.gpus.size();
    const std::size_t each = gpus == 0 ? 0 : (cores_.size() - next_core_) / gpus;
    for (const FoundGpu& gpu : host_.gpus) {
      const std::string cpus = each == 0 ? "" : take_cores(static_cast<std::int64_t>(each));
      for (DeviceOffer& offer : offers_) {
        if (offer.kind != DeviceKind::kCuda || offer.uuid != gpu.uuid) continue;
        offer.cpus = cpus;
        if (!has_own_threads_.contains(offer.index))
          offer.threads = std::max<std::int64_t>(1, static_cast<std::int64_t>(each));
      }
    }
  }

  [[nodiscard]] std::vector<DeviceOffer> take() {
    if (!problems_.empty()) throw ConfigError(std::move(problems_));
    return std::move(offers_);
  }

 private:
  static DeviceOffer on_gpu(const FoundGpu& gpu) {
    return {.kind = DeviceKind::kCuda,
            .uuid = gpu.uuid,
            .driver_name = gpu.driver_name,
            .pci_bus_id = gpu.pci_bus_id,
            .compute_capability = gpu.compute_capability,
            .driver_version = gpu.driver_version,
            .memory_bytes = gpu.memory_bytes};
  }

  static std::optional<std::uint64_t> cap_of(const DeclaredDevice& declared) {
    if (declared.memory_bytes) return declared.memory_bytes;
    const sweeps::GpuType* type = sweeps::find_gpu(declared.name);
    return type == nullptr ? std::nullopt : std::optional(type->memory_bytes);
  }

  static bool carries(const DeclaredDevice& declared, const FoundGpu& gpu,
                      const std::optional<std::uint64_t>& cap) {
    const std::string type = type_of(gpu);
    if (!declared.on.empty() && declared.on != type && declared.on != gpu.driver_name) return false;
    // The card itself, declared for its reserve: it may have a little less than the catalogue says.
    return type == declared.name || !cap || gpu.memory_bytes >= *cap;
  }

  // 80 % of what is available, because the host's own processes live there as well.
  [[nodiscard]] std::uint64_t share_of_memory(std::int64_t cpus) const {
    return host_.memory_available_bytes / 10 * 8 /
           static_cast<std::uint64_t>(std::max<std::int64_t>(cpus, 1));
  }

  void add_declared(const DeclaredDevice& declared, DeviceOffer offer) {
    const std::uint64_t memory =
        offer.cap_bytes ? std::min(*offer.cap_bytes, cap_bound(offer)) : offer.memory_bytes;
    if (declared.reserve_bytes >= memory) {
      return complain(declared, fmt::format("reserve = {} leaves nothing of {}",
                                            printable(declared.reserve_bytes), printable(memory)));
    }
    offer.type = declared.name;
    offer.reserve_bytes = declared.reserve_bytes;
    offer.limit_bytes = memory - declared.reserve_bytes;
    if (declared.kind == DeviceKind::kCuda && declared.threads) {
      offer.threads = *declared.threads;
      has_own_threads_.insert(static_cast<int>(offers_.size()));
    }
    add(std::move(offer));
  }
  // A GPU cannot give more than it has; a cpu's cap is what the user says.
  static std::uint64_t cap_bound(const DeviceOffer& offer) {
    return offer.kind == DeviceKind::kCuda ? offer.memory_bytes : *offer.cap_bytes;
  }

  // "" where the mask is not known, or holds fewer.
  [[nodiscard]] std::string take_cores(std::int64_t count) {
    const auto wanted = static_cast<std::size_t>(count);
    if (cores_.size() - next_core_ < wanted) return "";
    const auto first = cores_.begin() + static_cast<std::ptrdiff_t>(next_core_);
    next_core_ += wanted;
    return cpu_list({first, first + count});
  }

  void add(DeviceOffer offer) {
    offer.index = static_cast<int>(offers_.size());
    offers_.push_back(std::move(offer));
  }
  void complain(const DeclaredDevice& declared, std::string message) {
    const Diagnostic diagnostic{.key = fmt::format("device \"{}\"", declared.name),
                                .message = std::move(message)};
    if (std::ranges::count(problems_, diagnostic) == 0) problems_.push_back(diagnostic);
  }

  const FoundHost& host_;

  std::vector<int> cores_ = cpus_of(host_.record.cpus_allowed);
  std::size_t next_core_ = 0;      // those before it are some device's
  std::set<int> has_own_threads_;  // offers whose threads were declared
  std::int64_t threads_in_use_ = 0;
  std::vector<DeviceOffer> offers_;
  std::vector<Diagnostic> problems_;
};

}  // namespace

std::vector<FoundGpu> visible_gpus(std::vector<FoundGpu> gpus,
                                   const std::optional<std::string>& visible_devices,
                                   std::vector<std::string>& notices) {
  std::ranges::stable_sort(gpus, {}, &FoundGpu::pci_bus_id);
  if (!visible_devices) return gpus;
  std::vector<FoundGpu> visible;
  std::string_view rest = *visible_devices;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    const std::string_view entry = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const FoundGpu* gpu = named(gpus, entry);
    if (gpu == nullptr) {  // as CUDA does: an entry that names no device hides all that follow
      if (entry != "-1") {
        notices.push_back(fmt::format(
            "CUDA_VISIBLE_DEVICES={}: '{}' names no GPU here; it and all behind it are not offered",
            *visible_devices, entry));
      }
      break;
    }
    if (std::ranges::count(visible, gpu->uuid, &FoundGpu::uuid) > 0) {
      notices.push_back(
          fmt::format("CUDA_VISIBLE_DEVICES={}: '{}' names a GPU twice; it is offered once",
                      *visible_devices, entry));
      continue;
    }
    visible.push_back(*gpu);
  }
  return visible;
}

std::string type_of(const FoundGpu& gpu) {
  const sweeps::GpuType* type = sweeps::find_gpu_by_driver(gpu.driver_name, gpu.memory_bytes);
  return type == nullptr ? gpu.driver_name : std::string(type->name);
}

std::optional<std::string> memory_mismatch(const FoundGpu& gpu) {
  if (sweeps::find_gpu_by_driver(gpu.driver_name, gpu.memory_bytes) != nullptr) return std::nullopt;
  const auto same_name =
      std::ranges::find(sweeps::gpu_catalogue(), gpu.driver_name, &sweeps::GpuType::driver_name);
  if (gpu.driver_name.empty() || same_name == sweeps::gpu_catalogue().end()) return std::nullopt;
  return fmt::format(
      "asked {}, got {}: {} calls itself that but has {} instead of {}; it is offered as \"{}\"",
      same_name->name, gpu.driver_name, gpu.uuid, printable(gpu.memory_bytes),
      printable(same_name->memory_bytes), gpu.driver_name);
}

std::vector<DeviceOffer> offered_devices(const FoundHost& host,
                                         const std::vector<DeclaredDevice>& declared,
                                         bool rehearsal) {
  std::vector<DeclaredDevice> here;
  for (const DeclaredDevice& device : declared) {
    if (!host_list_contains(device.hosts, host.name)) continue;
    here.push_back(device);
    here.back().oversubscribe |= rehearsal;
  }
  Offers offers(host);
  std::int64_t cpus = 0;
  for (const DeclaredDevice& device : here)
    cpus += device.kind == DeviceKind::kCpu ? device.count : 0;

  if (!rehearsal) {
    for (const FoundGpu& gpu : host.gpus) {
      // What is declared under a card's own name says how that card is offered.
      if (std::ranges::count(here, type_of(gpu), &DeclaredDevice::name) == 0) offers.add_found(gpu);
    }
  }
  for (const DeclaredDevice& device : here) {
    if (rehearsal && (device.kind == DeviceKind::kCuda || device.memory_bytes)) {
      offers.add_played(device);
    } else if (device.kind == DeviceKind::kCuda) {
      offers.add_cuda(device);
    } else {
      offers.add_cpu(device, cpus);
    }
  }
  if (!rehearsal) offers.share_cores_among_gpus();
  if (cpus == 0)
    offers.add_cpu({.name = "cpu", .kind = DeviceKind::kCpu, .oversubscribe = true}, 1);
  return offers.take();
}

}  // namespace batchsweep::agent
