# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Chains of concatenations, slices, pads and splits along one axis, with elementwise ops between them. The host computes such a chain in one loop, which it cuts where an operand
ends, so that each part has a gradient of its own."""
from builder import Reject

MOVES = ("Concat", "Slice", "Pad", "Split")


def with_movement(b):
    """Adds one such chain, most of whose ops read one of the five tensors before them, and sums of its last tensors: several readers make it one loop."""
    rank, dtype = b.choose([1, 1, 2, 3]), b.float_type()
    axis = b.number(0, rank - 1)
    shape = [b.choose((1, 2, 3, 5, 8, 16, 17, 33) if rank == 1 else (1, 2, 3, 5, 8, 17)) for _ in range(rank)]
    made = [b.parameter(along(shape, axis, b.choose((0, 1, 2, 3, 6, 9, 20) if b.zeros else (1, 2, 3, 6, 9, 20))), dtype) for _ in range(b.number(1, 3))]
    for _ in range(b.number(4, 12)):
        try:
            result = b.choose([concat, concat, cut, cut, pad, pad, split, unary, binary, binary])(b, b.choose(made[-5:]), made, axis)
        except Reject:
            continue
        made += result if isinstance(result, list) else [result]
    if all(node.op not in MOVES for node in b.graph.nodes):
        raise Reject
    weighted = [b.add("Mul", [x, b.constant(b.rng.normal(0, 1, b.shape(x)), dtype)]) for x in made[-b.number(1, 3):]]
    b.add("Sum", [b.add("ReduceSum", [x], {"keepdims": 0}) for x in weighted])


def along(shape, axis, extent):
    return tuple(shape[:axis] + [extent] + shape[axis + 1:])


def concat(b, x, made, axis):
    parts = [x] + [b.choose(made) for _ in range(b.number(1, 3))]
    return b.add("Concat", parts, {"axis": axis})


def cut(b, x, made, axis):
    length = b.shape(x)[axis]
    low = b.number(0, max(length - 1, 0))
    high = b.number(min(low + 1, length), length)
    if b.opset < 10:
        return b.add("Slice", [x], {"starts": [low], "ends": [high], "axes": [axis]})
    if b.chance(0.15):
        low, high, step = length - 1, -(length + 1), -1
    else:
        step = b.choose([1, 1, 1, 2, 3])
    return b.add("Slice", [x, b.integers([low]), b.integers([high]), b.integers([axis]), b.integers([step])])


def pad(b, x, made, axis):
    pads, rank = [0] * (2 * b.rank(x)), b.rank(x)
    pads[axis], pads[rank + axis] = b.number(-1 if b.chance(0.1) else 0, 6), b.number(0, 6)
    fill = b.choose([0.0, 0.5])
    if b.opset < 11:
        return b.add("Pad", [x], {"pads": pads, "value": fill})
    return b.add("Pad", [x, b.integers(pads)] + ([b.constant(fill, b.type(x))] if fill else []))


def split(b, x, made, axis):
    length = b.shape(x)[axis]
    if length < 2:
        raise Reject
    first = b.number(1, length - 1)
    if b.opset < 13:
        return b.add("Split", [x], {"axis": axis, "split": [first, length - first]}, outputs=2)
    return b.add("Split", [x, b.integers([first, length - first])], {"axis": axis}, outputs=2)


def unary(b, x, made, axis):
    return b.add(b.choose(["Tanh", "Relu", "Abs", "Neg", "Sigmoid"]), [x])


def binary(b, x, made, axis):
    fits = [n for n in made if b.shape(n) == b.shape(x)]
    return b.add(b.choose(["Add", "Mul", "Sub", "Min", "Max"]), [x, b.choose(fits)])
