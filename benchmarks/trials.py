# SPDX-License-Identifier: Apache-2.0
"""Cost of a trial: simulated (virtual time, real record) and played by real processes, the latter beside HyperQueue running `true`.
Usage: trials.py [PYTHON], a python whose environment has the package hyperqueue."""
import statistics
import subprocess
import sys

from bench import MPIRUN, PROGRAM, drop, folder, keep, spread, timed

TRIALS = 10_000
REPEATS = 5

SWEEP = """
[sweep]
name = "t"
[grid]
gpu = "dev"
model = "m"
batch_size = {{ from = 1, to = {trials}, step = 1 }}
[trial]
warmup_steps = {steps}
timed_steps = {steps}
[[device]]
name = "dev"
kind = "cpu"
memory = "100 GiB"
threads = 1
count = 4
[rehearsal]
mode = "{mode}"
{nodes}
[[rehearsal.rule]]
when = {{ model = "m" }}
memory = {{ fixed = "1 MiB", per_sample = "1 KiB" }}
step = {{ fixed = "{step}", per_sample = "0 us" }}
"""


def simulated():
    seconds = []
    for _ in range(REPEATS):
        here = folder()
        (here / "s.toml").write_text(SWEEP.format(trials=TRIALS, steps=2, mode="simulated", step="1 ms",
                                                  nodes="[[rehearsal.node]]\ndevices = { dev = 4 }\ncount = 2"))
        seconds.append(timed([PROGRAM, "run", "s.toml"], here))
        drop(here)
    return seconds


def played():
    here = folder()
    (here / "s.toml").write_text(SWEEP.format(trials=TRIALS, steps=2, mode="process", step="0 us", nodes=""))
    s = timed([*MPIRUN, "-n", "2", PROGRAM, "run", "s.toml"], here, env={"BATCHSWEEP_HOST": "%r"})
    drop(here)
    return s


HYPERQUEUE = """
import sys, time, tempfile
from hyperqueue import Job, LocalCluster
from hyperqueue.cluster import WorkerConfig
with tempfile.TemporaryDirectory() as d, LocalCluster(d) as cluster:
    for _ in range(2):
        cluster.start_worker(WorkerConfig(cores=4))
    client = cluster.client()
    start = time.monotonic()
    job = Job()
    for _ in range(int(sys.argv[1])):
        job.program(["true"], stdout=None, stderr=None)
    client.wait_for_jobs([client.submit(job)])
    print(time.monotonic() - start)
"""


def hyperqueue(python):
    out = subprocess.run([python, "-c", HYPERQUEUE, str(TRIALS)], capture_output=True, text=True, check=True).stdout
    return float(out.split()[-1])


BARE_SPAWN = """
import os, time
start = time.monotonic()
for _ in range(2000):
    os.waitpid(os.posix_spawn('/bin/true', ['true'], {}), 0)
print((time.monotonic() - start) / 2000)
"""


def bare_spawn():
    return float(subprocess.run([sys.executable, "-c", BARE_SPAWN], capture_output=True, text=True, check=True).stdout)


def main():
    per_trial = [s / TRIALS for s in simulated()]
    rows = [{"what": f"{TRIALS:,} simulated trials, two agents, record durable, start and publishing included: us a trial",
             "target": "at most 100", "measured": spread(per_trial, 1e6), "met": statistics.median(per_trial) <= 100e-6}]
    if len(sys.argv) > 1:
        ours, theirs = [], []
        for _ in range(3):
            ours.append(played() / TRIALS)
            theirs.append(hyperqueue(sys.argv[1]) / TRIALS)
        ratios = [a / b for a, b in zip(ours, theirs)]
        rows += [
            {"what": f"{TRIALS:,} trials played by real processes, two agents of four devices: ms a trial", "target": "",
             "measured": spread(ours, 1e3), "met": None},
            {"what": "HyperQueue, two workers of four cores, `true`, same run in turns: ms a task", "target": "",
             "measured": spread(theirs, 1e3), "met": None},
            {"what": "ratio of the two", "target": "at most 0.9", "measured": spread(ratios),
             "met": statistics.median(ratios) <= 0.9},
            {"what": "bare spawn and wait of `true`: ms", "target": "", "measured": f"{bare_spawn() * 1e3:.3g}", "met": None},
        ]
    keep("trials", rows)


if __name__ == "__main__":
    main()
