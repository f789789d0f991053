// SPDX-License-Identifier: Apache-2.0
// Bad sweep files and what is said about them: the message is the product here, so it stands
// literally.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "sweeps/sweep_file.hpp"

namespace batchsweep::sweeps {
namespace {

std::string finding(const std::string& text, const SweepFileOptions& options = {}) {
  try {
    (void)read_sweep_text(text, "x.toml", options);
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kUsage);
    return error.what();
  }
  return "no error";
}

const std::string kHead = "[sweep]\nname = \"s\"\n";                         // lines 1, 2
const std::string kGrid = "[grid]\nmodel = \"resnet18\"\nbatch_size = 8\n";  // lines 3 to 5
const std::string kBase = kHead + kGrid;                                     // the next line is 6
const std::string kDevice = "[[device]]\nname = \"small\"\nkind = \"cpu\"\nmemory = \"1 GiB\"\n";

struct Case {
  std::string text, message;
};

void check(const std::vector<Case>& cases) {
  for (const Case& c : cases) EXPECT_EQ(finding(c.text), c.message) << "in\n" << c.text;
}

TEST(SweepFileErrors, FilesThatAreNoSweepFiles) {
  check({
      {"",
       "x.toml: empty file: a sweep needs at least [sweep] name and [grid] model and batch_size"},
      {" \n\t\n",
       "x.toml: empty file: a sweep needs at least [sweep] name and [grid] model and batch_size"},
      {"[sweep]\nname = \"s\xE9\"\n",
       "x.toml: line 2, column 10: not UTF-8 (byte 0xE9): save the file as UTF-8"},
      {"[sweep\n",
       "x.toml: line 1, column 7: Error while parsing table header: expected ']', saw '\\n'"},
      {"[sweep]\nname = \"s\"\nname = \"t\"\n",
       "x.toml: line 3, column 8: Error while parsing key-value pair: cannot redefine existing "
       "string 'name'"},
      {kHead + "seed = 99999999999999999999\n",
       "x.toml: line 3, column 28: Error while parsing decimal integer: '99999999999999999999' is "
       "not representable in 64 bits"},
      {"# nothing\n",
       "x.toml: sweep: missing: [sweep] with name\nx.toml: grid: missing: [grid] with model and "
       "batch_size"},
  });
  try {
    (void)read_sweep_file("/nowhere/x.toml");
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(), "/nowhere/x.toml: cannot read: No such file or directory");
  }
}

TEST(SweepFileErrors, UnknownKeys) {
  check({
      {kBase + "[trial]\nwarmup_step = 5\n",
       "x.toml: line 7, column 1: trial.warmup_step: unknown key, did you mean warmup_steps"},
      {kHead + "[grid]\nmodel = \"lenet\"\nbatchsize = 8\n",
       "x.toml: line 3, column 1: grid.batch_size: missing: samples per rank, such as [8, 16] or { "
       "from = 8, to = 512, factor = 2 }\nx.toml: line 5, column 1: grid.batchsize: unknown key, "
       "did you mean batch_size"},
      {kBase + "precison = \"bf16\"\n",
       "x.toml: line 6, column 1: grid.precison: unknown key, did you mean precision"},
      {kBase + "[Trial]\nwarmup_steps = 5\n",
       "x.toml: line 6, column 2: Trial: unknown key, did you mean trial"},
      {kBase + "[trial]\nqwertz = 5\n",
       "x.toml: line 7, column 1: trial.qwertz: unknown key; known here: activation_checkpointing, "
       "attention, batch_size, clip_grad_norm, confidence, cudnn_benchmark, data, dropout, env, "
       "exclusive, global_batch_size, gpu, gradient_accumulation_steps, image_size, learning_rate, "
       "max_steps, memory_format, min_time, model, momentum, num_classes, num_nodes, optimizer, "
       "placement, precision, relative_error, repeats, retries, runtime, schedule, "
       "sequence_length, setup_limit, stall_limit, time_limit, timed_steps, warmup_steps, "
       "weight_decay, world_size"},
      {kBase + "[trial]\nbatch_size = 5\n",
       "x.toml: line 7, column 14: trial.batch_size: belongs into [grid]"},
      {kBase + "[sweep.more]\n",
       "x.toml: line 6, column 8: sweep.more: unknown key; known here: name, order, seed"},
  });
}

