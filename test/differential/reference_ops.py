# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The reference's elementwise, reducing, shaping and indexing ops (reference.py)."""
import math

import torch

from reference import NotDefined, attribute, axes_of, beside_jump, from_result, inner, ints, op, single, used


# -- one operand ---------------------------------------------------------------------------------------
UNARY = {"Abs": torch.abs, "Neg": torch.neg, "Sign": torch.sign, "Floor": torch.floor, "Ceil": torch.ceil, "Round": torch.round, "Exp": torch.exp,
         "Log": torch.log, "Sqrt": torch.sqrt, "Reciprocal": torch.reciprocal, "Sin": torch.sin, "Cos": torch.cos, "Tan": torch.tan, "Asin": torch.asin,
         "Acos": torch.acos, "Atan": torch.atan, "Sinh": torch.sinh, "Cosh": torch.cosh, "Asinh": torch.asinh, "Acosh": torch.acosh, "Atanh": torch.atanh,
         "Erf": torch.erf, "Tanh": torch.tanh, "Sigmoid": torch.sigmoid, "Relu": torch.relu, "Not": torch.logical_not, "Identity": lambda x: x.clone(),
         "Softplus": lambda x: torch.nn.functional.softplus(x, threshold=700), "Softsign": torch.nn.functional.softsign,
         "HardSwish": lambda x: x * torch.clamp(x / 6 + 0.5, 0, 1), "Mish": lambda x: x * torch.tanh(torch.nn.functional.softplus(x, threshold=700)),
         "IsNaN": torch.isnan}
for name, function in UNARY.items():
    op(name)(lambda a, x, o, function=function: function(x[0]))
for name in ("Sign", "Floor", "Ceil", "Round"):
    op(name)(lambda a, x, o, function=UNARY[name]: function(beside_jump(x[0])))


@op("Gelu")
def _(a, x, o):
    return torch.nn.functional.gelu(x[0], approximate=a.get("approximate", "none"))


@op("LeakyRelu")
def _(a, x, o):
    return torch.nn.functional.leaky_relu(x[0], attribute(a, "alpha", 0.01))


@op("Elu")
def _(a, x, o):
    return torch.nn.functional.elu(x[0], attribute(a, "alpha", 1))


@op("Selu")
def _(a, x, o):
    alpha, gamma = attribute(a, "alpha", 1.67326319217681884765625), attribute(a, "gamma", 1.05070102214813232421875)
    return gamma * torch.nn.functional.elu(x[0], alpha)


@op("Celu")
def _(a, x, o):
    return torch.nn.functional.celu(x[0], attribute(a, "alpha", 1))


@op("HardSigmoid")
def _(a, x, o):
    return torch.clamp(attribute(a, "alpha", 0.2) * x[0] + attribute(a, "beta", 0.5), 0, 1)


@op("ThresholdedRelu")
def _(a, x, o):
    return torch.where(x[0] > attribute(a, "alpha", 1), x[0], torch.zeros_like(x[0]))


@op("Shrink")
def _(a, x, o):
    lambd, bias = attribute(a, "lambd", 0.5), attribute(a, "bias", 0)
    return torch.where(x[0] < -lambd, x[0] + bias, torch.where(x[0] > lambd, x[0] - bias, torch.zeros_like(x[0])))


@op("Swish")
def _(a, x, o):
    return x[0] * used(torch.sigmoid(attribute(a, "alpha", 1) * x[0]))


@op("Clip")
def _(a, x, o):
    low, high = (a.get("min"), a.get("max")) if o < 11 else (x[1] if len(x) > 1 else None, x[2] if len(x) > 2 else None)
    number = lambda v: v if v is None else (float(v) if torch.is_tensor(v) else single(v))
    low, high = number(low), number(high)
    return x[0].clone() if low is None and high is None else torch.clamp(x[0], low, high)


FROM_RESULT = {"Sigmoid": (torch.sigmoid, lambda g, y: g * y * (1 - y)), "Tanh": (torch.tanh, lambda g, y: g * (1 - y * y)), "Exp": (torch.exp, lambda g, y: g * y),
               "Sqrt": (torch.sqrt, lambda g, y: g / (2 * y)), "Reciprocal": (torch.reciprocal, lambda g, y: -g * y * y)}
for name, pair in FROM_RESULT.items():
    op(name)(lambda a, x, o, pair=pair: from_result(x[0], *pair))


# -- two and more operands -------------------------------------------------------------------------------
def divide(x, y):
    if x.is_floating_point():
        return x / y
    zero = y == 0  # an integer divided by zero gives 0
    return torch.where(zero, torch.zeros_like(x), torch.div(x, torch.where(zero, torch.ones_like(y), y), rounding_mode="trunc"))


