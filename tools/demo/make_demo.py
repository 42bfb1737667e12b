#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the demo's network and data: 16x16 pictures of the digits 0-9, drawn, shifted, scaled and noised.

usage: make_demo.py OUTPUT_DIR [--train N] [--test N] [--seed S]
Writes digits.onnx (a small CNN with batch norm and dropout, softmax cross-entropy on top), train.npz and test.npz
(x: float32 [N,1,16,16], label: int64 [N]).
"""
import argparse
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "models"))
from network import Network  # noqa: E402

# The seven segments are: top, upper right, lower right, bottom, lower left, upper left, middle.
SEGMENTS = ["abcdef", "bc", "abged", "abgcd", "fgbc", "afgcd", "afgedc", "abc", "abcdefg", "abcdfg"]
LINES = {"a": (0, 0, 0, 1), "b": (0, 1, 1, 1), "c": (1, 1, 2, 1), "d": (2, 0, 2, 1), "e": (1, 0, 2, 0), "f": (0, 0, 1, 0), "g": (1, 0, 1, 1)}


def draw(digit, rng):
    """Draws one picture: segments between corners of a sheared, scaled, shifted 2x1 grid, plus noise."""
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
    net = Network("digits", seed)
    y = net.input("x", ["batch", 1, 16, 16])
    for name, c_in, c_out in (("conv1", 1, 16), ("conv2", 16, 32)):
        y = net.conv(y, name, c_in, c_out, 3, pad=1, bias=False)
        y = net.max_pool(net.relu(net.batch_norm(y, f"{name}.bn", c_out), f"{name}.relu"), f"{name}.pool")
    y = net.node("Flatten", [y], "flatten")
    y = net.relu(net.linear(y, "fc1", 512, 64), "fc1.relu")
    net.output(net.linear(net.dropout(y, "drop", 0.1), "logits", 64, 10), ["batch", 10])
    net.save(path)


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
