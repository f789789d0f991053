# SPDX-License-Identifier: Apache-2.0
"""A device that crashes whatever runs on it: taken out of service, said and recorded; only where somebody wants it in a rehearsal."""
import unittest

from going_on_test import sweep
from harness import Sandbox


class Quarantine(Sandbox):
    def run_crashing(self, *arguments):
        self.write("s.toml", sweep(batches="[1, 2, 3, 4, 5]", fault="segfault", trial="retries = 0"))
        return self.run_program("run", "s.toml", *arguments)

    def test_a_device_that_crashes_what_runs_on_it_takes_no_more(self):
        code, out, err = self.run_crashing("--quarantine")
        self.assertEqual(code, 4, err)
        self.assertRegex(err, r"cpu0 \(played-\S+-0\) on \S+ is out of service: 3 different trials crashed on it, none completed in between")
        rows = sorted(self.rows("g.h5"), key=lambda row: row["sequence"])
        self.assertEqual([row["outcome"] for row in rows], ["crashed"] * 3)
        self.assertIn("is out of service from here on: 3 different trials", rows[-1]["message"])
        for row in rows:
            self.assertIn(row["trial_id"], rows[-1]["message"])
        code, _, err = self.run_crashing()
        self.assertEqual(code, 3, "the next start may use it again")
        self.assertEqual(len(self.rows("g.h5")), 5)

    def test_off_in_a_rehearsal_unless_asked_for(self):
        code, _, err = self.run_crashing()
        self.assertEqual(code, 3, err)
        self.assertNotIn("out of service", err)
        self.assertEqual(len(self.rows("g.h5")), 5)

    def test_on_for_real_trials_unless_refused(self):
        text = ('[sweep]\nname = "g"\n[grid]\ngpu = "dev"\nmodel = "lenet"\nbatch_size = [1, 2, 3, 4, 5]\nruntime = "bad"\n[trial]\nretries = 0\n'
                '[[device]]\nname = "dev"\nkind = "cpu"\nmemory = "1 GiB"\nthreads = 1\n[[runtime]]\nname = "bad"\ncommand = ["/bin/false"]\n')
        self.write("s.toml", text)
        for arguments, code, rows in (((), 4, 3), (("--no-quarantine",), 3, 5)):
            found, _, err = self.run_program("run", "s.toml", *arguments)
            self.assertEqual((found, len(self.rows("g.h5"))), (code, rows), err)
        self.assertEqual(self.run_program("run", "s.toml", "--quarantine", "--no-quarantine")[0], 2)


if __name__ == "__main__":
    unittest.main()