TEST(SweepFileErrors, TypesUnitsAndRanges) {
  check({
      {kHead + "[grid]\nmodel = \"lenet\"\nbatch_size = 0\n",
       "x.toml: line 5, column 14: grid.batch_size: expected at least 1, found 0"},
      {kHead + "[grid]\nmodel = \"lenet\"\nbatch_size = \"8\"\n",
       "x.toml: line 5, column 14: grid.batch_size: expected a whole number, found \"8\""},
      {kHead + "[grid]\nmodel = \"lenet\"\nbatch_size = 8.5\n",
       "x.toml: line 5, column 14: grid.batch_size: expected a whole number, found 8.5"},
      {kHead + "[grid]\nmodel = \"lenet\"\nbatch_size = []\n",
       "x.toml: line 5, column 14: grid.batch_size: an empty list makes an empty grid: give at "
       "least one value"},
      {kHead + "[grid]\nmodel = \"lenet\"\nbatch_size = [8, -1]\n",
       "x.toml: line 5, column 18: grid.batch_size: expected at least 1, found -1"},
      {kHead + "[grid]\nmodel = \"lenet\"\nbatch_size = { from = 8, to = 4, factor = 2 }\n",
       "x.toml: line 5, column 14: grid.batch_size.from: 8 is larger than to = 4"},
      {kHead + "[grid]\nmodel = \"lenet\"\nbatch_size = { from = 8, to = 64 }\n",
       "x.toml: line 5, column 14: grid.batch_size.factor: missing: a range takes either factor or "
       "step"},
      {kHead +
           "[grid]\nmodel = \"lenet\"\nbatch_size = { from = 8, to = 64, step = 8, factor = 2 }\n",
       "x.toml: line 5, column 14: grid.batch_size.factor: missing: a range takes either factor or "
       "step"},
      {kHead + "[grid]\nmodel = \"lenet\"\nbatch_size = { from = 1, to = 2000000000, step = 1 }\n",
       "x.toml: line 5, column 14: grid.batch_size.step: 2000000000 values: at most 10000000 are "
       "allowed"},
      {kHead + "[grid]\nmodel = 3\nbatch_size = 8\n",
       "x.toml: line 4, column 9: grid.model: expected text, found 3"},
      {kHead + "[grid]\nmodel = \"\"\nbatch_size = 8\n",
       "x.toml: line 4, column 9: grid.model: expected text that is not empty"},
      {kHead + "[grid]\nmodel = \"a\\nb\"\nbatch_size = 8\n",
       "x.toml: line 4, column 9: grid.model: control characters (such as a line break) are not "
       "allowed here"},
      {kBase + "precision = \"fp23\"\n",
       "x.toml: line 6, column 13: grid.precision: expected one of fp32, tf32, fp16, bf16, "
       "bf16-true, fp8, found \"fp23\", did you mean fp32"},
      {kBase + "image_size = \"32by32\"\n",
       "x.toml: line 6, column 14: grid.image_size: expected a side such as 224, or "
       "\"HEIGHTxWIDTH\" such as \"480x640\", found \"32by32\""},
      {kBase + "env = \"A=1\"\n",
       "x.toml: line 6, column 7: grid.env: expected a table such as { NCCL_ALGO = \"Ring\" }, "
       "found \"A=1\""},
      {kBase + "env = { CUDA_VISIBLE_DEVICES = \"0\", \"A-B\" = \"1\", C = 1 }\n",
       "x.toml: line 6, column 9: grid.env.CUDA_VISIBLE_DEVICES: belongs to batchsweep, which sets "
       "it itself\nx.toml: line 6, column 37: grid.env.A-B: is no name of an environment "
       "variable\nx.toml: line 6, column 54: grid.env.C: expected text in one line, found 1"},
      {kBase + "[trial.env]\nTMPDIR = \"/x\"\nBATCHSWEEP_DATA = \"/x\"\nSLURM_NTASKS = \"1\"\n"
               "OMPI_MCA_btl = \"1\"\nMY_SLURM_X = \"1\"\n",
       "x.toml: line 7, column 1: trial.env.TMPDIR: belongs to batchsweep, which sets it itself\n"
       "x.toml: line 8, column 1: trial.env.BATCHSWEEP_DATA: belongs to batchsweep, which sets it "
       "itself\n"
       "x.toml: line 9, column 1: trial.env.SLURM_NTASKS: belongs to the launcher: a trial never "
       "sees it\n"
       "x.toml: line 10, column 1: trial.env.OMPI_MCA_btl: belongs to the launcher: a trial never "
       "sees it"},
      {kBase + "[trial]\nwarmup_steps = -1\n",
       "x.toml: line 7, column 16: trial.warmup_steps: expected at least 0, found -1"},
      {kBase + "[trial]\nmin_time = 5\n",
       "x.toml: line 7, column 12: trial.min_time: expected a time with a unit, such as \"30 s\" "
       "or \"10 min\", found 5"},
      {kBase + "[trial]\ntime_limit = \"10\"\n",
       "x.toml: line 7, column 14: trial.time_limit: expected a time with a unit, such as \"30 s\" "
       "or \"10 min\", found \"10\""},
      {kBase + "[trial]\nstall_limit = \"0 s\"\n",
       "x.toml: line 7, column 15: trial.stall_limit: a limit must be longer than 0 s"},
      {kBase + "[trial]\nexclusive = \"node\"\n",
       "x.toml: line 7, column 13: trial.exclusive: expected one of device, host, found \"node\""},
      {kBase + "[trial]\ndropout = 1\n",
       "x.toml: line 7, column 11: trial.dropout: expected at most 0.999, found 1"},
      {kBase + "[trial]\nwarmup_steps = [1, 2]\n",
       "x.toml: line 7, column 16: trial.warmup_steps: expected one value, found a list: several "
       "values belong into [grid]"},
      {kBase + "[trial]\nconfidence = 0.9\n",
       "x.toml: line 7, column 14: trial.confidence: only with timed_steps = \"adaptive\""},
      {kBase + "[trial]\ncudnn_benchmark = \"yes\"\n",
       "x.toml: line 7, column 19: trial.cudnn_benchmark: expected true or false, found \"yes\""},
      {"sweep = 1\n" + kGrid, "x.toml: line 1, column 9: sweep: expected a table, found 1"},
      {kBase + "[[trial]]\n", "x.toml: line 6, column 1: trial: expected a table, found a list"},
      {"device = 5\n" + kBase,
       "x.toml: line 1, column 10: device: expected tables, written [[device]], found 5"},
      {"grid = [1]\n" + kHead,
       "x.toml: line 1, column 9: grid: expected tables, written [[grid]], found 1"},
  });
}

