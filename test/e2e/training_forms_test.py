#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests networks whose training is more than their graph, without PyTorch: gradients end inside them, forward updates buffers, or a loss has options that torch's exporter drops
(Inputs/forms, made by test/torch/forms.py).

- The files of tools/torch/export.py train in fp32 as PyTorch does in float64: loss and gradients of the first step, the losses over 20 steps of SGD, parameters and buffers behind them, and the
  loss that `eval` then gives in evaluation form; the exported model computes what `predict` does.
- In fp16 and bf16 the losses stay close, and buffers that forward updates are not rounded to 16 bits.
- The files of torch's exporter alone are as right, or refused by name, or noted where they cannot be told from others; --stop-gradient then makes them right.
"""
import lzma
import os
import re
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import harness  # noqa: E402

INPUTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs", "forms")
STEPS, RATE = 20, 0.05
ONE = 1e-5    # of a loss and a gradient in float32: sums of some hundred numbers, each rounded to 6e-8
MANY = 1e-4   # behind 20 steps, each of which adds such an error
SIXTEEN = 5e-2  # of a loss in bf16 over 20 steps: some ten roundings of 4e-3 a step
NO_GRAD = "the file does not say which parts of the module are in torch.no_grad"
# What torch's own file of a network is: right, refused for this, or noted because the no_grad region left no trace.
DYNAMO = {"detached": "right", "straight_through": "was computed into", "vq": "right", "smoothed": "right", "focal": "right", "counter": "was computed into", "codebook": "is gone", "average": "was computed into",
          "teacher": "noted", "self_teacher": "noted", "spectral": "was computed into"}
# The values at which the user may say that the gradient ends, where torch's file does not say it.
STOPS = {"teacher": "^div$", "self_teacher": "^tanh_1$"}


class Form:
    def __init__(self, name):
        self.name, arrays = name, np.load(f"{INPUTS}/{name}.npz")
        groups = {prefix: {key[len(prefix):]: arrays[key] for key in arrays.files if key.startswith(prefix)} for prefix in ("input/", "grad/", "state/")}
        self.inputs, self.gradients, self.state = groups["input/"], groups["grad/"], groups["state/"]
        self.curve, self.evaluated = arrays["curve"], float(arrays["eval"])
        self.loss = "softmax_cross_entropy:logits:labels" if "labels" in self.inputs and name not in ("smoothed", "focal") else "output:loss"

    def compile(self, folder, suffix="", *options):
        np.savez(f"{folder}/data.npz", **self.inputs)
        with lzma.open(f"{INPUTS}/{self.name}{suffix}.onnx.xz") as packed, open(f"{folder}/model.onnx", "wb") as model:
            model.write(packed.read())
        return harness.run([OPTIONS.bin + "/mpc", "compile", "model.onnx", "-o", "program", "--batch", len(self.inputs["x"]), "--loss", self.loss, "--cpu=x86-64-v3",
                            "--optimizer=sgd", "--momentum=0", f"--lr={RATE}", *options], cwd=folder)

    def trace(self, folder):
        harness.must(["./program", "trace", "--data", "data.npz", "--steps", STEPS, "--out", "trace.npz"], cwd=folder)
        return dict(np.load(f"{folder}/trace.npz"))


def expect_close(what, found, wanted, bound):
    found, wanted = np.asarray(found, np.float64), np.asarray(wanted, np.float64)
    away = np.linalg.norm(found - wanted) / max(np.linalg.norm(wanted), 1e-30)
    if found.shape != wanted.shape or not away <= bound:
        raise harness.Failure(f"{what} is off by {away:.3g} of its norm; at most {bound} is rounding")


def expect_curve(form, traced):
    expect_close("the first loss", traced["loss"][0], form.curve[0], ONE)
    expect_close("the curve", traced["loss"], form.curve, MANY)
    for name, gradient in form.gradients.items():
        expect_close(f"the gradient of {name}", traced[f"grad/{name}"], gradient, ONE)
    extra = {key[5:] for key in traced if key.startswith("grad/")} - set(form.gradients)
    if extra:
        raise harness.Failure(f"gradients of what PyTorch gives none: {sorted(extra)}")
    for name, value in form.state.items():
        if f"state/{name}" in traced:
            expect_close(f"{name} behind {STEPS} steps", traced[f"state/{name}"], value, MANY)


def expect_export(folder):
    """Checks that the exported model computes what predict does: with the stored values of buffers."""
    checkpoint = ["--checkpoint", f"ck/step-{STEPS:08}.safetensors"]
    harness.must(["./program", "predict", "--data", "data.npz", *checkpoint, "--out", "predicted.npz"], cwd=folder)
    harness.must([OPTIONS.bin + "/mpc", "export", "model.onnx", *checkpoint, "-o", "trained.onnx"], cwd=folder)
    harness.must([OPTIONS.bin + "/mpc", "run", "trained.onnx", "--data", "data.npz", "--out", "run.npz"], cwd=folder)
    expect_close("what the exported model computes", np.load(f"{folder}/run.npz")["logits"], np.load(f"{folder}/predicted.npz")["logits"], ONE)


def right(name):
    def case():
        form = Form(name)
        with harness.folder() as folder:
            status, _, err = form.compile(folder, "", "--precision=fp32")
            if status != 0:
                raise harness.Failure(err)
            traced = form.trace(folder)
            expect_curve(form, traced)
            missing = [name for name in form.state if f"state/{name}" not in traced and name != "weights"]
            if missing:
                raise harness.Failure(f"the program has no state for {missing}")
            harness.must(["./program", "train", "--data", "data.npz", "--steps", STEPS, "--checkpoint-dir", "ck"], cwd=folder)
            out = harness.must(["./program", "eval", "--data", "data.npz", "--checkpoint", f"ck/step-{STEPS:08}.safetensors"], cwd=folder)
            expect_close("the loss in evaluation form", float(re.search(r"loss: (\S+)", out)[1]), form.evaluated, MANY)
            if form.loss != "output:loss":
                expect_export(folder)
    return case


def sixteen(name, precision):
    def case():
        form = Form(name)
        with harness.folder() as folder:
            status, _, err = form.compile(folder, "", f"--precision={precision}", "--loss-scale=128")
            if status != 0:
                raise harness.Failure(err)
            traced = form.trace(folder)
            expect_close(f"the curve in {precision}", traced["loss"], form.curve, SIXTEEN)
            for key, value in form.state.items():
                if f"state/{key}" in traced:
                    expect_close(f"{key} behind {STEPS} steps", traced[f"state/{key}"], value, SIXTEEN)
    return case


def of_torch(name, expected):
    def case():
        form = Form(name)
        with harness.folder() as folder:
            status, _, err = form.compile(folder, ".dynamo", "--precision=fp32")
            if expected not in ("right", "noted"):
                if status != 1 or expected not in err:
                    raise harness.Failure(f"status {status}, not refused because something {expected}: {err}")
                return
            if status != 0 or NO_GRAD not in err:
                raise harness.Failure(f"status {status}, or no note on torch.no_grad: {err}")
            if expected == "noted" and name in STOPS:
                status, _, err = form.compile(folder, ".dynamo", "--precision=fp32", f"--stop-gradient={STOPS[name]}")
                if status != 0:
                    raise harness.Failure(err)
            if expected == "right" or name in STOPS:
                expect_curve(form, form.trace(folder))
    return case


def cases():
    names = sorted(file[:-len(".npz")] for file in os.listdir(INPUTS) if file.endswith(".npz"))
    return ([(f"forms/{name}", right(name)) for name in names] + [(f"forms/{name}/{precision}", sixteen(name, precision)) for name in names for precision in ("fp16", "bf16")]
            + [(f"forms/{name}/torch", of_torch(name, DYNAMO[name])) for name in names])


if __name__ == "__main__":
    OPTIONS = harness.arguments(__doc__)
    harness.main(cases(), OPTIONS.only)
