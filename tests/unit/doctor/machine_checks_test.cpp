// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor/machine_checks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

namespace batchsweep::cli {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

TEST(SharedMemory, OfAContainersDefaultSizeIsAWarning) {
  EXPECT_EQ(judge_shared_memory(std::nullopt).level, Level::kError);
  const Finding small = judge_shared_memory(64 * kMiB);
  EXPECT_EQ(small.level, Level::kWarning);
  EXPECT_THAT(small.message, HasSubstr("64.0 MiB"));
  EXPECT_THAT(small.cure, HasSubstr("--shm-size"));
  EXPECT_EQ(judge_shared_memory(1024 * kMiB).level, Level::kOk);
}

TEST(Cpus, QuotaIsReadFromTheControlGroup) {
  EXPECT_EQ(parse_cpu_quota("max 100000\n"), std::nullopt);
  EXPECT_EQ(parse_cpu_quota(""), std::nullopt);
  EXPECT_EQ(parse_cpu_quota("150000 100000\n"), 1.5);
}

TEST(Cpus, BindingAndQuotaAreWarnings) {
  EXPECT_EQ(judge_cpus({8, 8, std::nullopt}).level, Level::kOk);
  EXPECT_EQ(judge_cpus({8, 8, 8.0}).level, Level::kOk);
  EXPECT_THAT(judge_cpus({8, 1, std::nullopt}).cure, HasSubstr("--bind-to none"));
  const Finding quota = judge_cpus({8, 8, 2.5});
  EXPECT_EQ(quota.level, Level::kWarning);
  EXPECT_THAT(quota.cure, HasSubstr("threads = 2"));
}

TEST(Folder, ThatCannotBeWrittenOrSyncedIsAnError) {
  FolderFacts facts{.path = "/here", .sync_s = 0.0002, .free_bytes = 4096 * kMiB};
  EXPECT_EQ(judge_recording(facts).level, Level::kOk);
  facts.sync_s = 0.1;
  EXPECT_EQ(judge_recording(facts).level, Level::kWarning);
  facts.sync_error = EIO;
  EXPECT_EQ(judge_recording(facts).level, Level::kError);
  facts.create_error = EROFS;
  EXPECT_THAT(judge_recording(facts).message,
              HasSubstr("cannot write in /here: Read-only file system"));
}

TEST(Folder, WithoutFileLockingIsAWarningThatNamesTheVariable) {
  FolderFacts facts{.path = "/here"};
  EXPECT_EQ(judge_file_locking(facts, "1.10.8"),
            (Finding{"hdf5", Level::kOk, "HDF5 1.10.8, file locking works in this folder", ""}));
  facts.lock_error = ENOLCK;
  const Finding finding = judge_file_locking(facts, "1.10.8");
  EXPECT_EQ(finding.level, Level::kWarning);
  EXPECT_THAT(finding.message, HasSubstr("No locks available"));
  EXPECT_THAT(finding.cure, HasSubstr("HDF5_USE_FILE_LOCKING=FALSE"));
}

TEST(Folder, IsReallyTriedAndLeavesNothingBehind) {
  const std::string here = testing::TempDir();
  const FolderFacts facts = look_folder(here);
  EXPECT_EQ(facts.create_error, 0);
  EXPECT_EQ(facts.sync_error, 0);
  EXPECT_GT(facts.sync_s, 0);
  EXPECT_GT(facts.free_bytes, 0U);
  EXPECT_EQ(look_folder("/proc/nowhere").create_error, ENOENT);
}

TEST(Disk, HasThreeLevels) {
  const auto level = [](std::uint64_t free) {
    return judge_disk({.path = "/here", .free_bytes = free}).level;
  };
  EXPECT_EQ(level(2048 * kMiB), Level::kOk);
  EXPECT_EQ(level(500 * kMiB), Level::kWarning);
  EXPECT_EQ(level(10 * kMiB), Level::kError);
}

TEST(Clock, BeforeThisProgramExistedIsAnError) {
  EXPECT_EQ(judge_clock({0, true}).level, Level::kError);
  EXPECT_EQ(judge_clock({1'800'000'000, true}).level, Level::kOk);
  EXPECT_THAT(judge_clock({1'800'000'000, false}).message, HasSubstr("no synchronisation"));
}

TEST(LibraryPath, IsAWarningWhenSet) {
  EXPECT_EQ(judge_library_path(std::nullopt).level, Level::kOk);
  EXPECT_EQ(judge_library_path("").level, Level::kOk);
  EXPECT_EQ(judge_library_path("/opt/cuda/lib64").level, Level::kWarning);
}

}  // namespace
}  // namespace batchsweep::cli
