// SPDX-License-Identifier: Apache-2.0
#include "results/store/results_store.hpp"

#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "base/error.hpp"
#include "base/log.hpp"
#include "results/store/attempt_index.hpp"
#include "results/store/cancel_file.hpp"
#include "results/store/journal.hpp"
#include "results/store/lock_file.hpp"
#include "results/store/posix_file.hpp"
#include "results/store/publisher.hpp"
#include "results/store/recorded.hpp"
#include "results/store/run_table.hpp"

namespace batchsweep::results {
namespace {

std::string random_id() {
  std::uint64_t value = 0;
  if (::getrandom(&value, sizeof value, 0) != static_cast<ssize_t>(sizeof value))
    throw IoError("the system gives no random bytes");
  return fmt::format("{:016x}", value);
}

// Before the lock: what is said then names the folder, not the lock.
const std::string& checked_place(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    throw ResultsFileError(fmt::format("{} is a folder: name a file in it with --results", path));
  check_folder_of(path);
  return path;
}

}  // namespace

void check_origin(const std::string& path, const std::string& found, const std::string& wanted) {
  if (found == wanted) return;
  throw ResultsFileError(
      fmt::format("{}: holds {} rows, and this sweep's would be {}: the two are never mixed; name "
                  "another file with --results",
                  path, found, wanted));
}

struct ResultsStore::State {
  State(const StoreOptions& store_options, const Clock& store_clock)
      : options(store_options),
        clock(store_clock),
        lock(checked_place(options.path), this_process()),
        old_request(take_cancel_request(options.path)),
        recorded(read_recorded(options.path)) {}
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  const StoreOptions options;
  const Clock& clock;
  LockFile lock;
  const bool old_request;  // to end a sweep that was gone already; taken away before reading, which
                           // may take long
  Recorded recorded;
  std::optional<JournalWriter> journal;
  std::optional<Publisher> publisher;
  std::string run_id, previous_sweep_text;
  std::vector<RecordedState> states;
  std::vector<std::string> notices;
  std::int64_t next_sequence = 1;
  bool wrote_trials = false, closed = false;

