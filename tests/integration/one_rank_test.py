# SPDX-License-Identifier: Apache-2.0
"""One rank of a trial runs out of memory, dies, hangs or is stopped while the others sit in a collective that nobody will ever join: the
whole trial is ended from outside, at once or at its limit, over three hosts and for world sizes 1 to 4. Nobody of it is left, children
in sessions of their own included, and the next trial runs."""
import unittest

from harness import Sandbox

STALL_S, GRACE_S = 1.0, 2.0  # the grace: so long the others get to end once one rank has ended badly
GIB = 2**30

# A trial program: what its guilty rank does after the first step; the other ranks wait for it for ever.
TRIAL = """
import json, os, signal, sys
trial = json.loads(sys.stdin.readline())
events = os.fdopen(int(os.environ["BATCHSWEEP_EVENT_FD"]), "w")
def say(**event):
    print(json.dumps(event), file=events, flush=True)
def end(event, **evidence):
    say(event=event, evidence={"phase": "timed", "message": "played", **evidence})
    sys.exit()
def wait_for_ever():
    while True:
        signal.pause()
say(event="hello", protocol=1, software={"program": "waiting 1"}, execution="eager")
say(event="phase", phase="timed")
say(event="step", step=1, time_s=0.01)
if trial["spec"]["model"] == "good":
    say(event="result", measured={}, steps={"warmup_steps": 0, "time_s": [0.01]})
    sys.exit()
if os.fork() == 0:  # as a careless data loader does
    os.setsid()
    wait_for_ever()
if trial["rank"] == GUILTY:
    FAULT
wait_for_ever()
"""
SWEEP = """
[sweep]
name = "one"
order = "grid"
[grid]
gpu = "dev"
model = ["bad", "good"]
world_size = {world}
batch_size = 1
runtime = "waiting"
[trial]
retries = 0
stall_limit = "{stall:g} s"
[[device]]
name = "dev"
kind = "cpu"
memory = "1 GiB"
threads = 1
count = 2
[[runtime]]
name = "waiting"
command = ["/usr/bin/python3", "{program}"]
[rehearsal]
[[rehearsal.rule]]
memory = {{ fixed = "1 MiB" }}
"""


class OneRank(Sandbox):
    def check(self, world, guilty, fault, outcome, reason="", **columns):
        with self.subTest(world=world, guilty=guilty, fault=fault):
            program = self.write("trial.py", TRIAL.replace("GUILTY", str(guilty)).replace("FAULT", fault))
            self.write("s.toml", SWEEP.format(world=world, stall=STALL_S, program=program))
            code, _, err = self.run_program("run", "s.toml", ranks=3, BATCHSWEEP_HOST="%r", timeout=60)
            self.assert_nothing_left_alive(within=10)
            self.assertEqual(code, 0 if outcome == "out_of_memory" else 3, err[-2000:])
            bad, good = sorted(self.rows("one.h5"), key=lambda row: row["model"])
            self.assertEqual((bad["outcome"], bad["reason"]), (outcome, reason), bad["message"])
            self.assertEqual({name: bad[name] for name in columns}, columns)
            self.assertEqual(good["outcome"], "completed")
            self.assertLess(bad["duration_s"], GRACE_S + (STALL_S if reason == "stall" else 0) + 1.0, "and a second to start Python")
            ranks = [row for row in self.rows("one.h5", "ranks") if row["trial_id"] == bad["trial_id"]]
            self.assertEqual([row["rank"] for row in ranks], list(range(world)))
            self.assertEqual(len({row["hostname"] for row in ranks}), -(-world // 2), "two devices a host")
            (self.folder / "one.h5").unlink()

    def test_out_of_memory(self):
        for world, guilty in ((4, 2), (2, 0), (1, 0)):
            self.check(world, guilty, f'end("out_of_memory", oom_requested_bytes={GIB}, oom_limit_bytes={2 * GIB})', "out_of_memory",
                       guilty_rank=guilty, oom_requested_bytes=GIB, oom_limit_bytes=2 * GIB)

    def test_dead(self):
        for world, guilty, number in ((4, 1, 9), (3, 2, 11)):
            self.check(world, guilty, f"os.kill(os.getpid(), {number})", "crashed", "signal", guilty_rank=guilty, signal=number)
        self.check(2, 1, "os._exit(3)", "crashed", "exit_code", guilty_rank=1, exit_code=3)

    def test_with_an_error_or_a_loss_that_is_not_finite(self):
        self.check(3, 0, 'end("failed", reason="exception")', "failed", "exception", guilty_rank=0)
        self.check(4, 3, 'end("diverged", step=2)', "diverged", guilty_rank=3)

    def test_that_says_what_is_no_event(self):
        self.check(2, 1, 'print("hello", file=events, flush=True)', "failed", "protocol", guilty_rank=1)

    def test_stopped_or_hanging(self):
        self.check(4, 3, "os.kill(os.getpid(), signal.SIGSTOP)", "timed_out", "stall")
        self.check(1, 0, "os.kill(os.getpid(), signal.SIGSTOP)", "timed_out", "stall", guilty_rank=0)
        self.check(3, 1, "wait_for_ever()", "timed_out", "stall")


if __name__ == "__main__":
    unittest.main()
