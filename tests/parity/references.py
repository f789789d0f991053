# SPDX-License-Identifier: Apache-2.0
"""The published models, as PyTorch's own libraries build them, and the one batch on which each is compared with ours.

A Reference knows how to build its model, what to feed it, and how it computes the loss. Sizes are the smallest that still show a wrong
axis (images are not square where the network allows that) and give batch normalisation several values."""
import dataclasses
import math
from typing import Any, Callable

import torch
from torch import nn
from torch.nn import functional as F

IGNORED = -100


@dataclasses.dataclass
class Reference:
    name: str                                  # of the test: the model, and its head where that is not the first
    spec: dict[str, Any]                       # ours: members of sweeps::TrialSpec that are not at their default
    build: Callable[[], nn.Module]             # at the sizes of `spec`
    build_default: Callable[[], nn.Module]     # as the table of models has it
    batch: Callable[[], dict[str, torch.Tensor]]
    default_input: Callable[[int], tuple]      # of one sample at the default sizes; the argument is the side of images
    run: Callable                              # (model, batch) -> output, loss; the loss is None in evaluation
    own_dropout: bool = False                  # compared with the published dropout as well


# --- images


def images(batch, height, width, classes, channels=3):
    return {"input": torch.randn(batch, channels, height, width), "target": torch.randint(classes, (batch,))}


def classify(model, batch):
    output = model(batch["input"])
    return output, F.cross_entropy(output, batch["target"]) if model.training else None


def classify_with_auxiliary(model, batch):
    if not model.training:
        return model(batch["input"]), None
    output, auxiliary = model(batch["input"])
    return output, F.cross_entropy(output, batch["target"]) + 0.4 * F.cross_entropy(auxiliary, batch["target"])


def segment(model, batch):
    outputs = model(batch["input"])
    if not model.training:
        return outputs["out"], None
    return outputs["out"], F.cross_entropy(outputs["out"], batch["target"]) + 0.5 * F.cross_entropy(outputs["aux"], batch["target"])


def pixels(batch, height, width):
    target = torch.randint(21, (batch, height, width))
    target[:, :2] = IGNORED
    return {"input": torch.randn(batch, 3, height, width), "target": target}


def torchvision_model(name, height, width, batch=2, run=classify, own_dropout=False, **options):
    import torchvision

    def build(**more):
        return getattr(torchvision.models, name)(weights=None, **options, **more)

    sized = name.startswith("vit")
    return Reference(name, {"model": name, "batch_size": batch, "image_height": height, "image_width": width},
                     lambda: build(image_size=height) if sized else build(), build,
                     lambda: images(batch, height, width, 1000), lambda side: (torch.empty(1, 3, side, side),), run, own_dropout)


def deeplab(name, batch, height, width):
    from torchvision.models import segmentation

    def build():
        return getattr(segmentation, name)(weights=None, weights_backbone=None, num_classes=21, aux_loss=True)

    return Reference(name, {"model": name, "batch_size": batch, "image_height": height, "image_width": width}, build, build,
                     lambda: pixels(batch, height, width), lambda side: (torch.empty(1, 3, side, side),), segment, True)


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 6, 5, padding=2), nn.Conv2d(6, 16, 5)
        self.fc1, self.fc2, self.fc3 = nn.Linear(400, 120), nn.Linear(120, 84), nn.Linear(84, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2).flatten(1)
        return self.fc3(F.relu(self.fc2(F.relu(self.fc1(x)))))


# --- language


def hugging_face(model, batch):
    output = model(batch["input"], labels=batch["labels"] if model.training else None)
    return output.logits, output.loss


def answer(model, batch):
    ends = {"start_positions": batch["target"][:, 0], "end_positions": batch["target"][:, 1]} if model.training else {}
    output = model(batch["input"], **ends)
    return torch.stack([output.start_logits, output.end_logits], -1), output.loss


def tokens(batch, length, vocabulary):
    drawn = torch.randint(1, vocabulary, (batch, length))
    drawn[0, 3] = 0  # BERT's padding token, whose row gets no gradient from the input
    return drawn


def masked(batch, length, vocabulary):
    true = tokens(batch, length, vocabulary)
    hidden = torch.arange(batch * length).view(batch, length) % 5 == 0
    target = torch.where(hidden, true, IGNORED)
    return {"input": torch.where(hidden, 103, true), "target": target, "labels": target}


