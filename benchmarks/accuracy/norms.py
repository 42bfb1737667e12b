#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures norms in 16 bits against float64, and against torch's CPU autocast if Python has torch, and prints a Markdown table.

usage: norms.py [--mpc build/bin/mpc] [--target host|emulator] [--forms layer,rms] [--configurations 'fp16 O1'] [--rows] > docs/results/norms.md
Each input consists of values mean + deviation*N(0,1), rounded so that the storage type holds them exactly. A product with the identity comes first,
so that the norm's operand is stored in 16 bits. All inputs of a norm share one program, where each has its own parameters, output and term of the loss.
The error of a tensor is its largest, in ULPs of the storage type at the tensor's largest magnitude; the error of the loss is in ULPs at the largest term of its mean.
An input keeps its bound when each error is at most the larger of 2 ULP and twice torch's error (if that is finite), and no value that float64 rounded to storage has finite is infinite or NaN.
Exits with status 1 when an input exceeds its bound.
"""
import argparse
import os
import sys
import tempfile
import warnings

import numpy as np
import onnx
import runs

sys.path.insert(0, os.path.join(runs.SOURCE, "tools", "models"))
from network import Network  # noqa: E402

try:
    import torch
except ImportError:
    torch = None

ROWS, WIDTH = 16, 64
SCALE = 1024  # the loss scale in fp16: the mean over ROWS*WIDTH elements multiplies by 1/SCALE, so that the cotangents are exact
# Each tuple is (deviation, mean, epsilon).
INPUTS = [(1, 0, 1e-5), (1, 0, 1e-12), (1, 0, 1e-3), (340, 0, 1e-5), (2e4, 0, 1e-5), (2e4, 0, 1e-12), (1, 10, 1e-5), (1, 100, 1e-5), (300, 3e4, 1e-5), (300, 3e4, 1e-8),
          (1e-2, 0, 1e-8), (1e-3, 0, 1e-5), (1e-3, 0, 1e-12), (1e-3, 0.1, 1e-8), (3e-5, 0, 1e-12), (3e-5, 0, 1e-3)]
FORMS = ("layer", "layer composed", "layer composed pow", "rms", "rms composed", "group", "instance", "l2", "l2 composed")
CONFIGURATIONS = {"fp16 O1": ("fp16", "O1"), "fp16 O2": ("fp16", "O2"), "fp16 O3": ("fp16", "O3"), "bf16 O1": ("bf16", "O1")}
OPSETS = {"rms": 23, "group": 21}
SHAPES = {"group": (4, 8, 32), "instance": (4, 4, 64)}  # the other forms have shape ROWS x WIDTH
GROUPS = 4


def affine(form):
    """Returns the shape of scale and bias; it is empty for L2, which has neither."""
    return () if form.startswith("l2") else (SHAPES[form][1],) if form in SHAPES else (WIDTH,)


def has_bias(form):
    return form.startswith("layer") or form in SHAPES


# -- numbers ----------------------------------------------------------------------------------------------
def to_storage(values, precision):
    """Rounds to the nearest even value of the storage type; the result is float64."""
    if precision == "fp16":
        with np.errstate(over="ignore"):
            return np.asarray(values, np.float64).astype(np.float16).astype(np.float64)
    bits = np.ascontiguousarray(np.asarray(values, np.float32)).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16 << 16).astype(np.uint32).view(np.float32).astype(np.float64)


def ulp(magnitude, precision):
    mantissa, least = (10, -24) if precision == "fp16" else (7, -133)
    if not magnitude > 0:
        return 2.0 ** least
    return 2.0 ** max(int(np.floor(np.log2(magnitude))) - mantissa, least)


def data(precision):
    """Returns for each input x, scale, bias and the weights c of the loss; the storage type holds all of them exactly."""
    rng = np.random.default_rng(5)
    made = []
    for deviation, mean, _ in INPUTS:
        x = np.clip(mean + deviation * rng.normal(0, 1, (ROWS, WIDTH)), -6e4, 6e4)
        made.append({"x": to_storage(x, precision), "scale": to_storage(1 + 0.1 * rng.normal(0, 1, 64), precision), "bias": to_storage(0.1 * rng.normal(0, 1, 64), precision),
                     "c": np.round(8 * np.clip(rng.normal(0, 1, (ROWS, WIDTH)), -2, 2)) / 8})
    return made


# -- float64 ----------------------------------------------------------------------------------------------
def reference(form, epsilon, d):
    """Computes output, loss and gradients by the formulas, in float64."""
    shape = SHAPES.get(form, (ROWS, WIDTH))
    x, c = d["x"].reshape(shape), d["c"].reshape(shape)
    dy = c / c.size
    if form.startswith("l2"):
        n = np.sqrt((x * x).sum(-1, keepdims=True))
        y = x / n
        dx = (dy - y * (dy * y).sum(-1, keepdims=True)) / n
        return {"y": y, "loss": np.mean(y * c), "x": dx.reshape(ROWS, WIDTH)}
    count = affine(form)[0]
    scale, bias = d["scale"][:count], d["bias"][:count] if has_bias(form) else np.zeros(count)
    if form in SHAPES:
        scale, bias, spread = scale.reshape(1, -1, 1), bias.reshape(1, -1, 1), (0, 2)
        grouped = (shape[0], GROUPS, -1) if form == "group" else shape
    else:
        spread, grouped = (0,), shape
    v, g = x.reshape(grouped), (dy * scale).reshape(grouped)
    mean = v.mean(-1, keepdims=True) if not form.startswith("rms") else 0.0
    inverse = 1 / np.sqrt(((v - mean) ** 2).mean(-1, keepdims=True) + epsilon)
    hat = (v - mean) * inverse
    dx = inverse * (g - hat * (g * hat).mean(-1, keepdims=True) - (g.mean(-1, keepdims=True) if not form.startswith("rms") else 0))
    hat = hat.reshape(shape)
    y = hat * scale + bias
    result = {"y": y, "loss": np.mean(y * c), "x": dx.reshape(ROWS, WIDTH), "scale": (dy * hat).sum(spread)}
    return dict(result, bias=dy.sum(spread)) if has_bias(form) else result


# -- torch --------------------------------------------------------------------------------------------------
def by_torch(form, epsilon, d, precision):
    """Computes the same with torch's autocast on the CPU, which has no optimization levels."""
    f, shape = torch.nn.functional, SHAPES.get(form, (ROWS, WIDTH))
    leaf = lambda v: torch.tensor(np.asarray(v, np.float32), requires_grad=True)
    x = leaf(d["x"])
    scale, bias = (leaf(d[k][:affine(form)[0]]) if affine(form) else None for k in ("scale", "bias"))
    with torch.autocast("cpu", dtype=torch.float16 if precision == "fp16" else torch.bfloat16):
        h = (x @ torch.eye(WIDTH)).reshape(shape)
        if form == "layer":
            y = f.layer_norm(h, (WIDTH,), scale, bias, epsilon)
        elif form.startswith("layer"):
            e = h - h.mean(-1, keepdim=True)
            y = e / torch.sqrt((e.pow(2) if "pow" in form else e * e).mean(-1, keepdim=True) + epsilon) * scale + bias
        elif form == "rms":
            y = f.rms_norm(h, (WIDTH,), scale, epsilon)
        elif form == "rms composed":
            y = scale * (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + epsilon))
        elif form == "group":
            y = f.group_norm(h, GROUPS, scale, bias, epsilon)
        elif form == "instance":
            y = f.instance_norm(h, weight=scale, bias=bias, eps=epsilon)
        elif form == "l2":
            y = f.normalize(h, dim=-1, eps=0)
        else:
            y = h / h.norm(dim=-1, keepdim=True)
    loss = (y.float() * torch.tensor(d["c"].reshape(shape), dtype=torch.float32)).mean()
    factor = SCALE if precision == "fp16" else 1
    (loss * factor).backward()
    result = {"y": y.detach().double().numpy(), "loss": float(loss.detach()), "x": x.grad.double().numpy() / factor}
    for name, tensor in (("scale", scale), ("bias", bias)):
        if tensor is not None and tensor.grad is not None:
            result[name] = tensor.grad.double().numpy() / factor
    return result


