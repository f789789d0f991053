// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "sweeps/gpu_catalogue.hpp"
#include "sweeps/model_table.hpp"

namespace batchsweep::sweeps {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(GpuCatalogue, HasEveryCardOnceWithPlausibleFigures) {
  std::set<std::string_view> names;
  for (const GpuType& type : gpu_catalogue()) {
    SCOPED_TRACE(type.name);
    EXPECT_TRUE(names.insert(type.name).second);
    EXPECT_FALSE(type.architecture.empty());
    EXPECT_FALSE(type.driver_name.empty());
    EXPECT_EQ(type.compute_capability.find('.'), type.compute_capability.size() - 2);
    EXPECT_GE(type.memory_bytes, std::uint64_t{6} << 30);
    EXPECT_LE(type.memory_bytes, std::uint64_t{200} << 30);
    EXPECT_GT(type.bandwidth_bytes_per_s.value(), 2e11);
    EXPECT_LT(type.bandwidth_bytes_per_s.value(), 1e13);
    EXPECT_GT(type.fp32_flops.value(), 4e12);
    EXPECT_LT(type.fp32_flops.value(), 2e14);
    // bf16 came with Ampere (8.0), TF32 with it, fp8 with Ada (8.9).
    const bool ampere = type.compute_capability.size() > 3 || type.compute_capability >= "8.0";
    EXPECT_EQ(type.bf16_flops.has_value(), ampere);
    EXPECT_EQ(type.tf32_flops.has_value(), ampere);
    EXPECT_GE(type.fp8_flops.value_or(1e18), 1.9 * type.fp16_flops.value_or(0));
  }
  EXPECT_EQ(names.size(), 54U);
}

TEST(GpuCatalogue, AgreesWithPublishedFiguresOfKnownCards) {
  const GpuType* h100 = find_gpu("H100 80GB SXM");
  ASSERT_NE(h100, nullptr);
  EXPECT_EQ(h100->memory_bytes, 85'520'809'984U);
  EXPECT_EQ(h100->bf16_flops, 989e12);
  EXPECT_EQ(h100->tdp_w, 700);
  const GpuType* turing = find_gpu("RTX 2080 Ti");
  ASSERT_NE(turing, nullptr);
  EXPECT_EQ(turing->memory_bytes, 11'554'258'944U);
  EXPECT_EQ(turing->bf16_flops, std::nullopt);
  EXPECT_EQ(find_gpu("GH200 96GB")->launch_price_usd, std::nullopt);
}

TEST(GpuCatalogue, ListsTheCandidatesOfAShortName) {
  EXPECT_THAT(gpu_candidates("A100"),
              ElementsAre("A100 40GB PCIe", "A100 40GB SXM", "A100 80GB PCIe", "A100 80GB SXM"));
  EXPECT_THAT(gpu_candidates("RTX 6000"),
              ElementsAre("Quadro RTX 6000", "RTX 6000 Ada", "RTX PRO 6000 Blackwell"));
  EXPECT_THAT(gpu_candidates("h100 sxm"), ElementsAre("H100 80GB SXM"));
  EXPECT_THAT(gpu_candidates("RTX3090"), ElementsAre("RTX 3090"));
  EXPECT_THAT(gpu_candidates("A10"), ElementsAre("A10"));
  EXPECT_THAT(gpu_candidates("RTX 209O"), testing::Contains("RTX 2070"));
  EXPECT_THAT(gpu_candidates("abacus"), IsEmpty());
  EXPECT_THAT(gpu_candidates(""), IsEmpty());
}

TEST(GpuCatalogue, FindsACardByDriverNameAndMemoryTogether) {
  const auto name = [](std::string_view driver, std::uint64_t bytes) {
    const GpuType* type = find_gpu_by_driver(driver, bytes);
    return type == nullptr ? std::string_view() : type->name;
  };
  EXPECT_EQ(name("NVIDIA H200", 150'754'820'096), "H200 SXM");
  EXPECT_EQ(name("GeForce RTX 2080 Ti", 11'554'717'696),
            "RTX 2080 Ti");                           // a driver from before the vendor prefix
  EXPECT_EQ(name("Tesla T4", 15'843'721'216), "T4");  // 15109 MiB
  EXPECT_EQ(name("NVIDIA H200", 85'520'809'984), "");
  EXPECT_EQ(name("NVIDIA GeForce RTX 3080", 12'884'901'888),
            "");  // the 12 GB variant is another card
  EXPECT_EQ(name("NVIDIA A100", 42'505'076'736), "");
}

TEST(ModelTable, CountsParametersAndMultiplyAddsAsPublished) {
  const ModelInfo* resnet = find_model("resnet18");
  ASSERT_NE(resnet, nullptr);
  EXPECT_EQ(resnet->num_parameters, 11'689'512);
  EXPECT_EQ(resnet->multiply_adds_per_sample, 1'814'073'344.0);
  EXPECT_EQ(find_model("lenet")->num_parameters, 61'706);
  EXPECT_EQ(find_model("lenet")->multiply_adds_per_sample, 416'520.0);
  EXPECT_EQ(find_model("bert-tiny")->num_parameters, 4'416'698);
  EXPECT_EQ(find_model("bert-tiny")->multiply_adds_per_sample, 560'889'856.0);
  EXPECT_EQ(find_model("ResNet18"), nullptr);
}

}  // namespace
}  // namespace batchsweep::sweeps
