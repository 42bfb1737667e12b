# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The generator's products, convolutions, pools, norms and losses, and whole chains of them (see families.py)."""
import math

import numpy as np

from builder import Reject
from families import activation, binary, broadcast_to, concat, reshape, transpose, unary
from graph import ONNX_TYPES


def scaled(b, shape, dtype="f32"):
    """Returns a weight whose products stay about as large as their operands."""
    fan = max(1, math.prod(shape[1:]) if len(shape) > 1 else 1)
    if b.chance(0.8):
        return b.parameter(shape, dtype, b.rng.normal(0, fan ** -0.5, shape))
    return b.weight(shape, dtype)


def with_rank(b, low, high):
    """Returns a float tensor whose rank is between low and high. Where there is none, it reshapes another one."""
    try:
        return b.pick(rank=(low, high))
    except Reject:
        rank = b.number(low, high)
        return b.input((b.batch,) + tuple(b.extent() for _ in range(rank - 1)))


def matmul(b):
    x = b.pick(rank=(1, 5))
    shape = b.shape(x)
    if b.chance(0.15):
        same = [n for n in b.values if b.type(n) == b.type(x) and b.rank(n) >= 2 and b.shape(n)[-2] == shape[-1]]
        return b.add("MatMul", [x, b.choose(same)])
    k, n = shape[-1], b.extent()
    other = (k,) if b.chance(0.1) else (k, n)
    if len(other) == 2 and len(shape) > 2 and b.chance(0.2):
        other = tuple(d if b.chance(0.7) else 1 for d in shape[:-2]) + other
    b.add("MatMul", [x, scaled(b, other, b.type(x))])


def einsum(b):
    """One operand whose labels may repeat and are kept or summed, or two of which each label that only one has is kept."""
    b.since(12)
    x = b.pick(rank=(1, 4))
    letters, extents = list(b.rng.permutation(list("abcdefghijXYZ"))), {}
    term = []
    for extent in b.shape(x):
        same = [label for label in term if extents[label] == extent]
        term.append(b.choose(same) if same and b.chance(0.15) else letters.pop())
        extents[term[-1]] = extent
    own = sorted(set(term))
    if b.chance(0.3):
        result = [label for label in b.rng.permutation(own) if b.chance(0.7)]
        return b.add("Einsum", [x], {"equation": "".join(term) + "->" + "".join(result)})
    shared = [label for label in own if b.chance(0.6)]
    new = [letters.pop() for _ in range(b.number(0, 2))]
    extents.update({label: b.extent() for label in new})
    other = list(b.rng.permutation(shared + new))
    weight = scaled(b, tuple(1 if b.chance(0.1) else extents[label] for label in other), b.type(x))
    result = list(b.rng.permutation([label for label in own if label not in shared or b.chance(0.4)] + new))
    terms, operands = ["".join(term), "".join(other)], [x, weight]
    if b.chance(0.5):
        terms.reverse(), operands.reverse()
    b.add("Einsum", operands, {"equation": ",".join(terms) + "->" + "".join(result)})


def gemm(b):
    x = b.pick(rank=2)
    a = {name: 1 for name in ("transA", "transB") if b.chance(0.4)}
    m, k = b.shape(x)[::-1] if "transA" in a else b.shape(x)
    n = b.extent()
    inputs = [x, scaled(b, (n, k) if "transB" in a else (k, n), b.type(x))]
    if b.opset < 11 or b.chance(0.7):
        inputs.append(b.weight(broadcast_to(b, (m, n)), b.type(x)))
    for name in ("alpha", "beta"):
        if b.chance(0.3):
            a[name] = round(float(b.rng.uniform(-2, 2)), 2)
    b.add("Gemm", inputs, a)


def geometry(b, shape, transposed=False):
    """Returns kernel_shape and window attributes for the spatial dimensions of a shape."""
    spatial = shape[2:]
    kernel = [b.choose([k for k in (1, 2, 3) if k <= max(d, 1) + 2]) for d in spatial]
    a = {}
    if b.chance(0.4):
        a["strides"] = [b.number(1, 3) for _ in spatial]
    if b.chance(0.2):
        a["dilations"] = [b.number(1, 2) for _ in spatial]
    if b.chance(0.5):
        a["pads"] = [b.number(0, min(1, k - 1)) for k in kernel] * 2 if b.chance(0.6) else [b.number(0, k - 1) for k in kernel + kernel]
    elif b.chance(0.15) and not transposed and "dilations" not in a:
        a["auto_pad"] = b.choose(["SAME_UPPER", "SAME_LOWER", "VALID"])
    return kernel, a


