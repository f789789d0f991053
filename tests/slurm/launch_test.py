# SPDX-License-Identifier: Apache-2.0
"""Started by hand under srun: a wrong --mpi is told on every task before anything is written; the right one runs."""
import unittest

from slurm_case import PROGRAM, SlurmCase, main

WRONG = "Slurm started 2 tasks, but MPI sees 1: wrong --mpi? Start with srun --mpi=pmix"


class Launch(SlurmCase):
    def srun(self, *arguments):
        """Two tasks on two nodes: (exit code, what they wrote)."""
        code, out, err = self.run_program("-N2", "-n2", "--ntasks-per-node=1", *arguments, program="srun")
        return code, out + err

    def written(self):
        return sorted(path.name for path in self.folder.glob("*.h5*"))

    def setUp(self):
        super().setUp()
        self.sweep({}, trials=4)

    def test_pmix_makes_one_sweep_of_all_tasks(self):
        code, text = self.srun("--mpi=pmix", PROGRAM, "run", "s.toml")
        self.assertEqual(code, 0, text)
        self.assertEqual({row["hostname"] for row in self.rows("s.h5")}, {"n1", "n2"})

    def test_without_mpi_every_task_says_so_and_nothing_is_written(self):
        # Debian's Open MPI cannot use PMI-2: it ends the process itself, so the word comes before.
        for mpi, word in (("--mpi=none", WRONG), ("--mpi=pmi2", "it is the wrong --mpi; start with srun --mpi=pmix")):
            with self.subTest(mpi):
                code, text = self.srun(mpi, PROGRAM, "run", "s.toml")
                self.assertEqual(code, 1, text)
                self.assertEqual(text.count(word), 2, text)
                self.assertEqual(self.written(), [])

    def test_alone_runs_in_each_task(self):
        code, text = self.srun("--mpi=none", "sh", "-c", f"exec {PROGRAM} run s.toml --alone --results $SLURM_PROCID.h5")
        self.assertEqual(code, 0, text)
        self.assertEqual(self.written(), ["0.h5", "1.h5"])

    def test_fewer_tasks_than_ranks_are_told_as_well(self):
        code, text = self.srun("--mpi=pmix", "sh", "-c", f"SLURM_NTASKS=1 exec {PROGRAM} run s.toml")
        self.assertEqual(code, 1, text)
        self.assertEqual(text.count("MPI sees 2 ranks, but this step of Slurm has 1 task(s)"), 2, text)
        self.assertEqual(self.written(), [])


if __name__ == "__main__":
    main()
