# SPDX-License-Identifier: Apache-2.0
"""D21, D22, D25, D26: what goes wrong between launchers, processes and cores."""
import os
import pathlib
import re
import time
import unittest

from harness import Sandbox
from rehearsals import rehearsal
from scripted import scripted
from victims import Victims


class Launchers(Victims, Sandbox):
    def sweep(self, name="g", batches=(1, 2), step="1 ms"):
        text = rehearsal(name, {"gpu": "dev", "model": "m", "batch_size": list(batches)},
                         [{"memory": {"fixed": "1 MiB"}, "step": {"fixed": step}}], {"dev": "1 GiB"}, {"timed_steps": 3}, mode="process")
        return self.write(name + ".toml", text.replace('memory = "1 GiB"\n', 'memory = "1 GiB"\nthreads = 1\n'))

    def test_four_tasks_that_each_believe_to_be_alone_all_say_so_and_write_nothing(self):
        self.sweep()
        for task in range(4):
            code, _, err = self.run_program("run", "g.toml", SLURM_NTASKS="4", SLURM_PROCID=str(task))
            self.assertEqual(code, 1, err)
            self.assertIn("Slurm started 4 tasks, but MPI sees 1: wrong --mpi?", err)
        self.assertEqual([p.name for p in self.folder.glob("g.h5*")], [])

    def test_a_trial_under_mpirun_sees_nothing_of_the_launcher(self):
        path = scripted(self, "clean", """
found = [name for name in os.environ if name.startswith(("OMPI_", "PMIX_", "PMI_", "PRTE_", "ORTE_", "SLURM_"))]
if found:
    end("failed", reason="exception", message=" ".join(found))
result([0.1], samples=1, window_s=0.1)
""", {"batch_size": [1, 2, 3]})
        code, _, err = self.run_program("run", path, ranks=2, BATCHSWEEP_HOST="%r")
        self.assertEqual(code, 0, err)

    def test_what_cannot_be_launched_says_why_in_its_row(self):
        path = scripted(self, "none", "", {})
        text = (self.folder / "none.toml").read_text().replace("/usr/bin/python3", "/no/such/program")
        self.write("none.toml", text)
        code, _, err = self.run_program("run", path)
        self.assertEqual(code, 3, err)
        (row,) = self.rows("none.h5")
        self.assertEqual((row["outcome"], row["reason"], row["phase"]), ("failed", "launch", "launch"))
        self.assertIn("/no/such/program: No such file", row["message"])

    def test_two_sweeps_at_once_on_one_host_do_not_meet(self):
        runs = [self.start("run", self.sweep(name, range(1, 6), "10 ms"), ranks=2, BATCHSWEEP_HOST="%r") for name in ("a", "b")]
        self.assertEqual([run.wait(60) for run in runs], [0, 0], self.output("err"))
        for name in ("a", "b"):
            self.assertEqual({row["outcome"] for row in self.rows(name + ".h5")}, {"completed"})
        self.assert_nothing_left_alive()

    def test_those_that_wait_burn_no_core_and_trials_may_use_all(self):
        self.addCleanup(self.kill_tagged)
        run = self.start("run", self.sweep("idle", [1], "2 s"), ranks=2, BATCHSWEEP_HOST="%r")
        self.wait_until(lambda: self.victims("trial"), 20)
        waiting = self.victims("orchestrator") + self.victims("agent")
        self.assertEqual(len(waiting), 2)
        (trial,) = self.victims("trial")
        self.assertEqual(cores(trial), cores("self"), "mpirun binds each of two ranks to one core")
        before, began = [ticks(pid) for pid in waiting], time.monotonic()
        self.wait_until(lambda: time.monotonic() - began >= 3, 4)
        busy_s = [(ticks(pid) - was) / os.sysconf("SC_CLK_TCK") for pid, was in zip(waiting, before)]
        self.assertLess(max(busy_s) / 3, 0.1)
        self.kill_tagged()
        run.wait()


def ticks(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def cores(pid):
    return re.search(r"Cpus_allowed_list:\s*(\S+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1]


if __name__ == "__main__":
    unittest.main()
