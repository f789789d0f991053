# SPDX-License-Identifier: Apache-2.0
"""Scheduling: a rehearsal of 10,176 trials over 16 nodes with 8 devices of three types, by the core alone in virtual time; what a decision
costs; and 64 agents over real MPI that start no process (BATCHSWEEP_NULL_LAUNCHER=1), so that everything else is measured."""
import json
import os
import statistics
import subprocess
import threading
import time

from bench import BIN, MPIRUN, PROGRAM, drop, folder, keep, spread
from trials import SWEEP

SCHEDULE = str(BIN / "schedule")

HEAD = """
[sweep]
name = "s"
[[grid]]
gpu = ["big", "mid", "small"]
model = ["m1", "m2", "m3", "m4", "m5", "m6", "m7", "m8"]
precision = ["fp32", "bf16"]
world_size = [1, 2, 4, 8]
batch_size = { from = 8, to = 424, step = 8 }
[trial]
warmup_steps = 2
timed_steps = 20
[rehearsal]
mode = "simulated"
"""
DEVICE = '[[device]]\nname = "{name}"\nkind = "cpu"\nmemory = "{gib} GiB"\n'
RULE = """[[rehearsal.rule]]
when = {{ model = "m{model}", gpu = "{gpu}" }}
memory = {{ fixed = "1 GiB", per_sample = "1 MiB" }}
step = {{ fixed = "{fixed} ms", per_sample = "{per_sample} ms", noise = 0.05 }}
"""
# Node layouts: whole nodes of one type, and all three types on each node (8 ranks then lie on two or four hosts).
LAYOUTS = {"one type a node": "".join(f"[[rehearsal.node]]\ndevices = {{ {t} = 8 }}\ncount = {n}\n"
                                      for t, n in (("big", 6), ("mid", 5), ("small", 5))),
           "three types on each node": "[[rehearsal.node]]\ndevices = { big = 4, mid = 2, small = 2 }\ncount = 16\n"}


def rehearsal_file(layout):
    text = HEAD + layout + "".join(DEVICE.format(name=n, gib=g) for n, g in (("big", 80), ("mid", 40), ("small", 16)))
    for gpu, slow in (("big", 1), ("mid", 2), ("small", 4)):
        for model in range(1, 9):
            text += RULE.format(model=model, gpu=gpu, fixed=20 * slow, per_sample=slow * model)
    return text


def ask(*arguments):
    return json.loads(subprocess.run([SCHEDULE, *map(str, arguments)], check=True, capture_output=True, text=True).stdout)


def rehearsed(here):
    rows = []
    for name, layout in LAYOUTS.items():
        (here / "s.toml").write_text(rehearsal_file(layout))
        answer = ask("rehearsal", here / "s.toml")
        if answer["done"] != answer["trials"]:
            raise SystemExit(f"{answer['done']} of {answer['trials']} trials were done")
        busy = min(t["busy"] for t in answer["types"].values())
        over = max(t["over_bound"] for t in answer["types"].values())
        what = f"{answer['trials']:,} trials, 16 nodes x 8 devices, {name}"
        rows += [{"what": f"{what}: devices busy until the last tenth, worst of three types", "target": "at least 97 %",
                  "measured": f"{busy:.2%}", "met": busy >= 0.97},
                 {"what": "the same: makespan over its lower bound, worst of three types", "target": "at most +5 %",
                  "measured": f"+{over:.2%}", "met": over <= 0.05}]
    return rows


def decided(here):
    rows = []
    for waiting in (10_000, 100_000, 1_000_000):
        each = [ask("decisions", waiting)["us_a_decision"] for _ in range(3)]
        bound = waiting == 100_000
        rows.append({"what": f"a decision (a trial ends, the next is placed) with {waiting:,} waiting, 128 devices: us",
                     "target": "at most 20" if bound else "", "measured": spread(each),
                     "met": statistics.median(each) <= 20 if bound else None})
    return rows


def resident(pid):
    return int(open(f"/proc/{pid}/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def orchestrator_of(mpirun):
    """The process of MPI rank 0 below mpirun, whichever of its threads started it."""
    for task in os.listdir(f"/proc/{mpirun}/task"):
        for pid in map(int, open(f"/proc/{mpirun}/task/{task}/children").read().split()):
            if b"OMPI_COMM_WORLD_RANK=0\0" in open(f"/proc/{pid}/environ", "rb").read():
                return pid
    return None


class Watched:
    """One run over MPI: when each trial was announced as recorded, and the orchestrator's resident set then."""

    def __init__(self, here, agents, trials):
        (here / "s.toml").write_text(SWEEP.format(trials=trials, steps=1, mode="process", step="0 us", nodes=""))
        env = {**os.environ, "BATCHSWEEP_HOST": "%r", "BATCHSWEEP_NULL_LAUNCHER": "1"}
        self.times, self.samples, self.pid = [], [], None
        run = subprocess.Popen([*MPIRUN, "-n", str(agents), PROGRAM, "run", "s.toml"], cwd=here, env=env, text=True,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        sampler = threading.Thread(target=self.sample, args=(run,), daemon=True)
        sampler.start()
        self.other = []
        for line in run.stderr:
            if " completed" in line:
                self.times.append(time.monotonic())
            elif "NULL_LAUNCHER" not in line:
                self.other.append(line)
        self.code = run.wait()
        sampler.join()

    def sample(self, run):
        while run.poll() is None:
            try:
                self.pid = self.pid or orchestrator_of(run.pid)
                if self.pid:
                    self.samples.append((len(self.times), resident(self.pid)))
            except (OSError, ValueError):
                pass
            time.sleep(0.02)


def agents64(here):
    trials, rates, growths = 10_000, [], []
    for number in range(3):
        place = here / f"a{number}"
        place.mkdir()
        run = Watched(place, 64, trials)
        if run.code != 0 or len(run.times) != trials:
            raise SystemExit(f"64 agents: exit code {run.code}, {len(run.times)} trials announced\n" + "".join(run.other[:20]))
        rates.append((trials - 1) / (run.times[-1] - run.times[0]))
        after = [size for count, size in run.samples if count >= 1000 and size > 0]
        growths.append((max(after) - after[0]) / 2**20)
    return [{"what": "64 agents over MPI on this machine, 10,000 trials without a process: trials recorded a second",
             "target": "at least 2,000", "measured": spread(rates), "met": statistics.median(rates) >= 2000},
            {"what": "the same: growth of the orchestrator's resident set after the first 1,000: MiB", "target": "at most 16",
             "measured": spread(growths), "met": max(growths) <= 16}]


def main():
    here = folder()
    load = os.getloadavg()[0]
    notes = [f"Load average at the start: {load:.1f}."]
    try:
        rows = []
        for part in (rehearsed, decided, agents64):
            shown = len(rows)
            rows += part(here)
            keep("schedule", rows, notes, shown=shown)
    finally:
        drop(here)


if __name__ == "__main__":
    main()
