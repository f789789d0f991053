// SPDX-License-Identifier: Apache-2.0
// The axes that the report groups by: every column that tells two grid points apart, but for the
// batch. Values are interned per axis, so that a million rows cost a million comparisons and a few
// strings. Knows nothing of what was measured.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/json.hpp"
#include "results/record/trial_record.hpp"
#include "sweeps/axis.hpp"
#include "sweeps/sweep_spec.hpp"

namespace batchsweep::results {

// In the order of the tables: gpu, model, precision, the others by name, world_size.
enum AxisIndex : std::size_t {
  kGpu,
  kModel,
  kPrecision,
  kActivationCheckpointing,
  kData,
  kDeviceName,
  kEnv,
  kGradientAccumulationSteps,
  kImageSize,
  kMemoryFormat,
  kNumNodes,
  kOptimizer,
  kOrigin,
  kPinnedTo,
  kPlacement,
  kRuntime,
  kSeed,
  kSequenceLength,
  kTorchVersion,
  kWorldSize,
  kAxisCount,
};

enum class AxisKind { kText, kNumber, kFlag };

struct ReportAxis {
  std::string_view name;
  AxisKind kind;
  void (*append)(const TrialRecord& trial, std::string& text);  // absent: appends nothing
};
[[nodiscard]] const std::array<ReportAxis, kAxisCount>& report_axes();

// One grid point but for its batch: an interned value per axis.
using AxisKey = std::array<std::uint32_t, kAxisCount>;

// axis of the tables -> values in the order of the sweep file. A value that is not there comes
// behind the others, numbers by size and text by letters; precisions from wide to narrow.
using AxisOrder = std::map<std::string, std::vector<std::string>, std::less<>>;
[[nodiscard]] AxisOrder axis_order(const sweeps::SweepSpec& sweep);
// Appends what is new to `order`. Linear: an axis may have a million values.
void merge_order(const AxisOrder& more, AxisOrder& order);

class AxisValues {
 public:
  [[nodiscard]] AxisKey intern(const TrialRecord& trial);
  [[nodiscard]] const std::string& text(std::size_t axis, std::uint32_t value) const {
    return values_[axis][value];
  }
  [[nodiscard]] const std::string& text(std::size_t axis, const AxisKey& key) const {
    return text(axis, key[axis]);
  }
  // The same for people: of a data file's path its last part, where no other value has the same
  // one.
  [[nodiscard]] std::string shown(std::size_t axis, std::uint32_t value) const;
  // Number, flag or text; null where the row did not say.
  [[nodiscard]] Json json(std::size_t axis, const AxisKey& key) const;
  [[nodiscard]] std::size_t count(std::size_t axis) const { return values_[axis].size(); }
  // ranks()[axis][value]: place of the value among those of its axis.
  [[nodiscard]] std::array<std::vector<std::uint32_t>, kAxisCount> ranks(
      const AxisOrder& order) const;

 private:
  std::array<std::vector<std::string>, kAxisCount> values_;
  std::array<std::unordered_map<std::string, std::uint32_t>, kAxisCount> index_;
  AxisKey last_{};  // neighbours in the file mostly share their values
  std::string buffer_;
};

// --only for recorded rows: all lines of one of the filters match. Throws UsageError where the axis
// is no column of the results.
class RowFilter {
 public:
  explicit RowFilter(const std::vector<std::vector<sweeps::AxisMatch>>& filters);
  [[nodiscard]] bool matches(const TrialRecord& trial) const;

 private:
  struct Line {
    void (*append)(const TrialRecord& trial, std::string& text);
    sweeps::AxisMatch match;
  };
  [[nodiscard]] static bool matches(const TrialRecord& trial, const Line& line);

  std::vector<std::vector<Line>> filters_;  // empty: every row
};

}  // namespace batchsweep::results
