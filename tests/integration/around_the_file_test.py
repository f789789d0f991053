# SPDX-License-Identifier: Apache-2.0
"""What stands beside a results file - lock, journal, status, requests to end - and what each command makes of it: after a refusal, while a
sweep runs, and after it was killed."""
import json
import os
import shutil
import signal
import unittest

from going_on_test import sweep
from harness import PROGRAM, Sandbox, command_line, read_rows

import h5py

LONG = {"batches": "[1, 2]", "step": "20 s"}
SIMULATED = sweep(batches="{ from = 1, to = 30000, step = 1 }").replace('mode = "process"', 'mode = "simulated"')


class Beside(Sandbox):
    def files(self):
        return {p.name: p.read_bytes() for p in self.folder.iterdir() if p.name.startswith("g.h5")}

    def start_long(self):
        """A sweep whose first trial runs (and will for long)."""
        self.write("s.toml", sweep(**LONG))
        self.addCleanup(self.kill_tagged)
        run = self.start("run", "s.toml")
        self.wait_until(lambda: any("player" in command_line(pid) for pid in self.tagged_processes()), 20,
                        lambda: self.output("err"))
        return run

    def kill_long(self):
        run = self.start_long()
        run.send_signal(signal.SIGKILL)
        run.wait()
        self.kill_tagged()
        self.assert_nothing_left_alive()
        return run

    def refused(self, *arguments, code=2):
        found, out, err = self.run_program(*arguments)
        self.assertEqual(found, code, (arguments, out, err))
        return err


class Refusals(Beside):
    WRONG = [(["--until", "99:99"], "--until"), (["--budget", "bogus"], "--budget"), (["--only", "model=nothing"], "--only")]

    def test_a_refused_start_leaves_nothing_beside_a_complete_file(self):
        self.write("s.toml", sweep())
        self.assertEqual(self.run_program("run", "s.toml")[0], 0)
        before = self.files()
        self.assertEqual(list(before), ["g.h5"])
        self.write("empty.toml", sweep() + '[[exclude]]\nmodel = "m"\n')
        for arguments, words in [*((["s.toml", *wrong], words) for wrong, words in self.WRONG), (["empty.toml"], "empty")]:
            self.assertIn(words, self.refused("run", *arguments))
            self.assertEqual(self.files(), before, arguments)

    def test_a_refused_first_start_leaves_no_file(self):
        for mode in ("process", "simulated"):
            self.write("s.toml", sweep().replace('"process"', f'"{mode}"'))
            for wrong, _ in self.WRONG:
                self.refused("run", "s.toml", *wrong)
                self.assertEqual(self.files(), {}, (mode, wrong))

    def test_a_device_that_cannot_be_offered_leaves_no_file(self):
        place = self.folder / "bin"
        place.mkdir()
        shutil.copy(PROGRAM, place / "batchsweep")
        (place / "batchsweep-trial").write_text("#!/bin/sh\nexit 1\n")
        (place / "batchsweep-trial").chmod(0o755)
        self.write("s.toml", '[sweep]\nname = "g"\n[grid]\ngpu = "many"\nmodel = "lenet"\nbatch_size = 1\n'
                             '[[device]]\nname = "many"\nkind = "cpu"\nmemory = "1 GiB"\nthreads = 1\ncount = 4000\n')
        err = self.refused("run", "s.toml", program=place / "batchsweep")
        self.assertIn("4000", err)
        self.assertEqual(self.files(), {})

    def refused(self, *arguments, code=2, program=PROGRAM):
        found, out, err = self.run_program(*arguments, program=program)
        self.assertEqual(found, code, (arguments, out, err))
        return err

    def test_a_folder_is_no_results_file(self):
        self.write("s.toml", sweep())
        (self.folder / "g.h5").mkdir()
        for arguments in (["run", "s.toml"], ["run", "s.toml", "--results", "."]):
            self.assertIn("is a folder", self.refused(*arguments))
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["err", "g.h5", "out", "s.toml"])

    def test_the_next_command_can_be_pasted(self):
        self.write("s.toml", sweep())
        (self.folder / "a b").mkdir()
        code, out, _ = self.run_program("run", "s.toml", "--results", "a b/it's.h5")
        self.assertEqual(code, 0)
        self.assertIn("""batchsweep report 'a b/it'"'"'s.h5'""", out)


