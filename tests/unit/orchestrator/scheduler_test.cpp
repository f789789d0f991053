// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <set>

#include "orchestrator/waiting_queue.hpp"
#include "tests/unit/orchestrator/scheduler_stage.hpp"

namespace batchsweep::orchestrator {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Scheduler, FillsDevicesInTheOrderOfTheGrid) {
  Stage stage;
  stage.host(0, "small", 2);
  const ShapeId one = stage.kind(1);
  stage.wait(one, {7, 3, 5});
  EXPECT_THAT(stage.place(), ElementsAre("3: 0", "5: 1"));
  EXPECT_THAT(stage.place(), IsEmpty());
  stage.release({0});
  EXPECT_THAT(stage.place(), ElementsAre("7: 0"));
}

TEST(Scheduler, SpreadsOverHostsBecauseNeighboursDisturb) {
  Stage stage;
  stage.host(0, "small", 2);
  stage.host(1, "small", 2);
  stage.wait(stage.kind(1), {1, 2, 3, 4});
  EXPECT_THAT(stage.place(), ElementsAre("1: 0", "2: 2", "3: 1", "4: 3"));
}

TEST(Scheduler, AutoTakesManyRanksFirstAndFillsUpWithFew) {
  Stage stage;
  stage.host(0, "small", 3);
  stage.wait(stage.kind(1), {1, 2});
  stage.wait(stage.kind(2), {8, 9});
  EXPECT_THAT(stage.place(), ElementsAre("8: 0 1", "1: 2"));
  stage.release({0, 1});
  EXPECT_THAT(stage.place(), ElementsAre("9: 0 1"));
}

TEST(Scheduler, GridTakesTheFirstThatFits) {
  Stage stage({.order = sweeps::Order::kGrid});
  stage.host(0, "small", 3);
  stage.wait(stage.kind(1), {1, 2});
  stage.wait(stage.kind(2), {8, 9});
  EXPECT_THAT(stage.place(), ElementsAre("1: 0", "2: 1"));
  stage.release({0});
  EXPECT_THAT(stage.place(), ElementsAre("8: 0 2"));
}

TEST(Scheduler, RepeatsComeAfterEverythingElseAndRetriesAfterThat) {
  Stage stage({.order = sweeps::Order::kGrid});
  const ShapeId one = stage.kind(1);
  stage.scheduler.add({.slot = 1, .shape = one, .repeat = 0, .urgency = Urgency::kSuspect});
  stage.scheduler.add({.slot = 2, .shape = one, .repeat = 0, .urgency = Urgency::kAgain});
  stage.scheduler.add({.slot = 3, .shape = one, .repeat = 1});
  stage.scheduler.add({.slot = 4, .shape = one, .repeat = 0});
  stage.host(0, "small", 4);
  EXPECT_THAT(stage.place(), ElementsAre("4: 0", "3: 1", "2: 2", "1: 3"));
}

TEST(Scheduler, ShufflesBySeedAndRunsEachOnce) {
  const auto order = [](std::uint64_t seed) {
    Stage stage({.order = sweeps::Order::kShuffled, .seed = seed});
    stage.host(0, "small", 50);
    const ShapeId one = stage.kind(1);
    for (SlotId slot = 0; slot < 50; ++slot) stage.wait(one, {slot});
    std::vector<SlotId> slots;
    while (const auto placement = stage.scheduler.place(0)) slots.push_back(placement->slot);
    return slots;
  };
  const std::vector<SlotId> first = order(1);
  EXPECT_EQ(std::set<SlotId>(first.begin(), first.end()).size(), 50u);
  EXPECT_FALSE(std::ranges::is_sorted(first));
  EXPECT_EQ(first, order(1));
  EXPECT_NE(first, order(2));
}

TEST(Scheduler, RanksOfATrialLieOnOneHost) {
  Stage stage;
  stage.host(0, "small", 2);
  stage.host(1, "small", 2);
  stage.wait(stage.kind(1), {1});
  EXPECT_THAT(stage.place(), ElementsAre("1: 0"));
  const ShapeId two = stage.kind(2);
  stage.wait(two, {2, 3});
  EXPECT_THAT(stage.place(), ElementsAre("2: 2 3"));
  EXPECT_THAT(stage.explain(),
              ElementsAre("3: 1 of 2 devices kept for it on n0 are free, the last is expected in "
                          "30 min at the latest"));
  stage.release({0});
  EXPECT_THAT(stage.place(), ElementsAre("3: 0 1"));
}

TEST(Scheduler, RanksLieOnSeveralHostsOnlyWhereNoHostIsLargeEnough) {
  Stage stage({.over_hosts = true});
  stage.host(0, "small", 2);
  stage.host(1, "small", 2);
  stage.host(2, "small", 1);
  stage.wait(stage.kind(4), {1});
  stage.wait(stage.kind(2), {2});
  EXPECT_THAT(stage.place(), ElementsAre("1: 0 1 2 3"));
  EXPECT_THAT(stage.explain(),
              ElementsAre("2: 0 of 2 devices kept for it on n0 are free, the last is expected in "
                          "30 min at the latest"));
  stage.release({0, 1, 2, 3});
  EXPECT_THAT(stage.place(), ElementsAre("2: 0 1"));
  stage.wait(stage.kind(3), {3});
  EXPECT_THAT(stage.place(), ElementsAre("3: 2 3 4"))
      << "two hosts, the fewest that can hold three";
}

