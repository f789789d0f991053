// SPDX-License-Identifier: Apache-2.0
// A launcher that starts nothing: each rank of a rehearsal says at once what its script would have
// said in the end. What is left is the cost of everything but the processes.
#include <algorithm>
#include <numeric>
#include <utility>

#include "base/json.hpp"
#include "worker/agent/launcher.hpp"
#include "worker/protocol/trial_events.hpp"
#include "worker/protocol/trial_input.hpp"

namespace batchsweep::agent {
namespace {

protocol::Result result_of(const protocol::TrialInput& input) {
  const sweeps::PlayScript script = input.play.value_or(sweeps::PlayScript{});
  protocol::Result result;
  result.steps.rank = input.rank;
  result.steps.time_s = script.step_times_s;
  result.steps.warmup_steps =
      std::min<std::int64_t>(input.spec.warmup_steps, std::ssize(script.step_times_s));
  result.measured.peak_allocated_bytes = script.allocated_bytes;
  result.measured.applied_steps = static_cast<double>(script.step_times_s.size());
  result.measured.window_s = std::accumulate(
      script.step_times_s.begin() + result.steps.warmup_steps, script.step_times_s.end(), 0.0);
  result.measured.samples = static_cast<double>(
      (std::ssize(script.step_times_s) - result.steps.warmup_steps) * input.spec.batch_size);
  return result;
}

class NullProcess final : public Process {
 public:
  explicit NullProcess(const protocol::TrialInput& input) {
    lines_.push_back(encode_line(
        protocol::Hello{.software = {.program = "null launcher"}, .execution = "played"}));
    lines_.push_back(encode_line(result_of(input)));
    for (std::string& line : lines_) line.pop_back();  // the newline
  }
  [[nodiscard]] int pid() const override { return 0; }
  [[nodiscard]] std::vector<int> descriptors() const override { return {}; }
  [[nodiscard]] std::vector<std::string> take_event_lines() override {
    return std::exchange(lines_, {});
  }
  [[nodiscard]] std::string partial_line() const override { return ""; }
  [[nodiscard]] std::optional<ExitStatus> poll_exit() override {
    return ExitStatus{.exit_code = 0, .signal = {}, .rss_peak_bytes = {}};
  }
  bool kill_tree() override { return true; }
  [[nodiscard]] std::string output() const override { return ""; }

 private:
  std::vector<std::string> lines_;
};

class NullLauncher final : public Launcher {
 public:
  [[nodiscard]] std::unique_ptr<Process> launch(const LaunchRequest& request) override {
    return std::make_unique<NullProcess>(
        protocol::trial_input_from_json(Json::parse(request.input_line)));
  }
};

}  // namespace

std::unique_ptr<Launcher> make_null_launcher() { return std::make_unique<NullLauncher>(); }

}  // namespace batchsweep::agent
