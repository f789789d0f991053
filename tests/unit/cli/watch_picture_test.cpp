// SPDX-License-Identifier: Apache-2.0
// What `batchsweep watch` shows, literally.
#include "cli/watch_picture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace batchsweep::cli {
namespace {

using results::LockState;
using testing::HasSubstr;
using testing::Not;

Watched running() {
  Watched watched;
  watched.path = "cards.h5";
  watched.lock = {LockState::kHeld, results::LockHolder{.host = "n1", .pid = 12}};
  watched.status = Json::parse(R"({
    "utc": "2026-05-04T03:02:01.123Z", "left_s": 125.0, "stopping": false,
    "counts": {"total": 40, "done": 12, "failures": 1, "running": 2, "waiting": 26, "absent": 0},
    "devices": [
      {"host": "n1", "device": 0, "type": "a100", "state": "running",
       "runs": {"trial": "00aa00aa00aa00aa", "model": "resnet18", "precision": "bf16", "batch_size": 64,
                "world_size": 2, "rank": 1, "phase": "timed", "step": 7, "since_s": 12.0}},
      {"host": "n2", "device": 0, "type": "v100", "state": "idle"}],
    "next": [{"trial": "11bb11bb11bb11bb", "gpu": "a100", "model": "resnet18", "precision": "fp32",
              "batch_size": 128, "world_size": 4, "why": "needs 4 x a100 on one host, at most 2 are free together"}],
    "skipped": [{"gpu": "h100", "world_size": 1, "precision": "fp32", "why": "no such device here"}]})");
  watched.status_age_s = 0.4;
  return watched;
}

TEST(WatchPicture, OfARunningSweep) {
  EXPECT_EQ(watch_picture(running()), R"(cards.h5, 2026-05-04T03:02:01.123Z
12 of 40 trials recorded, 1 failed, 2 running, 26 waiting, about 2 min 5 s left

Devices
  host  device  type  state     for             trial  what                                 phase  step
  n1         0  a100  running  12 s  00aa00aa00aa00aa  resnet18 bf16 batch 64, rank 1 of 2  timed     7
  n2         0  v100  idle

Next
             trial  what                     gpu   ranks  waits because
  11bb11bb11bb11bb  resnet18 fp32 batch 128  a100      4  needs 4 x a100 on one host, at most 2 are free together
  skipped: 1 x h100, fp32: no such device here
)");
}

TEST(WatchPicture, SaysWhatIsNotKnownYetAndWhatEnds) {
  Watched watched = running();
  watched.status["left_s"] = nullptr;
  watched.status["stopping"] = true;
  EXPECT_THAT(watch_picture(watched),
              HasSubstr("26 waiting, time left not known yet; it is ending: nothing new starts\n"));
}

TEST(WatchPicture, AStaleStatusSaysSo) {
  Watched watched = running();
  watched.status_age_s = 75;
  EXPECT_THAT(watch_picture(watched),
              HasSubstr("STALE: host n1, process 12 told this 1 min 15 s ago and nothing since"));
  watched.status_age_s = kStaleStatus_s;
  EXPECT_THAT(watch_picture(watched), Not(HasSubstr("STALE")));
}

TEST(WatchPicture, WithoutARunningSweepSlurmsQueueTells) {
  Watched watched;
  watched.path = "cards.h5";
  watched.jobs = {{"12", "PENDING", "Resources"}, {"13", "RUNNING", "None"}};
  EXPECT_EQ(watch_picture(watched),
            "cards.h5\nno sweep is running on this file\nSlurm job 12: PENDING (Resources)\nSlurm "
            "job 13: RUNNING\n");
  EXPECT_FALSE(has_ended(watched));
}

TEST(WatchPicture, IsTheLastOneWhereNothingRunsAndNothingWaits) {
  for (const auto& [state, ended] : {std::pair(LockState::kFree, true),
                                     {LockState::kDead, true},
                                     {LockState::kHeld, false},
                                     {LockState::kUnsure, false}}) {
    Watched watched;
    watched.lock.state = state;
    EXPECT_EQ(has_ended(watched), ended);
  }
  Watched watched;
  watched.lock = {LockState::kDead, results::LockHolder{.host = "n1", .pid = 12}};
  EXPECT_THAT(watch_picture(watched),
              HasSubstr("the sweep that ran (host n1, process 12) is gone"));
}

}  // namespace
}  // namespace batchsweep::cli
