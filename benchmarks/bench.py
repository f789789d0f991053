# SPDX-License-Identifier: Apache-2.0
"""What the benchmarks share: sweeps, timing, and figures that land in benchmarks/figures/*.json, from which render.py writes
docs/performance.md. Every figure carries its spread; a comparison is made within one run, in turns."""
import json
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BIN = pathlib.Path(os.environ.get("BATCHSWEEP_BIN", ROOT / "build" / "bin"))
PROGRAM = str(BIN / "batchsweep")
FIGURES = ROOT / "benchmarks" / "figures"
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]


def machine():
    model = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "?")
    return f"{os.cpu_count()} cores of {model}, Linux {platform.release()}"


def timed(command, cwd, env=None, check=(0, 3)):
    """Wall seconds of one run; its output is read and dropped."""
    start = time.monotonic()
    done = subprocess.run(command, cwd=cwd, env={**os.environ, **(env or {})}, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True)
    elapsed = time.monotonic() - start
    if done.returncode not in check:
        raise SystemExit(f"{command} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return elapsed


def folder():
    return pathlib.Path(tempfile.mkdtemp(prefix="batchsweep-bench-"))


def drop(path):
    shutil.rmtree(path, ignore_errors=True)


def spread(values, scale=1.0, digits=3):
    """"median (min to max, n runs)" of the values."""
    v = sorted(x * scale for x in values)
    return f"{statistics.median(v):.{digits}g} ({v[0]:.{digits}g} to {v[-1]:.{digits}g}, {len(v)} runs)"


def keep(name, rows, notes=(), shown=0):
    """rows: dicts with what, target, measured, met (True, False, None = no target). Called after each part, so that
    what was measured is not lost; `shown` of the rows were printed before."""
    FIGURES.mkdir(exist_ok=True)
    (FIGURES / f"{name}.json").write_text(json.dumps({"machine": machine(), "rows": rows, "notes": list(notes)}, indent=1) + "\n")
    for row in rows[shown:]:
        mark = {True: "met", False: "MISSED", None: ""}[row["met"]]
        print(f"{row['what']}: {row['measured']}  [target: {row['target'] or '-'}] {mark}", flush=True)
