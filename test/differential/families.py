# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the generator adds to a graph: there is one function for each family of ops. Each takes a Builder and adds a node or a few, or raises Reject."""
import math

import numpy as np

from builder import Reject
from graph import FLOATS, INTS

NUMBERS = FLOATS + ("i64", "i32")
UNARY = [("Abs", 9), ("Neg", 9), ("Sign", 9), ("Floor", 9), ("Ceil", 9), ("Round", 11), ("Exp", 9), ("Log", 9), ("Sqrt", 9), ("Reciprocal", 9), ("Sin", 9), ("Cos", 9),
         ("Tan", 9), ("Asin", 9), ("Acos", 9), ("Atan", 9), ("Sinh", 9), ("Cosh", 9), ("Asinh", 9), ("Acosh", 9), ("Atanh", 9), ("Erf", 9), ("Tanh", 9),
         ("Sigmoid", 9), ("Relu", 9), ("Softplus", 9), ("Softsign", 9), ("HardSwish", 14), ("Mish", 18), ("Identity", 9), ("Relu", 9), ("Sigmoid", 9), ("Tanh", 9)]


def unary(b):
    name, since = b.choose(UNARY)
    b.since(since)
    whole = name in ("Abs", "Neg", "Sign", "Identity") or (name == "Relu" and b.opset >= 14)
    b.add(name, [b.pick(NUMBERS if whole and b.chance(0.1) else FLOATS)])


def activation(b):
    name, since, attributes = b.choose([
        ("LeakyRelu", 9, ["alpha"]), ("Elu", 9, ["alpha"]), ("Selu", 9, ["alpha", "gamma"]), ("Celu", 12, ["alpha"]), ("HardSigmoid", 9, ["alpha", "beta"]),
        ("ThresholdedRelu", 10, ["alpha"]), ("Shrink", 9, ["lambd", "bias"]), ("Gelu", 20, []), ("Swish", 9, ["alpha"]), ("PRelu", 9, []), ("Clip", 9, [])])
    b.since(since)
    x = b.pick()
    given = {a: round(float(b.rng.uniform(0.05, 2)), 3) for a in attributes if b.chance(0.6)}
    if name == "Gelu" and b.chance(0.5):
        given["approximate"] = b.choose(["none", "tanh"])
    if name == "PRelu":
        return b.add(name, [x, b.weight(broadcast_to(b, b.shape(x)), b.type(x))])
    if name == "Clip":
        low, high = sorted(float(np.float16(v)) for v in b.rng.normal(0, 1.5, 2))
        if b.opset < 11:
            given = {k: v for k, v in (("min", low), ("max", high)) if b.chance(0.8)}
            return b.add(name, [x], given)
        scalar = lambda v: b.constant(np.float64(v), b.type(x)) if b.chance(0.8) else ""
        return b.add(name, [x, scalar(low), scalar(high)])
    b.add(name, [x], given)


def broadcast_to(b, shape):
    """Returns a shape that broadcasts one way to this one."""
    result = [1 if b.chance(0.35) else d for d in shape]
    return tuple(result[b.number(0, len(shape)):] if b.chance(0.4) else result)


def partner(b, x, types=None):
    """Returns another operand for an elementwise op, of x's type."""
    dtype, shape = b.type(x), b.shape(x)

    def fits(name):
        try:
            return math.prod(np.broadcast_shapes(b.shape(name), shape)) <= 1500
        except ValueError:
            return False
    if b.chance(0.5):
        return b.pick((dtype,), where=fits)
    shape = broadcast_to(b, shape)
    if b.chance(0.1) and len(shape) < 5:
        shape = (b.extent(),) + shape
    return b.weight(shape, dtype) if dtype in FLOATS else b.constant(b.sample(shape, dtype), dtype)


