# SPDX-License-Identifier: Apache-2.0
"""submit and cancel where there is no Slurm: stand-ins for its commands note what they were asked, or refuse."""
import pathlib
import re
import time
import unittest

from harness import Sandbox

ROOT = pathlib.Path(__file__).resolve().parents[2]

SWEEP = """
[sweep]
name = "cards"
[grid]
model = "lenet"
gpu = ["a", "b", "c"]
batch_size = [1, 2]
[[device]]
name = "a"
kind = "cpu"
memory = "1 GiB"
[[device]]
name = "b"
kind = "cpu"
memory = "2 GiB"
[[device]]
name = "c"
kind = "cpu"
memory = "3 GiB"
[rehearsal]
mode = "process"
[[rehearsal.rule]]
step = { fixed = "1 ms" }
"""
TWO_JOBS = """
[[slurm]]
job = "one"
only = { gpu = "a" }
nodes = 2
[[slurm]]
job = "two"
only = { gpu = ["b", "c"] }
when_time_is_up = "chain:3"
"""
SBATCH = """#!/bin/sh
echo "$@" >>"$CALLS"
echo "sbatch: warning: the moon is full" >&2
/usr/bin/wc -l <"$CALLS"
"""


class StandIns(Sandbox):
    def setUp(self):
        super().setUp()
        self.commands = self.folder / "bin"
        self.commands.mkdir()
        self.calls = self.folder / "calls"

    def stand_in(self, name, text):
        path = self.commands / name
        path.write_text(text)
        path.chmod(0o755)

    def environment(self, **extra):
        env = {**super().environment(**extra), "CALLS": str(self.calls)}
        return {**env, "PATH": str(self.commands)}  # no Slurm of this machine


