#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The example of a [[runtime]] in docs/examples, run as a user runs it: trials of a model that is not built in, beside one that fails.

    runtime_test.py BATCHSWEEP EXAMPLE
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM, EXAMPLE = sys.argv[1:3]

SWEEP = """
[sweep]
name = "r"
[trial]
sequence_length = 16
warmup_steps = 1
timed_steps = 2
[[grid]]
model = ["distilbert", "no-such-model"]
runtime = "hugging-face"
precision = ["fp32", "bf16"]
batch_size = 2
[[exclude]]
model = "no-such-model"
precision = "bf16"
[[grid]]
model = "distilbert"
runtime = "mute"
batch_size = 2
[[runtime]]
name = "hugging-face"
command = [{python}, {example}]
[[runtime]]
name = "mute"
command = ["true"]
"""


class Runtime(unittest.TestCase):
    def test_trains_models_that_are_not_built_in(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            (path / "r.toml").write_text(SWEEP.format(python=json.dumps(sys.executable), example=json.dumps(EXAMPLE)))
            run = subprocess.run([PROGRAM, "run", "r.toml"], cwd=folder, capture_output=True, text=True)
            self.assertEqual(run.returncode, 3, run.stdout + run.stderr)
            subprocess.run([PROGRAM, "export", "r.h5", "--json", "r.json"], cwd=folder, check=True, capture_output=True)
            rows = {(r["model"], r["precision"], r["runtime"]): r for r in json.loads((path / "r.json").read_text())}

        trained = rows["distilbert", "fp32", "hugging-face"]
        self.assertEqual(trained["outcome"], "completed", trained["message"])
        self.assertEqual(trained["samples"], 4)
        self.assertEqual(trained["tokens"], 64)
        self.assertGreater(trained["num_parameters"], 60e6)
        self.assertGreater(trained["samples_per_s"], 0)
        self.assertGreater(trained["loss_first"], 0)
        self.assertEqual(trained["torch_version"].split("+")[0], "2.11.0")
        self.assertEqual(trained["execution"], "eager")

        self.assertEqual(rows["distilbert", "bf16", "hugging-face"]["outcome"], "skipped")
        unknown = rows["no-such-model", "fp32", "hugging-face"]
        self.assertEqual(unknown["outcome"], "failed")
        self.assertIn("no-such-model", unknown["message"])
        mute = rows["distilbert", "fp32", "mute"]
        self.assertEqual((mute["outcome"], mute["reason"]), ("failed", "protocol"))
        self.assertIn("speaks the trial protocol", mute["message"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
