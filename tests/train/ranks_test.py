# SPDX-License-Identifier: Apache-2.0
"""Trials of several ranks, really trained by batchsweep run: the numbers are those of one rank with the whole batch, and whatever
befalls one rank ends them all."""
import math
import os
import pathlib
import sys
import time
import unittest

from harness import BIN, Sandbox

TRIAL = os.environ.get("BATCHSWEEP_TRIAL", str(BIN / "batchsweep-trial"))
STEPS = 20

SWEEP = """
[sweep]
name = "s"
[[device]]
name = "cpu"
kind = "cpu"
count = {count}
threads = 1
oversubscribe = true
[trial]
warmup_steps = 5
timed_steps = 15
{trial}
{more}
"""


def sweep(count, trial="", more=""):
    return SWEEP.format(count=count, trial=trial, more=more)


class Ranks(Sandbox):
    def run_sweep(self, text, **options):
        self.write("s.toml", text)
        code, _, err = self.run_program("run", "s.toml", timeout=500, **options)
        self.assert_nothing_left_alive()
        return code, err

    def losses(self, row):
        """Of each step, the mean over the trial's ranks."""
        steps = self.rows("s.h5", "steps")[int(row["steps_offset"]):][:int(row["steps_count"])]
        by_step = {}
        for step in steps:
            by_step.setdefault(step["step"], []).append(step["loss"])
        self.assertEqual({len(losses) for losses in by_step.values()}, {row["world_size"]})
        return [sum(by_step[number]) / row["world_size"] for number in sorted(by_step)]

    def ranks(self, row):
        return sorted((rank for rank in self.rows("s.h5", "ranks") if rank["trial_id"] == row["trial_id"]), key=lambda rank: rank["rank"])