TEST(SweepFileErrors, Names) {
  check({
      {"[sweep]\nname = \"a/b\"\n" + kGrid,
       "x.toml: line 2, column 8: sweep.name: \"a/b\" cannot name files: no \"/\", and no \".\" or "
       "\"-\" in front"},
      {"[sweep]\nname = \"..\"\n" + kGrid,
       "x.toml: line 2, column 8: sweep.name: \"..\" cannot name files: no \"/\", and no \".\" or "
       "\"-\" in front"},
      {"[sweep]\nname = \"" + std::string(300, 'x') + "\"\n" + kGrid,
       "x.toml: line 2, column 8: sweep.name: longer than 200 bytes: it names files"},
      {"[sweep]\n" + kGrid,
       "x.toml: line 1, column 1: sweep.name: missing: it names the output files"},
      {kGrid, "x.toml: sweep: missing: [sweep] with name"},
      {kHead, "x.toml: grid: missing: [grid] with model and batch_size"},
      {kHead + "[grid]\n",
       "x.toml: line 3, column 1: grid.model: missing: which models to train\nx.toml: line 3, "
       "column 1: grid.batch_size: missing: samples per rank, such as [8, 16] or { from = 8, to = "
       "512, factor = 2 }"},
      {kHead + "seed = -1\n" + kGrid,
       "x.toml: line 3, column 8: sweep.seed: expected at least 0, found -1"},
      {kHead + "order = \"random\"\n" + kGrid,
       "x.toml: line 3, column 9: sweep.order: expected one of auto, grid, shuffled, found "
       "\"random\""},
      {kHead + "[grid]\nmodel = \"resnet81\"\nbatch_size = 8\n",
       "x.toml: line 4, column 9: grid.model: unknown model \"resnet81\", did you mean resnet18 "
       "or resnet34 or resnet50; batchsweep models lists those built in"},
      {kBase + "gpu = \"A100\"\n",
       "x.toml: line 6, column 7: grid.gpu: \"A100\" is not exact: did you mean A100 40GB PCIe, "
       "A100 40GB SXM, A100 80GB PCIe, A100 80GB SXM"},
      {kBase + "gpu = \"RTX 6000\"\n",
       "x.toml: line 6, column 7: grid.gpu: \"RTX 6000\" is not exact: did you mean Quadro RTX "
       "6000, RTX 6000 Ada, RTX PRO 6000 Blackwell"},
      {kBase + "gpu = \"H100 80GB SMX\"\n",
       "x.toml: line 6, column 7: grid.gpu: \"H100 80GB SMX\" is not exact: did you mean H100 80GB "
       "SXM, A100 80GB SXM, A100 40GB SXM"},
      {kBase + "gpu = \"abacus\"\n",
       "x.toml: line 6, column 7: grid.gpu: unknown device \"abacus\": neither a [[device]] nor in "
       "the catalogue (batchsweep gpus)"},
      {kBase + "gpu = \"cpu\"\n" + kDevice,
       "x.toml: line 6, column 7: grid.gpu: \"cpu\" is replaced by the declared cpu devices: "
       "small"},
      {kBase + "gpu = \"smal\"\n" + kDevice,
       "x.toml: line 6, column 7: grid.gpu: unknown device \"smal\", did you mean small"},
      {kBase + "runtime = \"old\"\n[[runtime]]\nname = \"odl\"\ncommand = [\"x\"]\n",
       "x.toml: line 6, column 11: grid.runtime: unknown runtime \"old\", did you mean odl: "
       "declare it as [[runtime]]"},
      {kBase + "[[exclude]]\nmodel = \"resnet81\"\n",
       "x.toml: line 6, column 1: exclude.model: \"resnet81\" matches no model of the grid, did "
       "you mean resnet18"},
      {kBase + "[[exclude]]\nmodle = \"resnet18\"\n",
       "x.toml: line 7, column 1: exclude.modle: unknown key, did you mean model"},
      {kBase + "[[exclude]]\n",
       "x.toml: line 6, column 1: exclude: an empty [[exclude]] would drop every point"},
      {kBase + "[[exclude]]\nmodel = { from = 3 }\n",
       "x.toml: line 7, column 9: exclude.model: a range { from, to } is for whole numbers only"},
      {kBase + "[[exclude]]\nbatch_size = { from = 3, to = 2 }\n",
       "x.toml: line 7, column 14: exclude.batch_size.from: 3 is larger than to = 2"},
      {kBase + "[[exclude]]\nprecision = \"fp23\"\n",
       "x.toml: line 7, column 13: exclude.precision: expected one of fp32, tf32, fp16, bf16, "
       "bf16-true, fp8, found \"fp23\", did you mean fp32"},
  });
}

