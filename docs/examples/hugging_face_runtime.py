#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A [[runtime]]: trains any masked-language model of Hugging Face, if asked for under torch.compile, as a trial of batchsweep.

    [[runtime]]
    name = "hugging-face"
    command = ["python3", "docs/examples/hugging_face_runtime.py"]      # and "--compile"

    [[grid]]
    model = "distilbert"          # a model_type of transformers, at its default configuration
    runtime = "hugging-face"
    batch_size = [8, 16]

One line of JSON comes in, one line an event goes out: docs/trial_protocol.md says all of it.
"""

import json
import os
import sys
import time

import torch
import transformers

COMPILE = "--compile" in sys.argv[1:]
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
    config = transformers.AutoConfig.for_model(spec["model"])
    model = transformers.AutoModelForMaskedLM.from_config(config).to(device)
    measured["num_parameters"] = sum(p.numel() for p in model.parameters())
    optimizer = torch.optim.AdamW(model.parameters(), lr=spec.get("learning_rate", 1e-4), fused=True)
    forward = torch.compile(model) if COMPILE else model
    batch, timed = spec["batch_size"], spec.get("timed_steps", 20)
    tokens = torch.randint(config.vocab_size, (batch, spec.get("sequence_length", 128)), device=device)
    for number in range(1, steps["warmup_steps"] + timed + 1):
        if number == steps["warmup_steps"] + 1:
            tell("phase", phase="timed")
            opened = time.perf_counter()
        began = time.perf_counter()
        optimizer.zero_grad()
        loss = forward(input_ids=tokens, labels=tokens).loss
        loss.backward()
        optimizer.step()
        value = loss.item()  # waits for the device
        steps["time_s"].append(time.perf_counter() - began)
        steps["loss"].append(value)
        tell("step", step=number, time_s=steps["time_s"][-1], loss=value)
    measured |= {"window_s": time.perf_counter() - opened, "samples": batch * timed, "tokens": tokens.numel() * timed,
                 "loss_first": steps["loss"][0], "loss_last": steps["loss"][-1]}
    if device.type == "cuda":
        measured["peak_allocated_bytes"] = torch.cuda.max_memory_allocated()
        measured["peak_reserved_bytes"] = torch.cuda.max_memory_reserved()


def main():
    trial = json.loads(sys.stdin.readline())
    if trial["protocol"] != 1:
        sys.exit(f"trial protocol {trial['protocol']} is not known here")
    spec = trial["spec"]
    measured, steps = {}, {"warmup_steps": spec.get("warmup_steps", 5), "time_s": [], "loss": []}
    tell("hello", protocol=1, execution="compiled" if COMPILE else "eager",
         software={"program": f"hugging_face_runtime, transformers {transformers.__version__}", "torch_version": torch.__version__})

    def end(event, phase, **evidence):
        tell(event, evidence={"phase": phase, **evidence}, measured=measured, steps=steps)

    tell("phase", phase="setup")
    if spec.get("precision", "fp32") != "fp32" or spec.get("data", "synthetic") != "synthetic" or spec.get("world_size", 1) > 1:
        return end("skipped", "setup", reason="unsupported", message="this runtime trains fp32 on synthetic tokens on one device alone")
    torch.manual_seed(trial["seed"])
    try:
        device = open_device(trial["device"])
        tell("phase", phase="warmup")
        train(spec, device, measured, steps)
    except torch.OutOfMemoryError as error:
        return end("out_of_memory", "warmup", message=str(error))
    except Exception as error:
        return end("failed", "warmup", reason="exception", message=str(error))
    tell("phase", phase="teardown")
    tell("result", measured=measured, steps=steps)


if __name__ == "__main__":
    main()
