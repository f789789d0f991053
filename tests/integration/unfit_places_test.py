# SPDX-License-Identifier: Apache-2.0
"""Places where a sweep cannot run or cannot record: programs missing, folders that are full, read-only or not there, results files that are
cut or no HDF5."""
import re
import shutil
import subprocess
import unittest

from going_on_test import sweep
from harness import PROGRAM, Sandbox

ANNOUNCED = re.compile(r"^\[\d+/\d+\] ([0-9a-f]{16}) ", re.M)
MEASURED = '[sweep]\nname = "g"\n[grid]\ngpu = "cpu"\nmodel = "lenet"\nbatch_size = [1, 2]\n'


class Programs(Sandbox):
    def setUp(self):
        super().setUp()
        self.alone = self.folder / "nb"
        self.alone.mkdir()
        shutil.copy(PROGRAM, self.alone / "batchsweep")

    def recorded(self):
        return sorted(p.name for p in self.folder.iterdir() if p.name.startswith("g.h5"))

    def test_without_its_program_a_sweep_does_not_begin(self):
        for text, name in ((MEASURED, "batchsweep-trial"), (sweep(), "batchsweep-player")):
            self.write("s.toml", text)
            for ranks in (0, 2):
                code, _, err = self.run_program("run", "s.toml", program=self.alone / "batchsweep", ranks=ranks,
                                                BATCHSWEEP_HOST="%r")
                self.assertEqual(code, 1, err)
                self.assertIn(f"{name} is neither in {self.alone}", err)
                self.assertEqual(self.recorded(), [])

    def test_a_simulated_sweep_and_one_of_other_programs_need_none(self):
        self.write("s.toml", sweep().replace('mode = "process"', 'mode = "simulated"'))
        self.assertEqual(self.run_program("run", "s.toml", program=self.alone / "batchsweep")[0], 0)
        (self.folder / "g.h5").unlink()
        self.write("s.toml", MEASURED + 'runtime = "own"\n[trial]\nretries = 0\n[[runtime]]\nname = "own"\ncommand = ["/bin/false"]\n')
        code, _, err = self.run_program("run", "s.toml", program=self.alone / "batchsweep")
        self.assertEqual(code, 3, err)
        self.assertEqual([row["outcome"] for row in self.rows("g.h5")], ["crashed", "crashed"])

    def test_a_host_without_the_program_is_named_and_not_used(self):
        self.write("s.toml", sweep(batches="{ from = 1, to = 12, step = 1 }"))
        code, _, err = self.run_program("run", "s.toml", ranks=3, elsewhere=self.alone / "batchsweep", BATCHSWEEP_HOST="%r")
        self.assertEqual(code, 0, err)
        self.assertIn(f"2: batchsweep-player is neither in {self.alone}", err)
        rows = self.rows("g.h5")
        self.assertEqual({row["outcome"] for row in rows}, {"completed"})
        self.assertNotIn("2", {row["hostname"] for row in rows})


class Folders(Sandbox):
    def mount(self, *options):
        place = self.folder / "place"
        place.mkdir(exist_ok=True)
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", ",".join(options), "batchsweep-test", place], capture_output=True, check=False)
        if done.returncode != 0:
            self.skipTest(f"cannot mount a tmpfs: {done.stderr.decode().strip()}")
        self.addCleanup(subprocess.run, ["umount", place], check=True)
        return place

    def remount(self, place, options):
        subprocess.run(["mount", "-o", f"remount,{options}", place], check=True)

    def beside(self, place):
        return sorted(p.name for p in place.iterdir())

    def test_no_room_at_all(self):
        place = self.mount("size=64k")
        (place / "ballast").write_bytes(b"x" * 65536)
        self.write("s.toml", sweep())
        code, _, err = self.run_program("run", "s.toml", "--results", "place/g.h5")
        self.assertEqual(code, 1, err)
        self.assertIn("No space left on device", err)
        self.assertIn("place", err)
        self.assertEqual(self.beside(place), ["ballast"])
        self.assert_nothing_left_alive()

    def test_no_room_for_the_first_file(self):
        place = self.mount("size=20k")
        self.write("s.toml", sweep())
        code, _, err = self.run_program("run", "s.toml", "--results", "place/g.h5")
        self.assertEqual(code, 1, err)
        self.assertIn("No space left on device", err)
        self.assertEqual(self.beside(place), [])

    def test_room_runs_out_and_is_made(self):
        place = self.mount("size=256k")
        self.write("s.toml", sweep(batches="{ from = 1, to = 250, step = 1 }"))
        code, _, err = self.run_program("run", "s.toml", "--results", "place/g.h5")
        self.assertEqual(code, 1, err)
        self.assertIn("No space left on device", err)
        self.assertIn("make room and run again", err)
        self.assertEqual(self.beside(place), ["g.h5", "g.h5.journal"])
        self.assert_nothing_left_alive()
        announced = set(ANNOUNCED.findall(err))
        self.assertGreater(len(announced), 10)
        self.remount(place, "size=4m")
        code, _, err = self.run_program("run", "s.toml", "--results", "place/g.h5")
        self.assertEqual(code, 0, err)
        self.assertEqual(set(ANNOUNCED.findall(err)) & announced, set(), "what was announced does not run again")
        rows = self.rows("place/g.h5")
        self.assertEqual((len(rows), len({row["trial_id"] for row in rows})), (250, 250))
        self.assertLessEqual({row["outcome"] for row in rows}, {"completed"})

    def test_a_folder_that_takes_no_files(self):
        place = self.mount("size=64k")
        self.remount(place, "ro")
        self.write("s.toml", sweep())
        code, _, err = self.run_program("run", "s.toml", "--results", "place/g.h5")
        self.assertEqual(code, 1, err)
        self.assertRegex(err, "folder place.*Read-only file system.*--results")

    def test_a_folder_that_is_not_there(self):
        self.write("s.toml", sweep())
        code, _, err = self.run_program("run", "s.toml", "--results", "nodir/g.h5")
        self.assertEqual(code, 1, err)
        self.assertRegex(err, "folder nodir: no such folder.*make it")
        self.assertNotIn(".lock", err)


class Damaged(Sandbox):
    def test_a_damaged_file_is_refused_and_left_as_it_is(self):
        self.write("s.toml", sweep())
        self.run_program("run", "s.toml")
        whole = (self.folder / "g.h5").read_bytes()
        middle = len(whole) // 2
        for what, content in {"cut": whole[:middle], "its end cut": whole[:-1], "empty": b"", "no HDF5": b"model,batch\n",
                              "a bit": whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1:]}.items():
            (self.folder / "g.h5").write_bytes(content)
            for arguments in (["run", "s.toml"], ["run", "s.toml", "--rerun", "all"], ["plan", "s.toml"], ["report", "g.h5"]):
                code, _, err = self.run_program(*arguments)
                self.assertEqual(code, 2, (what, arguments, err))
                self.assertIn("g.h5", err)
                self.assertEqual((self.folder / "g.h5").read_bytes(), content, (what, arguments))
                self.assertEqual([p.name for p in self.folder.glob("g.h5*")], ["g.h5"], (what, arguments))


if __name__ == "__main__":
    unittest.main()
