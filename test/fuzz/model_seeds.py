# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The models among the seeds: each has a few nodes with tiny weights; together they have all kinds of ops and attributes."""
import os
import sys

import numpy as np
from onnx import helper

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "models"))
from network import FLOAT, INT64, Network  # noqa: E402


def ints(net, name, *values):
    return net.constant(name, np.array(values, np.int64))


def convolutions(net):
    x = net.input("x", ["N", 2, 6, 6])
    y = net.relu(net.batch_norm(net.conv(x, "conv", 2, 3, 3, pad=1), "bn", 3), "relu")
    y = net.max_pool(y, "pool")
    y = net.node("AveragePool", [y], "mean", kernel_shape=[2, 2], strides=[1, 1], ceil_mode=1)
    y = net.node("ConvTranspose", [y, net.parameter("up.weight", (3, 1, 2, 2), fan_in=4)], "up", strides=[2, 2], output_padding=[1, 1])
    return net.node("Flatten", [net.node("GlobalAveragePool", [y], "global")], "flat")


def convolution_1d(net):
    y = net.node("Conv", [net.input("x", [2, 2, 8]), net.parameter("w", (2, 1, 3), fan_in=3), net.parameter("b", (2,))], "conv", group=2, auto_pad="SAME_UPPER", dilations=[2])
    return net.node("PRelu", [y, net.parameter("slope", (2, 1), value=0.2)], "prelu")


def attention(net):
    x = net.input("x", ["N", 4, 6])
    shape = ints(net, "heads", 0, 4, 2, 3)
    parts = [net.node("Transpose", [net.node("Reshape", [net.node("MatMul", [x, net.parameter(f"{n}.weight", (6, 6), fan_in=6)], f"{n}.product"), shape], f"{n}.split")],
                      n, perm=[0, 2, 3, 1] if n == "k" else [0, 2, 1, 3]) for n in "qkv"]
    scores = net.node("Softmax", [net.node("Div", [net.node("MatMul", parts[:2], "scores"), net.constant("root", np.float32(1.7))], "scaled")], "weights", axis=-1)
    y = net.node("Reshape", [net.node("Transpose", [net.node("MatMul", [scores, parts[2]], "mixed")], "joined", perm=[0, 2, 1, 3]), ints(net, "whole", 0, 0, -1)], "heads.out")
    y = net.node("Add", [x, y], "residual")
    return net.node("LayerNormalization", [y, net.parameter("norm.scale", (6,), value=1), net.parameter("norm.bias", (6,))], "norm", axis=-1, epsilon=1e-5)


def composed_norm(net):
    x = net.input("x", ["N", 6])
    h = net.node("MatMul", [x, net.parameter("w", (6, 6), fan_in=6)], "h")
    centred = net.node("Sub", [h, net.node("ReduceMean", [h], "mean", axes=[-1], keepdims=1)], "centred")
    variance = net.node("ReduceMean", [net.node("Pow", [centred, net.constant("two", np.float32(2))], "square")], "variance", axes=[-1], keepdims=1)
    deviation = net.node("Sqrt", [net.node("Add", [variance, net.constant("eps", np.float32(1e-5))], "stable")], "deviation")
    return net.node("Mul", [net.node("Div", [centred, deviation], "normal"), net.parameter("scale", (6,), value=1)], "out")


def norms(net):
    x = net.input("x", [2, 4, 3])
    y = net.node("InstanceNormalization", [x, net.parameter("s", (4,), value=1), net.parameter("b", (4,))], "instance")
    y = net.node("LpNormalization", [y], "lp", axis=1, p=2)
    return net.node("LRN", [net.node("Unsqueeze", [y, ints(net, "last", 3)], "wide")], "lrn", size=3)


def shapes(net):
    x = net.input("x", ["N", 2, 4])
    extent = net.node("Gather", [net.node("Shape", [x], "shape"), net.constant("first", np.int64(0))], "extent", axis=0)
    rows = net.node("Concat", [net.node("Unsqueeze", [extent, ints(net, "zero", 0)], "n"), ints(net, "rest", -1)], "target", axis=0)
    y = net.node("Reshape", [x, rows], "flat")
    y = net.node("Slice", [y, ints(net, "starts", 1), ints(net, "ends", 2**31 - 1), ints(net, "axes", 1), ints(net, "steps", 2)], "slice")
    net.node("Split", [y, ints(net, "sizes", 1, 3)], ["left", "right"], axis=1)
    y = net.node("Concat", ["right", "left"], "swapped", axis=-1)
    y = net.node("Pad", [y, ints(net, "pads", 0, 1, 0, 1), net.constant("value", np.float32(0.5))], "pad")
    y = net.node("Tile", [y, ints(net, "times", 1, 2)], "tile")
    y = net.node("Squeeze", [net.node("Expand", [net.node("Unsqueeze", [y, ints(net, "front", 1)], "u"), ints(net, "wide", 1, 1, 1)], "expand"), ints(net, "gone", 1)], "squeeze")
    return net.node("MatMul", [y, net.parameter("w", (12, 2), fan_in=12)], "out")


