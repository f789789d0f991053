// SPDX-License-Identifier: Apache-2.0
#include "results/report/throughput.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <map>

#include "base/error.hpp"
#include "base/text.hpp"
#include "results/report/statistics.hpp"

namespace batchsweep::results {
namespace {

// Times may be compared within one class only: real devices, or emulated ones on one physical card.
std::string comparable_class(const Groups& groups, const Group& group) {
  return group.emulated ? "emulated on " + groups.values.text(kDeviceName, group.key) : "";
}

std::vector<std::string> flags_of(const BatchPoint& point) {
  std::vector<std::string> flags;
  if (point.not_alone) flags.emplace_back("not alone");
  if (point.not_native) flags.emplace_back("precision not native");
  if (point.short_batches) flags.emplace_back("short batches");
  if (point.skipped_steps > 0)
    flags.push_back(fmt::format("{} steps skipped", point.skipped_steps));
  return flags;
}

std::optional<Throughput> best_of(const Groups& groups, std::size_t index) {
  const Group& group = groups.groups[index];
  const BatchPoint* best = nullptr;
  for (const BatchPoint& point : group.points) {
    if (point.counted == 0 || !point.samples_per_s) continue;
    if (!best || *point.samples_per_s > *best->samples_per_s) best = &point;
  }
  if (!best) return std::nullopt;
  Throughput answer;
  answer.group = index;
  answer.batch = best->batch;
  const Json world_size = groups.values.json(kWorldSize, group.key);
  answer.world_size = world_size.is_number() ? world_size.get<std::int64_t>() : 1;
  answer.samples_per_s = *best->samples_per_s;
  answer.rate_low = best->rate_low;
  answer.rate_high = best->rate_high;
  answer.tokens_per_s = best->tokens_per_s;
  answer.precision_native = !best->not_native;
  answer.flags = flags_of(*best);
  answer.near_best_batch = best->batch;
  for (const BatchPoint& point : group.points) {
    if (point.counted == 0 || !point.samples_per_s) continue;
    if (point.rate_high.value_or(*point.samples_per_s) >=
        best->rate_low.value_or(*best->samples_per_s)) {
      answer.near_best_batch = point.batch;
      break;
    }
  }
  return answer;
}

// class -> interned name of its reference device.
std::map<std::string, std::uint32_t> references(const Groups& groups,
                                                const ThroughputAnswer& answer,
                                                const std::string& wanted) {
  std::map<std::string, std::uint32_t> chosen;
  std::vector<std::string> known;
  bool found = wanted.empty();
  for (const Throughput& row : answer.best) {
    const Group& group = groups.groups[row.group];
    const std::string& gpu = groups.values.text(kGpu, group.key);
    chosen.try_emplace(comparable_class(groups, group), group.key[kGpu]);
    if (gpu == wanted) {
      chosen[comparable_class(groups, group)] = group.key[kGpu];
      found = true;
    }
    if (std::find(known.begin(), known.end(), gpu) == known.end()) known.push_back(gpu);
  }
  if (!found) {
    std::vector<std::string> near = nearest_names(wanted, known);
    if (near.empty()) near = known;
    throw UsageError(
        fmt::format("--reference {}: no completed trial of that device; these have some: {}",
                    wanted, fmt::join(near, ", ")));
  }
  return chosen;
}

// The key without `left_out`, and without those of `may_follow` that differ only because it does.
class Blanked {
 public:
  Blanked(const Groups& groups, AxisIndex left_out, std::initializer_list<AxisIndex> may_follow) {
    blank_[left_out] = true;
    for (const AxisIndex axis : may_follow) blank_[axis] = follows_from(groups, axis, left_out);
  }
  [[nodiscard]] AxisKey operator()(AxisKey key) const {
    for (std::size_t axis = 0; axis < kAxisCount; ++axis) {
      if (blank_[axis]) key[axis] = 0;
    }
    return key;
  }

 private:
  std::array<bool, kAxisCount> blank_{};
};

void compare_with_references(const Groups& groups,
                             const std::map<std::string, std::uint32_t>& references,
                             ThroughputAnswer& answer) {
  const Blanked without_device(groups, kGpu, {kDeviceName, kRuntime, kTorchVersion});
  std::map<std::pair<std::string, AxisKey>, const Throughput*> of_reference;
  for (const Throughput& row : answer.best) {
    const Group& group = groups.groups[row.group];
    const std::string kind = comparable_class(groups, group);
    if (group.key[kGpu] == references.at(kind))
      of_reference.try_emplace({kind, without_device(group.key)}, &row);
  }
  for (Throughput& row : answer.best) {
    const Group& group = groups.groups[row.group];
    const std::string kind = comparable_class(groups, group);
    const auto it = of_reference.find({kind, without_device(group.key)});
    if (it == of_reference.end() || it->second->precision_native != row.precision_native) continue;
    row.relative = row.samples_per_s / it->second->samples_per_s;
    row.reference = groups.values.text(kGpu, references.at(kind));
  }
}

void add_means(const Groups& groups, ThroughputAnswer& answer) {
  struct Gathered {
    std::vector<double> relatives;
    RelativeThroughput mean;
  };
  const Blanked without_model(groups, kModel,
                              {kData, kImageSize, kMemoryFormat, kOptimizer, kSequenceLength});
  std::map<AxisKey, Gathered> gathered;
  for (const Throughput& row : answer.best) {
    if (!row.relative) continue;
    const AxisKey& key = groups.groups[row.group].key;
    Gathered& of_device = gathered[without_model(key)];
    RelativeThroughput& mean = of_device.mean;
    if (of_device.relatives.empty())
      mean = {.group = row.group, .relative = 0, .reference = row.reference, .models = {}};
    of_device.relatives.push_back(*row.relative);
    const std::string& model = groups.values.text(kModel, key);
    if (std::find(mean.models.begin(), mean.models.end(), model) == mean.models.end())
      mean.models.push_back(model);
  }
  for (auto& [key, of_device] : gathered) {
    if (of_device.mean.models.size() < 2) continue;
    of_device.mean.relative = *geometric_mean(of_device.relatives);
    answer.means.push_back(std::move(of_device.mean));
  }
  std::sort(answer.means.begin(), answer.means.end(),
            [](const auto& a, const auto& b) { return a.group < b.group; });
}

}  // namespace

ThroughputAnswer throughput(const Groups& groups, const std::string& reference) {
  ThroughputAnswer answer;
  for (std::size_t i = 0; i < groups.groups.size(); ++i) {
    if (std::optional<Throughput> best = best_of(groups, i))
      answer.best.push_back(std::move(*best));
  }
  compare_with_references(groups, references(groups, answer, reference), answer);
  add_means(groups, answer);
  return answer;
}

}  // namespace batchsweep::results