# -- mpc ------------------------------------------------------------------------------------------------------
def network(form, made):
    """Makes one network with a branch for each input: parameters x{i}, scale{i}, bias{i}; inputs c{i}; outputs y{i} and the loss."""
    n = Network(opset=OPSETS.get(form, 17))
    shape, terms = SHAPES.get(form, (ROWS, WIDTH)), []
    for i, (d, (_, _, epsilon)) in enumerate(zip(made, INPUTS)):
        x = n.node("MatMul", [n.constant(f"x{i}", d["x"], np.float32), n.constant(f"one{i}", np.eye(WIDTH), np.float32)], f"h{i}")
        if form in SHAPES:
            x = n.node("Reshape", [x, n.constant(f"shape{i}", np.array(shape))], f"r{i}")
        parts = [n.constant(f"{k}{i}", d[k][:affine(form)[0]], np.float32) for k in (["scale", "bias"] if has_bias(form) else ["scale"] if affine(form) else [])]
        y = branch(n, form, x, parts, epsilon, i)
        n.output(y, list(shape))
        weighted = n.node("Mul", [y, n.input(f"c{i}", list(shape))], f"m{i}")
        terms.append(n.node("ReduceMean", [weighted], f"l{i}", keepdims=0))
    n.node("Sum", terms, "loss")
    return n.output("loss", [])


