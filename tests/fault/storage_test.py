# SPDX-License-Identifier: Apache-2.0
"""A disk, or the server behind it, that fails in the middle of a sweep: said at once and by name, nothing announced is lost, and running
again completes the file. The failing calls are those of a preloaded library."""
import errno
import os
import re
import unittest

import h5py
from harness import Sandbox
from rehearsals import rehearsal

ANNOUNCED = re.compile(r"^\[\d+/\d+\] ([0-9a-f]{16}) ", re.M)
TRIALS = 40
SWEEP = rehearsal("g", {"model": "m", "gpu": "dev", "batch_size": list(range(1, TRIALS + 1))},
                  [{"memory": {"fixed": "1 MiB"}, "step": {"fixed": "1 ms"}}], {"dev": "1 GiB"}, {"timed_steps": 3}, mode="process")


class Storage(Sandbox):
    def run_failing(self, call, ending, number, error, *arguments):
        self.write("s.toml", SWEEP)
        return self.run_program(*(arguments or ("run", "s.toml")), LD_PRELOAD=os.environ["FAILING_CALLS"],
                                FAILING_CALL=f"{call}:{ending}:{number}:{error}")

    def ends_and_goes_on(self, call, number, error, words):
        code, _, err = self.run_failing(call, ".journal", number, error)
        self.assertEqual(code, 1, err)
        self.assertIn("g.h5.journal", err)
        self.assertIn(os.strerror(error), err)
        for word in words:
            self.assertIn(word, err)
        self.assert_nothing_left_alive()
        announced = set(ANNOUNCED.findall(err))
        self.assertTrue(0 < len(announced) < TRIALS, len(announced))
        code, _, err = self.run_program("run", "s.toml")
        self.assertEqual(code, 0, err)
        self.assertEqual(set(ANNOUNCED.findall(err)) & announced, set(), "what was announced does not run again")
        rows = self.rows("g.h5")
        self.assertEqual((len(rows), len({row["trial_id"] for row in rows})), (TRIALS, TRIALS))
        self.assertEqual({row["outcome"] for row in rows}, {"completed"})

    def test_a_failed_fdatasync_ends_the_sweep_at_once(self):
        self.ends_and_goes_on("fdatasync", 30, errno.EIO, [])

    def test_a_write_that_fails_for_want_of_quota_or_by_a_sick_disk(self):
        for error in (errno.EDQUOT, errno.EIO):
            with self.subTest(error=error):
                self.ends_and_goes_on("write", 30, error, [])
                for file in self.folder.glob("g.h5*"):
                    file.unlink()

    def test_a_file_system_without_locks_is_no_obstacle(self):
        for error in (errno.ENOLCK, errno.ENOSYS, errno.EAGAIN):
            for arguments in (("run", "s.toml"), ("report", "g.h5"), ("export", "g.h5", "--csv", "-")):
                code, out, err = self.run_failing("flock", "", 1, error, *arguments)
                self.assertEqual(code, 0, (error, arguments, out, err))
            self.assertEqual(len(self.rows("g.h5")), TRIALS)
            (self.folder / "g.h5").unlink()

    def test_a_reader_may_hold_the_file_all_the_while(self):
        self.write("s.toml", SWEEP)
        self.assertEqual(self.run_program("run", "s.toml", "--max-trials", "5")[0], 4)
        with h5py.File(self.folder / "g.h5", "r") as held:
            self.assertEqual(self.run_program("run", "s.toml")[0], 0)
            self.assertEqual(len(held["trials"]), 5, "it goes on seeing what it opened")
        self.assertEqual(len(self.rows("g.h5")), TRIALS)

    def test_a_file_that_cannot_be_published_is_said_and_the_journal_kept(self):
        code, _, err = self.run_failing("fsync", "g.h5.tmp", 1, errno.EIO)
        self.assertEqual(code, 1, err)
        self.assertIn("g.h5.tmp", err)
        self.assertIn(os.strerror(errno.EIO), err)
        self.assertEqual(self.run_program("run", "s.toml")[0], 0)
        self.assertEqual(len(self.rows("g.h5")), TRIALS)


if __name__ == "__main__":
    unittest.main()
