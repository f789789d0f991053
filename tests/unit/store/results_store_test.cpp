// SPDX-License-Identifier: Apache-2.0
#include "results/store/results_store.hpp"

#include <gmock/gmock.h>

#include "base/error.hpp"
#include "results/store/reader.hpp"
#include "results/store/rerun.hpp"
#include "store_fixtures.hpp"

namespace batchsweep::results {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ResultsStoreTest : public testing::Test {
 protected:
  StoreOptions options(const std::string& sweep_text = "[sweep]\nname = \"cards\"\n") const {
    return {.path = path_, .site = "lab", .sweep_text = sweep_text, .sweep_name = "cards"};
  }
  void record(ResultsStore& store, const AttemptRecord& attempt) {
    store.note_started(*sweeps::parse_trial_id(attempt.trial.trial_id), attempt.trial.repeat,
                       attempt.trial.attempt);
    store.append(attempt);
    store.sync();
  }
  // "batch_size:outcome:attempt" of each row.
  std::vector<std::string> rows() const {
    std::vector<std::string> words;
    for (const TrialRecord& trial : read_results(path_).trials) {
      words.push_back(std::to_string(trial.batch_size) + ":" + trial.outcome + ":" +
                      std::to_string(trial.attempt));
    }
    return words;
  }
  std::string refusal(const StoreOptions& wanted) {
    try {
      const ResultsStore store(wanted, clock_);
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  }

  TemporaryFolder folder_;
  std::string path_ = folder_.file("r.h5");
  FakeClock clock_;
};

TEST_F(ResultsStoreTest, ClosedCleanlyOnlyTheResultsFileStays) {
  {
    ResultsStore store(options(), clock_);
    record(store, attempt_of(1));
    record(store, attempt_of(2, 1, Outcome::kOutOfMemory));
    EXPECT_TRUE(file_exists(path_ + ".lock") && file_exists(path_ + ".journal"));
    store.close();
  }
  EXPECT_THAT(rows(), ElementsAre("1:completed:1", "2:out_of_memory:1"));
  EXPECT_FALSE(file_exists(path_ + ".lock") || file_exists(path_ + ".journal") ||
               file_exists(path_ + ".tmp"));
  const ResultsFile file = read_results(path_);
  EXPECT_EQ(file.rows_missing, "");
  EXPECT_EQ(file.sweep_name, "cards");
  ASSERT_EQ(file.runs.size(), 1U);
  EXPECT_EQ(file.runs[0].site, "lab");
  EXPECT_EQ(file.trials[0].run_id, file.runs[0].run_id);
}

TEST_F(ResultsStoreTest, WhatWasKilledIsKnownAtTheNextStart) {
  std::string run, id;
  {
    ResultsStore store(options(), clock_);
    run = store.run_id();
    id = store.file_id();
    record(store, attempt_of(1));
    record(store, attempt_of(2, 1, Outcome::kCrashed, Reason::kSignal));
    store.note_started(*sweeps::parse_trial_id(trial_id(3)), 0, 1);
  }  // not closed: as after kill -9, the journal stays
  EXPECT_FALSE(file_exists(path_));
  {
    ResultsStore store(options(), clock_);
    EXPECT_EQ(store.run_id(), run);
    EXPECT_EQ(store.file_id(), id);
    EXPECT_THAT(
        store.notices(),
        ElementsAre(HasSubstr("was missing beside its journal: rebuilt from it, 2 attempts")));
    ASSERT_EQ(store.recorded().size(), 3U);
    EXPECT_EQ(store.recorded()[0].outcome, Outcome::kCompleted);
    EXPECT_EQ(store.recorded()[1].executions, 1);
    EXPECT_EQ(store.recorded()[2].open_starts, 1);
    EXPECT_EQ(store.recorded()[2].attempts, 1);
    EXPECT_FALSE(store.recorded()[2].has_row);
    EXPECT_EQ(store.recorded_software().size(), 1U);
    record(store, attempt_of(2, 2));
    record(store, attempt_of(3, 2));
    store.close();
  }
  EXPECT_THAT(rows(), ElementsAre("1:completed:1", "2:completed:2", "3:completed:2"));
  const auto attempts = read_trial(path_, trial_id(3));
  ASSERT_EQ(attempts.size(), 2U);
  EXPECT_EQ(attempts[0].trial.reason, "orchestrator_died");
  EXPECT_EQ(attempts[0].trial.attempt, 1);
  ResultsStore store(options(), clock_);
  EXPECT_EQ(store.recorded()[2].open_starts, 1) << "counted over the life of the file";
  EXPECT_THAT(store.notices(), IsEmpty());
}

TEST_F(ResultsStoreTest, KnowsTheGpusOfTheRunsThatCountFromFileAndJournal) {
  const auto on = [](std::uint64_t trial, const std::string& driver) {
    AttemptRecord attempt = attempt_of(trial);
    attempt.trial.gpu = "H200 SXM";
    attempt.trial.device_name = "NVIDIA H200";
    attempt.trial.driver_version = driver;
    return attempt;
  };
  {
    ResultsStore store(options(), clock_);
    record(store, attempt_of(1));  // on a CPU, which has no driver
    record(store, on(2, "570"));
    store.close();
  }
  {
    ResultsStore store(options(), clock_);
    record(store, on(3, "580"));
    record(store, on(4, "580"));
  }  // as after kill -9
  ResultsStore store(options(), clock_);
  EXPECT_THAT(store.recorded_gpus(), ElementsAre(RecordedGpu{"H200 SXM", "NVIDIA H200", "570"},
                                                 RecordedGpu{"H200 SXM", "NVIDIA H200", "580"}));
}

TEST_F(ResultsStoreTest, EachRowExactlyOnceHoweverOftenItIsPublished) {
  Instant now{};
  std::int64_t expected_rows = 0;
  for (int session = 0; session < 3; ++session) {
    ResultsStore store(options(), clock_);
    store.poll(now);
    for (int i = 0; i < 3; ++i) {
      record(store, attempt_of(static_cast<std::uint64_t>(++expected_rows)));
      now += seconds(1000);
      store.poll(now);  // publishes in this process
      EXPECT_EQ(rows().size(), static_cast<std::size_t>(expected_rows));
    }
    if (session != 1) store.close();  // the middle one is killed
  }
  const auto attempts = read_trial(path_, trial_id(9));
  ASSERT_EQ(attempts.size(), 1U);
  EXPECT_EQ(attempts[0].ranks.size(), 1U);
  EXPECT_EQ(attempts[0].trial.steps_offset, 24);
  std::vector<std::int64_t> sequences;
  for (const TrialRecord& trial : read_results(path_).trials) sequences.push_back(trial.sequence);
  EXPECT_THAT(sequences, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9));
}

TEST_F(ResultsStoreTest, OneTrialComesBackWhole) {
  AttemptRecord first = attempt_of(1, 1, Outcome::kCrashed, Reason::kSignal);
  first.log = "[rank0] Segmentation fault\n";
  AttemptRecord second = attempt_of(1, 2);
  second.trial.world_size = 2;
  second.ranks.push_back(second.ranks[0]);
  second.ranks[1].rank = 1;
  second.steps = {{0, 1, {0.5, 0.25}, {}}, {1, 1, {0.5, 0.75}, {4, 5}}};
  {
    ResultsStore store(options(), clock_);
    record(store, attempt_of(7));
    record(store, first);
    record(store, second);
    store.close();
  }
  const auto attempts = read_trial(path_, trial_id(1));
  ASSERT_EQ(attempts.size(), 2U);
  EXPECT_EQ(attempts[0].log, first.log);
  EXPECT_EQ(attempts[0].steps, first.steps);
  EXPECT_EQ(attempts[1].steps, second.steps);
  EXPECT_EQ(attempts[1].ranks.size(), 2U);
  EXPECT_EQ(attempts[1].software, second.software);
  EXPECT_EQ(attempts[1].hosts, second.hosts);
  EXPECT_EQ(attempts[1].log, "");
  EXPECT_THAT(read_trial(path_, trial_id(99)), IsEmpty());
}

TEST_F(ResultsStoreTest, AnAbsentDevicesRowIsReplacedWhenTheTrialRuns) {
  {
    ResultsStore store(options(), clock_);
    store.append(attempt_of(1, 0, Outcome::kSkipped, Reason::kDeviceAbsent));
    store.close();
  }
  EXPECT_THAT(rows(), ElementsAre("1:skipped:0"));
  {
    ResultsStore store(options(), clock_);
    EXPECT_EQ(store.recorded()[0].reason, Reason::kDeviceAbsent);
    EXPECT_EQ(store.recorded()[0].attempts, 0);
    record(store, attempt_of(1, 1));
    store.close();
  }
  EXPECT_THAT(rows(), ElementsAre("1:completed:1"));
  EXPECT_EQ(read_trial(path_, trial_id(1)).size(), 1U);
}

TEST_F(ResultsStoreTest, ARerunIsARunOfItsOwnAndOldRowsStay) {
  std::string first;
  {
    ResultsStore store(options(), clock_);
    first = store.run_id();
    record(store, attempt_of(1));
    store.close();
  }
  StoreOptions again = options("[sweep]\nname = \"other\"\n");
  again.rerun = "all";
  ResultsStore store(again, clock_);
  EXPECT_NE(store.run_id(), first);
  ASSERT_EQ(store.recorded().size(), 1U);
  EXPECT_EQ(store.recorded()[0].run, 0U);
  EXPECT_THAT(what_counts(store.recorded(), Reruns(store.runs(), nullptr)), IsEmpty());
  EXPECT_EQ(store.previous_sweep_text(), options().sweep_text);
  record(store, attempt_of(1));
  store.close();
  EXPECT_THAT(rows(), ElementsAre("1:completed:1", "1:completed:1"));
  EXPECT_EQ(read_results(path_).runs.size(), 2U);
}

TEST_F(ResultsStoreTest, WhatARunAsksAgainIsKeptInTheJournalAndInTheFile) {
  const auto reruns_of = [](const std::vector<RunInfo>& runs) {
    std::vector<std::string> texts;
    for (const RunInfo& run : runs) texts.push_back(run.rerun);
    return texts;
  };
  StoreOptions begins = options();
  begins.rerun = "failed";
  {
    ResultsStore store(begins, clock_);
    EXPECT_THAT(reruns_of(store.runs()), ElementsAre("")) << "nothing older to ask again";
    record(store, attempt_of(1, 1, Outcome::kFailed));
    store.close();
  }
  {
    ResultsStore store(begins, clock_);
    EXPECT_THAT(reruns_of(store.runs()), ElementsAre("", "failed"));
    store.note_started(sweeps::TrialId{1}, 0, 2);
  }  // killed: the journal alone knows
  {
    ResultsStore store(options("changed"), clock_);
    EXPECT_THAT(reruns_of(store.runs()), ElementsAre("", "failed")) << "it goes on with that run";
    store.close();
  }
  EXPECT_THAT(reruns_of(read_results(path_).runs), ElementsAre("", "failed"));
}

TEST_F(ResultsStoreTest, TheSoftwareOfKeptRowsIsKnownUntilARunAsksForAll) {
  for (const auto& [rerun, programs] : std::vector<std::pair<const char*, std::size_t>>{
           {nullptr, 0U}, {"failed", 1U}, {"all", 0U}}) {
    StoreOptions begins = options();
    if (rerun != nullptr) begins.rerun = rerun;
    ResultsStore(begins, clock_).close();
    ResultsStore store(options(), clock_);
    EXPECT_EQ(store.recorded_software().size(), programs);
    if (rerun == nullptr) record(store, attempt_of(1));
    store.close();
  }
}

TEST_F(ResultsStoreTest, TheNewestSweepTextIsKept) {
  for (const char* text : {"first", "second"}) {
    ResultsStore store(options(text), clock_);
    store.close();
  }
  const auto runs = read_results(path_).runs;
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].sweep_text, "second");
}

