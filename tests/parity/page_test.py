#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/parity.md tells of every model and check, and every figure in it is within tolerance. Last digits differ between processors, so
the page is compared by its structure; BATCHSWEEP_REWRITE=1 writes it anew from the results that the other parity tests left.

page_test.py PAGE BATCHSWEEP"""
import json
import os
import pathlib
import re
import subprocess
import sys

import harness
from harness import TOLERANCE, TOLERANCE_LOWER
import references

GROUPS = ("resnet18", "resnet18-lower", "bert-tiny", "lenet", "others", "schedules", "variants", "scripts")
CHECKS = ("eval output", "train output", "loss", "gradient norms", "running statistics", "loss, own dropout")

HEAD = """# Parity with PyTorch

Written by the tests under `tests/parity` (`BATCHSWEEP_REWRITE=1 ctest -L parity` writes it anew): each builds the published model in
Python, gives both sides the same weights and batches, and compares. The figures are the worst deviations; the tests fail above {tolerance:.0e}
in fp32 and above {lower:.0e} for losses under bf16 and fp16 autocast. On another processor the last digits differ.

Compared with {versions}, on the CPU.

## Models

Names, shapes and number of the parameters and buffers are equal exactly, at the model's defaults; the multiply-adds in `batchsweep models`
are those that PyTorch counts. Tensors: the largest difference over the largest expected value. Loss: relative. Gradient norms: the
worst of all parameters, each relative to its own norm (or to {noise:.0e} of the model's largest, where the gradient is 0 on paper).
Running statistics: batch normalisation's, after one training pass. Dropout is off, but in the last column, where both sides draw the
same random numbers. Weights are the initial ones with uneven biases and norms, and running statistics of another batch.

"""


def figure(size):
    return "" if size is None else "0" if size == 0 else f"{size:.1e}"


def table(head, rows):
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    return "\n".join(lines + [f"| {' | '.join(row)} |" for row in rows]) + "\n"


def read(name):
    path = harness.RESULTS / f"{name}.json"
    if not path.exists():
        sys.exit(f"{path} is not there: run all tests of the label parity first")
    return json.loads(path.read_text())


def models_table(results):
    rows = [[f"`{r['name']}`", f"{r['parameters']:,}", *(figure(r["deviations"].get(check)) for check in CHECKS)] for r in results]
    return table(("model", "parameters", *CHECKS), rows)


def steps_table(results):
    rows = []
    for run in (run for result in results for run in result["runs"]):
        scale = f"{run['skipped']} left out, grown {run['grown']} times, last {run['last scale']:.0f}: equal" if run["last scale"] else ""
        rows.append([f"`{run['model']}`", run["run"], figure(run["losses"]), f"{run['limit']:.0e}", scale])
    return table(("model", "run", "worst loss", "at most", "loss scale"), rows)


def mistakes_table(mistakes):
    rows = []
    for m in mistakes:
        reported = [f"{check} {figure(size)}" for check, size in m["deviations"].items() if not size <= TOLERANCE]
        rows.append([f"`{m['model']}`", m["mistake"], "; ".join(reported)])
    return table(("model", "mistake", "reported"), rows)


def written():
    import safetensors
    import torch
    import torchvision
    import transformers
    versions = ", ".join(f"{package.__name__} {package.__version__.split('+')[0]}" for package in (torch, torchvision, transformers, safetensors))
    return (HEAD.format(tolerance=TOLERANCE, lower=TOLERANCE_LOWER, noise=harness.NOISE, versions=versions)
            + models_table([read(f"model.{name}") for name in references.REFERENCES])
            + "\n## Twenty training steps\n\nThe same batches through our optimizer step and through an ordinary PyTorch loop (`torch.optim`, "
              "`torch.amp`): the worst relative\ndeviation of the twenty losses. Learning rates are equal to 1e-9, loss scales exactly.\n\n"
            + steps_table([read(f"steps.{group}") for group in GROUPS])
            + "\n## Seen to fail\n\nPyTorch's model was changed in one place after its weights were written for ours. What was reported:\n\n"
            + mistakes_table(read("seen_to_fail")["mistakes"]))


def rows_of(page, title):
    """The cells of the table under a heading, without its head."""
    part = re.search(rf"^## {title}$(.*?)(?=^## |\Z)", page, re.S | re.M)
    lines = [line for line in part[1].splitlines() if line.startswith("|")] if part else []
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def problems_of(page, models):
    rows = rows_of(page, "Models")
    shown = {row[0].strip("`") for row in rows}
    problems = [f"{name} is not in the table of models" for name in [*models, *references.REFERENCES] if name not in shown]
    for row in rows:
        problems += [f"{row[0]}: {cell} in the page" for cell in row[2:] if cell and not float(cell) <= TOLERANCE]
        problems += [f"{row[0]}: no figure for {check}" for check, cell in list(zip(CHECKS, row[2:]))[:4] if not cell]
    steps = rows_of(page, "Twenty training steps")
    problems += [f"{row[0]}, {row[1]}: {row[2]} in the page" for row in steps if not float(row[2]) <= float(row[3]) <= TOLERANCE_LOWER]
    for words in ("sgd, fp32", "sgd, bf16", "sgd, fp16", "adamw, fp32", "adamw, bf16", "adamw, fp16"):
        if not any(row[1].startswith(words) for row in steps):
            problems.append(f"no twenty steps of {words}")
    mistakes = rows_of(page, "Seen to fail")
    problems += [f"{row[1]}: nothing was reported" for row in mistakes if not row[2]]
    problems += [f"no mistake of the kind {kind}" for kind in ("epsilon", "missing", "swapped") if not any(kind in row[1] for row in mistakes)]
    return problems


def main(path, batchsweep):
    if os.environ.get("BATCHSWEEP_REWRITE") == "1":
        path.write_text(written())
    table_of_models = json.loads(subprocess.run([batchsweep, "models", "--format", "json"], check=True, capture_output=True, text=True).stdout)
    rows = table_of_models if isinstance(table_of_models, list) else next(v for v in table_of_models.values() if isinstance(v, list))
    harness.finish(problems_of(path.read_text() if path.exists() else "", [row.get("name", row.get("model")) for row in rows]))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), sys.argv[2])
