# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures matrix products and convolutions with their gradients in PyTorch (cuBLAS, cuDNN), and the bandwidth of a copy, on a GPU.

usage: kernels.py STEPS < SHAPES.json
SHAPES: [{"name", "kind", "arguments", "precision"}]; kinds: gemm [m, n, k], x [m, k] and w [k, n]; product [m, n, k], w [n, k]; conv and convolution [batch, size, c_in, c_out,
kernel, stride], padded by half the kernel, channels-last; other kinds are left out. Prints {"products": [{"name", "precision", "ms": [forward, input gradient, weight gradient]}],
"copy_gbs": number}. Random data lie in rotating buffers that together exceed the L2 cache. One CUDA graph goes through them, so that no kernel waits for Python. Times are medians of events.
"""
import json
import statistics
import sys

import torch

TYPES = {"fp16": torch.float16, "bf16": torch.bfloat16}
ROTATING_BYTES = 128 << 20  # the value of runtime/tuner


def median_ms(work, sets, steps):
    """Returns the milliseconds of one work(set), measured at least `steps` times; one graph runs all sets in turn."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for i in range(10):
            work(sets[i % len(sets)])
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        for each in sets:
            work(each)
    runs = -(-steps // len(sets))
    graph.replay()
    events = [torch.cuda.Event(enable_timing=True) for _ in range(runs + 1)]
    events[0].record()
    for event in events[1:]:
        graph.replay()
        event.record()
    torch.cuda.synchronize()
    return statistics.median(a.elapsed_time(b) for a, b in zip(events, events[1:])) / len(sets)


def rotating(make, bytes_each):
    return [make() for _ in range(max(2, min(64, ROTATING_BYTES // bytes_each + 1)))]


def gemm(m, n, k, dtype, steps):
    def make():
        return tuple(torch.randn(*shape, device="cuda", dtype=dtype) for shape in ((m, k), (k, n), (m, n)))

    sets = rotating(make, 2 * (m * k + k * n + m * n))
    return [median_ms(work, sets, steps) for work in (lambda s: s[0] @ s[1], lambda s: s[2] @ s[1].T, lambda s: s[0].T @ s[2])]


def product(m, n, k, dtype, steps):
    def make():
        return tuple(torch.randn(*shape, device="cuda", dtype=dtype) for shape in ((m, k), (n, k), (m, n)))

    sets = rotating(make, 2 * (m * k + k * n + m * n))
    return [median_ms(work, sets, steps) for work in (lambda s: s[0] @ s[1].T, lambda s: s[2] @ s[1], lambda s: s[2].T @ s[0])]


def conv(batch, size, c_in, c_out, kernel, stride, dtype, steps):
    out = (size - 1) // stride + 1
    last = {"memory_format": torch.channels_last}

    def make():
        return (torch.randn(batch, c_in, size, size, device="cuda", dtype=dtype).to(**last), torch.randn(c_out, c_in, kernel, kernel, device="cuda", dtype=dtype).to(**last),
                torch.randn(batch, c_out, out, out, device="cuda", dtype=dtype).to(**last))

    def backward(s, mask):
        return torch.ops.aten.convolution_backward(s[2], s[0], s[1], None, [stride] * 2, [kernel // 2] * 2, [1, 1], False, [0, 0], 1, mask)

    torch.backends.cudnn.benchmark = True
    sets = rotating(make, 2 * batch * (c_in * size * size + c_out * out * out))
    works = (lambda s: torch.nn.functional.conv2d(s[0], s[1], None, stride, kernel // 2), lambda s: backward(s, [True, False, False]),
             lambda s: backward(s, [False, True, False]))
    return [median_ms(work, sets, steps) for work in works]


def copy_gbs(steps):
    """Returns the gigabytes per second that a copy of 1 GiB reads and writes."""
    a, b = (torch.empty(1 << 28, device="cuda", dtype=torch.float32) for _ in range(2))
    return 2 * 4 * a.numel() / median_ms(lambda s: s[1].copy_(s[0]), [(a, b)], steps) / 1e6


def main():
    steps, rows = int(sys.argv[1]), []
    for shape in json.load(sys.stdin):
        kinds = {"gemm": gemm, "product": product, "conv": conv, "convolution": conv}
        if shape["kind"] in kinds:
            ms = kinds[shape["kind"]](*shape["arguments"], TYPES[shape["precision"]], steps)
            rows.append({"name": shape["name"], "precision": shape["precision"], "ms": ms})
    print(json.dumps({"products": rows, "copy_gbs": copy_gbs(steps)}))


if __name__ == "__main__":
    main()
