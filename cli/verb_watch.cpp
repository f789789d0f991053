// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "base/clock.hpp"
#include "base/text.hpp"
#include "cli/slurm_commands.hpp"
#include "cli/verbs.hpp"
#include "cli/watch_picture.hpp"
#include "results/store/reader.hpp"
#include "results/store/status_file.hpp"

namespace batchsweep::cli {
namespace {

namespace fs = std::filesystem;

constexpr Duration kEvery = std::chrono::seconds(2), kAskSlurmEvery = std::chrono::seconds(10);
// A lock on another host is known to be dead only by its counter, which moves every 5 s.
constexpr Duration kUnmoved = std::chrono::seconds(15);

std::optional<double> age_of_status(const std::string& path) {
  std::error_code error;
  const auto written = fs::last_write_time(path + ".status.json", error);
  if (error) return std::nullopt;
  return to_seconds(fs::file_time_type::clock::now() - written);
}

// Published rows do not change between two snapshots: they are read again only then.
class Watcher {
 public:
  explicit Watcher(std::string path) : path_(std::move(path)) {}

  [[nodiscard]] const Watched& look(Instant now) {
    watched_.path = path_;
    watched_.lock = results::look_at_lock(path_);
    judge_unmoved(now);
    watched_.status = results::read_status(path_);
    watched_.status_age_s = age_of_status(path_);
    if (now >= next_ask_) {
      next_ask_ = now + kAskSlurmEvery;
      watched_.jobs = queue_of(jobs_of_file(path_)).value_or(std::vector<slurm::QueuedJob>{});
    }
    read_rows();
    return watched_;
  }

 private:
  void judge_unmoved(Instant now) {
    if (watched_.lock.state != results::LockState::kUnsure) return;
    if (watched_.lock.holder != seen_holder_) {
      seen_holder_ = watched_.lock.holder;
      unmoved_since_ = now;
    } else if (now - unmoved_since_ >= kUnmoved) {
      watched_.lock.state = results::LockState::kDead;
    }
  }

  void read_rows() {
    std::error_code error;
    const auto written = fs::last_write_time(path_, error);
    if (error) {
      watched_.rows.reset();
      return;
    }
    if (watched_.rows && written == rows_written_) return;
    rows_written_ = written;
    results::ReportBuilder builder({});
    results::ResultsFile file = results::for_each_result(
        path_, results::report_columns(), [&](const auto& trial) { builder.add(trial); });
    file.rows_missing.clear();  // of a running sweep they come with the next snapshot
    builder.end_file(file);
    watched_.rows = std::move(builder).finish();
  }

  std::string path_;
  Watched watched_;
  std::optional<results::LockHolder> seen_holder_;
  Instant unmoved_since_{}, next_ask_{};
  fs::file_time_type rows_written_{};
};

void refuse_nothing(const std::string& path, const Watched& watched) {
  std::error_code error;
  if (!has_ended(watched) || watched.rows || fs::exists(path + ".journal", error)) return;
  throw UsageError(path + ": no such file, and neither a sweep nor a Slurm job works on it");
}

ExitCode watch(const std::string& path, bool once) {
  const bool terminal = isatty(STDOUT_FILENO) == 1;
  Watcher watcher(path);
  for (bool first = true;; first = false) {
    const Watched& watched = watcher.look(system_clock().now());
    if (first) refuse_nothing(path, watched);
    const std::string picture = printable(watch_picture(watched));
    if (terminal && !once) std::fputs("\033[H\033[J", stdout);
    fmt::print("{}{}", picture, terminal || once ? "" : "\n");
    if (once || has_ended(watched)) return ExitCode::kDone;
    if (std::fflush(stdout) != 0) return ExitCode::kEnvironment;
    std::this_thread::sleep_for(kEvery);
  }
}

}  // namespace

void add_watch(CommandLine& line) {
  struct Options {
    std::string path;
    bool once = false;
  };
  const auto options = std::make_shared<Options>();
  line.add("watch",
           "show a sweep that runs or waits in Slurm's queue, until it ends: what runs where, what "
           "fits so far, failures, what comes next")
      .positional("F.h5", options->path, "results file")
      .flag("--once", options->once, "show one picture and end")
      .example("batchsweep watch cards.h100.h5")
      .run([options] { return watch(options->path, options->once); });
}

}  // namespace batchsweep::cli
