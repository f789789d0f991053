// SPDX-License-Identifier: Apache-2.0
// The batch script stands here whole, as users read it.
#include "slurm/batch_script.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "sweeps/sweep_file.hpp"

namespace batchsweep::slurm {
namespace {

using testing::HasSubstr;
using testing::Not;

BatchScript usual() {
  BatchScript script;
  script.sweep_name = "cards";
  script.job.job = "h100";
  script.folder = "/data/sweeps";
  script.program = "/opt/bs/bin/batchsweep";
  script.results = "cards.h100.h5";
  script.sweep_arguments = {"cards.toml", "--job", "h100", "--results", "cards.h100.h5"};
  return script;
}

TEST(BatchScript, IsThis) {
  BatchScript script = usual();
  script.job.partition = "booster";
  script.job.account = "abc";
  script.job.qos = "normal";
  script.job.time = "12:00:00";
  script.job.nodes = 4;
  script.job.gres = "gpu:h100:4";
  script.job.setup = {"module load openmpi", "export NCCL_DEBUG=WARN"};
  script.job.srun_args = {"--container-image=bs.sqsh"};
  script.job.sbatch_args = {"--exclusive"};
  EXPECT_EQ(render_batch_script(script), R"text(#!/bin/bash
# Job h100 of the sweep cards, written by "batchsweep submit". It may be changed and handed to sbatch.
#SBATCH --job-name=cards.h100
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --partition=booster
#SBATCH --account=abc
#SBATCH --qos=normal
#SBATCH --time=12:00:00
#SBATCH --gres=gpu:h100:4
#SBATCH --exclusive
#SBATCH --chdir=/data/sweeps
#SBATCH --output=cards.h100.log
#SBATCH --open-mode=append
#SBATCH --requeue
#SBATCH --no-kill
#SBATCH --signal=B:USR1@120

batchsweep=/opt/bs/bin/batchsweep
results=cards.h100.h5
sweep=(cards.toml --job h100 --results cards.h100.h5)
wrap=()
unset CUDA_VISIBLE_DEVICES  # those of this node; srun tells each node its own

# --- setup of the sweep file
module load openmpi
export NCCL_DEBUG=WARN

# --- start
# What the script was given, such as --rerun all, is for its first start, not for those after a requeue.
[ "${SLURM_RESTART_COUNT:-0}" -gt 0 ] && set --

# "batchsweep cancel" takes this file away, and then nothing starts again.
grep -qsx "$SLURM_JOB_ID" "$results.slurm" || echo "$SLURM_JOB_ID" >>"$results.slurm"

# How many are left for this job (--remaining), without those that found no device of their type in it, and how many are not (--recorded).
count() { "${wrap[@]}" "$batchsweep" plan "${sweep[@]}" "$1"; }

left=$(count --remaining) || exit
before=$(count --recorded) || exit
if [ "$left" = 0 ] && [ $# = 0 ]; then
  echo "$results: all is recorded"
  rm -f "$results.slurm"
  exit 0
fi

srun --no-kill --mpi=pmix --ntasks-per-node=1 --cpu-bind=none ${SLURM_CPUS_PER_TASK:+--cpus-per-task=$SLURM_CPUS_PER_TASK} --container-image=bs.sqsh "${wrap[@]}" "$batchsweep" run "${sweep[@]}" "$@" &
launcher=$!
trap 'kill -USR1 $launcher' USR1  # the time is nearly up: nothing new starts
trap 'ended=yes; kill -TERM $launcher' TERM  # scancel
while wait $launcher; code=$?; kill -0 $launcher 2>/dev/null; do :; done
trap - USR1 TERM

# --- end
left=$(count --remaining) || exit
if [ "$left" = 0 ]; then
  rm -f "$results.slurm"
  exit $code
fi
echo "$results: $left left"
if ! grep -qsx "$SLURM_JOB_ID" "$results.slurm"; then
  echo "the sweep was cancelled: this job does not start again"
  exit $((code ? code : 4))
fi
preempted() { scontrol show job -o "$SLURM_JOB_ID" | grep -q ' PreemptTime=[0-9]'; }
if [ -n "$ended" ] && ! preempted; then
  echo "somebody has ended this job: it does not start again"
  exit $((code ? code : 4))
fi
# A job that ends by itself counts as complete, so it must ask to start again. Without progress it would ask for ever; to be
# preempted is not its fault.
if [ $# -gt 0 ] || [ "$(count --recorded)" -gt "$before" ] || preempted; then
  echo "asking Slurm to start job $SLURM_JOB_ID again"
  scontrol requeue "$SLURM_JOB_ID" && sleep 300  # Slurm ends this script
fi
echo "nothing was recorded in this start, so the job does not start again: batchsweep explain says what happened"
exit $((code ? code : 4))
)text");
}

TEST(BatchScript, WithoutPmixMpirunStartsTheRanks) {
  BatchScript script = usual();
  script.job.launch = sweeps::SlurmLauncher::kMpirun;
  script.job.nodes = 2;
  script.job.wrap = {"apptainer", "exec", "--nv", "my image.sif"};
  const std::string text = render_batch_script(script);
  EXPECT_THAT(text, HasSubstr("\nmpirun --map-by ppr:1:node --bind-to none \"${wrap[@]}\" "));
  EXPECT_THAT(text, HasSubstr("\nwrap=(apptainer exec --nv 'my image.sif')\n"));
  EXPECT_THAT(text, Not(HasSubstr("srun")));
}

TEST(BatchScript, OfAChainAsksForNoRequeue) {
  BatchScript script = usual();
  script.job.chain = 5;
  const std::string text = render_batch_script(script);
  EXPECT_THAT(text, HasSubstr("\n#SBATCH --no-requeue\n"));
  EXPECT_THAT(text, Not(HasSubstr("scontrol")));
}

TEST(BatchScript, WithAnEndOfTheUsersOwnDoesNotGoOn) {
  BatchScript script = usual();
  script.run_arguments = {"--budget", "30 min"};
  script.goes_on = false;
  const std::string text = render_batch_script(script);
  EXPECT_THAT(text, HasSubstr(" run \"${sweep[@]}\" --budget '30 min' \"$@\" &"));
  EXPECT_THAT(text, HasSubstr("\n#SBATCH --requeue\n"))
      << "a lost node or preemption is another thing";
  EXPECT_THAT(text, Not(HasSubstr("scontrol")));
}

// The signal may come more than a minute early: half of a short job.
TEST(BatchScript, AShortJobGetsNoSignal) {
  BatchScript script = usual();
  for (const auto& [time, has_signal] : {std::pair("00:01:00", false),
                                         {"9", false},
                                         {"10", true},
                                         {"", true},
                                         {"UNLIMITED", true}}) {
    script.job.time = time;
    EXPECT_EQ(render_batch_script(script).find("--signal") != std::string::npos, has_signal)
        << time;
  }
}

TEST(BatchScript, NamesAreQuotedForSlurmAndForTheShell) {
  BatchScript script = usual();
  script.sweep_name = "my cards (50%)";
  script.results = "my cards (50%).h100.h5";
  script.folder = "/data/a \"b\"";
  script.sweep_arguments = {"it's.toml"};
  const std::string text = render_batch_script(script);
  EXPECT_THAT(text, HasSubstr("\n#SBATCH --job-name=my_cards__50__.h100\n"));
  EXPECT_THAT(text, HasSubstr("\n#SBATCH --output=\"my cards (50%%).h100.log\"\n"));
  EXPECT_THAT(text, HasSubstr("\n#SBATCH --chdir=\"/data/a \\\"b\\\"\"\n"));
  EXPECT_THAT(text, HasSubstr("\nresults='my cards (50%).h100.h5'\n"));
  EXPECT_THAT(text, HasSubstr("\nsweep=('it'\"'\"'s.toml')\n"));
  script.folder = "/data\n#SBATCH --account=other";
  EXPECT_THROW((void)render_batch_script(script), UsageError);
}

TEST(BatchScript, EachJobHasFilesOfItsOwn) {
  EXPECT_EQ(results_of_job("cards.h5", "h100"), "cards.h100.h5");
  EXPECT_EQ(results_of_job("out/cards", "h100"), "out/cards.h100.h5");
  EXPECT_EQ(script_path("out/cards.h100.h5"), "out/cards.h100.sbatch");
}

TEST(BatchScript, TheBlockToCopyIsASweepFilesOwn) {
  const std::string sweep = "[sweep]\nname = \"s\"\n[grid]\nmodel = \"lenet\"\nbatch_size = 8\n";
  const auto jobs = sweeps::read_sweep_text(sweep + example_block(), "x.toml").slurm;
  ASSERT_EQ(jobs.size(), 1U);
  EXPECT_EQ(jobs[0].job, "main");
  EXPECT_EQ(jobs[0].gres, "gpu:1");
}

}  // namespace
}  // namespace batchsweep::slurm