TEST_F(ResultsStoreTest, GoingOnWithNothingToDoLeavesTheFileAlone) {
  {
    ResultsStore store(options(), clock_);
    record(store, attempt_of(1));
    store.close();
  }
  const auto before = std::filesystem::last_write_time(path_);
  ResultsStore store(options(), clock_);
  store.close();
  EXPECT_EQ(std::filesystem::last_write_time(path_), before);
}

TEST_F(ResultsStoreTest, RefusesWhatItMustNotMix) {
  {
    ResultsStore store(options(), clock_);
    record(store, attempt_of(1));
    EXPECT_THAT(refusal(options()), HasSubstr("locked by a running sweep"));
    store.close();
  }
  StoreOptions rehearsed = options();
  rehearsed.origin = sweeps::Origin::kRehearsed;
  EXPECT_THAT(refusal(rehearsed),
              HasSubstr("holds measured rows, and this sweep's would be rehearsed"));
  EXPECT_FALSE(file_exists(path_ + ".lock") || file_exists(path_ + ".journal"))
      << "refused before anything was touched";

  StoreOptions other = options();
  other.path = folder_.file("other.h5");
  {
    ResultsStore store(other, clock_);
    record(store, attempt_of(2));
  }
  std::filesystem::rename(other.path + ".journal", path_ + ".journal");
  EXPECT_THAT(refusal(options()), HasSubstr("belongs to another results file"));
  EXPECT_TRUE(file_exists(path_ + ".journal"));
  EXPECT_THROW((void)rows(), ResultsFileError);
  std::filesystem::remove(path_ + ".journal");
  EXPECT_THAT(rows(), ElementsAre("1:completed:1"));
}

