// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/device_check.hpp"

#include <gmock/gmock.h>

namespace batchsweep::agent {
namespace {

using results::Reason;
using testing::HasSubstr;

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

FoundGpu card() {
  return {.uuid = "GPU-1",
          .driver_name = "NVIDIA H100",
          .pci_bus_id = "0:1",
          .memory_bytes = 80 * kGiB,
          .used_bytes = 3 << 20};
}
protocol::DeviceOffer offer() {
  return {.type = "H100",
          .kind = sweeps::DeviceKind::kCuda,
          .uuid = "GPU-1",
          .driver_name = "NVIDIA H100",
          .pci_bus_id = "0:1",
          .memory_bytes = 80 * kGiB};
}

TEST(WhyUnfit, ACardThatIsAsItWasAndAloneIsFit) {
  FoundGpu other = card();
  other.uuid = "GPU-2";
  other.processes = {"process 1"};
  EXPECT_EQ(why_unfit(offer(), {other, card()}), std::nullopt)
      << "what others do is their business";
}

struct Line {
  const char* what;
  void (*change)(FoundGpu& gpu);
  Reason reason;
  const char* message;
};
const Line kLines[] = {
    {"gone", [](FoundGpu& gpu) { gpu.uuid = "GPU-9"; }, Reason::kDeviceAbsent,
     "GPU-1 (NVIDIA H100) is not there any more"},
    {"split", [](FoundGpu& gpu) { gpu.uuid = "MIG-9"; }, Reason::kDeviceAbsent,
     "is split into MIG slices now"},
    {"another name", [](FoundGpu& gpu) { gpu.driver_name = "NVIDIA A100"; }, Reason::kDeviceAbsent,
     "offered as NVIDIA H100 with 80.0 GiB, and is NVIDIA A100 with 80.0 GiB now"},
    {"another memory", [](FoundGpu& gpu) { gpu.memory_bytes = 40 * kGiB; }, Reason::kDeviceAbsent,
     "is NVIDIA H100 with 40.0 GiB now"},
    {"takes nobody", [](FoundGpu& gpu) { gpu.prohibited = true; }, Reason::kDeviceNotClean,
     "compute mode is Prohibited"},
    {"in use",
     [](FoundGpu& gpu) {
       gpu.processes = {"process 7 (python3)", "process 8"};
     },
     Reason::kDeviceNotClean, "GPU-1 is in use by process 7 (python3), process 8"},
    {"memory of nobody", [](FoundGpu& gpu) { gpu.used_bytes = 9000ULL << 20; },
     Reason::kDeviceNotClean, "8.8 GiB of 80.0 GiB are in use on GPU-1 by nobody"},
};

TEST(WhyUnfit, WhateverIsWrongIsNamed) {
  for (const Line& line : kLines) {
    FoundGpu gpu = card();
    line.change(gpu);
    const std::optional<Unfit> unfit = why_unfit(offer(), {gpu});
    ASSERT_TRUE(unfit) << line.what;
    EXPECT_EQ(unfit->reason, line.reason) << line.what;
    EXPECT_THAT(unfit->message, HasSubstr(line.message)) << line.what;
  }
}

TEST(WhyUnfit, ADesktopMayDrawOnItsCardWithinTheReserve) {
  FoundGpu gpu = card();
  gpu.used_bytes = 600ULL << 20;
  EXPECT_EQ(why_unfit(offer(), {gpu}), std::nullopt);
  gpu.used_bytes = kGiB;
  EXPECT_NE(why_unfit(offer(), {gpu}), std::nullopt);
  protocol::DeviceOffer larger = offer();
  larger.reserve_bytes = 2 * kGiB;
  EXPECT_EQ(why_unfit(larger, {gpu}), std::nullopt);
  gpu.used_bytes.reset();
  EXPECT_EQ(why_unfit(offer(), {gpu}), std::nullopt) << "a driver that does not tell";
}

TEST(ProbeAnswer, IsFoundBehindWordsOfTheDriver) {
  const std::string gpu =
      R"({"uuid":"GPU-1","driver_name":"A","pci_bus_id":"0:1","compute_capability":"9.0",)"
      R"("driver_version":"1","memory_bytes":5,"used_bytes":null,"processes":["process 1"],"prohibited":true})";
  const auto gpus = gpus_of_probe("warning\n{\"gpus\":[" + gpu + "],\"notices\":[]}\n");
  ASSERT_TRUE(gpus && gpus->size() == 1);
  EXPECT_EQ(gpus->front().uuid, "GPU-1");
  EXPECT_EQ(gpus->front().used_bytes, std::nullopt);
  EXPECT_TRUE(gpus->front().prohibited);
  EXPECT_EQ(gpus->front().processes, std::vector<std::string>{"process 1"});
  for (const char* wrong : {"", "Segmentation fault", "{\"gpus\":[{}]}", "{\"gpus\""})
    EXPECT_EQ(gpus_of_probe(wrong), std::nullopt) << wrong;
}

}  // namespace
}  // namespace batchsweep::agent
