# SPDX-License-Identifier: Apache-2.0
"""A GPU is looked at before each trial: one that somebody else uses, that is gone, split or another card takes no trial; the row says why,
and the trial runs where and when a device is fit. The cards are those of a fake NVML, whose state a file tells."""
import os
import unittest

from harness import Sandbox

TRIAL = """
import json, os, sys
trial = json.loads(sys.stdin.readline())
if trial["spec"]["batch_size"] == 1 and THEN:
    open(os.environ["FAKE_NVML_NOW"], "w").write(THEN)
events = os.fdopen(int(os.environ["BATCHSWEEP_EVENT_FD"]), "w")
for event in [{"event": "hello", "protocol": 1, "software": {"program": "script 1"}, "execution": "eager"},
              {"event": "result", "measured": {}, "steps": {"warmup_steps": 0, "time_s": [0.1]}}]:
    print(json.dumps(event), file=events)
"""
SWEEP = """
[sweep]
name = "s"
order = "grid"
[grid]
gpu = "card"
model = "lenet"
batch_size = [1, 2]
runtime = "script"
[[device]]
name = "card"
kind = "cuda"
memory = "1 GB"
reserve = "1 MB"
COUNT
[[runtime]]
name = "script"
command = ["/usr/bin/python3", "PROGRAM"]
"""
# what the driver shows once the first trial runs -> reason and words of the second one's row
UNFIT = {"process 4711": ("device_not_clean", "GPU-1 is in use by process 4711 (somebody)"),
         "used 9437184000": ("device_not_clean", "8.8 GiB of 79.6 GiB are in use on GPU-1"),
         "prohibited": ("device_not_clean", "compute mode is Prohibited"),
         "gone": ("device_absent", "GPU-1 (NVIDIA H100 80GB HBM3) is not there any more"),
         "mig": ("device_absent", "split into MIG slices now"),
         "name NVIDIA A100": ("device_absent", "wrong device: GPU-1 was offered as NVIDIA H100 80GB HBM3")}


class DeviceCheck(Sandbox):
    def setUp(self):
        super().setUp()
        (self.folder / "libnvidia-ml.so.1").symlink_to(os.environ["FAKE_NVML_LIBRARY"])

    def run_sweep(self, then="", count=""):
        program = self.write("trial.py", TRIAL.replace("THEN", repr(then)))
        self.write("s.toml", SWEEP.replace("PROGRAM", program).replace("COUNT", count))
        return self.run_program("run", "s.toml", LD_LIBRARY_PATH=str(self.folder), FAKE_NVML_NOW=str(self.folder / "now"))

    def forget(self):
        for name in ("s.h5", "now"):
            (self.folder / name).unlink(missing_ok=True)

    def test_what_is_not_fit_is_skipped_with_the_reason_and_runs_later(self):
        for then, (reason, words) in UNFIT.items():
            with self.subTest(then=then):
                code, _, err = self.run_sweep(then)
                self.assertEqual(code, 4, err)
                first, second = sorted(self.rows("s.h5"), key=lambda row: row["batch_size"])
                self.assertEqual(first["outcome"], "completed")
                self.assertEqual((second["outcome"], second["reason"]), ("skipped", reason), err)
                self.assertIn(words, second["message"])
                self.assertIn("card (GPU-1) on", err)
                self.assertIn("is out of service: " + second["message"], err)
                (self.folder / "now").unlink()
                self.assertEqual(self.run_sweep()[0], 0)
                rows = self.rows("s.h5")
                self.assertEqual([row["outcome"] for row in rows], ["completed", "completed"], "the skipped row gave way")
                self.forget()
        self.assert_nothing_left_alive()

    def test_the_trial_runs_on_another_card_at_once(self):
        code, _, err = self.run_sweep("gone", count="count = 2")
        self.assertEqual(code, 0, err)
        self.assertEqual({row["outcome"] for row in self.rows("s.h5")}, {"completed"})

    def test_a_server_that_shares_cards_is_no_foreign_process(self):
        self.assertEqual(self.run_sweep("process 77")[0], 0)

    def test_in_a_rehearsal_nobody_looks(self):
        self.write("s.toml", SWEEP.replace("COUNT", "").replace('runtime = "script"\n', "").partition("[[runtime]]")[0] +
                   '[rehearsal]\n[[rehearsal.rule]]\nmemory = { fixed = "1 MiB" }\n')
        self.write("now", "gone")
        code, _, err = self.run_program("run", "s.toml", LD_LIBRARY_PATH=str(self.folder), FAKE_NVML_NOW=str(self.folder / "now"))
        self.assertEqual(code, 0, err)


if __name__ == "__main__":
    unittest.main()
