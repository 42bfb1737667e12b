#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains and exports networks whose state has no one-to-one initializers. The program and the exported model must predict the same.

usage: export.py WORK_DIR
"""
import json
import os
import struct
import subprocess
import sys

import numpy as np
import onnx
from onnx import helper, numpy_helper

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import programs  # noqa: E402
from network import Network  # noqa: E402

CHANNELS, STEPS = 4, 12


def statistics(n, values):
    return [n.parameter(name, (CHANNELS,), value=value) for name, value in values]


def network(norm, weight="weight"):
    """Makes x -> norm 1 -> matmul -> norm 2 -> logits. norm(n, x, index) adds a normalisation and returns its result."""
    n = Network(opset=15)
    y = norm(n, n.input("x", [8, CHANNELS]), 1)
    y = norm(n, n.node("MatMul", [y, n.parameter(weight, (CHANNELS, CHANNELS), fan_in=CHANNELS)], "product"), 2)
    n.linear(y, "logits", CHANNELS, 3)
    return n.output("logits", [8, 3])


def affine(n, index):
    return statistics(n, [(f"scale{index}", 1), (f"bias{index}", 0)])


def shared(n, x, index):
    """Makes norms that both read one mean and one variance."""
    if index == 1:
        statistics(n, [("mean", 0), ("var", 1)])
    y = n.node("BatchNormalization", [x, *affine(n, index), "mean", "var"], f"norm{index}")
    n.nodes[-1].ClearField("name")
    return y


def constants(n, x, index):
    """Makes norms that both read their statistics from Constant nodes."""
    if index == 1:
        for name, value in (("zero", 0), ("one", 1)):
            n.node("Constant", [], name, value=numpy_helper.from_array(np.full(CHANNELS, value, np.float32)))
    return n.node("BatchNormalization", [x, *affine(n, index), "zero", "one"], f"norm{index}")


def awkward(n, x, index):
    """Makes norms with initializers that are named as entries of a program are."""
    names = ("main", "eval", "predict", "init") if index == 1 else ("forward", "main_0", "rng.seed", "rng.step")
    return n.node("BatchNormalization", [x, *statistics(n, zip(names, (1, 0, 0, 1)))], f"norm{index}")


def branch(n, x, index):
    """Puts the second norm into a branch, where it shares the first one's statistics."""
    if index == 1:
        return shared(n, x, index)
    node = helper.make_node("BatchNormalization", [x, *affine(n, index), "mean", "var"], ["inner"])
    taken = helper.make_graph([node], "taken", [], [helper.make_tensor_value_info("inner", onnx.TensorProto.FLOAT, None)])
    other = helper.make_graph([helper.make_node("Identity", [x], ["same"])], "other", [], [helper.make_tensor_value_info("same", onnx.TensorProto.FLOAT, None)])
    return n.node("If", [n.constant("condition", True, np.bool_)], "branched", then_branch=taken, else_branch=other)


def function(own):
    """Makes norms that are calls of a function and have statistics of their own or share them."""
    def norm(n, x, index):
        if index == 1:
            body = [helper.make_node("BatchNormalization", ["X", "S", "B", "M", "V"], ["Y"])]
            n.functions.append(helper.make_function("local", "Norm", ["X", "S", "B", "M", "V"], ["Y"], body, [helper.make_opsetid("", 15)]))
        names = (f"mean{index}", f"var{index}") if own else ("mean", "var")
        if own or index == 1:
            statistics(n, zip(names, (0, 1)))
        y = n.node("Norm", [x, *affine(n, index), *names], f"norm{index}")
        n.nodes[-1].domain = "local"
        return y
    return norm


def save(n, path, **options):
    proto = n.proto()
    if n.functions:
        proto.opset_import.add(domain="local", version=1)
    onnx.save(proto, path, **options)