TEST(SweepFileErrors, Devices) {
  const std::string d = kBase + "[[device]]\n";
  check({
      {d + "name = \"a\"\nkind = \"cpu\"\nmemory = 80\n",
       "x.toml: line 9, column 10: device.memory: expected a size with a unit, such as \"11 GiB\" "
       "(2^30) or \"11 GB\" (10^9), found 80"},
      {d + "name = \"a\"\nkind = \"cpu\"\nmemory = \"80 gb\"\n",
       "x.toml: line 9, column 10: device.memory: expected a size with a unit, such as \"11 GiB\" "
       "(2^30) or \"11 GB\" (10^9), found \"80 gb\""},
      {d + "name = \"a\"\nkind = \"cpu\"\nmemory = \"80G\"\n",
       "x.toml: line 9, column 10: device.memory: expected a size with a unit, such as \"11 GiB\" "
       "(2^30) or \"11 GB\" (10^9), found \"80G\""},
      {d + "kind = \"gpu\"\n",
       "x.toml: line 6, column 1: device.name: missing: what the grid calls it\nx.toml: line 7, "
       "column 8: device.kind: expected one of cpu, cuda, found \"gpu\", did you mean cpu"},
      {d + "name = \"a\"\n", "x.toml: line 6, column 1: device.kind: missing: \"cpu\" or \"cuda\""},
      {d + "name = \"a\"\nkind = \"cpu\"\nmemory = \"1 GiB\"\nreserve = \"1 GiB\"\n",
       "x.toml: line 9, column 10: device.memory: nothing is left: memory 1.0 GiB, reserve 1.0 "
       "GiB"},
      {d + "name = \"a\"\nkind = \"cpu\"\nmemory = \"99999999999 TiB\"\n",
       "x.toml: line 9, column 10: device.memory: \"99999999999 TiB\" is too large: less than "
       "8388608 TiB is possible"},
      {d + "name = \"a\"\nkind = \"cpu\"\nmemory = \"1" + std::string(400, '0') + " B\"\n",
       "x.toml: line 9, column 10: device.memory: \"1" + std::string(400, '0') +
           " B\" is too large: less than 8388608 TiB is possible"},
      {d + "name = \"a\"\nkind = \"cpu\"\non = \"H200 SXM\"\n",
       "x.toml: line 9, column 6: device.on: only for kind = \"cuda\": the real card that carries "
       "an emulated one"},
      {d + "name = \"a\"\nkind = \"cuda\"\non = \"H200\"\n",
       "x.toml: line 9, column 6: device.on: unknown card \"H200\", did you mean H200 SXM, H200 "
       "NVL; see: batchsweep gpus"},
      {d + "name = \"a\"\nkind = \"cpu\"\nhosts = \"n[1-\"\n",
       "x.toml: line 9, column 9: device.hosts: expected a host such as \"n1\" or \"n[1-4]\", "
       "found \"n[1-\""},
      {d + "name = \"a\"\nkind = \"cpu\"\ncount = 0\nthreads = 0\n",
       "x.toml: line 9, column 9: device.count: expected at least 1, found 0\nx.toml: line 10, "
       "column 11: device.threads: expected at least 1, found 0"},
      {d + "name = \"RTX 2080 Ti\"\nkind = \"cpu\"\n",
       "x.toml: line 6, column 1: device.name: \"RTX 2080 Ti\" is a card of the catalogue: give a "
       "cpu device a free name"},
      {d + "name = \"cpu\"\nkind = \"cuda\"\n",
       "x.toml: line 6, column 1: device.name: \"cpu\" is the name of the default cpu device"},
      {kBase + kDevice + "[[device]]\nname = \"small\"\nkind = \"cuda\"\n",
       "x.toml: line 10, column 1: device.name: \"small\" is declared twice, with different kinds: "
       "device names must differ"},
      {kBase + kDevice + "[[device]]\nname = \"small\"\nkind = \"cpu\"\nmemory = \"2 GiB\"\n",
       "x.toml: line 10, column 1: device.name: \"small\" is declared twice with different memory, "
       "reserve, threads or carrier: device names must differ"},
      {kBase + kDevice + kDevice,
       "x.toml: line 10, column 1: device.name: \"small\" is declared twice for the same hosts: "
       "use count"},
      {kBase +
           "[[runtime]]\nname = \"a\"\ncommand = []\n[[runtime]]\nname = \"a\"\ngpu = \"V100\"\n",
       "x.toml: line 8, column 11: runtime.command: an empty list starts nothing\nx.toml: line 9, "
       "column 1: runtime.command: missing: the trial program and its arguments, as a "
       "list\nx.toml: line 9, column 1: runtime.name: \"a\" is declared twice\nx.toml: line 11, "
       "column 7: runtime.gpu: \"V100\" is not exact: did you mean V100 16GB PCIe, V100 16GB SXM, "
       "V100 32GB SXM"},
  });
}

