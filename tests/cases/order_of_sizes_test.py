# SPDX-License-Identifier: Apache-2.0
"""D01, D02: a size that failed must not change what is found for the next one, in whatever order they run."""
import unittest

from harness import Sandbox
from rehearsals import rehearsal
from scripted import scripted

ORDERS = {"up": ([1, 4, 30], "grid"), "down": ([30, 4, 1], "grid"), "any": ([4, 30, 1], "shuffled")}
FIGURES = ("outcome", "peak_allocated_bytes", "peak_reserved_bytes", "oom_requested_bytes", "oom_allocated_bytes", "oom_reserved_bytes",
           "oom_limit_bytes")


class OrderOfSizes(Sandbox):
    def test_a_failed_big_batch_spoils_no_small_one(self):
        found = {}
        for name, (batches, order) in ORDERS.items():
            text = rehearsal(name, {"gpu": "dev", "model": "m", "batch_size": batches},
                             [{"memory": {"fixed": "40 MiB", "per_sample": "20 MiB", "reserved_factor": 1.2}, "step": {"fixed": "1 ms"}}],
                             {"dev": "512 MiB"}, {"timed_steps": 2, "warmup_steps": 1}, mode="process")
            self.write("s.toml", text.replace(f'name = "{name}"\n', f'name = "{name}"\norder = "{order}"\n', 1))
            code, _, err = self.run_program("run", "s.toml")
            self.assertEqual(code, 0, err)
            rows = self.rows(name + ".h5")
            found[name] = {row["batch_size"]: [repr(row[figure]) for figure in FIGURES] for row in rows}
            self.assertEqual({row["batch_size"]: row["outcome"] for row in rows},
                             {1: "completed", 4: "completed", 30: "out_of_memory"})
            pids = [row["pid"] for row in self.rows(name + ".h5", "ranks")]
            self.assertEqual(len(set(pids)), 3, "a process of its own for each trial")
        self.assertEqual(found["up"], found["down"])
        self.assertEqual(found["up"], found["any"])

    def test_memory_that_is_reserved_but_unusable_is_told_from_memory_that_is_used_up(self):
        path = scripted(self, "fragments", """
gib = 2**30
end("out_of_memory", oom_requested_bytes=2 * gib, oom_allocated_bytes=3 * gib, oom_reserved_bytes=7 * gib, oom_limit_bytes=8 * gib)
""", {})
        self.assertEqual(self.run_program("run", path, PYTORCH_CUDA_ALLOC_CONF="max_split_size_mb:64")[0], 0)
        (row,) = self.rows("fragments.h5")
        gib = 2**30
        self.assertEqual([row[f"oom_{what}_bytes"] / gib for what in ("requested", "allocated", "reserved", "limit")], [2, 3, 7, 8])
        (software,) = self.rows("fragments.h5", "software")
        self.assertIn("PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64", str(software), "the allocator's settings are recorded")


if __name__ == "__main__":
    unittest.main()
