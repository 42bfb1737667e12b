#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exports the networks whose transposes are counted, at the sizes of the papers but with two layers of each transformer.

usage: networks.py FOLDER [NAME ...]
It needs torch, torchvision and transformers; tools/torch/export.py writes the files.
"""
import os
import sys

import torch
import torchvision
import transformers
from torch import nn

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "torch"))
from export import export  # noqa: E402


class Last(nn.Module):
    """Runs a channels-first module on channels-last values, as exporters of channels-last frameworks write it: a transpose before and one behind."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, x):
        return self.module(x.permute(0, 3, 1, 2)).permute(0, 2, 3, 1)


def channels_last(module):
    """Wraps all convolutions, batch norms and poolings of a network whose other modules work on elements."""
    for name, child in module.named_children():
        if isinstance(child, (nn.Conv2d, nn.BatchNorm2d, nn.MaxPool2d, nn.AdaptiveAvgPool2d)):
            setattr(module, name, Last(child))
        else:
            channels_last(child)
    return module


class Mixer(nn.Module):
    """Two layers of an MLP-mixer (Tolstikhin et al. 2021): products over the tokens, between transposes, and products over the channels."""

    def __init__(self, tokens=196, channels=512):
        super().__init__()
        self.patches = nn.Conv2d(3, channels, 16, 16)
        self.norms = nn.ModuleList(nn.LayerNorm(channels) for _ in range(4))
        self.tokens = nn.ModuleList(nn.Sequential(nn.Linear(tokens, 256), nn.GELU(), nn.Linear(256, tokens)) for _ in range(2))
        self.channels = nn.ModuleList(nn.Sequential(nn.Linear(channels, 2048), nn.GELU(), nn.Linear(2048, channels)) for _ in range(2))
        self.head = nn.Linear(channels, 1000)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        for i in range(2):
            x = x + self.tokens[i](self.norms[2 * i](x).transpose(1, 2)).transpose(1, 2)
            x = x + self.channels[i](self.norms[2 * i + 1](x))
        return self.head(x.mean(1))


class Head(nn.Module):
    """Gives scores for each sample from a transformer's hidden states."""

    def __init__(self, network, hidden, classes=10):
        super().__init__()
        self.network, self.head = network, nn.Linear(hidden, classes)

    def forward(self, x):
        return self.head(self.network(x).last_hidden_state.mean(1))


class Tokens(nn.Module):
    """Gives the scores of a language model and nothing else."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, x):
        return self.network(x, use_cache=False).logits


PICTURE = {"x": torch.randn(2, 3, 224, 224)}
TOKENS = {"x": torch.zeros(2, 128, dtype=torch.int64)}


NETWORKS = {
    "vit": lambda: (torchvision.models.VisionTransformer(224, 16, 2, 12, 768, 3072), PICTURE),
    "gpt2": lambda: (Tokens(transformers.GPT2LMHeadModel(transformers.GPT2Config(n_layer=2, attn_implementation="eager"))), TOKENS),
    "bert": lambda: (Head(transformers.BertModel(transformers.BertConfig(num_hidden_layers=2, attn_implementation="eager"), add_pooling_layer=False), 768), TOKENS),
    "swin": lambda: (torchvision.models.swin_transformer.SwinTransformer([4, 4], 96, [2, 2], [3, 6], [7, 7]), PICTURE),
    "mixer": lambda: (Mixer(), PICTURE),
    "convnext": lambda: (torchvision.models.convnext_tiny(), PICTURE),
    "wav2vec2": lambda: (Head(transformers.Wav2Vec2Model(transformers.Wav2Vec2Config(num_hidden_layers=2, attn_implementation="eager", mask_time_prob=0.0, layerdrop=0.0)), 768),
                         {"x": torch.randn(2, 16000)}),
    "resnet50": lambda: (torchvision.models.resnet50(), PICTURE),
    "resnet50-last": lambda: (channels_last(torchvision.models.resnet50()), {"x": torch.randn(2, 224, 224, 3)}),
    "mobilenet-v2": lambda: (torchvision.models.mobilenet_v2(), PICTURE),
    "shufflenet": lambda: (torchvision.models.shufflenet_v2_x1_0(), PICTURE),
}


def main():
    folder, names = sys.argv[1], sys.argv[2:] or list(NETWORKS)
    os.makedirs(folder, exist_ok=True)
    for name in names:
        network, inputs = NETWORKS[name]()
        export(network, inputs, os.path.join(folder, name + ".onnx"), outputs=["logits"])
        print(name, flush=True)


if __name__ == "__main__":
    main()