TEST(SweepFileErrors, RulesBetweenKeys) {
  const std::string text = kHead + "[grid]\nmodel = \"bert-tiny\"\n";
  check({
      {kBase + "global_batch_size = 8\n",
       "x.toml: line 6, column 21: grid.global_batch_size: stands beside batch_size: give one of "
       "the two"},
      {kHead + "[grid]\nmodel = \"lenet\"\nglobal_batch_size = [8, 9]\ngradient_accumulation_steps "
               "= 2\n",
       "x.toml: line 5, column 21: grid.global_batch_size: 9 does not divide by world_size 1 x "
       "gradient_accumulation_steps 2: choose another or [[exclude]] it"},
      {kBase + "[trial]\nwarmup_steps = 0\ntimed_steps = 1\n",
       "x.toml: line 8, column 15: trial.timed_steps: warmup_steps + timed_steps must be at least "
       "2: the memory of the optimizer appears with the second step"},
      {text + "batch_size = 8\ndata = \"fashion-mnist\"\n",
       "x.toml: line 6, column 8: grid.data: bert-tiny takes text, and fashion-mnist holds none: "
       "give it other data in [model.bert-tiny] or in another [[grid]]"},
      {text + "batch_size = 8\nsequence_length = 513\n",
       "x.toml: line 6, column 19: grid.sequence_length: bert-tiny has 512 positions, found 513"},
      {text + "batch_size = 8\nimage_size = 32\n",
       "x.toml: line 6, column 14: grid.image_size: means nothing here: no model of this sweep "
       "takes images"},
      {kHead + "[grid]\nmodel = \"lenet\"\nbatch_size = 8\nimage_size = [28, 8]\n",
       "x.toml: line 6, column 14: grid.image_size: lenet needs images of at least 12 pixels a "
       "side, found 8"},
      {kBase + "[trial]\nsequence_length = 64\ndropout = 0.5\n",
       "x.toml: line 7, column 19: trial.sequence_length: means nothing here: no model of this "
       "sweep takes text\nx.toml: line 8, column 11: trial.dropout: means nothing here: no model "
       "of this sweep has dropout"},
      {kBase + "attention = [\"auto\", \"math\"]\n",
       "x.toml: line 6, column 13: grid.attention: means nothing here: no model of this sweep has "
       "attention"},
      {text + "batch_size = 8\n[trial]\nmemory_format = \"channels_last\"\n",
       "x.toml: line 7, column 17: trial.memory_format: means nothing here: no model of this sweep "
       "takes images"},
      {kBase + "[trial]\noptimizer = \"adamw\"\nmomentum = 0.5\n",
       "x.toml: line 8, column 12: trial.momentum: means nothing here: only sgd has momentum, and "
       "no trial of this sweep uses it"},
      {kBase + "[trial]\ndata = \"text:/nowhere/t.txt\"\n",
       "x.toml: line 7, column 8: trial.data: no such file: /nowhere/t.txt"},
      {kBase + "[trial]\ndata = \"text:\"\n",
       "x.toml: line 7, column 8: trial.data: expected text:FILE, found \"text:\""},
      {kBase + "[trial]\ndata = \"synthetik\"\n",
       "x.toml: line 7, column 8: trial.data: expected synthetic, fashion-mnist, images:DIR, "
       "text:FILE, tokens:FILE or tensors:FILE.safetensors, found \"synthetik\", did you mean "
       "synthetic"},
      {kBase + "[trial]\ndata = \"tensors:a.bin\"\n",
       "x.toml: line 7, column 8: trial.data: expected tensors:FILE.safetensors, found "
       "\"tensors:a.bin\""},
      {kBase + "[model.mine]\n",
       "x.toml: line 6, column 1: model.mine.source: missing: \"script:FILE\" or the name of a "
       "built-in model"},
      {kBase + "[model.mine]\nsource = \"resnet81\"\n",
       "x.toml: line 7, column 10: model.mine.source: unknown model \"resnet81\", did you mean "
       "resnet18 or resnet34 or resnet50; batchsweep models lists those built in"},
      {kBase + "[model.mine]\nsource = \"resnet18\"\nhead = \"mlm\"\ninput = { shape = [3] }\n",
       "x.toml: line 8, column 8: model.mine.head: resnet18 has one head only\nx.toml: line 9, "
       "column 9: model.mine.input: only for a \"script:FILE\": built-in models know their own"},
      {kBase + "[model.\"a\\nb\"]\nsource = \"resnet18\"\n",
       "x.toml: line 6, column 8: model.a\nb: control characters (such as a line break) are not "
       "allowed here"},
  });
}

