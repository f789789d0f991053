# SPDX-License-Identifier: Apache-2.0
"""What report, export and explain say of a file that the real program wrote, checked with h5py, csv and json."""
import csv
import io
import json
import math
import unittest

from harness import Sandbox
from rehearsals import rehearsal

RESNET = {"memory": {"fixed": "100 MiB", "per_sample": "10 MiB"}, "step": {"fixed": "20 ms", "per_sample": "5 ms"}}
MEMORY = {"small": "512 MiB", "large": "4 GiB"}
NOISY_RESNET = {"memory": RESNET["memory"], "step": {**RESNET["step"], "noise": 0.01}}


def sweep(batches=(4, 8, 16, 32, 64, 128, 256), mode="simulated", overhead="100 ms", devices=("small", "large"), **trial):
    bert = {"memory": {"fixed": "40 MiB", "per_sample": "3 MiB"}, "step": {"fixed": overhead, "per_sample": "1 ms", "noise": 0.01}}
    return rehearsal(
        "a", {"gpu": ["small", "large"], "model": ["resnet18", "bert-tiny"], "batch_size": batches}, mode=mode,
        trial={"timed_steps": 20, "repeats": 2, **trial}, memory={name: MEMORY[name] for name in devices},
        rules=[{"when": {"model": "resnet18", "gpu": "large", "batch_size": 8}, **RESNET, "fault": "segfault"},
               {"when": {"model": "resnet18"}, **NOISY_RESNET}, {"when": {"model": "bert-tiny"}, **bert}])


class Answers(Sandbox):
    def setUp(self):
        super().setUp()
        self.write("a.toml", sweep())
        self.assertEqual(self.run_program("run", "a.toml")[0], 3)  # the played faults

    def answer(self, *arguments):
        code, out, err = self.run_program(*arguments)
        self.assertEqual(code, 0, err)
        return out

    def test_report_finds_what_the_rules_say(self):
        report = json.loads(self.answer("report", "a.h5", "--format", "json"))
        found = {(row["gpu"], row["model"]): row for row in report["largest_batch"]}
        self.assertEqual({key: (row["max_batch_fit"], row["min_batch_oom"]) for key, row in found.items()},
                         {("small", "resnet18"): (32, 64), ("small", "bert-tiny"): (128, 256),
                          ("large", "resnet18"): (256, None), ("large", "bert-tiny"): (256, None)})
        for row in report["memory"]:
            fixed, per_sample = (100, 10) if row["model"] == "resnet18" else (40, 3)
            self.assertAlmostEqual(row["fixed_bytes"], fixed * 2**20, delta=2**10)
            self.assertAlmostEqual(row["bytes_per_sample"], per_sample * 2**20, delta=2**10)
        limits = {(row["gpu"], row["model"]): row["limited_by"] for row in report["verdicts"]}
        self.assertEqual(limits[("small", "bert-tiny")], "memory")
        self.assertEqual(limits[("large", "resnet18")], "compute")
        rates = {(row["gpu"], row["model"]): row for row in report["throughput"]["best"]}
        self.assertAlmostEqual(rates[("small", "bert-tiny")]["samples_per_s"], 128 / 0.228, delta=0.03 * 128 / 0.228)
        self.assertEqual(report["outcomes"]["counts"]["crashed"], 2)
        self.assertEqual({row["signal"] for row in report["outcomes"]["failures"]}, {11})

    def test_every_format_and_the_summary(self):
        self.assertIn("REHEARSED", self.answer("report", "a.h5"))
        self.assertIn("## Throughput", self.answer("report", "a.h5", "--format", "markdown"))
        table = list(csv.DictReader(io.StringIO(self.answer("report", "a.h5", "--format", "csv"))))
        self.assertEqual(len(table), 4)
        self.assertEqual(table[0]["max_batch_fit"], "32")
        self.assertLessEqual(self.answer("report", "a.h5", "--summary").count("\n"), 15)

    def test_a_row_that_is_no_longer_asked_for_is_left_out(self):
        self.write("a.toml", sweep(batches=(4, 16, 32)))
        self.run_program("run", "a.toml")
        rows = json.loads(self.answer("report", "a.h5", "--format", "json"))["largest_batch"]
        self.assertEqual({row["largest_tried"] for row in rows}, {32})
        rows = json.loads(self.answer("report", "a.h5", "--format", "json", "--all"))["largest_batch"]
        self.assertEqual({row["largest_tried"] for row in rows}, {256})

    def test_export_holds_every_row_and_column_as_the_file_does(self):
        rows = self.rows("a.h5")
        self.answer("export", "a.h5", "--csv", "a.csv")
        with open(self.folder / "a.csv", newline="", encoding="utf-8") as file:
            exported = list(csv.DictReader(file))
        listed = json.loads(self.answer("export", "a.h5", "--json", "-"))
        self.assertEqual(len(exported), len(rows))
        self.assertEqual(len(listed), len(rows))
        for row, cells, item in zip(rows, exported, listed):
            for name in row:
                if isinstance(row[name], float) and math.isnan(row[name]):
                    self.assertEqual((cells[name], item[name]), ("", None), name)
                elif isinstance(row[name], float):
                    self.assertEqual((float(cells[name]), item[name]), (row[name], row[name]), name)
                elif isinstance(row[name], str):
                    self.assertEqual((cells[name], item[name]), (row[name], row[name]), name)

    def test_explain_takes_a_unique_prefix_and_shows_the_evidence(self):
        crashed = next(row["trial_id"] for row in self.rows("a.h5") if row["outcome"] == "crashed")
        text = self.answer("explain", "a.h5", crashed)
        self.assertIn("attempt 3: crashed", text)
        self.assertIn("SIGSEGV", text)
        code, _, err = self.run_program("explain", "a.h5", "no such trial")
        self.assertEqual(code, 2)
        self.assertIn("no trial whose id starts with", err)
        ids = {row["trial_id"] for row in self.rows("a.h5")}
        shared = next(digit for digit in "0123456789abcdef" if sum(i.startswith(digit) for i in ids) > 1)
        code, _, err = self.run_program("explain", "a.h5", shared)
        self.assertEqual(code, 2)
        self.assertIn("trials have ids that start with", err)

    def test_bad_usage_is_refused_with_the_cure(self):
        for arguments, words in [(["report", "a.h5", "--html", "r.html"], "--format markdown"),
                                 (["report", "a.h5", "--reference", "smal"], "small"),
                                 (["report", "a.h5", "--only", "nonsense=1"], "nonsense"),
                                 (["report", "none.h5"], "none.h5"),
                                 (["report", "a.toml"], "not an HDF5 file"),
                                 (["export", "a.h5"], "--csv")]:
            code, _, err = self.run_program(*arguments)
            self.assertEqual(code, 2, arguments)
            self.assertIn(words, err, arguments)


