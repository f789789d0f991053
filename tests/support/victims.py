# SPDX-License-Identifier: Apache-2.0
"""Whom a test may kill: the processes of a running sweep by their part, and what a trial may leave behind when the agent above it dies."""
import os
import pathlib
import signal

from harness import command_line, parent_of


def variables_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []


class Victims:
    """Beside a Sandbox. Kinds: "trial", "orchestrator", "agent" (any but the orchestrator's), "mpirun"."""

    def victims(self, kind, mpirun=None):
        if kind == "mpirun":
            return [mpirun.pid]
        found = []
        for pid in self.tagged_processes():
            variables = variables_of(pid)
            if "batchsweep publish" in command_line(pid):
                continue
            is_trial = any(v.startswith(b"BATCHSWEEP_ATTEMPT=") for v in variables)
            rank = next((v for v in variables if v.startswith(b"OMPI_COMM_WORLD_RANK=")), b"")
            part = "trial" if is_trial else "orchestrator" if rank.endswith(b"=0") else "agent" if rank else "mpirun"
            if part == kind:
                found.append(pid)
        return found

    def strike(self, rng, kind, mpirun, number=signal.SIGKILL):
        """Sends a signal to one of them, if there is any; says whether it did."""
        victims = self.victims(kind, mpirun)
        if not victims:
            return False
        try:
            os.kill(rng.choice(sorted(victims)), number)
        except ProcessLookupError:
            return False
        return True

    def orphans(self):
        """What a trial left in a session of its own when the agent above it was killed: nobody of the sweep is above it any more."""
        alive = set(self.tagged_processes())
        return {pid for pid in alive if parent_of(pid) not in alive
                and any(v.startswith(b"BATCHSWEEP_ATTEMPT=") for v in variables_of(pid))}
