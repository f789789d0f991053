# SPDX-License-Identifier: Apache-2.0
"""From placement until the first training step of resnet18 on synthetic data begins, and the bare start of LibTorch beside it. The clock starts
when batchsweep-trial is spawned with its input ready, and stops at the event that says that the warm-up begins."""
import json
import os
import statistics
import subprocess
import time

from bench import BIN, keep, spread

INPUT = {"protocol": 1, "trial_id": "0123456789abcdef", "repeat": 0, "attempt": 1, "seed": 1, "rank": 0, "local_rank": 0,
         "spec": {"gpu": "cpu", "model": "resnet18", "model_source": "resnet18", "batch_size": 8, "warmup_steps": 2, "timed_steps": 2,
                  "image_height": 64, "image_width": 64},
         "device": {"kind": "cpu", "type": "cpu", "uuid": "cpu", "threads": 2}}


def until_first_step():
    start = time.monotonic()
    trial = subprocess.Popen([str(BIN / "batchsweep-trial")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    trial.stdin.write(json.dumps(INPUT) + "\n")
    trial.stdin.close()
    for line in trial.stdout:
        event = json.loads(line)
        if event.get("phase") == "warmup":
            elapsed = time.monotonic() - start
            trial.stdout.read()
            trial.wait()
            return elapsed
    raise SystemExit("the trial ended before its warm-up")


def bare_start():
    """The same program asked for its version: loads LibTorch and ends."""
    start = time.monotonic()
    subprocess.run([str(BIN / "batchsweep-trial"), "--version"], stdout=subprocess.DEVNULL, check=True)
    return time.monotonic() - start


def main():
    os.environ.pop("BATCHSWEEP_EVENT_FD", None)
    first, bare = [], []
    for _ in range(11):
        first.append(until_first_step())
        bare.append(bare_start())
    keep("start", [
        {"what": "spawn of the trial until the first training step of resnet18 on synthetic data begins: s", "target": "at most 0.6",
         "measured": spread(first), "met": statistics.median(first) <= 0.6},
        {"what": "bare start of LibTorch (the same program, --version), in turns with it: s", "target": "", "measured": spread(bare),
         "met": None}])


if __name__ == "__main__":
    main()
