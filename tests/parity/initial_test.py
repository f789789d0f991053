#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Weights start from the reference's distributions: every parameter of one model a family, drawn by both sides from seeds of their own.

Constants are equal; of drawn numbers mean, deviation and 99th percentile agree as far as their number allows."""
import math

import harness
import references
import torch

MODELS = ["resnet18", "resnet50", "vgg16", "inception_v3", "densenet121", "vit_b_16", "deeplabv3_resnet50", "lenet", "bert-base-uncased",
          "bert-tiny-classify", "bert-tiny-qa", "gpt2"]
SIGMAS = 6      # of the sampling error
ENOUGH = 1000   # numbers, so that the percentile tells a uniform distribution from a normal one
FAR_APART = 0.5  # in deviations: it is 1.71 of a uniform one, 2.58 of a normal one


def problem(ours, values):
    """What differs, or nothing."""
    count, mean, deviation = values.numel(), values.mean().item(), values.std(correction=0).item()
    if deviation == 0:
        same = ours["deviation"] == 0 and ours["mean"] == mean
        return "" if same else f"{ours['mean']:.3g} +- {ours['deviation']:.3g}, PyTorch has {mean:.3g} throughout"
    if abs(ours["mean"] - mean) > SIGMAS * deviation * math.sqrt(2 / count):
        return f"mean {ours['mean']:.3g}, PyTorch's {mean:.3g}"
    if abs(ours["deviation"] - deviation) > SIGMAS * deviation / math.sqrt(count):
        return f"deviation {ours['deviation']:.3g}, PyTorch's {deviation:.3g}"
    far = values.abs().flatten().kthvalue(1 + (count - 1) * 99 // 100).values.item()
    apart = abs(ours["far"] / ours["deviation"] - far / deviation)
    if count >= ENOUGH and apart > FAR_APART:
        return f"another distribution: the 99th percentiles are {apart:.2f} deviations apart"
    return ""


def main():
    problems = []
    for name in MODELS:
        reference = references.REFERENCES[name]()
        with harness.Folder() as folder:
            ours = harness.ours(folder, {"spec": reference.spec, "initial": True})[0]["initial"]
        torch.manual_seed(2)
        for parameter, values in reference.build_default().named_parameters():
            found = problem(ours[parameter], values.detach().double())
            if found:
                problems.append(f"{name}: {parameter}: {found}")
        print(name, len(ours), "parameters", flush=True)
    harness.finish(problems)


if __name__ == "__main__":
    main()
