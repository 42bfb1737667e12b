#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`mpc verify`: a step compared with a reference, whose loss and gradients are derived by hand here (tools/torch/export.py takes them from PyTorch)."""
import json
import os

import numpy as np
from onnx import numpy_helper

import harness
from models import Graph, mlp

BATCH, LOSS = 4, "softmax_cross_entropy:logits:labels"
META = {"format": 1, "torch": "2.15.0", "loss": LOSS, "dims": {"N": BATCH}, "precision": "float32", "outputs": ["logits"]}


def check(true, *what):
    if not true:
        raise harness.Failure(" ".join(map(str, what)))


def weights_of(graph):
    return {tensor.name: numpy_helper.to_array(tensor).astype(np.float64) for tensor in graph.proto().graph.initializer}


def data():
    rng = np.random.default_rng(3)
    return rng.normal(0, 1, (BATCH, 4)).astype(np.float32), np.array([0, 2, 1, 2], np.int64)


def cross_entropy(logits, labels, smoothing=0.0):
    """Returns the mean of the samples' losses, and its gradient."""
    probabilities = np.exp(logits - logits.max(1, keepdims=True))
    probabilities /= probabilities.sum(1, keepdims=True)
    target = np.eye(logits.shape[1])[labels] * (1 - smoothing) + smoothing / logits.shape[1]
    return -(target * np.log(probabilities)).sum() / len(logits), (probabilities - target) / len(logits)


def fingerprint(x):
    x = x.reshape(-1)
    return np.array([np.abs(x).sum(), np.sqrt((x * x).sum()), (x * np.cos(np.arange(x.size))).sum()])


def mlp_step(weights, x, labels, smoothing=0.0):
    """Returns (loss, gradients, values) of models.mlp."""
    values = {"fc1": x @ weights["fc1.weight"].T + weights["fc1.bias"]}
    values["relu1"] = np.maximum(values["fc1"], 0)
    values["logits"] = values["relu1"] @ weights["fc2.weight"].T + weights["fc2.bias"]
    loss, d = cross_entropy(values["logits"], labels, smoothing)
    hidden = d @ weights["fc2.weight"] * (values["fc1"] > 0)
    return loss, {"fc1.weight": hidden.T @ x, "fc1.bias": hidden.sum(0), "fc2.weight": d.T @ values["relu1"], "fc2.bias": d.sum(0)}, values


def arrays_of(loss, gradients, values, inputs, meta=None, **more):
    arrays = {"meta": np.frombuffer(json.dumps({**META, **(meta or {})}).encode(), np.uint8), "loss": np.float64(loss), "own/loss": np.float64(loss)}
    arrays.update({f"input/{name}": value for name, value in inputs.items()})
    arrays.update({f"grad/{name}": value for name, value in gradients.items()})
    arrays.update({f"own/grad/{name}": value for name, value in gradients.items()})
    arrays.update({f"value/{name}": fingerprint(value) for name, value in values.items()})
    return {**arrays, **more}


def reference(graph, **options):
    """Returns the arrays of a reference that is right for models.mlp."""
    x, labels = data()
    loss, gradients, values = mlp_step(weights_of(graph), x.astype(np.float64), labels, **options)
    return arrays_of(loss, gradients, values, {"x": x, "labels": labels})


def scale(arrays, name, factor):
    """Makes a gradient of the reference wrong, in both of PyTorch's precisions."""
    for array in ("grad/" + name, "own/grad/" + name):
        arrays[array] = arrays[array] * factor


def verify(folder, graph, arrays, *options, differs=False):
    """Returns what is printed on stdout, or on both where the command must fail."""
    graph.save(f"{folder}/model.onnx")
    if arrays is not None:
        np.savez(f"{folder}/ref.npz", **arrays)
    status, out, err = harness.run([OPTIONS.bin + "/mpc", "verify", "model.onnx", "--reference", "ref.npz", *options], cwd=folder)
    check(status == int(differs), "status", status, out, err)
    if not differs:
        check(err == "", "stderr", err)
    return out + err


def row(said, name):
    """Returns (error, bound, verdict) of a row of the table."""
    found = [line.split(maxsplit=3) for line in said.splitlines() if line.startswith(name + "  ")]
    check(len(found) == 1, "no row", name, said)
    return float(found[0][1]), float(found[0][2]), found[0][3]


