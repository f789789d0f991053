// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "base/text.hpp"
#include "cli/verbs.hpp"
#include "results/record/fields.hpp"
#include "results/report/current_sweep.hpp"
#include "results/report/explain.hpp"
#include "results/store/reader.hpp"
#include "results/store/status_file.hpp"

namespace batchsweep::cli {
namespace {

struct ExplainArguments {
  std::string file, trial, format;
};

// What the prefix of an id can mean: recorded trials, and trials of the newest sweep text.
struct Candidates {
  std::set<std::string> recorded;
  std::vector<results::AskedTrial> asked;        // those that are not recorded
  std::vector<results::AskedTrial> asked_again;  // and those that are
  results::ResultsFile file;
  Json status;  // of the sweep that is running on the file; null: none
};

Candidates find_candidates(const ExplainArguments& arguments) {
  Candidates found;
  found.status = results::read_status(arguments.file);
  results::SeenDevices devices;
  found.file = results::for_each_result(
      arguments.file, {"trial_id", "gpu", "gpu_requested", "placement", "pinned_to"},
      [&](const results::TrialRecord& trial) {
        if (trial.trial_id.starts_with(arguments.trial)) found.recorded.insert(trial.trial_id);
        devices.note(trial);
      });
  // What a running sweep has: with gpu = "all" the text alone does not say.
  if (found.status.is_object()) {
    for (const Json& device : found.status.value("devices", Json::array()))
      devices.note_device(device.value("type", ""), device.value("host", ""),
                          device.value("uuid", ""));
  }
  found.asked = results::asked_trials(found.file, devices, arguments.trial);
  const auto recorded = std::stable_partition(
      found.asked.begin(), found.asked.end(),
      [&](const results::AskedTrial& trial) { return !found.recorded.contains(trial.trial_id); });
  found.asked_again.assign(recorded, found.asked.end());
  found.asked.erase(recorded, found.asked.end());
  return found;
}

// The one id that the prefix means, or an error that says what it could mean.
std::string the_one(const Candidates& found, const ExplainArguments& arguments) {
  std::vector<std::string> ids(found.recorded.begin(), found.recorded.end());
  for (const results::AskedTrial& trial : found.asked) ids.push_back(trial.trial_id);
  if (ids.size() == 1) return ids.front();
  if (ids.empty())
    throw UsageError(fmt::format(
        "{}: no trial whose id starts with {}; report --format json and export list the ids",
        arguments.file, arguments.trial));
  const std::size_t shown = std::min<std::size_t>(ids.size(), 5);
  throw UsageError(
      fmt::format("{}: {} trials have ids that start with {}: {}{}", arguments.file, ids.size(),
                  arguments.trial,
                  fmt::join(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
                  shown < ids.size() ? " ..." : ""));
}

ExitCode explain(const ExplainArguments& arguments) {
  if (arguments.trial.empty())
    throw UsageError("explain: the trial's id, or its first digits, must be given");
  const Candidates found = find_candidates(arguments);
  const std::string id = the_one(found, arguments);
  const std::vector<results::AttemptRecord> attempts = found.recorded.contains(id)
                                                           ? results::read_trial(arguments.file, id)
                                                           : std::vector<results::AttemptRecord>{};
  std::string standing;
  if (attempts.empty())
    standing = results::explain_standing(found.asked.front().spec, id, found.status);
  const bool still_asked = !attempts.empty() && !found.asked_again.empty();
  const std::vector<results::CountingRow> counting = results::counting_rows(
      attempts, found.file.runs, still_asked ? &found.asked_again.front().spec : nullptr);
  if (arguments.format == "json") {
    Json json = {{"trial_id", id},
                 {"attempts", Json::array()},
                 {"counting", Json::array()},
                 {"standing", standing.empty() ? Json() : Json(standing)}};
    for (const results::AttemptRecord& attempt : attempts)
      json["attempts"].push_back(results::to_json(attempt));
    for (const results::CountingRow& row : counting)
      json["counting"].push_back(results::to_json(row));
    std::puts(dump(json, 2).c_str());
    return ExitCode::kDone;
  }
  std::string text = results::explain_attempts(attempts);
  text += results::explain_what_counts(counting, found.file.runs);
  if (attempts.empty())
    text = fmt::format("Trial {}: {}\n{}", id, found.asked.front().description, standing);
  if (!found.file.rows_missing.empty()) text += fmt::format("\n{}\n", found.file.rows_missing);
  std::fputs(printable(text).c_str(), stdout);
  return ExitCode::kDone;
}

}  // namespace

void add_explain(CommandLine& line) {
  auto arguments = std::make_shared<ExplainArguments>();
  line.add("explain",
           "tell everything known about one trial: attempts, evidence, log, or why it waits")
      .positional("F.h5", arguments->file, "results file")
      .positional("TRIAL", arguments->trial, "trial_id, or its first digits")
      .choice("--format", arguments->format, {"text", "json"}, "text or JSON")
      .example("batchsweep explain cards.h5 3f2a")
      .run([arguments] { return explain(*arguments); });
}

}  // namespace batchsweep::cli
