#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Valid models of unusual size or depth compile in bounded time, memory and stack."""
import numpy as np
from onnx import helper

import harness
from models import FLOAT, Graph


def compiles(build, seconds=60, memory_bytes=3 << 30):
    """Makes the case that compiles x [2,3] -> loss, made by build(graph, product of x and a weight)."""
    def case():
        g = Graph()
        y = build(g, g.node("MatMul", [g.input("x", [2, 3]), g.weight("w", (3, 3))], "product"))
        g.node("ReduceMean", [y], "loss", keepdims=0)
        g.output("loss", [])
        with harness.folder() as folder:
            g.save(f"{folder}/model.onnx")
            harness.must([OPTIONS.bin + "/mpc", "compile", "model.onnx", "-o", "program", "--quiet", "--cpu", "x86-64-v3", "--precision", "fp32", "--loss", "output:loss"],
                         cwd=folder, seconds=seconds, memory_bytes=memory_bytes)
    return case


def chain(op, length):
    def build(g, y):
        for i in range(length):
            y = g.node(op, [y], f"{op}{i}")
        return y
    return build


def layers(g, y):
    """Makes 2000 ops with 1000 parameters. Forward, backward and updates make long paths between ops that could share a launch."""
    for i in range(500):
        z = g.node("Mul", [y, g.weight(f"scale{i}", (2, 3))], f"scaled{i}")
        z = g.node("Tanh", [g.node("Add", [z, g.weight(f"shift{i}", (2, 3))], f"shifted{i}")], f"tanh{i}")
        y = g.node("Add", [y, z], f"layer{i}")
    return y


def squares(g, y):
    """Uses each value twice, which makes 2^60 paths."""
    for i in range(60):
        y = g.node("Mul", [y, y], f"square{i}")
    return y


def beside(constant):
    """Adds to the product the mean of a value that is known at compile time and has far more elements than fit in memory."""
    return lambda g, y: g.node("Add", [y, g.node("ReduceMean", [constant(g)], "mean", keepdims=0)], "sum")


def doubled(g):
    y = g.constant("start", np.arange(1024, dtype=np.float32))
    for i in range(22):
        y = g.node("Concat", [y, y], f"double{i}", axis=0)
    return y


def nested_ifs(g, y):
    g.constant("condition", np.array(True))

    def branch(depth):
        if depth == 0:
            node = helper.make_node("Tanh", [y], ["tanh"])
        else:
            node = helper.make_node("If", ["condition"], [f"if{depth}"], then_branch=branch(depth - 1), else_branch=branch(0))
        return helper.make_graph([node], f"branch{depth}", [], [helper.make_tensor_value_info(node.output[0], FLOAT, [2, 3])])

    return g.node("If", ["condition"], "outer", then_branch=branch(20), else_branch=branch(0))


SHAPE = np.array([2**32])
CASES = {
    "chain-of-3000": compiles(chain("Tanh", 3000)),
    "chain-without-saved-values": compiles(chain("Neg", 3000)),
    "2000-ops-of-layers": compiles(layers),
    "squares-of-squares": compiles(squares),
    "filled-constant": compiles(beside(lambda g: g.node("ConstantOfShape", [g.constant("shape", SHAPE)], "vast"))),
    "expanded-constant": compiles(beside(lambda g: g.node("Exp", [g.node("Expand", [g.constant("e", np.float32([2])), g.constant("shape", SHAPE)], "vast")], "exp"))),
    "tiled-constant": compiles(beside(lambda g: g.node("Tile", [g.constant("e", np.float32([1, 2])), g.constant("times", SHAPE // 2)], "vast"))),
    "padded-constant": compiles(beside(lambda g: g.node("Pad", [g.constant("e", np.float32([1, 2])), g.constant("pads", np.array([2**31, 2**31]))], "vast"))),
    "doubled-constant": compiles(beside(doubled)),
    "nested-ifs": compiles(nested_ifs),
}

if __name__ == "__main__":
    OPTIONS = harness.arguments(__doc__)
    harness.main([(f"extremes/{name}", case) for name, case in CASES.items()], OPTIONS.only)
