// SPDX-License-Identifier: Apache-2.0
// What NVML finds. The library is opened at run time, because most machines that build or plan have
// none; its few functions are declared here by hand. It can hang on a sick card, hence the process
// of its own around it.
#include <dlfcn.h>
#include <fmt/format.h>

#include <iterator>
#include <span>
#include <string>

#include "base/json.hpp"
#include "worker/agent/device_inventory.hpp"

namespace batchsweep::agent {
namespace {

using NvmlDevice = void*;
struct NvmlMemory {
  unsigned long long total, free, used;
};
struct NvmlPciInfo {
  char bus_id_legacy[16];
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
};
struct NvmlMemoryV2 {
  unsigned version;
  unsigned long long total, reserved, free, used;
};
struct NvmlProcess {
  unsigned pid;
  unsigned long long used;
  unsigned gpu_instance, compute_instance;
};
constexpr int kSuccess = 0;
constexpr int kModeProhibited = 2;

class Nvml {
 public:
  explicit Nvml(const std::string& library)
      : handle_(dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL)) {}
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;
  ~Nvml() = default;  // the process ends next

  [[nodiscard]] bool found() const { return handle_ != nullptr; }

  // NVML's result; a function that this driver lacks counts as a failure.
  template <class... Args>
  int call(const char* name, Args... args) const {
    constexpr int kFunctionNotFound = 13;
    const auto function = reinterpret_cast<int (*)(Args...)>(dlsym(handle_, name));
    return function == nullptr ? kFunctionNotFound : function(args...);
  }
  template <class... Args>
  [[nodiscard]] std::string text(const char* name, Args... args) const {
    char buffer[128] = {};
    return call(name, args..., static_cast<char*>(buffer), static_cast<unsigned>(sizeof buffer)) ==
                   kSuccess
               ? buffer
               : "";
  }
  [[nodiscard]] std::string error(int result) const {
    const auto function = reinterpret_cast<const char* (*)(int)>(dlsym(handle_, "nvmlErrorString"));
    return function == nullptr ? fmt::format("error {}", result) : function(result);
  }

 private:
  void* handle_;
};

// What anybody holds now. The first form of this question counts the driver's own share as used:
// better no answer than that.
Json used_bytes(const Nvml& nvml, NvmlDevice device) {
  NvmlMemoryV2 memory{};
  memory.version = sizeof memory | (2U << 24U);
  if (nvml.call("nvmlDeviceGetMemoryInfo_v2", device, &memory) != kSuccess) return nullptr;
  return memory.used;
}

// "process 4711 (python3)". A server that lets processes share a card computes nothing itself.
Json processes_on(const Nvml& nvml, NvmlDevice device) {
  NvmlProcess found[64] = {};
  unsigned count = std::size(found);
  Json processes = Json::array();
  if (nvml.call("nvmlDeviceGetComputeRunningProcesses_v3", device, &count,
                static_cast<NvmlProcess*>(found)) != kSuccess)
    return processes;
  for (const NvmlProcess& process : std::span(found).first(count)) {
    const std::string name = nvml.text("nvmlSystemGetProcessName", process.pid);
    if (name.find("nvidia-cuda-mps-server") != std::string::npos) continue;
    processes.push_back(name.empty() ? fmt::format("process {}", process.pid)
                                     : fmt::format("process {} ({})", process.pid, name));
  }
  return processes;
}

Json describe(const Nvml& nvml, NvmlDevice device, NvmlDevice parent,
              const std::string& driver_version) {
  NvmlMemory memory{};
  NvmlPciInfo pci{};
  int major = 0, minor = 0, mode = 0;
  nvml.call("nvmlDeviceGetMemoryInfo", device, &memory);
  nvml.call("nvmlDeviceGetPciInfo_v3", parent, &pci);
  nvml.call("nvmlDeviceGetComputeMode", parent, &mode);
  const bool capable =
      nvml.call("nvmlDeviceGetCudaComputeCapability", parent, &major, &minor) == kSuccess;
  return {{"uuid", nvml.text("nvmlDeviceGetUUID", device)},
          {"driver_name", nvml.text("nvmlDeviceGetName", device)},
          {"pci_bus_id", std::string(pci.bus_id)},
          {"compute_capability", capable ? fmt::format("{}.{}", major, minor) : ""},
          {"driver_version", driver_version},
          {"memory_bytes", memory.total},
          {"used_bytes", used_bytes(nvml, device)},
          {"processes", processes_on(nvml, device)},
          {"prohibited", mode == kModeProhibited}};
}

// The slices of a partitioned card in place of the card: nothing can run on the whole of it.
void add_card(const Nvml& nvml, NvmlDevice card, const std::string& driver_version, Json& gpus) {
  unsigned partitioned = 0, pending = 0, slices = 0;
  if (nvml.call("nvmlDeviceGetMigMode", card, &partitioned, &pending) != kSuccess ||
      partitioned == 0) {
    gpus.push_back(describe(nvml, card, card, driver_version));
    return;
  }
  nvml.call("nvmlDeviceGetMaxMigDeviceCount", card, &slices);
  for (unsigned i = 0; i < slices; ++i) {
    NvmlDevice slice = nullptr;
    if (nvml.call("nvmlDeviceGetMigDeviceHandleByIndex", card, i, &slice) != kSuccess) continue;
    gpus.push_back(describe(nvml, slice, card, driver_version));
  }
}

}  // namespace

std::string probe_gpus_json(const std::string& nvml_library) {
  Json gpus = Json::array(), notices = Json::array();
  const auto answer = [&] { return dump({{"gpus", gpus}, {"notices", notices}}); };
  const Nvml nvml(nvml_library);
  if (!nvml.found()) return answer();  // a machine without NVIDIA's driver is nothing to talk about
  if (const int result = nvml.call("nvmlInit_v2"); result != kSuccess) {
    notices.push_back(
        fmt::format("the NVIDIA driver does not answer ({}): no GPUs", nvml.error(result)));
    return answer();
  }
  const std::string driver_version = nvml.text("nvmlSystemGetDriverVersion");
  unsigned count = 0;
  nvml.call("nvmlDeviceGetCount_v2", &count);
  for (unsigned i = 0; i < count; ++i) {
    NvmlDevice card = nullptr;
    if (const int result = nvml.call("nvmlDeviceGetHandleByIndex_v2", i, &card);
        result == kSuccess) {
      add_card(nvml, card, driver_version, gpus);
    } else {
      notices.push_back(fmt::format("GPU {} is left out: {}", i, nvml.error(result)));
    }
  }
  return answer();
}

}  // namespace batchsweep::agent
