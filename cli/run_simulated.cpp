// SPDX-License-Identifier: Apache-2.0
#include "cli/run_simulated.hpp"

#include "orchestrator/simulate/simulated_cluster.hpp"

namespace batchsweep::cli {
namespace {

using orchestrator::Command;

// So many trials become durable together: in virtual time they end faster than a disk can follow.
constexpr std::size_t kRecordsPerSync = 256;

class Simulation {
 public:
  Simulation(RunSetup& setup, StopSignals& signals) : setup_(setup), signals_(signals) {}

  void run() {
    make_core(setup_, orchestrator::SimulatedCluster::device_types(setup_.sweep), 1);
    orchestrator::SimulatedCluster cluster(setup_.sweep, *setup_.grid);
    cluster_ = &cluster;
    while (!setup_.core->finished()) {
      if (const std::optional<StopWish> wish = signals_.take()) stop(*wish);
      std::optional<std::pair<Instant, orchestrator::Event>> next = cluster.next();
      if (next) {
        now_ = next->first;
        execute(setup_.core->handle(next->second, now_));
      }
      if (!next || setup_.recorder->pending_count() >= kRecordsPerSync) {
        if (!next && !setup_.recorder->pending()) break;
        execute(setup_.recorder->sync(*setup_.core, now_));
        setup_.store->poll(setup_.clock.now());
        setup_.progress.refresh(setup_.core->progress(), setup_.clock.now());
      }
    }
  }

 private:
  void stop(StopWish wish) {
    const auto mode = wish == StopWish::kNow ? orchestrator::StopMode::kNow : orchestrator::StopMode::kDrain;
    execute(setup_.core->handle(orchestrator::StopRequested{mode}, now_));
  }

  void execute(std::vector<Command> commands) {
    for (Command& command : commands) {
      if (const auto* send = std::get_if<orchestrator::Send>(&command)) {
        cluster_->execute(*send, now_);
      } else if (const auto* note = std::get_if<orchestrator::NoteStarted>(&command)) {
        setup_.recorder->note_started(note->key);
      } else if (const auto* record = std::get_if<orchestrator::RecordAttempt>(&command)) {
        setup_.recorder->append(*record);
      } else if (const auto* give_up = std::get_if<orchestrator::GiveUpAgent>(&command)) {
        setup_.progress.say(give_up->why);
        cluster_->give_up(give_up->agent);
      } else {
        setup_.progress.say(std::get<orchestrator::Say>(command).text);
      }
    }
  }

  RunSetup& setup_;
  StopSignals& signals_;
  orchestrator::SimulatedCluster* cluster_ = nullptr;
  Instant now_{};
};

}  // namespace

ExitCode run_simulated(RunSetup& setup, StopSignals& signals) {
  open_results(setup);
  Simulation(setup, signals).run();
  return finish_run(setup, {.interrupted = signals.interrupted()});
}

}  // namespace batchsweep::cli
