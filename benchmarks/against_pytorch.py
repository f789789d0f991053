# SPDX-License-Identifier: Apache-2.0
"""Time of a training step and peak memory beside PyTorch in eager mode: same LibTorch, threads, model, batch, optimizer.
Needs: cmake ... -DBATCHSWEEP_BENCHMARKS=ON && ninja -C BUILD training_steps counting_allocator, and in PYTHONPATH the torch that the build
uses, torchvision and transformers.

    python3 benchmarks/against_pytorch.py [MODEL[:PRECISION]...]    some of the cases; they replace their rows and leave the others

Every figure is made by fresh processes in turns, ours first and theirs first by turns; a process's time is the median of its steps
without the first ones. PyTorch's times are taken with its own allocator, as its users have it, and its peak, counted by our allocator,
in one more process."""
import json
import math
import os
import statistics
import subprocess
import sys

from bench import BIN, FIGURES, ROOT, keep

THREADS = min(2, os.cpu_count())
STEPS, WARMUP, TURNS = 20, 3, 3
IMAGES, TEXT = {"resnet18": (4, 16), "resnet50": (2, 8), "vit_b_16": (1, 4)}, {"bert-base-uncased": (1, 4), "gpt2": (1, 4)}
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": str(THREADS), "MKL_NUM_THREADS": str(THREADS), "OMP_WAIT_POLICY": "passive", "HF_HUB_OFFLINE": "1"}
NAME = "against_pytorch"


def cases(chosen):
    for model, batches in {**IMAGES, **TEXT}.items():
        for precision in ("fp32", "bf16"):
            if not chosen or model in chosen or f"{model}:{precision}" in chosen:
                for batch in batches:
                    size = {"image_height": 224, "image_width": 224} if model in IMAGES else {"sequence_length": 128}
                    yield {"model": model, "batch_size": batch, "precision": precision, "warmup_steps": 0, "timed_steps": STEPS, **size}


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT)
    if done.returncode != 0:
        raise SystemExit(f"{command} ended with {done.returncode}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def our_run(spec):
    return run([str(BIN / "training_steps"), json.dumps({"spec": spec, "threads": THREADS})])


def their_run(spec, counted=False):
    given = {"spec": spec, "threads": THREADS, "counted": counted}
    return run([sys.executable, str(ROOT / "benchmarks" / "pytorch_steps.py"), json.dumps(given), str(BIN / "counting_allocator.so")])


def median_of(result):
    return statistics.median(result["times_s"][WARMUP:])


def measure(spec):
    """Rows: ratio of the times, ratio of the peaks."""
    ours, theirs = [], []
    for turn in range(TURNS):
        sides = [(ours, our_run), (theirs, their_run)]
        for results, side in sides if turn % 2 == 0 else reversed(sides):
            results.append(side(spec))
    ratios = sorted(median_of(b) / median_of(a) for a, b in zip(ours, theirs))
    peak = their_run({**spec, "timed_steps": 4}, counted=True)["peak_bytes"]
    memory = max(result["peak_bytes"] for result in ours) / peak - 1
    name = f"{spec['model']}, batch {spec['batch_size']}, {spec['precision']}"
    ratio = statistics.median(ratios)
    milliseconds = " and ".join(f"{1000 * statistics.median(map(median_of, side)):.4g}" for side in (ours, theirs))
    return [{"what": f"{name}: PyTorch's step time over ours", "target": "at least 0.97", "case": name, "ratio": ratio,
             "measured": f"{ratio:.3f} ({ratios[0]:.3f} to {ratios[-1]:.3f}, {TURNS} pairs; ours and theirs {milliseconds} ms)", "met": ratio >= 0.97},
            {"what": f"{name}: our peak over PyTorch's", "target": "at most +1 %", "case": name,
             "measured": f"{memory:+.2%} of {peak / 2**20:.0f} MiB", "met": memory <= 0.01}]


def with_mean(rows):
    rows = [row for row in rows if row["case"] != "all"]
    ratios = [row["ratio"] for row in rows if "ratio" in row]
    mean = math.exp(statistics.fmean(map(math.log, ratios)))
    return rows + [{"what": f"geometric mean of the {len(ratios)} ratios of step times", "target": "at least 1.0", "case": "all",
                    "measured": f"{mean:.3f}", "met": mean >= 1.0}]


def main(chosen):
    path = FIGURES / f"{NAME}.json"
    rows = json.loads(path.read_text())["rows"] if chosen and path.exists() else []
    for spec in cases(chosen):
        new = measure(spec)
        rows = with_mean([row for row in rows if row["case"] != new[0]["case"]] + new)
        keep(NAME, rows, shown=len(rows) - 3 if len(rows) > 3 else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
