# SPDX-License-Identifier: Apache-2.0
"""A submitted sweep reaches its end: at once, over the time limit, requeued in the middle, preempted, as a chain, and with a node gone."""
import subprocess
import unittest

from slurm_case import PROGRAM, SlurmCase, main, wait_until


class GoingOn(SlurmCase):
    def test_a_submitted_sweep_runs_on_all_nodes_to_its_end(self):
        self.sweep({"nodes": 3, "time": "5 min"}, trials=12, devices=[("small", "n[1-3]", 2)])
        job = self.submit_one()
        self.finish(job)
        rows = self.assert_complete(12)
        self.assertEqual({row["hostname"] for row in rows}, {"n1", "n2", "n3"})
        self.assertEqual({row["slurm_job_id"] for row in rows}, {job})
        code, out, _ = self.run_program("watch", "s.main.h5")
        self.assertEqual((code, "no sweep is running" in out), (0, True), out)

    def test_the_time_limit_stops_a_sweep_in_time_and_the_job_goes_on(self):
        self.sweep({"nodes": 1, "time": "1 min"}, trials=12, seconds=6, only_nodes="n1", time_limit="9 s")
        job = self.submit_one()
        self.slurm.wait_for_state(job, "RUNNING")
        wait_until(lambda: "asking Slurm to start job" in self.job_log(), 70, self.job_log)
        self.assertNotIn("DUE TO TIME LIMIT", self.job_log())
        before = self.recorded()
        self.assertTrue(4 <= before < 12, self.job_log())
        self.slurm.start_again_now(job)
        self.finish(job)
        self.assertEqual(self.slurm.job(job)["Restarts"], "1")
        self.assertEqual({row["outcome"] for row in self.rows("s.main.h5", "attempts")} - {"interrupted"}, set())
        self.assert_complete(12)

    def test_requeued_in_the_middle_it_goes_on_and_takes_its_own_lock_over(self):
        self.sweep({"nodes": 2, "time": "5 min"}, trials=12, seconds=1.2)
        job = self.submit_one()
        self.wait_for_records(2)
        self.slurm.ask("scontrol", "requeue", job, check=True)
        self.slurm.start_again_now(job)
        self.finish(job)
        self.assertEqual(self.slurm.job(job)["Restarts"], "1")
        self.assertIn("[12/12]", self.job_log())
        self.assert_complete(12)

    def test_preempted_it_saves_what_runs_and_goes_on_later(self):
        self.sweep({"nodes": 3, "time": "5 min", "sbatch_args": ["--exclusive"]}, trials=15, seconds=3)
        job = self.submit_one()
        self.wait_for_records(1)
        urgent = self.slurm.ask("sbatch", "--parsable", "-p", "urgent", "-N3", "--exclusive", "-t5", "-o/dev/null", "--wrap=true",
                                check=True).strip()
        self.slurm.wait_for_state(urgent, "COMPLETED")
        self.slurm.start_again_now(job)
        self.finish(job)
        interrupted = [row for row in self.rows("s.main.h5", "attempts") if row["outcome"] == "interrupted"]
        self.assertTrue(interrupted, "what ran was recorded as interrupted within the grace time")
        self.assertEqual({row["reason"] for row in interrupted}, {"stopped"})
        self.assert_complete(15)

    def test_preempted_before_anything_was_recorded_it_still_goes_on(self):
        self.sweep({"nodes": 3, "time": "5 min", "sbatch_args": ["--exclusive"]}, trials=3, seconds=6)
        job = self.submit_one()
        self.slurm.wait_for_state(job, "RUNNING")
        wait_until(lambda: ", 3 running," in self.run_program("watch", "--once", "s.main.h5")[1], 30, self.job_log)
        self.assertEqual(self.recorded(), 0)
        urgent = self.slurm.ask("sbatch", "--parsable", "-p", "urgent", "-N3", "--exclusive", "-t5", "-o/dev/null", "--wrap=true",
                                check=True).strip()
        self.slurm.wait_for_state(urgent, "COMPLETED")
        self.slurm.start_again_now(job)
        self.finish(job)
        self.assert_complete(3)

    def test_a_job_without_progress_does_not_ask_for_ever(self):
        self.sweep({"nodes": 1, "time": "5 min", "setup": ["srun() { return 1; }"]}, trials=3)
        job = self.submit_one()
        self.assertEqual(self.slurm.wait_for_state(job, "FAILED", "COMPLETED", within=30), "FAILED")
        self.assertEqual(self.slurm.job(job)["Restarts"], "0")
        self.assertIn("nothing was recorded in this start", self.job_log())

    def test_watch_follows_a_sweep_and_cancel_ends_it_for_good(self):
        self.sweep({"nodes": 1, "time": "5 min"}, trials=30, seconds=1)
        job = self.submit_one()
        with open(self.folder / "watched", "wb") as pictures:
            watcher = subprocess.Popen([PROGRAM, "watch", "s.main.h5"], cwd=self.folder, env=self.environment(), stdout=pictures,
                                       stdin=subprocess.DEVNULL)
        self.wait_for_records(2)
        code, picture, err = self.run_program("watch", "--once", "s.main.h5")
        self.assertEqual(code, 0, err)
        for words in (f"Slurm job {job}: RUNNING\n", " of 30 trials recorded, 1 running, ", "\nDevices\n", " running ", "\nNext\n",
                      "all devices of type small are in use"):
            self.assertIn(words, picture)
        wait_until(lambda: "\nLargest batch so far\n" in self.run_program("watch", "--once", "s.main.h5")[1], 20)
        code, out, err = self.run_program("cancel", "s.main.h5")
        self.assertEqual((code, "asked to end" in out), (0, True), out + err)
        self.assertEqual(self.slurm.wait_for_state(job, "FAILED", "COMPLETED"), "FAILED")
        self.assertEqual((self.slurm.job(job)["ExitCode"], self.slurm.job(job)["Restarts"]), ("4:0", "0"), "stopped with work left")
        self.assertIn("the sweep was cancelled: this job does not start again", self.job_log())
        self.assertEqual(watcher.wait(30), 0, "watching ends with the sweep")
        watched = (self.folder / "watched").read_text()
        self.assertRegex(watched, rf"Slurm job {job}: (PENDING|RUNNING)")
        self.assertIn("no sweep is running on this file\n", watched.rpartition("s.main.h5\n")[2])
        self.assertEqual({row["outcome"] for row in self.rows("s.main.h5")}, {"completed"}, "what ran has ended well")
        self.assertLess(len(self.rows("s.main.h5")), 30)

    def test_scancel_ends_it_for_good(self):
        self.sweep({"nodes": 1, "time": "5 min"}, trials=30, seconds=1)
        job = self.submit_one()
        self.wait_for_records(2)
        self.slurm.ask("scancel", job, check=True)
        self.slurm.wait_for_state(job, "CANCELLED")
        wait_until(lambda: not self.slurm.ask("squeue", "-h").strip(), 20, self.slurm.describe)
        self.assertEqual(self.slurm.job(job)["Restarts"], "0")
        self.assertNotIn("asking Slurm", self.job_log())
        self.assert_nothing_left_alive()

    def test_a_chain_under_mpirun_ends_the_sweep_where_requeue_is_forbidden(self):
        self.sweep({"nodes": 2, "time": "5 min", "launch": "mpirun", "when_time_is_up": "chain:3"}, trials=8, seconds=1,
                   devices=[("small", "n[1-3]", 1)])
        (jobs,) = self.submit().values()
        self.assertEqual(len(jobs), 3)
        self.wait_for_records(1)
        self.assertEqual(self.slurm.job(jobs[1])["Reason"], "Dependency")
        self.slurm.ask("scancel", "--batch", "--signal=USR1", jobs[0], check=True)  # as when the time is nearly up
        self.finish(jobs[2], within=120)
        self.assertIn("running trials finish, nothing new starts", self.job_log())
        self.assertGreater(self.job_log().count("Next: batchsweep report"), 1, "the second job of the chain went on")
        self.assertIn("all is recorded", self.job_log(), "the third found nothing to do")
        rows = self.assert_complete(8)
        self.assertEqual(len({row["hostname"] for row in rows}), 2)

    def test_a_killed_node_costs_only_what_ran_there(self):
        self.sweep({"nodes": 3, "time": "5 min"}, trials=18, seconds=2)
        job = self.submit_one()
        self.wait_for_records(2)
        self.assertEqual(self.slurm.job(job)["BatchHost"], "n1")
        try:
            self.slurm.kill_node("n2")
            self.finish(job, within=120)
            self.assertNotIn("Restarts=1", self.slurm.ask("scontrol", "show", "job", job))
            lost = [row for row in self.rows("s.main.h5", "attempts") if row["outcome"] == "lost"]
            rows = self.assert_complete(18)
            again = {row["trial_id"]: row["hostname"] for row in rows}
            self.assertEqual(len(lost), 1, "one device, so one trial ran there")
            self.assertIn(again[lost[0]["trial_id"]], ("n1", "n3"))
        finally:
            self.slurm.start_node("n2")
            wait_until(self.slurm.is_idle, 60, self.slurm.describe)


if __name__ == "__main__":
    main()
