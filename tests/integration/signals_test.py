# SPDX-License-Identifier: Apache-2.0
"""Signals to a running sweep, alone and under mpirun: which end it gently, which at once, what is saved, and what the shell sees."""
import os
import re
import signal
import time
import unittest

from going_on_test import sweep
from harness import Sandbox
from victims import Victims

ANNOUNCED = re.compile(r"^\[\d+/\d+\] ([0-9a-f]{16}) .*?: (\w+)", re.M)
TRIALS = 10
LONG = {"batches": f"{{ from = 1, to = {TRIALS}, step = 1 }}", "step": "60 ms"}  # 0.3 s a trial


class Signals(Victims, Sandbox):
    def begin(self, ranks=0):
        """Returns once a trial was announced and the next one runs."""
        self.write("s.toml", sweep(**LONG))
        self.addCleanup(self.kill_tagged)
        run = self.start("run", "s.toml", ranks=ranks, BATCHSWEEP_HOST="%r")
        self.wait_until(lambda: ANNOUNCED.search(self.output("err")) and self.victims("trial"), 20, lambda: self.output("err"))
        return run

    def end(self, run, within=10):
        self.wait_until(lambda: run.poll() is not None, within, lambda: self.output("err"))
        self.assert_nothing_left_alive()
        announced = ANNOUNCED.findall(self.output("err"))
        code, _, err = self.run_program("run", "s.toml")
        self.assertEqual(code, 0, err)
        final = {trial for trial, outcome in announced if outcome == "completed"}
        self.assertEqual(final & {trial for trial, _ in ANNOUNCED.findall(err)}, set(), "what was announced does not run again")
        rows = self.rows("g.h5")
        self.assertEqual((len(rows), {row["outcome"] for row in rows}), (TRIALS, {"completed"}))
        return {outcome for _, outcome in announced}

    def test_gentle_ends_let_the_running_trial_end(self):
        for number, code in ((signal.SIGUSR1, 4), (signal.SIGINT, 130)):
            with self.subTest(signal=number):
                run = self.begin()
                run.send_signal(number)
                self.assertEqual(self.end(run), {"completed"})
                self.assertEqual(run.returncode, code)
                (self.folder / "g.h5").unlink()

    def test_hard_ends_kill_it_and_say_so(self):
        for numbers, code in (((signal.SIGTERM,), 4), ((signal.SIGHUP,), 4), ((signal.SIGINT, signal.SIGINT), 130),
                              ((signal.SIGUSR1, signal.SIGTERM), 4)):
            with self.subTest(signals=numbers):
                run = self.begin()
                asked = time.monotonic()
                for number in numbers[:-1]:
                    run.send_signal(number)
                    self.wait_until(lambda: "ending: running trials finish" in self.output("err"), 5)
                run.send_signal(numbers[-1])
                self.wait_until(lambda: run.poll() is not None, 10)
                self.assertLess(time.monotonic() - asked, 1.5)
                self.assertIn("interrupted", self.end(run))
                self.assertEqual(run.returncode, code)
                (self.folder / "g.h5").unlink()

    def test_under_mpirun_usr1_to_the_orchestrator_ends_gently(self):
        run = self.begin(ranks=3)
        (orchestrator,) = self.victims("orchestrator")
        os.kill(orchestrator, signal.SIGUSR1)
        self.assertEqual(self.end(run), {"completed"})
        self.assertEqual(run.returncode, 4)

    def test_under_mpirun_ctrl_c_and_term_save_within_half_a_second(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signal=number):
                run = self.begin(ranks=3)
                run.send_signal(number)
                self.end(run)
                self.assertNotEqual(run.returncode, 0)
                self.assertLessEqual({row["outcome"] for row in self.rows("g.h5", "attempts")}, {"interrupted"})
                (self.folder / "g.h5").unlink()


if __name__ == "__main__":
    unittest.main()
