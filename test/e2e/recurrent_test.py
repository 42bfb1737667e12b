#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ONNX RNN, GRU and LSTM in all forms, against recurrent_model.py in float64: the outputs of `mpc run`, and the loss and the gradients of all inputs of a training program against central
differences; on the host in three precisions, on emulated GPUs, and what a user sees of lengths that are out of range and of samples that are taken for time steps.

Many nodes share one network, whose loss is a sum over all outputs of all nodes with random factors. The bounds are relative to the largest element. In fp32 they are 2e-6 for outputs and
the loss and 5e-6 for gradients: some ten roundings of 6e-8 in each of five time steps, which the recurrent product carries on; the central differences add 1e-8. In fp16 and bf16 they are
some eight roundings of 5e-4 and of 4e-3. The loss is measured against the sum of its terms' magnitudes, for terms cancel.
"""
import os
import sys

import numpy as np
from onnx import TensorProto

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import harness  # noqa: E402
from models import Graph  # noqa: E402
from recurrent_model import Form  # noqa: E402

TIME, BATCH, INPUTS = 5, 3, 3
LENGTHS = np.array([0, TIME, 3], np.int32)
OUTPUT = {"fp32": 2e-6, "fp16": 4e-3, "bf16": 3e-2}
GRADIENT = {"fp32": 5e-6, "fp16": 4e-3, "bf16": 3e-2}

DIRECTIONS = [
    Form("rnn", "RNN", h0=True),
    Form("rnn.reverse", "RNN", "reverse", layout=1, outputs="YH", h0=True),
    Form("rnn.both", "RNN", "bidirectional", outputs="H", bias=False),
    Form("gru", "GRU", outputs="YH", h0=True),
    Form("gru.reverse", "GRU", "reverse", outputs="H", linear=1, bias=False),
    Form("gru.both", "GRU", "bidirectional", layout=1, linear=1, outputs="YH", h0=True),
    Form("lstm", "LSTM", outputs="YHC", h0=True, c0=True, hidden=16),
    Form("lstm.reverse", "LSTM", "reverse", outputs="C", c0=True, bias=False),
    Form("lstm.both", "LSTM", "bidirectional", layout=1, outputs="YHC", h0=True, c0=True, peep=True),
]
ATTRIBUTES = [
    Form("relu", "RNN", "bidirectional", activations=["Relu", "LeakyRelu"], alpha=[0.3]),
    Form("defaults", "LSTM", "bidirectional", activations=["HardSigmoid", "ScaledTanh", "Elu", "Sigmoid", "LeakyRelu", "Softsign"], h0=True, c0=True, outputs="YC"),
    Form("given", "LSTM", "bidirectional", activations=["HardSigmoid", "ScaledTanh", "Elu", "Affine", "Softplus", "Affine"], alpha=[0.3, 1.5, 0.7, 0.4, 0.8], beta=[0.4, 0.6, 0.3, -0.2],
         h0=True, outputs="YC"),
    Form("affine", "RNN", activations=["Affine"]),
    Form("thresholded", "GRU", "bidirectional", activations=["Sigmoid", "ThresholdedRelu", "Softsign", "ThresholdedRelu"], alpha=[0.1], h0=True),
    Form("small letters", "GRU", activations=["hardsigmoid", "TANH"], linear=1),
    Form("clip rnn", "RNN", clip=0.3, h0=True),
    Form("clip gru", "GRU", clip=0.3, h0=True),
    Form("clip linear gru", "GRU", clip=0.3, linear=1, h0=True),
    Form("clip lstm", "LSTM", clip=0.3, peep=True, h0=True, c0=True),
    Form("coupled", "LSTM", coupled=1, outputs="YHC", c0=True),
    Form("coupled peepholes", "LSTM", "bidirectional", coupled=1, peep=True, outputs="Y"),
]
LENGTH_FORMS = [
    Form("rnn.data", "RNN", lengths="data", outputs="YH", h0=True),
    Form("gru.data", "GRU", "bidirectional", lengths="data", outputs="YH", h0=True),
    Form("lstm.data", "LSTM", "bidirectional", layout=1, lengths="data", outputs="YHC", h0=True, c0=True),
    Form("lstm.constant", "LSTM", "reverse", lengths="constant", outputs="YHC", peep=True, c0=True),
    Form("gru.constant", "GRU", lengths="constant", linear=1, outputs="YH"),
]
OLD = [
    Form("rnn", "RNN", "bidirectional", outputs="YH", lengths="constant"),
    Form("gru", "GRU", "reverse", linear=1, outputs="YH", h0=True),
    Form("lstm", "LSTM", outputs="YHC", peep=True, lengths="data", c0=True),
]
SMALL = [Form(op, op, direction, hidden=1, outputs="YHC" if op == "LSTM" else "YH", peep=op == "LSTM", h0=True) for op in ("RNN", "GRU", "LSTM") for direction in ("forward", "bidirectional")]
MIXED = [DIRECTIONS[0], DIRECTIONS[5], DIRECTIONS[8], LENGTH_FORMS[1], LENGTH_FORMS[2]]
EMULATED = [DIRECTIONS[0], DIRECTIONS[5], LENGTH_FORMS[2]]


class Network:
    """A network of one node for each form, over x [B, T, INPUTS], which a trained scale multiplies first; its graph and its model in numpy."""

    def __init__(self, forms, opset=22, time=TIME, batch=BATCH, seed=1):
        self.forms, self.time, self.batch = forms, time, batch
        rng = np.random.default_rng(seed)
        self.data = {"x": rng.normal(size=(batch, time, INPUTS)).astype(np.float32)}
        self.lengths = np.minimum(LENGTHS[:batch], time)
        if any(form.lengths == "data" for form in forms):
            self.data["lengths"] = self.lengths
        self.values, self.factors = {"p.scale": np.array([1.1, 0.9, -1.2], np.float32)}, {}
        for i, form in enumerate(forms):
            for part, shape in form.shapes(INPUTS, batch).items():
                self.values[f"p{i}.{part}"] = rng.normal(0, 0.7 if part in "WR" else 0.4, shape).astype(np.float32)
            for part, shape in form.output_shapes(time, batch).items():
                self.factors[f"{i}.{part}"] = rng.normal(size=shape).astype(np.float32)
        self.graph = self.build(opset)

    def build(self, opset):
        g = Graph(opset=opset)
        for name, array in self.data.items():
            g.input(name, list(array.shape), TensorProto.INT32 if name == "lengths" else TensorProto.FLOAT)
        for name, array in self.values.items():
            g.constant(name, array)
        x = g.node("Mul", ["x", "p.scale"], "scaled")
        turned = g.node("Transpose", [x], "turned", perm=[1, 0, 2])
        if any(form.lengths == "constant" for form in self.forms):
            g.constant("fixed", self.lengths)
        terms = []
        for i, form in enumerate(self.forms):
            def given(part):
                return f"p{i}.{part}" if f"p{i}.{part}" in self.values else ""
            inputs = [x if form.layout else turned, given("W"), given("R"), given("B"), {"data": "lengths", "constant": "fixed", None: ""}[form.lengths], given("h0"), given("c0"), given("P")]
            while not inputs[-1]:
                inputs.pop()
            outputs = [f"{i}.{part}" if part in form.outputs else "" for part in "YHC"]
            while not outputs[-1]:
                outputs.pop()
            g.node(form.op, inputs, outputs, **form.attributes())
            g.nodes[-1].name = f"node {form.name}"
            for part in form.outputs:
                g.output(f"{i}.{part}")
                weighted = g.node("Mul", [f"{i}.{part}", g.constant(f"factor.{i}.{part}", self.factors[f"{i}.{part}"])], f"weighted.{i}.{part}")
                terms.append(g.node("ReduceSum", [weighted], f"term.{i}.{part}", keepdims=0))
        for i, term in enumerate(terms[1:-1]):
            terms[0] = g.node("Add", [terms[0], term], f"sum.{i}")
        g.node("Add", [terms[0], terms[-1]], "loss")
        return g.output("loss", [])

    def losses(self, i, changed):
        """Returns the part of node i in the loss, for each of the values that the tensors of `changed` have along their first dimension, and its outputs."""
        form = self.forms[i]
        def value(name):
            return changed.get(name, self.values[name].astype(np.float64)[None])
        parts = {part: value(f"p{i}.{part}") for part in form.shapes(INPUTS, self.batch)}
        x = self.data["x"].astype(np.float64).swapaxes(0, 1)[None] * value("p.scale")[:, None, None]
        outputs = form.run(x, parts, self.lengths if form.lengths else np.full(self.batch, self.time))
        return sum((outputs[part] * self.factors[f"{i}.{part}"]).reshape(len(outputs[part]), -1).sum(1) for part in form.outputs), outputs

    def gradient(self, name):
        """Central differences of a tensor."""
        step, value = 1e-5, self.values[name].astype(np.float64)
        steps = step * np.eye(value.size).reshape(value.size, *value.shape)
        nodes = range(len(self.forms)) if name == "p.scale" else [int(name[1:].partition(".")[0])]
        above, below = (sum(self.losses(i, {name: value + steps * sign})[0] for i in nodes) for sign in (1, -1))
        return ((above - below) / (2 * step)).reshape(value.shape)


def near(what, got, want, bound):
    if got.shape != want.shape:
        raise harness.Failure(f"{what} has shape {got.shape}, not {want.shape}")
    error = np.abs(got - want).max() / max(np.abs(want).max(), 1e-3)
    if not error <= bound:
        raise harness.Failure(f"{what} differs by {error:.1e} of its largest element, allowed {bound}")


def saved(network, folder):
    network.graph.save(f"{folder}/m.onnx")
    np.savez(f"{folder}/data.npz", **network.data)


def check_outputs(network, folder):
    harness.must([OPTIONS.bin + "/mpc", "run", "m.onnx", "--data", "data.npz", "--out", "run.npz"], cwd=folder)
    got = np.load(f"{folder}/run.npz")
    for i, form in enumerate(network.forms):
        outputs = network.losses(i, {})[1]
        for part in form.outputs:
            near(f"output {part} of '{form.name}'", got[f"{i}.{part}"], outputs[part][0], OUTPUT["fp32"])


def check_gradients(network, folder, precision, device, *options):
    harness.must([OPTIONS.bin + "/mpc", "compile", "m.onnx", "-q", "--cpu=x86-64-v3", "--loss=output:loss", "--trainable=^p", "--precision=" + precision, "-o", "m", *options], cwd=folder, seconds=300)
    harness.must(["./m", "trace", "--data", "data.npz", "--steps", "1", "--out", "t.npz", "--device", device], cwd=folder, seconds=300)
    traced = np.load(f"{folder}/t.npz")
    terms = [network.losses(i, {})[0][0] for i in range(len(network.forms))]
    error = abs(traced["loss"][0] - sum(terms)) / sum(map(abs, terms))
    if not error <= OUTPUT[precision]:
        raise harness.Failure(f"the loss differs by {error:.1e}, allowed {OUTPUT[precision]}")
    for name in network.values:
        form = "" if name == "p.scale" else f" of '{network.forms[int(name[1:].partition('.')[0])].name}'"
        near(f"the gradient of {name}{form}", traced[f"grad/{name}"], network.gradient(name), GRADIENT[precision])


def agrees(forms, precision="fp32", target="host", **options):
    def run():
        network = Network(forms, **options)
        with harness.folder() as folder:
            saved(network, folder)
            if precision == "fp32" and target == "host":
                check_outputs(network, folder)
            flags = ["--target=" + (target if target == "host" else target + ",emulator")] + ([] if precision == "fp32" else ["--loss-scale=64"])
            check_gradients(network, folder, precision, "host" if target == "host" else "emulator", *flags)
    return run


def lengths_beyond():
    """A length beyond the time steps is found in the data and in the file."""
    network = Network([LENGTH_FORMS[2]])
    with harness.folder() as folder:
        saved(network, folder)
        harness.must([OPTIONS.bin + "/mpc", "compile", "m.onnx", "-q", "--cpu=x86-64-v3", "--loss=output:loss", "--trainable=^p", "-o", "m"], cwd=folder)
        for wrong in (TIME + 2, -1):
            x = np.concatenate([network.data["x"]] * 2)
            np.savez(f"{folder}/data.npz", x=x, lengths=np.array([1, 2, 3, 4, wrong, 5], np.int32))
            status, _, error = harness.run(["./m", "train", "--data", "data.npz", "--epochs", "1"], cwd=folder)
            if status != 1 or "sample 4" not in error or str(wrong) not in error or "lengths" not in error:
                raise harness.Failure(f"status {status}: {error}")
        network = Network([LENGTH_FORMS[4]])
        index = next(i for i, array in enumerate(network.graph.initializers) if array.name == "fixed")
        network.graph.initializers.pop(index)
        network.graph.constant("fixed", np.array([5, 6, 1], np.int32))
        network.graph.save(f"{folder}/fixed.onnx")
        status, _, error = harness.run([OPTIONS.bin + "/mpc", "check", "fixed.onnx", "--loss=output:loss"], cwd=folder)
        if status != 1 or "node gru.constant" not in error or "sample 1 is 6" not in error or "hint: " not in error:
            raise harness.Failure(f"status {status}: {error}")


def samples_as_time():
    """A node whose time steps are the samples of the data is told of, and trains."""
    g = Graph(opset=22)
    rng = np.random.default_rng(2)
    shapes = Form("", "GRU").shapes(INPUTS, 1)
    y = g.node("GRU", [g.input("x", ["N", 2, INPUTS])] + [g.constant(f"p.{name}", rng.normal(size=shape).astype(np.float32)) for name, shape in shapes.items()], "y", hidden_size=4)
    g.node("ReduceMean", [g.node("Mul", [y, y], "squares")], "loss", keepdims=0)
    g.output("loss", [])
    with harness.folder() as folder:
        g.save(f"{folder}/m.onnx")
        status, out, error = harness.run([OPTIONS.bin + "/mpc", "compile", "m.onnx", "--batch=6", "--loss=output:loss", "-o", "m"], cwd=folder)
        if status != 0 or "the state goes on from sample to sample of 'x'" not in out + error or "batch_first=True" not in out + error:
            raise harness.Failure(f"status {status}: {out}{error}")
        np.savez(f"{folder}/data.npz", x=rng.normal(size=(12, 2, INPUTS)).astype(np.float32))
        harness.must(["./m", "train", "--data", "data.npz", "--epochs", "1"], cwd=folder)


def main():
    cases = [("directions and outputs", agrees(DIRECTIONS)), ("activations, clips and couplings", agrees(ATTRIBUTES)), ("lengths", agrees(LENGTH_FORMS)),
             ("opset 7", agrees(OLD, opset=7)), ("opset 14", agrees(OLD[:2] + DIRECTIONS[7:], opset=14)),
             ("hidden size 1, batch 1", agrees(SMALL, batch=1)), ("one time step, batch 1", agrees(SMALL[1::2] + MIXED[:2], time=1, batch=1))]
    cases += [(precision, agrees(MIXED, precision)) for precision in ("fp16", "bf16")]
    cases += [(f"{precision} {target}", agrees(EMULATED, precision, target)) for precision, target in (("fp32", "sm_80"), ("fp16", "sm_90a"))]
    cases += [("lengths beyond the time steps", lengths_beyond), ("samples as time steps", samples_as_time)]
    harness.main(cases, OPTIONS.only)


OPTIONS = harness.arguments(__doc__)
if __name__ == "__main__":
    main()
