# SPDX-License-Identifier: Apache-2.0
"""What the tests of the real program share: start it, read its results with h5py, see that nothing is left alive.

Uses Debian's python3 with python3-h5py; the program's folder comes from BATCHSWEEP_BIN.
"""
import os
import pathlib
import shutil
import subprocess
import tempfile
import time
import unittest
import uuid

import h5py

from processes import processes_with

BIN = pathlib.Path(os.environ["BATCHSWEEP_BIN"])
PROGRAM = str(BIN / "batchsweep")
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]


class Sandbox(unittest.TestCase):
    """Each test in a folder of its own; every process it starts carries a tag, and none may outlive the test."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="batchsweep-test-"))
        self.tag = uuid.uuid4().hex
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def environment(self, **extra):
        env = {k: v for k, v in os.environ.items() if not k.startswith(("OMPI_", "PMIX_", "SLURM_"))}
        env.update(BATCHSWEEP_TEST_TAG=self.tag, HOME=str(self.folder), OMPI_ALLOW_RUN_AS_ROOT="1",
                   OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", TMPDIR="/tmp", **extra)
        return env

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return str(path)

    def start(self, *arguments, ranks=0, program=PROGRAM, elsewhere=None, stdout=None, **extra):
        """Starts batchsweep (under mpirun with `ranks`, the last of them as the program `elsewhere`); output goes to files out and err
        of the folder, or to the descriptor `stdout`."""
        command = [str(program), *arguments]
        if ranks and elsewhere:
            command = [*MPIRUN, "-n", str(ranks - 1), *command, ":", "-n", "1", str(elsewhere), *arguments]
        elif ranks:
            command = [*MPIRUN, "-n", str(ranks), *command]
        with open(self.folder / "out", "wb") as out, open(self.folder / "err", "wb") as err:
            return subprocess.Popen(command, cwd=self.folder, env=self.environment(**extra), stdout=stdout or out, stderr=err,
                                    stdin=subprocess.DEVNULL)

    def run_program(self, *arguments, timeout=120, **options):
        """Runs to the end; returns (exit code, stdout, stderr)."""
        process = self.start(*arguments, **options)
        try:
            code = process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill_tagged()
            process.wait()
            self.fail(f"{arguments} did not end within {timeout} s:\n{self.output('err')[-4000:]}")
        return code, self.output("out"), self.output("err")

    def output(self, which):
        return (self.folder / which).read_text(encoding="utf-8", errors="replace")

    def tagged_processes(self):
        """Pids of living processes that carry this test's tag (zombies have no environment)."""
        return processes_with("BATCHSWEEP_TEST_TAG", self.tag)

    def kill_tagged(self):
        for pid in self.tagged_processes():
            try:
                os.kill(pid, 9)
            except ProcessLookupError:
                pass

    def assert_nothing_left_alive(self, within=10):
        self.wait_until(lambda: not self.tagged_processes(), within,
                        lambda: f"still alive: {[command_line(pid) for pid in self.tagged_processes()]}")

    def wait_until(self, condition, within, describe=lambda: ""):
        deadline = time.monotonic() + within
        while not condition():
            if time.monotonic() > deadline:
                self.fail(f"condition not met within {within} s; {describe()}")
            time.sleep(0.005)

    def rows(self, path, dataset="trials"):
        return read_rows(self.folder / path, dataset)


def command_line(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return f"{pid} gone"


def parent_of(pid):
    """0 where the process is gone."""
    try:
        return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def read_rows(path, dataset="trials"):
    """The rows as dicts, text decoded: what any HDF5 reader sees."""
    with h5py.File(path, "r") as file:
        table = file[dataset][:]
    return [{name: (value.decode("utf-8") if isinstance(value, bytes) else value)
             for name, value in zip(table.dtype.names, row)} for row in table]
