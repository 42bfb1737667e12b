#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Counts the transposes that networks keep after fusion, as kernels of their own, and their bytes.

usage: transposes.py MODEL.onnx ... [--build DIR] [--before DIR] [--batch N] [--target host|sm_80|...] [--precision fp32|fp16|bf16]
Prints a table with a row for each network: the transposes of all its entries, the bytes that they read and write, the dispatches, and the bytes that these
read and write. With --before, the numbers of that build (whose layout pass may have another name) stand before those of --build. networks.py exports networks.
"""
import argparse
import math
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BITS = {"f64": 64, "i64": 64, "ui64": 64, "f32": 32, "i32": 32, "ui32": 32, "f16": 16, "bf16": 16, "i16": 16, "ui16": 16, "i1": 8}
LAYOUT = "mpc-assign-orders"


def bytes_of(types):
    """Returns the bytes of all tensors that a text names."""
    total = 0
    for tensor in re.findall(r"tensor<([^>]*)>", types):
        *shape, element = tensor.split("x")
        total += math.prod(map(int, shape)) * BITS.get(element, 8) // 8
    return total


def read_by(body):
    """Returns the bytes that a dispatch reads of its operands: what its slices take of those that it only slices, and the others whole."""
    total = 0
    for name, kind in re.findall(r"(%\w+): (tensor<[^>]*>)", body.split("\n", 1)[0]):
        uses = [line for line in body.splitlines()[1:] if re.search(name + r"\b", line)]
        slices = [line.rsplit("->", 1)[1] for line in uses if f"graph.slice {name} " in line]
        total += min(bytes_of(kind), sum(map(bytes_of, slices))) if len(slices) == len(uses) else bytes_of(kind)
    return total


def count(build, target_free, target):
    """Returns (transposes, their bytes, dispatches, their bytes) of a module."""
    opt = os.path.join(build, "bin/mpc-opt")
    known = subprocess.run([opt, "--help"], capture_output=True, text=True, check=True).stdout
    layout = LAYOUT if LAYOUT in known else "mpc-channels-last"
    behind = ["mpc-transpose-invariants"] if target == "host" else ["mpc-pad-channels", "mpc-pad-columns"]
    passes = [f"--mpc-set-target=name={target}", "--" + layout, *("--" + name for name in behind if name in known), "--mpc-simplify", "--mpc-decompose", "--mpc-simplify",
              "--mpc-form-dispatches"]
    text = subprocess.run([opt, target_free, *passes], capture_output=True, text=True, check=True).stdout
    dispatches = re.findall(r"kernel\.dispatch .* : \(.*\) -> (.*?) \{\n((?:.*\n)*?)    \}\n", text)
    transposes = re.findall(r"graph\.transpose .* : (\(.*\) -> .*)$", text, re.M)
    return len(transposes), sum(map(bytes_of, transposes)), len(dispatches), sum(bytes_of(results) + read_by(body) for results, body in dispatches)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--before", help="a second build, whose numbers are printed first")
    parser.add_argument("--batch", default="8")
    parser.add_argument("--target", default="sm_80")
    parser.add_argument("--precision", default="fp16")
    options = parser.parse_args()
    builds = [b for b in (options.before, options.build) if b]
    print(f"| {options.target} {options.precision} | transposes | their MB | launches | their MB |\n|---|---|---|---|---|")
    worse = False
    for model in options.models:
        with tempfile.TemporaryDirectory() as folder:
            module = os.path.join(folder, "module.mlir")
            done = subprocess.run([os.path.join(options.build, "bin/mpc"), "compile", model, "--emit=mlir", "-o", module, "--batch", options.batch, "--precision", options.precision,
                                   "--quiet"], capture_output=True, text=True)
            if done.returncode:
                print(f"{model}: {done.stderr}", file=sys.stderr)
                continue
            counts = [count(build, module, options.target) for build in builds]
        worse |= any(last > first for first, last in zip(counts[0], counts[-1]))
        cells = [" → ".join(f"{c[i] / 1e6:.1f}" if i % 2 else str(c[i]) for c in counts) for i in range(4)]
        print(f"| {os.path.basename(model).removesuffix('.onnx')} | {' | '.join(cells)} |" + (" worse" if any(l > f for f, l in zip(counts[0], counts[-1])) else ""), flush=True)
    sys.exit(1 if worse else 0)


if __name__ == "__main__":
    main()
