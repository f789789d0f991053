# SPDX-License-Identifier: Apache-2.0
"""Time of a training step and peak memory beside PyTorch in eager mode: same LibTorch, threads, model, batch, optimizer.
Needs: cmake ... -DBATCHSWEEP_BENCHMARKS=ON && ninja -C BUILD training_steps counting_allocator, and in PYTHONPATH the torch that the build
uses, torchvision and transformers.

    python3 benchmarks/against_pytorch.py [MODEL[:PRECISION]...]    some of the cases; they replace their rows and leave the others

Both sides live at once and take their steps in turns, one step each, first ours and then theirs and the other way round: what slows the
machine slows the neighbouring step as well, and the ratio is the median over these pairs. Three times, by fresh processes. PyTorch's
times are taken with its own allocator, as its users have it, and its peak, counted by our allocator, in one more process."""
import json
import math
import os
import statistics
import subprocess
import sys

from bench import BIN, FIGURES, ROOT, keep

THREADS = min(2, os.cpu_count())
# So small that the one batch is not learnt by heart within the steps: from a loss of nothing come gradients of denormal numbers, with
# which a processor calculates ten times as slowly.
RATE = 1e-6
STEPS, WARMUP, TURNS = 10, 3, 3
IMAGES, TEXT = {"resnet18": (4, 16), "resnet50": (2, 8), "vit_b_16": (1, 4)}, {"bert-base-uncased": (1, 4), "gpt2": (1, 4)}
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": str(THREADS), "MKL_NUM_THREADS": str(THREADS), "OMP_WAIT_POLICY": "passive", "HF_HUB_OFFLINE": "1"}
NAME = "against_pytorch"


def cases(chosen):
    for model, batches in {**IMAGES, **TEXT}.items():
        for precision in ("fp32", "bf16"):
            if not chosen or model in chosen or f"{model}:{precision}" in chosen:
                for batch in batches:
                    size = {"image_height": 224, "image_width": 224} if model in IMAGES else {"sequence_length": 128}
                    yield {"model": model, "batch_size": batch, "precision": precision, "learning_rate": RATE, **size}


class Side:
    """A process that trains, a step whenever it is asked."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT)

    def step(self):
        """Its time in seconds."""
        self.process.stdin.write("step\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def end(self):
        self.process.stdin.close()
        left = self.process.stdout.read()
        if self.process.wait() != 0:
            raise SystemExit(f"{self.process.args} ended with {self.process.returncode}")
        return json.loads(left)


def ours(spec):
    return Side([str(BIN / "training_steps"), json.dumps({"spec": spec, "threads": THREADS})])


def theirs(spec, counted=False):
    given = {"spec": spec, "threads": THREADS, "counted": counted}
    return Side([sys.executable, str(ROOT / "benchmarks" / "pytorch_steps.py"), json.dumps(given), str(BIN / "counting_allocator.so")])


def turn(spec):
    """Pairs (our step, theirs) in seconds, and our peak."""
    a, b = sides = ours(spec), theirs(spec)
    pairs = []
    for i in range(WARMUP + STEPS):
        times = {side: side.step() for side in (sides if i % 2 == 0 else reversed(sides))}
        pairs.append((times[a], times[b]))
    b.end()
    return pairs[WARMUP:], a.end()["peak_bytes"]


def their_peak(spec):
    side = theirs(spec, counted=True)
    for _ in range(WARMUP + 1):
        side.step()
    return side.end()["peak_bytes"]


def ratio_of(pairs):
    return statistics.median(b / a for a, b in pairs)


def measure(spec):
    """Rows: ratio of the times, ratio of the peaks."""
    turns, peaks = zip(*(turn(spec) for _ in range(TURNS)))
    each = sorted(map(ratio_of, turns))
    pairs = [pair for pairs in turns for pair in pairs]
    ratio, peak = ratio_of(pairs), their_peak(spec)
    memory = max(peaks) / peak - 1
    name = f"{spec['model']}, batch {spec['batch_size']}, {spec['precision']}"
    milliseconds = " and ".join(f"{1000 * statistics.median(times):.4g}" for times in zip(*pairs))
    return [{"what": f"{name}: PyTorch's step time over ours", "target": "at least 0.97", "case": name, "ratio": ratio,
             "measured": f"{ratio:.3f} ({each[0]:.3f} to {each[-1]:.3f}, {TURNS} x {STEPS} pairs; ours and theirs {milliseconds} ms)",
             "met": ratio >= 0.97},
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
