#!/usr/bin/python3
"""Makes the demo's network and data: 16x16 pictures of the digits 0-9, drawn, shifted, scaled and noised.

usage: make_demo.py OUTPUT_DIR [--train N] [--test N] [--seed S]
Writes digits.onnx (a small CNN with batch norm and dropout, softmax cross-entropy on top), train.npz and test.npz
(x: float32 [N,1,16,16], label: int64 [N]).
"""
import argparse
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

# Seven segments: top, upper right, lower right, bottom, lower left, upper left, middle.
SEGMENTS = ["abcdef", "bc", "abged", "abgcd", "fgbc", "afgcd", "afgedc", "abc", "abcdefg", "abcdfg"]
LINES = {"a": (0, 0, 0, 1), "b": (0, 1, 1, 1), "c": (1, 1, 2, 1), "d": (2, 0, 2, 1), "e": (1, 0, 2, 0), "f": (0, 0, 1, 0), "g": (1, 0, 1, 1)}


def draw(digit, rng):
    """One picture: segments between corners of a sheared, scaled, shifted 2x1 grid, plus noise."""
    height, width = rng.uniform(4.0, 6.0), rng.uniform(4.5, 8.0)
    top, left, shear = rng.uniform(1.0, 14.0 - 2 * height), rng.uniform(1.5, 13.0 - width), rng.uniform(-0.2, 0.2)
    rows, columns = np.mgrid[0:16, 0:16].astype(np.float64)
    picture = np.zeros((16, 16))
    for name in SEGMENTS[digit]:
        y0, x0, y1, x1 = LINES[name]
        start = np.array([top + y0 * height, left + x0 * width + shear * (2 - y0) * height])
        end = np.array([top + y1 * height, left + x1 * width + shear * (2 - y1) * height])
        along = end - start
        t = np.clip(((rows - start[0]) * along[0] + (columns - start[1]) * along[1]) / (along @ along), 0, 1)
        distance = np.hypot(rows - start[0] - t * along[0], columns - start[1] - t * along[1])
        picture = np.maximum(picture, np.clip(1.4 - distance, 0, 1))
    return picture * rng.uniform(0.7, 1.0) + rng.normal(0, 0.12, picture.shape)


def make_data(path, count, seed):
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 10, count)
    x = np.stack([draw(d, rng) for d in label]).astype(np.float32)[:, None]
    np.savez(path, x=x, label=label.astype(np.int64))


def make_model(path, seed):
    rng = np.random.default_rng(seed)
    nodes, initializers = [], []

    def parameter(name, shape, fan_in=None, value=None):
        array = rng.normal(0, np.sqrt(2.0 / fan_in), shape) if fan_in else np.full(shape, value)
        initializers.append(numpy_helper.from_array(array.astype(np.float32), name))
        return name

    def node(op, inputs, output, **attributes):
        nodes.append(helper.make_node(op, inputs, [output], name=output, **attributes))
        return output

    def conv_block(x, name, channels_in, channels_out):
        y = node("Conv", [x, parameter(f"{name}.weight", (channels_out, channels_in, 3, 3), fan_in=9 * channels_in)], name,
                 kernel_shape=[3, 3], pads=[1, 1, 1, 1])
        statistics = [parameter(f"{name}.bn.{part}", (channels_out,), value=value)
                      for part, value in (("scale", 1), ("bias", 0), ("mean", 0), ("var", 1))]
        y = node("BatchNormalization", [y] + statistics, f"{name}.bn")
        y = node("Relu", [y], f"{name}.relu")
        return node("MaxPool", [y], f"{name}.pool", kernel_shape=[2, 2], strides=[2, 2])

    y = conv_block("x", "conv1", 1, 16)
    y = conv_block(y, "conv2", 16, 32)
    y = node("Flatten", [y], "flatten")
    y = node("Gemm", [y, parameter("fc1.weight", (512, 64), fan_in=512), parameter("fc1.bias", (64,), value=0)], "fc1")
    y = node("Relu", [y], "fc1.relu")
    initializers.append(numpy_helper.from_array(np.float32(0.1), "drop.ratio"))
    y = node("Dropout", [y, "drop.ratio"], "drop")
    node("Gemm", [y, parameter("fc2.weight", (64, 10), fan_in=64), parameter("fc2.bias", (10,), value=0)], "logits")
    graph = helper.make_graph(nodes, "digits", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 1, 16, 16])],
                              [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 10])], initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], producer_name="mpc demo")
    onnx.checker.check_model(model)
    onnx.save(model, path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output")
    parser.add_argument("--train", type=int, default=12000)
    parser.add_argument("--test", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    os.makedirs(arguments.output, exist_ok=True)
    make_model(os.path.join(arguments.output, "digits.onnx"), arguments.seed)
    make_data(os.path.join(arguments.output, "train.npz"), arguments.train, arguments.seed)
    make_data(os.path.join(arguments.output, "test.npz"), arguments.test, arguments.seed + 1)


if __name__ == "__main__":
    main()
