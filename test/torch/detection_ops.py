#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the ops of detectors, one by one, with PyTorch: regions, samples of grids, resizing, scatters, boxes, and rows that a mask chooses.

usage: detection_ops.py --build BUILD [--only TEXT] [--markdown FILE]      (make test-torch)
       detection_ops.py --write [--only TEXT] [--out FOLDER]      (by hand, when these cases changed)
Each case is a small module that ends in the op and returns a loss. Both exporters of torch write it; mpc compiles it in fp32 and runs one step. The loss must agree with torch's in float64 to LOSS,
each gradient to GRADIENT of its norm. Prints a table of all cases; --markdown writes one with a row for each op. Exits with status 1 if a case is beyond a bound, or is refused and
not in REFUSED.
--write writes the cases that are marked with `keep` to test/e2e/Inputs/boxes, where detection_ops_test.py reads them without torch:
  NAME.onnx.xz  the file of one exporter, with its values
  NAME.npz      the inputs of the step (input/), PyTorch's loss and gradients (grad/) in float64.
"""
import argparse
import contextlib
import lzma
import os
import subprocess
import sys
import tempfile
import warnings
from concurrent.futures import ThreadPoolExecutor

try:
    import numpy as np
    import onnx
    import onnxscript  # noqa: F401
    import torch
    from torch import nn
    from torch.nn import functional as F
    from torchvision.ops import generalized_box_iou_loss, nms, roi_align, roi_pool, sigmoid_focal_loss
except ImportError as missing:
    print(f"SKIP detection-ops: {missing}; it needs what test/torch/requirements.txt lists (pip install -r test/torch/requirements.txt)")
    sys.exit(0)

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tools"))
import harness  # noqa: E402

LOSS, GRADIENT = 1e-5, 2e-5  # of the loss, and of a gradient's norm: sums of some hundred numbers, each rounded to 6e-8
# What mpc refuses: the beginning of a case's name, the exporter, and a part of the message. The older exporter splits the positions that torch.where(mask) gives into columns.
REFUSED = [("mask-where", "older", "'Reshape' (opset 20): shape")]
STACK = "pkg.torch.onnx.stack_trace"  # mpc does not read it, and it holds paths
CHANNELS, HEIGHT, WIDTH = 4, 8, 9


class Pictures(nn.Module):
    """Applies a function to what a convolution makes of pictures."""

    def __init__(self, function):
        super().__init__()
        self.c, self.function = nn.Conv2d(3, CHANNELS, 3, padding=1), function

    def forward(self, x, *more):
        return self.function(self.c(x), *more)


class Scaled(Pictures):
    """Joins two channels with the same ones times s, which is 1 but for one 0: values tie exactly, or are exactly zero, and the gradient of s shows how the op shares what it passes back."""

    def __init__(self, function, zero):
        super().__init__(function)
        self.s = nn.Parameter(torch.ones(2, 1, 1))
        if zero:
            self.s.data[0] = 0

    def forward(self, x, *more):
        h = self.c(x)[:, :2]
        return self.function(torch.cat([h, h * self.s], 1), *more)


class Rows(nn.Module):
    """Applies a function to what a linear layer makes of rows, to the rows, and to a label for each."""

    def __init__(self, function, width=4):
        super().__init__()
        self.l, self.k, self.e, self.function = nn.Linear(4, width), nn.Linear(width, 3), nn.Embedding(5, width), function

    def forward(self, x, y):
        return self.function(self, self.l(x), x, y)


class Case:
    """op: the row of the short table. keep: the exporter whose file is a fixture, or None. example: the inputs that the module is exported with, where they are others than those of the step."""

    def __init__(self, name, op, make, inputs, keep=None, example=None):
        self.name, self.op, self.make, self.keep = name, op, make, keep
        self.inputs, self.example = ({key: torch.from_numpy(np.ascontiguousarray(value)) for key, value in found.items()} for found in (inputs, example or inputs))

    def module(self):
        torch.manual_seed(0)
        return self.make().train()


def boxes(random, number, side):
    corner, size = random.uniform(0, side * 0.7, (number, 2)), random.uniform(1, side * 0.5, (number, 2))
    return np.concatenate([corner, np.minimum(corner + size, side)], 1).astype(np.float32)


def pictures(name, op, function, number=2, keep=None, make=Pictures, **more):
    """number: 1 where an input has no row for each picture, for training would not keep rows and pictures together."""
    x = np.random.default_rng(7).normal(size=(number, 3, HEIGHT, WIDTH)).astype(np.float32)
    return Case(name, op, lambda: make(function), {"x": x, **more}, keep)


def region_cases():
    random = np.random.default_rng(0)
    side = 2 * HEIGHT  # the pictures are twice as large as the features
    whole = boxes(random, 6, side)
    outside = np.array([[-30, -30, -20, -22], [60, 50, 70, 60], [-5, -4, 6, 7], [10, 9, 26, 23], [-1.5, 3, 5, 9]], np.float32)
    tiny = np.array([[3, 3, 3.01, 3.02], [5.5, 6.5, 5.9, 6.6], [0, 0, 0.3, 12], [15.7, 3, 15.9, 3.1]], np.float32)
    large = np.array([[-3, -3, 30, 30], [10, 9, 40, 30]], np.float32)
    points = np.array([[5.5, 6.5, 5.5, 6.5], [0, 0, 0, 0], [9.5, 6.5, 5.5, 2.5]], np.float32)  # the last one's corners are reversed
    for kind, found in {"": whole, "-outside": outside, "-tiny": tiny, "-large": large, "-points": points}.items():
        rois = np.concatenate([np.zeros((len(found), 1), np.float32), found], 1)
        for ratio in (2, 0):
            for aligned in (True, False):
                # With a sampling ratio of 0 mpc takes boxes that are no longer than the map (docs/ops.md).
                if kind == "-large" and ratio == 0:
                    continue
                keep = {("", 2, True): "older", ("-outside", 0, False): "newer", ("-tiny", 0, True): "older"}.get((kind, ratio, aligned))
                yield pictures(f"roi-align-{ratio or 'adaptive'}{'-aligned' * aligned}{kind}", "roi_align",
                               lambda h, b, ratio=ratio, aligned=aligned: roi_align(h, b, (3, 2), 0.5, ratio, aligned).pow(2).sum(), 1, keep, rois=rois)
        yield pictures(f"roi-pool{kind}", "roi_pool", lambda h, b: roi_pool(h, b, (3, 2), 0.5).pow(2).sum(), 1, {"-outside": "older"}.get(kind), rois=rois)


def grid_cases():
    grid = np.random.default_rng(1).uniform(-1.3, 1.3, (2, 5, 6, 2)).astype(np.float32)
    for kind, found in {"": grid, "-far": 3 * grid}.items():
        for mode in ("bilinear", "nearest", "bicubic"):
            for padding in ("zeros", "border", "reflection"):
                for corners in (True, False):
                    keep = {("", "bilinear", "zeros", True): "older", ("-far", "bicubic", "reflection", False): "newer", ("-far", "nearest", "border", False): "older"}.get(
                        (kind, mode, padding, corners))

                    def function(h, g, mode=mode, padding=padding, corners=corners):
                        g = g + 0.05 * h[:, :2, :5, :6].permute(0, 2, 3, 1)  # the grid gets a gradient too
                        return F.grid_sample(h, g, mode=mode, padding_mode=padding, align_corners=corners).pow(2).sum()
                    yield pictures(f"grid-{mode}-{padding}{'-corners' * corners}{kind}", "grid_sample", function, 2, keep, grid=found)
    for corners in (True, False):
        def function(h, corners=corners):
            theta = h.mean((2, 3))[:, :1, None] * torch.ones(2, 2, 3, dtype=h.dtype) * 0.3
            return F.grid_sample(h, F.affine_grid(theta, (2, CHANNELS, 6, 5), align_corners=corners), align_corners=corners).sum()
        yield pictures(f"affine{'-corners' * corners}", "affine_grid", function, 2, None if corners else "older")


def resize_cases():
    for kind, size in {"down": (5, 6), "up": (15, 20), "mixed": (8, 4)}.items():
        for mode in ("bicubic", "bilinear"):
            for antialias in (False, True):
                for corners in (False, True):
                    # torch scales the filter's support of antialias=True by the ratio of sizes less one where align_corners is True. ONNX's Resize scales it by the ratio of sizes, as mpc does.
                    if antialias and corners:
                        continue
                    keep = {("down", "bicubic", False, False): "newer", ("up", "bicubic", False, True): "older", ("down", "bilinear", True, False): "newer"}.get((kind, mode, antialias, corners))
                    yield pictures(f"resize-{mode}{'-antialias' * antialias}{'-corners' * corners}-{kind}", "interpolate", lambda h, size=size, mode=mode, antialias=antialias, corners=corners:
                                   F.interpolate(h, size=size, mode=mode, antialias=antialias, align_corners=corners).pow(2).sum(), 2, keep)


def scatter_cases():
    index = np.random.default_rng(2).integers(0, 4, (2, CHANNELS, HEIGHT, WIDTH))
    # In the cases with ties, channels i and i + 2 go to the same place, and are equal.
    ties = np.broadcast_to(np.array([1, 3, 1, 3]).reshape(1, 4, 1, 1), index.shape)

    def function(reduce, self):
        return lambda h, i: torch.full_like(h, 0.3).scatter_reduce(1, i, h, reduce, include_self=self).tanh().sum()
    for reduce in ("sum", "prod", "amax", "amin"):
        for self in (True, False):
            yield pictures(f"scatter-{reduce}{'' if self else '-alone'}", "scatter_reduce", function(reduce, self), index=index)
    for reduce, keep in (("amax", "older"), ("amin", "newer")):
        for self in (True, False):
            yield pictures(f"scatter-{reduce}-ties{'' if self else '-alone'}", "scatter_reduce", function(reduce, self), 2, keep if self else None, lambda f: Scaled(f, False), index=ties)
    for name, found in {"scatter-prod-zeros": index, "scatter-prod-one-zero": ties}.items():
        yield pictures(name, "scatter_reduce", function("prod", True), 2, "older" if found is ties else None, lambda f: Scaled(f, True), index=found)


def box_cases():
    random = np.random.default_rng(3)
    found, wanted, scores = boxes(random, 6, 10), boxes(random, 6, 10), random.uniform(size=6).astype(np.float32)
    yield pictures("giou", "generalized_box_iou_loss", lambda h, a, b: generalized_box_iou_loss(a + 0.1 * h[0, :, :6, 0].t().abs(), b, reduction="mean"), 1, "older", a=found, b=wanted)
    target = (random.uniform(size=(2, CHANNELS, HEIGHT, WIDTH)) > 0.5).astype(np.float32)
    yield pictures("focal", "sigmoid_focal_loss", lambda h, t: sigmoid_focal_loss(h, t, reduction="mean"), 2, "newer", target=target)
    yield pictures("nms", "nms", lambda h, a, s: h[0, 0, 0].repeat(1)[nms(a, s, 0.3)].pow(2).sum(), 1, "older", boxes=found, scores=scores)


def assign(m, h, x, y):
    z = h.clone()
    z[y > 0] = x[y > 0] * 2 + h[y > 0]
    return z.pow(2).mean()


def clear(m, h, x, y):
    z = h.clone()
    z[y > 0] = 0.0
    return z.pow(2).mean()


def chosen(m, h, x, y):
    i = (y > 0).nonzero()[:, 0]
    r = torch.relu(m.k(h[i])) * torch.softmax(m.k(x[i]), -1) + 1
    return r.prod(1).sum()


def reduced(m, h, x, y):
    r = h[y > 0]
    return r.amax(0).sum() + r.amin(0).square().sum() + r.prod(0).sum() + r.mean()


def mask_cases():
    labels = {"none": [-1, -2, 0, 0, -3, -1], "one": [0, -1, 2, -1, -1, 0], "two": [-1, -1, -1, 2, -1, 1], "some": [1, -1, 2, 0, 3, -1], "all": [1, 2, 3, 4, 1, 2]}
    functions = {
        "cross-entropy-sum": ("x[mask]", lambda m, h, x, y: F.cross_entropy(h[y > 0], y[y > 0], reduction="sum")),
        "cross-entropy": ("x[mask]", lambda m, h, x, y: F.cross_entropy(h[y > 0], y[y > 0])),
        "assign": ("x[mask] = y", assign), "clear": ("x[mask] = 0", clear),
        "loss-mean": ("loss[mask].mean()", lambda m, h, x, y: (h[:, :4] - x).pow(2)[y > 0].mean()),
        "loss-sum": ("loss[mask].sum() / count", lambda m, h, x, y: (h[:, :4] - x).pow(2)[y > 0].sum() / (y > 0).sum().clamp(min=1)),
        "elements": ("x[x > 0]", lambda m, h, x, y: h[h > 0].log().sum() + h[h > 0].sum() / (h > 0).sum() + h[h < 0].pow(2).mean()),
        "select": ("masked_select", lambda m, h, x, y: h.masked_select(h > 0).log().sum() + h.masked_select((y > 0)[:, None]).sum()),
        "nonzero": ("x[mask.nonzero()]", chosen), "reduced": ("reductions of x[mask]", reduced),
        "logsumexp": ("reductions of x[mask]", lambda m, h, x, y: torch.logsumexp(h[y > 0], 0).sum() + torch.logsumexp(h[y > 0], 1).square().sum()),
        "embedding": ("embedding(y[mask])", lambda m, h, x, y: (m.e(y.clamp(min=0)[y > 0]) * h[y > 0]).sum()),
        "std": ("x[mask].std()", lambda m, h, x, y: (m.e(y.clamp(min=0)[y > 0]) * h[y > 0]).sum(1).std()),
        "where": ("x[torch.where(mask)]", lambda m, h, x, y: h[torch.where(y > 0)].square().sum() + h[torch.where(h > 0.1)].exp().sum()),
    }
    # A mean, a largest element, a logarithm of a sum and a deviation of no rows are not numbers; nor is the deviation of one.
    least = {"cross-entropy": 1, "loss-mean": 1, "reduced": 1, "logsumexp": 1, "std": 2}
    kept = {("cross-entropy-sum", "none"): "older", ("cross-entropy", "one"): "older", ("assign", "some"): "newer", ("assign", "none"): "older", ("loss-mean", "all"): "older",
            ("nonzero", "none"): "newer", ("nonzero", "some"): "older", ("reduced", "one"): "older", ("elements", "some"): "newer", ("std", "two"): "older"}
    for name, (op, function) in functions.items():
        for kind, y in labels.items():
            y = np.array(y)
            if (y > 0).sum() < least.get(name, 0):
                continue
            x = np.random.default_rng(5).normal(size=(len(y), 4)).astype(np.float32)
            yield Case(f"mask-{name}-{kind}", op, lambda function=function, width=5 if name.startswith("cross") else 4: Rows(function, width), {"x": x, "y": y}, kept.get((name, kind)),
                       {"x": x, "y": np.array(labels["some"])})  # a file that was traced with one row would hold for one row only


def all_cases():
    return [case for family in (region_cases, grid_cases, resize_cases, scatter_cases, box_cases, mask_cases) for case in family()]


def reference(case):
    """Returns torch's loss and gradients in float64. A parameter without a part in the loss has a gradient of zeros."""
    module = case.module().double()
    loss = module(*(value.double() if value.is_floating_point() else value for value in case.inputs.values()))
    loss.backward()
    return loss.item(), {name: (torch.zeros_like(p) if p.grad is None else p.grad).numpy() for name, p in module.named_parameters()}