TEST(SweepFileErrors, OwnModels) {
  const std::string script = kBase + "[model.mine]\nsource = \"script:/no/n.pt\"\n";
  check({
      {script,
       "x.toml: line 6, column 1: model.mine.input: missing: a script cannot tell it\nx.toml: line "
       "6, column 1: model.mine.target: missing: a script cannot tell it\nx.toml: line 7, column "
       "10: model.mine.source: no such file: /no/n.pt"},
      {script + "input = { dtype = \"int64\" }\ntarget = { classes = 2 }\nhead = \"lm\"\n",
       "x.toml: line 7, column 10: model.mine.source: no such file: /no/n.pt\nx.toml: line 8, "
       "column 9: model.mine.input.shape: missing: of one sample, such as [3, 224, 224]\nx.toml: "
       "line 8, column 9: model.mine.input.vocabulary: missing: how many tokens there are: an "
       "int64 "
       "input holds 0 to one less\nx.toml: line 10, column 8: model.mine.head: a script has no "
       "choice of heads"},
      {script +
           "input = { shape = [3, 8, 8], vocabulary = 5 }\ntarget = { classes = 2 }\nweights = "
           "\"w.safetensors\"\n",
       "x.toml: line 7, column 10: model.mine.source: no such file: /no/n.pt\nx.toml: line 8, "
       "column 43: model.mine.input.vocabulary: only with dtype = \"int64\"\nx.toml: line 10, "
       "column 11: model.mine.weights: a script brings its own weights"},
      {kBase + "[model.mine]\nsource = \"bert-tiny\"\nhead = \"lm\"\nweights = \"w.pth\"\n",
       "x.toml: line 8, column 8: model.mine.head: bert-tiny has the heads mlm, classify, qa, "
       "found "
       "\"lm\"\nx.toml: line 9, column 11: model.mine.weights: expected FILE.safetensors, found "
       "\"w.pth\": save the weights with safetensors.torch.save_file(model.state_dict(), ...)"},
      {kBase + "[model.mine]\nsource = \"resnet18\"\npartial_weights = true\n",
       "x.toml: line 8, column 19: model.mine.partial_weights: only with weights"},
      {kBase + "[model.mine]\nsource = \"resnet18\"\nweights = \"/no/w.safetensors\"\n",
       "x.toml: line 8, column 11: model.mine.weights: no such file: /no/w.safetensors"},
  });
}

TEST(SweepFileErrors, WhatDoesNotExistYetIsRefusedByName) {
  check({
      {kBase + "precision = [\"fp32\", \"fp8\"]\n",
       "x.toml: line 6, column 22: grid.precision: \"fp8\" is not available yet (available: fp32, "
       "tf32, bf16, fp16, bf16-true)"},
      {kHead + "[grid]\nmodel = \"lenet\"\nbatch_size = \"largest\"\n",
       "x.toml: line 5, column 14: grid.batch_size: \"largest\" is not available yet (available: "
       "numbers)"},
      {kHead + "[grid]\nmodel = \"lenet\"\nbatch_size = { largest = true, multiple_of = 8, max = "
               "64 }\n",
       "x.toml: line 5, column 14: grid.batch_size: \"largest\" is not available yet (available: "
       "numbers)"},
      {kBase + "[trial]\ntimed_steps = \"adaptive\"\nconfidence = 0.95\nrelative_error = "
               "0.01\nmax_steps = 100\n",
       "x.toml: line 7, column 15: trial.timed_steps: \"adaptive\" is not available yet "
       "(available: a number)"},
      {kBase + "[prices]\n\"H100 80GB PCIe\" = { buy = 27000, hour = 1.99, currency = \"usd\" }\n",
       "x.toml: line 6, column 1: prices: not available yet\nx.toml: line 7, column 59: "
       "prices.H100 80GB PCIe.currency: expected three capitals such as \"EUR\", found \"usd\""},
  });
}

TEST(SweepFileErrors, SlurmJobsThatCannotBe) {
  check({
      {kBase + "[[slurm]]\ntime = \"noon\"\nsetup = \"x\"\nwhen_time_is_up = \"stop\"\nonly = { "
               "gqu = \"x\" }\nnodes = 0\nlaunch = \"mpiexec\"\nnode = 4\n",
       "x.toml: line 6, column 1: slurm.job: missing: it names the job and its results "
       "file\nx.toml: line 7, column 8: slurm.time: expected Slurm's \"HH:MM:SS\" or \"12 h\", found "
       "\"noon\"\nx.toml: line 8, column 9: slurm.setup: expected a list of texts, found "
       "\"x\"\nx.toml: line 9, column 19: slurm.when_time_is_up: expected \"requeue\" or "
       "\"chain:5\" (1 to 100), found \"stop\"\nx.toml: line 10, column 10: slurm.only.gqu: unknown "
       "key, did you mean gpu\nx.toml: line 11, column 9: slurm.nodes: expected at least 1, found "
       "0\nx.toml: line 12, column 10: slurm.launch: expected one of srun, mpirun, found "
       "\"mpiexec\"\nx.toml: line 13, column 1: slurm.node: unknown key, did "
       "you mean nodes"},
      {kBase + "[[slurm]]\njob = \"a/b\"\n[[slurm]]\njob = \"a\"\nwhen_time_is_up = "
               "\"chain:101\"\n[[slurm]]\njob = \"a\"\nlaunch = \"mpirun\"\nmpi = \"pmix\"\n",
       "x.toml: line 7, column 7: slurm.job: it names files: expected letters, digits, \"_\", \"-\" "
       "and \".\", found \"a/b\"\nx.toml: line 10, column 19: slurm.when_time_is_up: expected "
       "\"requeue\" or \"chain:5\" (1 to 100), found \"chain:101\"\nx.toml: line 11, column 1: "
       "slurm.job: \"a\" is declared twice\nx.toml: line 14, column 7: slurm.mpi: only for launch = "
       "\"srun\": mpirun would not see it"},
  });
}

