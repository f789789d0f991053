#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A [[runtime]]: trains any classifier of torchvision under torch.compile as a trial of batchsweep.

    [[runtime]]
    name = "compiled"
    command = ["python3", "docs/examples/compiled_runtime.py"]

    [[grid]]
    model = "mobilenet_v3_small"      # any name of torchvision.models
    runtime = "compiled"
    batch_size = [8, 16]

One line of JSON comes in, one line an event goes out: docs/trial_protocol.md says all of it.
"""

import json
import os
import sys
import time

import torch
import torchvision

EVENTS = os.fdopen(int(os.environ.get("BATCHSWEEP_EVENT_FD", "1")), "w", buffering=1)


def tell(event, **members):
    EVENTS.write(json.dumps({"event": event, **members}) + "\n")


def open_device(asked):
    if asked["kind"] == "cpu":
        torch.set_num_threads(asked["threads"])
        return torch.device("cpu")
    if "limit_bytes" in asked:
        total = torch.cuda.get_device_properties(0).total_memory
        torch.cuda.set_per_process_memory_fraction(min(1.0, asked["limit_bytes"] / total))
    return torch.device("cuda", 0)


def train(spec, device, measured, steps):
    batch, side = spec["batch_size"], spec.get("image_height", 224)
    classes = spec.get("num_classes", 1000)
    model = torchvision.models.get_model(spec["model"], weights=None, num_classes=classes).to(device)
    measured["num_parameters"] = sum(p.numel() for p in model.parameters())
    compiled = torch.compile(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=spec.get("learning_rate", 0.01), momentum=spec.get("momentum", 0.9), fused=True)
    images = torch.randn(batch, 3, side, side, device=device)
    targets = torch.randint(classes, (batch,), device=device)
    cuda = device.type == "cuda"
    for number in range(1, steps["warmup_steps"] + spec.get("timed_steps", 20) + 1):
        if number == steps["warmup_steps"] + 1:
            tell("phase", phase="timed")
            opened = time.perf_counter()
        began = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        loss = torch.nn.functional.cross_entropy(compiled(images), targets)
        loss.backward()
        optimizer.step()
        value = loss.item()  # waits for the device
        steps["time_s"].append(time.perf_counter() - began)
        steps["loss"].append(value)
        tell("step", step=number, time_s=steps["time_s"][-1], loss=value)
    measured["window_s"] = time.perf_counter() - opened
    measured["samples"] = batch * spec.get("timed_steps", 20)
    if cuda:
        measured["peak_allocated_bytes"] = torch.cuda.max_memory_allocated()
        measured["peak_reserved_bytes"] = torch.cuda.max_memory_reserved()


def main():
    trial = json.loads(sys.stdin.readline())
    if trial["protocol"] != 1:
        sys.exit(f"trial protocol {trial['protocol']} is not known here")
    spec = trial["spec"]
    measured, steps = {}, {"warmup_steps": spec.get("warmup_steps", 5), "time_s": [], "loss": []}
    tell("hello", protocol=1, software={"program": "compiled_runtime 1", "torch_version": torch.__version__}, execution="compiled")
    if spec.get("precision", "fp32") != "fp32" or spec.get("data", "synthetic") != "synthetic":
        evidence = {"phase": "setup", "reason": "unsupported", "message": "compiled_runtime trains fp32 on synthetic data alone"}
        return tell("skipped", evidence=evidence, measured=measured, steps=steps)
    tell("phase", phase="setup")
    torch.manual_seed(trial["seed"])
    try:
        device = open_device(trial["device"])
        tell("phase", phase="warmup")
        train(spec, device, measured, steps)
    except torch.OutOfMemoryError as error:
        return tell("out_of_memory", evidence={"phase": "timed", "message": str(error)}, measured=measured, steps=steps)
    except Exception as error:
        return tell("failed", evidence={"phase": "setup", "reason": "exception", "message": str(error)}, measured=measured, steps=steps)
    tell("phase", phase="teardown")
    tell("result", measured=measured, steps=steps)


if __name__ == "__main__":
    main()
