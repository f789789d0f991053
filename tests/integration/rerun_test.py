# SPDX-License-Identifier: Apache-2.0
"""--rerun all, failed and FILTER: what is measured again, what stays, and that plan, run and report agree about it."""
import json
import re
import shutil
import signal
import unittest

import h5py
from harness import Sandbox, command_line

SWEEP = """
[sweep]
name = "g"
[grid]
gpu = "cpu0"
model = ["good", "bad"]
batch_size = [1, 2, 4]
[trial]
warmup_steps = 1
timed_steps = 4
retries = {retries}
[[device]]
name = "cpu0"
kind = "cpu"
memory = "1 GiB"
threads = 1
[rehearsal]
mode = "process"
[[rehearsal.rule]]
when = {{ model = "good" }}
memory = {{ fixed = "1 MiB" }}
step = {{ fixed = "{step}" }}
[[rehearsal.rule]]
when = {{ model = "bad" }}
memory = {{ fixed = "1 MiB" }}
step = {{ fixed = "{step}" }}
fault = "segfault"
fault_step = 3
fault_attempts = 1
"""
ENDED = re.compile(r" on cpu0: (completed|crashed)")


def sweep(retries=0, step="1 ms"):
    """A trial of the model "bad" crashes at its first attempt: it fails without retries, which are no part of a trial's identity."""
    return SWEEP.format(retries=retries, step=step)


