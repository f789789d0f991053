// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>

#include "results/store/lock_file.hpp"
#include "results/store/posix_file.hpp"
#include "results/store/schema.hpp"
#include "results/store/status_file.hpp"
#include "store_fixtures.hpp"

namespace batchsweep::results {
namespace {

// BATCHSWEEP_REWRITE=1 writes the page instead of comparing it.
TEST(FormatPage, IsWhatTheFieldTableSays) {
  const std::string page = BATCHSWEEP_SOURCE_DIR "/docs/file_format.md";
  if (std::getenv("BATCHSWEEP_REWRITE") != nullptr) write_file(page, format_page());
  ASSERT_TRUE(file_exists(page));
  EXPECT_TRUE(read_whole_file(page) == format_page())
      << "docs/file_format.md is not what the code writes: run this test with BATCHSWEEP_REWRITE=1";
}

TEST(StatusFile, ReplacesReadsAndRemoves) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.h5");
  const LockFile lock(path, this_process());
  EXPECT_TRUE(read_status(path).is_null());
  EXPECT_TRUE(write_status(path, {{"done", 3}}));
  EXPECT_EQ(read_status(path)["done"], 3);
  remove_status(path);
  EXPECT_TRUE(read_status(path).is_null());
  EXPECT_FALSE(write_status(folder.file("no/such/r.h5"), {}));
}

TEST(StatusFile, IsNotToldOnceTheSweepThatWroteItIsGone) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.h5");
  {
    const LockFile lock(path, this_process());
    EXPECT_TRUE(write_status(path, {{"done", 3}}));
  }
  EXPECT_TRUE(read_status(path).is_null()) << "no lock";
  LockHolder dead = this_process();
  ++dead.start_time;
  write_file(path + ".lock", lock_text(dead));
  EXPECT_TRUE(read_status(path).is_null()) << "a dead lock, of another process";
  LockHolder far = this_process();
  far.host = "n2";
  write_file(path + ".lock", lock_text(far));
  EXPECT_TRUE(read_status(path).is_null()) << "a lock of another sweep";
}

}  // namespace
}  // namespace batchsweep::results
