#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests the ops of detectors, and rows that a mask chooses, without PyTorch (Inputs/boxes, made by test/torch/detection_ops.py).

- In fp32 the loss and the gradients of one step are PyTorch's in float64.
- In fp16 at O1 they are close, but for ops that choose among numbers, or divide by small ones.
- What depends on rows that are not there is refused, with the node and a hint.
"""
import lzma
import os
import re
import sys

import numpy as np
from onnx import TensorProto

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import harness  # noqa: E402
from models import INT64, Graph  # noqa: E402

INPUTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs", "boxes")
LOSS, GRADIENT = 1e-5, 2e-5  # of the loss and of a gradient's norm in float32: sums of some hundred numbers, each rounded to 6e-8
# Of a loss and of a gradient's norm in fp16: a value is rounded to 5e-4 of itself some ten times on its way to the loss and back, and sums of numbers of both signs lose a part of their digits.
SIXTEEN = 3e-2
# In 16 bits these may choose another element, or divide by a small number that is rounded (the gradient of a logarithm).
FP32_ONLY = {"grid-nearest-border-far", "roi-pool-outside", "scatter-amax-ties", "scatter-amin-ties", "mask-elements-some"}
ROWS, WIDTH = 6, 4


class Fixture:
    def __init__(self, name):
        self.name, arrays = name, np.load(f"{INPUTS}/{name}.npz")
        self.inputs = {key[len("input/"):]: arrays[key] for key in arrays.files if key.startswith("input/")}
        self.gradients = {key[len("grad/"):]: arrays[key] for key in arrays.files if key.startswith("grad/")}
        self.loss = float(arrays["loss"])

    def step(self, *options):
        """Returns loss and gradients of one step."""
        with harness.folder() as folder:
            np.savez(f"{folder}/data.npz", **self.inputs)
            with lzma.open(f"{INPUTS}/{self.name}.onnx.xz") as packed, open(f"{folder}/model.onnx", "wb") as model:
                model.write(packed.read())
            harness.must([OPTIONS.bin + "/mpc", "compile", "model.onnx", "-o", "program", "--cpu=x86-64-v3", "--optimizer=sgd", "--momentum=0", *options], cwd=folder)
            harness.must(["./program", "trace", "--data", "data.npz", "--steps", 1, "--out", "trace.npz"], cwd=folder)
            return dict(np.load(f"{folder}/trace.npz"))


def expect_close(what, found, wanted, bound):
    found, wanted = np.asarray(found, np.float64), np.asarray(wanted, np.float64)
    if found.shape != wanted.shape or not np.linalg.norm(found - wanted) <= bound * np.linalg.norm(wanted):
        raise harness.Failure(f"{what} is off by {np.linalg.norm(found - wanted) / max(np.linalg.norm(wanted), 1e-30):.3g} of its norm; at most {bound} is rounding")


def expect_step(fixture, traced, loss, gradient):
    expect_close("the loss", traced["loss"][0], fixture.loss, loss)
    for name, wanted in fixture.gradients.items():
        # A parameter without a part in the loss is not trained, so it has no gradient in the trace.
        expect_close(f"the gradient of {name}", traced.get(f"grad/{name}", np.zeros_like(wanted)), wanted, gradient)


def single(name):
    def case():
        fixture = Fixture(name)
        expect_step(fixture, fixture.step("--precision=fp32"), LOSS, GRADIENT)
    return case


def sixteen(name):
    def case():
        fixture = Fixture(name)
        expect_step(fixture, fixture.step("--precision=fp16", "--opt-level=O1", "--loss-scale=128"), SIXTEEN, SIXTEEN)
    return case


class Masked(Graph):
    """A linear layer of rows, and the rows that a mask chooses."""

    def __init__(self):
        super().__init__(opset=18)
        self.input("x", [ROWS, WIDTH])
        self.input("y", [ROWS], INT64)
        self.node("MatMul", ["x", self.weight("w", (WIDTH, WIDTH))], "h")
        self.constant("zero", np.int64(0))
        self.chosen("Greater", "rows")

    def chosen(self, op, name):
        """Adds h[mask], as torch's exporters write it."""
        self.node(op, ["y", "zero"], f"{name}.mask")
        self.node("Transpose", [self.node("NonZero", [f"{name}.mask"], f"{name}.found")], f"{name}.at", perm=[1, 0])
        return self.node("GatherND", ["h", f"{name}.at"], name)


def sorted_rows(g):
    g.node("TopK", ["rows", g.constant("two", np.array([2]))], ["best", "places"], axis=0)
    return g.node("ReduceSum", ["best"], "loss", keepdims=0)


def two_masks(g):
    g.node("Add", ["rows", g.chosen("Less", "others")], "best")
    return g.node("ReduceSum", ["best"], "loss", keepdims=0)


def rows_out(g):
    g.output("rows", ["n", WIDTH])
    return g.node("ReduceSum", ["rows"], "loss", keepdims=0)


def divided(g):
    g.node("Reshape", ["rows", g.constant("halves", np.array([2, -1]))], "best")
    return g.node("ReduceSum", ["best"], "loss", keepdims=0)


# What must be said at which value, and in the hint.
REFUSED = {
    "sorted": (sorted_rows, "best", "an input has as many rows as the data say, which this op does not take", "torch.where(mask, x, 0)"),
    "two-masks": (two_masks, "best", "two operands may have different numbers of rows, which the data say", "torch.where(mask, x, 0)"),
    "output": (rows_out, "rows", "this graph output has as many rows as the data say", "leave it out of the model"),
    "divided": (divided, "best", "the new shape divides the dimension whose number of elements the data say", "torch.where(mask, x, 0)"),
}


def refused(name):
    def case():
        build, place, message, hint = REFUSED[name]
        g = Masked()
        g.output(build(g), [])
        with harness.folder() as folder:
            g.save(f"{folder}/model.onnx")
            status, _, err = harness.run([OPTIONS.bin + "/mpc", "compile", "model.onnx", "-o", "program"], cwd=folder)
            left = os.path.exists(f"{folder}/program")
        said = " ".join(err.split())
        if status != 1 or left or not re.search(rf"error: {place}: .*{re.escape(message)} hint: .*{re.escape(hint)}", said):
            raise harness.Failure(f"status {status}, not refused at '{place}' because {message}, or without the hint {hint}: {err}")
    return case


def cases():
    names = sorted(file[:-len(".npz")] for file in os.listdir(INPUTS) if file.endswith(".npz"))
    return ([(f"boxes/{name}", single(name)) for name in names]
            + [(f"boxes/{name}/fp16", sixteen(name)) for name in names if name not in FP32_ONLY]
            + [(f"boxes/refused/{name}", refused(name)) for name in REFUSED])


if __name__ == "__main__":
    OPTIONS = harness.arguments(__doc__)
    harness.main(cases(), OPTIONS.only)