BINARY = {"Add": torch.add, "Sub": torch.sub, "Mul": torch.mul, "Div": divide, "And": torch.logical_and, "Or": torch.logical_or, "Xor": torch.logical_xor,
          "Equal": torch.eq, "Greater": torch.gt, "GreaterOrEqual": torch.ge, "Less": torch.lt, "LessOrEqual": torch.le}
for name, function in BINARY.items():
    op(name)(lambda a, x, o, function=function: function(x[0], x[1]))


@op("Pow")
def _(a, x, o):
    return torch.pow(x[0], x[1].to(x[0].dtype))


@op("Mod")
def _(a, x, o):
    return torch.fmod(x[0], x[1]) if a.get("fmod", 0) else torch.remainder(x[0], x[1])


def folded(function):
    def run(a, x, o):
        y = x[0]
        for other in x[1:]:
            y = function(y, other)
        return y
    return run


op("Max")(folded(torch.maximum))
op("Min")(folded(torch.minimum))
op("Sum")(folded(torch.add))
op("Mean")(lambda a, x, o: folded(torch.add)(a, x, o) / len(x))
op("Where")(lambda a, x, o: torch.where(x[0], x[1], x[2]))
op("PRelu")(lambda a, x, o: torch.where(x[0] > 0, x[0], x[0] * x[1]))


# -- reductions --------------------------------------------------------------------------------------------
def reduction_axes(a, x, o, since):
    axes = a.get("axes") if o < since else (ints(x[1]) if len(x) > 1 and x[1] is not None else None)
    rank = x[0].dim()
    if axes is None or len(axes) == 0:
        if axes is not None and o >= since and a.get("noop_with_empty_axes", 0):
            return []
        return [] if axes is None and a.get("noop_with_empty_axes", 0) else list(range(rank))
    return axes_of(axes, rank)


def logsumexp(x, d, k):
    return torch.logsumexp(x, d, keepdim=k)


def extreme(function):
    def run(x, d, k):
        return function(x, dim=d, keepdim=k)
    return run


def product(x, dims, k):
    for d in sorted(dims, reverse=True):
        x = torch.prod(x, d, keepdim=k)
    return x


def norm2(x, d, k):
    return torch.linalg.vector_norm(x, 2, dim=d, keepdim=k)


REDUCE = {"ReduceSum": lambda x, d, k: x.sum(d, keepdim=k), "ReduceMean": lambda x, d, k: x.mean(d, keepdim=k), "ReduceL1": lambda x, d, k: x.abs().sum(d, keepdim=k),
          "ReduceL2": norm2, "ReduceLogSum": lambda x, d, k: torch.log(x.sum(d, keepdim=k)), "ReduceLogSumExp": logsumexp, "ReduceMax": extreme(torch.amax),
          "ReduceMin": extreme(torch.amin), "ReduceProd": product, "ReduceSumSquare": lambda x, d, k: (x * x).sum(d, keepdim=k)}
# These reductions change a number even when they reduce it alone.
SINGLE = {"ReduceL1": torch.abs, "ReduceL2": torch.abs, "ReduceLogSum": torch.log, "ReduceSumSquare": lambda x: x * x}


def reducer(name, function):
    def run(a, x, o):
        axes = reduction_axes(a, x, o, 13 if name == "ReduceSum" else 18)
        if not axes:
            return SINGLE.get(name, torch.clone)(x[0])
        return function(x[0], axes, bool(a.get("keepdims", 1)))
    op(name)(run)


for name, function in REDUCE.items():
    reducer(name, function)


def arg_extreme(largest):
    def run(a, x, o):
        axis = a.get("axis", 0) % x[0].dim()
        values = x[0] if largest else -x[0]
        if a.get("select_last_index", 0):
            length = values.shape[axis]
            y = length - 1 - torch.argmax(torch.flip(values, [axis]).detach(), axis)
        else:
            best = values.detach() == torch.amax(values.detach(), axis, keepdim=True)
            y = torch.argmax(best.to(torch.int64), axis)
        return y.unsqueeze(axis) if a.get("keepdims", 1) else y
    return run


op("ArgMax")(arg_extreme(True))
op("ArgMin")(arg_extreme(False))


@op("CumSum")
def _(a, x, o):
    axis = ints(x[1])[0] % x[0].dim()
    v = torch.flip(x[0], [axis]) if a.get("reverse", 0) else x[0]
    if a.get("exclusive", 0):
        # The sums before v are those of v moved on by one: to subtract v from its own sums would lose small numbers behind large ones.
        v = torch.cat([torch.zeros_like(v.narrow(axis, 0, min(1, v.shape[axis]))), v], axis).narrow(axis, 0, v.shape[axis])
    y = torch.cumsum(v, axis)
    return torch.flip(y, [axis]) if a.get("reverse", 0) else y


