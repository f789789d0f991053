// SPDX-License-Identifier: Apache-2.0
#include "worker/protocol/trial_input.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "sweeps/trial_spec_json.hpp"

namespace batchsweep::protocol {
namespace {

template <class T>
void read(const Json& json, const char* key, T& value) {
  if (const auto found = get_optional<T>(json, key)) value = *found;
}

TrialDevice trial_device_from_json(const Json& json) {
  TrialDevice device;
  const auto kind_name = json.at("kind").get<std::string>();
  const auto kind = from_text<sweeps::DeviceKind>(kind_name);
  if (!kind)
    throw ProtocolError(fmt::format("device.kind: '{}' is neither cpu nor cuda", kind_name));
  device.kind = *kind;
  read(json, "type", device.type);
  read(json, "uuid", device.uuid);
  device.limit_bytes = get_optional<std::uint64_t>(json, "limit_bytes");
  read(json, "threads", device.threads);
  return device;
}

}  // namespace

Json to_json(const TrialDevice& device) {
  Json json = {{"kind", to_text(device.kind)}, {"type", device.type}, {"uuid", device.uuid}};
  if (device.limit_bytes) json["limit_bytes"] = *device.limit_bytes;
  json["threads"] = device.threads;
  return json;
}

Json to_json(const TrialNetwork& network) {
  return {{"address", network.address}, {"interface", network.interface}};
}

Json to_json(const TrialInput& input) {
  Json json = {{"protocol", input.protocol},
               {"trial_id", input.trial_id},
               {"repeat", input.repeat},
               {"attempt", input.attempt},
               {"seed", input.seed},
               {"spec", sweeps::to_json(input.spec)},
               {"rank", input.rank},
               {"local_rank", input.local_rank},
               {"local_world_size", input.local_world_size},
               {"device", to_json(input.device)}};
  if (input.network) json["network"] = to_json(*input.network);
  if (input.play) json["play"] = sweeps::to_json(*input.play);
  return json;
}

TrialInput trial_input_from_json(const Json& json) {
  try {
    TrialInput input;
    input.protocol = json.at("protocol").get<int>();
    if (input.protocol != TrialInput{}.protocol) {
      throw ProtocolError(fmt::format("input of trial protocol {}, this program speaks {}",
                                      input.protocol, TrialInput{}.protocol));
    }
    input.trial_id = json.at("trial_id").get<std::string>();
    read(json, "repeat", input.repeat);
    read(json, "attempt", input.attempt);
    read(json, "seed", input.seed);
    input.spec = sweeps::trial_spec_from_json(json.at("spec"));
    read(json, "rank", input.rank);
    read(json, "local_rank", input.local_rank);
    read(json, "local_world_size", input.local_world_size);
    if (const auto network = json.find("network"); network != json.end()) {
      input.network.emplace();
      read(*network, "address", input.network->address);
      read(*network, "interface", input.network->interface);
    }
    input.device = trial_device_from_json(json.at("device"));
    if (const auto play = json.find("play"); play != json.end()) {
      input.play = sweeps::play_script_from_json(*play);
    }
    return input;
  } catch (const Json::exception& error) {
    throw ProtocolError(fmt::format("the trial's input is not understood: {}", error.what()));
  }
}

}  // namespace batchsweep::protocol
