# SPDX-License-Identifier: Apache-2.0
"""D33: durations come from a clock that never jumps; the one time of day in a row is UTC and says so, wherever the host believes to be."""
import datetime
import os
import re
import unittest

from harness import Sandbox
from rehearsals import rehearsal


class Clocks(Sandbox):
    def test_a_wall_clock_that_jumps_back_an_hour_changes_no_duration(self):
        text = rehearsal("g", {"gpu": "dev", "model": "m", "batch_size": list(range(1, 9))},
                         [{"memory": {"fixed": "1 MiB"}, "step": {"fixed": "10 ms"}}], {"dev": "1 GiB"}, {"timed_steps": 3}, mode="process")
        self.write("s.toml", text.replace('name = "g"\n', 'name = "g"\norder = "grid"\n', 1))
        code, _, err = self.run_program("run", "s.toml", LD_PRELOAD=os.environ["FAILING_CALLS"], JUMPING_CLOCK="8", TZ="Asia/Kathmandu")
        self.assertEqual(code, 0, err)
        rows = sorted(self.rows("g.h5"), key=lambda row: row["sequence"])
        self.assertTrue(all(0.07 < row["duration_s"] < 10 for row in rows), [row["duration_s"] for row in rows])
        started = [row["started_utc"] for row in rows]
        self.assertTrue(all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", text) for text in started), started)
        times = [datetime.datetime.fromisoformat(text.replace("Z", "+00:00")) for text in started]
        self.assertLess(min(times[1:]), times[0], "the clock did jump: only sequence tells the order")
        self.assertEqual([row["batch_size"] for row in rows], list(range(1, 9)))


if __name__ == "__main__":
    unittest.main()
