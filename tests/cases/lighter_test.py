# SPDX-License-Identifier: Apache-2.0
"""D16, D23, S1, S2, S4: a label that is not what ran, a trial that is retried for ever, a full /dev/shm, ranks on cards of two types, a
collective that hangs before the first step."""
import unittest

from harness import Sandbox
from rehearsals import rehearsal


class Lighter(Sandbox):
    def run_one(self, name, rule, trial=None, code=3, memory=None, **grid):
        text = rehearsal(name, {"gpu": "dev", "model": "m", "batch_size": 1, **grid}, [{"memory": {"fixed": "1 MiB"}, "step": {"fixed": "1 ms"}, **rule}],
                         memory or {"dev": "1 GiB"}, {"timed_steps": 3, "warmup_steps": 1, "retries": 0, **(trial or {})}, mode="process")
        self.write("s.toml", text)
        found, _, err = self.run_program("run", "s.toml", NCCL_P2P_DISABLE="1")
        self.assertEqual(found, code, err)
        return self.rows(name + ".h5"), err

    def test_bf16_on_a_card_without_it_is_not_run_under_that_label(self):
        text = rehearsal("label", {"gpu": "V100 16GB SXM", "model": "m", "batch_size": 1, "precision": ["bf16", "fp16"]},
                         [{"memory": {"fixed": "1 MiB"}}], {}, mode="process") + '[[device]]\nname = "V100 16GB SXM"\nkind = "cuda"\n'
        self.write("s.toml", text)
        self.assertEqual(self.run_program("run", "s.toml")[0], 0)
        outcomes = {row["precision"]: (row["outcome"], row["reason"]) for row in self.rows("label.h5")}
        self.assertEqual(outcomes, {"bf16": ("skipped", "unsupported"), "fp16": ("completed", "")})

    def test_a_trial_that_always_dies_is_tried_so_often_and_no_more_and_the_others_run(self):
        rows, err = self.run_one("often", {"when": {"batch_size": 5}, "fault": "kill"}, {"retries": 2}, batch_size=[5])
        self.assertEqual([(row["outcome"], row["attempt"]) for row in rows], [("crashed", 3)], err)
        self.assertEqual(len(self.rows("often.h5", "attempts")), 2)

    def test_a_bus_error_names_the_size_of_shared_memory(self):
        ((row,), _) = self.run_one("bus", {"fault": "bus_error"})
        self.assertEqual((row["outcome"], row["signal"]), ("crashed", 7))
        self.assertRegex(row["message"], r"/dev/shm here holds [\d.]+ [KMGT]iB")

    def test_ranks_of_a_trial_never_sit_on_two_types(self):
        rows, err = self.run_one("mixed", {}, code=0, memory={"dev": "1 GiB", "other": "2 GiB"}, world_size=[1, 2])
        self.assertEqual({row["world_size"]: row["outcome"] for row in rows}, {1: "completed", 2: "skipped"}, err)

    def test_a_hang_before_the_first_step_is_a_timeout_of_the_set_up(self):
        ((row,), _) = self.run_one("setup", {"fault": "hang", "fault_step": 1}, {"setup_limit": "300 ms"})
        self.assertEqual((row["outcome"], row["reason"]), ("timed_out", "setup_limit"))
        self.assertIn("no step was finished", row["message"])
        (software,) = self.rows("setup.h5", "software")
        self.assertIn("NCCL_P2P_DISABLE=1", str(software))


if __name__ == "__main__":
    unittest.main()