def softmaxes(function):
    def run(a, x, o):
        rank = x[0].dim()
        if o >= 13:
            return function(x[0], a.get("axis", -1) % rank)
        axis = a.get("axis", 1) % rank if a.get("axis", 1) != rank else rank
        flat = x[0].reshape(math.prod(x[0].shape[:axis]), math.prod(x[0].shape[axis:]))
        return function(flat, 1).reshape(x[0].shape)
    return run


def hardmax(x, axis):
    best = torch.argmax((x.detach() == torch.amax(x.detach(), axis, keepdim=True)).to(torch.int64), axis, keepdim=True)
    return torch.zeros_like(x).scatter(axis, best, 1.0)


op("Softmax")(softmaxes(lambda x, d: from_result(inner(x), lambda v: torch.softmax(v, d), lambda g, y: y * (g - (g * y).sum(d, keepdim=True)))))
op("LogSoftmax")(softmaxes(lambda x, d: from_result(inner(x), lambda v: torch.log_softmax(v, d), lambda g, y: g - torch.exp(y) * g.sum(d, keepdim=True))))
op("Hardmax")(softmaxes(hardmax))


# -- shapes ------------------------------------------------------------------------------------------------
@op("Reshape")
def _(a, x, o):
    shape, source = ints(x[1]), list(x[0].shape)
    if not (o >= 14 and a.get("allowzero", 0)):
        shape = [source[i] if d == 0 else d for i, d in enumerate(shape)]
    return x[0].reshape(shape)


@op("Flatten")
def _(a, x, o):
    axis, rank = a.get("axis", 1), x[0].dim()
    axis = axis + rank if axis < 0 else axis
    return x[0].reshape(math.prod(x[0].shape[:axis]), math.prod(x[0].shape[axis:]))


@op("Transpose")
def _(a, x, o):
    return x[0].permute(a.get("perm", list(range(x[0].dim()))[::-1]))


@op("Squeeze")
def _(a, x, o):
    axes = a.get("axes") if o < 13 else (ints(x[1]) if len(x) > 1 else None)
    rank = x[0].dim()
    axes = [i for i, d in enumerate(x[0].shape) if d == 1] if axes is None else axes_of(axes, rank)
    return x[0].reshape([d for i, d in enumerate(x[0].shape) if i not in axes])


@op("Unsqueeze")
def _(a, x, o):
    axes = a["axes"] if o < 13 else ints(x[1])
    rank = x[0].dim() + len(axes)
    rest, axes = iter(x[0].shape), axes_of(axes, rank)
    return x[0].reshape([1 if i in axes else next(rest) for i in range(rank)])


op("Concat")(lambda a, x, o: torch.cat(x, a["axis"]))


@op("Split")
def _(a, x, o):
    axis = a.get("axis", 0)
    sizes = a.get("split") if o < 13 else (ints(x[1]) if len(x) > 1 and x[1] is not None else None)
    if sizes is None:
        raise NotDefined("split without sizes")
    return torch.split(x[0], sizes, axis)


@op("Slice")
def _(a, x, o):
    if o < 10:
        starts, ends, axes, steps = a["starts"], a["ends"], a.get("axes"), None
    else:
        starts, ends = ints(x[1]), ints(x[2])
        axes = ints(x[3]) if len(x) > 3 and x[3] is not None else None
        steps = ints(x[4]) if len(x) > 4 and x[4] is not None else None
    rank = x[0].dim()
    axes = list(range(len(starts))) if axes is None else axes_of(axes, rank)
    y = x[0]
    for i, axis in enumerate(axes):
        index = range(y.shape[axis])[slice(starts[i], None if steps and steps[i] < 0 and ends[i] < -y.shape[axis] else ends[i], steps[i] if steps else 1)]
        y = y.index_select(axis, torch.tensor(list(index), dtype=torch.int64))
    return y


op("Expand")(lambda a, x, o: x[0].expand(torch.broadcast_shapes(tuple(x[0].shape), tuple(ints(x[1])))).clone())
op("Tile")(lambda a, x, o: x[0].repeat(ints(x[1])) if x[0].dim() else x[0].clone())