def expect(said, *texts):
    for text in texts:
        check(text in said, f"not said: {text}\n{said}")


#===-- What agrees ---------------------------------------------------------------------===#


def right():
    with harness.folder() as folder:
        graph = mlp()
        said = verify(folder, graph, reference(graph), "--json=report.json")
        expect(said, "verify: model.onnx against ref.npz (PyTorch 2.15.0): fp32 on host", f"loss: {LOSS}, as in the reference", "ok: model.onnx trains as PyTorch does: 5 numbers agree")
        for name in ("loss", "fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"):
            error, bound, verdict = row(said, name)
            check(error <= bound == (1e-5 if name == "loss" else 1e-4) and verdict.startswith("ok"), said)
        names = [line.split()[0] for line in said.splitlines() if "  ok" in line]
        check(names == ["loss", "fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"], "order of the file", names)
        report = json.load(open(f"{folder}/report.json"))
        check(report["ok"] and report["precision"] == "fp32" and [each["name"] for each in report["numbers"]] == names, report)


def dimensions():
    """Checks that the reference's dimensions bind those of the file, whose names may be others where only the batch is open."""
    with harness.folder() as folder:
        arrays = reference(mlp())
        for graph in (mlp(batch="samples"), mlp(batch=BATCH)):
            expect(verify(folder, graph, arrays), "5 numbers agree")
        g = Graph()
        g.node("MatMul", [g.input("x", ["N", "T", 4]), g.weight("fc.weight", (4, 3))], "logits")
        graph = g.output("logits", ["N", "T", 3])
        x, labels = np.random.default_rng(3).normal(0, 1, (BATCH, 5, 4)).astype(np.float32), np.arange(BATCH * 5).reshape(BATCH, 5) % 3
        logits = x.astype(np.float64) @ weights_of(graph)["fc.weight"]
        loss, d = cross_entropy(logits.reshape(-1, 3), labels.reshape(-1))
        arrays = arrays_of(loss, {"fc.weight": x.reshape(-1, 4).T @ d}, {"logits": logits}, {"x": x, "labels": labels}, {"dims": {"N": BATCH, "T": 5}})
        expect(verify(folder, graph, arrays, f"--loss={LOSS},axis=2"), "2 numbers agree")


def own_error():
    """Checks that the bound is three times PyTorch's own distance from float64, and more for few elements, where that is larger."""
    with harness.folder() as folder:
        graph = mlp()
        arrays = reference(graph)
        arrays["own/grad/fc1.weight"] = arrays["grad/fc1.weight"] * (1 + 1e-2)
        arrays["own/loss"] = arrays["loss"] * (1 + 1e-3)
        said = verify(folder, graph, arrays)
        check(abs(row(said, "fc1.weight")[1] - 3e-2 * (1 + 4 / 32**0.5)) < 1e-3 and abs(row(said, "loss")[1] - 3e-3) < 1e-4, said)
        arrays["own/grad/fc1.weight"] = arrays["grad/fc1.weight"] * 1.5
        expect(verify(folder, graph, arrays), "says little: PyTorch itself is that far from float64", "5 numbers agree, 1 of them within bounds that say little")


def precision(name, target):
    """Checks a low precision with autocast's error in the reference, and without."""
    def case():
        with harness.folder() as folder:
            graph = mlp()
            arrays = reference(graph)
            unit = {"fp16": 2.0**-11, "bf16": 2.0**-8}[name]
            numpy = {"fp16": "float16", "bf16": "bfloat16"}[name]
            options = [f"--precision={name}"] + (["--target=sm_80,emulator", "--device=emulator"] if target == "emulator" else [])
            said = verify(folder, graph, arrays, *options)
            expect(said, f"): {name} O1 on {target}", "loss scale: " if name == "fp16" else "ok: ")
            error, bound, _ = row(said, "fc1.weight")
            check(1e-7 < error <= bound and abs(bound - 64 * unit) < 1e-3, said)  # it is no fp32 that ran
            for parameter in ("fc1.weight", "fc2.weight"):
                arrays[f"error/{numpy}/{parameter}"] = np.float64({"fc1.weight": 4 * unit, "fc2.weight": unit}[parameter])
            said = verify(folder, graph, arrays, *options)
            bounds = [row(said, parameter)[1] / unit for parameter in ("fc1.weight", "fc2.weight")]
            check(abs(bounds[0] - 3 * (1 + 4 / 32**0.5) * 4) < 0.5 and abs(bounds[1] - 8) < 0.5, said)
            scale(arrays, "fc2.weight", 1 + 64 * unit)
            expect(verify(folder, graph, arrays, *options, differs=True), "hint: run this again with --precision=fp32: if that agrees, the difference is " + name)
            scale(arrays, "fc2.weight", 100)
            expect(verify(folder, graph, arrays, *options, differs=True), "hint: the file may lack a gradient stop")
    return case


