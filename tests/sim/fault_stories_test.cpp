// SPDX-License-Identifier: Apache-2.0
// What went wrong for others, played: one rank out of memory while the rest wait, one bad trial
// among many, a search without floor.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/played_sweep.hpp"

namespace batchsweep::orchestrator {
namespace {

using results::Outcome;
using results::Reason;
using sweeps::Fault;
using testing::Each;

constexpr std::uint64_t kMiB = 1024 * 1024;

// Nodes with four devices of 1 GiB; trials are batch sizes; a rule a batch size.
class FaultStory : public testing::Test {
 protected:
  explicit FaultStory() {
    spec_.name = "story";
    spec_.base.origin = sweeps::Origin::kRehearsed;
    sweeps::DeclaredDevice device;
    device.name = "small";
    device.memory_bytes = 1024 * kMiB;
    spec_.devices = {device};
    spec_.rehearsal.emplace();
    spec_.rehearsal->simulated = true;
    nodes(1);
  }
  void nodes(std::int64_t count) {
    spec_.rehearsal->nodes = {{.devices = {{"small", 4}}, .count = count}};
  }
  void batches(std::int64_t count, const std::string& world_size = "1") {
    std::vector<std::string> sizes;
    for (std::int64_t i = 1; i <= count; ++i) sizes.push_back(std::to_string(i));
    spec_.grid = {{{{"gpu", {"small"}},
                    {"model", {"m"}},
                    {"world_size", {world_size}},
                    {"batch_size", sizes}}}};
  }
  // Rules of one batch size each stand before the rule for all.
  sweeps::RehearsalRule& rule(std::optional<std::int64_t> batch = {}) {
    sweeps::RehearsalRule rule;
    rule.text = batch ? std::to_string(*batch) : "all";
    if (batch) rule.when = {{.axis = "batch_size", .patterns = {}, .from = batch, .to = batch}};
    rule.memory_fixed_bytes = 100 * kMiB;
    rule.step_fixed_s = 0.01;
    std::vector<sweeps::RehearsalRule>& rules = spec_.rehearsal->rules;
    return *rules.insert(batch ? rules.begin() : rules.end(), rule);
  }
  Ending run() {
    grid_ = std::make_unique<sweeps::Grid>(spec_, std::vector<std::string>{"small"});
    played_ = std::make_unique<PlayedSweep>(spec_, *grid_, journal_);
    return played_->run();
  }
  [[nodiscard]] const std::vector<Journal::Row>& rows(std::int64_t batch) {
    for (std::size_t i = 0; i < grid_->size(); ++i) {
      if (grid_->spec(i).batch_size == batch) return journal_.rows[{grid_->id(i).value, 0}];
    }
    ADD_FAILURE() << "no trial of batch " << batch;
    static const std::vector<Journal::Row> none;
    return none;
  }
  [[nodiscard]] std::vector<Outcome> outcomes(std::int64_t batch) {
    std::vector<Outcome> list;
    for (const Journal::Row& row : rows(batch)) list.push_back(row.outcome);
    return list;
  }

