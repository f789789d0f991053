// SPDX-License-Identifier: Apache-2.0
// One rank of one attempt while its process lives: process and watch together, from launch to
// RankEnded. Knows no other rank and no lease.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "worker/agent/launcher.hpp"
#include "worker/agent/trial_watch.hpp"
#include "worker/protocol/messages.hpp"

namespace batchsweep::agent {

// What every rank's record repeats of its place.
struct RankPlace {
  protocol::AttemptKey key;
  protocol::RankLaunch launch;
  protocol::DeviceOffer device;
  std::string host_id, hostname, cpus_allowed;
  std::optional<double> shm_bytes;
  std::string recorded_environment;
};

class RankRun {
 public:
  RankRun(RankPlace place, std::unique_ptr<Process> process, sweeps::TrialLimits limits,
          Instant now);

  // Reads, checks limits, kills when due; the end once there is one. After that only stuck() may be
  // asked.
  [[nodiscard]] std::optional<protocol::RankEnded> advance(Instant now, double kill_grace_s);
  // SIGKILL to all of it at once.
  void kill(std::string_view why, Instant now);
  // Once, when rank 0 of several waits for the others.
  [[nodiscard]] std::optional<protocol::RendezvousOpened> take_rendezvous();
  void meet(const protocol::Rendezvous& at);
  // Thinned out to one a second.
  [[nodiscard]] std::optional<protocol::RankProgress> progress(Instant now);

  // Ended for the orchestrator, but a process of it is still there: not even SIGKILL ends one that
  // sleeps in the kernel.
  [[nodiscard]] bool stuck() const { return reported_ && !gone_; }
  [[nodiscard]] bool gone() const { return gone_; }
  [[nodiscard]] bool reported() const { return reported_; }
  // Tries again; true when at last nothing is left.
  bool retry_kill() { return gone_ = process_->kill_tree(); }

  [[nodiscard]] const RankPlace& place() const { return place_; }
  [[nodiscard]] std::vector<int> descriptors() const;
  [[nodiscard]] Instant next_deadline() const;

 private:
  void read_lines(Instant now);
  [[nodiscard]] protocol::RankEnded end(const protocol::Evidence& evidence);

  RankPlace place_;
  std::unique_ptr<Process> process_;
  TrialWatch watch_;
  Instant last_progress_;
  std::pair<results::Phase, std::int64_t> told_{};
  bool told_rendezvous_ = false;
  std::optional<Instant> killing_since_;
  std::optional<ExitStatus> status_;
  bool gone_ = false, reported_ = false;
};

// The record of a rank that has no process (any more): place, evidence and what was measured.
[[nodiscard]] protocol::RankEnded rank_ended(const RankPlace& place,
                                             const protocol::Evidence& evidence,
                                             results::RankRecord measured);

}  // namespace batchsweep::agent