@contextlib.contextmanager
def silence():
    """Drops what the exporters print, of which a part comes from C++."""
    sys.stdout.flush()
    kept = [os.dup(1), os.dup(2)]
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        for number in (1, 2):
            os.dup2(nowhere.fileno(), number)
        try:
            yield
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            for number, copy in zip((1, 2), kept):
                os.dup2(copy, number)
                os.close(copy)


def export(case, exporter, path):
    """Returns None, or why torch does not write the file."""
    module, names = case.module(), list(case.inputs)
    try:
        with silence():
            if exporter == "newer":
                torch.onnx.export(module, tuple(case.example.values()), path, dynamo=True, optimize=False, verbose=False, external_data=False, input_names=names, output_names=["loss"])
            else:
                torch.onnx.export(module, tuple(case.example.values()), path, dynamo=False, training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False, input_names=names,
                                  output_names=["loss"], opset_version=20)
    except Exception as error:  # the exporters raise errors of many classes
        return str(error.__cause__ or error).split("\n")[0]
    return None


def relative(found, wanted):
    """Returns the distance as a part of the norm; of zeros, only zeros are at distance 0."""
    found, wanted = np.asarray(found, np.float64), np.asarray(wanted, np.float64)
    if found.shape != wanted.shape or not np.isfinite(found).all():
        return np.inf
    away = np.linalg.norm(found - wanted)
    return away / np.linalg.norm(wanted) if away else 0.0


