# SPDX-License-Identifier: Apache-2.0
"""An agent that falls silent (stopped from outside) over three hosts: given up within three heartbeats, its trials run elsewhere at once, and
when it wakes it kills what it had and takes no further part. Agents that cannot serve: another build, another sweep file."""
import os
import pathlib
import re
import shutil
import signal
import time
import unittest

from going_on_test import sweep
from harness import PROGRAM, Sandbox, command_line
from victims import Victims, variables_of

BEAT_S = 1.0
SLOW = {"batches": "{ from = 1, to = 6, step = 1 }", "step": "400 ms"}


class SilentAgent(Victims, Sandbox):
    def begin(self):
        """A sweep over three hosts; the agent of rank 2 is stopped while it runs a trial. Returns (mpirun, agent, time of the stop)."""
        self.write("s.toml", sweep(**SLOW))
        self.addCleanup(self.kill_tagged)
        run = self.start("run", "s.toml", ranks=3, BATCHSWEEP_HOST="%r")
        self.wait_until(lambda: len(self.victims("trial")) == 3, 20, lambda: self.output("err"))
        agent = next(pid for pid in self.victims("agent") if b"OMPI_COMM_WORLD_RANK=2" in variables_of(pid))
        os.kill(agent, signal.SIGSTOP)
        return run, agent, time.monotonic()

    def end(self, run):
        self.wait_until(lambda: run.poll() is not None, 60, lambda: self.output("err")[-2000:])
        err = self.output("err")
        self.assertIn("agent 2 on 2 is lost: nothing was heard of it for 3 s", err)
        rows = self.rows("g.h5")
        self.assertEqual(sorted(row["batch_size"] for row in rows), [1, 2, 3, 4, 5, 6], "each once")
        self.assertEqual({row["outcome"] for row in rows}, {"completed"})
        again = [row for row in rows if row["attempt"] == 2]
        self.assertEqual(len(again), 1)
        self.assertIn(again[0]["hostname"], ("0", "1"))
        (lost,) = [row for row in self.rows("g.h5", "attempts") if row["outcome"] == "lost"]
        self.assertEqual((lost["trial_id"], lost["reason"]), (again[0]["trial_id"], "agent_lost"))
        self.assert_nothing_left_alive()
        return err

    def test_it_is_given_up_within_three_beats_and_its_trial_runs_elsewhere_at_once(self):
        run, _, stopped = self.begin()
        self.wait_until(lambda: "is lost" in self.output("err"), 20)
        noticed = time.monotonic() - stopped
        self.assertLess(noticed, 3 * BEAT_S + 0.7, "the beats that it missed, and the time a loaded machine takes to look")
        self.assertGreater(noticed, 1.9 * BEAT_S, "one late beat is no death")
        self.end(run)

    def test_one_that_wakes_kills_what_it_had_and_rests(self):
        run, agent, _ = self.begin()
        self.wait_until(lambda: "is lost" in self.output("err"), 20)
        os.kill(agent, signal.SIGCONT)
        self.wait_until(lambda: not [pid for pid in self.victims("trial")
                                     if b"BATCHSWEEP_HOST=2" in variables_of(pid)], 5)
        err = self.end(run)
        self.assertIn("nothing heard from the orchestrator", err)


class UnfitAgents(Sandbox):
    def run_mixed(self, command, trials=12, step="250 ms"):
        """Two processes as they should be and a third by `command`; the sweep takes longer than a process that rests may wait."""
        self.write("s.toml", sweep(batches=f"{{ from = 1, to = {trials}, step = 1 }}", step=step))
        self.addCleanup(self.kill_tagged)
        run = self.start("run", "s.toml", ":", "-n", "1", *command, ranks=2, BATCHSWEEP_HOST="%r")
        started = time.monotonic()
        self.wait_until(lambda: run.poll() is not None, 90, lambda: self.output("err")[-2000:])
        self.assertEqual(run.returncode, 0, self.output("err"))
        rows = self.rows("g.h5")
        self.assertEqual((len(rows), {row["outcome"] for row in rows}), (trials, {"completed"}))
        self.assertEqual({row["hostname"] for row in rows}, {"0", "1"})
        self.assert_nothing_left_alive()
        return self.output("err"), time.monotonic() - started

    def test_of_another_build_is_refused_by_name(self):
        program = self.folder / "other" / "batchsweep"
        program.parent.mkdir()
        content = pathlib.Path(PROGRAM).read_bytes()
        (version,) = set(re.findall(rb"batchsweep-build:(\d+\.\d+\.\d+)", content))
        other = b"9" + version[1:]
        program.write_bytes(content.replace(b"batchsweep-build:" + version, b"batchsweep-build:" + other))
        program.chmod(0o755)
        shutil.copy(os.path.join(os.path.dirname(PROGRAM), "batchsweep-player"), program.parent)
        err, took = self.run_mixed([str(program), "run", "s.toml"])
        self.assertIn(f"agent 2 on 2 is refused: its build is {other.decode()}, the orchestrator's {version.decode()}", err)
        self.assertGreater(took, 6, "long enough that it would have been missed had it left")

    def test_that_sees_another_sweep_file_is_refused_by_name(self):
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir()
        (elsewhere / "s.toml").write_text(sweep(batches="[1]"))
        err, _ = self.run_mixed([PROGRAM, "run", "elsewhere/s.toml"], trials=3, step="1 ms")
        self.assertIn("agent 2 on 2 is refused: the sweep file that it sees differs from the orchestrator's", err)


if __name__ == "__main__":
    unittest.main()
