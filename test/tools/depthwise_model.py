# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a network for spills.test of depthwise convolutions with windows of 3x3 to 7x7, one with strides: x [64,64,56,56] -> logits [64,10]."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from models import Graph  # noqa: E402

BATCH, CHANNELS, SIZE, CLASSES = 64, 64, 56, 10

net = Graph(seed=3)
x = net.input("x", [BATCH, CHANNELS, SIZE, SIZE])
for number, (side, stride) in enumerate([(3, 1), (5, 1), (7, 1), (3, 2)], 1):
    x = net.node("Conv", [x, net.weight(f"conv{number}.weight", (CHANNELS, 1, side, side))], f"conv{number}", group=CHANNELS, kernel_shape=[side, side],
                 pads=[side // 2] * 4, strides=[stride, stride])
x = net.node("Flatten", [net.node("GlobalAveragePool", [x], "pool")], "flatten")
net.node("Gemm", [x, net.weight("fc.weight", (CLASSES, CHANNELS)), net.weight("fc.bias", (CLASSES,))], "logits", transB=1)
net.output("logits", [BATCH, CLASSES]).save(sys.argv[1])