def compare(mpc, case, wanted, folder):
    """Returns (loss difference, worst gradient difference, error) of one step of folder/model.onnx. wanted: what `reference` returns, for torch's modules are made in one thread only."""
    np.savez(f"{folder}/data.npz", **{name: value.numpy() for name, value in case.inputs.items()})
    for command in ([mpc, "compile", "model.onnx", "-o", "program", "--precision=fp32", "--cpu=x86-64-v3", "--optimizer=sgd", "--momentum=0", "-q"],
                    ["./program", "trace", "--data", "data.npz", "--steps", "1", "--out", "trace.npz"]):
        done = harness.started(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
        if done.returncode:
            return np.inf, np.inf, f"status {done.returncode}: " + " ".join((done.stderr or done.stdout).split())
    traced = dict(np.load(f"{folder}/trace.npz"))
    loss, gradients = wanted
    # A parameter without a part in the loss is not trained, so it has no gradient in the trace.
    found = {name: traced.get(f"grad/{name}", np.zeros_like(value)) for name, value in gradients.items()}
    return relative(traced["loss"][0], loss), max(relative(found[name], value) for name, value in gradients.items()), ""


def pack(model, path):
    for proto in [model.graph, *model.graph.node, *model.graph.value_info, *model.graph.input, *model.graph.output, *model.graph.initializer]:
        kept = [onnx.StringStringEntryProto(key=entry.key, value=entry.value) for entry in proto.metadata_props if entry.key != STACK]
        del proto.metadata_props[:]
        proto.metadata_props.extend(kept)
        if proto is not model.graph:
            proto.doc_string = ""  # the older exporter's stack traces
    raw = model.SerializeToString(deterministic=True)
    if b"site-packages" in raw or HERE.encode() in raw:
        raise RuntimeError(f"{path} holds paths of this machine")
    with open(path, "wb") as out:
        out.write(lzma.compress(raw, preset=9))


def write(cases, out):
    os.makedirs(out, exist_ok=True)
    for case in cases:
        if not case.keep:
            continue
        path = os.path.join(out, case.name)
        with tempfile.TemporaryDirectory() as folder:
            why = export(case, case.keep, f"{folder}/model.onnx")
            if why:
                raise RuntimeError(f"{case.name}: {why}")
            pack(onnx.load(f"{folder}/model.onnx"), path + ".onnx.xz")
        loss, gradients = reference(case)
        np.savez_compressed(path + ".npz", loss=loss, **{f"input/{name}": value.numpy() for name, value in case.inputs.items()}, **{f"grad/{name}": value for name, value in gradients.items()})
        print(case.name, os.path.getsize(path + ".onnx.xz"), os.path.getsize(path + ".npz"), "bytes")


class Table:
    """Prints a row for each file, and collects a row for each op."""

    def __init__(self):
        self.good, self.ops = True, {}
        print("| case | exporter | loss difference | worst gradient difference |\n|---|---|---|---|")

    def add(self, case, exporter, why, result):
        """why: for what torch does not write the file, or None; then result has the numbers."""
        row = self.ops.setdefault(case.op, {"cases": set(), "files": 0, "loss": 0.0, "gradient": 0.0})
        row["cases"].add(case.name)
        if why:
            print(f"| {case.name} | {exporter} | no export | |", flush=True)
            print(f"{case.name}, {exporter}: {why}", file=sys.stderr, flush=True)
            return
        loss, gradient, error = result.result()
        if any(case.name.startswith(begin) and exporter == of and text in error for begin, of, text in REFUSED):
            print(f"| {case.name} | {exporter} | refused | |", flush=True)
            return
        row["files"] += 1
        row["loss"], row["gradient"] = max(row["loss"], loss), max(row["gradient"], gradient)
        bad = not (loss <= LOSS and gradient <= GRADIENT)
        self.good &= not bad
        print(f"| {case.name} | {exporter} | {loss:.1e} | {gradient:.1e} |" + (f" FAIL {error}" if bad else ""), flush=True)

    def write(self, path):
        with open(path, "w", encoding="utf-8") as out:
            out.write("| op | cases | files | largest loss difference | largest gradient difference |\n|---|---|---|---|---|\n")
            for op, row in self.ops.items():
                out.write(f"| `{op}` | {len(row['cases'])} | {row['files']} | {row['loss']:.1e} | {row['gradient']:.1e} |\n")


def run(cases, mpc, markdown):
    """Prints the table, and returns whether all is within the bounds."""
    table, pending = Table(), []

    def step(case, wanted, folder):
        with folder:
            return compare(mpc, case, wanted, folder.name)
    with ThreadPoolExecutor(2) as pool:
        for case in cases:
            wanted = reference(case)
            for exporter in ("newer", "older"):  # one after the other, for exporters keep global state; programs run beside them
                folder = tempfile.TemporaryDirectory()
                why = export(case, exporter, f"{folder.name}/model.onnx")
                pending.append((case, exporter, why, None if why else pool.submit(step, case, wanted, folder)))
                while pending and (pending[0][2] or pending[0][3].done()):
                    table.add(*pending.pop(0))
        for entry in pending:
            table.add(*entry)
    if markdown:
        table.write(markdown)
    return table.good


def main():
    warnings.filterwarnings("ignore")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", help="build folder")
    parser.add_argument("--only", default="", help="the cases whose names have this text")
    parser.add_argument("--markdown", help="a file for the table of ops")
    parser.add_argument("--write", action="store_true", help="write the fixtures")
    parser.add_argument("--out", default=os.path.join(HERE, "..", "e2e", "Inputs", "boxes"))
    options = parser.parse_args()
    if not options.build and not options.write:
        parser.error("--build or --write is needed")
    cases = [case for case in all_cases() if options.only in case.name]
    if options.write:
        write(cases, options.out)
    if options.build and not run(cases, os.path.join(os.path.abspath(options.build), "bin", "mpc"), options.markdown):
        sys.exit(1)


if __name__ == "__main__":
    main()
