#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Twenty steps of two ranks: each rank's losses beside those of the same rank under PyTorch's DistributedDataParallel over gloo, from
the same weights on the same batches.

ranks_test.py                       all of RUNS
ranks_test.py --pytorch RANK FILE   one rank of PyTorch's side"""
import json
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile

import harness
from harness import relative
import references
from steps_test import ACCUMULATION, ADAMW, CLIPPING, REFERENCES, SGD, STEPS
import torch

RANKS = 2
TOLERANCE = 1e-5
RUNS = [("lenet", SGD), ("lenet", {**ADAMW, **ACCUMULATION, **CLIPPING}), ("bert-tiny", ADAMW), ("bert-tiny", {**SGD, **ACCUMULATION, **CLIPPING}),
        ("resnet18", SGD), ("resnet18", {**SGD, **ACCUMULATION, **CLIPPING}), ("resnet18, 64x96", ADAMW)]


# --- PyTorch's side


def pytorch_rank(rank, path):
    """Losses of an ordinary loop over a model that DistributedDataParallel holds."""
    given = pickle.loads(pathlib.Path(path).read_bytes())
    torch.distributed.init_process_group("gloo", rank=rank, world_size=RANKS)
    reference, options = REFERENCES[given["name"]](), given["options"]
    model = reference.build()
    model.load_state_dict(given["state"])
    references.set_dropout(model, own=False)
    model = torch.nn.parallel.DistributedDataParallel(model.train())
    kind = torch.optim.SGD if options["optimizer"] == "sgd" else torch.optim.AdamW
    rest = {"momentum": options["momentum"]} if options["optimizer"] == "sgd" else {}
    optimizer = kind(model.parameters(), options["learning_rate"], weight_decay=options["weight_decay"], fused=True, **rest)
    parts, losses, batches = options.get("gradient_accumulation_steps", 1), [], iter(given["batches"][rank])
    for _ in range(STEPS):
        optimizer.zero_grad()
        losses.append(0.0)
        for part in range(parts):
            model.require_backward_grad_sync = part == parts - 1  # what no_sync() sets
            loss = reference.run(model, next(batches))[1] / parts
            loss.backward()
            losses[-1] += loss.item()
        if "clip_grad_norm" in options:
            torch.nn.utils.clip_grad_norm_(model.parameters(), options["clip_grad_norm"])
        optimizer.step()
    print(json.dumps(losses))
    torch.distributed.destroy_process_group()


def pytorch_losses(folder, name, model, batches, options):
    path = folder / "given.pickle"
    path.write_bytes(pickle.dumps({"name": name, "state": model.state_dict(), "batches": batches, "options": options}))
    with tempfile.TemporaryDirectory() as store:
        environment = {**os.environ, "MASTER_ADDR": "127.0.0.1", "GLOO_SOCKET_IFNAME": "lo", "MASTER_PORT": str(free_port())}
        ranks = [subprocess.Popen([sys.executable, __file__, "--pytorch", str(rank), path], env=environment, stdout=subprocess.PIPE, cwd=store)
                 for rank in range(RANKS)]
        return [json.loads(rank.communicate(timeout=300)[0]) for rank in ranks]


def free_port():
    import socket
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


# --- ours


def our_losses(folder, model, batches, options, reference):
    spec = {"dropout": 0.0, **reference.spec, **options, "world_size": RANKS, "warmup_steps": 0, "timed_steps": STEPS}
    processes, meeting = [], None
    for rank in range(RANKS):
        own = folder / str(rank)
        own.mkdir()
        harness.save_file({key: tensor.contiguous() for key, tensor in references.weights_of(model).items()}, own / "weights.safetensors")
        tensors = {f"{part}.{i}": batch[part].contiguous() for i, batch in enumerate(batches[rank]) for part in ("input", "target")}
        harness.save_file(tensors, own / "batches.safetensors")
        (own / "case.json").write_text(json.dumps({"spec": spec, "threads": 1, "rank": rank, "weights": "weights.safetensors",
                                                   "batches": "batches.safetensors"}))
        process = subprocess.Popen([harness.PROGRAM, own], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        if rank == 0:
            meeting = process.stdout.readline()
        else:
            process.stdin.write(meeting)
            process.stdin.flush()
        processes.append(process)
    for process in processes:
        process.communicate(timeout=300)
        if process.returncode != 0:
            raise AssertionError(f"parity ended with {process.returncode} for {spec}")
    return [json.loads((folder / str(rank) / "ours.json").read_text())["losses"] for rank in range(RANKS)]


def check(name, options):
    torch.manual_seed(1)
    reference = REFERENCES[name]()
    model = references.make_model(reference)
    count = STEPS * options.get("gradient_accumulation_steps", 1)
    batches = [[reference.batch() for _ in range(count)] for _ in range(RANKS)]
    with harness.Folder() as folder:
        return pytorch_losses(folder.path, name, model, batches, options), our_losses(folder.path, model, batches, options, reference)


def main():
    torch.set_num_threads(1)
    problems = []
    for name, options in RUNS:
        theirs, ours = check(name, options)
        worst = max(relative(a, b) for rank in range(RANKS) for a, b in zip(ours[rank], theirs[rank], strict=True))
        title = f"{name}, {options['optimizer']}" + (", 2 batches a step, clipped" if "clip_grad_norm" in options else "")
        print(title, f"{worst:.1e}", f"{theirs[0][0]:.4f} to {theirs[0][-1]:.4f}", flush=True)
        if not worst <= TOLERANCE:
            problems.append(f"{title}: losses deviate by {worst:.2e}: {ours}, PyTorch {theirs}")
        if theirs[0] == theirs[1] or len(set(theirs[0])) < STEPS // 2:
            problems.append(f"{title}: the ranks should learn, each from its own batches: {theirs}")
    harness.finish(problems)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--pytorch"]:
        torch.set_num_threads(1)
        pytorch_rank(int(sys.argv[2]), sys.argv[3])
    else:
        main()
