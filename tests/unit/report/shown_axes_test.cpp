// SPDX-License-Identifier: Apache-2.0
// Which axes are columns, which are said once, and how their values are shown.
#include "results/report/shown_axes.hpp"

#include <gmock/gmock.h>

#include "tests/unit/report/sample_trials.hpp"

namespace batchsweep::results {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

TrialRecord on_data(const std::string& model, const std::string& data) {
  TrialRecord trial = sample_trial(8);
  trial.model = model;
  trial.data = data;
  return trial;
}

TEST(ShownAxes, AFileOfDataIsShownByItsLastPart) {
  const Groups groups =
      gather({on_data("a", "synthetic"), on_data("b", "text:/books/deps/king.txt"),
              on_data("c", "images:/data/flowers/")});
  EXPECT_THAT(shown_axes(groups).said_once,
              Contains("data synthetic (a), text:king.txt (b), images:flowers/ (c)"));
}

TEST(ShownAxes, TwoFilesOfOneNameAreShownInFull) {
  const Groups groups = gather({on_data("a", "text:/x/t.txt"), on_data("b", "text:/y/t.txt")});
  EXPECT_THAT(shown_axes(groups).said_once, Contains("data text:/x/t.txt (a), text:/y/t.txt (b)"));
}

TEST(ShownAxes, WhatVariesIsAColumn) {
  EXPECT_THAT(shown_axes(gather({on_data("a", "synthetic"), on_data("b", "synthetic")})).columns,
              ElementsAre(kModel));
}

}  // namespace
}  // namespace batchsweep::results