def overflow():
    """Checks that a dynamic scale shrinks until a step is not skipped, and that the state of that step is compared."""
    with harness.folder() as folder:
        graph = mlp()
        said = verify(folder, graph, reference(graph), "--precision=fp16", "--init-scale=1073741824")
        found = [line for line in said.splitlines() if line.startswith("loss scale: ")]
        check(len(found) == 1 and "steps that overflowed; the gradients are unscaled" in found[0], said)
        expect(verify(folder, graph, reference(graph), "--precision=fp16", "--loss-scale=1073741824", differs=True), "not finite here")
        expect(verify(folder, graph, reference(graph), "--precision=fp16", "--loss-scale=128"), "loss scale: 128;")


def emulator():
    with harness.folder() as folder:
        graph = mlp()
        expect(verify(folder, graph, reference(graph), "--target=sm_80,emulator", "--device=emulator"), "fp32 on emulator", "ok: ")
        for target, options, named in (("sm_86", ["--device=emulator"], "sm_86"), ("host", ["--device=emulator"], "sm_80"), ("sm_86", [], "sm_86")):
            # A machine with a GPU shows none here.
            status, out, err = harness.run([OPTIONS.bin + "/mpc", "verify", "model.onnx", "--reference", "ref.npz", "--target=" + target, *options], cwd=folder,
                                           environment={**os.environ, "CUDA_VISIBLE_DEVICES": "-1"})
            check(status == 1, "status", status, out, err)
            expect(err[err.index("hint: "):], f"--target={named},emulator")


def rounded_zero():
    """Checks a gradient that is zero but for rounding, here that of a bias before a batch norm, and one that PyTorch has not computed."""
    with harness.folder() as folder:
        g = Graph()
        hidden = g.node("Gemm", [g.input("x", ["N", 4]), g.weight("fc1.weight", (8, 4)), g.weight("fc1.bias", (8,))], "fc1", transB=1)
        statistics = [g.constant(f"norm.{part}", np.full(8, value, np.float32)) for part, value in (("weight", 1), ("bias", 0), ("running_mean", 0), ("running_var", 1))]
        g.node("BatchNormalization", [hidden, *statistics], ["norm", "mean", "var"], training_mode=1)
        g.node("Gemm", ["norm", g.weight("fc2.weight", (3, 8)), g.weight("fc2.bias", (3,))], "logits", transB=1)
        graph = g.output("logits", ["N", 3])
        x, labels = data()
        weights = weights_of(graph)
        fc1 = x.astype(np.float64) @ weights["fc1.weight"].T + weights["fc1.bias"]
        deviation = np.sqrt(fc1.var(0) + 1e-5)
        norm = (fc1 - fc1.mean(0)) / deviation
        loss, d = cross_entropy(norm @ weights["fc2.weight"].T + weights["fc2.bias"], labels)
        back = d @ weights["fc2.weight"]
        before = (back - back.mean(0) - norm * (back * norm).mean(0)) / deviation
        gradients = {"fc1.weight": before.T @ x, "fc1.bias": before.sum(0) + 1e-17, "norm.weight": (back * norm).sum(0), "norm.bias": back.sum(0), "fc2.weight": d.T @ norm, "fc2.bias": d.sum(0)}
        every = np.sqrt(sum((g * g).sum() for g in gradients.values()))
        arrays = arrays_of(loss, gradients, {"fc1": fc1, "norm": norm}, {"x": x, "labels": labels})
        expect(verify(folder, graph, arrays), "7 numbers agree")
        arrays["grad/fc1.bias"] = arrays["own/grad/fc1.bias"] = np.full(8, 1e-5 * every)
        expect(verify(folder, graph, arrays, differs=True), "error: model.onnx: the gradient of 'fc1.bias' differs")


