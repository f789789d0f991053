// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/agent.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/units.hpp"
#include "worker/agent/device_check.hpp"
#include "worker/agent/network.hpp"
#include "worker/agent/rank_run.hpp"
#include "worker/protocol/trial_input.hpp"

namespace batchsweep::agent {
namespace {

using protocol::DeviceOffer;
using protocol::Evidence;
using protocol::EvidenceKind;
using protocol::RankEnded;
using protocol::RankLaunch;
using protocol::StartRanks;

// TrialInput for one rank: the orchestrator's part, and what only the agent knows.
std::string input_line(const StartRanks& start, const RankLaunch& launch,
                       const DeviceOffer& device) {
  Json input = start.input;
  input["attempt"] = start.key.attempt;
  input["rank"] = launch.rank;
  input["local_rank"] = launch.local_rank;
  input["local_world_size"] = launch.local_world_size;
  if (start.network) input["network"] = to_json(find_network(*start.network));
  input["device"] = to_json(protocol::TrialDevice{
      .kind = device.kind,
      .type = device.type,
      .uuid = device.uuid,
      .limit_bytes = device.limit_bytes > 0 ? std::optional(device.limit_bytes) : std::nullopt,
      .threads = device.threads});
  if (const auto play = input.find("play"); play != input.end() && play->is_array()) {
    Json own = play->at(static_cast<std::size_t>(launch.rank));
    *play = std::move(own);
  }
  return dump(input);
}

Evidence launch_failure(const std::string& message) {
  return {.kind = EvidenceKind::kFailed,
          .reason = results::Reason::kLaunch,
          .phase = results::Phase::kLaunch,
          .message = message};
}

Evidence not_launched(const std::string& why) {
  return {.kind = EvidenceKind::kKilled, .reason = results::Reason::kStopped, .message = why};
}

}  // namespace

std::string find_program(const std::string& own_program, const std::string& name) {
  const std::filesystem::path folder = std::filesystem::path(own_program).parent_path();
  for (const auto& candidate : {folder / name, folder / ".." / "libexec" / "batchsweep" / name}) {
    if (access(candidate.c_str(), X_OK) == 0) return candidate.lexically_normal().string();
  }
  return "";
}

std::optional<std::string> missing_program(const std::string& own_program,
                                           const std::string& name) {
  if (!find_program(own_program, name).empty()) return std::nullopt;
  const std::filesystem::path folder = std::filesystem::path(own_program).parent_path();
  return fmt::format("{} is neither in {} nor in {}: build and install it{}", name, folder.string(),
                     (folder.parent_path() / "libexec/batchsweep").string(),
                     name == "batchsweep-trial" ? " (it needs LibTorch: scripts/setup)" : "");
}

AgentConfig make_agent_config(const std::string& build_id, const FoundHost& host,
                              std::vector<DeviceOffer> devices, const std::string& own_program) {
  return {.build_id = build_id,
          .host = host.record,
          .devices = std::move(devices),
          .notices = host.notices,
          .addresses = own_addresses(),
          .trial_program = find_program(own_program, "batchsweep-trial"),
          .player_program = find_program(own_program, "batchsweep-player"),
          .probe_program = own_program,
          .environment = scrubbed(own_environment())};
}

struct Agent::State {
  AgentConfig config;
  Launcher& launcher;
  std::string file_id;
  std::optional<Duration> beat, lease;  // known from Welcome on
  Instant last_heard, last_beat;
  bool resting = false;  // Shutdown, or the lease is lost: says nothing more, starts nothing
  std::vector<std::unique_ptr<RankRun>> runs;
  std::vector<DeviceCheck> checks;  // of ranks that start when their devices are fit
  std::vector<protocol::AgentMessage> outgoing;

  void say(protocol::AgentMessage message) {
    if (!resting) outgoing.push_back(std::move(message));
  }
  void rest(Instant now, std::string_view why) {
    if (resting) return;
    for (auto& run : runs) {
      if (!run->reported()) run->kill(why, now);
    }
    checks.clear();
    resting = true;
  }

