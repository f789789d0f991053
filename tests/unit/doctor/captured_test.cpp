// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor/captured.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "cli/doctor/finding.hpp"

namespace batchsweep::cli {
namespace {

TEST(Capture, KeepsBothOutputsAndTheExitCode) {
  const Captured captured = capture({"sh", "-c", "echo out; echo err >&2; exit 3"}, seconds(10));
  EXPECT_TRUE(captured.started);
  EXPECT_EQ(captured.exit_code, 3);
  EXPECT_FALSE(captured.succeeded());
  EXPECT_EQ(captured.output, "out\nerr\n");
}

TEST(Capture, OfAProgramThatIsNotThereSaysSo) {
  EXPECT_FALSE(capture({"batchsweep-no-such-program"}, seconds(10)).started);
}

TEST(Capture, KillsTheWholeGroupAtTheDeadline) {
  const Captured captured = capture({"sh", "-c", "sleep 100 & echo $!; wait"}, seconds(0.2));
  EXPECT_TRUE(captured.timed_out);
  EXPECT_FALSE(captured.exit_code);
  // Dead is gone, or a zombie that nobody has collected yet.
  const int sleeper = std::stoi(captured.output);
  const Instant deadline = system_clock().now() + seconds(5);
  const auto alive = [&] {
    std::ifstream stat("/proc/" + std::to_string(sleeper) + "/stat");
    std::string pid, name, state;
    return static_cast<bool>(stat >> pid >> name >> state) && state != "Z" && state != "X";
  };
  while (alive() && system_clock().now() < deadline) std::this_thread::yield();
  EXPECT_FALSE(alive()) << "the sleeper of the killed shell lives on";
}

TEST(Capture, DoesNotWaitForAChildThatWasLeftBehind) {
  const Captured captured = capture({"sh", "-c", "sleep 3 & echo done"}, seconds(10));
  EXPECT_TRUE(captured.succeeded());
  EXPECT_EQ(captured.output, "done\n");
  EXPECT_LT(captured.seconds, 2);
}

TEST(Capture, SetsVariablesOnTopOfTheEnvironmentAndCutsLongOutput) {
  EXPECT_EQ(
      capture({"sh", "-c", "echo $DOCTOR_TEST"}, seconds(10), {{"DOCTOR_TEST", "there"}}).output,
      "there\n");
  EXPECT_EQ(capture({"sh", "-c", "head -c 200000 /dev/zero"}, seconds(10)).output.size(), 65536U);
}

TEST(Findings, AreAlignedCountedAndCured) {
  const std::vector<Finding> findings = {
      {"disk", Level::kOk, "9 GiB free", ""},
      {"mpi start", Level::kError, "does not work", "try by hand"}};
  EXPECT_EQ(render_text(findings),
            "ok       disk       9 GiB free\n"
            "error    mpi start  does not work\n"
            "                    cure: try by hand\n"
            "1 ok, 0 warnings, 1 errors\n");
  const Json json = to_json(findings);
  EXPECT_EQ(json["errors"], 1);
  EXPECT_EQ(json["findings"][1]["level"], "error");
  EXPECT_EQ(json["findings"][1]["cure"], "try by hand");
}

TEST(Levels, HaveNamesThatRoundTrip) {
  for (const Level level : {Level::kOk, Level::kWarning, Level::kError})
    EXPECT_EQ(from_text<Level>(to_text(level)), level);
}

}  // namespace
}  // namespace batchsweep::cli
