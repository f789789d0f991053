# SPDX-License-Identifier: Apache-2.0
"""By hand, as root: a sweep over three hosts on this machine (own networks, names, addresses), one of which loses its cable in the middle.

    BATCHSWEEP_BIN=build/cpu/bin PYTHONPATH=tests/support:tests/slurm/support /usr/bin/python3 tests/slurm/pull_a_cable.py

Prints a transcript; docs/cluster.md shows one.
"""
import pathlib
import shutil
import subprocess
import tempfile
import time

from harness import PROGRAM, read_rows
from hosts import ADDRESSES, Hosts
from private_slurm import wait_until
from rehearsals import table

SWEEP = "\n".join([
    table("[sweep]", {"name": "three"}),
    table("[grid]", {"model": "lenet", "gpu": "small", "batch_size": list(range(1, 19))}),
    table("[trial]", {"warmup_steps": 0, "timed_steps": 2, "time_limit": "20 s"}),
    table("[[device]]", {"name": "small", "kind": "cpu", "memory": "1 GiB"}),
    table("[rehearsal]", {"mode": "process"}),
    table("[[rehearsal.rule]]", {"step": {"fixed": "1 s"}, "memory": {"fixed": "1 MiB"}}),
    table("[[slurm]]", {"job": "main", "nodes": 3, "time": "10 min"})])


class Transcript:
    def __init__(self, slurm, folder):
        self.slurm, self.folder = slurm, folder

    def __call__(self, command):
        print(f"$ {command}", flush=True)
        done = subprocess.run([*self.slurm.inside("controller"), "sh", "-c", f"cd {self.folder} && {command}"],
                              env=self.slurm.environment(PATH=f"{pathlib.Path(PROGRAM).resolve().parent}:/usr/sbin:/usr/bin:/sbin:/bin"),
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120, check=False)
        print(done.stdout, end="", flush=True)
        return done.stdout


def main():
    slurm = Hosts()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="batchsweep-cable-"))
    try:
        run = Transcript(slurm, folder)
        (folder / "three.toml").write_text(SWEEP)
        log = folder / "three.main.log"
        run("cat /etc/hosts")
        run("srun -N3 --ntasks-per-node=1 sh -c 'echo $(hostname) $(ip -4 -o addr show eth0 | awk \"{print \\$4}\")' | sort")
        job = run("batchsweep submit three.toml").split("job ")[1].split(",")[0]
        wait_until(lambda: log.exists() and "[4/18]" in log.read_text(), 60)
        run("batchsweep watch --once three.main.h5")
        print(f"$ ip link set to-n2 down        # the cable of {ADDRESSES['n2']}")
        slurm.pull_cable("n2")
        start = time.monotonic()
        slurm.wait_for_state(job, "COMPLETED", within=180)
        run("cat three.main.log")
        run("sinfo -N -o '%N %T'")
        rows = read_rows(folder / "three.main.h5")
        lost = [row for row in read_rows(folder / "three.main.h5", "attempts") if row["outcome"] == "lost"]
        print(f"# {len(rows)} rows, {sum(row['outcome'] == 'completed' for row in rows)} completed, {len(lost)} attempt lost; "
              f"the job ended {time.monotonic() - start:.0f} s after the cable was pulled")
    finally:
        slurm.stop()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
