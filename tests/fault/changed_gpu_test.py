# SPDX-License-Identifier: Apache-2.0
"""Going on with another GPU or driver than the file was recorded with is refused, unless the user says otherwise.

The cards are those of a fake NVML, the trials a script that speaks the trial protocol.
"""
import os
import unittest

from harness import Sandbox

TRIAL = """
import json, os, sys
json.loads(sys.stdin.readline())
events = os.fdopen(int(os.environ["BATCHSWEEP_EVENT_FD"]), "w")
for event in [{"event": "hello", "protocol": 1, "software": {"program": "script 1"}, "execution": "eager"},
              {"event": "result", "measured": {}, "steps": {"warmup_steps": 0, "time_s": [0.1]}}]:
    print(json.dumps(event), file=events)
"""
SWEEP = """
[sweep]
name = "s"
[grid]
gpu = "card"
model = "lenet"
batch_size = BATCHES
runtime = "script"
[[device]]
name = "card"
kind = "cuda"
memory = "1 GB"
reserve = "1 MB"
[[runtime]]
name = "script"
command = ["/usr/bin/python3", "TRIAL"]
"""


class ChangedGpu(Sandbox):
    def setUp(self):
        super().setUp()
        (self.folder / "libnvidia-ml.so.1").symlink_to(os.environ["FAKE_NVML_LIBRARY"])
        self.trial = self.write("trial.py", TRIAL)
        self.record(batches="[1]")

    def record(self, batches):
        self.write("s.toml", SWEEP.replace("BATCHES", batches).replace("TRIAL", self.trial))
        code, _, err = self.run_sweep()
        self.assertEqual(code, 0, err)

    def run_sweep(self, *arguments, **extra):
        return self.run_program("run", "s.toml", *arguments, LD_LIBRARY_PATH=str(self.folder), **extra)

    def assert_refused(self, difference, **changes):
        self.write("s.toml", SWEEP.replace("BATCHES", "[1, 2]").replace("TRIAL", self.trial))
        code, _, err = self.run_sweep(**changes)
        self.assertEqual(code, 2, err)
        self.assertIn(difference, err)
        self.assertIn("--accept-changes", err)
        self.assertEqual(len(self.rows("s.h5")), 1)
        self.assert_nothing_left_alive()

    def test_another_driver_is_refused_and_may_be_accepted(self):
        self.assert_refused("card: driver 580.65.06 then, 570.1 now", FAKE_NVML_DRIVER="570.1")
        code, _, err = self.run_sweep("--accept-changes", FAKE_NVML_DRIVER="570.1")
        self.assertEqual(code, 0, err)
        self.assertEqual([row["driver_version"] for row in self.rows("s.h5")], ["580.65.06", "570.1"])

    def test_another_card_under_the_same_name_is_refused(self):
        recorded = self.rows("s.h5")[0]["device_name"]
        self.assertTrue(recorded.startswith("NVIDIA "), recorded)
        self.assert_refused(f"card: {recorded} then, NVIDIA Other Card now", FAKE_NVML_CARD="NVIDIA Other Card")

    def test_the_same_goes_on(self):
        self.record(batches="[1, 2]")
        self.assertEqual(len(self.rows("s.h5")), 2)


if __name__ == "__main__":
    unittest.main()