  sweeps::SweepSpec spec_;
  std::unique_ptr<sweeps::Grid> grid_;
  Journal journal_;
  std::unique_ptr<PlayedSweep> played_;
};

struct RankFault {
  Fault fault;
  std::int64_t rank;
  Outcome outcome;
};

TEST_F(FaultStory, OneRankOfFourEndsTheTrialAtOnceWhileTheOthersSitInACollective) {
  for (const RankFault& story : {RankFault{Fault::kOom, 2, Outcome::kOutOfMemory},
                                 RankFault{Fault::kKill, 1, Outcome::kCrashed},
                                 RankFault{Fault::kNanLoss, 3, Outcome::kDiverged}}) {
    SCOPED_TRACE(to_text(story.fault));
    journal_ = {};
    spec_.rehearsal->rules.clear();
    batches(2, "4");
    spec_.limits.retries = 0;
    rule();
    sweeps::RehearsalRule& bad = rule(1);
    bad.fault = story.fault;
    bad.fault_rank = story.rank;
    bad.fault_step = 3;
    EXPECT_EQ(run(), Ending::kFinished);
    EXPECT_THAT(outcomes(1), testing::ElementsAre(story.outcome));
    EXPECT_EQ(rows(1)[0].record.guilty_rank, static_cast<double>(story.rank));
    EXPECT_THAT(outcomes(2), testing::ElementsAre(Outcome::kCompleted));
    EXPECT_EQ(played_->cluster().ranks_alive(), 0u);
    EXPECT_LT(played_->virtual_s(), 1) << "nobody waited for a limit";
  }
}

TEST_F(FaultStory, AStoppedRankEndsTheTrialAtItsStallLimit) {
  batches(2, "4");
  spec_.limits.stall_s = 30;
  rule();
  sweeps::RehearsalRule& bad = rule(1);
  bad.fault = Fault::kStop;
  bad.fault_rank = 1;
  bad.fault_step = 3;
  EXPECT_EQ(run(), Ending::kFinished);
  EXPECT_THAT(outcomes(1), testing::ElementsAre(Outcome::kTimedOut));
  EXPECT_EQ(rows(1)[0].reason, Reason::kStall);
  EXPECT_EQ(rows(1)[0].record.guilty_rank, 1);
  EXPECT_NEAR(played_->virtual_s(), 30.3, 0.3);
}

TEST_F(FaultStory, OneBadTrialAmongTwentyCostsItsOwnRowsOnly) {
  struct Story {
    Fault fault;
    Outcome outcome;
    std::size_t rows;
  };
  const Story stories[] = {{Fault::kKill, Outcome::kCrashed, 3},
                           {Fault::kSegfault, Outcome::kCrashed, 3},
                           {Fault::kExit, Outcome::kCrashed, 3},
                           {Fault::kKillAgent, Outcome::kLost, 3},
                           {Fault::kHang, Outcome::kTimedOut, 1}};
  for (const Story& story : stories) {
    SCOPED_TRACE(to_text(story.fault));
    journal_ = {};
    spec_.rehearsal->rules.clear();
    nodes(5);
    batches(20);
    rule();
    sweeps::RehearsalRule& bad = rule(5);
    bad.fault = story.fault;
    bad.fault_exit_code = 3;
    EXPECT_EQ(run(), Ending::kFinished);
    EXPECT_FALSE(played_->core().work_left());
    const bool ends_on_agent_0 =
        story.fault == Fault::kKillAgent && outcomes(5).back() == Outcome::kCompleted;
    if (!ends_on_agent_0) {
      EXPECT_EQ(outcomes(5), std::vector<Outcome>(story.rows, story.outcome))
          << "run again at most twice, then final";
      EXPECT_EQ(played_->core().progress().failures, 1);
    }
    for (std::int64_t batch = 1; batch <= 20; ++batch) {
      if (batch == 5) continue;
      EXPECT_EQ(outcomes(batch).back(), Outcome::kCompleted) << batch;
      if (story.fault != Fault::kKillAgent) {
        EXPECT_EQ(rows(batch).size(), 1u) << batch;
      }
    }
  }
}

TEST_F(FaultStory, WhereNothingFitsEveryTrialIsOutOfMemoryAndNothingFailed) {
  batches(8);
  rule().memory_fixed_bytes = 2048.0 * kMiB;
  EXPECT_EQ(run(), Ending::kFinished);
  for (std::int64_t batch = 1; batch <= 8; ++batch) {
    EXPECT_THAT(outcomes(batch), testing::ElementsAre(Outcome::kOutOfMemory));
    EXPECT_GT(
        *rows(batch)[0].record.oom_requested_bytes + *rows(batch)[0].record.oom_reserved_bytes,
        *rows(batch)[0].record.oom_limit_bytes);
  }
  EXPECT_EQ(played_->core().progress().failures, 0);
}

TEST_F(FaultStory, WhereEverythingFitsNothingIsOutOfMemory) {
  batches(8);
  rule();
  EXPECT_EQ(run(), Ending::kFinished);
  for (std::int64_t batch = 1; batch <= 8; ++batch)
    EXPECT_THAT(outcomes(batch), Each(Outcome::kCompleted));
}

TEST_F(FaultStory, ASweepOfDaysInVirtualTimeKeepsItsAgents) {
  batches(50);
  nodes(2);
  spec_.limits.stall_s = 1e6;
  spec_.limits.time_s = spec_.limits.setup_s = 1e6;
  rule().step_fixed_s = 3600;
  EXPECT_EQ(run(), Ending::kFinished);
  EXPECT_GT(played_->virtual_s(), 86400);
  for (std::int64_t batch = 1; batch <= 50; ++batch)
    EXPECT_THAT(outcomes(batch), testing::ElementsAre(Outcome::kCompleted));
}

}  // namespace
}  // namespace batchsweep::orchestrator