class TheNumbersOfOneRank(Ranks):
    def assert_same_losses(self, rows, among):
        """Within each group of rows that are equal in the columns `among`; returns the number of groups."""
        groups = {}
        for row in rows:
            self.assertEqual(row["outcome"], "completed", row["message"])
            groups.setdefault(tuple(row[column] for column in among), []).append(row)
        for which, group in groups.items():
            self.assertEqual({row["global_batch_size"] for row in group}, {16}, which)
            one = self.losses(next(row for row in group if row["world_size"] == 1))
            self.assertEqual(len(one), STEPS)
            self.assertNotAlmostEqual(one[0], one[-1], 3)
            for row in group:
                for step, (expected, loss) in enumerate(zip(one, self.losses(row), strict=True), 1):
                    self.assertLess(abs(loss - expected), 1e-5 * expected, f"{which}, {row['world_size']} ranks, step {step}: {loss}, {expected}")
                self.assertAlmostEqual(row["loss_last"], self.losses(row)[-1], 12)
        return len(groups)

    def test_lenet_and_bert_with_accumulation_and_clipping(self):
        text = self.write("t.txt", "In the beginning God created the heaven and the earth. And the earth was without form, and void. " * 60)
        code, err = self.run_sweep(sweep(4, more=f"""
[[grid]]
model = "lenet"
data = "fashion-mnist"
learning_rate = 0.05
world_size = [1, 2, 4]
gradient_accumulation_steps = [1, 2]
clip_grad_norm = ["none", 0.5]
global_batch_size = 16
[[grid]]
model = "bert-tiny"
data = "text:{text}"
sequence_length = 32
dropout = 0
learning_rate = 0.001
world_size = [1, 2, 4]
gradient_accumulation_steps = [1, 2]
clip_grad_norm = ["none", 0.5]
global_batch_size = 16
"""))
        self.assertEqual(code, 0, err)
        rows = self.rows("s.h5")
        # Clipping is no column: the rows of one group then differ by it.
        by_clip = {}
        for row in rows:
            by_clip.setdefault((row["model"], row["gradient_accumulation_steps"], row["world_size"]), []).append(row)
        for pair in by_clip.values():
            self.assertEqual(len(pair), 2)
            self.assertNotEqual(self.losses(pair[0])[-1], self.losses(pair[1])[-1])
        for one in range(2):
            rows_of_clip = [sorted(pair, key=lambda row: self.losses(row)[-1])[one] for pair in by_clip.values()]
            self.assertEqual(self.assert_same_losses(rows_of_clip, ("model", "gradient_accumulation_steps")), 4)

    def test_over_three_hosts_as_on_one(self):
        more = """
[[grid]]
model = "bert-tiny"
sequence_length = 16
dropout = 0
world_size = [1, 3]
global_batch_size = 48
"""
        code, err = self.run_sweep(sweep(1, more=more), ranks=3, BATCHSWEEP_HOST="n%r")
        self.assertEqual(code, 0, err)
        one, three = sorted(self.rows("s.h5"), key=lambda row: row["world_size"])
        for expected, loss in zip(self.losses(one), self.losses(three), strict=True):
            self.assertLess(abs(loss - expected), 1e-5 * expected)
        ranks = self.ranks(three)
        self.assertEqual(sorted(rank["hostname"] for rank in ranks), ["n0", "n1", "n2"])
        self.assertEqual([rank["local_rank"] for rank in ranks], [0, 0, 0])
        self.assertEqual(three["parallelism"], "ddp")

    def test_each_precision_and_option_trains_on_two_ranks(self):
        code, err = self.run_sweep(sweep(2, more="""
[[grid]]
model = ["lenet", "bert-tiny"]
world_size = 2
batch_size = 4
activation_checkpointing = [false, true]
precision = ["fp32", "bf16", "fp16", "bf16-true"]
timed_steps = 3
warmup_steps = 1
[[grid]]
model = "resnet18"
image_size = 32
memory_format = ["contiguous", "channels_last"]
activation_checkpointing = [false, true]
timed_steps = 3
warmup_steps = 1
world_size = 2
batch_size = 4
[[grid]]
model = ["densenet121", "deeplabv3_resnet50"]
image_size = 64
timed_steps = 2
warmup_steps = 0
world_size = 2
batch_size = 2
[[grid]]
model = "gpt2"
sequence_length = 8
activation_checkpointing = [false, true]
timed_steps = 2
warmup_steps = 0
world_size = 2
batch_size = 1
"""))
        self.assertEqual(code, 0, err)
        rows = self.rows("s.h5")
        self.assertEqual({row["outcome"] for row in rows}, {"completed"}, [(row["model"], row["message"]) for row in rows])
        for row in rows:
            # Gradients are averaged before the loss scaler looks at them, so all ranks leave the same steps out.
            self.assertEqual(len({(rank["applied_steps"], rank["skipped_steps"]) for rank in self.ranks(row)}), 1)


class WhatIsRecorded(Ranks):
    def test_throughput_is_of_all_ranks_and_communication_of_a_step(self):
        code, err = self.run_sweep(sweep(2, more='[grid]\nmodel = "lenet"\nbatch_size = 8\nworld_size = [1, 2]\n'))
        self.assertEqual(code, 0, err)
        one, two = sorted(self.rows("s.h5"), key=lambda row: row["world_size"])
        ranks = self.ranks(two)
        self.assertEqual(two["samples"], 2 * 15 * 8)
        self.assertEqual([rank["samples"] for rank in ranks], [15 * 8, 15 * 8])
        self.assertEqual(two["window_s"], max(rank["window_s"] for rank in ranks))
        self.assertAlmostEqual(two["samples_per_s"], two["samples"] / two["window_s"], 6)
        self.assertAlmostEqual(two["samples_per_s_per_gpu"], two["samples_per_s"] / 2, 6)
        self.assertEqual(len({rank["device_uuid"] for rank in ranks}), 2)
        self.assertEqual([rank["cpu_threads"] for rank in ranks], [1, 1])
        self.assertEqual(two["comm_bytes_per_step"], 4 * 61706)
        self.assertGreater(two["comm_exposed_s"], 0)
        self.assertGreaterEqual(two["comm_overlapped_s"], 0)
        self.assertLess(two["comm_exposed_s"] + two["comm_overlapped_s"], 60)
        self.assertEqual((one["parallelism"], two["parallelism"]), ("none", "ddp"))
        for column in ("comm_bytes_per_step", "comm_exposed_s", "comm_overlapped_s"):
            self.assertTrue(math.isnan(one[column]), column)

    def test_all_ranks_end_the_window_with_the_same_step(self):
        code, err = self.run_sweep(sweep(2, 'min_time = "0.5 s"', '[grid]\nmodel = "lenet"\nbatch_size = 1\nworld_size = 2\n'))
        self.assertEqual(code, 0, err)
        row, = self.rows("s.h5")
        self.assertEqual(len({rank["samples"] for rank in self.ranks(row)}), 1)
        self.assertGreater(row["samples"], 2 * 15)
        self.assertGreaterEqual(row["window_s"], 0.5)


