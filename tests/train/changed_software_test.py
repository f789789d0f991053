# SPDX-License-Identifier: Apache-2.0
"""Going on with another LibTorch than the file was recorded with is refused, unless the user says otherwise."""
import unittest

import h5py
from harness import Sandbox

SWEEP = """
[sweep]
name = "s"
[grid]
model = "lenet"
batch_size = {batches}
[trial]
warmup_steps = 1
timed_steps = 2
"""


class ChangedSoftware(Sandbox):
    def record_with_other_torch(self):
        self.write("s.toml", SWEEP.format(batches="[1]"))
        self.assertEqual(self.run_program("run", "s.toml")[0], 0, self.output("err"))
        with h5py.File(self.folder / "s.h5", "r+") as file:
            rows = file["software"][:]
            self.recorded = rows["torch_version"][0].decode()
            rows["torch_version"] = b"1.0"
            file["software"][:] = rows
        self.write("s.toml", SWEEP.format(batches="[1, 2]"))

    def test_it_is_refused_with_both_versions_and_loses_nothing(self):
        self.record_with_other_torch()
        code, _, err = self.run_program("run", "s.toml")
        self.assertEqual(code, 2, err)
        self.assertIn(f"LibTorch 1.0 then, {self.recorded} now", err)
        self.assertIn("--accept-changes", err)
        self.assertEqual(len(self.rows("s.h5")), 1)

    def test_the_user_may_accept_it(self):
        self.record_with_other_torch()
        self.assertEqual(self.run_program("run", "s.toml", "--accept-changes")[0], 0, self.output("err"))
        self.assertEqual(len(self.rows("s.h5")), 2)


if __name__ == "__main__":
    unittest.main()
