// SPDX-License-Identifier: Apache-2.0
#include "sweeps/sweep_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <unistd.h>

#include "base/error.hpp"
#include "sweeps/grid.hpp"
#include "sweeps/starter_file.hpp"
#include "sweeps/trial_defaults.hpp"
#include "sweeps/trial_identity.hpp"

namespace batchsweep::sweeps {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

// A folder of the test's own, gone at its end; no site file of the person who runs the tests is
// read.
class SweepFile : public testing::Test {
 protected:
  SweepFile() {
    folder_ = fs::temp_directory_path() / ("batchsweep-sweep-file-" + std::to_string(::getpid()));
    fs::create_directories(folder_);
    ::setenv("HOME", folder_.c_str(), 1);
    ::unsetenv("BATCHSWEEP_SITE");
  }
  ~SweepFile() override { fs::remove_all(folder_); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return (folder_ / name).string();
  }
  fs::path folder_;
};

const std::string kFive =
    "[sweep]\nname = \"five\"\n[grid]\nmodel = \"resnet18\"\nbatch_size = 8\n";

TEST_F(SweepFile, FiveLinesAreASweepWithTheDocumentedDefaults) {
  const SweepSpec sweep = read_sweep_text(kFive, "x.toml");
  EXPECT_EQ(sweep.name, "five");
  EXPECT_EQ(sweep.seed, 1U);
  EXPECT_EQ(sweep.order, Order::kAuto);
  EXPECT_EQ(sweep.base, TrialSpec{});
  EXPECT_EQ(sweep.limits, TrialLimits{});
  EXPECT_EQ(sweep.repeats, 1);
  EXPECT_FALSE(sweep.exclusive_host);
  EXPECT_FALSE(sweep.rehearsal.has_value());
  const Grid grid(sweep, {"cpu"});
  ASSERT_EQ(grid.size(), 1U);
  EXPECT_EQ(grid.spec(0).gpu, "cpu");
  EXPECT_EQ(grid.spec(0).model_source, "resnet18");
}

TEST_F(SweepFile, EveryAvailableKeyOfTrialIsRead) {
  const SweepSpec sweep = read_sweep_text(R"([sweep]
name = "s"
seed = 7
order = "shuffled"
[grid]
model = ["resnet18", "bert-tiny"]
batch_size = 8
[[runtime]]
name = "other"
command = ["/opt/trial", "--quiet"]
gpu = "T4"
[trial]
precision = "bf16"
data = "synthetic"
optimizer = "sgd"
learning_rate = 0.5
momentum = 0.25
weight_decay = 0.125
dropout = 0.25
gradient_accumulation_steps = 3
image_size = "32x48"
num_classes = 7
sequence_length = 64
warmup_steps = 1
timed_steps = 9
min_time = "1.5 s"
env = { A = "1" }
repeats = 4
time_limit = "1 min"
setup_limit = "2 s"
stall_limit = "3 s"
retries = 0
exclusive = "host"
runtime = "other"
)",
                                          "x.toml");
  TrialSpec base;
  base.precision = "bf16";
  base.optimizer = "sgd";
  base.learning_rate = 0.5;
  base.momentum = 0.25;
  base.weight_decay = 0.125;
  base.dropout = 0.25;
  base.gradient_accumulation_steps = 3;
  base.image_height = 32;
  base.image_width = 48;
  base.num_classes = 7;
  base.sequence_length = 64;
  base.warmup_steps = 1;
  base.timed_steps = 9;
  base.min_time_s = 1.5;
  base.env = {{"A", "1"}};
  base.runtime = "other";
  base.seed = 7;
  EXPECT_EQ(sweep.base, base);
  EXPECT_EQ(sweep.limits, (TrialLimits{.time_s = 60, .setup_s = 2, .stall_s = 3, .retries = 0}));
  EXPECT_EQ(sweep.repeats, 4);
  EXPECT_TRUE(sweep.exclusive_host);
  EXPECT_EQ(sweep.order, Order::kShuffled);
  EXPECT_EQ(sweep.runtimes.at(0), (Runtime{"other", {"/opt/trial", "--quiet"}, {"T4"}}));
}

