# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small ONNX models and data for the script tests."""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "models"))
from network import FLOAT, INT64, Network  # noqa: E402,F401


class Graph(Network):
    """tools/models' builder, with weights laid out as PyTorch exports them. It checks nothing, because mpc is to report what is wrong with a network."""

    def __init__(self, seed=0, opset=17):
        super().__init__("test", seed, opset)

    def weight(self, name, shape):
        """Returns a weight [out, in, ...] with Kaiming-normal values."""
        return self.parameter(name, shape, fan_in=max(1, int(np.prod(shape[1:]))))

    def bytes(self):
        return self.proto().SerializeToString()

    def save(self, path):
        with open(path, "wb") as file:
            file.write(self.bytes())
        return path


def mlp(features=4, hidden=8, classes=3, batch="N", dropout=0.0, name="x", seed=0):
    """Makes x [batch, features] -> logits [batch, classes]."""
    g = Graph(seed)
    y = g.node("Gemm", [g.input(name, [batch, features]), g.weight("fc1.weight", (hidden, features)), g.weight("fc1.bias", (hidden,))], "fc1", transB=1)
    y = g.node("Relu", [y], "relu1")
    if dropout:
        y = g.node("Dropout", [y, g.constant("ratio", np.float32(dropout))], "drop1")
    g.node("Gemm", [y, g.weight("fc2.weight", (classes, hidden)), g.weight("fc2.bias", (classes,))], "logits", transB=1)
    return g.output("logits", [batch, classes])


def lenet(batch="N"):
    """Makes x [batch, 1, 28, 28] -> logits [batch, 10]."""
    g = Graph()
    y = g.node("Conv", [g.input("x", [batch, 1, 28, 28]), g.weight("conv1.weight", (6, 1, 5, 5)), g.weight("conv1.bias", (6,))], "conv1", pads=[2, 2, 2, 2])
    y = g.node("MaxPool", [g.node("Relu", [y], "relu1")], "pool1", kernel_shape=[2, 2], strides=[2, 2])
    y = g.node("Conv", [y, g.weight("conv2.weight", (16, 6, 5, 5)), g.weight("conv2.bias", (16,))], "conv2")
    y = g.node("MaxPool", [g.node("Relu", [y], "relu2")], "pool2", kernel_shape=[2, 2], strides=[2, 2])
    y = g.node("Flatten", [y], "flatten")
    for i, (rows, columns) in enumerate([(120, 400), (84, 120)], 1):
        y = g.node("Relu", [g.node("Gemm", [y, g.weight(f"fc{i}.weight", (rows, columns)), g.weight(f"fc{i}.bias", (rows,))], f"fc{i}", transB=1)], f"fc{i}.relu")
    g.node("Gemm", [y, g.weight("fc3.weight", (10, 84)), g.weight("fc3.bias", (10,))], "logits", transB=1)
    return g.output("logits", [batch, 10])


def labelled(path, samples, features=4, classes=3, seed=1):
    """Writes an npz of separable data: x float32 [samples, features], label int64 [samples]."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, classes, samples)
    centres = np.random.default_rng(7).normal(0, 2, (classes, features))
    x = (centres[label] + rng.normal(0, 0.5, (samples, features))).astype(np.float32)
    np.savez(path, x=x, label=label.astype(np.int64))
    return x, label