def next_token(batch, length, vocabulary):
    drawn = tokens(batch, length, vocabulary)
    target = torch.full_like(drawn, IGNORED)
    target[:, :-1] = drawn[:, 1:]
    return {"input": drawn, "target": target, "labels": drawn}  # Hugging Face moves the labels itself


SIZES = {"bert-tiny": (2, 128, 2, 512), "bert-base-uncased": (12, 768, 12, 3072), "bert-large-uncased": (24, 1024, 16, 4096)}


def bert(name, head, batch, length):
    import transformers
    layers, hidden, heads, intermediate = SIZES[name]
    config = transformers.BertConfig(num_hidden_layers=layers, hidden_size=hidden, num_attention_heads=heads,
                                     intermediate_size=intermediate, num_labels=2)
    kind, run = {"mlm": ("MaskedLM", hugging_face), "classify": ("SequenceClassification", hugging_face),
                 "qa": ("QuestionAnswering", answer)}[head]

    def build():
        return getattr(transformers, f"BertFor{kind}")(config)

    def draw():
        if head == "mlm":
            return masked(batch, length, 30522)
        drawn = {"input": tokens(batch, length, 30522)}
        drawn["target"] = torch.randint(length, (batch, 2)) if head == "qa" else torch.arange(batch) % 2
        return {**drawn, "labels": drawn["target"]}

    return Reference(name if head == "mlm" else f"{name}-{head}",
                     {"model": name, "model_head": "" if head == "mlm" else head, "batch_size": batch, "sequence_length": length},
                     build, build, draw, lambda side: (torch.zeros(1, 128, dtype=torch.long),), run, name == "bert-tiny" or head == "mlm")


def gpt2(name, layers, hidden, heads, batch, length):
    import transformers
    config = transformers.GPT2Config(n_layer=layers, n_embd=hidden, n_head=heads, use_cache=False)

    def build():
        return transformers.GPT2LMHeadModel(config)

    def default_input(side):  # a mask of our own: Hugging Face looks into positions to make one, which have no values when counted
        return torch.zeros(1, 128, dtype=torch.long), None, torch.zeros(1, 1, 128, 128)

    return Reference(name, {"model": name, "batch_size": batch, "sequence_length": length}, build, build,
                     lambda: next_token(batch, length, 50257), default_input, hugging_face,
                     name == "gpt2")


class Translator(nn.Module):
    """The "big" model of "Attention is all you need" from torch.nn's layers, without their final norms."""

    VOCABULARY, WIDTH = 37000, 1024

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(self.VOCABULARY, self.WIDTH)
        nn.init.normal_(self.embedding.weight, 0, self.WIDTH**-0.5)
        sizes = {"d_model": self.WIDTH, "nhead": 16, "dim_feedforward": 4096, "dropout": 0.3, "batch_first": True}
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(**sizes), 6, enable_nested_tensor=False)
        self.decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(**sizes), 6)
        self.dropout = nn.Dropout(0.3)

    def embedded(self, words):
        place = torch.arange(words.shape[1], device=words.device, dtype=torch.float32)
        angles = place[:, None] / 10000 ** (torch.arange(0, self.WIDTH, 2, device=words.device) / self.WIDTH)
        positions = torch.zeros(words.shape[1], self.WIDTH, device=words.device)
        positions[:, 0::2], positions[:, 1::2] = angles.sin(), angles.cos()
        return self.dropout(self.embedding(words) * math.sqrt(self.WIDTH) + positions)

    def forward(self, source, target):
        seen = F.pad(target[:, :-1], (1, 0))  # behind token 0
        later = nn.Transformer.generate_square_subsequent_mask(target.shape[1], device=target.device)
        memory = self.encoder(self.embedded(source))
        return self.decoder(self.embedded(seen), memory, tgt_mask=later, tgt_is_causal=True) @ self.embedding.weight.T


def translate(model, batch):
    output = model(batch["input"], batch["target"])
    loss = F.cross_entropy(output.flatten(0, 1), batch["target"].flatten(), label_smoothing=0.1)
    return output, loss if model.training else None


def translator(batch, length):
    def draw():
        return {"input": torch.randint(1, Translator.VOCABULARY, (batch, length)),
                "target": torch.randint(1, Translator.VOCABULARY, (batch, length))}

    def default_input(side):
        return torch.zeros(1, 128, dtype=torch.long), torch.zeros(1, 128, dtype=torch.long)

    return Reference("transformer_big", {"model": "transformer_big", "batch_size": batch, "sequence_length": length},
                     Translator, Translator, draw, default_input, translate)