class Rerun(Sandbox):
    def run_ids(self):
        return [run["run_id"] for run in self.rows("g.h5", "runs")]

    def pairs(self, run):
        """(model, batch, outcome, attempt) of the rows of a run, by its place."""
        run_id = self.run_ids()[run]
        return sorted((r["model"], int(r["batch_size"]), r["outcome"], int(r["attempt"]))
                      for r in self.rows("g.h5") if r["run_id"] == run_id)

    def reported(self, *arguments):
        """Outcomes that the report counts, as {word: count}."""
        code, out, err = self.run_program("report", "g.h5", "--format", "json", *arguments)
        self.assertEqual(code, 0, err)
        return {word: count for word, count in json.loads(out)["outcomes"]["counts"].items() if count}

    def remaining(self, *arguments):
        """What plan says is left; its list of trials must say the same."""
        code, out, err = self.run_program("plan", "s.toml", "--format", "json", *arguments)
        self.assertEqual((code, err), (0, ""))
        plan = json.loads(out)
        self.assertEqual(plan["remaining"], sum(t["state"] == "to run" for t in plan["trials"]))
        self.assertEqual(self.run_program("plan", "s.toml", "--remaining", *arguments)[1], f"{plan['remaining']}\n")
        return plan["remaining"]

    def fail_half(self, step="1 ms"):
        self.write("s.toml", sweep(step=step))
        self.assertEqual(self.run_program("run", "s.toml")[0], 3)
        self.assertEqual(self.reported(), {"completed": 3, "crashed": 3})
        self.assertEqual(self.remaining(), 0)
        self.write("s.toml", sweep(retries=1, step=step))

    def assert_all_completed(self):
        self.assertEqual(self.pairs(0), [("bad", b, "crashed", 1) for b in (1, 2, 4)] + [("good", b, "completed", 1) for b in (1, 2, 4)])
        self.assertEqual(self.pairs(1), [("bad", b, "completed", 2) for b in (1, 2, 4)])
        self.assertEqual([r["rerun"] for r in self.rows("g.h5", "runs")], ["", "failed"])
        self.assertEqual(self.reported(), {"completed": 6})
        self.assertEqual(self.reported("--all"), {"completed": 6, "crashed": 3})
        self.assertEqual(self.remaining(), 0)
        self.assertEqual(self.run_program("run", "s.toml")[0], 0)
        self.assertFalse(ENDED.search(self.output("err")))

    def test_failed_measures_the_failed_ones_again_and_keeps_the_others(self):
        self.fail_half()
        code, out, err = self.run_program("run", "s.toml", "--rerun", "failed")
        self.assertEqual(code, 0, err)
        self.assertIn("6 trials kept, 0 new, 0 no longer asked", err)
        self.assertIn("--rerun failed: of 6 recorded trials 3 are measured again", err)
        self.assertIn("6 of 6 trials recorded.", out)
        self.assert_all_completed()

    def test_what_fails_again_counts_as_failed(self):
        self.fail_half()
        self.write("s.toml", sweep())
        self.assertEqual(self.run_program("run", "s.toml", "--rerun", "failed", "--only", "batch_size=1..2")[0], 3)
        self.assertEqual(self.pairs(1), [("bad", 1, "crashed", 1), ("bad", 2, "crashed", 1)])
        self.assertEqual(self.remaining(), 1)  # the third was asked again too
        self.assertEqual(self.run_program("run", "s.toml")[0], 3)
        self.assertEqual(len(self.pairs(1)), 3)
        self.assertEqual(self.reported(), {"completed": 3, "crashed": 3})

    def test_one_that_was_stopped_goes_on_with_what_is_left(self):
        self.fail_half()
        self.assertEqual(self.run_program("run", "s.toml", "--rerun", "failed", "--max-trials", "2")[0], 4)
        left = self.remaining()
        self.assertIn(left, (1, 2, 3))
        standing = {r["trial_id"]: self.run_program("explain", "g.h5", r["trial_id"])[1] for r in self.rows("g.h5")}
        self.assertEqual(sum("no row: batchsweep run measures it again" in text for text in standing.values()), 3 - len(self.pairs(1)))
        for trial_id, text in standing.items():
            told = json.loads(self.run_program("explain", "g.h5", trial_id, "--format", "json")[1])["counting"]
            self.assertEqual([row["outcome"] is None for row in told], ["no row" in text])
        self.assertEqual(self.run_program("run", "s.toml")[0], 0)
        self.assert_all_completed()

    def test_one_that_was_killed_goes_on_with_what_is_left(self):
        self.fail_half(step="50 ms")
        run = self.start("run", "s.toml", "--rerun", "failed")
        self.wait_until(lambda: "completed," in self.output("err"), 30)
        run.send_signal(signal.SIGKILL)
        run.wait(20)
        self.wait_until(lambda: not any("player" in command_line(pid) for pid in self.tagged_processes()), 20)
        self.assertTrue((self.folder / "g.h5.journal").exists())
        left = self.remaining()
        self.assertIn(left, (1, 2))
        self.assertEqual(self.run_program("run", "s.toml")[0], 0)
        self.assertEqual(len(re.findall("completed,", self.output("err"))), left)
        self.assertFalse((self.folder / "g.h5.journal").exists())
        again = [p[:3] for p in self.pairs(1)]
        self.assertEqual(again, [("bad", b, "completed") for b in (1, 2, 4)])
        self.assertEqual(len(self.pairs(0)), 6)
        self.assertEqual(self.reported(), {"completed": 6})

    def test_a_filter_measures_what_it_matches_again(self):
        self.fail_half()
        self.write("s.toml", sweep())
        asked = "model=good,batch_size=2..4"
        code, _, err = self.run_program("run", "s.toml", "--rerun", asked)
        self.assertEqual(code, 3, err)  # the failed ones stand as they are
        self.assertEqual(self.pairs(1), [("good", b, "completed", 1) for b in (2, 4)])
        self.assertEqual([r["rerun"] for r in self.rows("g.h5", "runs")], ["", asked])
        self.assertEqual(self.reported(), {"completed": 3, "crashed": 3})
        self.assertEqual(self.reported("--all"), {"completed": 5, "crashed": 3})
        self.assertEqual(self.remaining(), 0)
        self.assertEqual(self.run_program("run", "s.toml", "--rerun", "all", "--max-trials", "0")[0], 4)
        self.assertEqual(self.remaining(), 6)
        self.assertEqual(self.reported(), {})

    def test_what_cannot_be_read_is_refused_before_anything_is_touched(self):
        self.fail_half()
        before = (self.folder / "g.h5").read_bytes()
        for asked, said in (("modle=bad", "--rerun modle=bad: unknown axis modle, did you mean model"),
                            ("fialed", '--rerun "fialed": expected all, failed, or a filter')):
            code, _, err = self.run_program("run", "s.toml", "--rerun", asked)
            self.assertEqual(code, 2)
            self.assertIn(said, err)
        self.assertEqual((self.folder / "g.h5").read_bytes(), before)
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["err", "g.h5", "out", "s.toml"])

    def test_a_file_without_the_column_is_one_whose_runs_asked_for_all(self):
        self.fail_half()
        self.assertEqual(self.run_program("run", "s.toml", "--rerun", "all")[0], 0)
        with h5py.File(self.folder / "g.h5", "r+") as file:
            runs = file["runs"][:]
            names = [name for name in runs.dtype.names if name != "rerun"]
            del file["runs"]
            file["runs"] = runs[names].astype([(name, runs.dtype[name]) for name in names])
        shutil.copy(self.folder / "g.h5", self.folder / "old.h5")
        self.assertEqual(self.reported(), {"completed": 6})
        self.assertEqual(self.remaining(), 0)
        self.assertEqual(self.run_program("run", "s.toml", "--rerun", "batch_size=4")[0], 0)
        self.assertEqual(len(self.pairs(2)), 2)
        self.assertEqual(self.reported(), {"completed": 6})


