// SPDX-License-Identifier: Apache-2.0
#include "cli/gpu_check.hpp"

#include <gmock/gmock.h>

#include "base/error.hpp"

namespace batchsweep::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

protocol::DeviceOffer offer(const std::string& type, const std::string& card,
                            const std::string& driver) {
  protocol::DeviceOffer offer;
  offer.type = type;
  offer.kind = driver.empty() ? sweeps::DeviceKind::kCpu : sweeps::DeviceKind::kCuda;
  offer.driver_name = card;
  offer.driver_version = driver;
  return offer;
}

const std::vector<results::RecordedGpu> kRecorded = {{"H200 SXM", "NVIDIA H200", "580"},
                                                     {"RTX 2080 Ti", "NVIDIA H200", "580"}};

TEST(GpuCheck, TheSameCardAndDriverMayGoOn) {
  EXPECT_THAT(gpu_differences(kRecorded, {offer("H200 SXM", "NVIDIA H200", "580")}), IsEmpty());
  EXPECT_THAT(gpu_differences({}, {offer("H200 SXM", "NVIDIA H200", "570")}), IsEmpty())
      << "nothing is recorded";
}

TEST(GpuCheck, AnotherCardUnderTheSameNameIsNamed) {
  EXPECT_THAT(
      gpu_differences(kRecorded, {offer("RTX 2080 Ti", "NVIDIA GeForce RTX 2080 Ti", "580")}),
      ElementsAre("RTX 2080 Ti: NVIDIA H200 then, NVIDIA GeForce RTX 2080 Ti now"));
}

TEST(GpuCheck, AnotherDriverIsNamedOnceForAllCardsOfAKind) {
  const auto now = offer("H200 SXM", "NVIDIA H200", "590");
  EXPECT_THAT(gpu_differences(kRecorded, {now, now}),
              ElementsAre("H200 SXM: driver 580 then, 590 now"));
}

TEST(GpuCheck, WhatWasAcceptedOnceIsKnown) {
  std::vector<results::RecordedGpu> recorded = kRecorded;
  recorded.push_back({"H200 SXM", "NVIDIA H200", "590"});
  EXPECT_THAT(gpu_differences(recorded, {offer("H200 SXM", "NVIDIA H200", "580"),
                                         offer("H200 SXM", "NVIDIA H200", "590")}),
              IsEmpty());
}

TEST(GpuCheck, NewNamesAndCpusHaveNothingToBeComparedWith) {
  EXPECT_THAT(gpu_differences(kRecorded, {offer("A100 40GB PCIe", "NVIDIA A100", "570"),
                                          offer("cpu", "AMD EPYC", "")}),
              IsEmpty());
}

TEST(GpuCheck, TheRefusalNamesTheFileAndTheWaysOn) {
  try {
    refuse_changed_gpus("x.h5", kRecorded, {offer("H200 SXM", "NVIDIA H200", "590")});
    FAIL();
  } catch (const ResultsFileError& error) {
    EXPECT_THAT(
        error.what(),
        testing::AllOf(
            testing::StartsWith("x.h5 was recorded on other GPUs: H200 SXM: driver 580 then"),
            testing::HasSubstr("--rerun all"), testing::HasSubstr("--accept-changes")));
  }
}

}  // namespace
}  // namespace batchsweep::cli
