#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes small networks whose training is more than their graph, and what PyTorch makes of them: test/e2e/Inputs/forms/.

usage: forms.py [--only TEXT] [--out FOLDER]      (by hand, with what requirements.txt lists; when these networks or tools/torch changed)
Gradients end inside them (detach, torch.no_grad), forward updates buffers, or a loss has options that torch's exporter drops. For each network there are
  NAME.onnx.xz      the file that tools/torch/export.py writes, with its values
  NAME.dynamo.onnx.xz  the file of torch.onnx.export(..., dynamo=True) with its optimizer, where that can be exported
  NAME.npz  the inputs of the step (input/), PyTorch's loss and gradients (grad/) of the first step, its losses over STEPS steps of SGD on the same batch (curve), the parameters
            and buffers behind them (state/), and the loss in eval mode behind them (eval); all in float64.
"""
import argparse
import copy
import lzma
import os
import sys

import numpy as np
import onnx
import torch
from torch import nn
from torch.nn import functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tools", "torch"))
import export  # noqa: E402

STEPS, RATE = 20, 0.05
STACK = "pkg.torch.onnx.stack_trace"  # mpc does not read it, and it holds paths


class Detached(nn.Module):
    """Trains a head on features that stay as they are."""

    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(6, 8), nn.Linear(8, 5)

    def forward(self, x):
        return self.head(torch.relu(self.body(x)).detach())


class StraightThrough(nn.Module):
    """Rounds weights to 4 bits and passes gradients straight through (Bengio et al. 2013)."""

    def __init__(self):
        super().__init__()
        self.weight, self.head = nn.Parameter(torch.randn(8, 6) * 0.4), nn.Linear(8, 5)

    def forward(self, x):
        step = self.weight.abs().max() / 7
        rounded = torch.clamp(torch.round(self.weight / step), -7, 7) * step
        return self.head(torch.relu(F.linear(x, self.weight + (rounded - self.weight).detach())))


class Vq(nn.Module):
    """Quantizes with a codebook that the loss trains (van den Oord et al. 2017)."""

    def __init__(self):
        super().__init__()
        self.encoder, self.decoder, self.codes = nn.Linear(6, 4), nn.Linear(4, 6), nn.Parameter(torch.randn(5, 4))

    def forward(self, x):
        z = self.encoder(x)
        nearest = (z.unsqueeze(1) - self.codes).square().sum(2).argmin(1)
        q = self.codes[nearest]
        loss = F.mse_loss(q, z.detach()) + 0.25 * F.mse_loss(z, q.detach())
        return loss + F.mse_loss(self.decoder(z + (q - z).detach()), x)


class Codebook(nn.Module):
    """Quantizes with a codebook that forward updates by moving averages (van den Oord et al. 2017, appendix A.1)."""

    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = nn.Linear(6, 4), nn.Linear(4, 6)
        self.register_buffer("codes", torch.randn(5, 4))
        self.register_buffer("counts", torch.ones(5))
        self.register_buffer("sums", self.codes.clone())

    def forward(self, x):
        z = self.encoder(x)
        with torch.no_grad():
            hit = F.one_hot((z.unsqueeze(1) - self.codes).square().sum(2).argmin(1), 5).to(z.dtype)
        q = hit @ self.codes
        if self.training:
            with torch.no_grad():
                self.counts.mul_(0.9).add_(hit.sum(0), alpha=0.1)
                self.sums.mul_(0.9).add_(hit.t() @ z, alpha=0.1)
                self.codes.copy_(self.sums / (self.counts + 1e-5).unsqueeze(1))
        return F.mse_loss(self.decoder(z + (q - z).detach()), x) + 0.25 * F.mse_loss(z, q)


class Teacher(nn.Module):
    """Follows a teacher that gets no gradient."""

    def __init__(self):
        super().__init__()
        self.student, self.teacher, self.head = nn.Linear(6, 8), nn.Linear(6, 8), nn.Linear(8, 8)

    def forward(self, x):
        with torch.no_grad():
            aim = F.normalize(torch.tanh(self.teacher(x)), dim=-1)
        return F.mse_loss(F.normalize(self.head(torch.tanh(self.student(x))), dim=-1), aim)


class SelfTeacher(nn.Module):
    """Follows itself under no_grad, with a part of that region under enable_grad (Chen and He 2021)."""

    def __init__(self):
        super().__init__()
        self.body, self.head, self.scale = nn.Linear(6, 8), nn.Linear(8, 8), nn.Parameter(torch.ones(8))

    @torch.no_grad()
    def aim(self, x):
        features = torch.tanh(self.body(x))
        with torch.enable_grad():
            return features * self.scale

    def forward(self, x):
        return F.mse_loss(self.head(torch.tanh(self.body(x))), self.aim(x.flip(1)))


class Spectral(nn.Module):
    """Normalizes weights by their largest singular value; the power iteration is under no_grad and updates buffers (Miyato et al. 2018)."""

    def __init__(self):
        super().__init__()
        norm = nn.utils.parametrizations.spectral_norm
        self.body, self.head = norm(nn.Linear(6, 8)), norm(nn.Linear(8, 5))

    def forward(self, x):
        return self.head(F.leaky_relu(self.body(x), 0.1))


class Average(nn.Module):
    """Divides by a moving average of its features, which forward updates."""

    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(6, 6), nn.Linear(6, 5)
        self.register_buffer("ema", torch.ones(6))

    def forward(self, x):
        h = self.body(x)
        if self.training:
            self.ema.copy_(0.5 * self.ema + 0.5 * h.detach().abs().mean(0))
        return self.head(torch.tanh(h / self.ema))


class Counter(nn.Module):
    """Scales by a power of the number of steps, which is an integer buffer."""

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(6, 5)
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))

    def forward(self, x):
        if self.training:
            self.steps.add_(1)
        return self.head(x * (1 + 0.9 ** self.steps.to(x.dtype)))


class Smoothed(nn.Module):
    """Computes a cross entropy with label smoothing, ignored labels and weights."""

    def __init__(self, reduction="mean"):
        super().__init__()
        self.head, self.reduction = nn.Linear(6, 5), reduction
        self.register_buffer("weights", torch.tensor([1.0, 0.5, 2.0, 1.5, 1.0]))

    def forward(self, x, labels):
        if self.reduction == "mean":
            return F.cross_entropy(self.head(x), labels, weight=self.weights, ignore_index=3, label_smoothing=0.1)
        cost = F.cross_entropy(self.head(x), labels, reduction=self.reduction, label_smoothing=0.1)
        return ((1 - torch.exp(-cost)) ** 2 * cost).mean()  # focal loss


def classified(make):
    return make, {"x": torch.randn(7, 6)}, {"labels": torch.randint(0, 5, (7,))}


def with_loss(make, labels=False):
    return make, {"x": torch.randn(7, 6), **({"labels": torch.tensor([0, 1, 2, 3, 4, 0, 1])} if labels else {})}, {}


FORMS = {
    "detached": lambda: classified(Detached), "straight_through": lambda: classified(StraightThrough), "vq": lambda: with_loss(Vq), "codebook": lambda: with_loss(Codebook),
    "teacher": lambda: with_loss(Teacher), "self_teacher": lambda: with_loss(SelfTeacher), "spectral": lambda: classified(Spectral), "average": lambda: classified(Average),
    "counter": lambda: classified(Counter), "smoothed": lambda: with_loss(Smoothed, True), "focal": lambda: with_loss(lambda: Smoothed("none"), True),
}


def loss_of(module, inputs, labels):
    result = module(**inputs)
    return F.cross_entropy(result, labels["labels"]) if labels else result


def reference(module, inputs, labels):
    """Returns the arrays of NAME.npz."""
    found = {f"input/{name}": value.numpy() for name, value in {**inputs, **labels}.items()}
    module = copy.deepcopy(module).double()
    inputs = {name: value.double() if value.is_floating_point() else value for name, value in inputs.items()}
    curve = []
    for step in range(STEPS):
        module.zero_grad()
        loss = loss_of(module, inputs, labels)
        loss.backward()
        curve.append(loss.item())
        with torch.no_grad():
            for name, parameter in module.named_parameters():
                if parameter.grad is None:
                    continue
                if step == 0:
                    found[f"grad/{name}"] = parameter.grad.numpy().copy()
                parameter -= RATE * parameter.grad
    found["curve"] = np.array(curve)
    for name, value in module.state_dict().items():
        found[f"state/{name}"] = value.numpy().copy()
    module.eval()
    found["eval"] = np.array(loss_of(module, inputs, labels).item())
    return found


def pack(path):
    """Drops stack traces from a file, which becomes path.xz."""
    model = onnx.load(path)
    for proto in [model.graph, *model.graph.node, *model.graph.value_info, *model.graph.input, *model.graph.output, *model.graph.initializer]:
        kept = [onnx.StringStringEntryProto(key=entry.key, value=entry.value) for entry in proto.metadata_props if entry.key != STACK]
        del proto.metadata_props[:]
        proto.metadata_props.extend(kept)
    raw = model.SerializeToString(deterministic=True)
    if b"site-packages" in raw or HERE.encode() in raw:
        raise RuntimeError(f"{path} holds paths of this machine")
    with open(path + ".xz", "wb") as out:
        out.write(lzma.compress(raw, preset=9))
    os.remove(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="the networks whose names have this text")
    parser.add_argument("--out", default=os.path.join(HERE, "..", "e2e", "Inputs", "forms"))
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    for name, make in FORMS.items():
        if options.only not in name:
            continue
        torch.manual_seed(3)
        build, inputs, labels = make()
        module = build().train()
        outputs = ["logits"] if labels else ["loss"]
        path = os.path.join(options.out, name)
        np.savez(path + ".npz", **reference(module, inputs, labels))
        export.export(copy.deepcopy(module), inputs, path + ".onnx", outputs=outputs)
        pack(path + ".onnx")
        try:
            torch.onnx.export(copy.deepcopy(module), (), path + ".dynamo.onnx", kwargs=inputs, dynamo=True, verbose=False, external_data=False, input_names=list(inputs),
                              output_names=outputs)
            pack(path + ".dynamo.onnx")
        except torch.onnx.OnnxExporterError as error:
            print(f"{name}: not exported by torch: {error.__cause__}")
        print(name, os.path.getsize(path + ".onnx.xz"), "bytes")


if __name__ == "__main__":
    main()