def lenet():
    return Reference("lenet", {"model": "lenet", "batch_size": 2, "image_height": 28, "image_width": 28}, LeNet, LeNet,
                     lambda: images(2, 28, 28, 10, channels=1), lambda side: (torch.empty(1, 1, side, side),), classify)


# By test; in the order of batchsweep models.
REFERENCES = {
    **{name: lambda name=name: torchvision_model(name, 64, 96)
       for name in ("resnet18", "resnet34", "resnet50", "resnet101", "resnet152")},
    "vgg16": lambda: torchvision_model("vgg16", 64, 96, own_dropout=True),
    "inception_v3": lambda: torchvision_model("inception_v3", 299, 331, batch=4, run=classify_with_auxiliary,
                                              own_dropout=True, aux_logits=True, init_weights=True, transform_input=False),
    "densenet121": lambda: torchvision_model("densenet121", 64, 96),
    "vit_b_16": lambda: torchvision_model("vit_b_16", 64, 64),
    "vit_l_16": lambda: torchvision_model("vit_l_16", 64, 64),
    "deeplabv3_resnet50": lambda: deeplab("deeplabv3_resnet50", 4, 48, 64),
    "deeplabv3_resnet101": lambda: deeplab("deeplabv3_resnet101", 4, 48, 64),
    "lenet": lenet,
    "bert-tiny": lambda: bert("bert-tiny", "mlm", 2, 16),
    "bert-tiny-classify": lambda: bert("bert-tiny", "classify", 2, 16),
    "bert-tiny-qa": lambda: bert("bert-tiny", "qa", 2, 16),
    "bert-base-uncased": lambda: bert("bert-base-uncased", "mlm", 2, 16),
    "bert-base-uncased-classify": lambda: bert("bert-base-uncased", "classify", 2, 16),
    "bert-base-uncased-qa": lambda: bert("bert-base-uncased", "qa", 2, 16),
    "bert-large-uncased": lambda: bert("bert-large-uncased", "mlm", 2, 16),
    "bert-large-uncased-classify": lambda: bert("bert-large-uncased", "classify", 2, 16),
    "bert-large-uncased-qa": lambda: bert("bert-large-uncased", "qa", 2, 16),
    "gpt2": lambda: gpt2("gpt2", 12, 768, 12, 2, 16),
    "gpt2-medium": lambda: gpt2("gpt2-medium", 24, 1024, 16, 2, 16),
    "gpt2-large": lambda: gpt2("gpt2-large", 36, 1280, 20, 2, 16),
    "transformer_big": lambda: translator(2, 16),
}


# --- weights


def make_uneven(model):
    """What initialisation leaves at 0 or 1 hides mistakes: a forgotten bias, an affine factor at the wrong place."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() == 1 and name.endswith("weight"):
                parameter.mul_(1 + 0.2 * torch.randn_like(parameter))
            elif parameter.dim() == 1 or not parameter.any():
                parameter.add_(0.05 * torch.randn_like(parameter))


def run_in_norms(model, batch, run):
    """Gives batch normalisation the moments of one other batch, as a trained network has them."""
    norms = [module for module in model.modules() if isinstance(module, nn.BatchNorm2d)]
    if not norms:
        return
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None
    model.train()
    with torch.no_grad():
        run(model, batch)
    for norm in norms:
        norm.momentum = 0.1


def make_model(reference, seed=1):
    torch.manual_seed(seed)
    model = reference.build()
    make_uneven(model)
    run_in_norms(model, reference.batch(), reference.run)
    return model


def set_dropout(model, own):
    """Off, or as published: what each module had is kept in it."""
    for module in model.modules():
        for kind, member in ((nn.Dropout, "p"), (nn.MultiheadAttention, "dropout")):
            if isinstance(module, kind):
                if not hasattr(module, "published"):
                    module.published = getattr(module, member)
                setattr(module, member, module.published if own else 0.0)


def weights_of(model):
    """For a safetensors file: tensors that share their memory (tied weights) once, under their first name."""
    seen, weights = set(), {}
    for name, tensor in model.state_dict().items():
        if tensor.data_ptr() not in seen or tensor.numel() == 0:
            weights[name] = tensor.detach().contiguous()
        seen.add(tensor.data_ptr())
    return weights
