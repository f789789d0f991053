# SPDX-License-Identifier: Apache-2.0
"""Run again = continue: what a second start keeps, adds, refuses and says."""
import os
import signal
import unittest

from harness import Sandbox, command_line

SWEEP = """
[sweep]
name = "{name}"
[grid]
gpu = "cpu0"
model = "m"
batch_size = {batches}
[trial]
warmup_steps = 1
timed_steps = 4
{trial}
[[device]]
name = "cpu0"
kind = "cpu"
memory = "1 GiB"
threads = 1
count = {count}
[rehearsal]
mode = "process"
[[rehearsal.rule]]
when = {{ model = "m" }}
memory = {{ fixed = "1 MiB", per_sample = "1 MiB" }}
step = {{ fixed = "{step}", per_sample = "0 ms" }}
fault = "{fault}"
"""


def sweep(name="g", batches="[1, 2, 4]", step="1 ms", fault="none", trial="", count=1):
    return SWEEP.format(name=name, batches=batches, step=step, fault=fault, trial=trial, count=count)


class GoingOn(Sandbox):
    def test_a_finished_sweep_starts_nothing(self):
        self.write("s.toml", sweep())
        self.assertEqual(self.run_program("run", "s.toml")[0], 0)
        self.assertEqual(self.run_program("run", "s.toml")[0], 0)
        self.assertNotIn("completed,", self.output("err"))
        self.assertEqual([r["attempt"] for r in self.rows("g.h5")], [1, 1, 1])

    def test_a_changed_grid_keeps_adds_and_leaves(self):
        self.write("s.toml", sweep())
        self.run_program("run", "s.toml")
        self.write("s.toml", sweep(batches="[2, 4, 8, 16]"))
        code, _, err = self.run_program("run", "s.toml")
        self.assertEqual(code, 0)
        self.assertIn("2 trials kept, 2 new, 1 no longer asked", err)
        self.assertEqual(sorted(r["batch_size"] for r in self.rows("g.h5")), [1, 2, 4, 8, 16])

    def test_rerun_all_makes_a_new_run(self):
        self.write("s.toml", sweep())
        self.run_program("run", "s.toml")
        self.assertEqual(self.run_program("run", "s.toml", "--rerun", "all")[0], 0)
        rows = self.rows("g.h5")
        self.assertEqual(len(rows), 6)
        self.assertEqual(len({r["run_id"] for r in rows}), 2)

    def test_max_trials_stops_with_4_and_goes_on(self):
        self.write("s.toml", sweep())
        self.assertEqual(self.run_program("run", "s.toml", "--max-trials", "2")[0], 4)
        self.assertEqual(len(self.rows("g.h5")), 2)
        self.assertEqual(self.run_program("run", "s.toml")[0], 0)
        self.assertEqual(len(self.rows("g.h5")), 3)

    def test_ctrl_c_lets_the_running_trial_end_and_saves(self):
        self.write("s.toml", sweep(batches="{ from = 1, to = 60, step = 1 }", step="20 ms"))
        run = self.start("run", "s.toml")
        self.wait_until(lambda: "completed" in self.output("err"), 20)
        run.send_signal(signal.SIGINT)
        self.assertEqual(run.wait(20), 130)
        rows = self.rows("g.h5")
        self.assertLess(len(rows), 60)
        self.assertEqual({r["outcome"] for r in rows}, {"completed"})
        self.assertEqual(self.run_program("run", "s.toml")[0], 0)
        self.assertEqual(len(self.rows("g.h5")), 60)

    def test_sigterm_stops_now_and_the_cut_trial_runs_again(self):
        self.write("s.toml", sweep(batches="[1]", step="10 s"))
        run = self.start("run", "s.toml")
        self.wait_until(lambda: any("player" in command_line(pid) for pid in self.tagged_processes()), 20)
        run.send_signal(signal.SIGTERM)
        self.assertEqual(run.wait(20), 4)
        self.assertEqual([r["outcome"] for r in self.rows("g.h5")], ["interrupted"])
        self.assert_nothing_left_alive()

    def test_a_second_start_on_the_same_file_is_refused(self):
        self.write("s.toml", sweep(batches="[1]", step="10 s"))
        run = self.start("run", "s.toml")
        self.wait_until(lambda: (self.folder / "g.h5.lock").exists(), 20)
        before = self.output("err")
        second = self.start("run", "s.toml")
        self.assertEqual(second.wait(20), 2)
        self.assertIn("g.h5", self.output("err"))
        self.assertIn(str(run.pid), self.output("err"))
        run.send_signal(signal.SIGTERM)
        run.wait(20)
        self.assertEqual(before.count("refused"), 0)

    def test_cancel_ends_a_sweep_well(self):
        self.write("s.toml", sweep(batches="{ from = 1, to = 400, step = 1 }", step="10 ms"))
        run = self.start("run", "s.toml")
        self.wait_until(lambda: "completed" in self.output("err"), 20)
        cancel = self.start("cancel", "g.h5")
        self.assertEqual(cancel.wait(10), 0)
        self.assertEqual(run.wait(20), 4)
        self.assertGreater(len(self.rows("g.h5")), 0)
        self.assertFalse((self.folder / "g.h5.cancel").exists())

    def test_a_crash_budget_holds_over_starts(self):
        self.write("s.toml", sweep(batches="[1]", fault="segfault", trial="retries = 2"))
        self.assertEqual(self.run_program("run", "s.toml")[0], 3)
        (row,) = self.rows("g.h5")
        self.assertEqual((row["outcome"], row["attempt"]), ("crashed", 3))
        self.assertEqual([r["attempt"] for r in self.rows("g.h5", "attempts")], [1, 2])
        self.assertEqual(self.run_program("run", "s.toml")[0], 3)
        self.assertEqual(len(self.rows("g.h5", "attempts")), 2)

    def test_a_device_that_is_not_here_is_skipped_and_said(self):
        text = sweep().replace('gpu = "cpu0"', 'gpu = ["cpu0", "other"]')
        text += '[[device]]\nname = "other"\nkind = "cpu"\nmemory = "1 GiB"\nhosts = "nowhere"\n'
        self.write("s.toml", text)
        code, _, err = self.run_program("run", "s.toml")
        self.assertEqual(code, 0, err)
        self.assertIn("other", err)
        skipped = [r for r in self.rows("g.h5") if r["outcome"] == "skipped"]
        self.assertEqual({r["reason"] for r in skipped}, {"device_absent"})
        self.assertEqual(len(skipped), 3)

    def test_a_rehearsed_row_never_counts_for_a_measured_one(self):
        self.write("s.toml", sweep())
        self.run_program("run", "s.toml")
        self.write("real.toml", '[sweep]\nname = "g"\n[grid]\nmodel = "lenet"\nbatch_size = 1\nruntime = "own"\n'
                                '[[runtime]]\nname = "own"\ncommand = ["/bin/false"]\n')
        code, _, err = self.run_program("run", "real.toml")
        self.assertEqual(code, 2, err)
        self.assertIn("rehears", err)
        self.assertEqual(len(self.rows("g.h5")), 3)


if __name__ == "__main__":
    unittest.main()