TEST_F(SweepFile, DevicesKeepTheirKindsAndDefaults) {
  const SweepSpec sweep = read_sweep_text(kFive + R"([[device]]
name = "a"
kind = "cpu"
memory = "512 MiB"
threads = 1
count = 2
hosts = "n[1-4]"
oversubscribe = true
[[device]]
name = "RTX 2080 Ti"
kind = "cuda"
on = "H200 SXM"
[[device]]
name = "b"
kind = "cuda"
memory = "2 GB"
reserve = "1 MB"
)",
                                          "x.toml");
  ASSERT_EQ(sweep.devices.size(), 3U);
  EXPECT_EQ(sweep.devices[0].memory_bytes, 536'870'912U);
  EXPECT_EQ(sweep.devices[0].reserve_bytes, 0U);
  EXPECT_EQ(sweep.devices[0].threads, 1);
  EXPECT_EQ(sweep.devices[0].count, 2);
  EXPECT_EQ(sweep.devices[0].hosts, "n[1-4]");
  EXPECT_TRUE(sweep.devices[0].oversubscribe);
  EXPECT_EQ(sweep.devices[1].kind, DeviceKind::kCuda);
  EXPECT_EQ(sweep.devices[1].memory_bytes, std::nullopt);
  EXPECT_EQ(sweep.devices[1].reserve_bytes, 629'145'600U);
  EXPECT_EQ(sweep.devices[1].on, "H200 SXM");
  EXPECT_EQ(sweep.devices[2].memory_bytes, 2'000'000'000U);
  EXPECT_EQ(sweep.devices[2].reserve_bytes, 1'000'000U);
}

TEST_F(SweepFile, TheSiteFileAddsDevicesAndTheSweepFileWins) {
  const std::string site = write("site.toml", R"(site = "here"
[[device]]
name = "a"
kind = "cpu"
memory = "1 GiB"
[[device]]
name = "b"
kind = "cpu"
memory = "2 GiB"
[[runtime]]
name = "old"
command = ["/opt/old"]
)");
  const std::string text = kFive + "[[device]]\nname = \"a\"\nkind = \"cpu\"\nmemory = \"3 GiB\"\n";
  const auto check = [&](const SweepSpec& sweep) {
    EXPECT_EQ(sweep.site, "here");
    EXPECT_EQ(sweep.site_path, site);
    ASSERT_EQ(sweep.devices.size(), 2U);
    EXPECT_EQ(sweep.devices[0].memory_bytes, std::uint64_t{3} << 30);
    EXPECT_EQ(sweep.devices[1].name, "b");
    ASSERT_EQ(sweep.runtimes.size(), 1U);
    EXPECT_THAT(sweep.runtimes[0].command, ElementsAre("/opt/old"));
  };
  check(read_sweep_text(text, "x.toml", {.set = {}, .site = site}));
  ::setenv("BATCHSWEEP_SITE", site.c_str(), 1);
  check(read_sweep_text(text, "x.toml"));
}

TEST_F(SweepFile, TheSiteFileOfTheHomeFolderIsReadWhereItExists) {
  EXPECT_EQ(read_sweep_text(kFive, "x.toml").site, "");
  fs::create_directories(folder_ / ".config/batchsweep");
  write(".config/batchsweep/site.toml", "site = \"home\"\n");
  EXPECT_EQ(read_sweep_text(kFive, "x.toml").site, "home");
}

TEST_F(SweepFile, ASiteFileHoldsMachinesOnlyAndItsErrorsNameIt) {
  const std::string site =
      write("site.toml", "[sweep]\nname = \"s\"\n[[device]]\nname = \"a\"\nkind = \"gpu\"\n");
  try {
    (void)read_sweep_text(kFive, "x.toml", {.set = {}, .site = site});
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.what(),
              site +
                  ": line 1, column 1: sweep: belongs into the sweep file, not into a site file\n" +
                  site +
                  ": line 5, column 8: device.kind: expected one of cpu, cuda, found \"gpu\", did "
                  "you mean cpu");
  }
  try {
    (void)read_sweep_text(kFive, "x.toml", {.set = {}, .site = "/nowhere.toml"});
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(), "/nowhere.toml: cannot read: No such file or directory");
  }
}