  void on(const protocol::Configure&, Instant) {}  // the process saw it before there was an agent
  void on(const protocol::Beat&, Instant) {}
  void on(const protocol::Welcome& welcome, Instant now) {
    file_id = welcome.file_id;
    beat = seconds(welcome.beat_s);
    lease = seconds(welcome.lease_s);
    last_beat = now;
  }
  void on(const protocol::Shutdown&, Instant now) { rest(now, "the sweep was stopped"); }
  void on(const protocol::KillAttempt& kill, Instant now) {
    for (auto& run : runs) {
      if (run->place().key == kill.key && !run->reported())
        run->kill("killed by the orchestrator", now);
    }
    for (const DeviceCheck& check : checks) {
      if (check.start().key == kill.key)
        say_not_started(check.start(),
                        not_launched("killed by the orchestrator before it was launched"));
    }
    std::erase_if(checks, [&](const DeviceCheck& check) { return check.start().key == kill.key; });
  }
  void on(const protocol::Meet& meet, Instant) {
    for (auto& run : runs) {
      if (run->place().key == meet.key && run->place().launch.rank != 0 && !run->reported())
        run->meet(meet.at);
    }
    for (DeviceCheck& check : checks) {
      if (check.start().key == meet.key) check.keep(meet);
    }
  }
  void on(const StartRanks& start, Instant now) {
    if (start.player || config.probe_program.empty()) return start_ranks(start, now);
    std::vector<DeviceOffer> devices;
    for (const RankLaunch& launch : start.ranks) {
      const auto found = std::ranges::find(config.devices, launch.device, &DeviceOffer::index);
      if (found != config.devices.end()) devices.push_back(*found);
    }
    const bool known = devices.size() == start.ranks.size();
    if (!known || std::ranges::count(devices, sweeps::DeviceKind::kCuda, &DeviceOffer::kind) == 0)
      return start_ranks(start, now);
    try {
      checks.emplace_back(start, std::move(devices),
                          LaunchRequest{.command = {config.probe_program, "probe"},
                                        .attempt_tag = fmt::format("{}:probe", file_id)},
                          launcher, now);
    } catch (const IoError& error) {
      say_not_started(start, launch_failure(error.what()));
    }
  }

  void advance_checks(Instant now) {
    for (std::size_t i = 0; i < checks.size();) {
      const StartRanks start = checks[i].start();
      const std::optional<protocol::Meet> meet = checks[i].kept();
      std::optional<std::vector<std::optional<Unfit>>> answers;
      try {
        answers = checks[i].advance(now);
        if (!answers) {
          ++i;
          continue;
        }
      } catch (const IoError& error) {
        say_not_started(start, launch_failure(error.what()));
      }
      checks.erase(checks.begin() + static_cast<std::ptrdiff_t>(i));
      if (answers) start_if_fit(start, *answers, now);
      if (meet) on(*meet, now);
    }
  }

  // All or none: a trial that lacks one device cannot begin.
  void start_if_fit(const StartRanks& start, const std::vector<std::optional<Unfit>>& answers,
                    Instant now) {
    if (std::ranges::none_of(answers, [](const auto& unfit) { return unfit.has_value(); }))
      return start_ranks(start, now);
    for (std::size_t rank = 0; rank < answers.size(); ++rank) {
      Evidence evidence =
          not_launched("was not launched: the device of another rank cannot be used");
      if (const std::optional<Unfit>& unfit = answers[rank])
        evidence = {
            .kind = EvidenceKind::kSkipped, .reason = unfit->reason, .message = unfit->message};
      say(rank_ended(place_of(start, start.ranks[rank]), evidence, {}));
    }
  }

  void say_not_started(const StartRanks& start, const Evidence& why) {
    for (const RankLaunch& launch : start.ranks) say(rank_ended(place_of(start, launch), why, {}));
  }

  void start_ranks(const StartRanks& start, Instant now) {
    for (const RankLaunch& launch : start.ranks) start_rank(start, launch, now);
  }

  [[nodiscard]] RankPlace place_of(const StartRanks& start, const RankLaunch& launch) const {
    return {.key = start.key,
            .launch = launch,
            .device = {},
            .host_id = config.host.id,
            .hostname = config.host.hostname,
            .cpus_allowed = config.host.cpus_allowed,
            .shm_bytes = config.host.shm_bytes,
            .recorded_environment = {}};
  }

  void start_rank(const StartRanks& start, const RankLaunch& launch, Instant now) {
    RankPlace place = place_of(start, launch);
    try {
      place.device = device(launch.device);
      if (!place.device.cpus.empty()) place.cpus_allowed = place.device.cpus;
      if (const RankRun* stuck = stuck_on(place.device)) {
        return say(rank_ended(
            place,
            {.kind = EvidenceKind::kSkipped,
             .reason = results::Reason::kDeviceNotClean,
             .message = fmt::format("a process of trial {} still hangs on {}",
                                    sweeps::to_text(stuck->place().key.trial), place.device.uuid)},
            {}));
      }
      Environment environment = config.environment;
      for (const auto& [name, value] : start.env) environment[name] = value;
      place.recorded_environment = recorded_variables(environment);
      runs.push_back(std::make_unique<RankRun>(
          place, launcher.launch(request(start, launch, place.device)), start.limits, now));
    } catch (const std::exception& error) {
      say(rank_ended(place, launch_failure(error.what()), {}));
    }
  }

  [[nodiscard]] const DeviceOffer& device(int index) const {
    const auto found = std::ranges::find(config.devices, index, &DeviceOffer::index);
    if (found == config.devices.end())
      throw ProtocolError(fmt::format("there is no device {} on this agent", index));
    return *found;
  }

