// SPDX-License-Identifier: Apache-2.0
// An NVML with two cards, listed in another order than PCI's; hangs in its first call where
// FAKE_NVML=hang, fails where FAKE_NVML=error. FAKE_NVML_DRIVER and FAKE_NVML_CARD replace the
// driver's version and the name of the card that PCI lists first. What may change between two calls
// of that card stands in the file that FAKE_NVML_NOW names: one of used BYTES, process PID,
// prohibited, gone, mig, name OTHER, hang.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

struct Memory {
  unsigned long long total, free, used;
};
struct MemoryV2 {
  unsigned version;
  unsigned long long total, reserved, free, used;
};
struct Process {
  unsigned pid;
  unsigned long long used;
  unsigned gpu_instance, compute_instance;
};
struct PciInfo {
  char legacy[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char bus_id[32];
};
int cards[3] = {0, 1, 2};  // the last is a slice of the one before
int number(void* device) { return *static_cast<int*>(device); }
bool wanted(const char* how) {
  const char* value = std::getenv("FAKE_NVML");
  return value != nullptr && std::strcmp(value, how) == 0;
}

// "used 123" -> "123" where used is asked for; "" if there is no word behind; nullptr: it is not
// so.
const char* now(const char* what) {
  static char line[256];
  const char* path = std::getenv("FAKE_NVML_NOW");
  std::FILE* file = path == nullptr ? nullptr : std::fopen(path, "r");
  if (file == nullptr) return nullptr;
  const bool read = std::fgets(line, sizeof line, file) != nullptr;
  std::fclose(file);
  const std::size_t length = std::strlen(what);
  if (!read || std::strncmp(line, what, length) != 0) return nullptr;
  line[std::strcspn(line, "\n")] = '\0';
  return line + length + (line[length] == ' ' ? 1 : 0);
}
bool first_by_pci(void* device) { return number(device) == 1; }

const char* value_or(const char* name, const char* usual) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : usual;
}

}  // namespace

extern "C" {
int nvmlInit_v2() {
  while (wanted("hang") || now("hang") != nullptr) pause();
  return wanted("error") ? 9 : 0;
}
const char* nvmlErrorString(int) { return "Driver Not Loaded"; }
int nvmlSystemGetDriverVersion(char* text, unsigned size) {
  return std::snprintf(text, size, "%s", value_or("FAKE_NVML_DRIVER", "580.65.06")), 0;
}
int nvmlDeviceGetCount_v2(unsigned* count) { return *count = 2, 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  constexpr int kGpuIsLost = 15;
  if (index == 1 && now("gone") != nullptr) return kGpuIsLost;
  return *device = &cards[index], 0;
}
int nvmlDeviceGetMigMode(void* device, unsigned* current, unsigned* pending) {
  return *current = *pending = first_by_pci(device) && now("mig") != nullptr, 0;
}
int nvmlDeviceGetMaxMigDeviceCount(void*, unsigned* count) { return *count = 1, 0; }
int nvmlDeviceGetMigDeviceHandleByIndex(void*, unsigned, void** slice) {
  return *slice = &cards[2], 0;
}
int nvmlDeviceGetName(void* device, char* text, unsigned size) {
  if (const char* other = now("name"); other != nullptr && first_by_pci(device))
    return std::snprintf(text, size, "%s", other), 0;
  return std::snprintf(text, size, "%s",
                       number(device) == 0 ? "NVIDIA Test Card"
                                           : value_or("FAKE_NVML_CARD", "NVIDIA H100 80GB HBM3")),
         0;
}
int nvmlDeviceGetUUID(void* device, char* text, unsigned size) {
  return std::snprintf(text, size, "%s-%d", number(device) == 2 ? "MIG" : "GPU", number(device)), 0;
}
int nvmlDeviceGetPciInfo_v3(void* device, void* info) {
  return std::snprintf(static_cast<PciInfo*>(info)->bus_id, 32, "00000000:%s:00.0",
                       number(device) == 0 ? "C1" : "41"),
         0;
}
int nvmlDeviceGetMemoryInfo(void* device, Memory* memory) {
  memory->total = number(device) == 0 ? 1ULL << 30 : 85520809984ULL;
  return 0;
}
int nvmlDeviceGetMemoryInfo_v2(void* device, MemoryV2* memory) {
  const char* used = first_by_pci(device) ? now("used") : nullptr;
  memory->used = used == nullptr ? 1 << 20 : std::strtoull(used, nullptr, 10);
  return 0;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, Process* processes) {
  const char* pid = first_by_pci(device) ? now("process") : nullptr;
  *count = pid != nullptr;
  if (pid != nullptr) processes[0].pid = static_cast<unsigned>(std::atoi(pid));
  return 0;
}
int nvmlSystemGetProcessName(unsigned pid, char* name, unsigned size) {
  return std::snprintf(name, size, "%s", pid == 77 ? "nvidia-cuda-mps-server" : "somebody"), 0;
}
int nvmlDeviceGetComputeMode(void* device, int* mode) {
  return *mode = first_by_pci(device) && now("prohibited") != nullptr ? 2 : 0, 0;
}
int nvmlDeviceGetCudaComputeCapability(void*, int* major, int* minor) {
  return *major = 9, *minor = 0, 0;
}
}
