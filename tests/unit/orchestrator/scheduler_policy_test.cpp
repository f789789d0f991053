// SPDX-License-Identifier: Apache-2.0
// The policy as it is said in orchestrator/scheduler.hpp, point by point. A placement reads
// "slot: device device"; the work of a trial is its expected time in seconds, once that is learnt.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/expected_time.hpp"
#include "tests/unit/orchestrator/scheduler_stage.hpp"

namespace batchsweep::orchestrator {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(SchedulerPolicy, LongestFirstOnceTimesAreKnown) {
  Stage stage;
  stage.host(0, "small", 1);
  const ShapeId one = stage.kind(1);
  stage.learn();
  for (const SlotId slot : {1u, 2u, 3u}) stage.wait_for(one, slot, slot == 2 ? 30 : 10 + slot);
  EXPECT_THAT(stage.run_all(), ElementsAre("2: 0", "3: 0", "1: 0"));
}

TEST(SchedulerPolicy, OfWhatNobodyKnowsAScoutOfEachFamilyGoesFirstTheSmallestBeforeTheLarger) {
  Stage stage;
  stage.host(0, "small", 1);
  const ShapeId one = stage.kind(1);
  stage.wait_for(one, 1, 64, 0);
  stage.wait_for(one, 2, 64, 1);
  stage.scheduler.add(
      {.slot = 8, .shape = one, .urgency = Urgency::kScout, .family = 0, .work = 8});
  stage.scheduler.add(
      {.slot = 9, .shape = one, .urgency = Urgency::kScout, .family = 1, .work = 4});
  EXPECT_THAT(stage.run_all(), ElementsAre("9: 0", "8: 0", "1: 0", "2: 0"));
}

TEST(SchedulerPolicy, WhatIsLearntOfAFamilyMovesItAmongTheOthers) {
  Stage stage;
  stage.host(0, "small", 1);
  const ShapeId one = stage.kind(1);
  for (const SlotId slot : {1u, 2u}) stage.wait_for(one, slot, 10, 0);
  for (const SlotId slot : {3u, 4u}) stage.wait_for(one, slot, 10, 1);
  stage.scheduler.learn(0, 10, 5);
  stage.scheduler.learn(1, 10, 7);
  EXPECT_THAT(stage.run_one(), ElementsAre("3: 0"));
  stage.scheduler.learn(0, 10, 100);
  EXPECT_THAT(stage.run_all(), ElementsAre("1: 0", "2: 0", "4: 0"));
}

TEST(SchedulerPolicy, ATrialLongerThanAllThatIsLeftGoesBeforeManyRanks) {
  Stage stage;
  stage.host(0, "small", 4);
  stage.learn();
  const ShapeId one = stage.kind(1), four = stage.kind(4);
  stage.wait_for(four, 1, 10);
  stage.wait_for(four, 2, 10);
  stage.wait_for(one, 3, 19);
  EXPECT_THAT(stage.place(), ElementsAre("1: 0 1 2 3")) << "99 device seconds are 24 s for each";
  stage.release({0, 1, 2, 3});
  EXPECT_THAT(stage.place(), ElementsAre("3: 0")) << "59 device seconds are 15 s for each";
}

TEST(SchedulerPolicy, DevicesAreKeptForTheFirstThatNeedsSeveral) {
  Stage stage({.order = sweeps::Order::kGrid});
  stage.host(0, "small", 2);
  stage.host(1, "small", 2);
  stage.learn();
  const ShapeId one = stage.kind(1), two = stage.kind(2);
  stage.wait_for(one, 1, 50);
  stage.wait_for(one, 2, 20);
  stage.wait_for(one, 3, 50);
  stage.wait_for(two, 4, 10);
  for (const SlotId slot : {5u, 6u, 7u}) stage.wait_for(one, slot, slot == 7 ? 19 : 21);
  EXPECT_THAT(stage.place(), ElementsAre("1: 0", "2: 2", "3: 1", "7: 3"))
      << "4 gets host 1 when 2 has ended, in 20 s; only 7 has ended by then";
  EXPECT_THAT(stage.explain(2),
              ElementsAre("4: 0 of 2 devices kept for it on n1 are free, the last is expected in "
                          "20 s at the latest",
                          "5: all devices of type small are in use"));
  stage.now_s = 19;
  stage.release({3});
  EXPECT_THAT(stage.place(), IsEmpty());
  EXPECT_THAT(stage.explain(2),
              ElementsAre("4: 1 of 2 devices kept for it on n1 are free, the last is expected in "
                          "1 s at the latest",
                          "5: needs 1 x small: 0 are free, and 1 more are kept on n1 for a trial "
                          "that needs 2 x small"));
  stage.now_s = 25;
  EXPECT_THAT(stage.place(), IsEmpty()) << "late is late, but what is kept stays kept";
  stage.release({2});
  EXPECT_THAT(stage.place(), ElementsAre("4: 2 3"));
}

TEST(SchedulerPolicy, InAutoTheLongestThatFitsFillsTheHole) {
  Stage stage;
  stage.host(0, "small", 2);
  stage.learn();
  const ShapeId one = stage.kind(1), two = stage.kind(2);
  stage.scheduler.add({.slot = 1, .shape = one, .urgency = Urgency::kScout, .work = 20});
  stage.wait_for(two, 2, 500);
  for (SlotId slot = 10; slot < 40; ++slot) stage.wait_for(one, slot, slot);
  EXPECT_THAT(stage.place(), ElementsAre("1: 0", "20: 1"));
  stage.now_s = 5;
  stage.release({1});
  EXPECT_THAT(stage.place(), ElementsAre("15: 1"));
  stage.release({1});
  EXPECT_THAT(stage.place(), ElementsAre("14: 1")) << "15 and 20 have run";
}

TEST(SchedulerPolicy, WhereNobodyKnowsTimesNobodyStartsOnWhatIsKept) {
  Stage stage({.order = sweeps::Order::kGrid, .limit_s = 100});
  stage.host(0, "small", 2);
  const ShapeId one = stage.kind(1), two = stage.kind(2);
  stage.wait(one, {1, 2});
  EXPECT_THAT(stage.place(), ElementsAre("1: 0", "2: 1"));
  stage.wait(two, {3});
  stage.wait(one, {4, 5});
  stage.now_s = 1;
  stage.release({0});
  EXPECT_THAT(stage.place(), IsEmpty());
  stage.release({1});
  EXPECT_THAT(stage.place(), ElementsAre("3: 0 1"));
}

TEST(SchedulerPolicy, ABigTrialStartsHoweverManySmallOnesKeepComing) {
  Stage stage({.order = sweeps::Order::kGrid});
  stage.host(0, "small", 3);
  stage.learn();
  const ShapeId one = stage.kind(1), all = stage.kind(3);
  for (SlotId slot = 1; slot <= 3; ++slot) stage.wait_for(one, slot, 4 + slot);
  EXPECT_EQ(stage.place().size(), 3u);
  stage.wait_for(all, 4, 1);
  for (SlotId slot = 5; slot < 1000; ++slot) stage.wait_for(one, slot, 2);
  // Each takes twice as long as is expected.
  for (const auto& [time, device] : {std::pair(10, 0u), std::pair(12, 1u), std::pair(14, 2u)}) {
    stage.now_s = time;
    stage.release({device});
    if (device < 2) {
      EXPECT_THAT(stage.place(), IsEmpty()) << "at " << time;
    }
  }
  EXPECT_THAT(stage.place(), ElementsAre("4: 0 1 2"));
}

TEST(SchedulerPolicy, WhoStandsBeforeItMayTakeWhatIsKept) {
  Stage stage;
  stage.host(0, "small", 2);
  stage.learn();
  const ShapeId one = stage.kind(1), two = stage.kind(2);
  stage.wait_for(one, 1, 10);
  EXPECT_THAT(stage.place(), ElementsAre("1: 0"));
  stage.wait_for(two, 2, 10);
  EXPECT_THAT(stage.place(), IsEmpty());
  stage.scheduler.add(
      {.slot = 3, .shape = one, .urgency = Urgency::kScout, .family = 9, .work = 1});
  EXPECT_THAT(stage.place(), ElementsAre("3: 1"));
}

TEST(SchedulerPolicy, WhatIsKeptOnALostHostIsKeptElsewhere) {
  Stage stage({.order = sweeps::Order::kGrid});
  stage.host(0, "small", 2);
  stage.host(1, "small", 2);
  stage.learn();
  const ShapeId one = stage.kind(1), two = stage.kind(2);
  for (SlotId slot = 1; slot <= 4; ++slot) stage.wait_for(one, slot, 10.0 * slot);
  EXPECT_THAT(stage.place(), ElementsAre("1: 0", "2: 2", "3: 1", "4: 3"));
  stage.wait_for(two, 5, 1);
  stage.release({0});
  EXPECT_THAT(stage.place(), IsEmpty());
  EXPECT_THAT(stage.explain(),
              ElementsAre("5: 1 of 2 devices kept for it on n0 are free, the last is expected in "
                          "30 s at the latest"));
  stage.scheduler.remove_device(0);
  stage.scheduler.remove_device(1);
  stage.release({2});
  EXPECT_THAT(stage.place(), IsEmpty());
  EXPECT_THAT(stage.explain(),
              ElementsAre("5: 1 of 2 devices kept for it on n1 are free, the last is expected in "
                          "40 s at the latest"));
  stage.release({3});
  EXPECT_THAT(stage.place(), ElementsAre("5: 2 3"));
}

TEST(SchedulerPolicy, APinnedTrialRunsWhereItIsPinnedTo) {
  Stage stage;
  stage.host(0, "small", 2);
  stage.host(1, "small", 2);
  const ShapeId any = stage.kind(1);
  const ShapeId host =
      stage.scheduler.shape_of({.gpu = "small", .world_size = 2, .pinned_host = "n1"});
  const ShapeId device = stage.scheduler.shape_of({.gpu = "small", .pinned_device = "u3"});
  const ShapeId nowhere = stage.scheduler.shape_of({.gpu = "small", .pinned_host = "n7"});
  EXPECT_FALSE(stage.scheduler.could_hold(nowhere));
  EXPECT_TRUE(stage.scheduler.could_hold(host));
  stage.wait(device, {1, 2});
  stage.wait(host, {3});
  stage.wait(any, {4});
  EXPECT_THAT(stage.place(), ElementsAre("3: 2 3", "4: 0"));
  EXPECT_THAT(stage.explain(), ElementsAre("1: is pinned to the small u3, which is in use",
                                           "2: is pinned to the small u3, which is in use"));
  stage.release({2, 3});
  EXPECT_THAT(stage.place(), ElementsAre("1: 3"));
  stage.wait(host, {5});
  EXPECT_THAT(stage.place(), IsEmpty());
  stage.release({3});
  EXPECT_THAT(stage.place(), ElementsAre("5: 2 3"));
  EXPECT_THAT(stage.explain(), ElementsAre("2: is pinned to the small u3, which is in use"));
}

TEST(SchedulerPolicy, RanksAreDividedAmongSoManyNodes) {
  Stage stage({.over_hosts = true});
  for (const std::size_t host : {0u, 1u, 2u}) stage.host(host, "small", 3);
  const ShapeId spread =
      stage.scheduler.shape_of({.gpu = "small", .world_size = 4, .num_nodes = 2});
  const ShapeId thin = stage.scheduler.shape_of({.gpu = "small", .world_size = 3, .num_nodes = 3});
  const ShapeId wide = stage.scheduler.shape_of({.gpu = "small", .world_size = 8, .num_nodes = 2});
  EXPECT_FALSE(stage.scheduler.could_hold(wide)) << "four on a node";
  stage.wait(spread, {1, 2});
  EXPECT_THAT(stage.place(), ElementsAre("1: 0 1 3 4"));
  EXPECT_THAT(stage.explain(),
              ElementsAre("2: 3 of 4 devices kept for it on n2, n0 are free, the last is expected "
                          "in 30 min at the latest"));
  stage.release({0, 1, 3, 4});
  EXPECT_THAT(stage.place(), ElementsAre("2: 0 1 3 4"));
  stage.wait(thin, {3});
  EXPECT_THAT(stage.place(), ElementsAre("3: 6 2 5")) << "one on each";
}

TEST(SchedulerPolicy, WhatWouldNotEndInTimeDoesNotStart) {
  struct Line {
    const char* what;
    double hard_end_s, soft_end_s;
    double expected_s;  // 0: nothing is known
    bool starts;
  };
  constexpr double kNone = std::numeric_limits<double>::infinity();
  const Line lines[] = {
      {"twice the expected time is left", 60, kNone, 30, true},
      {"and a second less", 59, kNone, 30, false},
      {"its limit counts where it is shorter", 100, kNone, 90, true},
      {"nothing is known: the limit is left", 100, kNone, 0, true},
      {"and a second less", 99, kNone, 0, false},
      {"a soft end: twice the expected time is left", kNone, 60, 30, true},
      {"and a second less", kNone, 59, 30, false},
      {"nothing is known before a soft end: it may run on", kNone, 1, 0, true},
      {"after it nothing starts", kNone, -1, 0, false},
  };
  for (const Line& line : lines) {
    Stage stage({.limit_s = 100, .hard_end_s = line.hard_end_s, .soft_end_s = line.soft_end_s});
    stage.host(0, "small", 1);
    if (line.expected_s > 0) stage.scheduler.learn(0, 1, line.expected_s);
    stage.wait_for(stage.kind(1), 1, 1);
    EXPECT_EQ(stage.place().size() == 1, line.starts) << line.what;
    EXPECT_EQ(stage.scheduler.waiting(), line.starts ? 0u : 1u) << line.what;
  }
}

TEST(SchedulerPolicy, AShorterOneStartsWhereALongerOneWouldNotEndInTime) {
  Stage stage({.hard_end_s = 50});
  stage.host(0, "small", 1);
  stage.learn();
  const ShapeId one = stage.kind(1);
  stage.wait_for(one, 1, 40);
  stage.wait_for(one, 2, 20);
  EXPECT_THAT(stage.place(), ElementsAre("2: 0"));
  stage.now_s = 20;
  EXPECT_THAT(stage.explain(),
              ElementsAre("1: would not surely end in time: expected 40 s, and 30 s are left; "
                          "twice the expected time must be"));
}

TEST(SchedulerPolicy, WhatWasTooLongWithItsLimitStartsOnceItsTimesAreKnown) {
  Stage stage({.limit_s = 100, .hard_end_s = 60});
  stage.host(0, "small", 1);
  stage.wait_for(stage.kind(1), 1, 5);
  EXPECT_THAT(stage.place(), IsEmpty());
  EXPECT_THAT(stage.explain(),
              ElementsAre("1: would not surely end in time: nothing like it has run yet, its "
                          "limit is 1 min 40 s, and 1 min are left"));
  stage.scheduler.learn(0, 5, 5);
  stage.wait_for(stage.kind(1), 2, 5);
  EXPECT_THAT(stage.run_all(), ElementsAre("1: 0", "2: 0"));
}

TEST(SchedulerPolicy, DevicesIdleOnlyWhileTheyAreKept) {
  // Two hosts of four, ranks 1, 2 and 4, lengths from a fixed table: the grid's order forces holes,
  // which shorter trials fill.
  Stage stage({.order = sweeps::Order::kGrid});
  stage.host(0, "small", 4);
  stage.host(1, "small", 4);
  stage.learn();
  const ShapeId shapes[] = {stage.kind(1), stage.kind(2), stage.kind(4)};
  for (SlotId slot = 0; slot < 300; ++slot)
    stage.wait_for(shapes[slot % 3], slot, 1 + (slot * 7) % 13);
  const auto [busy, makespan] = stage.simulate([](SlotId slot) { return 1.0 + (slot * 7) % 13; });
  EXPECT_GT(busy / (8 * makespan), 0.95);
}

TEST(ExpectedTime, LiesOnTheLineThroughWhatHasEnded) {
  struct Line {
    const char* what;
    std::vector<std::pair<double, double>> ended;  // work, seconds
    double work;
    std::optional<double> expected_s;
  };
  const Line lines[] = {
      {"nothing has ended", {}, 8, {}},
      {"the mean of the same work", {{8, 10}, {8, 20}}, 8, 15},
      {"more work in proportion", {{8, 10}}, 16, 20},
      {"less work never less", {{8, 10}}, 4, 10},
      {"between", {{8, 10}, {16, 12}}, 12, 11},
      {"beyond", {{8, 10}, {16, 12}}, 64, 24},
      {"a falling line is level", {{8, 12}, {16, 10}}, 64, 11},
      {"never below nothing", {{8, 8}, {16, 24}}, 1, 1.4},
  };
  for (const Line& line : lines) {
    ExpectedTime times;
    times.learn(0, 1, 1000);  // of another family
    for (const auto& [work, seconds] : line.ended) times.learn(1, work, seconds);
    const std::optional<double> expected_s = times.of(1, line.work);
    ASSERT_EQ(expected_s.has_value(), line.expected_s.has_value()) << line.what;
    if (expected_s) {
      EXPECT_NEAR(*expected_s, *line.expected_s, 1e-9) << line.what;
    }
  }
}

}  // namespace
}  // namespace batchsweep::orchestrator