  [[nodiscard]] const RankRun* stuck_on(const DeviceOffer& offer) const {
    const auto found = std::ranges::find_if(runs, [&](const auto& run) {
      return run->stuck() && run->place().device.uuid == offer.uuid;
    });
    return found == runs.end() ? nullptr : found->get();
  }

  [[nodiscard]] LaunchRequest request(const StartRanks& start, const RankLaunch& launch,
                                      const DeviceOffer& offer) const {
    LaunchRequest request{
        .command = start.command,
        .input_line = input_line(start, launch, offer),
        .second_line = start.network && launch.rank != 0,
        .attempt_tag = fmt::format("{}:{}:{}", file_id, to_text(start.key), launch.rank),
        .env = start.env,
        .visible_devices = offer.kind == sweeps::DeviceKind::kCuda ? offer.uuid : "",
        .cpus = offer.cpus};
    if (request.command.empty()) {
      const std::string& program = start.player ? config.player_program : config.trial_program;
      const char* name = start.player ? "batchsweep-player" : "batchsweep-trial";
      if (program.empty()) {
        throw IoError(
            fmt::format("{} is neither beside batchsweep nor in ../libexec/batchsweep: build it{}",
                        name, start.player ? "" : " (it needs LibTorch: scripts/setup)"));
      }
      request.command = {program};
    }
    return request;
  }

  void check_lease(Instant now) {
    const Duration patience = lease ? *lease : seconds(config.welcome_wait_s);
    if (resting || now - last_heard < patience) return;
    log_error("nothing heard from the orchestrator for {}: all trials are killed",
              format_seconds(to_seconds(patience)));
    rest(now, "the agent lost its orchestrator");
  }

  void advance_runs(Instant now) {
    for (auto& run : runs) {
      if (run->reported()) {
        (void)run->retry_kill();
        continue;
      }
      auto ended = run->advance(now, config.kill_grace_s);
      if (const auto opened = run->take_rendezvous()) say(*opened);
      if (ended) {
        say(std::move(*ended));
      } else if (auto progress = run->progress(now)) {
        say(*progress);
      }
    }
    std::erase_if(runs, [](const auto& run) { return run->reported() && run->gone(); });
    launcher.tend();
  }

  void beat_if_due(Instant now) {
    if (!beat || now - last_beat < *beat) return;
    last_beat = now;
    say(protocol::Beat{});
  }
};

Agent::Agent(AgentConfig config, Launcher& launcher)
    : state_(std::make_unique<State>(State{.config = std::move(config), .launcher = launcher})) {}
Agent::~Agent() = default;

protocol::AgentMessage Agent::start(Instant now) {
  state_->last_heard = state_->last_beat = now;
  return protocol::Register{.build_id = state_->config.build_id,
                            .host = state_->config.host,
                            .devices = state_->config.devices,
                            .notices = state_->config.notices,
                            .addresses = state_->config.addresses,
                            .sweep_hash = state_->config.sweep_hash};
}

void Agent::handle(const protocol::OrchestratorMessage& message, Instant now) {
  state_->last_heard = now;
  if (state_->resting) return;
  std::visit([&](const auto& m) { state_->on(m, now); }, message);
}

void Agent::advance(Instant now) {
  state_->check_lease(now);
  state_->advance_checks(now);
  state_->advance_runs(now);
  state_->beat_if_due(now);
}

std::vector<protocol::AgentMessage> Agent::take_outgoing() {
  return std::exchange(state_->outgoing, {});
}

std::vector<int> Agent::descriptors() const {
  std::vector<int> all;
  for (const auto& run : state_->runs) {
    const auto own = run->descriptors();
    all.insert(all.end(), own.begin(), own.end());
  }
  for (const DeviceCheck& check : state_->checks) {
    const auto own = check.descriptors();
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

Duration Agent::until_next_deadline(Instant now) const {
  // What is being killed gives no sign when its last process is gone.
  constexpr Duration kLookAgain = std::chrono::milliseconds(1);
  Instant next =
      state_->last_heard + state_->lease.value_or(seconds(state_->config.welcome_wait_s));
  if (state_->resting) next = Instant::max();
  if (state_->beat && !state_->resting) next = std::min(next, state_->last_beat + *state_->beat);
  for (const auto& run : state_->runs) {
    if (!run->reported()) next = std::min(next, std::max(run->next_deadline(), now + kLookAgain));
  }
  for (const DeviceCheck& check : state_->checks) next = std::min(next, check.next_deadline());
  return std::clamp(next - now, Duration::zero(), Duration(std::chrono::hours(1)));
}

bool Agent::busy() const {
  return !state_->checks.empty() ||
         std::ranges::any_of(state_->runs, [](const auto& run) { return !run->reported(); });
}

bool Agent::shut_down() const { return state_->resting && !busy(); }

}  // namespace batchsweep::agent
