// SPDX-License-Identifier: Apache-2.0
// The grid: axes x excludes -> trials in a stable order, without doubles. Points are made when asked for, so a
// million of them cost their ids and little more.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sweeps/sweep_spec.hpp"
#include "sweeps/trial_spec.hpp"

namespace batchsweep::sweeps {

// Where the devices of a type are, for placements that pin trials: names of hosts, UUIDs of devices.
struct PinTargets {
  std::map<std::string, std::vector<std::string>> hosts, devices;  // by type, each once
};

class Grid {
 public:
  // Throws ConfigError: empty grid, more than 10,000,000 points (with the count); UsageError: nothing that --only wants.
  // `present_types`: what gpu = "all" (or no gpu axis) stands for: one entry per device type of this machine or cluster.
  // `targets`: placement "each-node" and "each-device" make one trial for each of them.
  Grid(const SweepSpec& sweep, const std::vector<std::string>& present_types, PinTargets targets = {});

  [[nodiscard]] std::size_t size() const { return ids_.size(); }
  [[nodiscard]] TrialId id(std::size_t i) const { return ids_[i]; }
  [[nodiscard]] TrialSpec spec(std::size_t i) const;
  // Every point in order, faster than asking one by one.
  void for_each(const std::function<void(std::size_t i, const TrialSpec& spec)>& use) const;

 private:
  struct Point {
    std::uint32_t block;
    std::uint32_t pin;    // which of pins_of()
    std::uint64_t index;  // mixed-radix index within the block's axes, the last axis fastest
  };
  // What a point is pinned to: each entry is a trial. kNowhere where there is no such device.
  [[nodiscard]] const std::vector<std::string>& pins_of(const TrialSpec& spec) const;
  const SweepSpec* sweep_;
  std::vector<GridBlock> blocks_;
  std::vector<Point> points_;
  std::vector<TrialId> ids_;
  PinTargets targets_;
};

// `pinned_to` of a trial that shall run on each host or device of a type of which there is none.
inline constexpr std::string_view kNowhere = "nowhere";

// Does the grid depend on the devices that are here (gpu = "all", no gpu axis, or trials that are pinned)?
[[nodiscard]] bool asks_for_present_types(const SweepSpec& sweep);

// Does the spec match all lines (of one [[exclude]] block, of a rule's `when`, of one --only)?
[[nodiscard]] bool matches(const TrialSpec& spec, const std::vector<AxisMatch>& lines);
// --only "model=bert*,gpu=H100*" -> lines; an axis named twice takes either value; whole numbers take "8..64", "8..", "..64" too.
// Throws UsageError naming the unknown axis and the option that the text came with.
[[nodiscard]] std::vector<AxisMatch> parse_only(const std::string& text, std::string_view option = "--only");
// The value of an axis as text, as --only, [[exclude]] and tables use it: what runs, with the model's defaults filled in.
// Unknown -> "".
[[nodiscard]] std::string axis_value(const TrialSpec& spec, const std::string& axis);

}  // namespace batchsweep::sweeps
