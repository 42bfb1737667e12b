#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares compiled training programs with PyTorch's losses, gradients and 20-step curves.

usage: gradref.py SHARED_DIR WORK_DIR PRECISION OPT_LEVEL NET...
The bounds in fp32 are 1e-6 for loss0 (relative), 1e-4 for each gradient (|a-b|/|b|, except for parameters whose true gradient is
zero, |g| < 2e-6), and 5e-3 for curves. Adam divides by a gradient's size: where direct sums of a convolution give exactly 0 in every step,
Winograd's method gives 1e-11, which moves the weight. A curve of Adam beyond 5e-3 must therefore be within 2e-2 by default, and within 5e-3 with direct sums
(--library=generic). In fp16 and bf16, with loss scale 1024, they are 6e-2 and 1.6e-1 for the concatenated
gradient, and 3 % and 5 % for curves. The script prints a line for each network, and its exit status is 1 when a bound is broken.
"""
import json
import os
import subprocess
import sys

import numpy as np

CURVE = {"fp32": 5e-3, "fp16": 3e-2, "bf16": 5e-2}
ADAM_OF_TILES = 2e-2  # for curves of Adam in fp32 whose convolutions are computed by Winograd's method
GRADIENT = {"fp16": 6e-2, "bf16": 1.6e-1}


def optimizer_options(name, info):
    if name == "sgd":
        return ["--optimizer=sgd", f"--lr={info['lr_sgd']}"]
    if name == "sgdm":
        return ["--optimizer=sgd", f"--lr={info['sgdm']['lr']}", f"--momentum={info['sgdm']['momentum']}",
                f"--weight-decay={info['sgdm']['weight_decay']}"]
    options = [f"--optimizer={name}", f"--lr={info[name]['lr']}"]
    return options + ([f"--weight-decay={info[name]['weight_decay']}"] if name == "adamw" else [])


def relative(a, b):
    return float(np.linalg.norm(a.astype(np.float64) - b) / np.linalg.norm(b))


class Reference:
    """A network of gradref: its model, its data as a file in `work`, and what PyTorch computed from them."""

    def __init__(self, net, shared, work):
        folder = os.path.join(shared, "gradref")
        self.net, self.work = net, work
        self.info = json.load(open(os.path.join(folder, "INDEX.json")))[net]
        self.model = os.path.join(folder, f"ref_{net}.onnx")
        self.values = np.load(os.path.join(folder, f"ref_{net}.npz"))
        self.data, self.program, self.out = (os.path.join(work, f"{net}.{end}") for end in ("in.npz", "program", "out.npz"))
        np.savez(self.data, **{k[3:]: self.values[k] for k in self.values.files if k.startswith("in_")})

    def compile(self, precision, level, optimizer, *options):
        scale = [] if precision == "fp32" else ["--loss-scale=1024"]
        subprocess.run(["mpc", "compile", self.model, "-o", self.program, "-q", "--cpu=native", f"--precision={precision}", f"--opt-level={level}"]
                       + optimizer_options(optimizer, self.info) + scale + list(options), check=True)

    def trace(self, steps, *options):
        subprocess.run([self.program, "trace", "--data", self.data, "--steps", str(steps), "--out", self.out, *options], check=True,
                       stdout=subprocess.DEVNULL)
        return dict(np.load(self.out))

    def distance(self, traced, optimizer):
        """Returns the largest relative difference of the losses."""
        curve = self.values[f"curve_{optimizer}"].astype(np.float64)[:len(traced["loss"])]
        return float(np.max(np.abs(traced["loss"] - curve) / np.abs(curve)))

    def check_curve(self, traced, precision, optimizer, broken):
        """Returns the largest relative difference of the losses."""
        worst = self.distance(traced, optimizer)
        if not worst <= CURVE[precision]:
            direct = None
            if precision == "fp32" and optimizer.startswith("adam") and worst <= ADAM_OF_TILES:
                direct = self.distance(self.trace(len(traced["loss"]), "--library=generic"), optimizer)
            if direct is None or not direct <= CURVE[precision]:
                broken.append(f"curve of {optimizer}: {worst:.1e}" + (f", with direct sums {direct:.1e}" if direct is not None else ""))
        return worst

    def check_gradients(self, traced, precision, broken):
        """Returns a text about the differences of the first loss and of the gradients."""
        loss0 = abs(float(traced["loss"][0]) / float(self.values["loss0"]) - 1)
        gradients = [k for k in self.values.files if k.startswith("grad/")]
        total = relative(np.concatenate([traced[k].ravel() for k in gradients]),
                         np.concatenate([self.values[k].ravel().astype(np.float64) for k in gradients]))
        each = {k: relative(traced[k], self.values[k].astype(np.float64)) for k in gradients if np.abs(self.values[k]).max() >= 2e-6}
        worst = max(each, key=each.get)
        if precision == "fp32":
            if not loss0 <= 1e-6:
                broken.append(f"loss0: {loss0:.1e}")
            broken += [f"{k}: {error:.1e}" for k, error in each.items() if not error <= 1e-4]
        elif not total <= GRADIENT[precision]:
            broken.append(f"all gradients: {total:.1e}")
        return f"loss0 {loss0:.1e}, worst gradient {each[worst]:.1e} ({worst[5:]}), all {total:.1e}"


def check(net, shared, work, precision, level):
    reference = Reference(net, shared, work)
    broken, curves, gradients = [], {}, ""
    for optimizer in ("sgd", "sgdm", "adam", "adamw"):
        reference.compile(precision, level, optimizer)
        traced = reference.trace(20)
        curves[optimizer] = reference.check_curve(traced, precision, optimizer, broken)
        if optimizer == "sgd":
            gradients = reference.check_gradients(traced, precision, broken)
    print(f"{net} {precision} {level}: {gradients}, curves", " ".join(f"{k} {v:.1e}" for k, v in curves.items()), flush=True)
    for what in broken:
        print(f"FAIL {net} {precision} {level}: {what}", flush=True)
    return not broken


def main():
    shared, work, precision, level, *nets = sys.argv[1:]
    os.makedirs(work, exist_ok=True)
    results = [check(net, shared, work, precision, level) for net in nets]
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
