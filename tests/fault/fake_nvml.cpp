// SPDX-License-Identifier: Apache-2.0
// An NVML with two cards, listed in another order than PCI's; hangs in its first call where
// FAKE_NVML=hang, fails where FAKE_NVML=error. FAKE_NVML_DRIVER and FAKE_NVML_CARD replace the
// driver's version and the name of the card that PCI lists first.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

struct Memory {
  unsigned long long total, free, used;
};
struct PciInfo {
  char legacy[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char bus_id[32];
};
int cards[2] = {0, 1};
int number(void* device) { return *static_cast<int*>(device); }
bool wanted(const char* how) {
  const char* value = std::getenv("FAKE_NVML");
  return value != nullptr && std::strcmp(value, how) == 0;
}

const char* value_or(const char* name, const char* usual) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : usual;
}

}  // namespace

extern "C" {
int nvmlInit_v2() {
  while (wanted("hang")) pause();
  return wanted("error") ? 9 : 0;
}
const char* nvmlErrorString(int) { return "Driver Not Loaded"; }
int nvmlSystemGetDriverVersion(char* text, unsigned size) {
  return std::snprintf(text, size, "%s", value_or("FAKE_NVML_DRIVER", "580.65.06")), 0;
}
int nvmlDeviceGetCount_v2(unsigned* count) { return *count = 2, 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  return *device = &cards[index], 0;
}
int nvmlDeviceGetName(void* device, char* text, unsigned size) {
  return std::snprintf(text, size, "%s",
                       number(device) == 0 ? "NVIDIA Test Card"
                                           : value_or("FAKE_NVML_CARD", "NVIDIA H100 80GB HBM3")),
         0;
}
int nvmlDeviceGetUUID(void* device, char* text, unsigned size) {
  return std::snprintf(text, size, "GPU-%d", number(device)), 0;
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
int nvmlDeviceGetCudaComputeCapability(void*, int* major, int* minor) {
  return *major = 9, *minor = 0, 0;
}
}