TEST(SweepFileErrors, DataThatHoldsNoAnswersForTheModelsTask) {
  const auto of = [](const std::string& model, const std::string& data) {
    return kHead + "[grid]\nmodel = \"" + model + "\"\nbatch_size = 8\ndata = \"" + data + "\"\n";
  };
  const std::string at = "x.toml: line 6, column 8: grid.data: ";
  const std::string instead = "use \"synthetic\" or \"tensors:FILE.safetensors\" (x and y)";
  check({
      {of("deeplabv3_resnet50", "fashion-mnist"),
       at +
           "deeplabv3_resnet50 shall tell the class of each pixel, and fashion-mnist holds none: " +
           instead},
      {of("transformer_big", "text:/etc/passwd"),
       at + "transformer_big shall tell translations, and text:/etc/passwd holds none: " + instead},
      {of("tiny", "text:/etc/passwd") + "[model.tiny]\nsource = \"bert-tiny\"\nhead = \"qa\"\n",
       at + "tiny shall tell answers, and text:/etc/passwd holds none: " + instead +
           ", or the head mlm"},
      {of("tiny", "tokens:/etc/passwd") +
           "[model.tiny]\nsource = \"bert-tiny\"\nhead = \"classify\"\n",
       at + "tiny shall tell classes, and tokens:/etc/passwd holds none: " + instead +
           ", or the head mlm"},
      {of("lenet", "tokens:/etc/passwd"),
       at + "lenet takes images, and tokens:/etc/passwd holds none: give it other data in "
            "[model.lenet] or in another [[grid]]"},
  });
  EXPECT_EQ(finding(of("bert-tiny", "text:/etc/passwd")), "no error");
  EXPECT_EQ(finding(of("gpt2", "tokens:/etc/passwd")), "no error");
}

TEST(SweepFileErrors, FoldersThatHoldNoImagesToLearnFrom) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(testing::TempDir()) / "batchsweep_no_images";
  fs::remove_all(folder);
  fs::create_directories(folder);
  const std::string text = kBase + "[trial]\ndata = \"images:" + folder.string() + "\"\n";
  const std::string at = "x.toml: line 7, column 8: trial.data: ";
  EXPECT_EQ(finding(kBase + "[trial]\ndata = \"images:/nowhere\"\n"),
            at + "no such folder: /nowhere");
  EXPECT_EQ(finding(text), at + folder.string() +
                               " holds no class: expected one folder a class with .jpg or .jpeg "
                               "files in it");
  fs::create_directories(folder / "cat");
  EXPECT_EQ(finding(text),
            at + folder.string() + " holds one class only (cat): there is nothing to tell apart");
  fs::create_directories(folder / "dog");
  std::ofstream(folder / "cat" / "1.JPEG") << "x";
  EXPECT_EQ(finding(text), at + folder.string() + " holds no .jpg or .jpeg file of the class dog");
  std::ofstream(folder / "dog" / "1.jpg") << "x";
  EXPECT_EQ(finding(text), "no error");
  fs::remove_all(folder);
}

TEST(SweepFileErrors, AllFindingsAtOnceInTheOrderOfTheFile) {
  EXPECT_EQ(finding(kHead + "sead = 1\n[grid]\nmodel = \"resnet81\"\nbatch_size = "
                            "0\n[trial]\nwarmup_step = 5\ntime_limit = 5\n"),
            "x.toml: line 3, column 1: sweep.sead: unknown key, did you mean seed\nx.toml: line 5, "
            "column 9: grid.model: unknown model \"resnet81\", did you mean resnet18 or "
            "resnet34 or resnet50; batchsweep models lists those built in\nx.toml: line 6, column "
            "14: grid.batch_size: expected at "
            "least 1, found 0\nx.toml: line 8, column 1: trial.warmup_step: unknown key, did you "
            "mean warmup_steps\nx.toml: line 9, column 14: trial.time_limit: expected a time with "
            "a unit, such as \"30 s\" or \"10 min\", found 5");
}

TEST(SweepFileErrors, OfSetNameTheSet) {
  const auto set = [](const std::string& text) {
    return finding(kBase, {.set = {text}, .site = std::nullopt});
  };
  EXPECT_EQ(
      set("trial.timed_steps=\"5\""),
      "--set trial.timed_steps=\"5\": trial.timed_steps: expected a whole number, found \"5\"");
  EXPECT_EQ(set("trial.timed_step=5"),
            "--set trial.timed_step=5: trial.timed_step: unknown key, did you mean timed_steps");
  EXPECT_EQ(set("trial.data=synthetic"),
            "--set trial.data=synthetic: Error while parsing value: could not determine value type "
            "(text needs quotes: --set 'trial.data=\"synthetic\"')");
  EXPECT_EQ(
      set("trial.timed_steps"),
      "--set trial.timed_steps: expected key=value in one line, for example trial.timed_steps=50");
  EXPECT_EQ(set("sweep.name.x=1"), "--set sweep.name.x=1: name is no table");
}

const std::string kRehearsal =
    kHead + "[grid]\nmodel = \"any\"\nbatch_size = [8, 16]\n" + kDevice + "[rehearsal]\n";