def zero_gradients():
    """Checks parameters of which PyTorch says that the loss does not depend on them."""
    with harness.folder() as folder:
        graph = mlp()
        graph.weight("unused", (3,))
        arrays = reference(graph)
        arrays["grad/unused"] = np.zeros(3)
        expect(verify(folder, graph, arrays), "no gradient on either side", "6 numbers agree")


def dropout():
    with harness.folder() as folder:
        graph = mlp(dropout=0.5)
        arrays = reference(graph)
        expect(verify(folder, graph, arrays, differs=True), "error: drop1: drops elements, and the reference was not made with dropout off", "hint: write the reference again")
        x, labels = data()
        loss, gradients, values = mlp_step(weights_of(graph), x.astype(np.float64), labels)
        arrays = arrays_of(loss, gradients, {**values, "drop1": values["relu1"]}, {"x": x, "labels": labels}, {"dropout": "off"})
        expect(verify(folder, graph, arrays), "dropout: off, as in the reference: 1\n", "ok: ")
        scale(arrays, "fc2.bias", 2)
        expect(verify(folder, graph, arrays, differs=True), "forward pass: the 4 values that both sides have agree")


def written_dropout():
    """Checks dropout that the file writes with random numbers, and random ops other than dropout."""
    with harness.folder() as folder:
        def graph(mean_one):
            g = Graph()
            hidden = g.node("Gemm", [g.input("x", ["N", 4]), g.weight("fc1.weight", (8, 4)), g.weight("fc1.bias", (8,))], "fc1", transB=1)
            hidden = g.node("Relu", [hidden], "relu1")
            draws = g.node("RandomUniformLike", [hidden], "draws")
            kept = g.node("Cast", [g.node("Less", [draws, g.constant("keep", np.float32(0.75))], "kept")], "mask", to=1)
            hidden = g.node("Mul", [hidden, kept], "masked")
            if mean_one:
                hidden = g.node("Div", [hidden, "keep"], "scaled")
            g.node("Gemm", [hidden, g.weight("fc2.weight", (3, 8)), g.weight("fc2.bias", (3,))], "logits", transB=1)
            return g.output("logits", ["N", 3])
        x, labels = data()
        loss, gradients, values = mlp_step(weights_of(graph(True)), x.astype(np.float64), labels)
        arrays = arrays_of(loss, gradients, values, {"x": x, "labels": labels}, {"dropout": "off"})
        expect(verify(folder, graph(True), arrays), "dropout: off, as in the reference: 1\n", "ok: ")
        expect(verify(folder, graph(False), arrays, differs=True), "error: draws: is a random op other than dropout", "hint: give them to the module as an input")


def normalized():
    """Makes x [batch, 4] -> a norm that trains -> logits [batch, 3]."""
    g = Graph()
    channels = [g.constant(f"norm.{part}", np.full(4, value, np.float32)) for part, value in (("weight", 1.5), ("bias", 0.25), ("running_mean", 0.5), ("running_var", 2.0))]
    g.node("BatchNormalization", [g.input("x", ["N", 4]), *channels], ["norm", "mean", "var"], training_mode=1, momentum=0.9, epsilon=1e-5)
    g.node("Gemm", ["norm", g.weight("fc.weight", (3, 4)), g.weight("fc.bias", (3,))], "logits", transB=1)
    return g.output("logits", ["N", 3])


def normalized_step(graph, x, labels):
    weights = weights_of(graph)
    mean, variance = x.mean(0), x.var(0)
    standard = (x - mean) / np.sqrt(variance + 1e-5)
    norm = standard * weights["norm.weight"] + weights["norm.bias"]
    logits = norm @ weights["fc.weight"].T + weights["fc.bias"]
    loss, d = cross_entropy(logits, labels)
    back = d @ weights["fc.weight"]
    gradients = {"norm.weight": (back * standard).sum(0), "norm.bias": back.sum(0), "fc.weight": d.T @ norm, "fc.bias": d.sum(0)}
    buffers = {"norm.running_mean": 0.9 * 0.5 + 0.1 * mean, "norm.running_var": 0.9 * 2.0 + 0.1 * variance}
    return loss, gradients, {"norm": norm, "logits": logits}, buffers