@op("Pad")
def _(a, x, o):
    pads, mode = (a["pads"], a.get("mode", "constant")) if o < 11 else (ints(x[1]), a.get("mode", "constant"))
    fill = attribute(a, "value", 0) if o < 11 else (x[2].item() if len(x) > 2 and x[2] is not None else 0)
    rank, y = x[0].dim(), x[0]
    for d in range(rank):
        low, high, length = pads[d], pads[d + rank], y.shape[d]
        positions = range(-low, length + high)
        if mode == "constant":
            y = y.index_select(d, torch.tensor([p for p in positions if 0 <= p < length], dtype=torch.int64))
            shape = list(y.shape)
            parts = []
            for count in (sum(p < 0 for p in positions), sum(p >= length for p in positions)):
                shape[d] = count
                parts.append(torch.full(shape, fill, dtype=y.dtype))
            y = torch.cat([parts[0], y, parts[1]], d)
            continue
        fold = {"edge": lambda p: min(max(p, 0), length - 1), "wrap": lambda p: p % length,
                "reflect": lambda p: 0 if length == 1 else (length - 1) - abs((p % (2 * length - 2)) - (length - 1))}[mode]
        y = y.index_select(d, torch.tensor([fold(p) for p in positions], dtype=torch.int64))
    return y


@op("DepthToSpace")
def _(a, x, o):
    b, (n, c, h, w) = a["blocksize"], x[0].shape
    if a.get("mode", "DCR") == "DCR":
        return x[0].reshape(n, b, b, c // (b * b), h, w).permute(0, 3, 4, 1, 5, 2).reshape(n, c // (b * b), h * b, w * b)
    return x[0].reshape(n, c // (b * b), b, b, h, w).permute(0, 1, 4, 2, 5, 3).reshape(n, c // (b * b), h * b, w * b)


@op("SpaceToDepth")
def _(a, x, o):
    b, (n, c, h, w) = a["blocksize"], x[0].shape
    return x[0].reshape(n, c, h // b, b, w // b, b).permute(0, 3, 5, 1, 2, 4).reshape(n, c * b * b, h // b, w // b)


@op("Trilu")
def _(a, x, o):
    k = ints(x[1])[0] if len(x) > 1 and x[1] is not None else 0
    return torch.triu(x[0], k) if a.get("upper", 1) else torch.tril(x[0], k)


# -- indices -------------------------------------------------------------------------------------------------
def positive(index, length):
    return torch.where(index < 0, index + length, index)


@op("Gather")
def _(a, x, o):
    axis = a.get("axis", 0) % x[0].dim()
    index = positive(x[1], x[0].shape[axis])
    y = x[0].index_select(axis, index.reshape(-1))
    return y.reshape(x[0].shape[:axis] + index.shape + x[0].shape[axis + 1:])


@op("GatherElements")
def _(a, x, o):
    axis = a.get("axis", 0) % x[0].dim()
    return torch.gather(x[0], axis, positive(x[1], x[0].shape[axis]))


@op("GatherND")
def _(a, x, o):
    index = x[1]
    parts = tuple(positive(index[..., i], x[0].shape[i]) for i in range(index.shape[-1]))
    return x[0][parts]


@op("Scatter", "ScatterElements")
def _(a, x, o):
    axis = a.get("axis", 0) % x[0].dim()
    index = positive(x[1], x[0].shape[axis])
    return torch.scatter_add(x[0], axis, index, x[2]) if a.get("reduction", "none") == "add" else torch.scatter(x[0], axis, index, x[2])


@op("ScatterND")
def _(a, x, o):
    parts = tuple(positive(x[1][..., i], x[0].shape[i]) for i in range(x[1].shape[-1]))
    return x[0].index_put(parts, x[2], accumulate=a.get("reduction", "none") == "add")


@op("OneHot")
def _(a, x, o):
    depth, axis = ints(x[1])[0], a.get("axis", -1)
    hit = positive(x[0], depth).unsqueeze(-1) == torch.arange(depth)
    y = torch.where(hit, x[2][1], x[2][0])
    rank = y.dim()
    return y.movedim(-1, axis % rank)


# -- of shapes -----------------------------------------------------------------------------------------------
op("Shape")(lambda a, x, o: torch.tensor(list(x[0].shape), dtype=torch.int64))
op("Range")(lambda a, x, o: torch.arange(ints(x[0])[0], ints(x[1])[0], ints(x[2])[0], dtype=torch.int64))
op("IsInf")(lambda a, x, o: torch.isinf(x[0]))
op("ConstantOfShape")(lambda a, x, o: torch.full(ints(x[0]), single(a["value"]["values"][0]), dtype=torch.float64))


@op("EyeLike")
def _(a, x, o):
    rows, columns = x[0].shape
    return (torch.arange(columns).unsqueeze(0) - torch.arange(rows).unsqueeze(1) == a.get("k", 0)).double()
