# SPDX-License-Identifier: Apache-2.0
"""D07, D09, D13, D15, D17: whose memory, whose rate, which steps. Trials report prepared numbers; what is recorded of them must mean one thing."""
import math
import unittest

import h5py
from harness import Sandbox
from scripted import scripted

GIB = 2**30


class NumbersOfRanks(Sandbox):
    def recorded(self, name, body, **grid):
        code, _, err = self.run_program("run", scripted(self, name, body, grid))
        self.assertIn(code, (0, 3), err)
        (row,) = self.rows(name + ".h5")
        return row

    def test_the_peak_is_that_of_the_rank_that_needs_most(self):
        row = self.recorded("peaks", "result([0.1], samples=1, window_s=0.1, peak_allocated_bytes=[1, 5, 2, 2][rank] * 2**30)", world_size=4)
        self.assertEqual(row["peak_allocated_bytes"], 5 * GIB)
        ranks = sorted(self.rows("peaks.h5", "ranks"), key=lambda rank: rank["rank"])
        self.assertEqual([rank["peak_allocated_bytes"] / GIB for rank in ranks], [1, 5, 2, 2])
        self.assertEqual(len({rank["device_uuid"] for rank in ranks}), 4, "a device each")

    def test_the_rate_is_samples_of_all_over_the_time_of_the_slowest(self):
        row = self.recorded("rates", "result([0.1] * 10, samples=100, window_s=[1.0, 1.0, 1.0, 1.25][rank])", world_size=4)
        self.assertEqual((row["samples"], row["window_s"]), (400, 1.25))
        self.assertEqual((row["samples_per_s"], row["samples_per_s_per_gpu"]), (320, 80))

    def test_allocated_reserved_and_device_memory_are_three_numbers_and_a_missing_one_is_missing(self):
        row = self.recorded("three", "result([0.1], samples=1, window_s=0.1, peak_allocated_bytes=10, peak_reserved_bytes=13)")
        self.assertEqual((row["peak_allocated_bytes"], row["peak_reserved_bytes"]), (10, 13))
        self.assertTrue(math.isnan(row["peak_device_used_bytes"]), "unknown, not 0")

    def test_the_warm_up_is_in_no_average(self):
        row = self.recorded("warm", "result([57, 2, 2, 2, 2], warmup=1, samples=4, window_s=8)")
        self.assertEqual((row["step_time_median_s"], row["samples_per_s"]), (2, 0.5))
        self.assertEqual((row["warmup_steps"], row["timed_steps"]), (1, 4))
        steps = self.rows("warm.h5", "steps")
        self.assertEqual([(step["time_s"], bool(step["warmup"])) for step in steps], [(57, True), (2, False), (2, False), (2, False), (2, False)])

    def test_skipped_updates_are_counted_and_a_loss_that_is_not_finite_is_an_outcome(self):
        row = self.recorded("skips", "result([0.1] * 10, samples=10, window_s=1, applied_steps=4, skipped_steps=6)")
        self.assertEqual((row["outcome"], row["applied_steps"], row["skipped_steps"]), ("completed", 4, 6))
        row = self.recorded("nan", 'end("diverged", step=5, message="the loss of step 5 is not finite")')
        self.assertEqual(row["outcome"], "diverged")
        self.assertIn("step 5", row["message"])

    def test_every_number_says_its_unit(self):
        self.recorded("units", "result([0.1], samples=1, window_s=0.1)")
        with h5py.File(self.folder / "units.h5", "r") as file:
            fields = {row["name"].decode(): row["unit"].decode() for row in file["fields"][:]}
        wrong = [(name, unit) for name, unit in fields.items()
                 if (name.endswith("_bytes") and unit != "bytes") or (name.endswith("_s") and not name.endswith("_per_s") and unit != "s")]
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main()
