// SPDX-License-Identifier: Apache-2.0
#include "cli/progress_line.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "base/text.hpp"
#include "base/units.hpp"

namespace batchsweep::cli {
namespace {

using orchestrator::Progress;

std::string time_left(const Progress& progress, std::int64_t done_at_start, double elapsed_s) {
  const std::int64_t done = progress.done - done_at_start;
  const std::int64_t left = progress.running + progress.waiting;
  if (done < 1 || left < 1) return "";
  return ", about " + format_seconds(elapsed_s / static_cast<double>(done) * static_cast<double>(left)) + " left";
}

}  // namespace

std::string describe_ending(const results::TrialRecord& trial) {
  std::string text = trial.outcome;
  if (trial.tokens_per_s) {
    text += fmt::format(", {:.4g} tokens/s", *trial.tokens_per_s);
  } else if (trial.samples_per_s) {
    text += fmt::format(", {:.4g} samples/s", *trial.samples_per_s);
  }
  if (trial.peak_allocated_bytes) text += ", peak " + format_bytes(*trial.peak_allocated_bytes);
  if (trial.oom_limit_bytes) text += ", limit " + format_bytes(*trial.oom_limit_bytes);
  if (trial.outcome != "completed" && trial.outcome != "out_of_memory" && !trial.message.empty()) text += ": " + trial.message;
  return text;
}

ProgressLine::ProgressLine(Instant start) : terminal_(isatty(STDERR_FILENO) == 1), start_(start) {}

void ProgressLine::recorded(const results::TrialRecord& trial, const Progress& progress) {
  if (terminal_ && trial.outcome == "completed") return;  // the live line counts it
  say(fmt::format("[{}/{}] {} {} {} batch {}{} on {}: {}", progress.done, progress.total, trial.trial_id, trial.model,
                  trial.precision, trial.batch_size,
                  trial.world_size > 1 ? fmt::format(" x {} ranks", trial.world_size) : "", trial.gpu_requested,
                  describe_ending(trial)));
}

void ProgressLine::say(const std::string& text) {
  clear();
  std::fputs((printable(text) + '\n').c_str(), stderr);
}

void ProgressLine::refresh(const Progress& progress, Instant now) {
  if (done_at_start_ < 0) done_at_start_ = progress.done;
  if (!terminal_ || (drawn_ && now - last_ < std::chrono::milliseconds(200))) return;
  last_ = now;
  drawn_ = true;
  const std::string line =
      fmt::format("{}/{} trials, {} failed, {} of {} devices busy{}", progress.done, progress.total, progress.failures,
                  progress.devices_busy, progress.devices, time_left(progress, done_at_start_, to_seconds(now - start_)));
  std::fprintf(stderr, "\r\033[K%s", line.c_str());
  std::fflush(stderr);
}

void ProgressLine::finish() { clear(); }

void ProgressLine::clear() {
  if (!drawn_) return;
  std::fputs("\r\033[K", stderr);
  drawn_ = false;
}

}  // namespace batchsweep::cli
