// SPDX-License-Identifier: Apache-2.0
#include "cli/run_simulated.hpp"

#include "orchestrator/simulate/simulated_cluster.hpp"
#include "orchestrator/simulate/simulated_devices.hpp"
#include "results/store/cancel_file.hpp"

namespace batchsweep::cli {
namespace {

using orchestrator::Command;

// So many trials become durable together: in virtual time they end faster than a disk can follow.
constexpr std::size_t kRecordsPerSync = 256;

class Simulation {
 public:
  Simulation(RunSetup& setup, StopSignals& signals) : setup_(setup), signals_(signals) {}

  void run() {
    const std::vector<protocol::Register> nodes = orchestrator::simulated_nodes(setup_.sweep);
    make_core(setup_, present_of(nodes), static_cast<int>(nodes.size()));
    orchestrator::SimulatedCluster cluster(setup_.sweep, *setup_.grid);
    cluster_ = &cluster;
    while (!setup_.core->finished()) {
      if (const std::optional<StopWish> wish = signals_.take()) stop(*wish);
      look_around(setup_.clock.now());
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
  // Virtual time passes for the trials; people, and their limits, live in the real one.
  void look_around(Instant real_now) {
    if (draining_) return;
    const bool time_is_up = setup_.time_limit && real_now >= setup_.time_limit->at;
    const bool asked = real_now >= next_look_ && results::take_cancel_request(setup_.results_path);
    if (real_now >= next_look_) next_look_ = real_now + std::chrono::milliseconds(200);
    if (!time_is_up && !asked) return;
    draining_ = true;
    setup_.progress.say(time_is_up ? setup_.time_limit->option + " is over: nothing new starts" : "asked to end: nothing new starts");
    stop(StopWish::kDrain);
  }

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
        cluster_->give_up(give_up->agent);
      } else {
        setup_.progress.say(std::get<orchestrator::Say>(command).text);
      }
    }
  }

  RunSetup& setup_;
  StopSignals& signals_;
  orchestrator::SimulatedCluster* cluster_ = nullptr;
  Instant now_{}, next_look_{};
  bool draining_ = false;
};

}  // namespace

ExitCode run_simulated(RunSetup& setup, StopSignals& signals) {
  const Present present = present_of(orchestrator::simulated_nodes(setup.sweep));
  setup.grid = std::make_unique<sweeps::Grid>(setup.sweep, present.types, present.targets);
  open_results(setup);
  Simulation(setup, signals).run();
  return finish_run(setup, {.interrupted = signals.interrupted()});
}

}  // namespace batchsweep::cli
