// SPDX-License-Identifier: Apache-2.0
// Which rows of a results file count.
#include "results/report/report.hpp"

#include <gmock/gmock.h>

#include <algorithm>

#include "base/error.hpp"
#include "results/record/fields.hpp"
#include "results/report/current_sweep.hpp"
#include "sweeps/grid.hpp"
#include "sweeps/sweep_file.hpp"
#include "tests/unit/report/sample_trials.hpp"

namespace batchsweep::results {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kSweep = R"([sweep]
name = "cards"
[grid]
gpu = ["small"]
model = ["resnet18"]
batch_size = [8, 16]
[[device]]
name = "small"
kind = "cpu"
memory = "1 GiB"
)";

// A row for each trial that the text asks for.
std::vector<TrialRecord> rows_of(const std::string& text) {
  const sweeps::SweepSpec sweep = sweeps::read_sweep_text(text, "cards.toml");
  const sweeps::Grid grid(sweep, {"small"});
  std::vector<TrialRecord> rows;
  for (std::size_t i = 0; i < grid.size(); ++i) {
    rows.push_back(sample_trial(grid.spec(i).batch_size));
    rows.back().trial_id = sweeps::to_text(grid.id(i));
  }
  return rows;
}

struct Given {
  struct Run {
    std::string id, sweep_text, rerun;
  };
  std::vector<Run> runs = {{"run-1", kSweep, ""}};
  std::string rows_missing;
};

Report report_on(const std::vector<TrialRecord>& rows, const Given& given = {},
                 const ReportOptions& options = {}) {
  ReportBuilder builder(options);
  for (const TrialRecord& row : rows) builder.add(row);
  ResultsFile file;
  file.path = "cards.h5";
  file.sweep_name = "cards";
  file.rows_missing = given.rows_missing;
  for (const auto& [id, text, rerun] : given.runs) {
    file.runs.emplace_back();
    file.runs.back().run_id = id;
    file.runs.back().sweep_text = text;
    file.runs.back().rerun = rerun;
  }
  builder.end_file(file);
  return std::move(builder).finish();
}

TEST(TrialIds, AreFoundWhateverSlotsTheyShare) {
  TrialIdSet ids(4);
  for (const std::uint64_t id : {0x10U, 0x20U, 0x30U, 0U})
    ids.insert(id);  // all want the same slot
  for (const std::uint64_t id : {0x10U, 0x20U, 0x30U, 0U}) EXPECT_TRUE(ids.contains(id));
  for (const std::uint64_t id : {0x40U, 0x1U, 0x11U}) EXPECT_FALSE(ids.contains(id));
  EXPECT_FALSE(TrialIdSet(0).contains(0));
}

TEST(ReportRows, OnlyTheNewestRunCounts) {
  std::vector<TrialRecord> rows = rows_of(kSweep);
  for (const TrialRecord& row : rows_of(kSweep)) {
    rows.push_back(row);
    rows.back().run_id = "run-2";
  }
  const Given given{.runs = {{"run-1", kSweep, ""}, {"run-2", kSweep, ""}}};
  const Report report = report_on(rows, given);
  EXPECT_EQ(report.groups.rows, 2);
  EXPECT_EQ(report.files[0].rows_of_older_runs, 2);
  EXPECT_THAT(report.notices, Contains(HasSubstr("left out 2 rows of older runs")));
  EXPECT_EQ(report_on(rows, given, {.all = true}).groups.rows, 4);
}

TEST(ReportRows, AfterARerunOfSomeTheNewRowsStandBesideTheKeptOnes) {
  struct Case {
    std::string rerun;
    std::vector<std::size_t> measured_again;  // of batch 8 (completed) and 16 (failed)
    std::int64_t rows, older, failures;
  };
  const std::vector<Case> cases = {
      {"failed", {}, 1, 1, 0},  // the failed row counts no more as soon as it is asked again
      {"failed", {1}, 2, 1, 0},       {"batch_size=8", {}, 1, 1, 1}, {"batch_size=8", {0}, 2, 1, 1},
      {"batch_size=64", {}, 2, 0, 1}, {"all", {1}, 1, 2, 0},
  };
  for (const Case& c : cases) {
    std::vector<TrialRecord> rows = rows_of(kSweep);
    rows[1].outcome = "failed";
    for (const std::size_t i : c.measured_again) {
      rows.push_back(rows_of(kSweep)[i]);
      rows.back().run_id = "run-2";
    }
    const Report report =
        report_on(rows, {.runs = {{"run-1", kSweep, ""}, {"run-2", kSweep, c.rerun}}});
    EXPECT_EQ(report.groups.rows, c.rows) << c.rerun;
    EXPECT_EQ(report.files[0].rows_of_older_runs, c.older) << c.rerun;
    EXPECT_EQ(static_cast<std::int64_t>(report.groups.failures.size()), c.failures) << c.rerun;
  }
}

