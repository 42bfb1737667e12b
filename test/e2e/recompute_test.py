#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""--recompute: plans need less memory, and programs compute the same gradients: the same bits of a convolutional network on the host."""
import os
import re
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tools"))
import harness  # noqa: E402
from models import Graph  # noqa: E402

LOSS = "--loss=softmax_cross_entropy:logits:label"
NUMBERS = re.compile(r"recompute: peak ([\d.]+) [MK]iB instead of ([\d.]+) [MK]iB; ([\d.]+) % more operations of products \(in (\d+) of (\d+) segments\)")


def residual(folder, blocks=4, channels=16, batch=8, dropout=0.0):
    """Makes x [8, 3, 16, 16] -> convolutions with batch norms, in residual blocks -> logits [8, 5], and its data."""
    g = Graph()

    def layer(x, name, inputs):
        return g.batch_norm(g.conv(x, name, inputs, channels, 3, pad=1, bias=False), f"{name}.norm", channels)

    x = g.node("Relu", [layer(g.input("x", [batch, 3, 16, 16]), "stem", 3)], "stem.relu")
    for i in range(blocks):
        y = g.node("Relu", [layer(x, f"b{i}.conv1", channels)], f"b{i}.relu1")
        if dropout:
            y = g.dropout(y, f"b{i}.drop", dropout)
        x = g.node("Relu", [g.node("Add", [layer(y, f"b{i}.conv2", channels), x], f"b{i}.add")], f"b{i}.relu2")
    x = g.node("Flatten", [g.node("GlobalAveragePool", [x], "pool")], "flat")
    g.node("Gemm", [x, g.weight("fc.weight", (5, channels)), g.weight("fc.bias", (5,))], "logits", transB=1)
    g.output("logits", [batch, 5]).save(f"{folder}/model.onnx")
    rng = np.random.default_rng(2)
    np.savez(f"{folder}/data.npz", x=rng.normal(size=(2 * batch, 3, 16, 16)).astype(np.float32), label=rng.integers(0, 5, 2 * batch))


