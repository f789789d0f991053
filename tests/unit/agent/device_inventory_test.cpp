// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/device_inventory.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "base/error.hpp"
#include "worker/agent/cpu_set.hpp"
#include "worker/agent/host_list.hpp"

namespace batchsweep::agent {
namespace {

using protocol::DeviceOffer;
using sweeps::DeclaredDevice;
using sweeps::DeviceKind;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
constexpr std::uint64_t kH100 = 85520809984U;

FoundGpu h100(const char* uuid, const char* pci = "00000000:01:00.0") {
  return {.uuid = uuid,
          .driver_name = "NVIDIA H100 80GB HBM3",
          .pci_bus_id = pci,
          .compute_capability = "9.0",
          .driver_version = "580.65.06",
          .memory_bytes = kH100};
}
FoundHost host(std::vector<FoundGpu> gpus = {}) {
  return {.name = "n1",
          .record = {.cpu_name = "Test CPU"},
          .cores_allowed = 8,
          .memory_available_bytes = 10 * kGiB,
          .gpus = std::move(gpus)};
}
// "type@uuid limit xN threads" of each offer, in order.
std::vector<std::string> offers(const FoundHost& found, const std::vector<DeclaredDevice>& declared,
                                bool rehearsal = false) {
  std::vector<std::string> lines;
  for (const DeviceOffer& offer : offered_devices(found, declared, rehearsal)) {
    EXPECT_EQ(offer.index, static_cast<int>(lines.size()));
    lines.push_back(fmt::format("{}@{} {}{}", offer.type, offer.uuid, offer.limit_bytes,
                                offer.emulated ? " emulated" : ""));
  }
  return lines;
}
std::string refusal(const FoundHost& found, const std::vector<DeclaredDevice>& declared,
                    bool rehearsal = false) {
  try {
    (void)offered_devices(found, declared, rehearsal);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "offered";
}

TEST(OfferedDevices, WithoutAnyDeclarationTheCpuAndTheCardsByTheirCatalogueNames) {
  const auto all = offered_devices(host({h100("GPU-a")}), {}, false);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].type, "H100 80GB SXM");
  EXPECT_EQ(all[0].kind, DeviceKind::kCuda);
  EXPECT_EQ(all[0].limit_bytes, kH100);
  EXPECT_FALSE(all[0].cap_bytes);
  EXPECT_EQ(all[0].driver_version, "580.65.06");
  EXPECT_FALSE(all[0].emulated);
  EXPECT_EQ(all[1].type, "cpu");
  EXPECT_EQ(all[1].threads, 8);
  EXPECT_EQ(all[1].limit_bytes, 8 * kGiB);  // 80 %
  EXPECT_EQ(all[1].driver_name, "Test CPU");
}

TEST(OfferedDevices, ACardNeedsNameAndMemoryToBeACatalogueCard) {
  const auto type = [](double factor) {
    FoundGpu gpu = h100("GPU-a");
    gpu.memory_bytes = static_cast<std::uint64_t>(static_cast<double>(kH100) * factor);
    return type_of(gpu);
  };
  EXPECT_EQ(type(0.91), "H100 80GB SXM");
  EXPECT_EQ(type(1.019), "H100 80GB SXM");
  EXPECT_EQ(type(0.89), "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(type(1.03), "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(type_of({.driver_name = "NVIDIA Future 1"}), "NVIDIA Future 1");

  FoundGpu half = h100("GPU-a");
  EXPECT_FALSE(memory_mismatch(half));
  half.memory_bytes /= 2;
  EXPECT_THAT(*memory_mismatch(half),
              testing::AllOf(HasSubstr("asked H100 80GB SXM, got NVIDIA H100 80GB HBM3"),
                             HasSubstr("39.8 GiB")));
  EXPECT_FALSE(memory_mismatch({.driver_name = "NVIDIA Future 1"}));
}

TEST(OfferedDevices, ACardThatStandsInForASmallerOneSharesItsIdentity) {
  const DeclaredDevice emulated{.name = "RTX 2080 Ti",
                                .kind = DeviceKind::kCuda,
                                .memory_bytes = 11 * kGiB,
                                .reserve_bytes = kGiB,
                                .count = 2,
                                .on = "H100 80GB SXM"};
  EXPECT_THAT(offers(host({h100("GPU-a"), h100("GPU-b")}), {emulated}),
              ElementsAre("H100 80GB SXM@GPU-a 85520809984", "H100 80GB SXM@GPU-b 85520809984",
                          "RTX 2080 Ti@GPU-a 10737418240 emulated",
                          "RTX 2080 Ti@GPU-b 10737418240 emulated", "cpu@cpu-n1-4 8589934592"));
}

TEST(OfferedDevices, AFreeNameIsACapAndNoEmulation) {
  const DeclaredDevice capped{.name = "half", .kind = DeviceKind::kCuda, .memory_bytes = 40 * kGiB};
  EXPECT_THAT(offers(host({h100("GPU-a")}), {capped}),
              ElementsAre("H100 80GB SXM@GPU-a 85520809984", "half@GPU-a 42949672960",
                          "cpu@cpu-n1-2 8589934592"));
}

TEST(OfferedDevices, ACardDeclaredUnderItsOwnNameIsOfferedOnce) {
  const DeclaredDevice reserved{
      .name = "H100 80GB SXM", .kind = DeviceKind::kCuda, .reserve_bytes = kGiB};
  EXPECT_THAT(offers(host({h100("GPU-a")}), {reserved}),
              ElementsAre("H100 80GB SXM@GPU-a 84447068160", "cpu@cpu-n1-1 8589934592"));
}

TEST(OfferedDevices, AViewNeedsAGpuThatCanCarryIt) {
  const DeclaredDevice big{.name = "big", .kind = DeviceKind::kCuda, .memory_bytes = 100 * kGiB};
  const DeclaredDevice two{
      .name = "two", .kind = DeviceKind::kCuda, .memory_bytes = kGiB, .count = 2};
  EXPECT_THAT(offers(host({h100("GPU-a")}), {big}),
              ElementsAre(HasSubstr("H100"), HasSubstr("cpu@")));
  EXPECT_THAT(offers(host(), {two}),
              ElementsAre(HasSubstr("cpu@")));  // absent on this host, present elsewhere perhaps
  EXPECT_THAT(refusal(host({h100("GPU-a")}), {two}),
              HasSubstr("device \"two\": count = 2, but host n1 has 1 GPU(s)"));
}

TEST(OfferedDevices, DeclaredCpusReplaceTheDefaultOne) {
  const DeclaredDevice small{
      .name = "small", .memory_bytes = kGiB, .reserve_bytes = kGiB / 2, .threads = 2, .count = 2};
  EXPECT_THAT(offers(host(), {small}),
              ElementsAre("small@cpu-n1-0 536870912", "small@cpu-n1-1 536870912"));
  const DeclaredDevice plain{.name = "cpu", .count = 2};
  const auto all = offered_devices(host(), {plain}, false);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].threads, 4);             // all cores / count
  EXPECT_EQ(all[0].limit_bytes, 4 * kGiB);  // of the 80 %, each its share
}

