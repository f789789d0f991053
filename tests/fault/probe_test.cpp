// SPDX-License-Identifier: Apache-2.0
// GPUs by an NVML that answers, fails, hangs or is not there: asked in a child, as the product
// does.
#include <gmock/gmock.h>

#include <cstdlib>

#include "process_checks.hpp"
#include "worker/agent/device_inventory.hpp"

namespace batchsweep::agent {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

class Probe : public testing::Test {
 protected:
  ~Probe() override {
    for (const char* name :
         {"FAKE_NVML", "FAKE_NVML_LIBRARY", "CUDA_VISIBLE_DEVICES", "BATCHSWEEP_HOST"})
      unsetenv(name);
  }
  static FoundHost stock(const char* behaviour, double limit_s = 20) {
    setenv("FAKE_NVML_LIBRARY", FAKE_NVML, 1);
    setenv("FAKE_NVML", behaviour, 1);
    return take_stock(2, HELPER, limit_s);
  }
};

TEST_F(Probe, FindsTheCardsInPciOrderAndKnowsACatalogueCard) {
  const FoundHost host = stock("two");
  ASSERT_EQ(host.gpus.size(), 2U);
  EXPECT_EQ(host.gpus[0].uuid, "GPU-1");
  EXPECT_EQ(host.gpus[0].pci_bus_id, "00000000:41:00.0");
  EXPECT_EQ(host.gpus[0].compute_capability, "9.0");
  EXPECT_EQ(host.gpus[0].driver_version, "580.65.06");
  EXPECT_EQ(host.gpus[0].memory_bytes, 85520809984U);
  EXPECT_EQ(type_of(host.gpus[0]), "H100 80GB SXM");
  EXPECT_EQ(host.gpus[1].uuid, "GPU-0");
  EXPECT_EQ(type_of(host.gpus[1]), "NVIDIA Test Card");
  EXPECT_EQ(host.record.gpus, "1 x NVIDIA H100 80GB HBM3, 1 x NVIDIA Test Card");
  EXPECT_THAT(own_children(), IsEmpty());
}

TEST_F(Probe, RespectsCudaVisibleDevices) {
  setenv("CUDA_VISIBLE_DEVICES", "1", 1);
  const FoundHost host = stock("two");
  ASSERT_EQ(host.gpus.size(), 1U);
  EXPECT_EQ(host.gpus[0].uuid, "GPU-0");
}

TEST_F(Probe, ADriverThatHangsCostsItsLimitAndNoMore) {
  const FoundHost host = stock("hang", 0.2);
  EXPECT_THAT(host.gpus, IsEmpty());
  EXPECT_THAT(host.notices, Contains(HasSubstr("did not answer within 200 ms")));
  EXPECT_TRUE(eventually(all_children_reaped));
}

TEST_F(Probe, ADriverThatFailsIsTold) {
  EXPECT_THAT(stock("error").notices, Contains(HasSubstr("Driver Not Loaded")));
}

TEST_F(Probe, AMachineWithoutDriverHasNoGpus) {
  setenv("BATCHSWEEP_HOST", "node%r", 1);
  const FoundHost host = take_stock(3, HELPER);
  EXPECT_THAT(host.gpus, IsEmpty());
  EXPECT_THAT(host.notices, IsEmpty());
  EXPECT_EQ(host.name, "node3");
  EXPECT_EQ(host.record.hostname, "node3");
  EXPECT_EQ(host.record.id.size(), 16U);
  EXPECT_FALSE(host.record.cpus_allowed.empty());
  EXPECT_GE(host.cores_allowed, 1);
  EXPECT_GT(host.memory_available_bytes, 1U << 20);
  EXPECT_GT(host.record.shm_bytes, 0);
  // The same host again, though free disk space has changed meanwhile.
  EXPECT_EQ(take_stock(3, HELPER).record.id, host.record.id);
}

TEST_F(Probe, AProbeThatCannotStartIsTold) {
  EXPECT_THAT(take_stock(0, "/no/such/batchsweep").notices, Contains(HasSubstr("No such file")));
  EXPECT_THAT(take_stock(0, "/bin/echo").notices, Contains(HasSubstr("looking for GPUs failed")));
}

}  // namespace
}  // namespace batchsweep::agent