def binary(b):
    name = b.choose(["Add", "Add", "Sub", "Mul", "Mul", "Div", "Pow", "Mod", "Max", "Min", "Sum", "Mean", "Max", "Min"])
    only_floats = name in ("Sum", "Mean", "Pow") or (name in ("Max", "Min") and b.opset < 12)
    x = b.pick(FLOATS if only_floats or b.chance(0.9) else NUMBERS)
    if name == "Mod":
        b.since(10)
        return b.add("Mod", [x, partner(b, x)], {"fmod": 1} if b.type(x) in FLOATS or b.chance(0.5) else {})
    if name == "Pow":
        exponent = b.constant(np.float64(b.choose([0.5, 1, 2, 3, -1, -0.5, 1.5, 0])), b.type(x)) if b.chance(0.8) else partner(b, x)
        return b.add("Pow", [x, exponent])
    inputs = [x, partner(b, x)]
    if name in ("Max", "Min", "Sum", "Mean") and b.chance(0.3):
        inputs.append(partner(b, x))
    if b.chance(0.3) and name in ("Sub", "Div"):
        inputs.reverse()
    b.add(name, inputs)


def logic(b):
    name = b.choose(["Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "And", "Or", "Xor", "Not", "Where", "Where", "IsNaN"])
    booleans = [n for n in b.values if b.type(n) == "bool"]
    if name in ("And", "Or", "Xor"):
        x = b.choose(booleans)
        y = b.choose([n for n in booleans if b.shape(n) == b.shape(x)])
        return b.add(name, [x, y], types="bool")
    if name == "Not":
        return b.add(name, [b.choose(booleans)])
    if name == "IsNaN":
        return b.add(name, [b.pick()], types="bool")
    if name == "Where":
        x = b.pick()
        y = partner(b, x)
        condition = b.choose(booleans) if booleans and b.chance(0.5) else b.add("Greater", [x, b.constant(np.float64(0), b.type(x))], types="bool")
        return b.add(name, [condition] + ([x, y] if b.chance(0.5) else [y, x]), types=b.type(x))
    if name.endswith("OrEqual"):
        b.since(12)
    if name == "Equal" and b.opset < 11:
        raise Reject
    x = b.pick(NUMBERS if b.chance(0.3) else FLOATS)
    b.add(name, [x, partner(b, x)], types="bool")


def casts(b):
    x = b.pick(FLOATS + ("i64", "i32", "bool") if b.chance(0.3) else FLOATS)
    to = b.float_type() if b.chance(0.75) else b.choose(["i64", "i32", "i16", "i8", "u8", "bool"])
    if to == b.type(x):
        to = "f32"
    if b.chance(0.3) and b.opset >= 15:
        return b.add("CastLike", [x, b.choose([n for n in b.values if b.type(n) == to])], types=to)
    b.cast(x, to)


def reduce(b):
    name = b.choose(["ReduceSum", "ReduceMean", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceProd", "ReduceSumSquare"])
    x = b.pick(rank=(0, 5))
    rank, attributes, inputs = b.rank(x), {}, []
    if rank and b.chance(0.85):
        count = b.number(1, rank)
        axes = [b.maybe_negative(int(a), rank) for a in b.rng.permutation(rank)[:count]]
        inputs, attributes = b.axes_argument(axes, 13 if name == "ReduceSum" else 18)
    if b.chance(0.5):
        attributes["keepdims"] = int(b.chance(0.4))
    if not inputs and "axes" not in attributes and b.opset >= (13 if name == "ReduceSum" else 18) and b.chance(0.2):
        attributes["noop_with_empty_axes"] = 1
    b.add(name, [x] + inputs, attributes)


def pickers(b):
    name = b.choose(["ArgMax", "ArgMin", "CumSum", "Softmax", "Softmax", "LogSoftmax", "Hardmax"])
    x = b.pick(rank=(1, 5))
    axis = b.maybe_negative(b.number(0, b.rank(x) - 1), b.rank(x))
    if name in ("ArgMax", "ArgMin"):
        attributes = {"axis": axis if b.opset >= 11 else axis % b.rank(x), "keepdims": int(b.chance(0.5))}
        if b.opset >= 12 and b.chance(0.3):
            attributes["select_last_index"] = 1
        return b.add(name, [x], attributes, "i64")
    if name == "CumSum":
        b.since(11)
        return b.add(name, [x, b.integers(axis)], {k: 1 for k in ("exclusive", "reverse") if b.chance(0.4)})
    b.add(name, [x], {"axis": axis if b.opset >= 11 else axis % b.rank(x)} if b.chance(0.8) else {})


def reshape(b):
    x = b.pick()
    shape = list(b.shape(x))
    name = b.choose(["Reshape", "Reshape", "Flatten", "Squeeze", "Unsqueeze"])
    if name == "Flatten":
        return b.add(name, [x], {"axis": b.number(0, len(shape))})
    if name == "Squeeze":
        ones = [i for i, d in enumerate(shape) if d == 1]
        if not ones:
            raise Reject
        inputs, attributes = b.axes_argument(ones if b.chance(0.5) else [b.choose(ones)], 13)
        return b.add(name, [x] + inputs, attributes)
    if name == "Unsqueeze":
        if len(shape) > 4:
            raise Reject
        inputs, attributes = b.axes_argument([b.number(0, len(shape))], 13)
        return b.add(name, [x] + inputs, attributes)
    new, at = [], 0
    total = math.prod(shape)
    if total == 0:
        new = [0] + [b.extent() for _ in range(b.number(0, 2))]
        if 0 in shape[:1] and b.chance(0.5):
            return b.add(name, [x, b.integers(new)])
        b.since(14)
        return b.add(name, [x, b.integers(new)], {"allowzero": 1})
    while total > 1:
        divisors = [d for d in range(2, total + 1) if total % d == 0]
        new.append(b.choose(divisors[:4]) if len(new) < 4 else total)
        total //= new[-1]
    for _ in range(b.number(0, 2)):
        new.insert(b.number(0, len(new)), 1)
    if new and b.chance(0.4):
        new[b.number(0, len(new) - 1)] = -1
    elif b.chance(0.3):
        for at in range(min(len(new), len(shape))):
            if new[at] == shape[at]:
                new[at] = 0
    b.add(name, [x, b.integers(new)])


def transpose(b):
    x = b.pick(rank=(1, 5))
    rank = b.rank(x)
    kinds = [list(map(int, b.rng.permutation(rank))), list(range(rank))[::-1]]
    if rank > 2:
        kinds += [[0] + list(range(2, rank)) + [1], [0, rank - 1] + list(range(1, rank - 1)), [0, 2, 1] + list(range(3, rank))]
    b.add("Transpose", [x], {"perm": b.choose(kinds)} if b.chance(0.9) else {})


def concat(b):
    x = b.pick(rank=(1, 5))
    rank, shape = b.rank(x), b.shape(x)
    axis = b.number(0, rank - 1)
    same = lambda n: b.rank(n) == rank and b.shape(n)[:axis] + b.shape(n)[axis + 1:] == shape[:axis] + shape[axis + 1:]
    parts = [x, b.pick((b.type(x),), where=same)]
    if b.chance(0.4):
        extra = list(shape)
        extra[axis] = b.extent()
        parts.append(b.weight(extra, b.type(x)))
    b.rng.shuffle(parts)
    b.add("Concat", [str(p) for p in parts], {"axis": b.maybe_negative(axis, rank) if b.opset >= 11 else axis})


def split(b):
    x = b.pick(rank=(1, 5))
    axis = b.number(0, b.rank(x) - 1)
    length = b.shape(x)[axis]
    first = b.number(0 if b.zeros else min(1, length), length)
    sizes = [first, length - first] if length - first or b.zeros else [first]
    if b.opset < 13:
        return b.add("Split", [x], {"axis": axis, "split": sizes}, outputs=len(sizes))
    b.add("Split", [x, b.integers(sizes)], {"axis": axis}, outputs=len(sizes))


def slices(b):
    x = b.pick(rank=(1, 5))
    rank = b.rank(x)
    axes = sorted(int(a) for a in b.rng.permutation(rank)[:b.number(1, rank)])
    starts, ends, steps = [], [], []
    for axis in axes:
        length = b.shape(x)[axis]
        low = b.number(0, max(length - 1, 0))
        high = b.number(low if b.zeros else min(low + 1, length), length)
        step = b.choose([1, 1, 1, 2, 3, -1, -2])
        if b.opset < 10:
            step = 1
        if step < 0:
            starts.append(high - 1)
            ends.append(low - 1 if low else -(length + 1))
        else:
            starts.append(low - length if b.chance(0.2) and low else low)
            ends.append((1 << 31) - 1 if high == length and b.chance(0.4) else high)
        steps.append(step)
    if any(s < 0 for s in starts) and any(st < 0 for st in steps):
        starts = [s % max(b.shape(x)[a], 1) for s, a in zip(starts, axes)]
    if b.opset < 10:
        return b.add("Slice", [x], {"starts": starts, "ends": ends, "axes": axes})
    inputs = [x, b.integers(starts), b.integers(ends), b.integers(axes)]
    b.add("Slice", inputs + ([b.integers(steps)] if set(steps) != {1} or b.chance(0.3) else []))


def expand(b):
    x = b.pick(rank=(0, 4))
    if b.chance(0.5):
        return b.add("Tile", [x, b.integers([b.choose([1, 1, 2, 3] + ([0] if b.zeros else [])) for _ in b.shape(x)])])
    shape = [b.extent() if d == 1 and b.chance(0.6) else d for d in b.shape(x)]
    if b.chance(0.3):
        shape = [b.number(1, 3)] + shape
    b.add("Expand", [x, b.integers(shape)])


def pad(b):
    x = b.pick(rank=(1, 5))
    rank = b.rank(x)
    mode = b.choose(["constant", "constant", "reflect", "edge"] + (["wrap"] if b.opset >= 19 else []))
    pads = [b.choose([0, 0, 1, 2]) for _ in range(2 * rank)]
    if mode == "constant" and b.chance(0.2):
        pads = [b.choose([p, -1]) for p in pads]
    if mode != "constant" and any(d == 0 for d in b.shape(x)):
        raise Reject
    if mode == "reflect":
        pads = [min(p, b.shape(x)[i % rank] - 1) for i, p in enumerate(pads)]
    if mode == "wrap":
        pads = [min(p, b.shape(x)[i % rank]) for i, p in enumerate(pads)]
    attributes = {"mode": mode} if mode != "constant" or b.chance(0.5) else {}
    fill = round(float(b.rng.normal()), 1) if mode == "constant" and b.chance(0.4) else None
    if b.opset < 11:
        return b.add("Pad", [x], {**attributes, "pads": pads, **({"value": fill} if fill is not None else {})})
    b.add("Pad", [x, b.integers(pads)] + ([b.constant(np.float64(fill), b.type(x))] if fill is not None else []), attributes)


def blocks(b):
    x = b.pick(rank=4)
    k = b.choose([2, 2, 3])
    if b.chance(0.5):
        return b.add("SpaceToDepth", [x], {"blocksize": k})
    b.add("DepthToSpace", [x], {"blocksize": k, **({"mode": b.choose(["DCR", "CRD"])} if b.opset >= 11 else {})})


def trilu(b):
    b.since(14)
    x = b.pick(rank=(2, 5))
    b.add("Trilu", [x] + ([b.integers(b.number(-2, 2))] if b.chance(0.5) else []), {"upper": int(b.chance(0.5))} if b.chance(0.7) else {})


def indices(b, shape, length):
    """Returns integers that index `length` elements."""
    if length == 0:
        raise Reject
    values = b.rng.integers(-length if b.opset >= 11 and b.chance(0.3) else 0, length, shape)
    return values


def gather(b):
    name = b.choose(["Gather", "Gather", "GatherElements", "GatherND", "ScatterElements", "ScatterND", "OneHot"])
    if name == "OneHot":
        depth = b.number(1, 5)
        hot = b.constant(indices(b, [b.extent() for _ in range(b.number(0, 2))], depth), "i64")
        pair = b.constant(b.sample((2,), "f32"), "f32")
        return b.add(name, [hot, b.integers([depth] if b.chance(0.5) else depth), pair], {"axis": b.choose([-1, 0])}, "f32")
    if name != "Gather":
        b.since(11)
    x = b.pick(rank=(1, 4))
    shape, rank = b.shape(x), b.rank(x)
    axis = b.number(0, rank - 1)
    kind = b.choose(["i64", "i64", "i32"])
    if name == "Gather":
        wanted = [b.extent() for _ in range(b.number(0, 2))]
        return b.add(name, [x, b.constant(indices(b, wanted, shape[axis]), kind)], {"axis": b.maybe_negative(axis, rank)})
    if name in ("GatherElements", "ScatterElements"):
        wanted = [d if i != axis else b.number(1, 4) for i, d in enumerate(shape)]
        if name == "GatherElements":
            return b.add(name, [x, b.constant(indices(b, wanted, shape[axis]), kind)], {"axis": axis})
        if wanted[axis] > shape[axis]:
            raise Reject
        added = b.opset >= 16 and b.chance(0.5)
        if added:
            index = indices(b, wanted, shape[axis])
        else:  # indices are unique, since it is undefined which of two duplicates wins
            index = np.broadcast_to(b.rng.permutation(shape[axis])[:wanted[axis]].reshape([-1 if i == axis else 1 for i in range(rank)]), wanted)
        return b.add(name, [x, b.constant(index, kind), b.weight(wanted, b.type(x))], {"axis": axis, **({"reduction": "add"} if added else {})})
    depth = b.number(1, rank)
    count = b.number(1, 3)
    if 0 in shape:
        raise Reject
    flat = b.rng.permutation(math.prod(shape[:depth]))[:count]
    index = np.stack(np.unravel_index(flat, shape[:depth]), -1)
    if name == "GatherND":
        return b.add(name, [x, b.constant(index, "i64")])
    b.add(name, [x, b.constant(index, "i64"), b.weight((len(flat),) + tuple(shape[depth:]), b.type(x))], {"reduction": "add"} if b.opset >= 16 and b.chance(0.4) else {})


def shape_sums(b):
    """Adds shapes that are computed from shapes, as exporters write them; the importer folds them away."""
    x = b.pick(rank=(1, 4))
    rank = b.rank(x)
    sizes = b.add("Shape", [x], types="i64")
    kind = b.choose(["reshape", "expand", "fill", "range"])
    if kind == "reshape":
        if 0 in b.shape(x):
            raise Reject
        head = b.add("Gather", [sizes, b.integers([0])], {"axis": 0}, "i64")
        return b.add("Reshape", [x, b.add("Concat", [head, b.integers([-1])], {"axis": 0}, "i64")])
    if kind == "expand":
        return b.add("Expand", [b.weight((1,) * rank, b.type(x)), sizes])
    if kind == "fill":
        value = {"value": {"dtype": "f32", "shape": [1], "values": [float(np.float32(b.rng.normal()))]}}
        filled = b.add("ConstantOfShape", [sizes], value, "f32")
        return b.add("Mul", [x, filled]) if b.type(x) == "f32" else None
    b.since(11)
    length = b.add("Squeeze", [b.add("Gather", [sizes, b.integers([rank - 1])], {"axis": 0}, "i64")], types="i64") if b.opset >= 13 else b.add("Gather", [sizes, b.integers(rank - 1)], {"axis": 0}, "i64")
    steps = b.cast(b.add("Range", [b.integers(0), length, b.integers(1)], types="i64"), b.type(x))
    return b.add("Add", [x, steps])


def extremes_of_floats(b):
    """Adds an IsInf or an EyeLike."""
    x = b.pick(rank=2) if b.chance(0.5) else b.pick()
    if b.rank(x) == 2 and b.chance(0.6):
        eye = b.add("EyeLike", [x], {"k": b.number(-1, 1)} if b.chance(0.5) else {})
        return b.add("Add", [x, eye])
    b.since(10)
    return b.add("Where", [b.add("IsInf", [x], types="bool"), b.constant(np.float64(0), b.type(x)), x], types=b.type(x))


def data_gather(b):
    """Adds indices that are data: they select rows of a table, as embeddings do."""
    rows = b.number(2, 6)
    index = b.register(b.graph.inputs, b.fresh("x"), b.rng.integers(0, rows, (b.batch,) + tuple(b.number(1, 3) for _ in range(b.number(0, 1)))), b.choose(["i64", "i32"]))
    b.add("Gather", [b.weight((rows, b.number(1, 5))), index], {"axis": 0}, "f32")