TEST(Scheduler, ATrialWaitsForTheFewestHostsThatCouldHoldIt) {
  Stage stage({.over_hosts = true});
  stage.host(0, "small", 2);
  stage.host(1, "small", 2);
  stage.host(2, "small", 1);
  stage.host(3, "small", 1);
  stage.wait(stage.kind(1), {1});
  EXPECT_THAT(stage.place(), ElementsAre("1: 0"));
  stage.wait(stage.kind(4), {2});
  EXPECT_THAT(stage.place(), IsEmpty()) << "free are 2 + 1 + 1 + 1, but two hosts could hold it";
  EXPECT_THAT(
      stage.explain(),
      ElementsAre("2: 3 of 4 devices kept for it on n1, n0 are free, the last is expected in "
                  "30 min at the latest"));
  stage.release({0});
  EXPECT_THAT(stage.place(), ElementsAre("2: 0 1 2 3"));
}

TEST(Scheduler, TypesNeverMix) {
  Stage stage;
  stage.host(0, "small", 1);
  stage.host(0, "big", 1);
  stage.wait(stage.kind(2), {1});
  stage.wait(stage.kind(1, "big"), {2});
  EXPECT_THAT(stage.place(), ElementsAre("2: 1"));
  EXPECT_FALSE(stage.scheduler.could_hold(0));
  EXPECT_TRUE(stage.scheduler.could_hold(1));
  EXPECT_THAT(stage.explain(), ElementsAre("1: needs 2 x small, but there are not so many"));
}

TEST(Scheduler, OfTheViewsOnOneUnitOneIsUsedAtATime) {
  Stage stage;
  stage.scheduler.add_device({.id = 0, .type = "small", .host = 0, .unit = 9, .host_name = "n0"});
  stage.scheduler.add_device({.id = 1, .type = "big", .host = 0, .unit = 9, .host_name = "n0"});
  stage.wait(stage.kind(1, "small"), {1});
  stage.wait(stage.kind(1, "big"), {2});
  EXPECT_THAT(stage.place(), ElementsAre("1: 0"));
  EXPECT_FALSE(stage.scheduler.is_free(1));
  EXPECT_THAT(stage.explain(), ElementsAre("2: all devices of type big are in use"));
  stage.release({0});
  EXPECT_THAT(stage.place(), ElementsAre("2: 1"));
}

TEST(Scheduler, AnExclusiveTrialTakesAnIdleHostAndLetsNobodyIn) {
  Stage stage;
  stage.host(0, "small", 2);
  stage.host(1, "small", 2);
  stage.wait(stage.kind(1), {1});
  EXPECT_THAT(stage.place(), ElementsAre("1: 0"));
  const ShapeId alone = stage.kind(1, "small", true);
  stage.wait(alone, {2, 3});
  EXPECT_THAT(stage.place(), ElementsAre("2: 2"));
  stage.wait(0, {4, 5});
  EXPECT_THAT(stage.place(), ElementsAre("4: 1"))
      << "device 3 stays idle beside the exclusive trial";
  stage.release({0});
  EXPECT_THAT(stage.place(), ElementsAre("5: 0"));
  stage.release({0});
  EXPECT_THAT(stage.place(), IsEmpty());
  EXPECT_THAT(stage.explain(),
              ElementsAre("3: 1 of 2 devices kept for it on n0 are free, the last is expected in "
                          "30 min at the latest"));
  stage.release({1});
  EXPECT_THAT(stage.place(), ElementsAre("3: 0"));
  stage.release({2});
  EXPECT_TRUE(stage.scheduler.is_free(3));
}

TEST(Scheduler, ARemovedDeviceStaysOutWhenItComesBack) {
  Stage stage;
  stage.host(0, "small", 2);
  const ShapeId two = stage.kind(2);
  stage.wait(two, {1, 2});
  EXPECT_THAT(stage.place(), ElementsAre("1: 0 1"));
  stage.scheduler.remove_device(1);
  stage.release({0, 1});
  EXPECT_FALSE(stage.scheduler.could_hold(two));
  EXPECT_THAT(stage.place(), IsEmpty());
}

TEST(Scheduler, ExplainsTheFirstOnesOfAllKindsInOrder) {
  Stage stage({.order = sweeps::Order::kGrid});
  stage.host(0, "small", 1);
  stage.wait(stage.kind(1), {0, 2, 4, 6});
  stage.wait(stage.kind(2), {1, 3});
  EXPECT_THAT(stage.place(), ElementsAre("0: 0"));
  EXPECT_THAT(stage.explain(3), ElementsAre("1: needs 2 x small, but there are not so many",
                                            "2: all devices of type small are in use",
                                            "3: needs 2 x small, but there are not so many"));
  EXPECT_EQ(stage.scheduler.waiting(), 5u);
}

TEST(WaitingQueue, MixesWhatComesBackIntoWhatWaits) {
  WaitingQueue queue;
  const auto add = [&](std::uint32_t position) {
    queue.add({.level = 0, .rank = 0, .position = position, .slot = position, .work = 2});
  };
  for (const std::uint32_t position : {30u, 10u, 50u}) add(position);
  EXPECT_EQ(queue.pop().slot, 10u);
  for (const std::uint32_t position : {20u, 60u, 5u}) add(position);
  EXPECT_EQ(queue.size(), 5u);
  EXPECT_EQ(queue.work_sum(), 10);
  std::vector<std::uint32_t> first;
  for (const QueuedTrial& trial : queue.first(3)) first.push_back(trial.slot);
  EXPECT_THAT(first, ElementsAre(5, 20, 30));
  std::vector<std::uint32_t> rest;
  while (!queue.empty()) rest.push_back(queue.pop().slot);
  EXPECT_THAT(rest, ElementsAre(5, 20, 30, 50, 60));
}

}  // namespace
}  // namespace batchsweep::orchestrator
