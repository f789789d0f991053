// SPDX-License-Identifier: Apache-2.0
// The scheduler by itself, in virtual time and without recording; schedule.py runs this.
//   schedule rehearsal SWEEP.toml   the core over the played cluster: how busy, how long, how long
//   at least schedule decisions N            N waiting trials: cost of a decision (a trial ends,
//   the next is placed)
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <queue>
#include <random>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "orchestrator/core.hpp"
#include "orchestrator/scheduler.hpp"
#include "orchestrator/simulate/simulated_cluster.hpp"
#include "orchestrator/simulate/simulated_devices.hpp"
#include "sweeps/sweep_file.hpp"

namespace batchsweep::orchestrator {
namespace {

struct Used {
  double from_s = 0, to_s = 0;
  double ranks = 0;
};

// What each type of device was used for, and how many there are.
struct OfType {
  std::int64_t devices = 0;
  std::vector<Used> used;
};

Json judged(const OfType& type) {
  double makespan = 0, work = 0, longest = 0;
  for (const Used& used : type.used) {
    makespan = std::max(makespan, used.to_s);
    longest = std::max(longest, used.to_s - used.from_s);
    work += (used.to_s - used.from_s) * used.ranks;
  }
  const double end = 0.9 * makespan, devices = static_cast<double>(type.devices);
  double busy = 0;
  for (const Used& used : type.used)
    busy += std::max(0.0, std::min(end, used.to_s) - used.from_s) * used.ranks;
  const double least = std::max(work / devices, longest);
  return {{"devices", type.devices},
          {"trials", type.used.size()},
          {"makespan_s", makespan},
          {"lower_bound_s", least},
          {"over_bound", makespan / least - 1},
          {"busy", busy / (devices * end)}};
}

int rehearse(const std::string& path) {
  const sweeps::SweepSpec sweep = sweeps::read_sweep_file(path);
  std::map<std::string, OfType> types;
  std::vector<std::string> names;
  for (const protocol::Register& node : simulated_nodes(sweep)) {
    for (const protocol::DeviceOffer& offer : node.devices) {
      if (types[offer.type].devices++ == 0) names.push_back(offer.type);
    }
  }
  const sweeps::Grid grid(sweep, names);
  SimulatedCluster cluster(sweep, grid);
  CoreOptions options;
  options.agents_expected = cluster.agents();
  Core core(sweep, grid, {}, options);
  std::map<protocol::AttemptKey, Instant> started;
  const auto begin = std::chrono::steady_clock::now();
  while (!core.finished()) {
    const auto next = cluster.next();
    if (!next) break;
    std::vector<Event> events = {next->second};
    while (!events.empty()) {
      const Event event = std::move(events.back());
      events.pop_back();
      for (const Command& command : core.handle(event, next->first)) {
        if (const auto* send = std::get_if<Send>(&command)) cluster.execute(*send, next->first);
        if (const auto* note = std::get_if<NoteStarted>(&command)) started[note->key] = next->first;
        if (const auto* record = std::get_if<RecordAttempt>(&command)) {
          const results::TrialRecord& row = record->record.trial;
          const auto seconds_of = [](Instant at) { return to_seconds(at.time_since_epoch()); };
          types[row.gpu].used.push_back({seconds_of(started.at(record->key)),
                                         seconds_of(next->first),
                                         static_cast<double>(row.world_size)});
          events.emplace_back(Recorded{record->key});
        }
      }
    }
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  Json json = {{"trials", grid.size()}, {"done", core.progress().done}, {"wall_s", took.count()}};
  for (const auto& [name, type] : types) json["types"][name] = judged(type);
  std::puts(dump(json).c_str());
  return 0;
}

// 16 hosts of 8 devices; ranks 1, 2, 4, 8; 40 families of 25 batch sizes; lengths from 1 s to 1
// min.
int decide(std::size_t waiting) {
  using Clock = std::chrono::steady_clock;
  Scheduler scheduler(SchedulerOptions{});
  for (DeviceId id = 0; id < 128; ++id)
    scheduler.add_device({.id = id,
                          .type = "small",
                          .host = id / 8,
                          .unit = id,
                          .host_name = fmt::format("n{}", id / 8),
                          .uuid = fmt::format("u{}", id)});
  std::mt19937_64 random(1);
  struct Trial {
    FamilyId family;
    double work, duration_s;
  };
  std::vector<Trial> trials(waiting);
  const auto begin_add = Clock::now();
  for (std::size_t i = 0; i < waiting; ++i) {
    const auto family = static_cast<FamilyId>(random() % 40);
    const double work = 8.0 * static_cast<double>(1 + random() % 25);
    trials[i] = {family, work, 1 + 0.1 * (1 + family) * work / 40};
    scheduler.add(
        {.slot = static_cast<SlotId>(i),
         .shape = scheduler.shape_of({.gpu = "small", .world_size = 1LL << (random() % 4)}),
         .family = family,
         .work = work});
  }
  struct Running {
    double end_s;
    Placement placement;
    bool operator>(const Running& other) const { return end_s > other.end_s; }
  };
  std::priority_queue<Running, std::vector<Running>, std::greater<>> running;
  double now_s = 0;
  const auto fill = [&] {
    std::size_t placed = 0;
    while (auto placement = scheduler.place(now_s)) {
      const double end_s = now_s + trials[placement->slot].duration_s;
      running.push({end_s, *std::move(placement)});
      ++placed;
    }
    return placed;
  };
  const auto begin_first = Clock::now();
  (void)fill();
  const std::chrono::duration<double> add_s = begin_first - begin_add,
                                      first_s = Clock::now() - begin_first;
  const std::size_t wanted = std::min<std::size_t>(waiting / 2, 20000);
  std::size_t decisions = 0;
  double longest_s = 0;
  const auto begin = Clock::now();
  while (decisions < wanted && !running.empty()) {
    const Running ended = running.top();
    running.pop();
    now_s = ended.end_s;
    const Trial& trial = trials[ended.placement.slot];
    const auto start = Clock::now();
    scheduler.learn(trial.family, trial.work, trial.duration_s);
    for (const DeviceId device : ended.placement.devices) scheduler.release(device);
    decisions += fill();
    const std::chrono::duration<double> one = Clock::now() - start;
    longest_s = std::max(longest_s, one.count());
  }
  const std::chrono::duration<double> took = Clock::now() - begin;
  const auto per = static_cast<double>(std::max<std::size_t>(decisions, 1));
  std::puts(dump(Json{{"waiting", waiting},
                      {"decisions", decisions},
                      {"add_s", add_s.count()},
                      {"first_s", first_s.count()},
                      {"us_a_decision", took.count() / per * 1e6},
                      {"longest_us", longest_s * 1e6}})
                .c_str());
  return 0;
}

}  // namespace
}  // namespace batchsweep::orchestrator

int main(int argc, char** argv) {
  const std::string what = argc > 2 ? argv[1] : "";
  if (what == "rehearsal") return batchsweep::orchestrator::rehearse(argv[2]);
  if (what == "decisions")
    return batchsweep::orchestrator::decide(std::strtoull(argv[2], nullptr, 10));
  std::fputs("schedule rehearsal SWEEP.toml | schedule decisions N\n", stderr);
  return 2;
}
