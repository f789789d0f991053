// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "results/report/render.hpp"

namespace batchsweep::results {
namespace {

template <class Value>
Json or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json();
}
// Counts, ranks, bytes: whole numbers as such, whatever column type carried them.
Json whole(const std::optional<double>& value) {
  if (!value) return {};
  const bool is_whole = std::floor(*value) == *value && std::abs(*value) < 9e15;
  return is_whole ? Json(std::llround(*value)) : Json(*value);
}
Json or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

// Every axis by its name, whatever the tables show: scripts find them always.
Json group_json(const Groups& groups, std::size_t index) {
  const Group& group = groups.groups[index];
  Json json = Json::object();
  for (std::size_t axis = 0; axis < kAxisCount; ++axis)
    json[std::string(report_axes()[axis].name)] = groups.values.json(axis, group.key);
  json["emulated"] = group.emulated;
  return json;
}

Json gain_json(const std::optional<Gain>& gain) {
  if (!gain) return {};
  return {{"gain", gain->value}, {"low", gain->low}, {"high", gain->high}};
}

Json outcomes_json(const Groups& groups) {
  Json counts = Json::object();
  for (const auto& [outcome, name] : enum_names(Outcome{}))
    counts[std::string(name)] = groups.outcomes[static_cast<std::size_t>(outcome)];
  Json skipped = Json::array();
  for (const SkippedTrials& row : groups.skipped) {
    if (row.trials > 0)
      skipped.push_back({{"reason", row.reason}, {"message", row.message}, {"trials", row.trials}});
  }
  Json failures = Json::array();
  for (const Failure& row : groups.failures) {
    Json json = group_json(groups, row.group);
    json.update({{"batch_size", row.batch},
                 {"trial_id", row.trial_id},
                 {"repeat", row.repeat},
                 {"attempt", row.attempt},
                 {"outcome", to_text(row.outcome)},
                 {"reason", or_null(row.reason)},
                 {"phase", or_null(row.phase)},
                 {"message", row.message},
                 {"hostname", or_null(row.hostname)},
                 {"guilty_rank", whole(row.guilty_rank)},
                 {"exit_code", whole(row.exit_code)},
                 {"signal", whole(row.signal)}});
    failures.push_back(std::move(json));
  }
  return {{"trials", groups.rows},
          {"counts", std::move(counts)},
          {"skipped", std::move(skipped)},
          {"failures", std::move(failures)}};
}

Json largest_batch_json(const Report& report) {
  Json list = Json::array();
  for (const LargestBatch& row : report.largest_batch) {
    Json json = group_json(report.groups, row.group);
    json.update({{"max_batch_fit", or_null(row.max_batch_fit)},
                 {"min_batch_oom", or_null(row.min_batch_oom)},
                 {"exact", row.exact},
                 {"limit_reached", row.min_batch_oom.has_value()},
                 {"smallest_tried", row.smallest_tried},
                 {"largest_tried", row.largest_tried},
                 {"peak_allocated_bytes", whole(row.peak_allocated_bytes)},
                 {"peak_reserved_bytes", whole(row.peak_reserved_bytes)},
                 {"peak_device_used_bytes", whole(row.peak_device_used_bytes)},
                 {"limit_bytes", whole(row.limit_bytes)},
                 {"oom_requested_bytes", whole(row.oom_requested_bytes)},
                 {"oom_allocated_bytes", whole(row.oom_allocated_bytes)},
                 {"oom_reserved_bytes", whole(row.oom_reserved_bytes)},
                 {"remark", row.remark}});
    list.push_back(std::move(json));
  }
  return list;
}

Json throughput_json(const Report& report) {
  Json best = Json::array(), means = Json::array();
  for (const Throughput& row : report.throughput.best) {
    Json json = group_json(report.groups, row.group);
    json.update({{"batch_size", row.batch},
                 {"samples_per_s", row.samples_per_s},
                 {"samples_per_s_ci_low", or_null(row.rate_low)},
                 {"samples_per_s_ci_high", or_null(row.rate_high)},
                 {"samples_per_s_per_gpu", row.samples_per_s / static_cast<double>(row.world_size)},
                 {"tokens_per_s", or_null(row.tokens_per_s)},
                 {"near_best_batch", row.near_best_batch},
                 {"relative", or_null(row.relative)},
                 {"reference", or_null(row.reference)},
                 {"flags", row.flags}});
    best.push_back(std::move(json));
  }
  for (const RelativeThroughput& row : report.throughput.means) {
    Json json = group_json(report.groups, row.group);
    json.erase("model");
    json.update({{"relative", row.relative}, {"reference", row.reference}, {"models", row.models}});
    means.push_back(std::move(json));
  }
  return {{"best", std::move(best)}, {"geometric_means", std::move(means)}};
}

Json memory_json(const Report& report) {
  Json list = Json::array();
  for (const MemoryFit& row : report.memory) {
    Json json = group_json(report.groups, row.group);
    json.update({{"of", "peak_allocated_bytes"},
                 {"fixed_bytes", row.fixed_bytes},
                 {"bytes_per_sample", row.bytes_per_sample},
                 {"worst_error", row.worst_error},
                 {"points", row.points},
                 {"points_used", row.points_used},
                 {"smallest_batch_used", row.smallest_used},
                 {"largest_batch_used", row.largest_used},
                 {"limit_bytes", whole(row.limit_bytes)}});
    list.push_back(std::move(json));
  }
  return list;
}

Json scaling_json(const Report& report) {
  Json list = Json::array();
  for (const Scaling& row : report.scaling) {
    Json json = group_json(report.groups, row.group);
    json.update({{"kind", to_text(row.kind)},
                 {"batch_size", row.batch},
                 {"global_batch_size", row.global_batch},
                 {"samples_per_s", row.samples_per_s},
                 {"scaling_efficiency", row.efficiency},
                 {"relative_to_world_size", row.base_world_size}});
    list.push_back(std::move(json));
  }
  return list;
}

Json verdicts_json(const Report& report) {
  Json list = Json::array();
  for (const Verdict& row : report.verdicts) {
    Json json = group_json(report.groups, row.group);
    json.update({{"limited_by", to_text(row.limit)},
                 {"reason", row.reason},
                 {"max_batch_fit", or_null(row.max_batch_fit)},
                 {"boundary_seen", row.boundary_seen},
                 {"measured_from_batch", or_null(row.measured_from_batch)},
                 {"measured_last_doubling", gain_json(row.measured_gain)},
                 {"batch_at_double_memory", whole(row.batch_at_double_memory)},
                 {"predicted_gain_of_double_memory", gain_json(row.predicted_gain)},
                 {"asymptotic_samples_per_s", or_null(row.asymptotic_samples_per_s)},
                 {"reached_share", or_null(row.reached_share)},
                 {"points_used", row.points_used}});
    list.push_back(std::move(json));
  }
  return list;
}

}  // namespace

Json report_json(const Report& report) {
  Json files = Json::array();
  for (const ReportedFile& file : report.files)
    files.push_back({{"path", file.path},
                     {"sweep", file.sweep_name},
                     {"run_id", or_null(file.run_id)},
                     {"created_utc", or_null(file.created_utc)},
                     {"site", or_null(file.site)},
                     {"rows_of_older_runs", file.rows_of_older_runs},
                     {"rows_no_longer_asked", file.rows_no_longer_asked}});
  return {{"files", std::move(files)},
          {"execution", report.groups.executions},
          {"notices", report.notices},
          {"outcomes", outcomes_json(report.groups)},
          {"largest_batch", largest_batch_json(report)},
          {"throughput", throughput_json(report)},
          {"memory", memory_json(report)},
          {"scaling", scaling_json(report)},
          {"verdicts", verdicts_json(report)}};
}

}  // namespace batchsweep::results