def buffers():
    """Checks what a step updates besides parameters, and the loss of a second step, for which the parameters stay."""
    with harness.folder() as folder:
        graph = normalized()
        x, labels = data()
        loss, gradients, values, state = normalized_step(graph, x.astype(np.float64), labels)
        arrays = arrays_of(loss, gradients, values, {"x": x, "labels": labels}, **{f"buffer/{name}": value for name, value in state.items()}, **{"loss/2": np.float64(loss)})
        said = verify(folder, graph, arrays)
        expect(said, "buffer norm.running_mean", "buffer norm.running_var", "8 numbers agree")
        check(row(said, "loss/2")[0] < 1e-5, said)
        # An overflow before the step changes no state.
        expect(verify(folder, graph, arrays, "--precision=fp16", "--init-scale=1073741824"), "steps that overflowed", "8 numbers agree")
        # A running mean near zero is compared in standard deviations.
        arrays["buffer/norm.running_mean"] = arrays["buffer/norm.running_mean"] + 1e-6
        expect(verify(folder, graph, arrays), "8 numbers agree")
        arrays["buffer/norm.running_mean"] = arrays["buffer/norm.running_mean"] + 1e-2
        arrays["loss/2"] = arrays["loss/2"] * 1.01
        expect(verify(folder, graph, arrays, differs=True), "error: model.onnx: 2 of 8 numbers differ from PyTorch's, first the buffer 'norm.running_mean'",
               "hint: the file does not update a buffer as the module does")
        arrays["buffer/ema"] = np.zeros(3)
        expect(verify(folder, graph, arrays, differs=True), "not updated here: the file has no state of this name")


#===-- What differs ----------------------------------------------------------------------===#


def wrong_gradient():
    with harness.folder() as folder:
        graph = mlp()
        arrays = reference(graph)
        scale(arrays, "fc1.weight", 1.01)
        scale(arrays, "fc1.bias", 1.01)
        said = verify(folder, graph, arrays, "--json=report.json", differs=True)
        error, bound, verdict = row(said, "fc1.weight")
        check(abs(error - 0.01 / 1.01) < 1e-4 and verdict == "DIFFERS" and row(said, "fc2.weight")[2] == "ok", said)
        expect(said, "forward pass: the 3 values that both sides have agree in float64",
               "first difference: of the gradients that differ, that of 'fc1.weight' is nearest to the loss; node 'fc1' (Gemm) reads it",
               "error: model.onnx: 2 of 5 numbers differ from PyTorch's, first the gradient of 'fc1.weight'",
               "hint: the file may lack a gradient stop (detach, torch.no_grad) or a frozen part", "--stop-gradient=REGEX", "--freeze=REGEX")
        report = json.load(open(f"{folder}/report.json"))
        check(not report["ok"] and [each["ok"] for each in report["numbers"]] == [True, False, False, True, True] and len(report["differences"]) == 2, report)
        # Values that the reference lacks are not compared, but the parameter is found.
        bare = {name: value for name, value in arrays.items() if not name.startswith("value/")}
        expect(verify(folder, graph, bare, differs=True), "forward pass: not compared value by value: the reference has no values of the forward pass", "that of 'fc1.weight' is nearest to the loss")


def spoiled_forward():
    with harness.folder() as folder:
        graph, arrays = mlp(), reference(mlp())
        graph.nodes[1].op_type = "LeakyRelu"
        said = verify(folder, graph, arrays, differs=True)
        expect(said, "first difference: value 'relu1' of node 'relu1' (LeakyRelu) has the norm", "; the 1 values before it agree", "hint: node 'relu1' (LeakyRelu) does not compute what the module does",
               "'mpc check model.onnx'")


class ByTool:
    """A graph that says that tools/torch/export.py has written it."""

    def __init__(self, graph):
        self.graph = graph

    def save(self, path):
        model = self.graph.proto()
        model.metadata_props.add(key="mpc.training_form", value="True")
        with open(path, "wb") as file:
            file.write(model.SerializeToString())


def spoiled_by_tool():
    """Checks that the hint does not ask for the tool that has written the file."""
    with harness.folder() as folder:
        graph, arrays = mlp(), reference(mlp())
        graph.nodes[1].op_type = "LeakyRelu"
        expect(verify(folder, ByTool(graph), arrays, differs=True), "hint: node 'relu1' (LeakyRelu) does not compute what the module does: write that part of the module in another way")