class Waiting(Sandbox):
    def test_explain_says_why_a_trial_waits(self):
        self.write("a.toml", sweep(batches=(4, 16), mode="process", overhead="300 s"))
        sweep_process = self.start("run", "a.toml")
        self.addCleanup(self.kill_tagged)
        self.wait_until(lambda: (self.folder / "a.h5").exists() and (self.folder / "a.h5.status.json").exists()
                        and json.loads((self.folder / "a.h5.status.json").read_text())["next"], 30)
        waiting = json.loads((self.folder / "a.h5.status.json").read_text())["next"][0]
        code, out, err = self.run_program("explain", "a.h5", waiting["trial"])
        self.assertEqual(code, 0, err)
        self.assertRegex(out, "waiting: repeat|running: repeat")
        sweep_process.terminate()
        sweep_process.wait()



class Elsewhere(Sandbox):
    """The .h5 alone answers: without the sweep file, the site file and the data that the run had."""

    def test_rows_of_the_newest_sweep_text_are_known_without_the_files_it_named(self):
        (self.folder / "books").mkdir()
        self.write("books/t.txt", "In the beginning")
        self.write("site.toml", '[[device]]\nname = "large"\nkind = "cpu"\nmemory = "3 GiB"\n')
        for batches in ((4, 8), (8, 16)):
            self.write("a.toml", sweep(batches, devices=["small"], data="text:books/t.txt"))
            code = self.run_program("run", "a.toml", "--site", "site.toml", "--set", "trial.repeats=1", "--set", "trial.timed_steps=12")[0]
            self.assertEqual(code, 3)
        away = self.folder / "away"
        away.mkdir()
        (self.folder / "a.h5").rename(away / "a.h5")
        for name in ("books/t.txt", "site.toml", "a.toml"):
            (self.folder / name).unlink()
        code, out, err = self.run_program("report", "away/a.h5", "--format", "json")
        self.assertEqual(code, 0, err)
        answer = json.loads(out)
        (notice,) = answer["notices"]
        self.assertIn("and 4 that the newest sweep text no longer asks for", notice)  # the batch of 4
        self.assertEqual(answer["outcomes"]["trials"], 8)  # 2 devices x 2 models x (8, 16)
        self.assertIn("data text:t.txt", self.run_program("report", "away/a.h5")[1].replace("\n  ", " "))


if __name__ == "__main__":
    unittest.main()
