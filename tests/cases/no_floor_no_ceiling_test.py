# SPDX-License-Identifier: Apache-2.0
"""D03: where no batch fits, and where all fit, the answer says so and names no largest batch that nobody saw."""
import json
import unittest

from harness import Sandbox
from rehearsals import rehearsal


class NoFloorNoCeiling(Sandbox):
    def largest(self, name, memory):
        self.write("s.toml", rehearsal(name, {"gpu": "dev", "model": "m", "batch_size": [2, 4, 8]},
                                       [{"memory": {"fixed": memory}, "step": {"fixed": "1 ms"}}], {"dev": "1 GiB"}))
        self.assertEqual(self.run_program("run", "s.toml")[0], 0, "out of memory is no failure")
        (answer,) = json.loads(self.run_program("report", name + ".h5", "--format", "json")[1])["largest_batch"]
        return answer

    def test_where_nothing_fits_the_smallest_that_was_tried_is_named(self):
        answer = self.largest("none", "2 GiB")
        self.assertIsNone(answer["max_batch_fit"])
        self.assertEqual((answer["min_batch_oom"], answer["smallest_tried"]), (2, 2))
        self.assertIn("no batch fits; smallest tried 2", answer["remark"])

    def test_where_all_fits_the_end_of_the_grid_is_no_limit(self):
        answer = self.largest("all", "1 MiB")
        self.assertEqual((answer["max_batch_fit"], answer["min_batch_oom"], answer["limit_reached"]), (8, None, False))
        self.assertIn("limit not reached", answer["remark"])


if __name__ == "__main__":
    unittest.main()
