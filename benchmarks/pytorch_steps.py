# SPDX-License-Identifier: Apache-2.0
"""PyTorch's side of against_pytorch.py: the same training as a good user writes it (eager mode, fused optimizer, gradients given back), on
data that lies in memory. Each line of its input asks for a step, whose time it prints; at the end of the input it prints the counted peak
and the last loss as JSON.

pytorch_steps.py JSON ALLOCATOR"""
import contextlib
import ctypes
import json
import sys
import time

import torch


def make(spec):
    """Model, a function batch -> loss, and one batch."""
    name, batch = spec["model"], spec["batch_size"]
    if name.startswith("bert"):
        import transformers
        model = transformers.BertForMaskedLM(transformers.BertConfig())
        tokens = torch.randint(1000, 30522, (batch, spec["sequence_length"]))
        hidden = torch.rand(tokens.shape) < 0.15
        labels = torch.where(hidden, tokens, -100)
        return model, lambda b: model(b[0], labels=b[1]).loss, (torch.where(hidden, 103, tokens), labels)
    if name == "gpt2":
        import transformers
        model = transformers.GPT2LMHeadModel(transformers.GPT2Config(use_cache=False))
        tokens = torch.randint(50257, (batch, spec["sequence_length"]))
        return model, lambda b: model(b[0], labels=b[1]).loss, (tokens, tokens)
    import torchvision
    model = getattr(torchvision.models, name)(weights=None)
    size = spec.get("image_height", 224)
    images, classes = torch.randn(batch, 3, size, size), torch.randint(1000, (batch,))
    return model, lambda b: torch.nn.functional.cross_entropy(model(b[0]), b[1]), (images, classes)


def make_optimizer(name, parameters, rate):
    if name.startswith(("bert", "gpt")):
        return torch.optim.AdamW(parameters, rate, weight_decay=0.01, fused=True)
    return torch.optim.SGD(parameters, rate, momentum=0.9, fused=True)


def main(given, library):
    allocator = ctypes.CDLL(library)
    allocator.batchsweep_peak_bytes.restype = ctypes.c_double
    if given["counted"]:
        allocator.batchsweep_install_allocator()
    torch.set_num_threads(given["threads"])
    torch.set_num_interop_threads(1)
    torch.manual_seed(1)
    spec = given["spec"]
    model, loss_of, batch = make(spec)
    optimizer = make_optimizer(spec["model"], model.parameters(), spec["learning_rate"])
    lower = torch.autocast("cpu", torch.bfloat16) if spec.get("precision") == "bf16" else contextlib.nullcontext()
    for _ in sys.stdin:
        start = time.perf_counter()
        optimizer.zero_grad()
        with lower:
            loss = loss_of(batch)
        loss.backward()
        optimizer.step()
        value = loss.item()
        print(time.perf_counter() - start, flush=True)
    peak = allocator.batchsweep_peak_bytes() if given["counted"] else None
    print(json.dumps({"loss": value, "peak_bytes": peak}))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), sys.argv[2])