TEST_F(ResultsStoreTest, ADamagedFileIsNeverTouched) {
  {
    ResultsStore store(options(), clock_);
    record(store, attempt_of(1));
    store.close();
  }
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) / 2);
  const std::string bytes = read_whole_file(path_);
  EXPECT_THAT(refusal(options()), HasSubstr("damaged"));
  EXPECT_EQ(read_whole_file(path_), bytes);
}

TEST_F(ResultsStoreTest, AFolderThatIsNotThereIsTheMachinesFault) {
  StoreOptions wrong = options();
  wrong.path = folder_.file("no/such/r.h5");
  EXPECT_THROW(ResultsStore(wrong, clock_), IoError);
}

TEST_F(ResultsStoreTest, AStartThatRecordedNothingLeavesNothing) {
  { const ResultsStore store(options(), clock_); }
  EXPECT_FALSE(file_exists(path_) || file_exists(path_ + ".journal") ||
               file_exists(path_ + ".lock"));
  {
    ResultsStore store(options(), clock_);
    record(store, attempt_of(1));
    store.close();
  }
  const std::string before = read_whole_file(path_);
  StoreOptions again = options("[sweep]\nname = \"cards\"\n# changed\n");
  again.rerun = "all";
  { const ResultsStore store(again, clock_); }
  EXPECT_EQ(read_whole_file(path_), before);
  EXPECT_FALSE(file_exists(path_ + ".journal"));
}