TEST(ReportRows, AFilterThatCannotBeAskedIsSaid) {
  const std::string future = "[sweep]\nname = \"x\"\nkey_of_the_future = 1\n";
  const Report report = report_on(
      {sample_trial(8)}, {.runs = {{"run-1", kSweep, ""}, {"run-2", future, "batch_size=8"}}});
  EXPECT_EQ(report.groups.rows, 1);
  EXPECT_THAT(report.notices, Contains(HasSubstr("shown until they are measured")));
}

TEST(ReportRows, WhatTheNewestSweepTextNoLongerAsksForIsLeftOutUnlessAllIsAskedFor) {
  std::vector<TrialRecord> rows = rows_of(kSweep);
  rows.push_back(sample_trial(64));  // from an earlier text
  const Report report = report_on(rows);
  EXPECT_EQ(report.groups.rows, 2);
  EXPECT_EQ(report.largest_batch.at(0).max_batch_fit, 16);
  EXPECT_EQ(report.files[0].rows_no_longer_asked, 1);
  EXPECT_EQ(report_on(rows, {}, {.all = true}).largest_batch.at(0).max_batch_fit, 64);
}

TEST(ReportRows, ATextThatCannotBeReadShowsAllRowsAndSaysSo) {
  const Given given{.runs = {{"run-1", "[sweep]\nname = \"x\"\nkey_of_the_future = 1\n", ""}}};
  const Report report = report_on({sample_trial(8), sample_trial(64)}, given);
  EXPECT_EQ(report.groups.rows, 2);
  EXPECT_THAT(report.notices, Contains(HasSubstr("cannot be read here")));
}

TEST(ReportRows, RowsThatAllCameFromOtherSettingsAreShownAndThatIsSaid) {
  const Report report = report_on({sample_trial(8), sample_trial(16)});
  EXPECT_EQ(report.groups.rows, 2);
  EXPECT_THAT(report.notices,
              Contains(HasSubstr("no row belongs to the newest sweep text, so every row "
                                 "that counts is shown; batchsweep run measures")));
}

TEST(ReportRows, AJournalBesideTheFileIsTold) {
  EXPECT_THAT(report_on(rows_of(kSweep)).notices, IsEmpty());
  EXPECT_THAT(report_on(rows_of(kSweep), {.rows_missing = "r.h5: rows may be missing"}).notices,
              Contains("r.h5: rows may be missing"));
}

TEST(ReportRows, OnlyChoosesAmongThem) {
  const Report report = report_on(rows_of(kSweep), {}, {.only = {{{"batch_size", {}, {}, 8}}}});
  EXPECT_EQ(report.groups.rows, 1);
}

TEST(ReportRows, TrialsThatDifferInSettingsWithoutAColumnAreToldWhenPooled) {
  std::vector<TrialRecord> rows = {sample_trial(8), sample_trial(8)};
  rows[1].trial_id = "00000000000000aa";
  EXPECT_THAT(report_on(rows, {}, {.all = true}).notices,
              Contains(HasSubstr("settings without a column")));
}

TEST(ReportRows, SeveralFilesAreTakenTogether) {
  ReportBuilder builder({});
  for (const char* name : {"a.h5", "b.h5"}) {
    for (TrialRecord row : rows_of(kSweep)) {
      row.run_id = name;
      builder.add(row);
    }
    ResultsFile file;
    file.path = name;
    file.runs.emplace_back();
    file.runs.back().run_id = name;
    builder.end_file(file);
  }
  const Report report = std::move(builder).finish();
  EXPECT_EQ(report.files.size(), 2U);
  EXPECT_EQ(report.groups.rows, 4);
}

TEST(ReportRows, EveryColumnThatTheReportLooksAtIsAField) {
  const std::vector<std::string_view> columns = report_columns();
  EXPECT_GT(columns.size(), 50U);
  for (const ReportAxis& axis : report_axes()) {
    if (axis.name == "image_size") continue;  // of image_height and image_width
    EXPECT_THAT(columns, Contains(axis.name));
  }
}

}  // namespace
}  // namespace batchsweep::results