def branch(n, form, x, parts, epsilon, i):
    """Adds the norm in the form that exporters write; returns y{i}."""
    y = f"y{i}"
    if form == "layer":
        return n.node("LayerNormalization", [x] + parts, y, epsilon=epsilon)
    if form == "rms":
        return n.node("RMSNormalization", [x] + parts, y, epsilon=epsilon)
    if form == "group":
        return n.node("GroupNormalization", [x] + parts, y, epsilon=epsilon, num_groups=GROUPS)
    if form == "instance":
        return n.node("InstanceNormalization", [x] + parts, y, epsilon=epsilon)
    if form == "l2":
        return n.node("LpNormalization", [x], y, p=2)
    if form == "l2 composed":
        return n.node("Div", [x, n.node("ReduceL2", [x], f"n{i}", axes=[-1], keepdims=1)], y)
    centred = x
    if form.startswith("layer"):
        centred = n.node("Sub", [x, n.node("ReduceMean", [x], f"mean{i}", axes=[-1], keepdims=1)], f"centred{i}")
    squares = n.node("Mul", [centred, centred], f"square{i}") if form == "layer composed" else n.node("Pow", [centred, n.constant(f"two{i}", 2.0, np.float32)], f"square{i}")
    variance = n.node("Add", [n.node("ReduceMean", [squares], f"variance{i}", axes=[-1], keepdims=1), n.constant(f"eps{i}", epsilon, np.float32)], f"sum{i}")
    root = n.node("Sqrt", [variance], f"root{i}")
    if form.startswith("rms"):  # the form that Llama's export has
        hat = n.node("Mul", [x, n.node("Reciprocal", [root], f"inverse{i}")], f"hat{i}")
        return n.node("Mul", [parts[0], hat], y)
    hat = n.node("Div", [centred, root], f"hat{i}")
    return n.node("Add", [n.node("Mul", [hat, parts[0]], f"scaled{i}"), parts[1]], y)


def by_mpc(mpc, work, form, made, configuration, target):
    """Returns for each input what by_torch returns."""
    precision, level = CONFIGURATIONS[configuration]
    model, program, file = (os.path.join(work, name) for name in ("norm.onnx", "norm", "norm.npz"))
    onnx.save(network(form, made).proto(), model)
    shape = SHAPES.get(form, (ROWS, WIDTH))
    np.savez(file, **{f"c{i}": d["c"].reshape(shape).astype(np.float32) for i, d in enumerate(made)})
    emulated = target == "emulator"
    runs.call([mpc, "compile", model, "-q", "-o", program, f"--precision={precision}", f"--opt-level={level}", "--loss=output:loss", "--trainable=^(x|scale|bias)[0-9]+$",
               f"--loss-scale={SCALE if precision == 'fp16' else 'none'}"] + (["--target=sm_80,emulator"] if emulated else ["--cpu=x86-64-v3"]))
    device = ["--device=emulator"] if emulated else []
    out = [os.path.join(work, name) for name in ("trace.npz", "predict.npz")]
    runs.call([program, "trace", "--data", file, "--steps", "1", "--threads", "1", "--out", out[0]] + device)
    runs.call([program, "predict", "--data", file, "--threads", "1", "--out", out[1]] + device)
    trace, predicted = (dict(np.load(path)) for path in out)
    results = []
    for i, d in enumerate(made):
        y = predicted[f"y{i}"].astype(np.float64).reshape(shape)
        with np.errstate(invalid="ignore"):
            result = {"y": y, "loss": float(np.mean(y * d["c"].reshape(shape)))}
        for name in ("x", "scale", "bias"):
            if f"grad/{name}{i}" in trace:
                result[name] = trace[f"grad/{name}{i}"].astype(np.float64)
        results.append(result)
    return results, float(trace["loss"][0])


