#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One built-in model against its reference: names, shapes, counts, evaluation, one training pass.

models_test.py MODEL    every head of the model"""
import sys
import time

import harness
from harness import NOISE, TOLERANCE, deviation, relative
import references
import torch
from torch.utils.flop_counter import FlopCounterMode

DROPOUT_SEED = 11


def gradient_norm(parameter):
    return None if parameter.grad is None else torch.linalg.vector_norm(parameter.grad, dtype=torch.float64).item()


def norms_of(model, buffers):
    """Running statistics: what a published file holds besides parameters."""
    return {name: tensor.clone() for name, tensor in model.named_buffers() if name in buffers}


def expected_of(reference, model, batch):
    """PyTorch's side of both passes; the model's running statistics are moved once."""
    buffers = set(model.state_dict()) - {name for name, _ in model.named_parameters(remove_duplicate=False)}
    references.set_dropout(model, own=False)
    expected = {}
    model.eval()
    with torch.no_grad():
        expected["eval_output"] = reference.run(model, batch)[0]
    model.train()
    before = norms_of(model, buffers)
    output, loss = reference.run(model, batch)
    loss.backward()
    expected["train_output"] = output.detach()
    numbers = {"loss": loss.item(), "gradient_norms": {name: gradient_norm(p) for name, p in model.named_parameters()}}
    expected.update({f"after.{name}": tensor for name, tensor in norms_of(model, buffers).items()})
    if reference.own_dropout:
        model.load_state_dict(before, strict=False)
        references.set_dropout(model, own=True)
        torch.manual_seed(DROPOUT_SEED)
        with torch.no_grad():
            numbers["dropout_loss"] = reference.run(model, batch)[1].item()
    return numbers, expected


def deviations(numbers, expected, our_numbers, our_tensors):
    """By check: the worst deviation."""
    largest = max(norm for norm in numbers["gradient_norms"].values() if norm is not None)
    norms = {name: relative(our_numbers["gradient_norms"].get(name), norm, NOISE * largest)
             for name, norm in numbers["gradient_norms"].items()}
    worst = max(norms, key=norms.get)
    found = {"eval output": deviation(our_tensors["eval_output"], expected["eval_output"]),
             "train output": deviation(our_tensors["train_output"], expected["train_output"]),
             "loss": relative(our_numbers["loss"], numbers["loss"]),
             "gradient norms": norms[worst]}
    statistics = [deviation(our_tensors[name], tensor) for name, tensor in expected.items() if name.startswith("after.")]
    if statistics:
        found["running statistics"] = max(statistics)
    if "dropout_loss" in numbers:
        found["loss, own dropout"] = relative(our_numbers["dropout_loss"], numbers["dropout_loss"])
    return found, worst


def multiply_adds(reference, model, side):
    """Counted by PyTorch as it goes through the operators of one sample's forward pass."""
    model.eval()
    torch.backends.mha.set_fastpath_enabled(False)  # its fused operators are not counted
    with torch.device("meta"), torch.no_grad(), FlopCounterMode(display=False) as counter, \
            torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        model(*(value if value is None else value.to("meta") for value in reference.default_input(side)))
    torch.backends.mha.set_fastpath_enabled(True)
    return counter.get_total_flops() / 2


def description_problems(reference, described, first_head):
    """Names, shapes and counts at the defaults, which must be exact; and the counted multiply-adds."""
    with torch.device("meta"):
        model = reference.build_default()
    parameters = {name: list(p.shape) for name, p in model.named_parameters()}
    named = {name for name, _ in model.named_parameters(remove_duplicate=False)}
    buffers = {name: list(t.shape) for name, t in model.state_dict().items() if name not in named}
    count = sum(p.numel() for p in model.parameters())
    counted = multiply_adds(reference, model, described["image_size"])
    problems = []
    if described["parameters"] != parameters:
        differing = sorted(set(map(str, described["parameters"].items())) ^ set(map(str, parameters.items())))
        problems.append(f"parameters differ: {differing[:6]}")
    if described["buffers"] != buffers:
        problems.append(f"buffers differ: {sorted(set(described['buffers']) ^ set(buffers))[:6]}")
    if described["num_parameters"] != count:
        problems.append(f"{described['num_parameters']} parameters, PyTorch has {count}")
    if first_head and described["table_num_parameters"] != count:
        problems.append(f"the table says {described['table_num_parameters']} parameters, PyTorch has {count}")
    if first_head and described.get("multiply_adds") != counted:
        problems.append(f"the table says {described.get('multiply_adds')} multiply-adds, PyTorch counts {counted}")
    facts = {"parameters": count, "multiply-adds counted": counted, "multiply-adds": described.get("multiply_adds") if first_head else None}
    return problems, facts


def check(reference, change=None):
    """Runs both sides. Deviations by check, the parameter with the worst gradient norm, our description of the model.
    `change` alters PyTorch's model after its weights were written for ours."""
    with harness.Folder() as folder:
        model = references.make_model(reference)
        batch = reference.batch()
        case = {"spec": {"dropout": 0.0, **reference.spec}, "weights": folder.save("weights.safetensors", references.weights_of(model)),
                "batch": folder.save("batch.safetensors", {name: batch[name] for name in ("input", "target")})}
        if reference.own_dropout:
            case["dropout_seed"] = DROPOUT_SEED
        if change:
            change(model)
        numbers, expected = expected_of(reference, model, batch)
        del model
        our_numbers, our_tensors = harness.ours(folder, case)
    found, worst = deviations(numbers, expected, our_numbers, our_tensors)
    return found, worst, our_numbers["described"]


def check_all(model):
    problems = []
    for name, make in references.REFERENCES.items():
        reference = make() if name == model or name.startswith(model + "-") and name.rsplit("-", 1)[1] in ("classify", "qa") else None
        if reference is None:
            continue
        began = time.monotonic()
        found, worst, described = check(reference)
        facts_problems, facts = description_problems(reference, described, first_head=name == model)
        problems += [f"{name}: {problem}" for problem in facts_problems]
        problems += [f"{name}: {what} deviates by {size:.2e}, at most {TOLERANCE:.0e}" + (f" ({worst})" if what == "gradient norms" else "")
                     for what, size in found.items() if not size <= TOLERANCE]
        print(name, {what: f"{size:.1e}" for what, size in found.items()}, worst, facts, f"{time.monotonic() - began:.1f} s", flush=True)
        harness.keep(f"model.{name}", {"name": name, "deviations": found, **facts})
    return problems


if __name__ == "__main__":
    if sys.argv[1] not in references.REFERENCES:
        sys.exit(f"no reference for {sys.argv[1]}")
    harness.finish(check_all(sys.argv[1]))