def conv(b, x=None, out=None):
    x = x or with_rank(b, 3, 5)
    dtype, shape = b.type(x), b.shape(x)
    if shape[1] == 0 and b.chance(0.8):
        raise Reject
    kernel, a = geometry(b, shape)
    group = b.choose([1, 1, 1, shape[1]] + ([2] if shape[1] % 2 == 0 else [])) or 1
    out = out or group * b.number(1, 3 if group > 1 else 6)
    if group > 1:
        a["group"] = group
    inputs = [x, scaled(b, (out, shape[1] // group) + tuple(kernel), dtype)]
    if b.chance(0.6):
        inputs.append(b.weight((out,), dtype))
    return b.add("Conv", inputs, a)


def conv_transpose(b):
    x = with_rank(b, 3, 5)
    shape, dtype = b.shape(x), b.type(x)
    if 0 in shape:
        raise Reject
    kernel, a = geometry(b, shape, transposed=True)
    group = 2 if shape[1] % 2 == 0 and b.chance(0.3) else 1
    if group > 1:
        a["group"] = group
    per_group = b.number(1, 3)
    if "strides" in a and b.chance(0.4):
        a["output_padding"] = [b.number(0, s - 1) for s in a["strides"]]
    inputs = [x, scaled(b, (shape[1], per_group) + tuple(kernel), dtype)]
    if b.chance(0.5):
        inputs.append(b.weight((per_group * group,), dtype))
    b.add("ConvTranspose", inputs, a)


def pool(b):
    x = with_rank(b, 3, 5)
    name = b.choose(["MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool", "LpPool"])
    if 0 in b.shape(x)[2:]:
        raise Reject
    if name.startswith("Global"):
        return b.add(name, [x])
    kernel, a = geometry(b, b.shape(x))
    if name == "LpPool":
        b.since(18)
        a.pop("dilations", None)
        a["p"] = b.number(1, 3)
    if (name == "MaxPool" and b.opset < 10) or (name == "AveragePool" and b.opset < 19):
        a.pop("dilations", None)
    if b.opset >= 10 and name != "LpPool" and "auto_pad" not in a and b.chance(0.3):
        a["ceil_mode"] = 1
    if name == "AveragePool" and b.chance(0.4):
        a["count_include_pad"] = 1
    b.add(name, [x], {"kernel_shape": kernel, **a})


def epsilon(b):
    return {"epsilon": b.choose([1e-5, 1e-5, 1e-3, 1e-6, 1e-8, 1e-12])} if b.chance(0.6) else {}


def norm(b, x=None):
    name = b.choose(["LayerNormalization", "LayerNormalization", "RMSNormalization", "InstanceNormalization", "GroupNormalization", "BatchNormalization", "LRN",
                     "MeanVarianceNormalization", "LpNormalization"])
    b.since({"LayerNormalization": 17, "RMSNormalization": 23, "GroupNormalization": 18}.get(name, 9))
    x = x or (b.pick(rank=(1, 5)) if name in ("LayerNormalization", "RMSNormalization", "LpNormalization") else with_rank(b, 3, 5))
    shape, dtype, rank = b.shape(x), b.type(x), b.rank(x)
    if 0 in shape and not b.chance(0.2):
        raise Reject
    a = epsilon(b)
    if name in ("LayerNormalization", "RMSNormalization"):
        axis = b.number(0, rank - 1) if b.chance(0.4) else rank - 1
        if axis != rank - 1 or b.chance(0.3):
            a["axis"] = b.maybe_negative(axis, rank)
        count = 1 if name == "RMSNormalization" or b.chance(0.3) else 2
        return b.add(name, [x] + [b.weight(shape[axis:], dtype) for _ in range(count)], a)
    if rank < 3:
        raise Reject
    if name == "BatchNormalization":
        c = (shape[1],)
        running = [b.constant(np.abs(b.sample(c, "f32")) + 0.1, dtype) for _ in range(2)]
        return b.add(name, [x, b.weight(c, dtype), b.weight(c, dtype)] + running, a)
    if name == "InstanceNormalization":
        return b.add(name, [x, b.weight((shape[1],), dtype), b.weight((shape[1],), dtype)], a)
    if name == "GroupNormalization":
        groups = b.choose([g for g in range(1, shape[1] + 1) if shape[1] % g == 0])
        c = (shape[1] if b.opset >= 21 else groups,)
        return b.add(name, [x, b.weight(c, dtype), b.weight(c, dtype)], {"num_groups": groups, **(a if b.chance(0.8) else {})})
    if name == "LRN":
        return b.add(name, [x], {"size": b.number(1, 5), **({"alpha": 0.1, "beta": 0.5, "bias": 1.5} if b.chance(0.5) else {})})
    if name == "MeanVarianceNormalization":
        if rank != 4:
            raise Reject
        return b.add(name, [x], {"axes": b.choose([[0, 2, 3], [2, 3], [1, 2, 3]])} if b.chance(0.5) else {})
    return b.add(name, [x], {"axis": b.maybe_negative(b.number(0, rank - 1), rank), "p": b.number(1, 2)})


def composed_norm(b, x=None):
    """Adds a layer, RMS or L2 norm of primitive ops, as exporters write it."""
    x = x or b.pick(rank=(1, 5))
    dtype, rank, shape = b.type(x), b.rank(x), b.shape(x)
    if 0 in shape:
        raise Reject
    axes = [-1] if b.chance(0.7) else list(range(-b.number(1, rank), 0))
    positive = [a + rank for a in axes] if b.opset < 11 else axes

    def mean(v):
        inputs, attributes = b.axes_argument(positive, 18)
        return b.add("ReduceMean", [v] + inputs, {**attributes, "keepdims": 1})
    eps = b.constant(np.float64(b.choose([1e-5, 1e-6, 1e-8, 1e-12, 1e-3])), dtype)
    centred = x
    if b.chance(0.6):
        centred = b.add("Sub", [x, mean(x)])
    square = b.add("Mul", [centred, centred]) if b.chance(0.5) else b.add("Pow", [centred, b.constant(np.float64(2), dtype)])
    if b.chance(0.15):
        inputs, attributes = b.axes_argument(positive, 13)
        variance = b.add("ReduceSum", [square] + inputs, {**attributes, "keepdims": 1})
    else:
        variance = mean(square)
    root = b.add("Sqrt", [b.add("Add", [variance, eps])])
    y = b.add("Div", [centred, root]) if b.chance(0.6) else b.add("Mul", [centred, b.add("Reciprocal", [root])])
    if b.chance(0.7):
        y = b.add("Mul", [y, b.weight(shape[rank + min(axes):], dtype)] if b.chance(0.7) else [b.weight(shape[-1:], dtype), y])
    if b.chance(0.5):
        y = b.add("Add", [y, b.weight(shape[-1:], dtype)])
    return y


def resize(b):
    x = with_rank(b, 3, 5)
    factors = [1.0, 1.0] + [float(b.number(1, 2)) for _ in b.shape(x)[2:]]
    if 0 in b.shape(x):
        raise Reject
    scales = b.constant(np.array(factors), "f32")
    if b.opset == 9:
        return b.add("Upsample", [x, scales], {"mode": "nearest"})
    if b.opset == 10:
        return b.add("Resize", [x, scales], {"mode": "nearest"})
    if b.chance(0.5):
        return b.add("Resize", [x, "", scales], {"mode": "linear"})
    b.add("Resize", [x, "", scales], {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"})


def dropout(b):
    x = b.pick()
    if b.opset < 12:
        return b.add("Dropout", [x], {"ratio": 0.0})
    b.add("Dropout", [x, b.constant(np.float64(0), "f32")])


def loss_op(b):
    name = b.choose(["SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss"])
    b.since(12)
    x = b.pick(("f32",), rank=(2, 4))
    shape = b.shape(x)
    if shape[1] == 0:
        raise Reject
    labels = b.constant(b.rng.integers(0, shape[1], (shape[0],) + tuple(shape[2:])), "i64")
    attributes = {"reduction": b.choose(["mean", "sum", "none"])} if b.chance(0.5) else {}
    if b.chance(0.3):
        attributes["ignore_index"] = b.number(0, shape[1] - 1)
    inputs = [x, labels] + ([b.constant(np.abs(b.sample((shape[1],), "f32")) + 0.1, "f32")] if b.chance(0.3) else [])
    b.add(name, inputs, attributes)


def chain(b):
    """Adds a convolution or product, and then what exporters put around it: transposes, reshapes, norms, activations, concatenations."""
    if b.chance(0.5):
        conv(b, out=b.number(1, 5))
    else:
        matmul(b)
    for _ in range(b.number(2, 5)):
        last = b.graph.nodes[-1].outputs[0]
        kind = b.choose(["norm", "composed", "transpose", "transpose", "reshape", "activation", "concat", "conv", "binary", "021"])
        try:
            if kind == "norm":
                norm(b, last if b.rank(last) >= 3 else None)
            elif kind == "composed":
                composed_norm(b, last if b.rank(last) else None)
            elif kind == "conv":
                conv(b, last if b.rank(last) in (3, 4, 5) else None)
            elif kind == "021" and b.rank(last) == 3:
                b.add("Transpose", [last], {"perm": [0, 2, 1]})
            else:
                {"transpose": transpose, "reshape": reshape, "activation": b.choose([unary, activation]), "concat": concat, "binary": binary, "021": transpose}[kind](b)
        except Reject:
            continue


def attention(b):
    """Adds an attention: scores of rows with each other, a softmax, and a weighted sum."""
    x = b.pick(rank=(2, 4))
    rank, width = b.rank(x), b.shape(x)[-1]
    k = b.number(1, 5)
    q, key, v = (b.add("MatMul", [x, scaled(b, (width, k), b.type(x))]) for _ in range(3))
    perm = list(range(rank))
    perm[-1], perm[-2] = perm[-2], perm[-1]
    scores = b.add("MatMul", [q, b.add("Transpose", [key], {"perm": perm})])
    scores = b.add("Mul", [scores, b.constant(np.float64(max(k, 1) ** -0.5), b.type(x))])
    b.add("MatMul", [b.add("Softmax", [scores], {"axis": -1} if b.opset >= 13 else {"axis": rank - 1}), v])


def cast_back(b, x):
    return x if b.type(x) == "f32" else b.add("Cast", [x], {"to": ONNX_TYPES["f32"]}, "f32")