class Cancel(Beside):
    def test_a_dead_sweep_cannot_be_cancelled_and_runs_on_later(self):
        self.kill_long()
        err = self.refused("cancel", "g.h5")
        self.assertIn("no sweep is running", err)
        self.assertIn("batchsweep run", err)
        self.assertFalse((self.folder / "g.h5.cancel").exists())
        self.write("s.toml", sweep(batches="[1, 2]"))
        self.assertEqual(self.run_program("run", "s.toml")[0], 0)

    def test_an_old_request_does_not_end_the_next_sweep(self):
        for mode in ("process", "simulated"):
            self.write("s.toml", sweep(name="g", batches="[3]", step="700 ms").replace('"process"', f'"{mode}"'))
            self.write("g.h5.cancel", "")
            self.assertEqual(self.run_program("run", "s.toml", "--rerun", "all")[0], 0)
            self.assertEqual(list(self.files()), ["g.h5"])

    def test_a_simulated_sweep_ends_well(self):
        self.write("s.toml", SIMULATED)
        run = self.start("run", "s.toml")
        self.wait_until(lambda: "completed" in self.output("err"), 20)
        shutil.move(self.folder / "err", self.folder / "err of run")
        code = self.start("cancel", "g.h5").wait(20)
        self.assertEqual((code, run.wait(60)), (0, 4), self.output("err"))
        self.assertLess(len(self.rows("g.h5")), 30000)
        self.assertEqual(list(self.files()), ["g.h5"])


class WhileItRuns(Beside):
    def test_the_file_is_there_before_the_first_trial_is_announced(self):
        run = self.start_long()
        self.assertEqual(self.rows("g.h5"), [])
        run.send_signal(signal.SIGKILL)
        run.wait()
        with h5py.File(self.folder / "g.h5", "r") as file:
            self.assertIn("readme", [name.lower() for name in file])

    def test_commands_say_that_a_sweep_is_running_and_not_to_run_again(self):
        run = self.start_long()
        for arguments in (["report", "g.h5"], ["export", "g.h5", "--csv", "-"]):
            code, out, err = self.run_program(*arguments)
            self.assertEqual(code, 0, err)
            self.assertIn("a sweep is running", " ".join((out + err).split()), arguments)
            self.assertIn(str(run.pid), out + err, arguments)
            self.assertNotIn("run again", out + err, arguments)
        (self.folder / "g.h5").unlink()
        for arguments in (["report", "g.h5"], ["export", "g.h5", "--csv", "-"], ["explain", "g.h5", "0"]):
            err = self.refused(*arguments)
            self.assertIn("a sweep is running", err)
            self.assertNotIn("again", err)


class AfterAKill(Beside):
    def test_commands_say_that_rows_may_be_missing_and_what_to_do(self):
        self.kill_long()
        for arguments in (["report", "g.h5"], ["export", "g.h5", "--csv", "-"]):
            code, out, err = self.run_program(*arguments)
            self.assertEqual(code, 0, err)
            self.assertIn("killed", out + err, arguments)
            self.assertIn("run it again", " ".join((out + err).split()), arguments)
            self.assertNotIn("is running", out + err, arguments)
        (self.folder / "g.h5").unlink()
        for arguments in (["report", "g.h5"], ["export", "g.h5", "--csv", "-"], ["explain", "g.h5", "0"]):
            self.assertIn("run the sweep again", self.refused(*arguments))

    def test_explain_shows_nothing_of_the_dead_sweep_as_running(self):
        self.start_long()
        status = self.folder / "g.h5.status.json"
        self.wait_until(lambda: status.exists() and json.loads(status.read_text())["counts"]["running"] == 1, 20)
        told = json.loads(status.read_text())
        self.assertRegex(told["utc"], r"^\d{4}-\d\d-\d\dT")
        trial = next(device["runs"]["trial"] for device in told["devices"] if "runs" in device)
        self.assertIn("running: repeat 0", self.run_program("explain", "g.h5", trial)[1])
        self.kill_tagged()
        self.assert_nothing_left_alive()
        self.assertTrue(status.exists())
        code, out, err = self.run_program("explain", "g.h5", trial)
        self.assertEqual(code, 0, err)
        self.assertNotIn("running: repeat", out)
        self.assertIn("no sweep is running", out)


