// SPDX-License-Identifier: Apache-2.0
// The orchestrator's core: event in, commands out. Knows no clock, no MPI, no files: time arrives with each event. The same core drives
// MPI, the loopback and the simulated cluster. check_invariants() holds after every event.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.hpp"
#include "results/record/trial_record.hpp"
#include "results/store/results_store.hpp"
#include "sweeps/grid.hpp"
#include "sweeps/sweep_spec.hpp"
#include "worker/protocol/messages.hpp"

namespace batchsweep::orchestrator {

// ---- events
struct AgentJoined {
  protocol::PeerId agent = 0;
  protocol::Register registration;
};
struct AgentSaid {  // Beat, RankProgress, RankEnded
  protocol::PeerId agent = 0;
  protocol::AgentMessage message;
};
struct Tick {  // time passes; sent at least every 100 ms
  bool inbox_empty = true;  // nobody's silence is judged while what was said may still wait there
};
struct Recorded {  // the record that was asked for is durable
  protocol::AttemptKey key;
};
enum class StopMode { kDrain, kNow };  // start nothing new / kill what runs
struct StopRequested {
  StopMode mode = StopMode::kDrain;
};
using Event = std::variant<AgentJoined, AgentSaid, Tick, Recorded, StopRequested>;

// ---- commands
struct Send {
  protocol::PeerId agent = 0;
  protocol::OrchestratorMessage message;
};
struct NoteStarted {  // a frame in the journal, before the Send that starts it
  protocol::AttemptKey key;
};
// Asked for once an attempt, and once more where the result of a lost one arrives late: that one changes no row.
struct RecordAttempt {
  protocol::AttemptKey key;
  bool final = false;
  results::AttemptRecord record;  // derive() not yet applied; run_id, sequence, started_utc are the shell's
};
struct GiveUpAgent {  // nothing is sent to it any more; why is said
  protocol::PeerId agent = 0;
};
struct Say {  // a line for people
  std::string text;
};
using Command = std::variant<Send, NoteStarted, RecordAttempt, GiveUpAgent, Say>;

// How long a trial took in an earlier session.
struct KnownTime {
  sweeps::TrialId trial;
  double duration_s = 0;
};

struct CoreOptions {
  double beat_s = 1;
  double lease_s = 3;           // silence longer than this, three beats: the agent is given up
  double verdict_wait_s = 2;    // after the first bad rank, the others get so long to end
  double join_wait_s = 10;      // agents that have not registered by then are not waited for
  int agents_expected = 1;
  bool quarantine = false;       // devices that crash several different trials are taken out of service
  std::int64_t max_trials = -1;  // --max-trials: begin at most so many attempts; -1 no limit
  std::string file_id;
  std::string build_id;          // agents of another build are refused; "" takes any
  std::string sweep_hash;        // and those that see another sweep file; "" takes any
  // What would not end by then is not started. At the hard end (wall time) what runs is stopped, at the soft one (budget) it goes on.
  std::optional<Instant> hard_end, soft_end;
  std::vector<KnownTime> known_times;  // of trials of the grid that ended before
};

// Counts for the live line and the exit code.
struct Progress {
  std::int64_t total = 0;     // (trial, repeat) pairs asked for now
  std::int64_t done = 0;      // final ones, recorded before or now
  std::int64_t failures = 0;  // final and is_failure()
  std::int64_t running = 0;
  std::int64_t waiting = 0;
  std::int64_t absent = 0;    // skipped: no device of that type here
  std::int64_t devices = 0, devices_busy = 0;
  std::optional<double> left_s;  // expected time until all that can run has run; absent: nothing known yet
};

class Core {
 public:
  // `recorded`: what counts of the results file already. `grid` and `sweep` must outlive the core.
  Core(const sweeps::SweepSpec& sweep, const sweeps::Grid& grid, std::vector<results::RecordedState> recorded, CoreOptions options);
  ~Core();

  [[nodiscard]] std::vector<Command> handle(const Event& event, Instant now);

  [[nodiscard]] bool finished() const;  // nothing runs, nothing more can start, everything asked for is durable
  [[nodiscard]] bool work_left() const; // not final and could run here (what exit code 4 means)
  [[nodiscard]] Progress progress() const;
  [[nodiscard]] Json status(Instant now) const;  // for F.h5.status.json: devices, what runs, why the next trials wait
  void check_invariants() const;  // BATCHSWEEP_ASSERTs; used by tests and simulations

  struct State;  // orchestrator/core_state.hpp, for the core's own files

 private:
  std::unique_ptr<State> state_;
};

}  // namespace batchsweep::orchestrator
