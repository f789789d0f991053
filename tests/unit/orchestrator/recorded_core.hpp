// SPDX-License-Identifier: Apache-2.0
// A core on a stage: a small sweep in code, events fed by hand, every command written down as a
// short line. A test takes the lines it expects; a line that no test took makes it fail.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "orchestrator/core.hpp"
#include "sweeps/grid.hpp"

namespace batchsweep::orchestrator {

using protocol::EvidenceKind;
using results::Outcome;
using results::Phase;
using results::Reason;

// Trials are called by what varies: "b8" (batch size), "b8x2" (two ranks), "b8@big" (not on type
// "small").
class CoreTest : public testing::Test {
 protected:
  CoreTest() {
    sweep_.name = "test";
    sweep_.base.model_source = "resnet18";
    sweep_.base.origin = sweeps::Origin::kMeasured;
    axes({{"gpu", {"small"}}, {"model", {"resnet18"}}, {"batch_size", {"8", "16"}}});
    options_.file_id = "file";
    options_.agents_expected = 1;
  }
  ~CoreTest() override {
    EXPECT_THAT(lines_, testing::IsEmpty()) << "commands that the test did not expect";
  }

  void axes(std::vector<sweeps::Axis> axes) { sweep_.grid = {sweeps::GridBlock{std::move(axes)}}; }

  void start_core(std::vector<results::RecordedState> recorded = {}) {
    grid_ = std::make_unique<sweeps::Grid>(sweep_, std::vector<std::string>{"small", "big"});
    core_ = std::make_unique<Core>(sweep_, *grid_, std::move(recorded), options_);
  }

  // ---- events
  void feed(const Event& event) {
    for (const Command& command : core_->handle(event, now_)) lines_.push_back(line(command));
    core_->check_invariants();
  }
  static protocol::DeviceOffer device(int index, const std::string& type, const std::string& uuid) {
    protocol::DeviceOffer offer;
    offer.index = index;
    offer.type = type;
    offer.uuid = uuid;
    offer.memory_bytes = offer.limit_bytes = 1u << 30;
    return offer;
  }
  // So many devices of type "small", unless others are given.
  void join(protocol::PeerId agent, const std::string& host, int small,
            std::vector<protocol::DeviceOffer> others = {}) {
    protocol::Register registration;
    registration.host.hostname = host;
    registration.host.id = "id-" + host;
    for (int i = 0; i < small; ++i)
      registration.devices.push_back(device(i, "small", fmt::format("{}-{}", host, i)));
    for (protocol::DeviceOffer& other : others) registration.devices.push_back(std::move(other));
    feed(AgentJoined{agent, registration});
  }
  void tick(double after_s) {
    now_ += seconds(after_s);
    feed(Tick{});
  }
  // In small steps, as the shell does, with these agents beating.
  void pass(double s, const std::vector<protocol::PeerId>& beating) {
    for (double t = 0; t < s; t += 0.5) {
      now_ += seconds(0.5);
      for (const protocol::PeerId agent : beating) feed(AgentSaid{agent, protocol::Beat{}});
      feed(Tick{});
      std::erase_if(lines_, [](const std::string& text) { return text.ends_with(" beat"); });
    }
  }
  void say(protocol::PeerId agent, protocol::AgentMessage message) {
    feed(AgentSaid{agent, std::move(message)});
  }
  void ended(protocol::PeerId agent, const std::string& trial, std::int64_t attempt,
             std::int64_t rank, protocol::Evidence evidence, std::int64_t repeat = 0) {
    protocol::RankEnded end;
    end.key = key(trial, attempt, repeat);
    end.rank = rank;
    end.evidence = std::move(evidence);
    say(agent, std::move(end));
  }
  void completed(protocol::PeerId agent, const std::string& trial, std::int64_t attempt = 1,
                 std::int64_t rank = 0, std::int64_t repeat = 0) {
    ended(agent, trial, attempt, rank, evidence(EvidenceKind::kCompleted), repeat);
  }
  void recorded(const std::string& trial, std::int64_t attempt = 1, std::int64_t repeat = 0) {
    feed(Recorded{key(trial, attempt, repeat)});
  }
  static protocol::Evidence evidence(EvidenceKind kind, Reason reason = Reason::kNone,
                                     Phase phase = Phase::kTimed) {
    protocol::Evidence evidence;
    evidence.kind = kind;
    evidence.reason = reason;
    evidence.phase = phase;
    return evidence;
  }

