# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""RNN, GRU and LSTM for the generator, with all attributes and optional inputs."""

from builder import Reject
from families_nn import scaled
from reference_recurrent import ACTIVATIONS, DEFAULTS, GATES, PARAMETERS

MOST_STEPS = 6


def lengths(b, batch, steps):
    """Returns the lengths of the samples, from 0 to all time steps: data or a constant."""
    values = b.rng.integers(0, steps + 1, batch)
    if b.chance(0.5) and batch == b.batch:
        return b.register(b.graph.inputs, b.fresh("x"), values, "i32")
    return b.constant(values, "i32")


def activations(b, op, directions, attributes):
    names = [b.choose(ACTIVATIONS) if b.chance(0.6) else name for name in DEFAULTS[op] * directions]
    attributes["activations"] = [name.upper() if b.chance(0.1) else name for name in names]
    for which, (key, low, high) in enumerate((("activation_alpha", 0.1, 1.5), ("activation_beta", -0.5, 1.0))):
        takers = sum(PARAMETERS.get(name.lower(), (None, None))[which] is not None for name in names)
        if takers and b.chance(0.7):
            attributes[key] = [round(float(b.rng.uniform(low, high)), 2) for _ in range(b.number(1, takers))]


def recurrent(b):
    op = b.choose(["RNN", "GRU", "LSTM"])
    layout = int(b.opset >= 14 and b.chance(0.4))
    x = b.pick(("f32", "f16", "f64"), rank=3, where=lambda n: 0 not in b.shape(n) and b.shape(n)[layout] <= MOST_STEPS)
    dtype, shape = b.type(x), b.shape(x)
    steps, batch, size = shape[layout], shape[1 - layout], b.choose([1, 2, 3, 4, 8])
    direction = b.choose(["forward", "reverse", "bidirectional"])
    directions, rows = 1 + (direction == "bidirectional"), GATES[op] * size
    attributes = {"hidden_size": size}
    if direction != "forward" or b.chance(0.3):
        attributes["direction"] = direction
    if layout:
        attributes["layout"] = 1
    if b.chance(0.5):
        activations(b, op, directions, attributes)
    if b.chance(0.15):
        attributes["clip"] = round(float(b.rng.uniform(0.2, 2)), 2)
    if op == "GRU" and b.chance(0.5):
        attributes["linear_before_reset"] = 1
    if op == "LSTM" and b.chance(0.2):
        attributes["input_forget"] = 1
    inputs = [x, scaled(b, (directions, rows, shape[2]), dtype), scaled(b, (directions, rows, size), dtype)]
    state = (batch, directions, size) if layout else (directions, batch, size)
    inputs.append(b.weight((directions, 2 * rows), dtype) if b.chance(0.7) else "")
    inputs.append(lengths(b, batch, steps) if b.chance(0.35) else "")
    inputs.append(b.weight(state, dtype) if b.chance(0.5) else "")
    if op == "LSTM":
        inputs.append(b.weight(state, dtype) if b.chance(0.5) else "")
        inputs.append(b.weight((directions, 3 * size), dtype) if b.chance(0.4) else "")
    while not inputs[-1]:
        inputs.pop()
    b.add(op, inputs, attributes, dtype, outputs=b.number(1, 3 if op == "LSTM" else 2))


def with_recurrent(b):
    """Adds one, and another one behind it now and then."""
    for _ in range(20):
        try:
            recurrent(b)
            if b.chance(0.7):
                return
        except Reject:
            steps, size = b.number(1, MOST_STEPS), b.number(1, 4)
            if b.chance(0.5):
                b.register(b.graph.inputs, b.fresh("x"), b.rng.normal(0, 1, (b.batch, steps, size)), "f32")
    if all(node.op not in GATES for node in b.graph.nodes):
        raise Reject


