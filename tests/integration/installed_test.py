# SPDX-License-Identifier: Apache-2.0
"""An installed tree runs from anywhere: installed, moved (to a name with a space), and used from another folder."""
import os
import pathlib
import subprocess
import unittest

import h5py
import harness
from harness import Sandbox

BUILD = pathlib.Path(os.environ["BATCHSWEEP_BIN"]).parent
PLAYED = """
[sweep]
name = "a"
[grid]
gpu = "small"
model = "lenet"
batch_size = [4, 8]
[trial]
timed_steps = 2
[[device]]
name = "small"
kind = "cpu"
memory = "512 MiB"
threads = 1
[rehearsal]
mode = "process"
[[rehearsal.rule]]
when = {}
step = { fixed = "1 ms" }
"""


class Installed(Sandbox):
    def setUp(self):
        super().setUp()
        subprocess.run(["cmake", "--install", BUILD, "--prefix", self.folder / "first"], check=True, stdout=subprocess.DEVNULL)
        (self.folder / "first").rename(self.folder / "moved here")
        self.addCleanup(setattr, harness, "PROGRAM", harness.PROGRAM)
        harness.PROGRAM = str(self.folder / "moved here/bin/batchsweep")

    def outcomes(self):
        with h5py.File(self.folder / "a.h5") as file:
            return list(file["trials"]["outcome"])

    def test_it_finds_the_player_that_plays_a_rehearsal(self):
        self.write("a.toml", PLAYED)
        code, _, err = self.run_program("run", "a.toml")
        self.assertEqual((code, self.outcomes()), (0, [b"completed"] * 2), err)

    @unittest.skipUnless((BUILD / "bin/batchsweep-trial").exists(), "built without batchsweep-trial")
    def test_it_finds_the_trial_program_and_that_its_libtorch(self):
        self.write("a.toml", PLAYED[:PLAYED.index("[rehearsal]")])
        code, _, err = self.run_program("run", "a.toml")
        self.assertEqual((code, self.outcomes()), (0, [b"completed"] * 2), err)


if __name__ == "__main__":
    unittest.main()
