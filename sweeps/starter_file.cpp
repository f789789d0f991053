// SPDX-License-Identifier: Apache-2.0
#include "sweeps/starter_file.hpp"

#include <fmt/format.h>

#include "base/units.hpp"

namespace batchsweep::sweeps {
namespace {

constexpr std::string_view kText =
    R"(# A sweep for {host}: {cores} cores, {memory} of memory, {gpus}.
# batchsweep plan FILE shows its trials, batchsweep run FILE runs them, batchsweep report {name}.h5 answers.

[sweep]
name = "{name}"             # names the results file: {name}.h5
seed = 1

[grid]                     # every combination is one trial
gpu = "all"                # once per device type that is here; or names: ["cpu", "H100 80GB SXM"] (batchsweep gpus)
model = ["lenet", "resnet18"]   # batchsweep models lists them
precision = ["fp32", "bf16"]
batch_size = {{ from = {from}, to = {to}, factor = 2 }}   # or a list: [8, 16]

# [[exclude]]              # drops every point that matches all lines
# model = "resnet18"
# batch_size = {{ from = 256 }}

[trial]
data = "fashion-mnist"     # or "synthetic", "text:FILE" (for bert-tiny)
warmup_steps = 3           # untimed
timed_steps = 10           # measured
time_limit = "5 min"       # of one trial

{off}[[device]]                 # a cpu device with less memory: resnet18 runs out of it within this grid
{off}name = "cpu-small"
{off}kind = "cpu"
{off}memory = "160 MiB"         # "GB" is 10^9, "GiB" 2^30
{off}threads = {cores}
)";

std::string list_gpus(const std::vector<std::string>& gpus) {
  return gpus.empty() ? "no GPU" : fmt::format("GPUs: {}", fmt::join(gpus, ", "));
}

}  // namespace

std::string starter_file(const std::string& name, const StarterMachine& machine) {
  const bool gpu = !machine.gpus.empty();
  return fmt::format(kText, fmt::arg("host", machine.hostname), fmt::arg("cores", machine.cores),
                     fmt::arg("memory", format_bytes(static_cast<double>(machine.memory_bytes))),
                     fmt::arg("gpus", list_gpus(machine.gpus)), fmt::arg("name", name),
                     fmt::arg("from", gpu ? 64 : 16), fmt::arg("to", gpu ? 4096 : 256),
                     fmt::arg("off", gpu ? "# " : ""));
}

}  // namespace batchsweep::sweeps