  [[nodiscard]] std::string journal_path() const { return options.path + ".journal"; }
  void open_journal();
  void begin_or_continue_run();
  void end_open_starts();
  void append(const AttemptRecord& attempt, const std::string& run);
  // A snapshot that is being written must not take the last room from what it is made of.
  template <class Write>
  void with_room(const Write& write) {
    try {
      write();
    } catch (const IoError&) {
      if (!journal->disk_full() || !publisher || !publisher->make_room()) throw;
      write();
    }
  }
};

// An error after the lock was taken: what this start wrote tells nothing, unless trials began.
ResultsStore::State::~State() {
  publisher.reset();
  if (closed || wrote_trials || !journal || !lock.still_ours()) return;
  try {
    if (recorded.has_journal) {
      journal->cut(recorded.journal_bytes);
    } else {
      journal.reset();
      ::unlink(journal_path().c_str());
    }
  } catch (const IoError& error) {
    log_warn("{}", error.what());  // no more is lost than a line in a journal
  }
}

void ResultsStore::State::open_journal() {
  const std::string origin(to_text(options.origin));
  if (!recorded.origin.empty()) check_origin(options.path, recorded.origin, origin);
  next_sequence = recorded.index.last_sequence() + 1;
  if (recorded.has_journal) {
    journal.emplace(journal_path(), recorded.journal_bytes);
    if (recorded.torn_bytes != 0) {
      notices.push_back(fmt::format("{}: dropped {} bytes of an unfinished record at its end",
                                    journal_path(), recorded.torn_bytes));
    }
    if (!recorded.has_file) {
      notices.push_back(
          fmt::format("{} was missing beside its journal: rebuilt from it, {} attempts",
                      options.path, recorded.journal_attempts));
    } else if (recorded.journal_attempts != 0) {
      notices.push_back(
          fmt::format("{}: a sweep was killed; going on from its journal, {} attempts",
                      options.path, recorded.journal_attempts));
    }
    publisher.emplace(options.path, options.publish_program, 0);
    return;
  }
  ::unlink(journal_path().c_str());  // at most the torn beginning of a header
  if (recorded.file_id.empty()) recorded.file_id = random_id();
  journal.emplace(journal_path(), JournalHeader{.file_id = recorded.file_id,
                                                .origin = origin,
                                                .sweep_name = options.sweep_name,
                                                .first_sequence = next_sequence});
  publisher.emplace(options.path, options.publish_program,
                    recorded.has_file ? journal->bytes() : 0);
}

void ResultsStore::State::begin_or_continue_run() {
  RunInfo run{.run_id = random_id(),
              .site = options.site,
              .created_utc = format_utc(clock.utc_now()),
              .batchsweep_version = BATCHSWEEP_VERSION,
              .sweep_text = options.sweep_text,
              .site_text = options.site_text,
              .sweep_inputs = options.sweep_inputs,
              .rerun = ""};
  if (!recorded.runs.empty()) {
    const RunInfo& newest = recorded.runs.back();
    previous_sweep_text = newest.sweep_text;
    if (options.rerun) {
      run.rerun = *options.rerun;
    } else {
      run.run_id = newest.run_id;
      run.created_utc = newest.created_utc;
      run.rerun = newest.rerun;
    }
    if (run == newest) {
      run_id = run.run_id;
      return;
    }
  }
  run_id = run.run_id;
  journal->append_run(run);
  merge_run(recorded.runs, std::move(run));
}

// A start without an end: its orchestrator was killed. Recorded, so that it is counted for ever and
// its number never used again.
void ResultsStore::State::end_open_starts() {
  for (const AttemptIndex::OpenStart& open : recorded.index.open_starts()) {
    AttemptRecord attempt;
    attempt.trial.trial_id = sweeps::to_text(open.trial);
    attempt.trial.repeat = open.repeat;
    attempt.trial.attempt = open.attempt;
    attempt.trial.origin = to_text(options.origin);
    attempt.trial.outcome = to_text(Outcome::kInterrupted);
    attempt.trial.reason = to_text(Reason::kOrchestratorDied);
    attempt.trial.message =
        "the sweep was killed while this attempt ran; how it ended is not known";
    attempt.trial.run_id = open.run_id;
    attempt.trial.sequence = next_sequence;
    append(attempt, open.run_id);
    recorded.index.add(attempt.trial, 0);
  }
}

void ResultsStore::State::append(const AttemptRecord& attempt, const std::string& run) {
  with_room([&] { journal->append_attempt(attempt, next_sequence, run); });
  ++next_sequence;
}

ResultsStore::ResultsStore(const StoreOptions& options, const Clock& clock)
    : state_(new State(options, clock)) {
  State& state = *state_;
  ::unlink((options.path + ".tmp").c_str());  // of a publisher that was killed
  state.open_journal();
  state.end_open_starts();
  state.begin_or_continue_run();
  state.journal->sync();
  state.states = state.recorded.index.states(state.recorded.runs);
  state.recorded.index = {};
}

ResultsStore::~ResultsStore() = default;

const std::string& ResultsStore::run_id() const { return state_->run_id; }
const std::string& ResultsStore::file_id() const { return state_->recorded.file_id; }
const std::vector<RecordedState>& ResultsStore::recorded() const { return state_->states; }
const std::vector<RunInfo>& ResultsStore::runs() const { return state_->recorded.runs; }
std::int64_t ResultsStore::next_sequence() const { return state_->next_sequence; }
const std::string& ResultsStore::previous_sweep_text() const { return state_->previous_sweep_text; }
const std::vector<SoftwareRecord>& ResultsStore::recorded_software() const {
  return state_->recorded.software;
}
const std::vector<RecordedGpu>& ResultsStore::recorded_gpus() const {
  return state_->recorded.gpus;
}
const std::vector<std::string>& ResultsStore::notices() const { return state_->notices; }

void ResultsStore::note_started(sweeps::TrialId trial, std::int64_t repeat, std::int64_t attempt) {
  state_->wrote_trials = true;
  state_->with_room([&] {
    state_->journal->append_started({sweeps::to_text(trial), repeat, attempt});
  });
}

void ResultsStore::append(const AttemptRecord& attempt) {
  state_->wrote_trials = true;
  state_->append(attempt, state_->run_id);
}

void ResultsStore::begin() {
  if (!file_exists(state_->options.path)) state_->publisher->finish(state_->journal->bytes());
}

void ResultsStore::sync() { state_->journal->sync(); }

void ResultsStore::poll(Instant now) {
  state_->lock.beat(now);
  state_->publisher->poll(now, state_->journal->bytes());
}

void ResultsStore::close() {
  State& state = *state_;
  if (state.closed) return;
  state.journal->sync();
  state.publisher->finish(state.journal->bytes());
  if (::unlink(state.journal_path().c_str()) != 0)
    throw_errno("cannot remove " + state.journal_path(), errno);
  sync_folder_of(state.options.path);
  state.closed = true;
  state.lock.release();
}

}  // namespace batchsweep::results