class Foreign(Beside):
    def test_a_journal_of_another_file_is_refused_by_every_command(self):
        self.kill_long()
        shutil.move(self.folder / "g.h5.journal", self.folder / "other")
        for name in list(self.files()):
            (self.folder / name).unlink()
        self.write("s.toml", sweep())
        self.assertEqual(self.run_program("run", "s.toml")[0], 0)
        trial = self.rows("g.h5")[0]["trial_id"]
        shutil.move(self.folder / "other", self.folder / "g.h5.journal")
        before = self.files()
        for arguments in (["run", "s.toml"], ["plan", "s.toml"], ["report", "g.h5"], ["export", "g.h5", "--csv", "-"],
                          ["explain", "g.h5", trial]):
            self.assertIn("another results file", self.refused(*arguments), arguments)
            self.assertEqual(self.files(), before, arguments)

    def test_plan_refuses_what_run_refuses(self):
        self.write("s.toml", sweep())
        self.run_program("run", "s.toml")
        self.write("real.toml", '[sweep]\nname = "g"\n[grid]\nmodel = "lenet"\nbatch_size = 1\n')
        self.assertIn("rehearsed", self.refused("plan", "real.toml"))


class Limits(Beside):
    def test_no_time_starts_nothing(self):
        for mode in ("process", "simulated"):
            self.write("s.toml", sweep(name=mode).replace('mode = "process"', f'mode = "{mode}"'))
            code, _, err = self.run_program("run", "s.toml", "--budget", "0 s")
            self.assertEqual(code, 4, err)
            self.assertEqual(read_rows(self.folder / f"{mode}.h5"), [])
            self.assertIn("--budget", err)

    def test_a_simulated_sweep_ends_when_its_time_is_up(self):
        self.write("s.toml", SIMULATED)
        self.assertEqual(self.run_program("run", "s.toml", "--budget", "1 s")[0], 4)
        self.assertLess(len(self.rows("g.h5")), 30000)


class Terminal(Beside):
    def test_a_reader_that_goes_away_is_no_error(self):
        self.write("s.toml", sweep())
        self.run_program("run", "s.toml")
        for arguments in (["report", "g.h5"], ["plan", "s.toml"], ["models"], ["export", "g.h5", "--csv", "-"],
                          ["explain", "g.h5", self.rows("g.h5")[0]["trial_id"]]):
            nobody, pipe = os.pipe()
            os.close(nobody)
            process = self.start(*arguments, stdout=pipe)
            os.close(pipe)
            process.wait(20)
            self.assertEqual(self.output("err"), "", arguments)

    def test_a_lost_agent_is_told_once(self):
        text = sweep(batches="[1, 2, 3, 4]", fault="kill_agent").replace('mode = "process"', 'mode = "simulated"')
        text = text.replace("[[rehearsal.rule]]", "[[rehearsal.node]]\ndevices = { cpu0 = 1 }\ncount = 8\n[[rehearsal.rule]]")
        text += "fault_attempts = 1\n"
        self.write("s.toml", text)
        err = self.run_program("run", "s.toml")[2]
        lost = [line for line in err.splitlines() if "nothing was heard" in line and not line.startswith("[")]
        self.assertEqual(len(lost), 3, err)
        self.assertEqual([line for line in lost if "is lost: " not in line], [])


if __name__ == "__main__":
    unittest.main()
