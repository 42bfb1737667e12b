#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ops of opsets 23 to 28, for which Debian's ONNX has no tests, and LRN over an even number of channels, which its tests lack: forward runs are compared with numpy, gradients of Attention with those of the same network
without it; errors are checked too."""
import os
import sys

import numpy as np
from onnx import TensorProto

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import harness  # noqa: E402
from models import Graph  # noqa: E402

RNG = np.random.default_rng(3)
B, HEADS, KV_HEADS, S, T, D = 2, 4, 2, 3, 5, 8
TYPES = {"float32": TensorProto.FLOAT, "int64": TensorProto.INT64, "bool": TensorProto.BOOL, "int32": TensorProto.INT32, "uint8": TensorProto.UINT8, "float64": TensorProto.DOUBLE,
         "float16": TensorProto.FLOAT16, "int16": TensorProto.INT16}


def normal(*shape):
    return RNG.normal(0, 1, shape).astype(np.float32)


def model(op, opset, inputs, constants, outputs, attributes):
    """Makes a model of one node. Inputs and constants are arrays by position, and None where they are absent."""
    g = Graph(opset=opset)
    names = []
    for i, array in enumerate(inputs):
        if array is None:
            names.append("")
        elif i in constants:
            names.append(g.constant(f"c{i}", array))
        else:
            names.append(g.input(f"x{i}", list(array.shape), TYPES[str(array.dtype)]))
    g.node(op, names, [f"y{i}" if wanted is not None else "" for i, wanted in enumerate(outputs)] if len(outputs) > 1 else "y0", **attributes)
    for i, wanted in enumerate(outputs):
        if wanted is not None:
            g.output(f"y{i}", list(wanted.shape), TYPES[str(wanted.dtype)])
    return g


def forward(op, opset, inputs, outputs, constants=(), **attributes):
    def case():
        with harness.folder() as folder:
            model(op, opset, inputs, constants, outputs, attributes).save(f"{folder}/model.onnx")
            np.savez(f"{folder}/data.npz", **{f"x{i}": array for i, array in enumerate(inputs) if array is not None and i not in constants})
            harness.must([OPTIONS.bin + "/mpc", "run", "model.onnx", "--data", "data.npz", "--out", "out.npz"], cwd=folder)
            found = np.load(f"{folder}/out.npz")
            for i, wanted in enumerate(outputs):
                if wanted is not None:
                    got = found[f"y{i}"]
                    # These are products of 8 f32 numbers, an exponential and a sum, each with an error of some 1e-7.
                    same = np.allclose(got, wanted, rtol=1e-5, atol=1e-6) if wanted.dtype.kind == "f" and op != "BitCast" else np.array_equal(got, wanted)
                    if got.dtype != wanted.dtype or got.shape != wanted.shape or not same:
                        raise harness.Failure(f"output {i} is {got}, not {wanted}")
    return case


def attention(q, k, v, allowed=True, bias=0.0, cap=0.0, scale=None):
    """Computes attention of [B, heads, ...]. Keys and values are repeated for the heads that share them."""
    k, v = (np.repeat(x, q.shape[1] // x.shape[1], 1).astype(np.float64) for x in (k, v))
    s = q.astype(np.float64) @ k.swapaxes(2, 3) * (scale or q.shape[3] ** -0.5)
    s = cap * np.tanh(s / cap) if cap else s
    s = np.where(allowed, s + bias, -np.inf)
    e = np.where(s == -np.inf, 0, np.exp(s - np.maximum(s.max(-1, keepdims=True), -1e30)))
    return (e / np.maximum(e.sum(-1, keepdims=True), 1e-300) @ v).astype(np.float32)


Q, K, V = normal(B, HEADS, S, D), normal(B, KV_HEADS, T, D), normal(B, KV_HEADS, T, 6)
I, J = np.arange(S)[:, None], np.arange(T)
MASK = RNG.random((B, 1, S, T)) < 0.6
MASK[0, 0, 1] = False  # a query without any key gives 0
BIAS = normal(HEADS, S, T)
BIAS[:, 2, 3:] = -np.inf
LENGTHS = np.array([5, 2])
PAST_K, PAST_V = normal(B, KV_HEADS, 2, D), normal(B, KV_HEADS, 2, 6)
WHOLE_K, WHOLE_V = np.concatenate([PAST_K, K], 2), np.concatenate([PAST_V, V], 2)
AFTER = (LENGTHS - S)[:, None, None, None]


def flat(x):
    return np.ascontiguousarray(x.swapaxes(1, 2)).reshape(x.shape[0], x.shape[2], -1)


X, COSINE, SINE = normal(B, HEADS, S, D), normal(7, D // 2), normal(7, D // 2)
IDS = np.array([[0, 3, 6], [5, 5, 1]])


def rotated(x, cosine, sine, interleaved, width):
    turned, rest = x[..., :width], x[..., width:]
    a, b = (turned[..., 0::2], turned[..., 1::2]) if interleaved else (turned[..., :width // 2], turned[..., width // 2:])
    c, s = cosine[:, None, :, :], sine[:, None, :, :]
    real, imaginary = c * a - s * b, s * a + c * b
    joined = np.stack([real, imaginary], -1).reshape(turned.shape) if interleaved else np.concatenate([real, imaginary], -1)
    return np.concatenate([joined, rest], -1)


CACHE, UPDATE, AT = normal(B, 3, 5, 2), normal(B, 3, 2, 2), np.array([1, 4])


def scattered(at, circular):
    y = CACHE.copy()
    for b in range(B):
        for i in range(2):
            y[b, :, (at[b] + i) % 5 if circular else at[b] + i] = UPDATE[b, :, i]
    return y


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


PAIRS = normal(3, 4)
def lrn(x, size, alpha, beta, bias):
    """Returns LRN of [N, C, ...] by ONNX's formula: channel c is divided by the squares of channels c - floor((size-1)/2) to c + ceil((size-1)/2)."""
    channels = x.shape[1]
    squares = np.stack([np.square(x[:, max(0, c - (size - 1) // 2):min(channels, c + size // 2 + 1)]).sum(1) for c in range(channels)], 1)
    return x / (bias + alpha / size * squares) ** beta


CASES = {
    **{f"lrn/size-{size}": forward("LRN", 13, [X], [lrn(X, size, 0.5, 0.75, 1.0).astype(np.float32)], size=size, alpha=0.5) for size in (2, 3, 4)},
    "attention/heads": forward("Attention", 23, [Q, K, V], [attention(Q, K, V)]),
    "attention/flat": forward("Attention", 24, [flat(Q), flat(K), flat(V)], [flat(attention(Q, K, V, scale=0.5))], q_num_heads=HEADS, kv_num_heads=KV_HEADS, scale=0.5),
    "attention/causal": forward("Attention", 23, [Q, K, V], [attention(Q, K, V, J <= I)], is_causal=1),
    "attention/mask": forward("Attention", 24, [Q, K, V, MASK], [attention(Q, K, V, MASK)]),
    "attention/mask-known": forward("Attention", 24, [Q, K, V, MASK], [attention(Q, K, V, MASK & (J <= I))], constants=(3,), is_causal=1),
    "attention/bias-and-cap": forward("Attention", 24, [Q, K, V, BIAS], [attention(Q, K, V, bias=BIAS, cap=0.8)], softcap=0.8),
    "attention/short-mask": forward("Attention", 24, [Q, K, V, MASK[..., :3]], [attention(Q, K, V, np.pad(MASK[..., :3], [(0, 0)] * 3 + [(0, 2)]))]),
    "attention/window": forward("Attention", 25, [Q, K, V], [attention(Q, K, V, (J >= I - 1) & (J <= I + 2))], left_window_size=1, right_window_size=2),
    "attention/past": forward("Attention", 24, [Q, K, V, None, PAST_K, PAST_V], [attention(Q, WHOLE_K, WHOLE_V, np.arange(T + 2) <= I + 2), WHOLE_K, WHOLE_V], is_causal=1),
    "attention/lengths": forward("Attention", 24, [Q, K, V, None, None, None, LENGTHS], [attention(Q, K, V, (J < LENGTHS[:, None, None, None]) & (J <= I + AFTER))], is_causal=1),
    "rotary/halves": forward("RotaryEmbedding", 23, [X, COSINE, SINE, IDS], [rotated(X, COSINE[IDS], SINE[IDS], False, D)]),
    "rotary/interleaved": forward("RotaryEmbedding", 23, [flat(X), COSINE[IDS][..., :2], SINE[IDS][..., :2]], [flat(rotated(X, COSINE[IDS][..., :2], SINE[IDS][..., :2], True, 4))],
                                  interleaved=1, rotary_embedding_dim=4, num_heads=HEADS),
    "scatter/linear": forward("TensorScatter", 24, [CACHE, UPDATE, AT - 1], [scattered(AT - 1, False)]),
    "scatter/circular": forward("TensorScatter", 24, [CACHE, UPDATE, AT], [scattered(AT, True)], mode="circular", axis=2),
    "scatter/prefill": forward("TensorScatter", 24, [CACHE, UPDATE], [scattered([0, 0], False)]),
    "swish": forward("Swish", 24, [PAIRS], [PAIRS * sigmoid(1.5 * PAIRS)], alpha=1.5),
    "swiglu": forward("SwiGLU", 28, [PAIRS, PAIRS[::-1].copy()], [PAIRS * sigmoid(PAIRS) * PAIRS[::-1]]),
    "cumprod": forward("CumProd", 26, [PAIRS, np.int64(-1)], [np.cumprod(PAIRS, 1)], constants=(1,)),
    "cumprod/exclusive-reverse": forward("CumProd", 26, [np.int64([[1, 2, 3], [4, 5, 6]]), np.int64(1)], [np.int64([[6, 3, 1], [30, 6, 1]])], constants=(1,), exclusive=1, reverse=1),
    "bitcast/floats": forward("BitCast", 26, [PAIRS], [PAIRS.view(np.int32)], to=TensorProto.INT32),
    "bitcast/double": forward("BitCast", 26, [PAIRS.astype(np.float64)], [PAIRS.astype(np.float64).view(np.int64)], to=TensorProto.INT64),
    "bitcast/halves": forward("BitCast", 26, [np.int16([0, 15360, -16384, 1])], [np.int16([0, 15360, -16384, 1]).view(np.float16)], to=TensorProto.FLOAT16),
    "bitcast/booleans": forward("BitCast", 26, [np.array([True, False])], [np.uint8([1, 0])], to=TensorProto.UINT8),
    "mod/floats": forward("Mod", 28, [np.float32([5, -5, 5.5, -5.5]), np.float32([3, 3, -2, -2])], [np.float32([2, 1, -0.5, -1.5])]),
}


def gradients():
    """Attention trains as the products and the softmax do that it stands for."""
    found = []
    for native in (True, False):
        with harness.folder() as folder:
            g = Graph(opset=24)
            x = g.input("x", [B, S, 8])
            parts = [g.node("MatMul", [x, g.weight(f"w{name}", (8, 8))], name) for name in "qkv"]
            if native:
                g.node("Attention", parts, "a", q_num_heads=2, kv_num_heads=2, is_causal=1)
            else:
                shape, four = g.constant("flat", np.int64([B, S, 8])), g.constant("four", np.int64([B, S, 2, 4]))
                q, k, v = (g.node("Transpose", [g.node("Reshape", [part, four], part + "4")], part + "h", perm=perm)
                           for part, perm in zip(parts, ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3])))
                s = g.node("Mul", [g.node("MatMul", [q, k], "qk"), g.constant("scale", np.float32(0.5))], "s")
                s = g.node("Add", [s, g.constant("mask", np.float32(np.triu(np.full((S, S), -1e9), 1)))], "masked")
                y = g.node("MatMul", [g.node("Softmax", [s], "p", axis=-1), v], "pv")
                g.node("Reshape", [g.node("Transpose", [y], "pvt", perm=[0, 2, 1, 3]), shape], "a")
            g.output("a", [B, S, 8]).save(f"{folder}/model.onnx")
            rng = np.random.default_rng(1)
            np.savez(f"{folder}/data.npz", x=rng.normal(0, 1, (B, S, 8)).astype(np.float32), t=rng.normal(0, 1, (B, S, 8)).astype(np.float32))
            harness.must([OPTIONS.bin + "/mpc", "compile", "model.onnx", "-o", "program", "-q", "--cpu=x86-64-v3", "--precision=fp32", "--loss=mse:a:t",
                          *([] if native else ["--freeze=^mask$"])], cwd=folder)
            harness.must(["./program", "trace", "--data", "data.npz", "--steps", "1", "--out", "trace.npz"], cwd=folder)
            found.append({name: value for name, value in np.load(f"{folder}/trace.npz").items() if name.startswith(("grad/", "loss"))})
    first, second = found
    if first.keys() != second.keys() or len(first) < 4:
        raise harness.Failure(f"{sorted(first)} and {sorted(second)}")
    # The sums are of 8 f32 products, in another order.
    for name, value in first.items():
        if not np.allclose(value, second[name], rtol=1e-4, atol=1e-6) or not np.abs(value).max() > 0:
            raise harness.Failure(f"{name}: {value} and {second[name]}")


def refused(op, opset, inputs, said, constants=(), **attributes):
    def case():
        with harness.folder() as folder:
            model(op, opset, inputs, constants, [PAIRS], attributes).save(f"{folder}/model.onnx")
            np.savez(f"{folder}/data.npz", **{f"x{i}": array for i, array in enumerate(inputs)})
            status, _, err = harness.run([OPTIONS.bin + "/mpc", "run", "model.onnx", "--data", "data.npz", "--out", "out.npz"], cwd=folder)
            if status != 1 or f"'{op}' (opset {opset}): {said}" not in err or "hint: " not in err:
                raise harness.Failure(f"status {status}, not '{said}': {err}")
    return case


CASES.update({
    "attention/gradients": gradients,
    "attention/heads-do-not-divide": refused("Attention", 23, [normal(B, 3, S, D), K, V], "3 heads of the query do not divide among 2 of key and value"),
    "attention/no-heads": refused("Attention", 23, [flat(Q), flat(K), flat(V)], "32 elements do not divide into 0 heads"),
    "attention/wide-mask": refused("Attention", 24, [Q, K, V, normal(S, T + 1)], "the mask reaches beyond the 5 keys"),
    "rotary/odd": refused("RotaryEmbedding", 23, [X, COSINE, SINE, IDS], "cannot turn 3 of 8 elements", rotary_embedding_dim=3),
    "scatter/too-long": refused("TensorScatter", 24, [UPDATE, CACHE], "the update does not fit into dimension 2 of the cache"),
    "bitcast/width": refused("BitCast", 26, [PAIRS], "the element types have 4 and 2 bytes", to=TensorProto.INT16),
    "mod/before-28": refused("Mod", 27, [PAIRS, PAIRS], "floats need fmod=1"),
    "opset/newer": lambda: newer(),
})


def newer():
    """An opset that is not known yet is an error that names the newest known one."""
    with harness.folder() as folder:
        g = Graph(opset=29)
        g.node("Relu", [g.input("x", [2])], "y")
        g.output("y", [2]).save(f"{folder}/model.onnx")
        status, _, err = harness.run([OPTIONS.bin + "/mpc", "check", "model.onnx"], cwd=folder)
        if status != 1 or "opset 29 is not supported" not in err or "from 1 to 28" not in err:
            raise harness.Failure(f"status {status}: {err}")


if __name__ == "__main__":
    OPTIONS = harness.arguments(__doc__)
    harness.main([("new-ops/" + name, case) for name, case in CASES.items()], OPTIONS.only)