def elementwise(net):
    y = net.node("Mul", [net.input("x", [2, 3]), net.parameter("w", (2, 3), value=1)], "w.x")
    for op in ("Abs", "Neg", "Exp", "Log", "Sqrt", "Tanh", "Sigmoid", "Erf", "Softplus", "Sign", "Ceil", "Floor", "Round", "Sin", "Cos", "Reciprocal", "HardSwish", "Softsign"):
        y = net.node(op, [y], op.lower())
    for op in ("LeakyRelu", "Elu", "Selu", "HardSigmoid", "Celu", "ThresholdedRelu"):
        y = net.node(op, [y], op.lower(), alpha=0.3)
    y = net.node("Clip", [y, net.constant("low", np.float32(-1)), net.constant("high", np.float32(1))], "clip")
    larger = net.node("Greater", [y, net.constant("limit", np.float32(0))], "larger")
    y = net.node("Where", [net.node("Not", [larger], "not"), y, net.node("Max", [y, "limit", "x"], "max")], "where")
    return net.node("Cast", [net.node("Cast", [y], "half", to=10)], "float", to=1)


def reductions(net):
    y = net.node("Mul", [net.input("x", [2, 3, 4]), net.parameter("w", (4,), value=1)], "w.x")
    for i, op in enumerate(("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare")):
        inputs, attributes = ([y, ints(net, "axes", 1)], {}) if op == "ReduceSum" else ([y], {"axes": [i % 2 + 1]})
        y = net.node("Add", [y, net.node(op, inputs, op, keepdims=1, **attributes)], f"sum{i}")
    best = net.node("ArgMax", [y], "best", axis=2, keepdims=0)
    return net.node("Mul", [net.node("CumSum", [y, net.constant("axis", np.int64(1))], "cumulated"), net.node("Unsqueeze", [net.node("Cast", [best], "as float", to=1), ints(net, "end", 2)], "u")], "out")


def indices(net):
    table, tokens = net.parameter("table", (5, 4), fan_in=4), net.input("tokens", ["N", 3], INT64)
    y = net.node("Gather", [table, tokens], "embedding", axis=0)
    y = net.node("GatherElements", [y, net.constant("elements", np.zeros((1, 3, 4), np.int64))], "picked", axis=0)
    y = net.node("Add", [y, net.node("OneHot", [tokens, net.constant("depth", np.int64(4)), net.constant("values", np.float32([0, 1]))], "onehot", axis=-1)], "sum")
    y = net.node("ScatterElements", [y, net.constant("at", np.zeros((1, 1, 4), np.int64)), net.constant("updates", np.ones((1, 1, 4), np.float32))], "scattered", axis=1)
    return net.node("Trilu", [y], "lower", upper=0)


def losses(net):
    y = net.linear(net.input("x", ["N", 4]), "logits", 4, 3)
    y = net.node("SoftmaxCrossEntropyLoss", [y, net.input("label", ["N"], INT64)], "loss", reduction="mean", ignore_index=-1)
    return net.node("Dropout", [y, net.constant("ratio", np.float32(0.5)), net.constant("training", np.array(True))], "dropped")


def resized(net):
    y = net.conv(net.input("x", [1, 1, 4, 4]), "conv", 1, 4, 1)
    y = net.node("Resize", [y, "", net.constant("scales", np.float32([1, 1, 2, 1.5]))], "resize", mode="linear", coordinate_transformation_mode="half_pixel")
    return net.node("DepthToSpace", [y], "space", blocksize=2)


def branches(net):
    x = net.input("x", [2, 3])
    y = net.node("MatMul", [x, net.parameter("w", (3, 3), fan_in=3)], "y")
    net.constant("condition", np.array(True))

    def branch(op):
        return helper.make_graph([helper.make_node(op, ["y"], [f"{op}.out"], name=op)], op, [], [helper.make_tensor_value_info(f"{op}.out", FLOAT, [2, 3])])

    y = net.node("If", ["condition"], "if", then_branch=branch("Tanh"), else_branch=branch("Relu"))
    body = [helper.make_node("Mul", ["a", "a"], ["b"], name="square"), helper.make_node("Neg", ["b"], ["c"], name="neg")]
    net.functions.append(helper.make_function("local", "Twist", ["a"], ["c"], body, [helper.make_opsetid("", 17)]))
    net.nodes.append(helper.make_node("Twist", [y], ["twisted"], name="twist", domain="local"))
    return "twisted"


def zero_extents(net):
    y = net.node("Concat", [net.input("x", [2, 3]), net.constant("none", np.zeros((0, 3), np.float32))], "same", axis=0)
    y = net.node("MatMul", [y, net.parameter("w", (3, 0), value=0)], "empty")
    return net.node("MatMul", [y, net.parameter("v", (0, 2), value=0)], "zeros")


MODELS = (convolutions, convolution_1d, attention, composed_norm, norms, shapes, elementwise, reductions, indices, losses, resized, branches, zero_extents)


def model_seeds():
    for build in MODELS:
        net = Network(build.__name__, opset=17)
        net.output(build(net))
        proto = net.proto()
        if net.functions:
            proto.opset_import.append(helper.make_opsetid("local", 1))
        yield build.__name__.replace("_", "-"), proto.SerializeToString()