TEST(OfferedDevices, MoreThreadsThanCoresAreRefusedUnlessWanted) {
  DeclaredDevice cpu{.name = "cpu", .threads = 3, .count = 3};
  EXPECT_THAT(refusal(host(), {cpu}),
              testing::AllOf(HasSubstr("comes to 9"), HasSubstr("8 core(s)"),
                             HasSubstr("oversubscribe = true")));
  EXPECT_EQ(refusal(host(), {cpu}, true), "offered");  // nothing is computed in a rehearsal
  cpu.oversubscribe = true;
  EXPECT_EQ(refusal(host(), {cpu}), "offered");
  const DeclaredDevice a{.name = "a", .threads = 5}, b{.name = "b", .threads = 5};
  EXPECT_EQ(refusal(host(), {a}), "offered");
  EXPECT_THAT(refusal(host(), {a, b}), HasSubstr("comes to 10"));  // both run at the same time
}

TEST(OfferedDevices, AReserveMustLeaveSomething) {
  const DeclaredDevice cpu{
      .name = "cpu", .memory_bytes = kGiB, .reserve_bytes = kGiB, .threads = 1};
  EXPECT_THAT(refusal(host(), {cpu}), HasSubstr("reserve = 1.0 GiB leaves nothing of 1.0 GiB"));
}

TEST(OfferedDevices, ARehearsalPlaysAnyCardAnyNumberOfTimes) {
  const DeclaredDevice card{.name = "H100 80GB SXM", .kind = DeviceKind::kCuda, .count = 2};
  const DeclaredDevice small{.name = "small", .memory_bytes = kGiB, .threads = 99};
  EXPECT_THAT(offers(host({h100("GPU-a")}), {card, small}, true),
              ElementsAre("H100 80GB SXM@played-n1-0 85520809984",
                          "H100 80GB SXM@played-n1-1 85520809984", "small@played-n1-2 1073741824"));
  EXPECT_THAT(refusal(host(), {{.name = "unknown", .kind = DeviceKind::kCuda}}, true),
              HasSubstr("no memory given"));
}

TEST(OfferedDevices, OnlyWhatIsDeclaredForThisHost) {
  DeclaredDevice cpu{.name = "special", .memory_bytes = kGiB, .threads = 1, .hosts = "m[1-4]"};
  EXPECT_THAT(offers(host(), {cpu}), ElementsAre("cpu@cpu-n1-0 8589934592"));
  cpu.hosts = "m[1-4],n[1-2]";
  EXPECT_THAT(offers(host(), {cpu}), ElementsAre("special@cpu-n1-0 1073741824"));
}

