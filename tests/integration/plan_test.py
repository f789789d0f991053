# SPDX-License-Identifier: Apache-2.0
"""plan, init, models and gpus as people and scripts see them; nothing here starts a trial but one simulated sweep."""
import csv
import io
import json
import os
import unittest

from harness import Sandbox
from rehearsals import rehearsal

def sweep(batches=(4, 16), repeats=1):
    return rehearsal(
        "p", {"gpu": ["small", "H100 80GB SXM"], "model": ["a", "b"], "batch_size": batches}, trial={"repeats": repeats},
        memory={"small": "1 GiB"}, nodes=[{"devices": {"small": 2}}],
        rules=[{"memory": {"fixed": "100 MiB", "per_sample": "100 MiB"}, "step": {"fixed": "1 s"}}])


class Plan(Sandbox):
    def answer(self, *arguments):
        return self.run_program(*arguments)

    def plan(self, *arguments):
        code, out, err = self.answer("plan", "s.toml", "--format", "json", *arguments)
        self.assertEqual(code, 0, err)
        return json.loads(out)

    def test_counts_what_is_recorded_left_and_without_a_device(self):
        self.write("s.toml", sweep())
        before = self.plan()
        counts = lambda plan: [plan[k] for k in ("total", "recorded", "remaining", "skipped")]
        self.assertEqual(counts(before), [8, 0, 4, 4])
        self.assertEqual(before["absent"], {"H100 80GB SXM": 4})
        self.assertNotIn("expected_s", before)
        self.assertEqual(sorted(os.listdir(self.folder)), ["err", "out", "s.toml"])  # the harness' two, nothing of ours

        self.assertEqual(self.run_program("run", "s.toml")[0], 0)
        after = self.plan()
        self.assertEqual(counts(after), [8, 4, 0, 4])
        self.assertEqual([t["state"] for t in after["trials"]][:4],
                         ["completed", "out_of_memory", "completed", "out_of_memory"])
        self.assertEqual([t["trial_id"] for t in before["trials"]], [t["trial_id"] for t in after["trials"]])

        self.write("s.toml", sweep(batches=(4, 8, 16), repeats=2))
        more = self.plan()
        self.assertEqual(counts(more), [24, 4, 8, 12])
        self.assertGreater(more["expected_s"], 20)  # 25 played steps of a second each, and more than one trial a device
        self.assertEqual(more["trials"][0]["state"], "1 of 2 recorded")
        self.assertEqual(self.answer("plan", "s.toml", "--remaining")[1], "8\n")
        self.assertEqual(self.answer("plan", "s.toml", "--remaining", "--only", "model=a,batch_size=8..")[1], "3\n")

    def test_lists_twenty_trials_in_text_and_all_where_asked(self):
        self.write("s.toml", sweep(batches={"from": 1, "to": 10, "step": 1}))
        text = self.answer("plan", "s.toml")[1]
        self.assertIn("... and 20 more (--all)\n", text)
        self.assertEqual(text.count("to run\n"), 20)
        self.assertEqual(self.answer("plan", "s.toml", "--all")[1].count("no such device\n"), 20)
        rows = list(csv.DictReader(io.StringIO(self.answer("plan", "s.toml", "--format", "csv")[1])))
        self.assertEqual(len(rows), 40)
        self.assertEqual(rows[11]["batch_size"], "2")

    def test_bad_files_are_usage_errors_told_on_stderr(self):
        self.write("s.toml", sweep() + "[trial]\n")
        self.assertEqual(self.answer("plan", "s.toml")[:2], (2, ""))
        self.assertEqual(self.answer("plan", "not there.toml"),
                         (2, "", "batchsweep: not there.toml: cannot read: No such file or directory\n"))
        self.write("s.toml", sweep())
        code, out, err = self.answer("plan", "s.toml", "--set", "trial.warmup_step=1", "--set", "grid.batch_size=0")
        self.assertEqual((code, out), (2, ""))
        self.assertEqual(err, "batchsweep: --set trial.warmup_step=1: trial.warmup_step: unknown key, did you mean warmup_steps\n"
                              "--set grid.batch_size=0: grid.batch_size: expected at least 1, found 0\n")
        self.assertEqual(self.answer("plan", "s.toml", "--only", "modle=a")[2],
                         "batchsweep: --only modle=a: unknown axis modle, did you mean model\n")

    def test_init_writes_a_sweep_that_plans_and_never_overwrites(self):
        self.assertEqual(self.answer("init")[0], 0)
        code, out, err = self.answer("plan", "sweep.toml")
        self.assertEqual(code, 0, err)
        self.assertRegex(out, r"^sweep: \d+ trials: 0 recorded, \d+ to run\n")
        with open(os.path.join(self.folder, "sweep.toml")) as file:
            text = file.read()
        self.assertEqual(self.answer("init"), (2, "", "batchsweep: sweep.toml exists: name another file, or remove it first\n"))
        with open(os.path.join(self.folder, "sweep.toml")) as file:
            self.assertEqual(file.read(), text)
        self.assertEqual(self.answer("init", "mine.toml")[0], 0)
        self.assertEqual(json.loads(self.answer("plan", "mine.toml", "--format", "json")[1])["name"], "mine")

    def test_models_and_gpus_answer_in_every_format(self):
        models = json.loads(self.answer("models", "--format", "json")[1])["models"]
        self.assertEqual(len(models), 20)
        self.assertEqual({m["model"]: m["num_parameters"] for m in models}["resnet18"], 11689512)
        self.assertEqual([m["heads"] for m in models if m["model"] == "bert-tiny"], [["mlm", "classify", "qa"]])
        gpus = json.loads(self.answer("gpus", "--format", "json")[1])["gpus"]
        self.assertEqual(len(gpus), 54)
        self.assertEqual([g["memory_bytes"] for g in gpus if g["gpu"] == "H100 80GB SXM"], [85520809984])
        self.assertNotIn("bf16_flops", gpus[0])
        self.assertEqual(len(list(csv.DictReader(io.StringIO(self.answer("gpus", "--format", "csv")[1])))), 54)
        self.assertTrue(self.answer("gpus", "--format", "markdown")[1].startswith("| gpu "))
        self.assertIn("resnet18", self.answer("models")[1])


if __name__ == "__main__":
    unittest.main()
