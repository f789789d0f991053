# SPDX-License-Identifier: Apache-2.0
"""Large sweeps: planning a million points, going on with 100,000 recorded trials, reporting a million rows; and idle processes."""
import os
import resource
import statistics
import subprocess
import time

from bench import MPIRUN, PROGRAM, drop, folder, keep, spread, timed
from trials import SWEEP

NODES = "[[rehearsal.node]]\ndevices = { dev = 4 }\ncount = 64"


def sweep(name, trials, mode="simulated", step="1 ms", nodes=NODES):
    text = SWEEP.format(trials=trials, steps=2, mode=mode, step=step, nodes=nodes)
    return text.replace('name = "t"', f'name = "{name}"')


def plan_million(here):
    (here / "plan.toml").write_text(sweep("plan", 1_000_000))
    seconds = [timed([PROGRAM, "plan", "plan.toml"], here) for _ in range(3)]
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    return [{"what": "1,000,000 grid points planned: s", "target": "at most 3", "measured": spread(seconds),
             "met": statistics.median(seconds) <= 3},
            {"what": "the same: peak resident GiB", "target": "at most 1.5", "measured": f"{peak / 2**30:.3g}",
             "met": peak <= 1.5 * 2**30}]


def go_on(here):
    (here / "go.toml").write_text(sweep("go", 100_000))
    timed([PROGRAM, "run", "go.toml"], here)
    seconds = [timed([PROGRAM, "run", "go.toml"], here) for _ in range(3)]
    return [{"what": "going on with 100,000 recorded trials (nothing left to run): s", "target": "at most 1",
             "measured": spread(seconds), "met": statistics.median(seconds) <= 1}]


def report_million(here):
    (here / "big.toml").write_text(sweep("big", 1_000_000))
    recording = timed([PROGRAM, "run", "big.toml"], here)
    seconds = [timed([PROGRAM, "report", "big.h5"], here) for _ in range(3)]
    size = os.path.getsize(here / "big.h5")
    return [{"what": f"1,000,000 simulated trials recorded (file of {size / 1e6:.0f} MB): s", "target": "",
             "measured": f"{recording:.3g}", "met": None},
            {"what": "report on 1,000,000 rows: s", "target": "at most 6", "measured": spread(seconds),
             "met": statistics.median(seconds) <= 6}]


def cpu_seconds(pid):
    fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def children(pid):
    return [int(p) for p in open(f"/proc/{pid}/task/{pid}/children").read().split()]


def idle(here):
    """Three processes under mpirun, one trial that sleeps: share of a core that orchestrator and agents use over 20 s."""
    (here / "idle.toml").write_text(sweep("idle", 1, mode="process", step="60 s", nodes=""))
    run = subprocess.Popen([*MPIRUN, "-n", "3", PROGRAM, "run", "idle.toml"], cwd=here,
                           env={**os.environ, "BATCHSWEEP_HOST": "%r"}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and not (here / "idle.h5.status.json").exists():
        time.sleep(0.1)
    pids = [p for p in children(run.pid) if "batchsweep" in open(f"/proc/{p}/comm").read()]
    before = [cpu_seconds(p) for p in pids]
    time.sleep(20)
    shares = [(cpu_seconds(p) - b) / 20 for p, b in zip(pids, before)]
    run.terminate()
    run.wait()
    names = ["orchestrator with its agent", "agent", "second agent"]
    return [{"what": f"idle {name} under mpirun: share of a core", "target": "at most 3 %", "measured": f"{share:.2%}",
             "met": share <= 0.03} for name, share in zip(names, shares)]


def main():
    here = folder()
    try:
        rows = []
        for part in (plan_million, go_on, idle, report_million):
            shown = len(rows)
            rows += part(here)
            keep("scale", rows, shown=shown)
    finally:
        drop(here)


if __name__ == "__main__":
    main()