// Every key that [[slurm]] and [prices] know. Nothing acts on prices yet, but they belong to the
// machine and must not make its site file unusable.
TEST_F(SweepFile, ASiteFileMayHoldPricesAndSlurmJobs) {
  const std::string jobs = R"([[slurm]]
job = "h100"
only = { gpu = ["H100 80GB SXM"] }
partition = "booster"
account = "abc"
qos = "normal"
time = "12:00:00"
nodes = 4
gres = "gpu:h100:4"
mpi = "pmix"
launch = "srun"
setup = ["module load openmpi"]
srun_args = []
wrap = ["apptainer", "exec", "--nv", "bs.sif"]
sbatch_args = ["--exclusive"]
when_time_is_up = "requeue"
)";
  const std::string prices =
      "[prices]\n\"H100 80GB PCIe\" = { buy = 27000, hour = 1.99, currency = \"USD\" }\n";
  const SweepFileOptions options{.set = {},
                                 .site = write("site.toml", "site = \"x\"\n" + jobs + prices)};
  const SweepSpec sweep = read_sweep_text(kFive, "x.toml", options);
  EXPECT_EQ(sweep.site, "x");
  const SlurmJob whole{
      .job = "h100",
      .only = {{.axis = "gpu", .patterns = {"H100 80GB SXM"}, .from = {}, .to = {}}},
      .partition = "booster",
      .account = "abc",
      .qos = "normal",
      .gres = "gpu:h100:4",
      .time = "12:00:00",
      .nodes = 4,
      .mpi = "pmix",
      .launch = SlurmLauncher::kSrun,
      .setup = {"module load openmpi"},
      .sbatch_args = {"--exclusive"},
      .srun_args = {},
      .wrap = {"apptainer", "exec", "--nv", "bs.sif"},
      .chain = {}};
  EXPECT_THAT(sweep.slurm, ElementsAre(whole));
  const SweepSpec own =
      read_sweep_text(kFive + "[[slurm]]\njob = \"mine\"\ntime = \"90 min\"\nlaunch = \"mpirun\"\n"
                              "when_time_is_up = \"chain:5\"\n",
                      "x.toml", options);
  SlurmJob mine;
  mine.job = "mine";
  mine.time = "01:30:00";
  mine.launch = SlurmLauncher::kMpirun;
  mine.chain = 5;
  EXPECT_THAT(own.slurm, ElementsAre(mine)) << "the sweep file's jobs replace those of the site";

  write("site.toml", "[[slurm]]\njob = \"a\"\nnodse = 4\n[prices]\n\"H100\" = { buy = -1 }\n");
  try {
    (void)read_sweep_text(kFive, "x.toml", options);
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.what(),
              *options.site + ": line 3, column 1: slurm.nodse: unknown key, did you mean nodes\n" +
                  *options.site +
                  ": line 5, column 1: prices.H100: unknown card \"H100\", did you mean "
                  "H100 80GB PCIe, H100 80GB SXM; see: batchsweep gpus\n" +
                  *options.site +
                  ": line 5, column 18: prices.H100.buy: expected at least 0, found -1");
  }
}

TEST_F(SweepFile, SetChangesValuesInOrderAndIsKeptWithTheText) {
  const SweepSpec sweep = read_sweep_text(
      kFive, "x.toml",
      {.set = {"trial.timed_steps=50", "trial.timed_steps=60", "grid.batch_size=[8, 16]"},
       .site = {}});
  EXPECT_EQ(sweep.base.timed_steps, 60);
  EXPECT_THAT(sweep.grid.at(0).axes.at(1).values, ElementsAre("8", "16"));
  EXPECT_EQ(sweep.text, kFive +
                            "# --set trial.timed_steps=50\n# --set trial.timed_steps=60\n# --set "
                            "grid.batch_size=[8, 16]\n");
}

