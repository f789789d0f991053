#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Twenty training steps from the same weights on the same batches: our losses beside those of a plain PyTorch loop.

steps_test.py GROUP    a group of RUNS"""
import contextlib
import math
import sys
import time
import warnings

import harness
from harness import TOLERANCE, TOLERANCE_LOWER, relative
import references
import torch

STEPS = 20
LOWER = {"bf16": torch.bfloat16, "fp16": torch.float16}
# The loss scale starts so high that the first steps are left out. Its counter of good steps is set close to the end of its interval once,
# so that the scale grows as well.
FIRST_SCALE, COUNTED_AT, COUNTED = 2.0**18, 13, 1996

REFERENCES = {"resnet18": lambda: references.torchvision_model("resnet18", 32, 48, batch=4),
              "resnet18, 64x96": lambda: references.torchvision_model("resnet18", 64, 96, batch=8),
              "resnet18, 16x24": lambda: references.torchvision_model("resnet18", 16, 24, batch=4),  # without AMX, bf16 takes long
              "bert-tiny": lambda: references.bert("bert-tiny", "mlm", 2, 16),
              "vit_b_16": lambda: references.torchvision_model("vit_b_16", 32, 32),
              "gpt2": lambda: references.gpt2("gpt2", 12, 768, 12, 1, 16), "lenet": references.lenet,
              "densenet121": lambda: references.torchvision_model("densenet121", 64, 64)}

SGD = {"optimizer": "sgd", "learning_rate": 0.01, "momentum": 0.9, "weight_decay": 1e-4}
ADAMW = {"optimizer": "adamw", "learning_rate": 1e-4, "weight_decay": 0.01}
ADAM = {"optimizer": "adam", "learning_rate": 1e-4, "weight_decay": 0.01}
ACCUMULATION, CLIPPING = {"gradient_accumulation_steps": 2}, {"clip_grad_norm": 0.5}


def runs_of(group):
    """Model and our options."""
    both = {**ACCUMULATION, **CLIPPING}
    if group in ("resnet18", "bert-tiny", "lenet"):
        for optimizer in (SGD, ADAMW):
            for more in ({}, ACCUMULATION, CLIPPING, both):
                yield group, {**optimizer, **more}
            for precision in LOWER if group != "resnet18" else ():
                for more in ({}, both):
                    yield group, {**optimizer, **more, "precision": precision}
    elif group == "resnet18-lower":
        yield "resnet18, 16x24", {**SGD, **CLIPPING, "precision": "bf16"}
        yield "resnet18, 16x24", {**ADAMW, "precision": "bf16"}
        yield "resnet18, 16x24", {**SGD, **CLIPPING, "precision": "fp16"}
    elif group == "others":
        yield "lenet", ADAM
        yield "densenet121", SGD
        yield "vit_b_16", {**ADAMW, **CLIPPING}
        yield "gpt2", {**ADAMW, **CLIPPING}
    elif group == "schedules":
        for schedule in ("linear_warmup", "step", "cosine", "one_cycle"):
            yield "bert-tiny", {**ADAMW, "schedule": schedule}
            yield "lenet", {**SGD, "schedule": schedule}
    elif group == "variants":
        yield "resnet18", {**SGD, "memory_format": "channels_last"}
        # Rounds otherwise than the contiguous format, and training magnifies that: so slowly with many values behind each norm.
        yield "resnet18, 64x96", {**SGD, "learning_rate": 1e-5, "memory_format": "channels_last, PyTorch's contiguous"}
        yield "lenet", {**SGD, "memory_format": "channels_last, PyTorch's contiguous"}
        yield "resnet18", {**SGD, "activation_checkpointing": True}
        yield "bert-tiny", {**ADAMW, "activation_checkpointing": True}
    elif group == "scripts":
        yield "resnet18", {**SGD, "script": True}
        yield "lenet", {**ADAMW, "script": True}
    else:
        sys.exit(f"no group {group}")


# --- PyTorch's side


def make_optimizer(options, parameters, name):
    rate, decay = options["learning_rate"], options["weight_decay"]
    if options["optimizer"] == "sgd":
        return torch.optim.SGD(parameters, rate, momentum=options["momentum"], weight_decay=decay)
    kind = torch.optim.AdamW if options["optimizer"] == "adamw" else torch.optim.Adam
    # The fused form is ours too. The plain one rounds otherwise, which a residual network with few values behind each norm magnifies to
    # 1e-3 in twenty steps: in PyTorch alone as well.
    return kind(parameters, rate, weight_decay=decay, fused=name == "resnet18")


def make_schedule(name, optimizer, rate):
    schedules = torch.optim.lr_scheduler
    if name == "linear_warmup":  # over the first tenth
        import transformers
        return transformers.get_constant_schedule_with_warmup(optimizer, math.ceil(STEPS / 10))
    if name == "step":
        return schedules.StepLR(optimizer, math.ceil(STEPS / 3), gamma=0.1)
    if name == "cosine":
        return schedules.CosineAnnealingLR(optimizer, STEPS)
    if name == "one_cycle":
        return schedules.OneCycleLR(optimizer, rate, total_steps=STEPS, cycle_momentum=False)
    return schedules.ConstantLR(optimizer, factor=1)


def train(reference, model, batches, options):
    """Losses, learning rates, loss scales and left-out steps of an ordinary loop."""
    precision, parts = options.get("precision", "fp32"), options.get("gradient_accumulation_steps", 1)
    model.train()
    if options.get("memory_format") == "channels_last":
        model = model.to(memory_format=torch.channels_last)
        batches = [{**batch, "input": batch["input"].contiguous(memory_format=torch.channels_last)} for batch in batches]
    optimizer = make_optimizer(options, model.parameters(), reference.name)
    schedule = make_schedule(options.get("schedule"), optimizer, options["learning_rate"])
    scaler = torch.amp.GradScaler("cpu", init_scale=FIRST_SCALE, enabled=precision == "fp16")
    lower = torch.autocast("cpu", LOWER[precision]) if precision in LOWER else contextlib.nullcontext()
    history = {"losses": [], "learning_rates": [], "scales": [], "skipped": []}
    batches = iter(batches)
    for step in range(STEPS):
        if scaler.is_enabled() and step == COUNTED_AT:
            scaler.load_state_dict({**scaler.state_dict(), "_growth_tracker": COUNTED})
        optimizer.zero_grad()
        sum_of_losses = 0.0
        for _ in range(parts):
            with lower:
                loss = reference.run(model, next(batches))[1] / parts
            scaler.scale(loss).backward()
            sum_of_losses += loss.item()
        scaler.unscale_(optimizer)
        if "clip_grad_norm" in options:
            torch.nn.utils.clip_grad_norm_(model.parameters(), options["clip_grad_norm"])
        history["losses"].append(sum_of_losses)
        history["learning_rates"].append(optimizer.param_groups[0]["lr"])
        before = scaler.get_scale()
        scaler.step(optimizer)
        scaler.update()
        schedule.step()
        if scaler.is_enabled():
            history["scales"].append(scaler.get_scale())
            history["skipped"].append(scaler.get_scale() < before)
    return history


# --- both


def check(group, name, options):
    reference = REFERENCES[name]()
    model = references.make_model(reference)
    references.set_dropout(model, own=False)
    batches = [reference.batch() for _ in range(STEPS * options.get("gradient_accumulation_steps", 1))]
    spec = {"dropout": 0.0, **reference.spec, **options, "warmup_steps": 0, "timed_steps": STEPS}
    spec.update({"memory_format": "channels_last"} if "memory_format" in options else {})
    case = {"spec": spec, "weights": "weights.safetensors", "batches": "batches.safetensors"}
    if options.get("precision") == "fp16":
        case.update(first_scale=FIRST_SCALE, counted_at=COUNTED_AT, counted=COUNTED)
    with harness.Folder() as folder:
        if spec.pop("script", False):
            del spec["dropout"], case["weights"]
            torch.jit.script(model.train()).save(folder.path / "model.pt")
            spec.update(model="mine", model_source=f"script:{folder.path}/model.pt", loss="cross_entropy",
                        input_shape=list(batches[0]["input"].shape[1:]))
        else:
            folder.save("weights.safetensors", references.weights_of(model))
        folder.save("batches.safetensors", {f"{part}.{i}": batch[part] for i, batch in enumerate(batches) for part in ("input", "target")})
        theirs = train(reference, model, batches, options)
        our, _ = harness.ours(folder, case)
    return theirs, our


def title_of(options):
    words = [options["optimizer"], options.get("precision", "fp32")]
    words += ["2 batches a step"] * ("gradient_accumulation_steps" in options) + ["clipped"] * ("clip_grad_norm" in options)
    words += [options[key] for key in ("schedule", "memory_format") if key in options]
    return ", ".join(words + ["checkpointing"] * ("activation_checkpointing" in options) + ["TorchScript file"] * ("script" in options))


def judge(options, theirs, our):
    """Row for the page, and what is wrong."""
    worst = max((relative(a, b) for a, b in zip(our["losses"], theirs["losses"], strict=True)), default=math.inf)
    rates = max(relative(a, b, options["learning_rate"]) for a, b in zip(our["learning_rates"], theirs["learning_rates"], strict=True))
    most = TOLERANCE_LOWER if options.get("precision", "fp32") != "fp32" else TOLERANCE
    problems = []
    if not worst <= most:
        problems.append(f"losses deviate by {worst:.2e}, at most {most:.0e}: {our['losses']}, PyTorch {theirs['losses']}")
    if not rates <= 1e-9:
        problems.append(f"learning rates {our['learning_rates']}, PyTorch {theirs['learning_rates']}")
    if our["scales"] != theirs["scales"] or our["skipped"] != theirs["skipped"]:
        problems.append(f"loss scales {our['scales']}, PyTorch {theirs['scales']}")
    if theirs["scales"] and (not any(theirs["skipped"]) or all(b <= a for a, b in zip(theirs["scales"], theirs["scales"][1:]))):
        problems.append(f"PyTorch's loss scale should fall and grow: {theirs['scales']}")
    if len(set(theirs["losses"])) < STEPS // 2:
        problems.append(f"PyTorch's losses hardly change: {theirs['losses']}")
    return {"losses": worst, "skipped": sum(theirs["skipped"]), "last scale": (theirs["scales"] or [None])[-1],
            "grown": sum(b > a for a, b in zip(theirs["scales"], theirs["scales"][1:]))}, problems


def main(group):
    warnings.filterwarnings("ignore", "Detected call of `lr_scheduler.step", UserWarning)  # where the scaler leaves the first step out
    problems, rows = [], []
    for name, options in runs_of(group):
        began = time.monotonic()
        theirs, our = check(group, name, options)
        row, found = judge(options, theirs, our)
        rows.append({"model": name, "run": title_of(options), "limit": TOLERANCE_LOWER if options.get("precision", "fp32") != "fp32" else TOLERANCE, **row})
        problems += [f"{name}, {title_of(options)}: {problem}" for problem in found]
        print(name, title_of(options), row, f"{theirs['losses'][0]:.4f} to {theirs['losses'][-1]:.4f}, {time.monotonic() - began:.1f} s", flush=True)
    harness.keep(f"steps.{group}", {"runs": rows})
    harness.finish(problems)


if __name__ == "__main__":
    main(sys.argv[1])
