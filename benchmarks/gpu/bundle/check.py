# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares traces of training (npz) without any Python package: it checks losses and gradients by the bounds of test/e2e/gradref.py."""
import array
import ast
import math
import struct
import zipfile

CURVE = {"fp32": 5e-3, "fp16": 3e-2, "bf16": 5e-2}
GRADIENT = {"fp32": 1e-4, "fp16": 6e-2, "bf16": 1.6e-1}


def read(path):
    """Reads the float arrays of an .npz as flat lists by name."""
    arrays = {}
    with zipfile.ZipFile(path) as file:
        for name in file.namelist():
            data = file.read(name)
            start = 10 + struct.unpack_from("<H", data, 8)[0] if data[6] == 1 else 12 + struct.unpack_from("<I", data, 8)[0]
            kind = ast.literal_eval(data[10 if data[6] == 1 else 12:start].decode())["descr"]
            if kind in ("<f4", "<f8"):
                values = array.array({"<f4": "f", "<f8": "d"}[kind])
                values.frombytes(data[start:])
                arrays[name[:-4]] = values.tolist()
    return arrays


def distance(a, b):
    """Returns |a - b| / |b|."""
    return math.sqrt(math.fsum((x - y) ** 2 for x, y in zip(a, b)) / max(math.fsum(y * y for y in b), 1e-300))


def compare(got, expected, precision):
    """Returns (the worst relative difference of a loss, that of the gradients, and what is out of bounds)."""
    curve = max(abs(a - b) / abs(b) for a, b in zip(got["loss"], expected["loss"]))
    names = [name for name in expected if name.startswith("grad/")]
    if len(got["loss"]) != len(expected["loss"]) or any(name not in got for name in names):
        return math.inf, math.inf, ["an incomplete trace"]
    if precision == "fp32":  # the worst of all gradients, except those that are zero but for rounding
        gradient = max(distance(got[name], expected[name]) for name in names if max(map(abs, expected[name])) >= 2e-6)
    else:
        gradient = distance(sum((got[name] for name in names), []), sum((expected[name] for name in names), []))
    wrong = [] if curve <= CURVE[precision] else [f"losses: {curve:.1e}"]
    wrong += [] if gradient <= GRADIENT[precision] else [f"gradients: {gradient:.1e}"]
    return curve, gradient, wrong
