# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Computes the loss and the gradients of one step in torch, and how far other results may be from them."""
import copy
import itertools

import torch
from torch.overrides import TorchFunctionMode

LOSS = 1e-5      # relative: a step sums some thousand float32 numbers, whose rounding is 6e-8 each
GRADIENT = 1e-4  # relative to the norm of a parameter's gradient
OF_TORCH = 3     # or as many times as far from float64 as torch's own float32 is
# A pre-activation smaller than this, relative to the root mean square of its tensor, may have either sign in float32.
NEARLY_ZERO = 1e-5


class Relus(TorchFunctionMode):
    """Sees all pre-activations of ReLUs and can flip the sign of chosen ones."""

    def __init__(self, flipped=()):
        super().__init__()
        self.flipped, self.calls, self.close = set(flipped), 0, []

    def __torch_function__(self, function, types, arguments=(), keywords=None):
        if getattr(function, "__name__", "") not in ("relu", "relu_"):
            return function(*arguments, **(keywords or {}))
        x, call = arguments[0], self.calls
        self.calls += 1
        values = x.detach()
        limit = NEARLY_ZERO * values.square().mean().sqrt()
        self.close += [(call, tuple(at), float(values[tuple(at)])) for at in (values.abs() < limit).nonzero().tolist()]
        positive = values > 0
        for where, at in self.flipped:
            if where == call:
                positive[at] = ~positive[at]
        return x * positive


def step(case, module, dtype, relus=None):
    """Returns (loss, {name: gradient as float64}) of a copy of the module. A parameter that the loss does not depend on has no gradient."""
    module = copy.deepcopy(module).to(dtype)
    inputs = {name: value.to(dtype) if value.is_floating_point() else value for name, value in case.inputs.items()}
    with relus or torch.enable_grad():
        loss = case.loss(module, inputs, case.labels)
    loss.backward()
    return loss.item(), {name: p.grad.double() for name, p in module.named_parameters() if p.grad is not None}


class Reference:
    def __init__(self, case, module):
        self.case, self.module = case, module
        self.relus = Relus()
        self.loss, self.gradients = step(case, module, torch.float64, self.relus)
        self.loss32, self.gradients32 = step(case, module, torch.float32)
        self.norm = torch.stack([g.norm() for g in self.gradients.values()]).norm().item()
        self.floor = 1e-8 * self.norm / GRADIENT  # a smaller gradient counts as one of this norm
        self.names = {}  # each name of a parameter -> torch's first name
        first = {id(p): name for name, p in module.named_parameters()}
        for name, p in module.named_parameters(remove_duplicate=False):
            self.names[name] = first[id(p)]

    def distances(self, gradients, truth):
        """Returns {name: (distance, its bound)} of the parameters in both. Distances are relative to the norm of the parameter's gradient. A norm below 1e-8 of
        all gradients' norm counts as zero (a bias before a batch norm, or of attention's keys)."""
        result = {}
        for name, true in truth.items():
            if name not in gradients:
                continue
            norm = max(true.norm().item(), self.floor)
            own = (self.gradients32[name] - self.gradients[name]).norm().item() / norm
            result[name] = ((gradients[name] - true).norm().item() / norm, max(GRADIENT, OF_TORCH * own))
        return result

    def too_far(self, gradients, truth=None):
        return {name: d for name, d in self.distances(gradients, truth or self.gradients).items() if not d[0] <= d[1]}

    def other_sides(self, gradients):
        """Returns the pre-activations next to zero whose other sign explains gradients that are too far, as (ReLU, index, value), or [] when none does."""
        close = self.relus.close[:8]
        for count in range(1, len(close) + 1):
            for chosen in itertools.combinations(close, count):
                _, truth = step(self.case, self.module, torch.float64, Relus([(call, at) for call, at, _ in chosen]))
                if not self.too_far(gradients, truth):
                    return list(chosen)
        return []