class Submit(StandIns):
    def submit(self, *arguments, sweep=SWEEP + TWO_JOBS):
        self.write("cards.toml", sweep)
        return self.run_program("submit", "cards.toml", *arguments)

    def files(self):
        return sorted(path.name for path in self.folder.glob("cards.*") if path.name != "cards.toml")

    def test_each_job_is_submitted_with_files_of_its_own(self):
        self.stand_in("sbatch", SBATCH)
        code, out, err = self.submit()
        self.assertEqual((code, out), (0, "one: job 1, results in cards.one.h5. Next: batchsweep watch cards.one.h5\n"
                                          "two: job 2, 3, 4, results in cards.two.h5. Next: batchsweep watch cards.two.h5\n"), err)
        self.assertEqual(self.calls.read_text().splitlines(),
                         ["--parsable cards.one.sbatch", "--parsable cards.two.sbatch",
                          "--parsable --dependency=afterany:2 cards.two.sbatch", "--parsable --dependency=afterany:3 cards.two.sbatch"])
        self.assertEqual(self.files(), ["cards.one.h5.slurm", "cards.one.sbatch", "cards.two.h5.slurm", "cards.two.sbatch"])

    def test_dry_run_prints_what_would_be_submitted_and_writes_nothing(self):
        code, out, err = self.submit("--dry-run", "--job", "two", "--set", "trial.timed_steps=9", "--only", "gpu=b")
        self.assertEqual(code, 0, err)
        self.assertIn("\nsweep=(cards.toml --job two --results cards.two.h5 --set trial.timed_steps=9 --only gpu=b)\n", out)
        self.assertNotIn("cards.one", out)
        self.assertEqual(self.files(), [])
        code, both, _ = self.submit("--dry-run")
        self.assertEqual(both.count("#!/bin/bash\n"), 2)

    def test_the_example_for_clusters_is_two_jobs_that_share_the_grid(self):
        code, out, err = self.run_program("submit", str(ROOT / "sweeps/examples/cluster.toml"), "--dry-run")
        self.assertEqual((code, err), (0, ""))
        self.assertEqual([line.split(".")[-1] for line in out.splitlines() if "--job-name" in line], ["h100", "a100"])
        self.assertEqual((out.count("\nsrun "), out.count("\nmpirun ")), (1, 1))

    def test_the_pages_examples_are_jobs(self):
        page = (ROOT / "docs/cluster.md").read_text(encoding="utf-8")
        blocks = [block for block in re.findall(r"```toml\n(.*?)```", page, re.S) if "[[slurm]]" in block]
        self.assertGreaterEqual(len(blocks), 3)
        for block in blocks:
            block = block.replace('site = "booster"\n', "").replace('only = { gpu = "H100 80GB SXM" }\n', "")
            code, out, err = self.submit("--dry-run", sweep=SWEEP + block)
            self.assertEqual((code, out.count("#!/bin/bash\n")), (0, 1), err)

    def test_rerun_is_for_the_first_start_of_a_chain_only(self):
        self.stand_in("sbatch", SBATCH)
        self.submit("--job", "two", "--rerun", "failed")
        self.assertEqual([line.endswith(" --rerun failed") for line in self.calls.read_text().splitlines()], [True, False, False])

    def test_what_sbatch_refuses_is_told_in_its_own_words_behind_what_was_submitted(self):
        self.stand_in("sbatch", "#!/bin/sh\ncase $2 in *one*) echo 7;; *) echo 'sbatch: error: invalid account or partition' >&2; exit 1;; esac\n")
        code, out, err = self.submit()
        self.assertEqual((code, err), (1, "batchsweep: sbatch refused cards.two.sbatch:\nsbatch: error: invalid account or partition\n"))
        self.assertEqual(out, "one: job 7, results in cards.one.h5. Next: batchsweep watch cards.one.h5\n")

    def test_without_sbatch_it_says_where_to_go(self):
        code, out, err = self.submit()
        self.assertEqual((code, out, err), (1, "", "batchsweep: sbatch is not here: submit cards.one.sbatch on a login node of the cluster\n"))

    def test_without_slurm_jobs_it_shows_a_block_to_copy(self):
        code, _, err = self.submit(sweep=SWEEP)
        self.assertEqual(code, 2)
        self.assertIn("batchsweep: cards.toml: no [[slurm]]: ", err)
        code, out, err = self.submit("--dry-run", sweep=SWEEP + err[err.index("[[slurm]]\n"):])
        self.assertEqual(code, 0, err)
        self.assertIn("#SBATCH --job-name=cards.main\n", out)

    def test_trials_in_no_job_or_in_several_are_told(self):
        code, _, err = self.submit("--dry-run", sweep=SWEEP + TWO_JOBS.replace('["b", "c"]', '["a", "b"]'))
        self.assertEqual(code, 0)
        self.assertIn("2 of 6 trials are in no job's part", err)
        self.assertIn("2 of 6 trials are in the parts of several jobs", err)
        code, out, err = self.submit("--dry-run", "--only", "gpu=a")
        self.assertIn("job two: no trial is in its part: not submitted", err)
        self.assertEqual(out.count("#!/bin/bash\n"), 1)

    def test_a_job_too_short_for_any_trial_is_refused(self):
        code, _, err = self.submit("--dry-run", sweep=SWEEP + '[[slurm]]\njob = "one"\ntime = "30 min"\n')
        self.assertEqual(code, 2)
        self.assertIn("job one: its time (00:30:00) leaves no room for a trial of the longest kind (trial.time_limit = 30 min", err)

    def test_a_trial_of_more_ranks_than_the_job_has_gpus_is_refused(self):
        sweep = SWEEP.replace('gpu = ["a", "b", "c"]', 'gpu = "H100 80GB SXM"\nworld_size = [1, 8, 16]')
        code, _, err = self.submit("--dry-run", sweep=sweep + '[[slurm]]\njob = "one"\nnodes = 2\ngres = "gpu:h100:4"\n')
        self.assertEqual(code, 2)
        self.assertIn("job one: 2 of its trials need up to 16 GPUs, but it has 8 (nodes = 2, gres = \"gpu:h100:4\")", err)
        code, _, err = self.submit("--dry-run", sweep=sweep + '[[slurm]]\njob = "one"\nnodes = 4\ngres = "gpu:h100:4"\n')
        self.assertEqual(code, 0, err)

    def test_a_file_that_a_job_waits_for_is_not_submitted_twice(self):
        self.stand_in("sbatch", SBATCH)
        self.submit("--job", "one")
        self.stand_in("squeue", "#!/bin/sh\necho '1|PENDING|Priority'\n")
        code, _, err = self.submit("--job", "one")
        self.assertEqual(code, 2)
        self.assertIn("cards.one.h5: Slurm job 1 (PENDING) works on this file already", err)
        code, out, _ = self.run_program("watch", "--once", "cards.one.h5")
        self.assertEqual((code, out), (0, "cards.one.h5\nno sweep is running on this file\nSlurm job 1: PENDING (Priority)\n"))

    def test_cancel_takes_a_waiting_job_out_of_the_queue(self):
        self.stand_in("sbatch", SBATCH)
        self.submit("--job", "two")
        self.stand_in("squeue", "#!/bin/sh\nprintf '1|RUNNING|None\\n2|PENDING|Dependency\\n3|PENDING|Dependency\\n'\n")
        self.stand_in("scancel", '#!/bin/sh\necho "scancel $*" >>"$CALLS"\n')
        code, out, err = self.run_program("cancel", "cards.two.h5")
        self.assertEqual((code, out), (0, "cards.two.h5: Slurm job 1, 2, 3 taken out of the queue.\n"), err)
        self.assertEqual(self.calls.read_text().splitlines()[-1], "scancel 1 2 3")
        self.assertFalse((self.folder / "cards.two.h5.slurm").exists(), "so that no batch script asks for another start")
        code, _, err = self.run_program("cancel", "cards.two.h5")
        self.assertEqual(code, 2)

    def test_cancel_without_squeue_names_the_jobs(self):
        self.stand_in("sbatch", SBATCH)
        self.submit("--job", "one")
        code, _, err = self.run_program("cancel", "cards.one.h5")
        self.assertEqual((code, "end job 1 with scancel" in err), (1, True), err)