TEST_F(SweepFile, DataFilesAreNamedFromTheSweepFilesFolderAndKnownByContent) {
  write("t.txt", "abc");
  const std::string text =
      "[sweep]\nname = \"s\"\n[grid]\nmodel = \"bert-tiny\"\nbatch_size = 8\ndata = "
      "\"text:t.txt\"\n";
  const SweepSpec sweep = read_sweep_file(write("s.toml", text));
  const TrialSpec spec = Grid(sweep, {"cpu"}).spec(0);
  EXPECT_EQ(spec.data, "text:" + (folder_ / "t.txt").string());
  EXPECT_EQ(spec.data_hash, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST_F(SweepFile, ARehearsalKeepsItsNodesAndRules) {
  const SweepSpec sweep = read_sweep_text(R"([sweep]
name = "r"
[grid]
gpu = ["small", "H100 80GB SXM"]
model = "any name"
precision = "fp8"
world_size = [1, 4]
batch_size = [8]
[[device]]
name = "small"
kind = "cpu"
memory = "1 GiB"
[rehearsal]
mode = "simulated"
[[rehearsal.node]]
devices = { small = 4, "H100 80GB SXM" = 4 }
count = 16
[[rehearsal.rule]]
when = { model = "any*", batch_size = { from = 4 } }
memory = { fixed = "200 MiB", per_sample = "10 MiB", noise = 0.1, steps = "64 MiB", except = [33, 34], reserved_factor = 1.2 }
step = { fixed = "5 ms", per_sample = "1 ms", noise = 0.02, series = "ar1:0.9" }
fault = "exit:3"
fault_rank = 1
fault_step = 3
fault_attempts = 1
fault_probability = 0.5
)",
                                          "x.toml");
  ASSERT_TRUE(sweep.rehearsal.has_value());
  EXPECT_TRUE(sweep.rehearsal->simulated);
  EXPECT_EQ(sweep.rehearsal->nodes.at(0).count, 16);
  EXPECT_EQ(sweep.rehearsal->nodes.at(0).devices.at("small"), 4);
  const RehearsalRule& rule = sweep.rehearsal->rules.at(0);
  EXPECT_EQ(rule.when.size(), 2U);
  EXPECT_EQ(rule.memory_fixed_bytes, 209'715'200.0);
  EXPECT_EQ(rule.step_fixed_s, 0.005);
  EXPECT_EQ(rule.fault, Fault::kExit);
  EXPECT_EQ(rule.fault_exit_code, 3);
  EXPECT_EQ(rule.fault_attempts, 1);
  EXPECT_EQ(rule.text,
            "memory_fixed=209715200 memory_per_sample=10485760 memory_noise=0.1 "
            "memory_steps=67108864 memory_except=33,34 "
            "reserved_factor=1.2 step_fixed=0.005 step_per_sample=0.001 step_noise=0.02 "
            "step_series=ar1:0.9 fault=exit "
            "fault_exit_code=3 fault_rank=1 fault_step=3 fault_attempts=1 fault_probability=0.5");
  EXPECT_THAT(declared_types(sweep), ElementsAre("H100 80GB SXM", "small"));
  ASSERT_EQ(sweep.devices.size(), 2U) << "the catalogue's card is declared with its own memory";
  EXPECT_EQ(sweep.devices[1].name, "H100 80GB SXM");
  EXPECT_EQ(Grid(sweep, {}).spec(0).origin, Origin::kRehearsed);
}

TEST_F(SweepFile, OddNamesComeBackByteForByte) {
  for (const std::string& name :
       std::vector<std::string>{"org/bert-base", ".", "..", "a,\"b\"", "größer 模型", "A", "a"}) {
    std::string quoted;
    for (const char c : name) quoted += c == '"' ? "\\\"" : std::string(1, c);
    const SweepSpec sweep =
        read_sweep_text("[sweep]\nname = \"s\"\n[grid]\nmodel = \"" + quoted +
                            "\"\nbatch_size = 8\n[model.\"" + quoted + "\"]\nsource = \"lenet\"\n",
                        "x.toml");
    EXPECT_EQ(Grid(sweep, {"cpu"}).spec(0).model, name);
    EXPECT_EQ(Grid(sweep, {"cpu"}).spec(0).model_source, "lenet");
  }
}

TEST_F(SweepFile, IsReadAgainFromItsRecordWithoutTheFilesItNamed) {
  const std::string data = write("t.txt", "In the beginning");
  const std::string file = write("s.toml", R"([sweep]
name = "s"
[grid]
model = "bert-tiny"
batch_size = [1, 2]
[trial]
data = "text:t.txt"
)");
  const SweepSpec sweep = read_sweep_file(file, {.set = {"trial.timed_steps=7"}, .site = {}});
  fs::remove(data);
  fs::remove(file);
  const SweepSpec again = read_recorded_sweep(sweep.text, sweep.site_text, inputs_text(sweep));
  EXPECT_EQ(again.base.timed_steps, 7);
  const Grid then(sweep, {"cpu"}), now(again, {"cpu"});
  ASSERT_EQ(now.size(), 2U);
  EXPECT_EQ(now.id(0), then.id(0));
  EXPECT_EQ(now.id(1), then.id(1));
  EXPECT_THROW((void)read_recorded_sweep(sweep.text, "", "{}"), ConfigError);
  EXPECT_THROW((void)read_recorded_sweep(sweep.text, "", "no JSON"), ConfigError);
}

TEST_F(SweepFile, TheExamplesAreSweeps) {
  const std::vector<std::pair<std::string, std::size_t>> examples{
      {"cards-rehearsal.toml", 70},
      {"two-models.toml", 12},
      {"memory-caps.toml", 21},
      {"cluster.toml", 56}};
  for (const auto& [name, points] : examples) {
    SCOPED_TRACE(name);
    const SweepSpec sweep =
        read_sweep_file(std::string(BATCHSWEEP_SOURCE_DIR) + "/sweeps/examples/" + name);
    EXPECT_EQ(sweep.name + ".toml", name);
    EXPECT_EQ(Grid(sweep, {"cpu"}).size(), points);
  }
}

TEST_F(SweepFile, WhatInitWritesIsASweep) {
  for (const std::vector<std::string>& gpus :
       {std::vector<std::string>{}, {"H200 SXM", "H200 SXM"}}) {
    const StarterMachine machine{"n1", 2, std::uint64_t{8} << 30, gpus};
    const SweepSpec sweep = read_sweep_text(starter_file("mine", machine), "mine.toml");
    EXPECT_EQ(sweep.name, "mine");
    EXPECT_GT(Grid(sweep, {"cpu"}).size(), 4U);
  }
}

TEST_F(SweepFile, AnOwnModelIsAScriptOrABuiltInWithWeights) {
  write("net.pt", "a script");
  write("w.safetensors", "weights");
  const std::string path =
      write("own.toml",
            "[sweep]\nname = \"own\"\n[grid]\nmodel = [\"mine\", \"tuned\"]\nbatch_size = 8\n"
            "[model.mine]\nsource = \"script:net.pt\"\ninput = { shape = [3, 32, 48] }\n"
            "target = { classes = 7 }\n"
            "[model.tuned]\nsource = \"bert-tiny\"\nhead = \"classify\"\nnum_classes = 5\n"
            "weights = \"w.safetensors\"\npartial_weights = true\n");
  const SweepSpec own = read_sweep_file(path);
  const Grid grid(own, {"cpu"});
  ASSERT_EQ(grid.size(), 2U);
  const TrialSpec mine = with_defaults(grid.spec(0)), tuned = grid.spec(1);
  EXPECT_EQ(mine.model_source, "script:" + (folder_ / "net.pt").string());
  EXPECT_THAT(mine.input_shape, ElementsAre(3, 32, 48));
  EXPECT_EQ(mine.image_height, 32);
  EXPECT_EQ(mine.image_width, 48);
  EXPECT_EQ(mine.num_classes, 7);
  EXPECT_EQ(tuned.model_weights, (folder_ / "w.safetensors").string());
  EXPECT_TRUE(tuned.partial_weights);
  EXPECT_EQ(tuned.num_classes, 5);
  EXPECT_EQ(task_of(tuned), Task::kClassify);

  // Contents count, not names.
  const auto identities = [&] {
    const SweepSpec sweep = read_sweep_file(path);
    const Grid again(sweep, {"cpu"});
    return std::pair(canonical_text(again.spec(0), sweep), canonical_text(again.spec(1), sweep));
  };
  const auto before = identities();
  EXPECT_THAT(before.first, testing::HasSubstr("input=3x32x48 float32\n"));
  EXPECT_THAT(before.second, testing::HasSubstr("head=classify\n"));
  EXPECT_THAT(before.second, testing::HasSubstr("num_classes=5\n"));
  EXPECT_THAT(before.second, testing::HasSubstr("partial_weights=true\n"));
  write("net.pt", "another script");
  EXPECT_NE(identities().first, before.first);
  EXPECT_EQ(identities().second, before.second);
  write("w.safetensors", "other weights");
  EXPECT_NE(identities().second, before.second);
}

TEST_F(SweepFile, AnotherRuntimeKnowsItsOwnModels) {
  const std::string text =
      "[sweep]\nname = \"r\"\n[grid]\nmodel = \"distilbert\"\nbatch_size = 8\nruntime = "
      "\"mine\"\n[[runtime]]\nname = \"mine\"\ncommand = [\"my-program\"]\n";
  EXPECT_EQ(read_sweep_text(text, "x.toml").grid.size(), 1U);
}

TEST_F(SweepFile, WhatAScriptCouldNotFollowIsRefused) {
  write("net.pt", "a script");
  const auto findings = [&](const std::string& trial) {
    const std::string path =
        write("own.toml",
              "[sweep]\nname = \"own\"\n[grid]\nmodel = [\"mine\", \"bert-tiny\"]\nbatch_size = 8\n"
              "[model.mine]\nsource = \"script:net.pt\"\ninput = { shape = [3, 32, 48] }\n"
              "target = { classes = 7 }\n[trial]\n" +
                  trial);
    try {
      static_cast<void>(read_sweep_file(path));
    } catch (const ConfigError& error) {
      return error.diagnostics().front().key + ": " + error.diagnostics().front().message;
    }
    return std::string();
  };
  EXPECT_EQ(findings("image_size = \"32x48\"\nsequence_length = 64\n"), "");
  EXPECT_THAT(findings("image_size = 32\n"),
              testing::StartsWith("trial.image_size: the script of mine takes what its input.shape "
                                  "says, [3, 32, 48], found 32"));
  EXPECT_THAT(findings("activation_checkpointing = true\n"),
              testing::StartsWith("trial.activation_checkpointing: the script of mine does not"));
}

}  // namespace
}  // namespace batchsweep::sweeps