  // ---- names
  [[nodiscard]] std::string name(const sweeps::TrialSpec& spec) const {
    std::string text = fmt::format("b{}", spec.batch_size);
    if (spec.world_size > 1) text += fmt::format("x{}", spec.world_size);
    if (spec.gpu != "small") text += "@" + spec.gpu;
    return text;
  }
  [[nodiscard]] std::string name(sweeps::TrialId id) const {
    for (std::size_t i = 0; i < grid_->size(); ++i) {
      if (grid_->id(i) == id) return name(grid_->spec(i));
    }
    return "unknown trial";
  }
  [[nodiscard]] sweeps::TrialId id(const std::string& trial) const {
    for (std::size_t i = 0; i < grid_->size(); ++i) {
      if (name(grid_->spec(i)) == trial) return grid_->id(i);
    }
    ADD_FAILURE() << "no trial " << trial;
    return {};
  }
  [[nodiscard]] protocol::AttemptKey key(const std::string& trial, std::int64_t attempt,
                                         std::int64_t repeat = 0) const {
    return {.trial = id(trial), .repeat = repeat, .attempt = attempt};
  }

  // ---- commands
  // "b8:0:1": trial, repeat, attempt
  [[nodiscard]] std::string text(const protocol::AttemptKey& key) const {
    return fmt::format("{}:{}:{}", name(key.trial), key.repeat, key.attempt);
  }
  [[nodiscard]] std::string line(const Command& command) {
    if (const auto* send = std::get_if<Send>(&command))
      return fmt::format("to {}: {}", send->agent, line(send->message));
    if (const auto* note = std::get_if<NoteStarted>(&command)) return "started " + text(note->key);
    if (const auto* give_up = std::get_if<GiveUpAgent>(&command))
      return fmt::format("give up {}", give_up->agent);
    if (const auto* words = std::get_if<Say>(&command)) return "say " + words->text;
    const auto& record = std::get<RecordAttempt>(command);
    records_.push_back(record);
    const results::TrialRecord& row = record.record.trial;
    return fmt::format("record {} {}{}{}{}", text(record.key), row.outcome,
                       row.reason.empty() ? "" : " " + row.reason,
                       row.guilty_rank ? fmt::format(" rank {}", *row.guilty_rank) : "",
                       record.final ? ", final" : "");
  }
  [[nodiscard]] std::string line(const protocol::OrchestratorMessage& message) const {
    if (const auto* welcome = std::get_if<protocol::Welcome>(&message)) {
      return welcome->refused_devices.empty()
                 ? "welcome"
                 : fmt::format("welcome without {}", fmt::join(welcome->refused_devices, ","));
    }
    if (std::holds_alternative<protocol::Beat>(message)) return "beat";
    if (std::holds_alternative<protocol::Shutdown>(message)) return "shutdown";
    if (const auto* kill = std::get_if<protocol::KillAttempt>(&message))
      return "kill " + text(kill->key);
    if (const auto* meet = std::get_if<protocol::Meet>(&message))
      return fmt::format("meet {} at {}:{}", text(meet->key), meet->at.host, meet->at.port);
    if (const auto* start = std::get_if<protocol::StartRanks>(&message)) {
      std::string ranks;
      for (const protocol::RankLaunch& rank : start->ranks)
        ranks += fmt::format(" {}>{}", rank.rank, rank.device);
      return fmt::format("start {}{}", text(start->key), ranks);
    }
    return "configure";
  }
  // All commands since the last call.
  [[nodiscard]] std::vector<std::string> commands() { return std::exchange(lines_, {}); }

  sweeps::SweepSpec sweep_;
  CoreOptions options_;
  std::unique_ptr<sweeps::Grid> grid_;
  std::unique_ptr<Core> core_;
  Instant now_{};
  std::vector<RecordAttempt> records_;

 private:
  std::vector<std::string> lines_;
};

}  // namespace batchsweep::orchestrator