TEST_F(ResultsStoreTest, AStartThatRecordedNothingLeavesTheJournalOfAKilledSweepAsItWas) {
  {
    ResultsStore store(options(), clock_);
    record(store, attempt_of(1));
    store.note_started(sweeps::TrialId{7}, 0, 1);
  }
  const std::string before = read_whole_file(path_ + ".journal");
  StoreOptions again = options();
  again.rerun = "all";
  { const ResultsStore store(again, clock_); }
  EXPECT_EQ(read_whole_file(path_ + ".journal"), before);
}

TEST_F(ResultsStoreTest, FromItsBeginningASweepHasAFile) {
  ResultsStore store(options(), clock_);
  EXPECT_FALSE(file_exists(path_));
  store.begin();
  EXPECT_EQ(read_results(path_).runs.size(), 1U);
  EXPECT_THAT(rows(), IsEmpty());
  EXPECT_FALSE(file_exists(path_ + ".tmp"));
}

TEST_F(ResultsStoreTest, AnOldRequestToEndIsNotForThisSweep) {
  write_file(path_ + ".cancel", "");
  const ResultsStore store(options(), clock_);
  EXPECT_FALSE(file_exists(path_ + ".cancel"));
}

TEST_F(ResultsStoreTest, ATornHeaderHoldsNothing) {
  write_file(path_ + ".journal", "123 0000");
  ResultsStore store(options(), clock_);
  EXPECT_THAT(store.recorded(), IsEmpty());
  record(store, attempt_of(1));
  store.close();
  EXPECT_THAT(rows(), ElementsAre("1:completed:1"));
}

}  // namespace
}  // namespace batchsweep::results
