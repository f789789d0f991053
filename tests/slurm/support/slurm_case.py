# SPDX-License-Identifier: Apache-2.0
"""Tests of the real program on a Slurm of their own: one for each test program, an empty queue and a folder for each test."""
import collections
import re
import sys
import unittest

import private_slurm
from harness import PROGRAM, Sandbox
from private_slurm import wait_until
from rehearsals import table

SKIPPED = 77  # what CTest takes for "skipped"


class SlurmCase(Sandbox):
    @classmethod
    def setUpClass(cls):
        cls.slurm = private_slurm.PrivateSlurm()
        cls.addClassCleanup(cls.slurm.stop)

    def setUp(self):
        super().setUp()
        self.folder.chmod(0o755)
        self.addCleanup(self.slurm.cancel_all)

    def environment(self, **extra):
        env = super().environment(**extra)
        return {**self.slurm.environment(), **env, "PATH": extra.get("PATH", private_slurm.search_path()),
                "SLURM_CONF": f"{self.slurm.folder}/slurm.conf"}

    def sweep(self, job, trials, seconds=0.4, devices=(("small", "n[1-3]", 1),), name="s", only_nodes=None, **trial):
        """A sweep file s.toml: `trials` trials of `seconds` each, on cpu devices (name, hosts, count on each), with one [[slurm]] `job`."""
        job = {"job": "main", **job}
        if only_nodes:
            job["sbatch_args"] = [*job.get("sbatch_args", []), f"--nodelist={only_nodes}"]
        return self.write("s.toml", "\n".join([
            table("[sweep]", {"name": name}),
            table("[grid]", {"model": "lenet", "gpu": sorted({device for device, _, _ in devices}),
                             "batch_size": list(range(1, trials + 1))}),
            table("[trial]", {"warmup_steps": 0, "timed_steps": 2, "time_limit": "20 s", "setup_limit": "10 s", **trial}),
            *(table("[[device]]", {"name": device, "kind": "cpu", "memory": "1 GiB", "hosts": hosts, "count": count})
              for device, hosts, count in devices),
            table("[rehearsal]", {"mode": "process"}),
            table("[[rehearsal.rule]]", {"step": {"fixed": f"{seconds / 2 * 1000:.0f} ms"}, "memory": {"fixed": "1 MiB"}}),
            table("[[slurm]]", job)]))

    def submit(self, *arguments, **options):
        """Ids of the Slurm jobs by [[slurm]] job."""
        code, out, err = self.run_program("submit", "s.toml", *arguments, **options)
        self.assertEqual(code, 0, out + err)
        found = re.findall(r"^(\S+): job ([\d, ]+), results in (\S+)\. Next", out, re.M)
        self.assertEqual(len(found), len(out.splitlines()), out)
        return {job: ids.split(", ") for job, ids, _ in found}

    def submit_one(self, *arguments, **options):
        (ids,) = self.submit(*arguments, **options).values()
        (job_id,) = ids
        return job_id

    def job_log(self, job="main", name="s"):
        path = self.folder / f"{name}.{job}.log"
        return path.read_text(errors="replace") if path.exists() else "(no log)"

    def recorded(self, job="main"):
        """How many lines of the log say that a trial is recorded."""
        return len(re.findall(r"^\[\d+/\d+\] ", self.job_log(job), re.M))

    def wait_for_records(self, count, job="main", within=30):
        wait_until(lambda: self.recorded(job) >= count, within, lambda: self.job_log(job) + self.slurm.describe())

    def finish(self, job_id, job="main", within=90):
        state = self.slurm.wait_for_state(job_id, "COMPLETED", "FAILED", "TIMEOUT", "NODE_FAIL", "CANCELLED", within=within)
        self.assertEqual(state, "COMPLETED", self.job_log(job))

    def assert_complete(self, trials, job="main"):
        """Every trial has one row, completed; nothing is left beside the file, and no process."""
        rows = self.rows(f"s.{job}.h5")
        counts = collections.Counter((row["run_id"], row["trial_id"], row["repeat"]) for row in rows)
        self.assertEqual([key for key, n in counts.items() if n != 1], [])
        self.assertEqual(collections.Counter(row["outcome"] for row in rows), {"completed": trials}, self.job_log(job))
        self.assertEqual(sorted(path.name for path in self.folder.glob(f"s.{job}.h5*")), [f"s.{job}.h5"])
        self.assert_nothing_left_alive()
        return rows


def main():
    reason = private_slurm.why_not_here()
    if reason:
        print(f"SKIPPED: {reason}")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)


__all__ = ["PROGRAM", "SlurmCase", "main", "wait_until"]
