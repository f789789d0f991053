#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The CPU allocator: counted peak beside the growth of the resident set, and step times beside LibTorch's own allocator.

    cmake ... -DBATCHSWEEP_BENCHMARKS=ON && ninja -C BUILD allocator_rss
    benchmarks/allocator.py BUILD/bin/allocator_rss

Every line is made by fresh processes, the two allocators taking turns; times are the least median step of three processes each.
Exits with 1 where the resident set differs by more than 2 % + 16 MiB from the counted peak.
"""

import json
import subprocess
import sys

MIB = 2**20
CASES = [("resnet18", 16), ("resnet18", 64), ("bert-tiny", 8), ("bert-tiny", 32)]
STEPS, PROCESSES = 8, 3


def measure(program, model, batch, allocator):
    done = subprocess.run([program, model, str(batch), allocator, str(STEPS)], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def main(program):
    print(f"{'model':10} {'batch':>5} {'counted':>9} {'resident':>9} {'difference':>10} {'default alloc.':>14} "
          f"{'step':>9} {'step default':>12} {'ratio':>6}")
    good = True
    for model, batch in CASES:
        ours, default = [], []
        for _ in range(PROCESSES):
            ours.append(measure(program, model, batch, "ours"))
            default.append(measure(program, model, batch, "default"))
        counted = ours[0]["counted_bytes"]
        resident = max(run["resident_bytes"] for run in ours)
        good &= abs(resident - counted) <= 0.02 * counted + 16 * MIB
        step, step_default = (min(run["step_median_s"] for run in runs) for runs in (ours, default))
        print(f"{model:10} {batch:5} {counted / MIB:5.0f} MiB {resident / MIB:5.0f} MiB {resident / counted - 1:+10.1%} "
              f"{max(run['resident_bytes'] for run in default) / MIB:10.0f} MiB {step * 1e3:6.1f} ms {step_default * 1e3:9.1f} ms "
              f"{step / step_default:6.2f}")
    return 0 if good else 1


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
