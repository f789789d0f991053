# SPDX-License-Identifier: Apache-2.0
"""D20, D28: a sweep that was killed goes on where it was, with each row once; the file it left behind opens in any reader, and a damaged
one ends every command in seconds."""
import re
import signal
import subprocess
import unittest

from harness import Sandbox, read_rows
from rehearsals import rehearsal
from victims import Victims

ANNOUNCED = re.compile(r"^\[\d+/\d+\] ([0-9a-f]{16}) ", re.M)


def sweep(batches=tuple(range(1, 13)), steps=3):
    text = rehearsal("g", {"gpu": "dev", "model": ["m", "n"], "batch_size": list(batches)},
                     [{"memory": {"fixed": "1 MiB"}, "step": {"fixed": "30 ms"}}], {"dev": "1 GiB"}, {"timed_steps": steps, "warmup_steps": 1},
                     mode="process")
    return text.replace('memory = "1 GiB"\n', 'memory = "1 GiB"\nthreads = 1\ncount = 2\n')


class Resume(Victims, Sandbox):
    def kill_after_seven(self):
        self.write("s.toml", sweep())
        run = self.start("run", "s.toml")
        self.wait_until(lambda: len(ANNOUNCED.findall(self.output("err"))) >= 7 and len(self.victims("trial")) == 2, 30)
        run.send_signal(signal.SIGKILL)
        run.wait()
        self.assert_nothing_left_alive()
        return set(ANNOUNCED.findall(self.output("err")))

    def test_done_ones_are_not_run_and_those_that_ran_are_tried_again(self):
        done = self.kill_after_seven()
        header = subprocess.run(["h5dump", "-H", self.folder / "g.h5"], capture_output=True, check=False)
        self.assertEqual(header.returncode, 0, header.stderr)
        code, _, err = self.run_program("run", "s.toml")
        self.assertEqual(code, 0, err)
        self.assertEqual(done & set(ANNOUNCED.findall(err)), set())
        rows = self.rows("g.h5")
        self.assertEqual((len(rows), len({row["trial_id"] for row in rows})), (24, 24))
        self.assertEqual({row["outcome"] for row in rows}, {"completed"})
        self.assertLessEqual({row["attempt"] for row in rows}, {1, 2})
        self.assertGreaterEqual(sum(row["attempt"] == 2 for row in rows), 1, "those that ran when it was killed")

    def test_an_added_value_runs_only_the_new_and_another_rule_keeps_apart(self):
        done = self.kill_after_seven()
        self.assertEqual(self.run_program("run", "s.toml")[0], 0)
        self.write("s.toml", sweep(batches=range(1, 14)))
        code, _, err = self.run_program("run", "s.toml")
        self.assertEqual(code, 0, err)
        self.assertEqual(len(ANNOUNCED.findall(err)), 2)
        self.assertIn("24 trials kept, 2 new", err)
        self.write("s.toml", sweep(batches=[1], steps=4))
        self.assertEqual(self.run_program("run", "s.toml")[0], 0)
        rows = self.rows("g.h5")
        self.assertEqual(len(rows), 28, "other settings are other trials")
        self.assertEqual({row["timed_steps"] for row in rows if row["trial_id"] in done}, {3})

    def test_a_file_damaged_anywhere_is_named_so_in_seconds_and_left_alone(self):
        self.write("s.toml", sweep(batches=[1, 2]))
        self.assertEqual(self.run_program("run", "s.toml")[0], 0)
        whole = (self.folder / "g.h5").read_bytes()
        over = lambda at: whole[:at] + b"\xff\xff\xff\xff" + whole[at + 4:]
        for content in (b"", whole[:100], whole[:len(whole) // 2], whole[:-10], over(40), over(96), over(136), over(800), b"model,batch\n1,2\n"):
            (self.folder / "g.h5").write_bytes(content)
            for arguments in (("report", "g.h5"), ("run", "s.toml")):
                code, _, err = self.run_program(*arguments, timeout=20)
                self.assertEqual(code, 2, (len(content), arguments, err))
                self.assertEqual((self.folder / "g.h5").read_bytes(), content)


if __name__ == "__main__":
    unittest.main()
