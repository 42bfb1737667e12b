# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small modules whose parameters exporters are likely to mistake for others: shared on purpose, equal at the start, zero, frozen, or used where parameters
rarely are."""
import torch
from torch import nn

from cases import CLASSES, Case, classes

WIDTH = 8


class Siamese(nn.Module):
    """Runs two branches with the same network, which has a layer norm."""

    def __init__(self):
        super().__init__()
        self.branch, self.norm, self.head = nn.Linear(WIDTH, WIDTH), nn.LayerNorm(WIDTH), nn.Linear(2 * WIDTH, CLASSES)

    def forward(self, x):
        return self.head(torch.cat([self.norm(self.branch(x).tanh()), self.norm(self.branch(x.flip(1)).tanh())], 1))


class TiedLinears(nn.Module):
    """Has two modules that share one weight; each has a bias of its own, and both are zero."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.head = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, CLASSES)
        self.second.weight = self.first.weight
        for linear in (self.first, self.second):
            nn.init.zeros_(linear.bias)

    def forward(self, x):
        return self.head(self.second(self.first(x).tanh()).tanh())


class Adapters(nn.Module):
    """LoRA (Hu et al. 2021): a frozen weight and two low-rank terms that start from zero."""

    def __init__(self):
        super().__init__()
        self.base, self.head = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, CLASSES)
        self.down = nn.ParameterList(nn.Parameter(torch.randn(2, WIDTH) / 3) for _ in range(2))
        self.up = nn.ParameterList(nn.Parameter(torch.zeros(WIDTH, 2)) for _ in range(2))

    def forward(self, x):
        for down, up in zip(self.down, self.up):
            x = x + (self.base(x) + x @ down.t() @ up.t()).tanh()
        return self.head(x)


class Tokens(nn.Module):
    """Puts a class token and a distillation token, both zero, before the sequence (DeiT)."""

    def __init__(self):
        super().__init__()
        self.class_token, self.distillation = (nn.Parameter(torch.zeros(1, 1, WIDTH)) for _ in range(2))
        self.embed, self.heads = nn.Linear(1, WIDTH), nn.ModuleList(nn.Linear(WIDTH, CLASSES) for _ in range(2))

    def forward(self, x):
        x = torch.cat([token.expand(len(x), -1, -1) for token in (self.class_token, self.distillation)] + [self.embed(x.unsqueeze(2))], 1)
        x = (x - x.mean(1, keepdim=True)).tanh()
        return self.heads[0](x[:, 0]) + self.heads[1](x[:, 1])


class Gates(nn.Module):
    """Has learned numbers: a temperature of 1, gates of 0 and of 1, and a sum with a factor."""

    def __init__(self):
        super().__init__()
        self.layers, self.head = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(2)), nn.Linear(WIDTH, CLASSES)
        self.temperature, self.scale = nn.Parameter(torch.tensor(1.0)), nn.Parameter(torch.ones(WIDTH))
        self.shift, self.more = nn.Parameter(torch.zeros(WIDTH)), nn.Parameter(torch.zeros(WIDTH))

    def forward(self, x):
        x = self.layers[0](x).tanh() * self.scale + torch.add(self.shift, self.more, alpha=2)
        return self.head(self.layers[1](x).tanh()) * self.temperature


class WeightNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.utils.parametrizations.weight_norm(nn.Linear(WIDTH, WIDTH)), nn.Linear(WIDTH, CLASSES)

    def forward(self, x):
        return self.head(self.body(x).tanh())


class Named(nn.Module):
    """Has names as in ModuleDicts of language models, and fresh norms in each block."""

    def __init__(self):
        super().__init__()
        blocks = nn.ModuleList(nn.ModuleDict({"ln_1": nn.LayerNorm(WIDTH), "proj": nn.Linear(WIDTH, WIDTH), "it's": nn.PReLU(WIDTH)}) for _ in range(2))
        self.transformer = nn.ModuleDict({"h": blocks, "ln_f": nn.LayerNorm(WIDTH)})
        self.head = nn.Linear(WIDTH, CLASSES, bias=False)

    def forward(self, x):
        for block in self.transformer["h"]:
            x = x + block["it's"](block["proj"](block["ln_1"](x)))
        return self.head(self.transformer["ln_f"](x))


class SharedNorm(nn.Module):
    """Calls one batch norm twice."""

    def __init__(self):
        super().__init__()
        self.norm, self.layers, self.head = nn.BatchNorm1d(WIDTH), nn.ModuleList(nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(2)), nn.Linear(WIDTH, CLASSES)

    def forward(self, x):
        for layer in self.layers:
            x = self.norm(layer(x)).tanh()
        return self.head(x)


def _case(module):
    return lambda: Case(module, {"x": torch.randn(4, WIDTH)}, classes(4))


NETWORKS = {module.__name__: _case(module) for module in (Siamese, TiedLinears, Adapters, Tokens, Gates, WeightNorm, Named, SharedNorm)}