class SomethingThatSlurmStartedWrongly(Sandbox):
    """The variables that srun sets, without srun."""

    def test_every_task_says_so_and_writes_nothing(self):
        self.write("cards.toml", SWEEP)
        for task in range(4):
            code, out, err = self.run_program("run", "cards.toml", SLURM_PROCID=str(task), SLURM_NTASKS="4")
            self.assertEqual((code, out), (1, ""))
            self.assertIn("Slurm started 4 tasks, but MPI sees 1: wrong --mpi?", err)
        self.assertEqual(list(self.folder.glob("*.h5*")), [])
        code, _, err = self.run_program("run", "cards.toml", "--alone", SLURM_PROCID="0", SLURM_NTASKS="4")
        self.assertEqual(code, 0, err)


class TheEndOfAJob(StandIns):
    """A run that knows when its job ends starts nothing that would not end by then, five seconds before so short a job does."""

    def run_in_job(self, time_limit="2 s", **variables):
        self.write("cards.toml", SWEEP.replace('step = { fixed = "1 ms" }', 'step = { fixed = "250 ms" }').replace(
            "[rehearsal]\n", f'[trial]\nwarmup_steps = 0\ntimed_steps = 2\ntime_limit = "{time_limit}"\n[rehearsal]\n'))
        code, _, err = self.run_program("run", "cards.toml", "--only", "gpu=a", "--set", "trial.repeats=20", SLURM_JOB_ID="7", **variables)
        self.assertEqual(code, 4, err)
        return self.rows("cards.h5")

    def check_stopped_in_time(self, rows):
        self.assertTrue(0 < len(rows) < 40, len(rows))
        self.assertEqual({(row["outcome"], row["slurm_job_id"]) for row in rows}, {("completed", "7")})

    def test_is_told_by_newer_slurms_in_a_variable(self):
        self.check_stopped_in_time(self.run_in_job(SLURM_JOB_END_TIME=str(int(time.time()) + 10)))

    def test_is_asked_of_squeue_otherwise(self):
        self.stand_in("squeue", '#!/bin/sh\n[ "$*" = "-h -o %L -j 7" ] && echo 0:10\n')
        self.check_stopped_in_time(self.run_in_job())

    def test_leaves_no_room_for_what_may_take_longer(self):
        self.assertEqual(self.run_in_job("1 min", SLURM_JOB_END_TIME=str(int(time.time()) + 10)), [])


if __name__ == "__main__":
    unittest.main()