def mpc(*arguments, fails=""):
    done = subprocess.run(["mpc", *arguments], capture_output=True, text=True)
    assert (done.returncode == 1 and fails in done.stderr) if fails else done.returncode == 0, (arguments, done.stdout, done.stderr)
    return done.stdout + done.stderr


class Training:
    """A network, its program, and the checkpoint that the program has trained."""
    extra = ()

    def __init__(self, work, name, n, **options):
        self.folder = os.path.join(work, name)
        os.makedirs(self.folder, exist_ok=True)
        self.model, self.program = self.path("model.onnx"), self.path("program")
        save(n, self.model, **options)
        self.said = mpc("compile", self.model, "-o", self.program, "--cpu=x86-64-v3", "--precision=fp32", "--loss=softmax_cross_entropy:logits:labels", "--optimizer=adam", "--lr=0.05", *self.extra)
        rng = np.random.default_rng(3)
        self.data, self.inputs = self.path("data.npz"), self.path("inputs.npz")
        x = rng.normal(2, 3, (64, CHANNELS)).astype(np.float32)
        np.savez(self.data, x=x, labels=rng.integers(0, 3, 64))
        np.savez(self.inputs, x=x[:8])
        programs.run(self.program, "train", "--data", self.data, "--steps", str(STEPS), "--checkpoint-dir", self.folder)
        self.checkpoint = self.path(f"step-{STEPS:08}.safetensors")

    def path(self, name):
        return os.path.join(self.folder, name)

    def predict(self, checkpoint, program=None):
        out = self.path("predicted.npz")
        programs.run(program or self.program, "predict", "--data", self.inputs, "--checkpoint", checkpoint, "--out", out)
        return np.load(out)["logits"]

    def run(self, model):
        out = self.path("run.npz")
        mpc("run", model, "--data", self.inputs, "--out", out)
        return np.load(out)["logits"]

    def export(self, *path):
        exported = self.path(os.path.join(*path))
        mpc("export", self.model, "--checkpoint", self.checkpoint, "-o", exported)
        return exported

    def agrees(self, exported):
        """Checks that the exported model predicts what the program predicts. Both compute in fp32 and sum 4 products twice, in any order."""
        expected, found = self.predict(self.checkpoint), self.run(exported)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
        assert np.abs(found - self.run(self.model)).max() > 0.1, "nothing was trained"


def initializers(path):
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in onnx.load(path).graph.initializer}


def places(work):
    """Exports norms with shared statistics, and others whose initializer cannot be found by its name alone."""
    for name, norm, own in (("shared", shared, 2), ("constants", constants, 4), ("names", awkward, 0), ("branch", branch, 2), ("functions", function(True), 0)):
        training = Training(work, name, network(norm, "main_1" if norm is awkward else "weight"))
        exported = training.export("exported.onnx")
        onnx.checker.check_model(exported)
        before, after = initializers(training.model), initializers(exported)
        training.agrees(exported)
        assert before.keys() <= after.keys() and len(after) == len(before) + own, after.keys()
        assert "export will refuse" not in training.said, training.said
        if norm is shared:
            assert np.abs(after["mean"] - after["mean@norm2"]).max() > 0.1
        if norm is constants:
            assert all(node.op_type != "Constant" for node in onnx.load(exported).graph.node)
        print(f"{name}: {own} tensors of their own, agrees", flush=True)


def refused(work):
    training = Training(work, "refused", network(function(False)))
    assert "function" in training.said and "export will refuse" in training.said, training.said
    out = training.path("exported.onnx")
    mpc("export", training.model, "--checkpoint", training.checkpoint, "-o", out, fails="its node is in a function")
    assert not os.path.exists(out)
    print("a function called twice: refused", flush=True)


class Frozen(Training):
    """A training that leaves the last layer as it is."""
    extra = ("--freeze=^logits",)


class Grouped(Training):
    """A training with a parameter group that is selected by an initializer's name."""
    extra = ("--param-group=^main$:lr=0.5",)