TEST(SweepFileErrors, Rehearsals) {
  check({
      {kRehearsal,
       "x.toml: line 10, column 1: rehearsal.rule: missing: what the trials shall play, as "
       "[[rehearsal.rule]]"},
      {kRehearsal + "mode = \"simulate\"\n[[rehearsal.rule]]\n",
       "x.toml: line 11, column 8: rehearsal.mode: expected one of process, simulated, found "
       "\"simulate\", did you mean simulated"},
      {kRehearsal + "[[rehearsal.node]]\ndevices = { small = 2 }\n[[rehearsal.rule]]\n",
       "x.toml: line 11, column 1: rehearsal.node: only with mode = \"simulated\": processes run "
       "on the hosts there are"},
      {kRehearsal + "mode = \"simulated\"\n[[rehearsal.node]]\ndevices = { smal = 2 "
                    "}\n[[rehearsal.node]]\n[[rehearsal.rule]]\n",
       "x.toml: line 13, column 13: rehearsal.node.devices.smal: unknown device \"smal\", did you "
       "mean small\nx.toml: line 14, column 1: rehearsal.node.devices: missing: such as { small = "
       "4 }"},
      {kRehearsal + "[[rehearsal.rule]]\nwhen = { batch_size = 8 }\n",
       "x.toml: rehearsal.rule: no rule matches 1 trial, the first: gpu small, model any, "
       "precision fp32, batch_size 16, world_size 1"},
      {kRehearsal + "[[rehearsal.rule]]\nwhen = { batchsize = 8 }\nmemroy = {}\n",
       "x.toml: line 12, column 10: rehearsal.rule.when.batchsize: unknown key, did you mean "
       "batch_size\nx.toml: line 13, column 1: rehearsal.rule.memroy: unknown key, did you mean "
       "memory"},
      {kRehearsal + "[[rehearsal.rule]]\nmemory = { fixed = 200, noise = 2, reserved_factor = 0.5, "
                    "except = 3 }\n",
       "x.toml: line 12, column 20: rehearsal.rule.memory.fixed: expected a size with a unit, such "
       "as \"11 GiB\" (2^30) or \"11 GB\" (10^9), found 200\nx.toml: line 12, column 33: "
       "rehearsal.rule.memory.noise: expected at most 1, found 2\nx.toml: line 12, column 54: "
       "rehearsal.rule.memory.reserved_factor: expected at least 1, found 0.5\nx.toml: line 12, "
       "column 68: rehearsal.rule.memory.except: expected a list of batch sizes, found 3"},
      {kRehearsal + "[[rehearsal.rule]]\nstep = { fixed = \"5\", series = \"ar1:2\" }\n",
       "x.toml: line 12, column 18: rehearsal.rule.step.fixed: expected a time with a unit, such "
       "as \"30 s\" or \"10 min\", found \"5\"\nx.toml: line 12, column 32: "
       "rehearsal.rule.step.series: expected iid, drift, bimodal, spikes or ar1:0.9 (between -1 "
       "and 1), found \"ar1:2\""},
      {kRehearsal + "[[rehearsal.rule]]\nfault = \"segfalt\"\n",
       "x.toml: line 12, column 9: rehearsal.rule.fault: expected one of none, hang, stop, "
       "segfault, kill, exit:3, half_line, garbage, nan_loss, oom, host_oom, bus_error, "
       "grandchild, kill_agent, found \"segfalt\", did you mean segfault"},
      {kRehearsal + "[[rehearsal.rule]]\nfault = \"exit:0\"\n",
       "x.toml: line 12, column 9: rehearsal.rule.fault: expected one of none, hang, stop, "
       "segfault, kill, exit:3, half_line, garbage, nan_loss, oom, host_oom, bus_error, "
       "grandchild, kill_agent, found \"exit:0\", did you mean exit:3"},
      {kRehearsal + "[[rehearsal.rule]]\nfault_step = 3\n",
       "x.toml: line 12, column 14: rehearsal.rule.fault_step: means nothing without fault"},
      {kHead + "[grid]\nmodel = \"any\"\nbatch_size = 8\n[rehearsal]\n[[rehearsal.rule]]\n",
       "x.toml: device: missing: a rehearsal plays on [[device]] entries or on cards that the grid "
       "names"},
      {kHead + "[grid]\ngpu = \"cpu\"\nmodel = \"any\"\nbatch_size = "
               "8\n[rehearsal]\n[[rehearsal.rule]]\n",
       "x.toml: line 4, column 7: grid.gpu: \"cpu\" is not declared: every device of a rehearsal "
       "stands in [[device]] or in the catalogue"},
      {kHead + "[grid]\nmodel = \"any\"\nbatch_size = 8\nworld_size = [4, 5]\n" + kDevice +
           "[rehearsal]\nmode = \"simulated\"\n[[rehearsal.node]]\ndevices = { small = 2 }\ncount "
           "= 2\n[[rehearsal.rule]]\n",
       "x.toml: line 6, column 14: grid.world_size: no declared node could hold 5 ranks: at most 4 "
       "devices of one type are declared"},
  });
}

}  // namespace
}  // namespace batchsweep::sweeps
