# SPDX-License-Identifier: Apache-2.0
"""kill -9 of a trial, of the orchestrator or of mpirun at random moments of a run over three hosts: nothing announced is ever lost or
measured again, and running again completes the sweep with each row exactly once. BATCHSWEEP_SOAK=1: 50 moments; else 9. BATCHSWEEP_SEED
repeats a failing one."""
import collections
import os
import random
import re
import shutil
import unittest

import h5py
from harness import Sandbox, command_line, read_rows
from rehearsal_faults import EXPECTED, sweep, wrong_rows
from victims import Victims

ROUNDS = 50 if os.environ.get("BATCHSWEEP_SOAK") else 9
TRIALS = 200 if ROUNDS == 50 else 4 * len(EXPECTED)
FINAL_AT_ONCE = {"completed", "out_of_memory", "failed", "timed_out", "diverged", "host_out_of_memory"}
SAME = ("run_id", "trial_id", "repeat", "attempt", "sequence", "outcome", "reason", "started_utc", "duration_s")
ANNOUNCED = re.compile(r"^\[\d+/\d+\] ([0-9a-f]{16}) .*?: (\w+)", re.M)


class KillAnything(Victims, Sandbox):
    def announced(self):
        return ANNOUNCED.findall(self.output("err"))

    def recorded(self, name):
        """What file and journal hold together, without touching them: (rows, all attempts)."""
        for suffix in ("", ".journal"):
            if (self.folder / f"{name}.h5{suffix}").exists():
                shutil.copy(self.folder / f"{name}.h5{suffix}", self.folder / f"before.h5{suffix}")
        before = self.folder / "before.h5"
        if (self.folder / "before.h5.journal").exists():
            kept = self.output("err")
            code, _, err = self.run_program("publish", "before.h5")
            self.assertEqual(code, 0, err)
            (self.folder / "err").write_text(kept)
        rows = read_rows(before) if before.exists() else []
        attempts = rows + (read_rows(before, "attempts") if before.exists() else [])
        for suffix in ("", ".journal"):
            (self.folder / f"before.h5{suffix}").unlink(missing_ok=True)
        return rows, attempts

    def one_round(self, seed):
        rng = random.Random(seed)
        kind = ("trial", "orchestrator", "mpirun")[seed % 3]
        name = f"k{seed}"
        sweep_file = self.write(name + ".toml", sweep(name, TRIALS, stall="300 ms"))
        run = self.start("run", sweep_file, ranks=3, BATCHSWEEP_HOST="%r")
        moment = rng.randrange(TRIALS - 4)
        self.wait_until(lambda: len(self.announced()) >= moment or run.poll() is not None, 60)
        for _ in range(rng.randrange(2000)):
            pass
        self.strike(rng, kind, run)
        self.wait_until(lambda: run.poll() is not None, 90, lambda: self.output("err")[-2000:])
        # Without the agent above it, such a process ends only when the next start finds it.
        orphans = lambda: self.orphans() if kind != "trial" else set()
        self.wait_until(lambda: set(self.tagged_processes()) <= orphans(), 10,
                        lambda: f"still alive: {[command_line(pid) for pid in self.tagged_processes()]}")
        left = orphans()
        announced = self.announced()
        results = self.folder / (name + ".h5")
        if announced or results.exists():
            h5py.File(results, "r").close()
        rows_before, attempts_before = self.recorded(name)
        known = {(row["trial_id"], row["outcome"]) for row in attempts_before}
        self.assertEqual([one for one in announced if one not in known], [], "what was announced is recorded")
        code, _, err = self.run_program("run", sweep_file, ranks=3, BATCHSWEEP_HOST="%r")
        self.assertEqual(code, 3, err[-2000:])
        rows = read_rows(results)
        keys = collections.Counter(row["trial_id"] for row in rows)
        self.assertEqual((len(rows), set(keys.values())), (TRIALS, {1}), "each row exactly once")
        same = lambda row: {name: str(row[name]) for name in SAME}  # NaN is not itself
        now = {row["trial_id"]: same(row) for row in rows}
        final = [same(row) for row in rows_before if row["outcome"] in FINAL_AT_ONCE]
        self.assertEqual([row for row in final if now[row["trial_id"]] != row], [], "what was final is the same row")
        again = {trial for trial, _ in self.announced()} & {row["trial_id"] for row in final}
        self.assertEqual(again, set(), "what was final does not run again")
        for pid in left:
            self.assertIn(f"process {pid} that a dead sweep left behind", err)
        if kind != "trial":  # a killed trial crashed, and may have used up its budget
            self.assertEqual(wrong_rows(rows), [])
        self.assert_nothing_left_alive()

    def test_random_moments(self):
        seeds = [int(os.environ["BATCHSWEEP_SEED"])] if "BATCHSWEEP_SEED" in os.environ else range(ROUNDS)
        for seed in seeds:
            with self.subTest(seed=seed):
                self.one_round(seed)


if __name__ == "__main__":
    unittest.main()