class PlanAndRun(Sandbox):
    """plan tells what run would do, whatever the file and its journal hold."""

    def remaining(self):
        code, out, err = self.run_program("plan", "s.toml", "--remaining")
        self.assertEqual((code, err), (0, ""))
        return int(out)

    def test_beside_the_journal_of_a_killed_sweep(self):
        self.write("s.toml", sweep(step="50 ms"))
        run = self.start("run", "s.toml")
        self.wait_until(lambda: len(ENDED.findall(self.output("err"))) >= 2, 30)
        run.send_signal(signal.SIGKILL)
        run.wait(20)
        self.wait_until(lambda: not any("player" in command_line(pid) for pid in self.tagged_processes()), 20)
        recorded = len(ENDED.findall(self.output("err")))
        left = self.remaining()
        self.assertLessEqual(left, 6 - recorded)
        (self.folder / "g.h5").unlink(missing_ok=True)  # the journal alone
        self.assertEqual(self.remaining(), left)
        self.assertEqual(self.run_program("run", "s.toml")[0], 3)
        self.assertEqual(len(ENDED.findall(self.output("err"))), left)
        self.assertEqual(self.remaining(), 0)

    def test_an_attempt_that_was_stopped_uses_no_budget(self):
        self.write("s.toml", sweep(retries=1, step="100 ms").replace('["good", "bad"]', '"bad"').replace("[1, 2, 4]", "1")
                   .replace("fault_attempts = 1", ""))
        run = self.start("run", "s.toml")
        self.wait_until(lambda: any("player" in command_line(pid) for pid in self.tagged_processes()), 20)
        run.send_signal(signal.SIGTERM)
        self.assertEqual(run.wait(20), 4)
        self.assertEqual(self.remaining(), 1)
        self.assertEqual(self.run_program("run", "s.toml", "--max-trials", "1")[0], 4)
        (row,) = self.rows("g.h5")
        self.assertEqual((row["outcome"], row["attempt"]), ("crashed", 2))
        self.assertEqual(self.remaining(), 1)
        self.assertEqual(self.run_program("run", "s.toml")[0], 3)
        self.assertEqual(self.remaining(), 0)


if __name__ == "__main__":
    unittest.main()