# -- rows -----------------------------------------------------------------------------------------------------
def errors(got, want, d, precision):
    """Returns the largest errors in ULPs of the output, the loss and the worst gradient."""
    result = {}
    for name, value in want.items():
        have = np.asarray(got[name]).reshape(np.shape(value))
        if name == "x" and precision == "fp16" and np.max(np.abs(value)) * SCALE > 65504:
            continue  # float64 rounded to storage is not finite either
        top = np.max(np.abs(want["y"].reshape(-1) * d["c"].reshape(-1))) if name == "loss" else np.max(np.abs(value))
        with np.errstate(invalid="ignore"):
            error = float(np.max(np.abs(have - value)) / ulp(float(top), precision))
        part = name if name in ("y", "loss") else "gradients"
        result[part] = max(result.get(part, 0.0), error if error == error else np.inf)
    return result


def number(v):
    return "not finite" if not np.isfinite(v) else f"{v:.2f}" if v < 100 else f"{v:.0f}"


def shown(e):
    return " / ".join(number(e[k]) if k in e else "-" for k in ("loss", "y", "gradients")) if e else "-"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mpc", default=os.path.join(runs.SOURCE, "build", "bin", "mpc"))
    parser.add_argument("--target", choices=["host", "emulator"], default="host")
    parser.add_argument("--forms", default=",".join(FORMS))
    parser.add_argument("--configurations", default=",".join(CONFIGURATIONS))
    parser.add_argument("--rows", action="store_true", help="a line for each input instead of each norm and precision")
    options = parser.parse_args()
    lines, short, broken, rows = [], [], 0, 0
    warnings.filterwarnings("ignore")  # torch warns about its choice of kernels
    with tempfile.TemporaryDirectory() as work:
        for form in options.forms.split(","):
            for configuration in options.configurations.split(","):
                precision = CONFIGURATIONS[configuration][0]
                made = data(precision)
                results, loss = by_mpc(options.mpc, work, form, made, configuration, options.target)
                wanted = [reference(form, float(np.float32(epsilon)), d) for (_, _, epsilon), d in zip(INPUTS, made)]
                total, before, worst = sum(r["loss"] for r in results), broken, [{}, {}, {}]
                for (deviation, mean, epsilon), d, got, want in zip(INPUTS, made, results, wanted):
                    mine = errors(got, want, d, precision)
                    theirs = errors(by_torch(form, epsilon, d, precision), want, d, precision) if torch else {}
                    bounds = {k: max(2.0, 2 * theirs[k]) if np.isfinite(theirs.get(k, np.inf)) else 2.0 for k in mine}
                    kept = all(mine[k] <= bounds[k] for k in mine)
                    rows, broken = rows + 1, broken + (not kept)
                    for top, one in zip(worst, (mine, theirs, bounds)):
                        top.update({k: max(v, top.get(k, 0.0)) for k, v in one.items()})
                    lines.append(f"| {form} | {configuration} | {deviation:g} | {mean:g} | {epsilon:g} | {shown(mine)} | {shown(theirs)} | {shown(bounds)} | {'yes' if kept else '**no**'} |")
                short.append(f"| {form} | {configuration} | {len(results)} | {shown(worst[0])} | {shown(worst[1])} | {broken - before or 'none'} |")
                if np.isfinite(total) and not abs(total - loss) <= 1e-3 * max(1.0, abs(total)):
                    broken += 1
                    lines.append(f"| {form} | {configuration} | | | | the program's loss is {loss:g}, its outputs' {total:g} | | | **no** |")
                print(form, configuration, f"{broken} of {rows} broken so far", file=sys.stderr, flush=True)
    print("# Norms in 16 bits\n")
    print(f"{runs.where()}. Made by `benchmarks/accuracy/norms.py --target {options.target}`{'' if torch is None else ' with torch ' + torch.__version__}. "
          f"Errors against float64 in ULPs of the storage type: loss / output / worst gradient.\n")
    if options.rows:
        print("| norm | precision | deviation | mean | epsilon | mpc | torch autocast | bound | kept |\n" + "|---" * 9 + "|")
        print("\n".join(lines))
    else:
        print("| norm | precision | inputs | mpc, largest | torch autocast, largest | beyond the bound |\n" + "|---" * 6 + "|")
        print("\n".join(short))
    print(f"\n{rows} inputs, {broken} beyond the bound.")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
