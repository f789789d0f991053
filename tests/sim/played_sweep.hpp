// SPDX-License-Identifier: Apache-2.0
// Runs a sweep against a simulated cluster the way the program does, with a journal in memory that
// may lose what was not durable, and watches over it: its own books of devices, numbers and rows
// know nothing of the core's.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "orchestrator/core.hpp"
#include "orchestrator/simulate/simulated_cluster.hpp"

namespace batchsweep::orchestrator {

using Pair = std::pair<std::uint64_t, std::int64_t>;  // trial, repeat

// What survives the end of a session.
struct Journal {
  struct Row {
    std::int64_t attempt = 0;
    bool final = false;
    results::Outcome outcome{};
    results::Reason reason{};
    results::TrialRecord record;
  };
  std::map<Pair, std::vector<Row>> rows;           // durable ones, in order
  std::map<Pair, std::set<std::int64_t>> started;  // attempt numbers
  std::set<protocol::AttemptKey> late;             // lost attempts whose end came after all
  [[nodiscard]] std::vector<results::RecordedState> recorded() const;
};

enum class Ending { kFinished, kKilled };  // kKilled: the orchestrator died, with all agents

class PlayedSweep {
 public:
  PlayedSweep(const sweeps::SweepSpec& sweep, const sweeps::Grid& grid, Journal& journal,
              CoreOptions options = {});

  // After each event, with the number of events so far: may stop the sweep, silence agents, or
  // (false) kill everything.
  std::function<bool(std::int64_t)> meddle = [](std::int64_t) { return true; };
  // Events that pass before records become durable.
  std::function<int()> sync_after = [] { return 1; };
  bool check = true;  // invariants after each event

  Ending run();

  void feed(const Event& event);
  [[nodiscard]] Core& core() { return core_; }
  [[nodiscard]] SimulatedCluster& cluster() { return cluster_; }
  [[nodiscard]] double virtual_s() const { return to_seconds(now_.time_since_epoch()); }

 private:
  void execute(const Command& command);
  void started(protocol::PeerId agent, const protocol::StartRanks& message);
  void check_place(protocol::PeerId agent, const protocol::StartRanks& message) const;
  void ended(const Event& event);
  bool sync();

  const sweeps::SweepSpec& sweep_;
  Journal& journal_;
  std::vector<protocol::Register> nodes_;
  SimulatedCluster cluster_;
  Core core_;
  Instant now_{};
  std::vector<RecordAttempt> not_durable_;
  int until_sync_ = 0;
  std::map<std::pair<protocol::PeerId, int>, std::pair<protocol::AttemptKey, std::int64_t>>
      in_use_;  // device -> rank
  std::set<protocol::PeerId> given_up_;
};

}  // namespace batchsweep::orchestrator
