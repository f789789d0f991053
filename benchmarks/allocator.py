# SPDX-License-Identifier: Apache-2.0
"""The CPU allocator: counted peak beside the growth of the resident set, and step times beside LibTorch's own allocator.
Needs the program allocator_rss: cmake ... -DBATCHSWEEP_BENCHMARKS=ON && ninja -C BUILD allocator_rss.

Every line is made by fresh processes, the two allocators taking turns; a process's time is the median of its steps."""
import json
import statistics
import subprocess

from bench import BIN, keep

MIB = 2**20
CASES = [("resnet18", 16), ("resnet18", 64), ("bert-tiny", 8), ("bert-tiny", 32)]
STEPS, PROCESSES = 8, 3


def measure(model, batch, allocator):
    done = subprocess.run([BIN / "allocator_rss", model, str(batch), allocator, str(STEPS)], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def rows_of(model, batch):
    ours, default = [], []
    for _ in range(PROCESSES):
        ours.append(measure(model, batch, "ours"))
        default.append(measure(model, batch, "default"))
    counted = ours[0]["counted_bytes"]
    worst = max((run["resident_bytes"] for run in ours), key=lambda resident: abs(resident - counted))
    ratios = sorted(a["step_median_s"] / b["step_median_s"] for a, b in zip(ours, default))
    ratio = statistics.median(ratios)
    name = f"{model}, batch {batch}"
    return [
        {"what": f"{name}: counted peak, growth of the resident set (the worst of {PROCESSES})", "target": "within 2 % + 16 MiB",
         "measured": f"{counted / MIB:.0f} MiB, {worst / MIB:.0f} MiB ({worst / counted - 1:+.1%})",
         "met": abs(worst - counted) <= 0.02 * counted + 16 * MIB},
        {"what": f"{name}: step time over that with LibTorch's allocator", "target": "below 1" if model == "bert-tiny" else "",
         "measured": f"{ratio:.3g} ({ratios[0]:.3g} to {ratios[-1]:.3g}, {len(ratios)} pairs)",
         "met": ratio < 1 if model == "bert-tiny" else None},
        {"what": f"{name}: the same with LibTorch's allocator, growth of the resident set", "target": "",
         "measured": f"{max(run['resident_bytes'] for run in default) / MIB:.0f} MiB", "met": None},
    ]


def main():
    keep("allocator", [row for model, batch in CASES for row in rows_of(model, batch)])


if __name__ == "__main__":
    main()
