# SPDX-License-Identifier: Apache-2.0
"""batchsweep run of a rehearsal with every one-rank fault: alone, and over three hosts under mpirun."""
import collections
import unittest

from harness import Sandbox
from rehearsal_faults import EXPECTED, sweep, wrong_rows


class RehearsalOfAllFaults(Sandbox):
    def check(self, code, err, trials):
        self.assertEqual(code, 3, err[-3000:])
        rows = self.rows("faults.h5")
        self.assertEqual(len(rows), trials)
        keys = collections.Counter((r["run_id"], r["trial_id"], r["repeat"]) for r in rows)
        self.assertEqual([k for k, n in keys.items() if n != 1], [], "each trial has exactly one row")
        self.assertEqual(wrong_rows(rows), [])
        self.assertEqual(sorted(p.name for p in self.folder.glob("faults.h5*")), ["faults.h5"],
                         "no journal, lock or temporary file is left")
        self.assert_nothing_left_alive()

    def test_three_hosts_under_mpirun(self):
        self.write("s.toml", sweep("faults"))
        code, _, err = self.run_program("run", "s.toml", ranks=3, BATCHSWEEP_HOST="%r")
        self.check(code, err, 200)
        self.assertEqual({r["hostname"] for r in self.rows("faults.h5")}, {"0", "1", "2"})

    def test_alone(self):
        trials = 2 * len(EXPECTED)
        self.write("s.toml", sweep("faults", trials))
        code, _, err = self.run_program("run", "s.toml")
        self.check(code, err, trials)

    def test_run_again_does_nothing_and_says_3(self):
        self.write("s.toml", sweep("faults", 2 * len(EXPECTED)))
        self.run_program("run", "s.toml")
        before = self.rows("faults.h5")
        code, _, _ = self.run_program("run", "s.toml")
        self.assertEqual(code, 3)
        self.assertEqual(repr(self.rows("faults.h5")), repr(before))


if __name__ == "__main__":
    unittest.main()
