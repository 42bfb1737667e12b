#!/usr/bin/python3
"""CPU time and memory of `mpc check` and `mpc compile --emit=mlir` grow in proportion to the layers of a network.

Chains of layers are taken at two sizes, of which one is four times the other. The cost of the first layer (starting the process, loading libraries) is subtracted; the cost of
the others may grow by GROWTH, where 4 is linear and 16 quadratic. CPU time is measured instead of seconds, so that a busy machine changes little. By hand,
`test/tools/ladder_test.py --build build --long` climbs from 10 to 1,000 layers and prints a table.
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
SHORT, LONG = (75, 300), (10, 30, 100, 300, 1000)
MEMORY_STEP = 16 << 20  # smaller growth is noise of the allocator


def conv_norm_relu(g, layers):
    """Adds layers of convolution, batch norm and ReLU."""
    y = g.input("x", [2, 4, 8, 8])
    for i in range(layers):
        y = g.node("Conv", [y, g.weight(f"conv{i}.weight", (4, 4, 3, 3))], f"conv{i}", pads=[1, 1, 1, 1])
        statistics = [g.constant(f"norm{i}.{part}", np.full(4, value, np.float32)) for part, value in (("scale", 1), ("bias", 0), ("mean", 0), ("var", 1))]
        y = g.node("Relu", [g.node("BatchNormalization", [y] + statistics, f"norm{i}")], f"relu{i}")
    return y


def transformer(g, layers):
    """Adds layers of a layer norm and two matrix products with a ReLU between them, with a residual."""
    y = g.input("x", [2, 8, 16])
    for i in range(layers):
        z = g.node("LayerNormalization", [y, g.constant(f"norm{i}.scale", np.ones(16, np.float32)), g.constant(f"norm{i}.bias", np.zeros(16, np.float32))], f"norm{i}")
        z = g.node("Relu", [g.node("MatMul", [z, g.weight(f"up{i}.weight", (16, 32))], f"up{i}")], f"relu{i}")
        y = g.node("Add", [y, g.node("MatMul", [z, g.weight(f"down{i}.weight", (32, 16))], f"down{i}")], f"layer{i}")
    return y


CHAINS = {"conv-norm-relu": conv_norm_relu, "transformer": transformer}
COMMANDS = {"check": [], "compile": ["-o", "out.mlir", "--emit=mlir", "--quiet"]}


def cost(chain, command, layers, seconds):
    """Returns (CPU seconds, peak bytes) of one run of mpc."""
    with harness.folder() as folder:
        g = Graph()
        g.output(CHAINS[chain](g, layers))
        g.save(f"{folder}/chain.onnx")
        arguments = [f"{OPTIONS.bin}/mpc", command, "chain.onnx", "--precision", "fp16", "--loss", f"mse:{g.outputs[0].name}:target", *COMMANDS[command]]
        return harness.usage(arguments, cwd=folder, seconds=seconds)


def climbs(chain, command, sizes, seconds):
    def case():
        base_seconds, base_bytes = cost(chain, command, 1, seconds)
        rows = [(layers, *cost(chain, command, layers, seconds)) for layers in sizes]
        table = ", ".join(f"{layers}: {cpu:.2f} s {peak >> 20} MiB" for layers, cpu, peak in [(1, base_seconds, base_bytes)] + rows)
        if OPTIONS.long:
            print(f"{chain}, {command}: {table}", file=sys.stderr, flush=True)
        for (few, few_cpu, few_bytes), (many, many_cpu, many_bytes) in zip(rows, rows[1:]):
            allowed = GROWTH ** (math.log(many / few) / math.log(4))
            if few_cpu - base_seconds > 0.05 and many_cpu - base_seconds > allowed * (few_cpu - base_seconds):
                raise harness.Failure(f"from {few} to {many} layers CPU time grows by {(many_cpu - base_seconds) / (few_cpu - base_seconds):.1f}, "
                                      f"{allowed:.1f} is allowed ({table})")
            if many_bytes - base_bytes > allowed * max(few_bytes - base_bytes, MEMORY_STEP):
                raise harness.Failure(f"from {few} to {many} layers the peak of memory grows by {(many_bytes - base_bytes) / (few_bytes - base_bytes):.1f}, "
                                      f"{allowed:.1f} is allowed ({table})")
    return case


if __name__ == "__main__":
    LONG_RUN = "--long" in sys.argv
    sys.argv = [argument for argument in sys.argv if argument != "--long"]
    OPTIONS = harness.arguments(__doc__)
    OPTIONS.long = LONG_RUN
    SIZES, LIMIT = (LONG, 1800) if LONG_RUN else (SHORT, 120)
    harness.main([(f"ladder/{chain}-{command}", climbs(chain, command, SIZES, LIMIT)) for chain in CHAINS for command in COMMANDS], OPTIONS.only, jobs=os.cpu_count())
