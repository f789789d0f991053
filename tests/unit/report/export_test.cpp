// SPDX-License-Identifier: Apache-2.0
#include "results/report/export.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "base/json.hpp"
#include "results/record/fields.hpp"
#include "tests/unit/report/sample_trials.hpp"

namespace batchsweep::results {
namespace {

// Cells of one line of RFC 4180, read anew: not by the code that wrote them.
std::vector<std::string> cells(const std::string& line) {
  std::vector<std::string> found(1);
  bool quoted = false;
  for (std::size_t i = 0; i + 1 < line.size(); ++i) {
    const char c = line[i];
    if (c == '"' && quoted && line[i + 1] == '"') {
      found.back() += line[i++];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      found.emplace_back();
    } else {
      found.back() += c;
    }
  }
  return found;
}

std::string cell(const TrialRecord& trial, const std::string& column) {
  std::string header, row;
  append_csv_header(header);
  append_csv_row(row, trial);
  const std::vector<std::string> names = cells(header), values = cells(row);
  EXPECT_EQ(names.size(), values.size());
  const auto at = std::find(names.begin(), names.end(), column);
  return at == names.end() ? "no such column"
                           : values.at(static_cast<std::size_t>(at - names.begin()));
}

Json as_json(const TrialRecord& trial) {
  std::string text;
  append_json_row(text, trial);
  return Json::parse(text);
}

TEST(Export, HasEveryColumnInTheFilesOrder) {
  std::string header;
  append_csv_header(header);
  const std::vector<std::string> names = cells(header);
  ASSERT_EQ(names.size(), fields_of<TrialRecord>().size());
  const Json json = as_json(sample_trial(8));
  auto it = json.items().begin();
  for (std::size_t i = 0; i < names.size(); ++i, ++it) {
    EXPECT_EQ(names[i], fields_of<TrialRecord>()[i].name);
    EXPECT_EQ(it.key(), names[i]);
  }
}

TEST(Export, NumbersComeBackAsTheyWere) {
  TrialRecord trial = sample_trial(8);
  for (const double value :
       {0.1, 1.0 / 3, 85520809984.0, 5e-324, 1.7976931348623157e308, 123456789.123456789}) {
    trial.samples_per_s = value;
    EXPECT_EQ(std::strtod(cell(trial, "samples_per_s").c_str(), nullptr), value);
    EXPECT_EQ(as_json(trial)["samples_per_s"].get<double>(), value);
  }
  trial.seed = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(cell(trial, "seed"), "9223372036854775807");
  EXPECT_EQ(as_json(trial)["seed"].get<std::int64_t>(), trial.seed);
}

TEST(Export, AbsentIsEmptyOrNullNeverZero) {
  const TrialRecord trial = sample_trial(8);
  EXPECT_EQ(cell(trial, "mfu"), "");
  EXPECT_TRUE(as_json(trial)["mfu"].is_null());
  TrialRecord unknown = trial;
  unknown.mfu = std::nan("");
  EXPECT_EQ(cell(unknown, "mfu"), "");
  EXPECT_TRUE(as_json(unknown)["mfu"].is_null());
  EXPECT_EQ(cell(trial, "emulated"), "false");
}

TEST(Export, TextComesBackByteForByte) {
  TrialRecord trial = sample_trial(8);
  for (const char* text : {"org/bert-base", "comma, quote \" and more", "two\nlines\r\n",
                           "ÄÖÜ 模型", " blank ", "..", "'"}) {
    trial.model = text;
    EXPECT_EQ(cell(trial, "model"), text);
    EXPECT_EQ(as_json(trial)["model"], text);
  }
}

}  // namespace
}  // namespace batchsweep::results
