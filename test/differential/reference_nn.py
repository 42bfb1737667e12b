# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The reference's products, convolutions, pooling, norms and losses (reference.py)."""
import math

import torch
import torch.nn.functional as f

from reference import attribute, axes_of, cross_entropy, inner, used, lost_digits, op, product, single

CONV = {1: f.conv1d, 2: f.conv2d, 3: f.conv3d}
TRANSPOSED = {1: f.conv_transpose1d, 2: f.conv_transpose2d, 3: f.conv_transpose3d}
MAX_POOL = {1: f.max_pool1d, 2: f.max_pool2d, 3: f.max_pool3d}


def window(a, x, kernel):
    """Returns strides, dilations, and the padding below and above, with auto_pad resolved."""
    n = len(kernel)
    strides, dilations = a.get("strides", [1] * n), a.get("dilations", [1] * n)
    pads, auto = a.get("pads", [0] * 2 * n), a.get("auto_pad", "NOTSET")
    low, high = list(pads[:n]), list(pads[n:])
    if auto in ("SAME_UPPER", "SAME_LOWER"):
        for i in range(n):
            size = x.shape[2 + i]
            total = max((-(-size // strides[i]) - 1) * strides[i] + (kernel[i] - 1) * dilations[i] + 1 - size, 0)
            low[i], high[i] = (total // 2, total - total // 2) if auto == "SAME_UPPER" else (total - total // 2, total // 2)
    return strides, dilations, low, high


def padded(x, low, high, value=0.0):
    return f.pad(x, [p for pair in reversed(list(zip(low, high))) for p in pair], value=value)


@op("Conv")
def _(a, x, o):
    strides, dilations, low, high = window(a, x[0], x[1].shape[2:])
    if x[0].shape[1] == 0:  # nothing to sum but the bias, which torch leaves out then
        one = [torch.zeros([t.shape[0], 1, *t.shape[2:]], dtype=t.dtype) for t in (padded(x[0], low, high), x[1])]
        return CONV[len(strides)](*one, x[2] if len(x) > 2 else None, strides, 0, dilations) + 0 * (x[0].sum() + x[1].sum())
    y = CONV[len(strides)](padded(x[0], low, high), x[1], None, strides, 0, dilations, a.get("group", 1))
    return product(y) + x[2].reshape([-1] + [1] * len(strides)) if len(x) > 2 else y


@op("ConvTranspose")
def _(a, x, o):
    n = x[0].dim() - 2
    strides, dilations = a.get("strides", [1] * n), a.get("dilations", [1] * n)
    pads, extra = a.get("pads", [0] * 2 * n), a.get("output_padding", [0] * n)
    y = TRANSPOSED[n](x[0], x[1], None, strides, 0, 0, a.get("group", 1), dilations)
    y = padded(y, [-p for p in pads[:n]], [e - p for e, p in zip(extra, pads[n:])])
    return product(y) + x[2].reshape([-1] + [1] * n) if len(x) > 2 else y


def ceil_pads(a, x, low, high, kernel, strides, dilations):
    """Returns the padding that ceil_mode adds at the end. Only windows that start in the input or in the padding before it count."""
    extra = []
    for i in range(len(kernel)):
        reach = dilations[i] * (kernel[i] - 1) + 1
        length = x.shape[2 + i] + low[i] + high[i]
        count = -(-(length - reach) // strides[i]) + 1
        if (count - 1) * strides[i] >= x.shape[2 + i] + low[i]:
            count -= 1
        extra.append(max((count - 1) * strides[i] + reach - length, 0))
    return extra


@op("MaxPool")
def _(a, x, o):
    kernel = a["kernel_shape"]
    strides, dilations, low, high = window(a, x[0], kernel)
    if a.get("ceil_mode", 0):
        high = [h + e for h, e in zip(high, ceil_pads(a, x[0], low, high, kernel, strides, dilations))]
    return MAX_POOL[len(kernel)](padded(x[0], low, high, -math.inf), kernel, strides, 0, dilations)


@op("AveragePool")
def _(a, x, o):
    kernel = a["kernel_shape"]
    strides, dilations, low, high = window(a, x[0], kernel)
    extra = ceil_pads(a, x[0], low, high, kernel, strides, dilations) if a.get("ceil_mode", 0) else [0] * len(kernel)
    channels, n = x[0].shape[1], len(kernel)
    ones = torch.ones([channels, 1] + list(kernel), dtype=torch.float64)
    top = [h + e for h, e in zip(high, extra)]
    total = CONV[n](padded(x[0], low, top), ones, None, strides, 0, dilations, channels)
    counted = torch.ones_like(x[0])
    # What ceil_mode added after the padding is never counted.
    if a.get("count_include_pad", 0):
        counted = padded(padded(counted, low, high, 1.0), [0] * n, extra)
    else:
        counted = padded(counted, low, top)
    return total / CONV[n](counted, ones, None, strides, 0, dilations, channels)


@op("LpPool")
def _(a, x, o):
    p, kernel = a.get("p", 2), a["kernel_shape"]
    strides, dilations, low, high = window(a, x[0], kernel)
    powers = x[0].abs() if p == 1 else x[0].abs() ** p
    ones = torch.ones([x[0].shape[1], 1] + list(kernel), dtype=torch.float64)
    total = CONV[len(kernel)](padded(powers, low, high), ones, None, strides, 0, dilations, x[0].shape[1])
    return total if p == 1 else total ** (1 / p)


op("GlobalAveragePool")(lambda a, x, o: x[0].mean(list(range(2, x[0].dim())), keepdim=True))
op("GlobalMaxPool")(lambda a, x, o: x[0].amax(list(range(2, x[0].dim())), keepdim=True))
op("MatMul")(lambda a, x, o: torch.matmul(x[0], x[1]))
op("Einsum")(lambda a, x, o: torch.einsum(a["equation"], *x))


@op("Gemm")
def _(a, x, o):
    left = x[0].T if a.get("transA", 0) else x[0]
    right = x[1].T if a.get("transB", 0) else x[1]
    y = attribute(a, "alpha", 1) * (left @ right)
    return product(y) + attribute(a, "beta", 1) * x[2] if len(x) > 2 else y


# -- norms -------------------------------------------------------------------------------------------------
def normalised(x, axes, epsilon, centre=True):
    if centre and x.numel():
        # An error of the mean shifts every deviation by the same amount. Gradients in closed form take the sum of deviations for 0, so they do not
        # correct it.
        with torch.no_grad():
            plain = x.mean(axes, keepdim=True)
            factor = plain.abs() / torch.sqrt(((x - plain) ** 2).mean(axes, keepdim=True) + epsilon)
        x = lost_digits(x, factor)
    mean = inner(x.mean(axes, keepdim=True)) if centre else 0
    centred = inner(x - mean)
    inverse = inner(1 / torch.sqrt(inner((centred * centred).mean(axes, keepdim=True)) + epsilon))
    return inner(centred * inverse), mean, inverse


def channels(v, rank):
    return v.reshape([-1] + [1] * (rank - 2))


@op("LayerNormalization")
def _(a, x, o):
    axis = a.get("axis", -1) % x[0].dim()
    y, mean, inverse = normalised(x[0], list(range(axis, x[0].dim())), attribute(a, "epsilon", 1e-5))
    y = y * x[1]
    return (y + x[2] if len(x) > 2 else y), mean, inverse


@op("RMSNormalization")
def _(a, x, o):
    axis = a.get("axis", -1) % x[0].dim()
    return normalised(x[0], list(range(axis, x[0].dim())), attribute(a, "epsilon", 1e-5), centre=False)[0] * x[1]


@op("InstanceNormalization")
def _(a, x, o):
    rank = x[0].dim()
    return normalised(x[0], list(range(2, rank)), attribute(a, "epsilon", 1e-5))[0] * channels(x[1], rank) + channels(x[2], rank)


@op("GroupNormalization")
def _(a, x, o):
    groups, shape = a["num_groups"], x[0].shape
    g = x[0].reshape([shape[0], groups, shape[1] // groups] + list(shape[2:]))
    y = normalised(g, list(range(2, g.dim())), attribute(a, "epsilon", 1e-5))[0]
    if o < 21:
        return (y * channels(x[1], g.dim()) + channels(x[2], g.dim())).reshape(shape)
    return y.reshape(shape) * channels(x[1], x[0].dim()) + channels(x[2], x[0].dim())


@op("BatchNormalization")
def _(a, x, o):
    """Evaluates the training form, which uses the statistics of the batch."""
    rank = x[0].dim()
    y = normalised(x[0], [0] + list(range(2, rank)), attribute(a, "epsilon", 1e-5))[0]
    return y * channels(x[1], rank) + channels(x[2], rank)


@op("LRN")
def _(a, x, o):
    size, alpha, beta, bias = a["size"], attribute(a, "alpha", 1e-4), attribute(a, "beta", 0.75), attribute(a, "bias", 1)
    low = (size - 1) // 2
    n, c = x[0].shape[:2]
    squares = padded((x[0] * x[0]).reshape(n, 1, c, -1), [low, 0], [size - 1 - low, 0])
    total = f.conv2d(squares, torch.ones([1, 1, size, 1], dtype=torch.float64)).reshape(x[0].shape)
    return x[0] / inner((bias + alpha / size * inner(total)) ** beta)


@op("MeanVarianceNormalization")
def _(a, x, o):
    axes = axes_of(a.get("axes", [0, 2, 3]), x[0].dim())
    mean = inner(x[0].mean(axes, keepdim=True))
    # docs/ops.md states the epsilon inside the root.
    variance = inner((x[0] * x[0]).mean(axes, keepdim=True)) - inner(mean * mean)
    return inner(x[0] - mean) / inner(torch.sqrt(variance + single(1e-18)))


@op("LpNormalization")
def _(a, x, o):
    # The cotangents of the two uses may cancel where each overflows.
    norm = inner(torch.linalg.vector_norm(used(x[0]), a.get("p", 2), dim=a.get("axis", -1), keepdim=True))
    return torch.where(norm == 0, 0 * x[0], used(x[0]) / torch.where(norm == 0, torch.ones_like(norm), norm))


op("Dropout")(lambda a, x, o: x[0].clone())


# -- losses ------------------------------------------------------------------------------------------------
def loss(function):
    def run(a, x, o):
        # The gradient of torch's nll_loss refuses scores that a transpose has left in another order.
        return function(x[0].contiguous(), x[1], weight=x[2] if len(x) > 2 else None, reduction=a.get("reduction", "mean"), ignore_index=a.get("ignore_index", -100))
    return run


op("SoftmaxCrossEntropyLoss")(loss(cross_entropy))
op("NegativeLogLikelihoodLoss")(loss(f.nll_loss))


# -- resizing ------------------------------------------------------------------------------------------------
@op("Resize", "Upsample")
def _(a, x, o):
    """Resizes spatial dimensions by whole factors: nearest (asymmetric, floor) and linear (half_pixel)."""
    scales = [float(v) for v in x[{"Upsample": 1}.get(a.get("kind"), 1 if o < 11 else 2)].tolist()]
    factors = [round(s) for s in scales]
    if a.get("mode", "nearest") == "nearest":
        y = x[0]
        for d, k in enumerate(factors):
            y = y.repeat_interleave(k, d)
        return y
    mode = {3: "linear", 4: "bilinear", 5: "trilinear"}[x[0].dim()]
    return f.interpolate(x[0], scale_factor=[float(k) for k in factors[2:]], mode=mode, align_corners=False)