TEST(HostList, IsReadAsSlurmWritesIt) {
  struct Case {
    const char* list;
    const char* host;
    bool contained;
  };
  for (const Case& c : std::vector<Case>{{"", "n1", true},
                                         {"n1", "n1", true},
                                         {"n1", "n10", false},
                                         {"n[1-4]", "n4", true},
                                         {"n[1-4]", "n5", false},
                                         {"n[1-4]", "n04", false},
                                         {"n[01-12]", "n07", true},
                                         {"n[01-12]", "n7", false},
                                         {"n[1-2,7]x", "n7x", true},
                                         {"n[1-2,7]x", "n7", false},
                                         {"a, n[2,3] ,b", "n3", true},
                                         {"gpu*", "gpu17", true},
                                         {"n[1-4]", "n", false},
                                         {"n[1-4]", "nx", false}}) {
    EXPECT_EQ(host_list_contains(c.list, c.host), c.contained) << c.list << " " << c.host;
  }
}

TEST(VisibleGpus, AreThoseThatCudaWouldShow) {
  // As NVML lists them; index 0 is the lowest bus.
  const std::vector<FoundGpu> found = {h100("GPU-ccc", "00000000:C1:00.0"),
                                       h100("GPU-aab", "00000000:01:00.0"),
                                       h100("GPU-aac", "00000000:41:00.0")};
  struct Case {
    std::optional<std::string> variable;
    std::vector<std::string> uuids;
    const char* notice;
  };
  for (const Case& c : std::vector<Case>{
           {std::nullopt, {"GPU-aab", "GPU-aac", "GPU-ccc"}, ""},
           {"", {}, ""},
           {"-1", {}, ""},
           {"2", {"GPU-ccc"}, ""},
           {"2,0", {"GPU-ccc", "GPU-aab"}, ""},
           {"0,-1,1", {"GPU-aab"}, ""},
           {"0,7,1", {"GPU-aab"}, "'7' names no GPU here"},
           {"0,0", {"GPU-aab"}, "names a GPU twice"},
           {"GPU-ccc,GPU-aab", {"GPU-ccc", "GPU-aab"}, ""},
           {"GPU-c", {"GPU-ccc"}, ""},
           {"GPU-aa", {}, "'GPU-aa' names no GPU here"},
           {"first", {}, "'first' names no GPU here"},
       }) {
    SCOPED_TRACE(c.variable.value_or("(unset)"));
    std::vector<std::string> notices, uuids;
    for (const FoundGpu& gpu : visible_gpus(found, c.variable, notices)) uuids.push_back(gpu.uuid);
    EXPECT_EQ(uuids, c.uuids);
    if (*c.notice == '\0') {
      EXPECT_THAT(notices, IsEmpty());
    } else {
      EXPECT_THAT(notices, ElementsAre(HasSubstr(c.notice)));
    }
  }
}

// "type cores xthreads" of each offer, in order.
std::vector<std::string> cores(const std::string& allowed, std::vector<FoundGpu> gpus,
                               const std::vector<DeclaredDevice>& declared) {
  FoundHost found = host(std::move(gpus));
  found.record.cpus_allowed = allowed;
  std::vector<std::string> lines;
  for (const DeviceOffer& offer : offered_devices(found, declared, false))
    lines.push_back(fmt::format("{} {} x{}", offer.type, offer.cpus.empty() ? "all" : offer.cpus,
                                offer.threads));
  return lines;
}

TEST(OfferedDevices, EachHasCoresOfItsOwn) {
  const DeclaredDevice cpu{.name = "cpu", .threads = 3, .count = 2};
  EXPECT_THAT(cores("0-3,8-11", {}, {cpu}), ElementsAre("cpu 0-2 x3", "cpu 3,8-9 x3"));
  DeclaredDevice shared = cpu;
  shared.oversubscribe = true;
  EXPECT_THAT(cores("0-3,8-11", {}, {shared}), ElementsAre("cpu all x3", "cpu all x3"));
  EXPECT_THAT(cores("", {}, {cpu}), ElementsAre("cpu all x3", "cpu all x3")) << "no mask is known";
}

TEST(OfferedDevices, GpusShareTheCoresThatNoCpuDeviceHas) {
  const DeclaredDevice cpu{.name = "cpu", .threads = 2};
  const std::vector<FoundGpu> two = {h100("GPU-a"), h100("GPU-b", "00000000:02:00.0")};
  EXPECT_THAT(cores("0-7", two, {cpu}),
              ElementsAre("H100 80GB SXM 2-4 x3", "H100 80GB SXM 5-7 x3", "cpu 0-1 x2"));
  EXPECT_THAT(cores("0-7", two, {}),
              ElementsAre("H100 80GB SXM 0-3 x4", "H100 80GB SXM 4-7 x4", "cpu all x8"))
      << "the default cpu is not meant to run beside GPUs";
  EXPECT_THAT(cores("0", two, {}),
              ElementsAre("H100 80GB SXM all x1", "H100 80GB SXM all x1", "cpu all x8"));
}

TEST(CpuSet, ListsAreReadAndWritten) {
  EXPECT_THAT(cpus_of("0-2,5,8-9"), ElementsAre(0, 1, 2, 5, 8, 9));
  EXPECT_EQ(cpu_list({0, 1, 2, 5, 8, 9}), "0-2,5,8-9");
  EXPECT_THAT(cpus_of(""), IsEmpty());
  EXPECT_THAT(cpus_of("what"), IsEmpty());
  EXPECT_EQ(cpu_list({}), "");
}

}  // namespace
}  // namespace batchsweep::agent