class OneRanksEnd(Ranks):
    def run_with(self, fault, count=3, trial="", **options):
        """Three ranks; `fault` befalls rank 1."""
        command = [sys.executable, str(pathlib.Path(__file__).parent / "unlucky_rank.py"), fault, TRIAL]
        began = time.monotonic()
        code, err = self.run_sweep(sweep(count, trial, f"""
[grid]
model = "bert-tiny"
world_size = 3
batch_size = 2
runtime = "r"
[[runtime]]
name = "r"
command = {command}
"""), **options)
        self.assertLess(time.monotonic() - began, 60)
        row, = self.rows("s.h5")
        return row, self.ranks(row), (code, err)

    def test_out_of_memory_is_that_ranks_with_its_bytes(self):
        row, ranks, (code, err) = self.run_with("oom")
        self.assertEqual((row["outcome"], row["guilty_rank"], code), ("out_of_memory", 1, 0), (row["message"], err))
        self.assertEqual(row["oom_limit_bytes"], 30_000_000)
        self.assertGreater(row["oom_requested_bytes"] + row["oom_allocated_bytes"], 30_000_000)
        self.assertEqual(ranks[1]["outcome"], "out_of_memory")

    def test_a_loss_that_is_not_finite_is_that_ranks(self):
        row, _, _ = self.run_with("diverge")
        self.assertEqual((row["outcome"], row["guilty_rank"]), ("diverged", 1), row["message"])

    def test_a_killed_rank_is_guilty_and_not_those_that_lost_it(self):
        row, ranks, (code, err) = self.run_with("kill", trial="retries = 0")
        self.assertEqual((row["outcome"], row["guilty_rank"], row["signal"], code), ("crashed", 1, 9, 3), (row["message"], err))
        for rank in (0, 2):
            self.assertIn(ranks[rank]["outcome"], ("failed", "interrupted"), ranks[rank]["message"])

    def test_a_killed_rank_on_another_host(self):
        row, ranks, _ = self.run_with("kill", count=1, trial="retries = 0", ranks=3, BATCHSWEEP_HOST="n%r")
        self.assertEqual((row["outcome"], row["guilty_rank"]), ("crashed", 1), [rank["message"] for rank in ranks])

    def test_a_stopped_rank_stalls_the_trial(self):
        row, _, _ = self.run_with("stop", trial='stall_limit = "2 s"')
        self.assertEqual((row["outcome"], row["reason"]), ("timed_out", "stall"), row["message"])

    def test_a_rank_that_fails_before_they_meet(self):
        row, _, (code, _) = self.run_with("exit", trial="retries = 0")
        self.assertEqual((row["outcome"], row["exit_code"], row["guilty_rank"], code), ("crashed", 3, 1, 3), row["message"])

    def test_a_cluster_interface_that_is_not_there_is_said(self):
        code, err = self.run_sweep(sweep(1, more='[grid]\nmodel = "lenet"\nbatch_size = 1\nworld_size = 2\n[cluster]\ninterface = "ib77"\n'),
                                   ranks=2, BATCHSWEEP_HOST="n%r")
        self.assertEqual(code, 3, err)
        row, = self.rows("s.h5")
        self.assertEqual((row["outcome"], row["reason"], row["phase"]), ("failed", "launch", "launch"))
        self.assertIn('this host has no "ib77"', row["message"])


if __name__ == "__main__":
    unittest.main()
