// SPDX-License-Identifier: Apache-2.0
// Identities are in recorded files: the texts and ids here must never change.
#include "sweeps/trial_identity.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "sweeps/grid.hpp"
#include "sweeps/sweep_file.hpp"

namespace batchsweep::sweeps {
namespace {

struct Identity {
  std::string text, id;
  bool operator==(const Identity&) const = default;
};

Identity identity(const std::string& rest, const std::string& head = "[sweep]\nname = \"s\"\n") {
  ::setenv("HOME", "/nowhere", 1);
  const SweepSpec sweep = read_sweep_text(head + rest, "x.toml");
  const TrialSpec spec = Grid(sweep, {"cpu"}).spec(0);
  return {canonical_text(spec, sweep), to_text(trial_id(spec, sweep))};
}

const std::string kGrid = "[grid]\nmodel = \"resnet18\"\nbatch_size = 8\n";

TEST(TrialIdentity, OfAPlainTrialIsItsAxes) {
  const Identity plain = identity(kGrid);
  EXPECT_EQ(plain.text, "batch_size=8\ngpu=cpu\nmodel=resnet18\n");
  EXPECT_EQ(plain.id, "a1a2cf5756410a7f");
}

TEST(TrialIdentity, LeavesOutDefaultsThatAreWrittenDown) {
  EXPECT_EQ(identity(kGrid + "precision = \"fp32\"\noptimizer = \"sgd\"\nlearning_rate = "
                             "0.01\nmomentum = 0.9\nweight_decay = 0\n"
                             "image_size = 224\nnum_classes = 1000\nworld_size = "
                             "1\n[trial]\nwarmup_steps = 5\ntimed_steps = 20\n"
                             "min_time = \"0 s\"\nschedule = \"constant\"\nattention = \"auto\"\n"),
            identity(kGrid));
}

TEST(TrialIdentity, HoldsMomentumOnlyWhereTheOptimizerHasOne) {
  EXPECT_EQ(identity(kGrid + "momentum = 0.5\n").text,
            "batch_size=8\ngpu=cpu\nmodel=resnet18\nmomentum=0.5\n");
  const std::string both = kGrid + "momentum = 0.5\noptimizer = [\"adamw\", \"sgd\"]\n";
  EXPECT_EQ(identity(both).text, "batch_size=8\ngpu=cpu\nmodel=resnet18\noptimizer=adamw\n");
}

TEST(TrialIdentity, DoesNotHoldNamesLimitsCountsOrRepeats) {
  EXPECT_EQ(identity(kGrid + "[trial]\ntime_limit = \"1 min\"\nsetup_limit = \"1 s\"\nstall_limit "
                             "= \"1 s\"\nretries = 7\nrepeats = 3\n"
                             "exclusive = \"host\"\n",
                     "[sweep]\nname = \"other\"\norder = \"shuffled\"\n"),
            identity(kGrid));
}

TEST(TrialIdentity, HoldsEverythingElseInSortedLines) {
  const Identity full = identity(R"([grid]
gpu = "small"
model = "mine"
batch_size = 16
precision = "bf16"
gradient_accumulation_steps = 2
optimizer = "adamw"
learning_rate = 0.003
weight_decay = 0.1
image_size = "32x48"
env = { B = "2", A = "1" }
data = "fashion-mnist"
[model.mine]
source = "resnet18"
num_classes = 12
loss = "cross_entropy"
[trial]
warmup_steps = 1
timed_steps = 2
min_time = "0.5 s"
runtime = "r"
[[runtime]]
name = "r"
command = ["x"]
[[device]]
name = "small"
kind = "cpu"
memory = "1 GiB"
reserve = "1 MiB"
threads = 2
count = 3
)",
                                 "[sweep]\nname = \"s\"\nseed = 3\n");
  EXPECT_EQ(full.text,
            "batch_size=16\ndata=fashion-mnist\ndevice.memory=1073741824\ndevice.reserve="
            "1048576\ndevice.threads=2\n"
            "env.A=1\nenv.B=2\ngpu=small\ngradient_accumulation_steps=2\nimage_size="
            "32x48\nlearning_rate=0.003\nmin_time_s=0.5\n"
            "model=resnet18\nnum_classes=12\noptimizer=adamw\nprecision="
            "bf16\nruntime=r\nseed=3\ntimed_steps=2\n"
            "warmup_steps=1\nweight_decay=0.1\n");
  EXPECT_EQ(full.id, "ba5a6137da12fab2");
}

TEST(TrialIdentity, OfARehearsalHoldsItsOriginAndTheRuleButNotWhereTheRuleApplies) {
  const std::string head =
      "[grid]\ngpu = \"RTX 2080 Ti\"\nmodel = \"any\"\nbatch_size = 8\nprecision = "
      "\"fp8\"\nworld_size = 2\n[rehearsal]\n";
  const std::string rule = "[[rehearsal.rule]]\nmemory = { fixed = \"1 MiB\" }\nfault = \"hang\"\n";
  const Identity rehearsed = identity(head + rule);
  EXPECT_EQ(rehearsed.text,
            "batch_size=8\ndevice.kind=cuda\ngpu=RTX 2080 "
            "Ti\nmodel=any\norigin=rehearsed\nprecision=fp8\n"
            "rehearsal_rule=memory_fixed=1048576 fault=hang\nworld_size=2\n");
  EXPECT_EQ(rehearsed.id, "2d66d063f33d8cdc");
  EXPECT_EQ(identity(head + rule + "when = { model = \"a*\" }\n"), rehearsed);
  EXPECT_NE(identity(head + rule + "fault_step = 3\n").id, rehearsed.id);
}

TEST(TrialIdentity, LinesAreSortedForEveryMember) {
  SweepSpec sweep;
  sweep.devices = {{.name = "d",
                    .kind = DeviceKind::kCuda,
                    .memory_bytes = 5,
                    .reserve_bytes = 1,
                    .threads = 3,
                    .on = "T4"}};
  TrialSpec spec;
  spec.gpu = "d";
  spec.model = "unknown";
  spec.model_head = "qa";
  spec.model_weights = "w";
  spec.loss = "mse";
  spec.num_nodes = "2";
  spec.placement = "each-node";
  spec.pinned_to = "n1";
  spec.world_size = 2;
  spec.activation_checkpointing = spec.cudnn_benchmark = true;
  spec.attention = "math";
  spec.clip_grad_norm = 1;
  spec.data = "tokens:x";
  spec.dropout = 0.5;
  spec.env = {{"Z", "1"}};
  spec.gradient_accumulation_steps = 2;
  spec.image_height = 1;
  spec.learning_rate = 1;
  spec.memory_format = "channels_last";
  spec.min_time_s = 1;
  spec.momentum = 0;
  spec.num_classes = 3;
  spec.optimizer = "adam";
  spec.precision = "bf16";
  spec.origin = Origin::kPublished;
  spec.runtime = "r";
  spec.schedule = "step";
  spec.seed = 2;
  spec.sequence_length = 3;
  spec.timed_steps = 1;
  spec.warmup_steps = 1;
  spec.weight_decay = 1;
  std::vector<std::string> lines;
  std::istringstream text(canonical_text(spec, sweep));
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  EXPECT_TRUE(std::is_sorted(lines.begin(), lines.end())) << text.str();
  EXPECT_EQ(lines.size(), 38U);  // all but momentum, which adam does not have
}

TEST(TrialIdentity, ChoicesThatAModelDoesNotHaveChangeNothing) {
  const std::string text =
      "[[grid]]\nmodel = \"bert-tiny\"\nbatch_size = 8\n[[grid]]\nmodel = \"lenet\"\nbatch_size = "
      "8\n";
  EXPECT_EQ(identity(text + "[trial]\nimage_size = 32\nnum_classes = 3\n"), identity(text));
  EXPECT_NE(identity(text + "[trial]\nsequence_length = 64\n"), identity(text));
}

}  // namespace
}  // namespace batchsweep::sweeps
