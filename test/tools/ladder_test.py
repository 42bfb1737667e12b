#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CPU time and memory of `mpc check` and `mpc compile --emit=mlir` grow in proportion to the layers of a network, and those of a program's compilation in proportion to the tensors that a
Concat joins or a Split gives.

Chains of layers are taken at two sizes, of which one is four times the other. The cost of the first layer (starting the process, loading libraries) is subtracted; the cost of
the others may grow by GROWTH, where 4 is linear and 16 quadratic. CPU time is measured instead of seconds, so that a busy machine changes little. By hand,
`test/tools/ladder_test.py --build build --long` climbs to 1,000 layers of convolutions, to 192 of an encoder and to 2,000 tensors, and prints a table.
"""
import math
import os
import sys

import numpy as np

import harness
from models import Graph

# This is the allowed growth for 4 times the layers. The number of executed instructions grows by 4.1 (callgrind counts 2.19e9 and 8.96e9 in `mpc check` of 75
# and 300 blocks). CPU time grows by up to 6.3, because the working set grows from 10 MiB to 50 MiB, beyond a core's cache. Code that was quadratic in part
# showed 10 to 13.
GROWTH = 8.0
MEMORY_STEP = 16 << 20  # smaller growth is noise of the allocator
ROUNDS = 5


def conv_norm_relu(g, layers):
    """Adds layers of convolution, batch norm and ReLU."""
    y = g.input("x", [2, 4, 8, 8])
    for i in range(layers):
        y = g.node("Conv", [y, g.weight(f"conv{i}.weight", (4, 4, 3, 3))], f"conv{i}", pads=[1, 1, 1, 1])
        statistics = [g.constant(f"norm{i}.{part}", np.full(4, value, np.float32)) for part, value in (("scale", 1), ("bias", 0), ("mean", 0), ("var", 1))]
        y = g.node("Relu", [g.node("BatchNormalization", [y] + statistics, f"norm{i}")], f"relu{i}")
    return y


def encoder(g, layers):
    """Adds the layers of a transformer's encoder: self-attention with 2 heads, and two matrix products with a GELU between them, each behind a layer norm and with a
    residual. x is [2 samples, 8 tokens, 16 features]."""
    width, heads = 16, 2
    split, joined = g.constant("split", [0, 0, heads, width // heads], np.int64), g.constant("joined", [0, 0, width], np.int64)
    scale, half, one, root = (g.constant(name, value, np.float32) for name, value in (("scale", (width // heads) ** -0.5), ("half", 0.5), ("one", 1), ("root", 2 ** -0.5)))

    def norm(x, name):
        return g.node("LayerNormalization", [x, g.parameter(f"{name}.scale", (width,), value=1), g.parameter(f"{name}.bias", (width,))], name)

    def linear(x, name, rows, columns):
        return g.node("Add", [g.node("MatMul", [x, g.weight(f"{name}.weight", (rows, columns))], f"{name}.product"), g.parameter(f"{name}.bias", (columns,))], name)

    def attention(x, name):
        # Queries and values are [samples, heads, tokens, features of a head], keys have the last two the other way round.
        q, k, v = (g.node("Transpose", [g.node("Reshape", [linear(x, f"{name}.{part}", width, width), split], f"{name}.{part}.split")], f"{name}.{part}.heads", perm=perm)
                   for part, perm in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])))
        scores = g.node("Mul", [g.node("MatMul", [q, k], f"{name}.products"), scale], f"{name}.scores")
        mixed = g.node("MatMul", [g.node("Softmax", [scores], f"{name}.weights", axis=-1), v], f"{name}.mixed")
        together = g.node("Transpose", [mixed], f"{name}.together", perm=[0, 2, 1, 3])
        return linear(g.node("Reshape", [together, joined], f"{name}.joined"), f"{name}.out", width, width)

    def gelu(x, name):
        bent = g.node("Add", [g.node("Erf", [g.node("Mul", [x, root], f"{name}.inner")], f"{name}.erf"), one], f"{name}.gate")
        return g.node("Mul", [g.node("Mul", [x, half], f"{name}.half"), bent], name)

    y = g.input("x", [2, 8, width])
    for i in range(layers):
        y = g.node("Add", [y, attention(norm(y, f"norm{i}"), f"attention{i}")], f"attended{i}")
        z = gelu(linear(norm(y, f"mlp{i}.norm"), f"mlp{i}.in", width, 4 * width), f"mlp{i}.gelu")
        y = g.node("Add", [y, linear(z, f"mlp{i}.out", 4 * width, width)], f"layer{i}")
    return y


def concat(g, parts):
    """Adds a Concat of this many tensors, each with a parameter of its own."""
    x = g.input("x", [2, 4])
    return g.node("Concat", [g.node("Mul", [x, g.parameter(f"w{i}", (4,), fan_in=4)], f"part{i}") for i in range(parts)], "joined", axis=1)


def split(g, parts):
    """Adds a Split into this many tensors and arithmetic on each of them, which is summed."""
    whole = g.node("Mul", [g.input("x", [2, 4 * parts]), g.parameter("w", (4 * parts,), fan_in=4)], "whole")
    names = [f"part{i}" for i in range(parts)]
    g.node("Split", [whole, g.constant("sizes", np.full(parts, 4, np.int64))], names, axis=1)
    return g.node("Sum", [g.node("Tanh", [name], f"{name}.bent") for name in names], "sum")


CHAINS = {"conv-norm-relu": conv_norm_relu, "encoder": encoder, "concat": concat, "split": split}
# The numbers of layers, or of tensors. A layer of an encoder has eleven times as many nodes as one of convolutions. Where each part of a split was a kernel that computed all of them, 240
# parts took 25 times as long as 60.
SHORT = {"conv-norm-relu": (75, 300), "encoder": (12, 48), "concat": (60, 240), "split": (60, 240)}
LONG = {"conv-norm-relu": (10, 30, 100, 300, 1000), "encoder": (2, 12, 48, 192), "concat": (60, 250, 1000, 2000), "split": (60, 250, 1000, 2000)}
COMMANDS = {"check": ["check"], "compile": ["compile", "-o", "out.mlir", "--emit=mlir", "--quiet"], "program": ["compile", "-o", "out", "--cpu=x86-64-v3", "--quiet"]}
CASES = [(chain, command) for chain in ("conv-norm-relu", "encoder") for command in ("check", "compile")] + [("concat", "program"), ("split", "program")]


def cost(chain, command, layers, seconds):
    """Returns (CPU seconds, peak bytes) of one run of mpc."""
    with harness.folder() as folder:
        g = Graph()
        g.output(CHAINS[chain](g, layers))
        g.save(f"{folder}/chain.onnx")
        subcommand, *options = COMMANDS[command]
        arguments = [f"{OPTIONS.bin}/mpc", subcommand, "chain.onnx", "--precision", "fp16", "--loss", f"mse:{g.outputs[0].name}:target", *options]
        return harness.usage(arguments, cwd=folder, seconds=seconds)


def climbs(chain, command, sizes, seconds):
    def measured():
        """Returns why the growth is too large, or nothing."""
        costs = {layers: cost(chain, command, layers, seconds) for layers in (1, *sizes)}
        base_seconds, base_bytes = costs[1]
        rows = [(layers, *costs[layers]) for layers in sizes]
        table = ", ".join(f"{layers}: {cpu:.2f} s {peak >> 20} MiB" for layers, cpu, peak in [(1, base_seconds, base_bytes)] + rows)
        if OPTIONS.long:
            print(f"{chain}, {command}: {table}", file=sys.stderr, flush=True)
        for (few, few_cpu, few_bytes), (many, many_cpu, many_bytes) in zip(rows, rows[1:]):
            allowed = GROWTH ** (math.log(many / few) / math.log(4))
            if few_cpu - base_seconds > 0.05 and many_cpu - base_seconds > allowed * (few_cpu - base_seconds):
                return (f"from {few} to {many} layers CPU time grows by {(many_cpu - base_seconds) / (few_cpu - base_seconds):.1f}, "
                        f"{allowed:.1f} is allowed ({table})")
            if many_bytes - base_bytes > allowed * max(few_bytes - base_bytes, MEMORY_STEP):
                return (f"from {few} to {many} layers the peak of memory grows by {(many_bytes - base_bytes) / (few_bytes - base_bytes):.1f}, "
                        f"{allowed:.1f} is allowed ({table})")
        return ""

    def case():
        # Other work on the machine makes single runs dear, and clocks of cores change. One round of runs, which follow each other at once, in which the growth is small is
        # therefore enough; runs of different rounds are not compared.
        why = ""
        for _ in range(ROUNDS):
            why = measured()
            if not why:
                return
        raise harness.Failure(why)
    return case


if __name__ == "__main__":
    LONG_RUN = "--long" in sys.argv
    sys.argv = [argument for argument in sys.argv if argument != "--long"]
    OPTIONS = harness.arguments(__doc__)
    OPTIONS.long = LONG_RUN
    SIZES, LIMIT = (LONG, 1800) if LONG_RUN else (SHORT, 120)
    # One at a time: a second compiler takes the cache that the larger working sets need.
    harness.main([(f"ladder/{chain}-{command}", climbs(chain, command, SIZES[chain], LIMIT)) for chain, command in CASES], OPTIONS.only, jobs=1)
