// SPDX-License-Identifier: Apache-2.0
#include "cli/watch_picture.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "base/units.hpp"
#include "results/report/render.hpp"

namespace batchsweep::cli {
namespace {

using results::LockState;

constexpr std::size_t kShownFailures = 10;

std::int64_t count(const Json& status, const char* name) {
  return status.contains("counts") ? status["counts"].value(name, std::int64_t{0}) : 0;
}

const Json& list_of(const Json& status, const char* key) {
  static const Json none = Json::array();
  const auto it = status.find(key);
  return it != status.end() && it->is_array() ? *it : none;
}

std::string indented(const std::string& lines) {
  std::string text;
  for (std::size_t at = 0; at < lines.size();) {
    const std::size_t end = std::min(lines.find('\n', at), lines.size());
    text += "  " + lines.substr(at, end - at) + '\n';
    at = end + 1;
  }
  return text;
}

std::string counts_line(const Json& status) {
  std::string line =
      fmt::format("{} of {} trials recorded", count(status, "done"), count(status, "total"));
  if (const auto failed = count(status, "failures"); failed > 0)
    line += fmt::format(", {} failed", failed);
  line +=
      fmt::format(", {} running, {} waiting", count(status, "running"), count(status, "waiting"));
  if (const auto absent = count(status, "absent"); absent > 0)
    line += fmt::format(", {} without a device here", absent);
  const auto left = status.find("left_s");
  line += left != status.end() && left->is_number()
              ? fmt::format(", about {} left", format_seconds(left->get<double>()))
              : std::string(", time left not known yet");
  if (status.value("stopping", false)) line += "; it is ending: nothing new starts";
  return line;
}

// What is going on, in a sentence or two.
std::string standing(const Watched& watched) {
  std::string text;
  const bool locked =
      watched.lock.state == LockState::kHeld || watched.lock.state == LockState::kUnsure;
  if (watched.status.is_object()) {
    text = counts_line(watched.status) + '\n';
    if (watched.status_age_s && *watched.status_age_s > kStaleStatus_s)
      text += fmt::format(
          "STALE: {} told this {} ago and nothing since: its host is busy or gone. Only its lock, "
          "{}.lock, can tell.\n",
          results::name_of(watched.lock.holder), format_seconds(*watched.status_age_s),
          watched.path);
  } else if (locked) {
    text =
        fmt::format("a sweep is starting or ending ({})\n", results::name_of(watched.lock.holder));
  } else if (watched.lock.state == LockState::kDead) {
    text =
        fmt::format("the sweep that ran ({}) is gone; batchsweep run goes on with what is left\n",
                    results::name_of(watched.lock.holder));
  } else {
    text = "no sweep is running on this file\n";
  }
  for (const slurm::QueuedJob& job : watched.jobs) {
    text += fmt::format("Slurm job {}: {}", job.id, job.state);
    if (job.waits() && !job.reason.empty()) text += fmt::format(" ({})", job.reason);
    text += '\n';
  }
  return text;
}

std::string what_runs(const Json& runs) {
  const auto ranks = runs.value("world_size", std::int64_t{1});
  return fmt::format(
      "{} {} batch {}{}", runs.value("model", "?"), runs.value("precision", "?"),
      runs.value("batch_size", std::int64_t{0}),
      ranks > 1 ? fmt::format(", rank {} of {}", runs.value("rank", std::int64_t{0}), ranks)
                : std::string());
}

std::string devices(const Json& status) {
  Table table{{"host", "device", "type", "state", "for", "trial", "what", "phase", "step"}, {}};
  for (const Json& device : list_of(status, "devices")) {
    std::vector<std::string> row{device.value("host", "?"),
                                 fmt::format("{}", device.value("device", std::int64_t{0})),
                                 device.value("type", "?"), device.value("state", "?")};
    if (const auto runs = device.find("runs"); runs != device.end()) {
      row.push_back(format_seconds(runs->value("since_s", 0.0)));
      row.push_back(runs->value("trial", "?"));
      row.push_back(what_runs(*runs));
      row.push_back(runs->value("phase", ""));
      row.push_back(fmt::format("{}", runs->value("step", std::int64_t{0})));
    }
    table.rows.push_back(std::move(row));
  }
  return table.rows.empty() ? "" : "\nDevices\n" + indented(render(table, TableFormat::kText));
}

std::string next_trials(const Json& status) {
  Table table{{"trial", "what", "gpu", "ranks", "waits because"}, {}};
  for (const Json& next : list_of(status, "next")) {
    table.rows.push_back(
        {next.value("trial", "?"),
         fmt::format("{} {} batch {}", next.value("model", "?"), next.value("precision", "?"),
                     next.value("batch_size", std::int64_t{0})),
         next.value("gpu", "?"), fmt::format("{}", next.value("world_size", std::int64_t{1})),
         next.value("why", "")});
  }
  std::string text =
      table.rows.empty() ? "" : "\nNext\n" + indented(render(table, TableFormat::kText));
  for (const Json& skipped : list_of(status, "skipped"))
    text += fmt::format("  skipped: {} x {}, {}: {}\n",
                        skipped.value("world_size", std::int64_t{1}), skipped.value("gpu", "?"),
                        skipped.value("precision", "?"), skipped.value("why", ""));
  return text;
}

// Of the report: what fits so far, and what failed.
std::string rows_so_far(const Watched& watched) {
  std::string text;
  if (watched.rows) {
    for (results::Section& section : results::sections(*watched.rows)) {
      const bool failures = section.title.starts_with("Failures");
      if ((!failures && !section.title.starts_with("Largest batch")) || section.table.rows.empty())
        continue;
      const std::size_t all = section.table.rows.size();
      if (failures && all > kShownFailures) section.table.rows.resize(kShownFailures);
      text += fmt::format("\n{}{}\n", section.title.substr(0, section.title.find(" (")),
                          failures ? "" : " so far");
      text += indented(render(section.table, TableFormat::kText));
      if (failures && all > kShownFailures)
        text += fmt::format("  ... and {} more: batchsweep report {}\n", all - kShownFailures,
                            shell_word(watched.path));
    }
  }
  if (!watched.rows_missing.empty()) text += fmt::format("\n{}\n", watched.rows_missing);
  return text;
}

}  // namespace

std::string watch_picture(const Watched& watched) {
  std::string text = watched.path;
  if (watched.status.is_object()) text += fmt::format(", {}", watched.status.value("utc", ""));
  text += '\n' + standing(watched);
  if (watched.status.is_object()) text += devices(watched.status) + next_trials(watched.status);
  return text + rows_so_far(watched);
}

bool has_ended(const Watched& watched) {
  const bool runs =
      watched.lock.state == LockState::kHeld || watched.lock.state == LockState::kUnsure;
  return !runs && watched.jobs.empty();
}

}  // namespace batchsweep::cli
