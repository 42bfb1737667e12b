#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exports networks in training form in all three inference forms. The exported models must predict what the programs predict, in mpc, and in ONNX's reference
and ONNX Runtime where they are installed (--other PYTHON names an interpreter that has them)."""
import os
import sys

import numpy as np
import onnx
from onnx import helper, numpy_helper

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import harness  # noqa: E402
from models import Graph  # noqa: E402

BATCH, CHANNELS = 8, 4
OTHERS = """
import sys, numpy as np, onnx, onnx.reference, onnxruntime
model, data, out = sys.argv[1:]
x = {"x": np.load(data)["x"]}
onnx.checker.check_model(onnx.load(model), full_check=True)
np.savez(out, reference=onnx.reference.ReferenceEvaluator(model).run(None, x)[0], runtime=onnxruntime.InferenceSession(model).run(None, x)[0])
"""


def norm(g, x, name, statistics=None, **attributes):
    """Adds a BatchNormalization as torch writes it in training mode (opset 14 and later), with three outputs."""
    mean, var = statistics or (g.parameter(f"{name}.mean", (CHANNELS,), value=0.5), g.parameter(f"{name}.var", (CHANNELS,), value=2))
    inputs = [x, g.parameter(f"{name}.scale", (CHANNELS,), value=1.5), g.parameter(f"{name}.bias", (CHANNELS,), value=0.25), mean, var]
    g.node("BatchNormalization", inputs, [name, f"{name}.mean.next", f"{name}.var.next"], training_mode=1, momentum=0.9, **attributes)
    return name


def dropped(g, x, name):
    return g.node("Dropout", [x, g.constant(f"{name}.ratio", np.float32(0.5)), g.constant(f"{name}.mode", np.bool_(True))], name)


def head(g, y):
    g.node("Gemm", [g.node("Flatten", [y], "flat"), g.weight("fc.weight", (3, CHANNELS * 25)), g.parameter("fc.bias", (3,))], "logits", transB=1)
    return g.output("logits", [BATCH, 3])


def image(g):
    return g.input("x", [BATCH, 2, 5, 5])


def plain():
    """Makes convolution, batch norm, relu and dropout, and stochastic depth of a second convolution and norm."""
    g = Graph(opset=15)
    y = norm(g, g.node("Conv", [image(g), g.weight("c1.weight", (CHANNELS, 2, 3, 3))], "c1", pads=[1, 1, 1, 1]), "n1")
    y = dropped(g, g.node("Relu", [y], "r1"), "d1")
    z = norm(g, g.node("Conv", [y, g.weight("c2.weight", (CHANNELS, CHANNELS, 3, 3)), g.parameter("c2.bias", (CHANNELS,), value=0.1)], "c2", pads=[1, 1, 1, 1]), "n2")
    keep = g.constant("keep", np.float32(0.75))
    u = g.node("RandomUniformLike", [g.constant("like", np.zeros((BATCH, 1, 1, 1), np.float32))], "u")
    mask = g.node("Div", [g.node("Cast", [g.node("Less", [u, keep], "below")], "mask", to=1), keep], "scale")
    return head(g, g.node("Relu", [g.node("Add", [y, g.node("Mul", [z, mask], "depth")], "sum")], "r2"))


def transposed():
    """Makes norms that follow a transposed convolution in groups, a relu, and a Gemm."""
    g = Graph(opset=15)
    y = norm(g, g.node("ConvTranspose", [image(g), g.weight("c1.weight", (2, CHANNELS // 2, 3, 3))], "c1", pads=[1, 1, 1, 1], group=2), "n1")
    y = norm(g, g.node("Relu", [y], "r1"), "n2")
    g.node("Gemm", [g.node("Flatten", [y], "flat"), g.weight("fc.weight", (CHANNELS * 25, CHANNELS)), g.parameter("fc.bias", (CHANNELS,), value=0.5)], "fc", alpha=0.5, beta=2.0)
    y = norm(g, "fc", "n3")
    g.node("Gemm", [y, g.weight("out.weight", (3, CHANNELS))], "logits", transB=1)
    return g.output("logits", [BATCH, 3])


def attention():
    """Makes an attention of two heads that drops probabilities, as exporters compose it."""
    g = Graph(opset=15)
    q, k, v = (g.node("MatMul", [image(g) if name == "q" else "x", g.weight(f"{name}.weight", (5, 5))], name) for name in "qkv")
    scores = g.node("MatMul", [q, g.node("Transpose", [k], "k.transposed", perm=[0, 1, 3, 2])], "scores")
    p = dropped(g, g.node("Softmax", [scores], "p", axis=-1), "p.dropped")
    g.node("Gemm", [g.node("Flatten", [g.node("MatMul", [p, v], "y")], "flat"), g.weight("fc.weight", (3, 50)), g.parameter("fc.bias", (3,))], "logits", transB=1)
    return g.output("logits", [BATCH, 3])


def shared():
    """Makes two convolutions with one weight, and two norms with one mean and variance. A dropout's mask is read, and a norm's next statistics are an
    output."""
    g = Graph(opset=15)
    x = g.node("Conv", [image(g), g.weight("c0.weight", (CHANNELS, 2, 1, 1))], "c0")
    statistics = g.parameter("mean", (CHANNELS,), value=0), g.parameter("var", (CHANNELS,), value=1)
    weight = g.weight("c.weight", (CHANNELS, CHANNELS, 3, 3))
    for i in (1, 2):
        x = norm(g, g.node("Conv", [x, weight], f"c{i}", pads=[1, 1, 1, 1]), f"n{i}", statistics)
    inputs = [x, g.constant("ratio", np.float32(0.5)), g.constant("mode", np.bool_(True))]
    g.node("Dropout", inputs, ["d", "d.mask"])
    y = g.node("Where", ["d.mask", "d", g.constant("zero", np.float32(0))], "masked")
    head(g, y)
    return g.output("n1.mean.next", [CHANNELS])


def function():
    """Makes norm and dropout in a function, whose training mode the caller chooses."""
    g = Graph(opset=15)
    body = [helper.make_node("BatchNormalization", ["X", "S", "B", "M", "V"], ["N", "M2", "V2"], training_mode=1),
            helper.make_node("Dropout", ["N", "R", "T"], ["Y"])]
    g.functions.append(helper.make_function("local", "Block", ["X", "S", "B", "M", "V", "R", "T"], ["Y", "M2"], body, [helper.make_opsetid("", 15)]))
    y = g.node("Conv", [image(g), g.weight("c1.weight", (CHANNELS, 2, 3, 3))], "c1", pads=[1, 1, 1, 1])
    constants = [g.parameter(f"n.{part}", (CHANNELS,), value=value) for part, value in (("scale", 1.5), ("bias", 0.25), ("mean", 0.5), ("var", 2))]
    y = g.node("Block", [y, *constants, g.constant("ratio", np.float32(0.5)), g.constant("mode", np.bool_(True))], ["block", "mean.next"])
    g.nodes[-1].domain = "local"
    return head(g, y)


def old():
    """Makes a network of opset 9, which has no training mode: norms are recognised by the number of their outputs."""
    g = Graph(opset=9)
    y = g.node("Conv", [image(g), g.weight("c1.weight", (CHANNELS, 2, 3, 3))], "c1", pads=[1, 1, 1, 1])
    constants = [g.parameter(f"n.{part}", (CHANNELS,), value=value) for part, value in (("scale", 1.5), ("bias", 0.25), ("mean", 0.5), ("var", 2))]
    g.node("BatchNormalization", [y, *constants], ["n", "n.mean.next", "n.var.next", "n.saved.mean", "n.saved.var"])
    return head(g, g.node("Dropout", ["n"], "d", ratio=0.5))


def statistics():
    """Makes a network with an output of the next statistics of its norm: inference keeps the old ones, so these come out."""
    g = Graph(opset=15)
    y = norm(g, g.node("Conv", [image(g), g.weight("c1.weight", (CHANNELS, 2, 3, 3))], "c1", pads=[1, 1, 1, 1]), "n1")
    g.node("Div", ["n1.mean.next", "n1.var.next"], "ratio")
    return head(g, y).output("ratio", [CHANNELS])


def save(g, path):
    proto = g.proto()
    if g.functions:
        proto.opset_import.add(domain="local", version=1)
    onnx.save(proto, path)


def operators(model):
    nodes = [*model.graph.node, *(node for body in model.functions for node in body.node)]
    return [node.op_type for node in nodes], nodes


def case(network, norms, folded):
    """Makes the case of a network with `norms` batch norms, of which `folded` are folded into the ops before them."""
    def run():
        with harness.folder() as folder:
            def mpc(*arguments):
                return harness.must([OPTIONS.bin + "/mpc", *arguments], cwd=folder)

            save(network(), f"{folder}/model.onnx")
            rng = np.random.default_rng(2)
            x = rng.normal(1, 2, (64, 2, 5, 5)).astype(np.float32)
            np.savez(f"{folder}/data.npz", x=x, label=rng.integers(0, 3, 64))
            np.savez(f"{folder}/inputs.npz", x=x[:BATCH])
            mpc("compile", "model.onnx", "-o", "program", "-q", "--cpu=x86-64-v3", "--precision=fp32", "--loss=softmax_cross_entropy:logits:label", "--lr=0.05", "--outputs=logits")
            program = f"{folder}/program"
            harness.must([program, "train", "--data", "data.npz", "--steps", "8", "--checkpoint-dir", "checkpoints"], cwd=folder)
            checkpoint = ["--checkpoint", "checkpoints/step-00000008.safetensors"]
            harness.must([program, "predict", "--data", "inputs.npz", "--out", "predicted.npz", *checkpoint], cwd=folder)
            wanted = np.load(f"{folder}/predicted.npz")["logits"]
            before = onnx.load(f"{folder}/model.onnx")
            for form, options in (("set", []), ("remove", ["--inference"]), ("fold", ["--inference=fold"])):
                said = mpc("export", "model.onnx", *checkpoint, "-o", f"{form}.onnx", *options)
                model = onnx.load(f"{folder}/{form}.onnx")
                onnx.checker.check_model(model)
                ops, nodes = operators(model)
                mpc("run", f"{form}.onnx", "--data", "inputs.npz", "--out", "run.npz")
                found = {"mpc run": np.load(f"{folder}/run.npz")["logits"]}
                if "ratio" in (o.name for o in model.graph.output):
                    before_norm = {i.name: onnx.numpy_helper.to_array(i) for i in model.graph.initializer}
                    ratio = before_norm["n1.mean"] / before_norm["n1.var"]
                    if not np.allclose(np.load(f"{folder}/run.npz")["ratio"], ratio, rtol=1e-5):
                        raise harness.Failure(f"{form}: the statistics give {np.load(f'{folder}/run.npz')['ratio']}, not {ratio}")
                if OPTIONS.other:
                    harness.must([OPTIONS.other, "-c", OTHERS, f"{form}.onnx", "inputs.npz", "others.npz"], cwd=folder)
                    found.update(np.load(f"{folder}/others.npz"))
                # The sums are of 100 f32 numbers and of the norms' factors, in another order.
                for who, value in found.items():
                    if not np.allclose(value, wanted, rtol=1e-4, atol=1e-4):
                        raise harness.Failure(f"{form}: {who} gives {value}, not {wanted}")
                left = norms - (folded if form == "fold" else 0)
                random = any(op.startswith("Random") for op in ops)
                modes = [a.name for node in nodes for a in node.attribute if a.name == "training_mode"]
                training = [node for node in nodes if node.op_type == "Dropout" and len(node.input) > 2]
                kept = "Dropout" in ops and form != "set" and network is not shared  # in `shared` the mask is read, so a Dropout stays
                if ops.count("BatchNormalization") != left or random or modes or training or kept or model.opset_import[0].version != before.opset_import[0].version:
                    raise harness.Failure(f"{form}: {ops}, opset {model.opset_import[0].version}; {said}")
                if form == "fold" and folded and f"{folded} batch norm" not in said:
                    raise harness.Failure(f"{form} says {said}")
                names = {i.name for i in model.graph.initializer}
                used = {name for node in model.graph.node for name in node.input} | {o.name for o in model.graph.output}
                if names - used:
                    raise harness.Failure(f"{form}: {names - used} are not used")
    return run


def without_checkpoint():
    """Exports the inference form of a file as it is. mpc says so when there is nothing to do, and asks for a checkpoint otherwise."""
    with harness.folder() as folder:
        save(plain(), f"{folder}/model.onnx")
        mpc = OPTIONS.bin + "/mpc"
        out = harness.must([mpc, "export", "model.onnx", "--inference=fold", "-o", "out.onnx"], cwd=folder)
        if out != "out.onnx: 2 batch norms folded, 2 dropouts removed\n":
            raise harness.Failure(out)
        out = harness.must([mpc, "export", "out.onnx", "--inference", "-o", "again.onnx"], cwd=folder)
        if out != "again.onnx: it was in inference form already\n" or open(f"{folder}/out.onnx", "rb").read() != open(f"{folder}/again.onnx", "rb").read():
            raise harness.Failure(out)
        for arguments, said in ((["model.onnx", "-o", "x.onnx"], "--checkpoint: is missing"), (["model.onnx", "--inference=all", "-o", "x.onnx"], "--inference"),
                                (["model.onnx", "--inference", "-o", "model.onnx"], "model.onnx")):
            status, _, err = harness.run([mpc, "export", *arguments], cwd=folder)
            if status != 1 or said not in err or os.path.exists(f"{folder}/x.onnx"):
                raise harness.Failure(f"status {status}: {err}")


def across_functions():
    """Exports a network in which one function uses the random numbers that another one draws. mpc refuses it and says what to do."""
    with harness.folder() as folder:
        g = Graph(opset=15)
        body = [helper.make_node("Constant", [], ["p"], value=numpy_helper.from_array(np.float32(0.5))), helper.make_node("RandomUniformLike", ["X"], ["u"]),
                helper.make_node("Less", ["u", "p"], ["b"]), helper.make_node("CastLike", ["b", "X"], ["m"]), helper.make_node("Div", ["m", "p"], ["Y"])]
        g.functions.append(helper.make_function("local", "Mask", ["X"], ["Y"], body, [helper.make_opsetid("", 15)]))
        mask = g.node("Mask", [g.input("x", [BATCH, 3])], "mask")
        g.nodes[-1].domain = "local"
        g.node("Mul", ["x", mask], "y")
        save(g.output("y", [BATCH, 3]), f"{folder}/model.onnx")
        status, _, err = harness.run([OPTIONS.bin + "/mpc", "export", "model.onnx", "--inference", "-o", "x.onnx"], cwd=folder)
        if status != 1 or "in part inside a function and in part outside" not in err or "hint: inline the model's functions" not in err:
            raise harness.Failure(f"status {status}: {err}")


CASES = {"inference/plain": case(plain, 2, 2), "inference/transposed": case(transposed, 3, 2), "inference/shared": case(shared, 2, 2), "inference/function": case(function, 1, 0),
         "inference/attention": case(attention, 0, 0), "inference/old": case(old, 1, 1), "inference/statistics": case(statistics, 1, 1),
         "inference/without-checkpoint": without_checkpoint, "inference/across-functions": across_functions}

if __name__ == "__main__":
    if "--other" in sys.argv:
        at = sys.argv.index("--other")
        other = sys.argv[at + 1]
        del sys.argv[at:at + 2]
    else:
        other = ""
    OPTIONS = harness.arguments(__doc__)
    OPTIONS.other = other
    harness.main(list(CASES.items()), OPTIONS.only)