def bottlenecks(folder, batch, side=14, channels=64):
    """Makes x [batch, 3, side, side] -> bottleneck blocks, whose last sums add gradients that do not change within a picture, and convolutions with biases -> logits [batch, 5], and its data."""
    g = Graph()

    def layer(x, name, inputs, outputs, taps):
        return g.batch_norm(g.conv(x, name, inputs, outputs, taps, pad=taps // 2, bias=False), f"{name}.norm", outputs)

    x = g.node("Relu", [layer(g.input("x", [batch, 3, side, side]), "stem", 3, channels, 3)], "stem.relu")
    for i in range(2):
        y = g.node("Relu", [layer(x, f"b{i}.conv1", channels, 16, 1)], f"b{i}.relu1")
        y = g.node("Relu", [g.conv(y, f"b{i}.conv2", 16, 16, 3, pad=1)], f"b{i}.relu2")
        x = g.node("Relu", [g.node("Add", [layer(y, f"b{i}.conv3", 16, channels, 1), x], f"b{i}.add")], f"b{i}.relu3")
    x = g.node("Flatten", [g.node("GlobalAveragePool", [x], "pool")], "flat")
    g.node("Gemm", [x, g.weight("fc.weight", (5, channels)), g.weight("fc.bias", (5,))], "logits", transB=1)
    g.output("logits", [batch, 5]).save(f"{folder}/model.onnx")
    rng = np.random.default_rng(4)
    np.savez(f"{folder}/data.npz", x=rng.normal(size=(2 * batch, 3, side, side)).astype(np.float32), label=rng.integers(0, 5, 2 * batch))


def compiled(folder, recompute, *options):
    """Compiles the model; returns what mpc says."""
    return harness.must([OPTIONS.bin + "/mpc", "compile", "model.onnx", "-o", "program", "--cpu=x86-64-v3", LOSS, f"--recompute={recompute}", *options], cwd=folder)


def traced(folder, *options):
    harness.must(["./program", "trace", "--data", "data.npz", "--steps", "2", "--seed", "3", "--out", "trace.npz", *options], cwd=folder)
    return dict(np.load(f"{folder}/trace.npz"))


def expect_same(name, a, b):
    different = [key for key in a if a[key].tobytes() != b[key].tobytes()]
    if a.keys() != b.keys() or different:
        raise harness.Failure(f"{name}: other bits in {different[:5]}")


def expect_near(name, a, b):
    """Compares steps of a GPU, where launches are formed otherwise and sum in another order: the first loss has the same bits, for the forward pass is the same, and gradients
    differ by roundings of fp16."""
    if a["loss"][0] != b["loss"][0]:
        raise harness.Failure(f"{name}: another first loss")
    for key in a:
        if key.startswith("grad/"):
            error, largest = np.abs(b[key].astype(float) - a[key]).max(), np.abs(a[key]).max()
            if not error <= 2e-3 * largest:
                raise harness.Failure(f"{name}: {key} differs by {error}, its largest is {largest}")


def least(folder, *options):
    """Returns the least MiB that --recompute can reach, as the error says it."""
    status, _, err = harness.run([OPTIONS.bin + "/mpc", "compile", "model.onnx", "-o", "none", LOSS, "--recompute=1KiB", *options], cwd=folder)
    found = re.search(r"error: model\.onnx: the plan for \w+ needs at least (\d+) MiB, even where all .* allows 1 MiB\nhint: .*--recompute=(\d+)\n", err)
    if status != 1 or not found or found[1] != found[2] or os.path.exists(f"{folder}/none"):
        raise harness.Failure(f"status {status}: {err[-500:]}")
    return int(found[1])


def host(precision, level, make):
    def case():
        with harness.folder() as folder:
            make(folder)
            options = (f"--precision={precision}", f"--opt-level={level}")
            compiled(folder, "none", *options)
            reference = traced(folder)
            peaks = []
            for recompute in ("auto", f"{least(folder, *options)}"):
                numbers = NUMBERS.search(compiled(folder, recompute, *options))
                if not numbers:
                    raise harness.Failure(f"--recompute={recompute} says nothing")
                peaks.append(float(numbers[1]))
                if (float(numbers[3]) > 0) != (recompute != "auto") or (int(numbers[4]) > 0) != (recompute != "auto"):
                    raise harness.Failure(f"--recompute={recompute}: {numbers[0]}")
                expect_same(recompute, reference, traced(folder))
            if not peaks[1] < peaks[0] < float(numbers[2]) * 0.9 or peaks[1] > float(recompute):
                raise harness.Failure(f"peaks {peaks} of {numbers[2]} MiB")
    return case


def bits(precision, level, *shape):
    """The sums of these networks are divided into pieces and chains by their shape alone, whatever else their launches compute."""
    def case():
        with harness.folder() as folder:
            bottlenecks(folder, *shape)
            options = (f"--precision={precision}", f"--opt-level={level}")
            compiled(folder, "none", *options)
            reference = traced(folder)
            # Products are computed again too where the least that can be reached is below what the plan has.
            for recompute in ("auto", f"{least(folder, *options)}"):
                if not NUMBERS.search(compiled(folder, recompute, *options)) and recompute == "auto":
                    raise harness.Failure("--recompute=auto says nothing")
                expect_same(recompute, reference, traced(folder))
    return case


def emulator():
    with harness.folder() as folder:
        residual(folder, blocks=2)
        options = ("--precision=fp16", "--opt-level=O2", "--target=sm_80,emulator", "--ptxas=none")
        compiled(folder, "none", *options)
        reference = traced(folder, "--device=emulator")
        peak = float(NUMBERS.search(compiled(folder, "auto", *options))[1])  # KiB or MiB
        expect_near("auto", reference, traced(folder, "--device=emulator"))
        said = compiled(folder, f"{int(peak * (1 if peak > 100 else 1024) * 0.97)}KiB", *options)
        if "(in 0 of" in said or not NUMBERS.search(said):
            raise harness.Failure(said)
        expect_near("products", reference, traced(folder, "--device=emulator"))


def words():
    with harness.folder() as folder:
        residual(folder, blocks=1)
        if "recompute: nothing" not in compiled(folder, "4GiB"):
            raise harness.Failure("a plan that fits computes something again")
        for wrong in ("some", "-1", "0", "5XiB"):
            status, _, err = harness.run([OPTIONS.bin + "/mpc", "compile", "model.onnx", "-o", "none", LOSS, f"--recompute={wrong}"], cwd=folder)
            if status != 1 or "--recompute" not in err or "hint: write for example auto, 2000 (MiB) or 8GiB" not in err:
                raise harness.Failure(f"{wrong!r}: status {status}, {err}")


if __name__ == "__main__":
    OPTIONS = harness.arguments(__doc__)

    def plain(folder):
        residual(folder, batch=64)

    def dropout(folder):
        residual(folder, batch=64, dropout=0.2)

    harness.main([("recompute/fp32", host("fp32", "O0", plain)), ("recompute/fp16-dropout", host("fp16", "O2", dropout)), ("recompute/bf16", host("bf16", "O1", plain)),
                  *((f"recompute/bottlenecks-{precision}-{batch}", bits(precision, level, batch)) for precision, level in (("fp32", "O0"), ("fp16", "O2"), ("bf16", "O1"))
                    for batch in (3, 8, 32)),
                  # No divisor of these pictures, or of the batch, is a good length of a chain.
                  ("recompute/bottlenecks-fp16-23x23", bits("fp16", "O2", 8, 23, 8)), ("recompute/bottlenecks-bf16-59", bits("bf16", "O1", 59, 3)),
                  ("recompute/emulator", emulator), ("recompute/words", words)], OPTIONS.only)
