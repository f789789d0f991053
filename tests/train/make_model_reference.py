#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes model_reference.json: what torchvision and Hugging Face say about the models that batchsweep builds too.

    pip install torch==2.11.0 torchvision==0.26.0 transformers==5.24.0
    tests/train/make_model_reference.py > tests/train/model_reference.json

Names, shapes, and one training pass (loss, scores, norm of each gradient) with weights and inputs that anybody can make again:
element i of tensor T is 0.05 sin(0.7 i + crc32(name of T) mod 1000), plus 1 for the weights of normalisations (1-d).
models_match_reference_test.cpp compares ours with it. lenet has no outside reference beyond its published layers.
"""

import json
import re
import sys
import zlib

import torch
import torchvision
import transformers


def wave(name, shape):
    count = torch.Size(shape).numel()
    phase = zlib.crc32(name.encode()) % 1000
    values = 0.05 * torch.sin(0.7 * torch.arange(count, dtype=torch.float64) + phase)
    return values.to(torch.float32).view(shape)


def set_weights(model):
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            values = wave(name, parameter.shape)
            if parameter.dim() == 1 and name.endswith("weight"):
                values += 1
            parameter.copy_(values)


def describe(model, scores_of, inputs, targets):
    set_weights(model)
    model.train()
    buffers = [n for n, b in model.named_buffers() if not n.endswith(("position_ids", "token_type_ids"))]
    scores = scores_of(model, inputs)
    loss = torch.nn.functional.cross_entropy(scores.flatten(0, -2), targets.flatten(), ignore_index=-100)
    loss.backward()
    return {
        "parameters": [[n, list(p.shape)] for n, p in model.named_parameters()],
        "buffers": [[n, list(dict(model.named_buffers())[n].shape)] for n in buffers],
        "num_parameters": sum(p.numel() for p in model.parameters()),
        "loss": loss.item(),
        "scores": scores.detach().flatten(0, -2)[:, :5].flatten().tolist(),
        "gradient_norms": {n: p.grad.double().norm().item() for n, p in model.named_parameters()},
    }


def resnet18():
    images = 20 * wave("images", (4, 3, 64, 64))
    targets = torch.arange(4) * 3
    return describe(torchvision.models.resnet18(num_classes=10), lambda m, x: m(x), images, targets)


def bert_tiny():
    config = transformers.BertConfig(
        hidden_size=128, num_hidden_layers=2, num_attention_heads=2, intermediate_size=512,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    tokens = torch.arange(2 * 16).view(2, 16) * 31 + 1000
    targets = torch.where(torch.arange(32).view(2, 16) % 5 == 0, tokens, -100)
    return describe(transformers.BertForMaskedLM(config), lambda m, x: m(x).logits, tokens, targets)


torch.set_num_threads(1)
reference = {
    "made_with": ["torch " + torch.__version__, "torchvision " + torchvision.__version__, "transformers " + transformers.__version__],
    "resnet18": resnet18(),
    "bert-tiny": bert_tiny(),
}
# A line for every model and part, so that a change shows where it is.
for model, parts in list(reference.items())[1:]:
    reference[model] = {part: json.dumps(value) for part, value in parts.items()}
text = json.dumps(reference, indent=1)
sys.stdout.write(re.sub(r'"([\[{\d].*)"(,?)$', lambda m: json.loads('"' + m[1] + '"') + m[2], text, flags=re.M) + "\n")
