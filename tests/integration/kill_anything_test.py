# SPDX-License-Identifier: Apache-2.0
"""kill -9 of a trial, of the orchestrator or of mpirun at random moments of a run over three hosts: nothing announced is ever lost, and
running again completes the sweep with each row exactly once. BATCHSWEEP_SOAK=1: 50 moments; else 9. BATCHSWEEP_SEED repeats a failing one."""
import collections
import os
import pathlib
import random
import re
import signal
import unittest

import h5py
from harness import Sandbox, read_rows
from rehearsal_faults import EXPECTED, sweep, wrong_rows

ROUNDS = 50 if os.environ.get("BATCHSWEEP_SOAK") else 9
TRIALS = 4 * len(EXPECTED)
FINAL_AT_ONCE = {"completed", "out_of_memory", "failed", "timed_out", "diverged", "host_out_of_memory"}
ANNOUNCED = re.compile(r"^\[\d+/\d+\] ([0-9a-f]{16}) .*?: (\w+)", re.M)


def environment_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []


class KillAnything(Sandbox):
    def victims(self, kind, mpirun):
        if kind == "mpirun":
            return [mpirun.pid]
        wanted = b"BATCHSWEEP_ATTEMPT=" if kind == "trial" else b"OMPI_COMM_WORLD_RANK=0"
        return [pid for pid in self.tagged_processes() if any(v.startswith(wanted) for v in environment_of(pid))]

    def announced(self):
        return ANNOUNCED.findall(self.output("err"))

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
        victims = self.victims(kind, run)
        if victims:
            try:
                os.kill(rng.choice(victims), signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.wait_until(lambda: run.poll() is not None, 90, lambda: self.output("err")[-2000:])
        self.assert_nothing_left_alive()
        results = self.folder / (name + ".h5")
        if results.exists():
            h5py.File(results, "r").close()
        first = [trial for trial, outcome in self.announced() if outcome in FINAL_AT_ONCE]
        code, _, err = self.run_program("run", sweep_file, ranks=3, BATCHSWEEP_HOST="%r")
        self.assertEqual(code, 3, err[-2000:])
        rows = read_rows(results)
        keys = collections.Counter(row["trial_id"] for row in rows)
        self.assertEqual((len(rows), set(keys.values())), (TRIALS, {1}), "each row exactly once")
        self.assertLessEqual(set(first), set(keys), "what was announced is in the file")
        again = {trial for trial, _ in self.announced()} & set(first)
        self.assertEqual(again, set(), "what was announced does not run again")
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
