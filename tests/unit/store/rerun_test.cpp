// SPDX-License-Identifier: Apache-2.0
// Which rows count after --rerun.
#include "results/store/rerun.hpp"

#include <gmock/gmock.h>

#include "base/error.hpp"
#include "store_fixtures.hpp"
#include "sweeps/sweep_file.hpp"

namespace batchsweep::results {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kSweep = R"([sweep]
name = "cards"
[grid]
gpu = "small"
model = "resnet18"
batch_size = [8, 16]
[[device]]
name = "small"
kind = "cpu"
memory = "1 GiB"
)";

class RerunTest : public testing::Test {
 protected:
  // Runs by what they were begun with; nullopt outcome: that run has no row of the trial.
  struct Case {
    const char* why;
    std::vector<std::string> reruns;
    std::vector<std::optional<Outcome>> rows;
    std::optional<std::uint32_t> counts;  // the run of the row that does; nullopt: asked again
  };

  Reruns reruns_of(const std::vector<std::string>& texts, bool with_grid = true) const {
    std::vector<RunInfo> runs;
    for (const std::string& text : texts) runs.push_back(run_info("r", text));
    return {runs, with_grid ? &grid_ : nullptr};
  }
  RecordedState state(std::uint32_t run, Outcome outcome, std::size_t trial = 0) const {
    RecordedState state;
    state.trial = grid_.id(trial);
    state.attempts = 1;
    state.outcome = outcome;
    state.has_row = true;
    state.run = run;
    return state;
  }

  sweeps::SweepSpec sweep_ = sweeps::read_sweep_text(kSweep, "cards.toml");
  sweeps::Grid grid_{sweep_, {"small"}};  // batch 8, batch 16
};

TEST_F(RerunTest, TheRowOfTheNewestRunThatHasOneCountsUnlessANewerRunAsksAgain) {
  const auto none = std::nullopt;
  constexpr Outcome good = Outcome::kCompleted, bad = Outcome::kFailed;
  const std::vector<Case> cases = {
      {"one run", {""}, {bad}, 0},
      {"all asks for all again", {"", "all"}, {good, none}, none},
      {"a run of an older version asks for all too", {"", ""}, {good, none}, none},
      {"failed keeps what completed", {"", "failed"}, {good, none}, 0},
      {"failed asks for what failed", {"", "failed"}, {bad, none}, none},
      {"memory that did not suffice is a result", {"", "failed"}, {Outcome::kOutOfMemory, none}, 0},
      {"the memory of the host is not", {"", "failed"}, {Outcome::kHostOutOfMemory, none}, none},
      {"a crash with budget left", {"", "failed"}, {Outcome::kCrashed, none}, none},
      {"what it has measured anew counts", {"", "failed"}, {bad, good}, 1},
      {"also when it failed again", {"", "failed"}, {bad, bad}, 1},
      {"and stays so in a run that leaves it alone",
       {"", "failed", "batch_size=16"},
       {bad, bad, none},
       1},
      {"but not in one that asks once more", {"", "failed", "failed"}, {bad, bad, none}, none},
      {"what a run had to do is still to do in the next",
       {"", "failed", "batch_size=16"},
       {bad, none, none},
       none},
      {"a filter that matches", {"", "model=res*,batch_size=8"}, {good, none}, none},
      {"a filter that does not", {"", "batch_size=16.."}, {bad, none}, 0},
      {"it is asked again once", {"", "batch_size=8"}, {good, good}, 1},
      {"all after others", {"", "failed", "all"}, {good, good, none}, none},
      {"others after all", {"", "all", "failed"}, {bad, good, none}, 1},
      {"nothing older than all comes back", {"", "all", "failed"}, {good, none, none}, none},
  };
  for (const Case& c : cases) {
    std::vector<RecordedState> states;
    for (std::size_t run = c.rows.size(); run-- > 0;) {
      if (c.rows[run]) states.push_back(state(static_cast<std::uint32_t>(run), *c.rows[run]));
    }
    const std::vector<RecordedState> counting = what_counts(states, reruns_of(c.reruns));
    ASSERT_EQ(counting.size(), c.counts ? 1U : 0U) << c.why;
    if (!c.counts) continue;
    EXPECT_EQ(counting[0].run, *c.counts) << c.why;
    EXPECT_EQ(counting[0].outcome, *c.rows[*c.counts]) << c.why;
  }
}

TEST_F(RerunTest, RepeatsAndTrialsAreAskedAgainEachForItself) {
  std::vector<RecordedState> states = {
      state(1, Outcome::kCompleted, 1), state(0, Outcome::kFailed, 1),
      state(0, Outcome::kCompleted, 0), state(0, Outcome::kFailed, 0)};
  states[3].repeat = 1;
  const std::vector<RecordedState> counting = what_counts(states, reruns_of({"", "failed"}));
  ASSERT_EQ(counting.size(), 2U);
  for (const RecordedState& kept : counting) EXPECT_EQ(kept.outcome, Outcome::kCompleted);
}

TEST_F(RerunTest, WithoutTheGridNoFilterMatches) {
  const std::vector<RecordedState> states = {state(0, Outcome::kCompleted)};
  EXPECT_THAT(what_counts(states, reruns_of({"", "batch_size=8"})), IsEmpty());
  EXPECT_EQ(what_counts(states, reruns_of({"", "batch_size=8"}, false)).size(), 1U);
}

TEST_F(RerunTest, BudgetsGoOnThroughRunsThatDoNotAskAgain) {
  RecordedState first = state(0, Outcome::kCrashed), second = state(1, Outcome::kCrashed);
  first.executions = first.open_starts = 1;
  second.executions = second.open_starts = 1;
  second.attempts = 2;
  const std::vector<RecordedState> kept =
      what_counts({first, second}, reruns_of({"", "batch_size=16"}));
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_EQ(kept[0].executions, 2);
  EXPECT_EQ(kept[0].open_starts, 2);
  EXPECT_EQ(kept[0].attempts, 2);
  const std::vector<RecordedState> again = what_counts({first, second}, reruns_of({"", "failed"}));
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].executions, 1) << "a new budget";
}

TEST_F(RerunTest, AStartWithoutAnEndIsRememberedButIsNoRow) {
  RecordedState started = state(1, Outcome::kInterrupted);
  started.has_row = false;
  started.open_starts = 1;
  const std::vector<RecordedState> counting =
      what_counts({state(0, Outcome::kFailed), started}, reruns_of({"", "failed"}));
  ASSERT_EQ(counting.size(), 1U);
  EXPECT_FALSE(counting[0].has_row);
  EXPECT_EQ(counting[0].open_starts, 1);
}

TEST(RerunText, IsRefusedWhereItSaysNothing) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "--rerun \"\": expected all, failed, or a filter"},
      {"fialed", "--rerun \"fialed\": expected all, failed, or a filter"},
      {"modle=a", "--rerun modle=a: unknown axis modle, did you mean model"},
      {"batch_size=8...64", "--rerun batch_size=8...64: expected a range"},
  };
  for (const auto& [text, message] : cases) {
    try {
      (void)parse_rerun(text);
      ADD_FAILURE() << text;
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), HasSubstr(message));
    }
  }
  EXPECT_THROW((void)Reruns({run_info("a"), run_info("b", "axis_of_the_future=1")}, nullptr),
               ResultsFileError);
}

}  // namespace
}  // namespace batchsweep::results
