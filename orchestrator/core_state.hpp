// SPDX-License-Identifier: Apache-2.0
// The insides of Core, for its own files only: core.cpp (events), core_agents.cpp (who is there),
// core_attempts.cpp (a trial's way from placement to record), core_kinds.cpp (what cannot run
// here), core_status.cpp (what people see).
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "orchestrator/attempt.hpp"
#include "orchestrator/cluster.hpp"
#include "orchestrator/core.hpp"
#include "orchestrator/quarantine.hpp"
#include "orchestrator/scheduler.hpp"
#include "orchestrator/trial_table.hpp"
#include "orchestrator/verdict.hpp"

namespace batchsweep::orchestrator {

// Trials of one shape and precision: what is said about one holds for all.
using KindId = std::uint32_t;
struct KindOfTrial {
  enum class Fate { kUndecided, kRuns, kAbsent, kUnsupported };
  Needs needs;
  std::string precision;
  ShapeId shape = 0;
  Fate fate = Fate::kUndecided;
  std::string why;  // kAbsent, kUnsupported: the sentence for people
};

// What is known of a trial without its spec; there may be millions.
struct TrialClass {
  KindId kind = 0;
  FamilyId family = 0;
  float work = 0;
};

struct Core::State {
  State(const sweeps::SweepSpec& sweep_, const sweeps::Grid& grid_,
        const std::vector<results::RecordedState>& recorded, CoreOptions options_);

  // A record that was asked for and is not durable yet.
  struct Pending {
    SlotId slot = 0;
    bool final = false, failure = false;
    bool aside = false;  // its slot does not wait for it: no device here can hold the trial, or the
                         // end came too late
  };
  enum class Stop { kNo, kDrain, kNow };

  const sweeps::SweepSpec& sweep;
  const sweeps::Grid& grid;
  const CoreOptions options;
  TrialTable table;
  Scheduler scheduler;
  Cluster cluster;
  Quarantine quarantine;
  std::vector<KindOfTrial> kinds;   // by KindId
  std::vector<TrialClass> classes;  // by index in the grid
  std::vector<std::size_t>
      scouts;  // by family: the trial that goes first while nobody knows its times
  std::map<protocol::AttemptKey, Attempt> attempts;
  std::map<protocol::AttemptKey, Pending> pending;
  std::map<protocol::AttemptKey, Attempt> lost;  // whose agent was given up, as they were then

  Instant now{};
  std::optional<Instant> began, last_tick;
  std::set<protocol::PeerId> refused;  // they are not waited for
  bool open = false;                   // agents are welcomed, trials are started
  Stop stop = Stop::kNo;
  std::int64_t begun = 0;       // attempts, for max_trials
  std::size_t skip_cursor = 0;  // slots before it need no record of a trial that cannot run
  std::size_t skips_pending = 0;
  std::vector<Command> out;

  // core.cpp
  void on(const AgentJoined& event);
  void on(const AgentSaid& event);
  void on(const Tick& event);
  void on(const Recorded& event);
  void on(const StopRequested& event);
  void on(protocol::PeerId agent, const protocol::Register& message);
  void on(protocol::PeerId agent, const protocol::Beat& message);
  void on(protocol::PeerId agent, const protocol::RankProgress& message);
  void on(protocol::PeerId agent, const protocol::RankEnded& message);
  void on(protocol::PeerId agent, const protocol::RendezvousOpened& message);
  void request_stop(Stop wanted);
  void send(protocol::PeerId agent, protocol::OrchestratorMessage message);
  void say(std::string text);

  // core_agents.cpp
  [[nodiscard]] std::optional<std::string> why_refused(
      const protocol::Register& registration) const;
  void open_if_complete();
  void welcome(protocol::PeerId agent);
  void beat();
  void give_up_silent_agents();
  void give_up(protocol::PeerId agent, const std::string& why);

  // core_kinds.cpp
  void find_kinds();
  [[nodiscard]] KindId kind_of(const sweeps::TrialSpec& spec,
                               std::map<std::pair<Needs, std::string>, KindId>& known);
  void find_scouts();
  void decide_kinds();
  void decide(KindOfTrial& kind);
  void queue_waiting(const std::vector<KindOfTrial::Fate>& before);
  void say_what_cannot_run(const std::vector<KindOfTrial::Fate>& before);
  void record_what_cannot_run();
  void enqueue(SlotId slot);
  [[nodiscard]] const TrialClass& class_of(SlotId slot) const {
    return classes[table.trial_of(slot)];
  }
  [[nodiscard]] Urgency urgency(SlotId slot) const;
  [[nodiscard]] const KindOfTrial& kind(SlotId slot) const { return kinds[class_of(slot).kind]; }

  // core_attempts.cpp
  void start_what_can();
  [[nodiscard]] bool may_start() const;
  [[nodiscard]] double now_s() const { return to_seconds(now.time_since_epoch()); }
  void start(const Placement& placement);
  void send_start(const Attempt& attempt);
  void note_neighbours(const Attempt& attempt);
  void rank_ended(Attempt& attempt, const protocol::RankEnded& message);
  void kill(Attempt& attempt, double wait_s);
  void conclude(Attempt& attempt);
  [[nodiscard]] bool relaunch(Attempt& attempt, const Verdict& verdict);
  void leave_devices(Attempt& attempt);
  void release(DeviceId device);
  void take_out_of_service(DeviceId device, const std::string& why);
  void judge_devices(const Attempt& attempt, const Verdict& verdict,
                     results::AttemptRecord& record);
  void rank_ended_late(protocol::PeerId agent, const protocol::RankEnded& message);
  void conclude_overdue();
  [[nodiscard]] bool awaits_lease(const Attempt& attempt) const;
  [[nodiscard]] std::vector<RankEvidence> evidence_of(const Attempt& attempt) const;
  void lingering_rank_ended(Attempt& attempt, const RankState& rank);
  [[nodiscard]] bool lingerers_may_return() const;
};

}  // namespace batchsweep::orchestrator