def another_loss():
    with harness.folder() as folder:
        graph = mlp()
        arrays = reference(graph, smoothing=0.1)
        expect(verify(folder, graph, arrays, differs=True), "error: model.onnx: 5 of 5 numbers differ", "first 'loss'", f"hint: give the loss that the module is trained with, with all its options, by --loss (here: {LOSS})")
        expect(verify(folder, graph, arrays, f"--loss={LOSS},label_smoothing=0.1"), f"loss: {LOSS},label_smoothing=0.1\n", "ok: ")


def parameters():
    """Checks parameters that one side trains and the other does not."""
    with harness.folder() as folder:
        graph = mlp()
        arrays = reference(graph)
        without = {name: value for name, value in arrays.items() if name != "grad/fc2.bias"}
        expect(verify(folder, graph, without, differs=True), "trained here, and not in PyTorch", "hint: PyTorch gives it no gradient: keep it with --freeze=fc2.bias")
        expect(verify(folder, graph, without, "--freeze=fc2.bias"), "4 numbers agree")
        expect(verify(folder, graph, arrays, "--freeze=fc2.bias", differs=True), "DIFFERS  not trained here: frozen by --freeze", "hint: train it as PyTorch does")
        expect(verify(folder, graph, {**arrays, "grad/fc2.bias": np.zeros(3), "own/grad/fc2.bias": np.zeros(3)}, differs=True), "DIFFERS  no gradient in PyTorch")
        expect(verify(folder, graph, {**arrays, "grad/other": np.ones(3)}, differs=True), "the file has no tensor of this name", "error: model.onnx: the gradient of 'other' differs from PyTorch's")
        expect(verify(folder, graph, {**arrays, "grad/fc2.bias": np.ones((1, 3))}, differs=True), "has the shape [3] here and [1,3] in PyTorch")


def not_finite():
    with harness.folder() as folder:
        graph = mlp()
        arrays = reference(graph)
        arrays["grad/fc2.bias"] = np.full(3, np.nan)
        expect(verify(folder, graph, arrays, differs=True), "DIFFERS")


def evaluation():
    """Checks outputs of eval mode, in which the network drops nothing."""
    with harness.folder() as folder:
        graph, (x, _) = mlp(), data()
        arrays = reference(graph)
        arrays["eval/logits"] = mlp_step(weights_of(graph), x.astype(np.float64), data()[1])[2]["logits"]
        said = verify(folder, graph, arrays, "--json=report.json")
        expect(said, "ok: model.onnx trains as PyTorch does: 6 numbers agree")
        error, bound, verdict = row(said.replace("\neval ", "\neval:"), "eval:logits")
        check(error <= bound == 1e-4 and verdict == "ok", said)
        check(json.load(open(f"{folder}/report.json"))["numbers"][-1]["kind"] == "evaluation", "kind")
        expect(verify(folder, graph, arrays, "--precision=fp16"), "eval logits", "6 numbers agree")
        arrays["eval/logits"] = arrays["eval/logits"] * 1.01
        expect(verify(folder, graph, arrays, differs=True), "error: model.onnx: the output 'logits' in eval mode differs from PyTorch's", "hint: training agrees, and forward computes something else in eval mode",
               "forward pass: the 3 values that both sides have agree")
        expect(verify(folder, graph, {**arrays, "rounding/eval/logits": np.linalg.norm(arrays["eval/logits"]) / 100}), "6 numbers agree")
        expect(verify(folder, graph, {**arrays, "eval/logits": np.ones(3)}, differs=True), "has the shape [4,3] here and [3] in PyTorch")
        # What predict leaves out, such as a loss, is not compared.
        expect(verify(folder, graph, {**reference(graph), "eval/loss": np.float64(1)}), "5 numbers agree")


#===-- Bad files ---------------------------------------------------------------------------===#


