# SPDX-License-Identifier: Apache-2.0
"""Random rehearsals over three hosts, with faults of every kind at random ranks and steps and, from outside, the death of orchestrator,
agents, mpirun or a trial, stops and signals at random moments. Each ends or continues to a complete file, each row exactly once and as the
rules say, and no process is left. BATCHSWEEP_SOAK=1: 200 of them; else 20. BATCHSWEEP_SEED repeats a failing one."""
import collections
import os
import random
import re
import signal
import unittest

import h5py
from harness import Sandbox, command_line, read_rows
from random_faults import RandomSweep
from victims import Victims

RUNS = 200 if os.environ.get("BATCHSWEEP_SOAK") else 20
MOST_STARTS = 4
ANNOUNCED = re.compile(r"^\[\d+/\d+\] ([0-9a-f]{16}) .*?: (\w+)", re.M)
KILLS = ("nothing", "orchestrator", "agent", "mpirun", "trial")
# what else may happen: to whom, by which signal
MISHAPS = [("orchestrator", signal.SIGUSR1), ("orchestrator", signal.SIGTERM), ("mpirun", signal.SIGINT), ("agent", signal.SIGSTOP),
           ("trial", signal.SIGSTOP), ("agent", signal.SIGTERM)]


class RandomFaults(Victims, Sandbox):
    def announced(self):
        return ANNOUNCED.findall(self.output("err"))

    def first_start(self, rng, seed, path, sweep):
        """Returns what may differ from the rules in the end: how many trials were struck from outside."""
        kind, number = (KILLS[seed % len(KILLS)], signal.SIGKILL) if seed % 7 else rng.choice(MISHAPS)
        run = self.start("run", path, ranks=3, BATCHSWEEP_HOST="%r")
        moment = rng.randrange(sweep.trials)
        self.wait_until(lambda: len(self.announced()) >= moment or run.poll() is not None, 60, lambda: self.output("err")[-2000:])
        struck = kind != "nothing" and self.strike(rng, kind, run, number)
        self.wait_until(lambda: run.poll() is not None, 90, lambda: self.output("err")[-2000:])
        # Without the agent above it, such a process ends only when the next start finds it.
        self.wait_until(lambda: set(self.tagged_processes()) <= self.orphans(), 10,
                        lambda: f"still alive: {[command_line(pid) for pid in self.tagged_processes()]}")
        if self.announced():
            h5py.File(path.replace(".toml", ".h5"), "r").close()
        if not struck or kind in ("orchestrator", "mpirun"):
            return 0
        lost = sweep.count if number != signal.SIGKILL else 0  # plain mpirun ends all when an agent dies: nobody's fault, no budget
        return 1 if kind == "trial" else lost

    def one_run(self, seed):
        rng = random.Random(seed)
        name = f"r{seed}"
        sweep = RandomSweep(rng, name)
        path = self.write(name + ".toml", sweep.text)
        touched = self.first_start(rng, seed, path, sweep)
        announced = self.announced()
        for _ in range(MOST_STARTS):
            code, _, err = self.run_program("run", path, ranks=3, BATCHSWEEP_HOST="%r")
            again = {trial for trial, _ in self.announced()} & {trial for trial, outcome in announced
                                                               if outcome in ("completed", "out_of_memory", "timed_out", "failed", "diverged")}
            self.assertEqual(again, set(), "what was announced as final does not run again")
            if code in (0, 3):
                break
        self.assertIn(code, (0, 3), err[-2000:])
        rows = read_rows(self.folder / f"{name}.h5")
        counts = collections.Counter((row["trial_id"], row["repeat"]) for row in rows)
        self.assertEqual((len(rows), set(counts.values())), (sweep.trials, {1}), "each row exactly once")
        wrong = sweep.wrong(rows)
        self.assertLessEqual(len(wrong), touched, wrong)
        executions = collections.Counter(row["trial_id"] for row in rows + read_rows(self.folder / f"{name}.h5", "attempts")
                                         if row["outcome"] in ("crashed", "lost"))
        self.assertLessEqual(max(executions.values(), default=0), 1 + sweep.retries, "the crash budget")
        self.assertEqual([p.name for p in self.folder.glob(f"{name}.h5*")], [f"{name}.h5"], "no journal, lock or temporary file is left")
        self.assert_nothing_left_alive()

    def test_each_ends_or_continues_to_a_complete_file(self):
        seeds = [int(os.environ["BATCHSWEEP_SEED"])] if "BATCHSWEEP_SEED" in os.environ else range(RUNS)
        for seed in seeds:
            with self.subTest(f"BATCHSWEEP_SEED={seed} repeats it"):
                try:
                    self.one_run(seed)
                finally:
                    self.kill_tagged()  # what a failed seed leaves must not fail the next ones


if __name__ == "__main__":
    unittest.main()