def data_files(work):
    """Exports a model with frozen weights in a data file. The exported model finds them whether it is beside that file or elsewhere."""
    n = network(shared)
    training = Frozen(work, "data", n, save_as_external_data=True, location="weights.bin", size_threshold=0, convert_attribute=False)
    os.makedirs(training.path("other"), exist_ok=True)
    elsewhere, beside = training.export("other", "exported.onnx"), training.export("exported.onnx")
    os.rename(training.path("weights.bin"), training.path("gone.bin"))
    onnx.load(elsewhere)
    os.rename(training.path("gone.bin"), training.path("weights.bin"))
    training.agrees(elsewhere)
    training.agrees(beside)
    print("data files: agrees", flush=True)


def rewritten(path, target, change):
    """Writes a copy of a safetensors file with its metadata changed."""
    raw = open(path, "rb").read()
    size, = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8:8 + size])
    header["__metadata__"]["format"] = "mpc-checkpoint-1"  # a format whose header has no checksum
    del header["__metadata__"]["header_crc32"]
    change(header["__metadata__"])
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(target, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + raw[8 + size:])
    return target


def old_checkpoints(work):
    training = Training(work, "old", network(shared))
    old = rewritten(training.checkpoint, training.path("old.safetensors"), lambda metadata: metadata.pop("network"))
    newer = rewritten(training.checkpoint, training.path("newer.safetensors"), lambda metadata: metadata.update(network="mean\nvar"))
    for path in (old, newer):
        assert (training.predict(path) == training.predict(training.checkpoint)).all()
        mpc("export", training.model, "--checkpoint", path, "-o", training.path("exported.onnx"), fails="resume from this checkpoint")
    # --init, which takes tensors from another program, also finds them by their old names.
    again = training.path("again")
    programs.run(training.program, "train", "--data", training.data, "--steps", "1", "--lr", "0", "--init", old, "--checkpoint-dir", again)
    for name, value in programs.checkpoint(os.path.join(again, "step-00000001.safetensors")).items():
        if name in ("weight", "logits.weight"):
            assert (value == programs.checkpoint(old)[name]).all(), name
    print("old checkpoints: resume, and are not exported", flush=True)


def plain(path, values):
    """Writes a safetensors file without metadata."""
    header, data = {}, b""
    for name, value in values.items():
        header[name] = {"dtype": "F32", "shape": list(value.shape), "data_offsets": [len(data), len(data) + value.nbytes]}
        data += value.tobytes()
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)
    return path


def weights(work):
    """Plain weights are found by the names that the model gives them. Both norms start from the statistics that they share."""
    training = Grouped(work, "weights", network(awkward, "main_1"))
    exported = training.export("exported.onnx")
    values = initializers(exported)
    path = plain(training.path("plain.safetensors"), values)
    assert (training.predict(path) == training.predict(training.checkpoint)).all()
    again = training.path("again.onnx")
    mpc("export", training.model, "--checkpoint", path, "-o", again)
    assert open(again, "rb").read() == open(exported, "rb").read()
    out = training.path("trace.npz")
    trace = programs.trace(training.program, training.data, 1, out)
    assert {"grad/main", "grad/eval", "grad/main_0", "grad/main_1", "state/main", "state/predict"} <= trace.keys(), trace.keys()
    assert "grad/main_0_0" not in trace
    del values["main"]
    done = subprocess.run([training.program, "predict", "--data", training.inputs, "--checkpoint", plain(path, values), "--out", out], capture_output=True, text=True)
    assert done.returncode == 1 and "has no tensor 'main'" in done.stderr, done.stderr
    print("weights: by their ONNX names", flush=True)


def main():
    work = sys.argv[1]
    os.makedirs(work, exist_ok=True)
    places(work)
    refused(work)
    data_files(work)
    old_checkpoints(work)
    weights(work)


if __name__ == "__main__":
    main()