def bad_reference():
    with harness.folder() as folder:
        graph = mlp()
        arrays = reference(graph)

        def refused(changed, *texts, options=()):
            said = verify(folder, graph, {name: value for name, value in {**arrays, **changed}.items() if value is not None}, *options, differs=True)
            expect(said, *texts)
            check("hint: " in said, "no hint", said)

        def meta(**changes):
            return {"meta": np.frombuffer(json.dumps({**META, **changes}).encode(), np.uint8)}
        refused({"meta": None}, "error: ref.npz: has no array 'meta'")
        refused({"meta": np.zeros(8, np.uint8)}, "error: ref.npz: meta: is not what a reference says about itself")
        refused({"meta": np.zeros(8, np.float32)}, "error: ref.npz: meta: is not a row of uint8 that holds JSON")
        refused(meta(format=2), "error: ref.npz: is a reference of format 2; this mpc reads format 1")
        refused(meta(loss=7), "error: ref.npz: meta: ")
        refused(meta(dims=[1]), "error: ref.npz: meta: ")
        refused(meta(loss="no_loss:logits:labels"), "no_loss")
        refused({"loss": None}, "error: ref.npz: has no array 'loss'")
        refused({"loss": np.zeros(2)}, "error: ref.npz: loss: has the shape [2]; [] is expected")
        refused({"loss": np.int64(3)}, "error: ref.npz: loss: holds i64; floats are expected")
        refused({name: None for name in arrays if name.startswith("grad/")}, "error: ref.npz: has no arrays 'grad/NAME'")
        refused({"input/x": None}, "error: ref.npz: has no array 'input/x', which the step needs")
        refused({"input/x": np.zeros((BATCH, 5), np.float32)}, "error: ref.npz: input/x: ")
        refused({"input/labels": np.full(BATCH, 3)}, "error: ref.npz: input/labels: ", "label 3")
        refused({"own/grad/fc1.weight": np.zeros(3)}, "error: ref.npz: own/grad/fc1.weight: has the shape [3]; [8,4] is expected")
        refused({}, "error: --batch: no input of ref.npz has a leading dimension of 8", options=["--batch=8"])
        refused({}, "error: ref.npz: input/", "hint: leave --batch and --dim out", options=["--dim=N=8"])
        whole = open(f"{folder}/ref.npz", "rb").read()
        for size in (0, 10, len(whole) // 2, len(whole) - 5):
            open(f"{folder}/ref.npz", "wb").write(whole[:size])
            expect(verify(folder, graph, None, differs=True), "error: ref.npz", "hint: ")
        expect(verify(folder, graph, None, "--json=model.onnx", differs=True), "hint: ")
        np.savez(f"{folder}/ref.npz", **arrays)
        expect(verify(folder, graph, None, "--json=ref.npz", differs=True), "hint: ")
        expect(verify(folder, graph, None, "--json=none/report.json", differs=True), "error: none/report.json", "hint: ")
        expect(verify(folder, graph, None, "--device=emulator", differs=True), "error: ", "emulator", "hint: ")


def without_values():
    """Checks that a parameter without a value in the file is refused, since PyTorch's would be another."""
    with harness.folder() as folder:
        g = Graph()
        g.node("Gemm", [g.input("x", ["N", 4]), g.input("w", [3, 4])], "logits", transB=1)
        graph = g.output("logits", ["N", 3])
        x, labels = data()
        arrays = arrays_of(1.0, {"w": np.ones((3, 4))}, {}, {"x": x, "labels": labels})
        expect(verify(folder, graph, arrays, differs=True), "parameter 'w' has no value in the file", "hint: export the module with its weights")


CASES = {
    "right": right,
    "dimensions": dimensions,
    "PyTorch's own error": own_error,
    **{f"{name} on {target}": precision(name, target) for name, target in (("fp16", "host"), ("bf16", "host"), ("fp16", "emulator"))},
    "overflow": overflow,
    "emulator": emulator,
    "a zero that is rounded": rounded_zero,
    "zero gradients": zero_gradients,
    "dropout": dropout,
    "written dropout": written_dropout,
    "buffers": buffers,
    "a wrong gradient": wrong_gradient,
    "a spoiled forward pass": spoiled_forward,
    "a spoiled forward pass of the tool": spoiled_by_tool,
    "another loss": another_loss,
    "other parameters": parameters,
    "not finite": not_finite,
    "evaluation": evaluation,
    "bad references": bad_reference,
    "a parameter without a value": without_values,
}

if __name__ == "__main__":
    OPTIONS = harness.arguments(__doc__)
    harness.main([(f"verify/{name}", case) for name, case in CASES.items()], OPTIONS.only)
