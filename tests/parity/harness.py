# SPDX-License-Identifier: Apache-2.0
"""What the parity tests share: runs the program `parity` on a case, measures how far its numbers lie from PyTorch's, keeps the results
for docs/parity.md."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

try:
    import torch
    from safetensors.torch import load_file, save_file
except ImportError as error:
    sys.exit(f"{error}: the parity tests need torch, torchvision, transformers and safetensors for Python; scripts/setup --tests "
             "fetches them, or set BATCHSWEEP_PARITY_PACKAGES in CMake")

PROGRAM = os.environ["BATCHSWEEP_PARITY_PROGRAM"]
RESULTS = pathlib.Path(os.environ["BATCHSWEEP_PARITY_RESULTS"])
THREADS = min(2, len(os.sched_getaffinity(0)))
TOLERANCE = 1e-4         # fp32
TOLERANCE_LOWER = 2e-2   # losses under autocast
# A gradient that is 0 on paper (BERT's key biases: softmax does not see them) is rounding noise on both sides: norms are compared
# relative to themselves, but never to less than this share of the model's largest.
NOISE = 1e-4

torch.set_num_threads(THREADS)


class Folder(tempfile.TemporaryDirectory):
    """Weights and batches of one case, gone when the test is over."""

    def __init__(self):
        super().__init__(prefix="batchsweep-parity-")
        self.path = pathlib.Path(self.name)

    def __enter__(self):
        return self

    def save(self, name, tensors):
        save_file({key: tensor.contiguous() for key, tensor in tensors.items()}, self.path / name)
        return name


def ours(folder, case):
    """What our program says about the case: its numbers, its tensors."""
    (folder.path / "case.json").write_text(json.dumps({"threads": THREADS, **case}))
    done = subprocess.run([PROGRAM, folder.path], capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(f"parity ended with {done.returncode} for {case['spec']}: {done.stderr[-2000:]}")
    return json.loads((folder.path / "ours.json").read_text()), load_file(folder.path / "ours.safetensors")


def deviation(actual, expected):
    """Largest difference over the largest expected value; infinite where shapes differ or a number is not finite."""
    if actual.shape != expected.shape or not torch.isfinite(actual).all() or not torch.isfinite(expected).all():
        return float("inf")
    difference = (actual.double() - expected.double()).abs().max().item()
    return difference / max(expected.double().abs().max().item(), 1e-30)


def relative(actual, expected, least=1e-30):
    """Of two numbers; None (a gradient that does not exist) equals None only."""
    if actual is None or expected is None:
        return 0.0 if actual is expected else float("inf")
    found = abs(actual - expected) / max(abs(expected), least)
    return found if found == found else float("inf")


def keep(name, results):
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(results, indent=1) + "\n")


def finish(problems):
    """Ends the test's process."""
    for problem in problems:
        print("FAILED:", problem)
    sys.exit(1 if problems else 0)
