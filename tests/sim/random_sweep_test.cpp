// SPDX-License-Identifier: Apache-2.0
// Random sweeps on random clusters with every fault there is, stopped and killed at random moments,
// run again until nothing is left: each (trial, repeat) then has exactly one final row, with the
// outcome that the rules say. A seed that fails stands in the test's name and fails again alone
// (--gtest_filter='*/SEED'). 100 of them; 1,000 with BATCHSWEEP_SOAK=1; or BATCHSWEEP_SIM_SEEDS.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/sim/played_sweep.hpp"
#include "tests/sim/random_sweep.hpp"

namespace batchsweep::orchestrator {
namespace {

using results::Outcome;
using results::Reason;

std::uint64_t seeds() {
  const char* text = std::getenv("BATCHSWEEP_SIM_SEEDS");
  if (text != nullptr) return std::strtoull(text, nullptr, 10);
  return std::getenv("BATCHSWEEP_SOAK") != nullptr ? 1000 : 100;
}

class RandomSweepTest : public testing::TestWithParam<std::uint64_t> {
 protected:
  RandomSweepTest()
      : sweep_(GetParam()), grid_(sweep_.spec, sweep_.present_types(), sweep_.targets()) {
    agents_meddled_with_ = has_agent_killers(sweep_.spec);
  }

  // One session; true when nothing is left that this cluster could run.
  bool session(bool meddle) {
    PlayedSweep played(sweep_.spec, grid_, journal_);
    played.sync_after = [this] { return static_cast<int>(sweep_.draw(0, 5)); };
    if (sweep_.chance(0.5)) delay_messages(played);
    if (meddle) this->meddle(played);
    const Ending ending = played.run();
    if (ending == Ending::kFinished) {
      EXPECT_EQ(played.cluster().ranks_alive(), 0u) << "the sweep ended, but its processes live";
    }
    return ending == Ending::kFinished && !played.core().work_left();
  }

  // Messages of different agents overtake each other; some come twice.
  void delay_messages(PlayedSweep& played) {
    played.cluster().set_travel([this](protocol::PeerId, const protocol::AgentMessage&) {
      std::vector<Duration> arrivals = {std::chrono::milliseconds(sweep_.draw(0, 300))};
      if (sweep_.chance(0.05)) arrivals.push_back(std::chrono::milliseconds(sweep_.draw(0, 600)));
      return arrivals;
    });
  }

  // Stops or kills the sweep at a random event, and cuts off an agent for a while.
  void meddle(PlayedSweep& played) {
    const std::int64_t when = sweep_.draw(1, 200), how = sweep_.draw(0, 3);
    const std::int64_t cut = sweep_.draw(1, 200), until = cut + sweep_.draw(1, 150);
    const auto agent = static_cast<protocol::PeerId>(sweep_.draw(0, played.cluster().agents() - 1));
    const bool cuts = agent != 0 && sweep_.chance(0.5);
    agents_meddled_with_ = agents_meddled_with_ || cuts;
    played.meddle = [=, this, &played](std::int64_t event) {
      if (cuts && event == cut) played.cluster().silence(agent);
      if (cuts && event == until) played.cluster().unsilence(agent);
      if (event != when) return true;
      if (how == 0) played.feed(StopRequested{StopMode::kDrain});
      if (how == 1) played.feed(StopRequested{StopMode::kNow});
      if (how <= 1) stopped_ = true;
      return how != 2;
    };
  }

  void check_rows(const sweeps::TrialSpec& trial, const std::vector<Journal::Row>& rows) const {
    ASSERT_FALSE(rows.empty()) << "no row";
    std::int64_t executions = 0, finals = 0;
    for (const Journal::Row& row : rows) {
      executions += row.outcome == Outcome::kCrashed || row.outcome == Outcome::kLost;
      finals += row.final;
      if (row.outcome == Outcome::kInterrupted) {
        EXPECT_TRUE(stopped_) << "interrupted, but nobody asked for a stop";
        continue;
      }
      check_outcome(trial, row);
    }
    const Journal::Row& last = rows.back();
    if (last.outcome == Outcome::kSkipped) {
      EXPECT_EQ(last.reason, Reason::kDeviceAbsent);
      EXPECT_EQ(rows.size(), 1u);
      EXPECT_EQ(finals, 0);
      return;
    }
    EXPECT_EQ(finals, 1);
    EXPECT_TRUE(last.final);
    const std::int64_t budget = 1 + sweep_.spec.limits.retries;
    EXPECT_LE(executions, budget);
    if (last.outcome == Outcome::kCrashed || last.outcome == Outcome::kLost) {
      EXPECT_EQ(executions, budget);
    }
  }

  void check_outcome(const sweeps::TrialSpec& trial, const Journal::Row& row) const {
    const Outcome expected = expected_outcome(sweep_.spec, trial, row.attempt);
    if (row.outcome == Outcome::kLost) {
      EXPECT_TRUE(agents_meddled_with_) << "lost, but no agent was";
      return;
    }
    const bool survives = kills_agents(sweep_.spec, trial) && row.outcome == Outcome::kCompleted;
    if (!survives) {
      EXPECT_EQ(row.outcome, expected) << "attempt " << row.attempt;
    }
    EXPECT_EQ(row.record.guilty_rank.has_value(),
              row.outcome != Outcome::kCompleted && row.outcome != Outcome::kSkipped);
  }

  RandomSweep sweep_;
  sweeps::Grid grid_;
  Journal journal_;
  bool stopped_ = false, agents_meddled_with_ = false;
};

TEST_P(RandomSweepTest, EndsWithOneFinalRowForEachTrialAndRepeat) {
  constexpr int kMeddled = 4, kMost = 300;  // agents are killed in each of them
  bool done = false;
  for (int number = 0; number < kMost && !done && !HasFailure(); ++number)
    done = session(number < kMeddled);
  ASSERT_TRUE(done) << "work is left after " << kMost << " sessions";
  for (std::size_t i = 0; i < grid_.size(); ++i) {
    const sweeps::TrialSpec trial = grid_.spec(i);
    for (std::int64_t repeat = 0; repeat < sweep_.spec.repeats; ++repeat) {
      SCOPED_TRACE(fmt::format("{} {} batch {} ranks {} on {} nodes, {} {}, repeat {}", trial.gpu,
                               trial.model, trial.batch_size, trial.world_size, trial.num_nodes,
                               trial.placement, trial.pinned_to, repeat));
      check_rows(trial, journal_.rows[{grid_.id(i).value, repeat}]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seed, RandomSweepTest, testing::Range<std::uint64_t>(1, 1 + seeds()));

}  // namespace
}  // namespace batchsweep::orchestrator
