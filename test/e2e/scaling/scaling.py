#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests the loss scaling of compiled programs, with one test per name.

usage: scaling.py WORK_DIR TEST...
"""
import json
import math
import os
import subprocess
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from programs import Network, checkpoint, compile, convnet, convnet_data, same, trace, train  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))


def dense(path, inputs=4):
    """Makes logits = x w + b on a batch of 64."""
    n = Network()
    n.input("x", [64, inputs])
    n.constant("w", np.random.default_rng(0).normal(0, 0.5, (inputs, 3)), np.float32)
    n.constant("b", np.zeros(3), np.float32)
    n.node("Gemm", ["x", "w", "b"], "logits")
    n.output("logits", [64, 3])
    return n.save(path)


def torch_model(overflows, init_scale, growth_factor, backoff_factor, growth_interval):
    """Computes torch.amp.GradScaler.update as documented; the scale is fp32, the factors are doubles."""
    scale, tracker, scales = np.float32(init_scale), 0, []
    for overflow in overflows:
        scales.append(float(scale))
        if overflow:
            scale, tracker = np.float32(float(scale) * backoff_factor), 0
        else:
            tracker += 1
            if tracker == growth_interval:
                grown = np.float32(float(scale) * growth_factor)
                scale, tracker = grown if np.isfinite(grown) else scale, 0
    return scales + [float(scale)]


def scale_sequence(work):
    """For every pattern of overflows, the scales are those that were recorded of PyTorch and those of its documented algorithm."""
    model = dense(work + "/dense.onnx")
    # The inputs are small, so that no scale of these patterns overflows by itself.
    rng = np.random.default_rng(1)
    np.savez(work + "/dense.npz", x=rng.normal(0, 1e-3, (128, 4)).astype(np.float32), labels=rng.integers(0, 3, 128))
    cases = json.load(open(os.path.join(HERE, "torch_scaler.json")))
    assert len(cases) == 21
    compiled = {}
    for case in cases:
        settings, overflows = case["settings"], [c == "1" for c in case["pattern"]]
        key = json.dumps(settings)
        if key not in compiled:
            flags = [f"--{name.replace('_', '-')}={value}" for name, value in settings.items()]
            compiled[key] = compile(model, f"{work}/dense{len(compiled)}", "--loss=softmax_cross_entropy:logits:labels", "--precision=fp16",
                                    "--opt-level=O1", "--loss-scale=dynamic", *flags)
        inject = [f"--inject-inf={','.join(str(i + 1) for i, o in enumerate(overflows) if o)}"] if any(overflows) else []
        log, state = train(compiled[key], work + "/dense.npz", len(overflows), work + "/ckpt", *inject)
        scales = [line["scale"] for line in log] + [float(state["main/scale"])]
        assert [line["skipped"] for line in log] == overflows, case
        assert scales == case["scales"], (case, scales)
        assert scales == torch_model(overflows, **settings), (case, scales)
        assert state["main/step"] == overflows.count(False) and state["main/skipped"] == overflows.count(True)
    print(f"{len(cases)} patterns")


def skipped_step(work):
    """With an infinity at step 4, checks what a skipped step changes and what it does not."""
    model, data = convnet(work + "/convnet.onnx"), convnet_data(work + "/convnet.npz")
    loss = "--loss=softmax_cross_entropy:logits:labels"
    schedule = ["--schedule", "cosine", "--warmup", "2", "--checkpoint-every", "1"]
    # The default first scale, 65536, makes this network overflow without injected infinities.
    for scaling in (["--precision=fp16", "--opt-level=O1", "--init-scale=1024"], ["--precision=fp16", "--opt-level=O2", "--init-scale=1024"],
                    ["--precision=fp16", "--opt-level=O2", "--loss-scale=calibrate:2"], ["--precision=bf16", "--opt-level=O2", "--loss-scale=1024"],
                    ["--precision=fp32", "--opt-level=O0", "--loss-scale=8", "--clip-norm=1"]):
        for optimizer in (["--optimizer=adam", "--lr=0.01"], ["--optimizer=sgd", "--lr=0.1", "--momentum=0.9", "--dampening=0.1"]):
            program = compile(model, work + "/convnet", loss, *scaling, *optimizer)
            plain, _ = train(program, data, 6, work + "/plain", *schedule)
            log, _ = train(program, data, 6, work + "/inf", *schedule, "--inject-inf=4")
            state = lambda folder, step: checkpoint(f"{work}/{folder}/step-{step:08}.safetensors")
            assert [line["skipped"] for line in log] == [False, False, False, True, False, False], (scaling, log)
            assert not any(line["skipped"] for line in plain)
            assert same(state("inf", 3), state("plain", 3)) == []
            # Only the scaler and the random-number counter change in the state.
            changed = set(same(state("inf", 3), state("inf", 4)))
            allowed = {"main/scale", "main/growth_tracker", "main/skipped", "rng.step"}
            assert changed <= allowed and {"main/skipped", "rng.step"} <= changed, (scaling, changed)
            present = set(state("inf", 4))
            assert {"conv.weight", "logits.bias", "bn.mean", "bn.var", "main/step"} <= present
            assert any(n.endswith(("/momentum", "/exp_avg")) for n in present), present
            # The random-number counter, the iteration, the data cursor and the learning rate of every step are those of the undisturbed run.
            assert state("inf", 4)["rng.step"].tobytes() == state("plain", 4)["rng.step"].tobytes()
            for key in ("step", "epoch", "batch"):
                assert state("inf", 4)[""][key] == state("plain", 4)[""][key], key
            assert [line["lr"] for line in log] == [line["lr"] for line in plain]
            assert len(set(line["lr"] for line in log)) >= 4
            # The step after the skipped one updates again.
            assert {"conv.weight", "logits.bias", "bn.mean", "main/step"} <= set(same(state("inf", 4), state("inf", 5)))
            assert int(state("inf", 6)["main/step"]) == 5 and int(state("plain", 6)["main/step"]) == 6
    print("10 programs")


def underflow(work):
    """Gradients of 2^-26 are too small for f16: they vanish unless the loss is scaled."""
    n = Network()
    n.input("x", [2, 3])
    n.constant("w", np.ones((3, 4)), np.float32)
    n.constant("tiny", np.full((), 2.0**-26), np.float32)
    n.node("MatMul", ["x", "w"], "y")
    n.node("ReduceSum", ["y"], "sum", keepdims=0)
    n.node("Mul", ["sum", "tiny"], "loss")
    n.output("loss", [])
    model = n.save(work + "/tiny.onnx")
    x = np.array([[1, 2, 3], [0.5, 0.25, -1]], np.float32)
    np.savez(work + "/tiny.npz", x=x)
    expected = np.repeat((x.sum(0) * np.float32(2.0**-26))[:, None], 4, axis=1)
    for level in ("O1", "O2"):
        for scale, survives in (("none", False), ("1", False), ("1024", True), ("dynamic", True), ("calibrate", True)):
            program = compile(model, work + "/tiny", "--precision=fp16", f"--opt-level={level}", f"--loss-scale={scale}", "--lr=65536")
            result = trace(program, work + "/tiny.npz", 1, work + "/tiny.out.npz")
            want = expected if survives else np.zeros_like(expected)
            assert np.array_equal(result["grad/w"], want), (level, scale, result["grad/w"])
            assert np.array_equal(result["state/w"], 1 - np.float32(65536) * want)
    print("both sides")


def small_update(work):
    """An update of 2^-12 of the weight is lost by f16 weights (O3) and kept by fp32 masters (O1, O2)."""
    n = Network()
    n.input("x", [1, 1])
    n.constant("w", np.ones((1, 1)), np.float32)
    n.node("MatMul", ["x", "w"], "y")
    n.node("ReduceSum", ["y"], "loss", keepdims=0)
    n.output("loss", [])
    model = n.save(work + "/small.onnx")
    np.savez(work + "/small.npz", x=-np.ones((1, 1), np.float32))  # the gradient is -1
    for level, kept in (("O1", True), ("O2", True), ("O3", False)):
        for precision in ("fp16", "bf16"):
            program = compile(model, work + "/small", f"--precision={precision}", f"--opt-level={level}", "--loss-scale=none", "--lr=0.000244140625")
            result = trace(program, work + "/small.npz", 16, work + "/small.out.npz")
            w = float(result["state/w"].reshape(()))
            assert w == (1 + 16 * 2.0**-12 if kept else 1), (level, precision, w)
            # The forward pass reads the f16 copy, which changes once the master has moved far enough; in bf16, which needs 2^-7, it has not.
            moved = kept and precision == "fp16"
            assert (float(result["loss"][-1]) != float(result["loss"][0])) == moved, result["loss"]
    print("both sides")


def picked(largest, headroom=4.0):
    """Returns the largest power of two S with largest * headroom * S < 65504."""
    scale = 2.0**-24
    while largest * headroom * scale * 2 < 65504:
        scale *= 2
    return scale


def calibration(work):
    """Tests --loss-scale=calibrate: the statistics, the chosen scale, overflows before and after the choice, and resuming in the middle."""
    # The cotangents are known: S*c in f16 where the loss is cast, and x^T (S*c) at w. With c = 2^-9 and x up to 12 the largest is M = 2 * 12 * 2^-9.
    n = Network()
    n.input("x", [2, 3])
    n.constant("w", np.ones((3, 4)), np.float32)
    n.constant("c", np.full((), 2.0**-9), np.float32)
    n.node("MatMul", ["x", "w"], "y")
    n.node("ReduceSum", ["y"], "sum", keepdims=0)
    n.node("Mul", ["sum", "c"], "loss")
    n.output("loss", [])
    model = n.save(work + "/known.onnx")
    np.savez(work + "/known.npz", x=np.array([[1, 2, 12], [0, 1, 12]] * 4, np.float32))
    for headroom in (4.0, 1.0):
        program = compile(model, work + "/known", "--precision=fp16", "--opt-level=O1", "--loss-scale=calibrate:3", "--lr=0.001",
                          f"--headroom={headroom}")
        log, state = train(program, work + "/known.npz", 6, work + "/known-ckpt")
        largest = 24 * 2.0**-9
        assert float(state["main/gradient_max"]) == largest, state["main/gradient_max"]
        want = picked(largest, headroom)
        assert [line["scale"] for line in log] == [1024.0] * 3 + [want] * 3, log
        assert largest * want < 65504 and largest * headroom * want * 2 >= 65504

    # The next program is a network that overflows at steps 2 (while watching) and 9 (afterwards); it must end like an uninterrupted run when it is resumed.
    model, data = convnet(work + "/convnet.onnx"), convnet_data(work + "/convnet.npz")
    for extra in ([], ["--accumulate=2"]):
        program = compile(model, work + "/convnet", "--loss=softmax_cross_entropy:logits:labels", "--precision=fp16", "--opt-level=O2",
                          "--loss-scale=calibrate:5", "--optimizer=adam", "--lr=0.01", *extra)
        window = 2 if extra else 1
        steps = 12 * window
        inject = f"--inject-inf={2 * window},{9 * window}"
        log, state = train(program, data, steps, work + "/straight", inject)
        largest, scale = float(state["main/gradient_max"]), float(state["main/scale"])
        assert scale == picked(largest) and largest > 0, (largest, scale)
        # The skip at step 2 halves the scale and is not watched: steps 1, 3, 4, 5 and 6 are.
        want = [1024.0] * 2 + [512.0] * 4 + [scale] * 6
        assert [line["scale"] for line in log[window - 1::window]] == want, log
        assert [i + 1 for i, line in enumerate(log) if line["skipped"]] == [2 * window, 9 * window]
        assert int(state["main/calibrated"]) == 5
        # The training is resumed in the middle of the calibration, at its end, and after it.
        for at in (1, 3 * window, 5 * window, 6 * window, 10 * window):
            train(program, data, at, work + "/resumed", inject)
            _, resumed = train(program, data, steps, work + "/resumed", inject, "--resume")
            assert same(state, resumed) == [], (at, same(state, resumed))
        # The largest watched magnitude is not much below that of the parameters' own gradients.
        first = trace(program, data, 1, work + "/first.npz")
        own = max(np.abs(v).max() for k, v in first.items() if k.startswith("grad/"))
        assert 0 < own < 4 * largest
    print(f"scale {scale:g} = 2^{math.log2(scale):g} for gradients up to {largest:.3g}")


def collapse(work):
    """No scale helps, so the training stops and names the node whose gradient is not finite: sqrt has no finite gradient at 0."""
    n = Network()
    n.input("x", [4, 3])
    for name, shape in (("first", (3, 5)), ("second", (5, 6)), ("last", (6, 2))):
        n.constant(name, np.ones(shape), np.float32)
    n.node("MatMul", ["x", "first"], "a")
    n.node("MatMul", ["a", "second"], "b")
    n.node("Sqrt", ["b"], "root")
    n.node("MatMul", ["root", "last"], "y")
    n.node("ReduceSum", ["y"], "loss", keepdims=0)
    n.output("loss", [])
    model = n.save(work + "/root.onnx")
    np.savez(work + "/root.npz", x=np.zeros((16, 3), np.float32))
    # A scale below 2^-14 counts as lost. From 2^16 that takes 31 halvings, from 1024 while calibrating 25; a fixed scale takes none.
    for extra, step in (([], 40), (["--loss-scale=128"], 10), (["--accumulate=2"], 80), (["--no-trace"], 40), (["--loss-scale=calibrate"], 34)):
        program = compile(model, work + "/root", "--precision=fp16", "--opt-level=O1", *extra)
        result = subprocess.run([program, "train", "--data", work + "/root.npz", "--steps", "1000"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        assert result.returncode == 1 and f"error: step {step}: the last 10 steps are lost: gradients are not finite, and the loss scale" in result.stderr, result.stderr
        named = result.stderr.split("the first result that is not finite is that of ")[1].split(": ")[0]
        assert "'root'" in named and "'a'" not in named and "'y'" not in named, result.stderr
    print("5 programs")


def main():
    work, *names = sys.argv[1:]
    os.makedirs(work, exist_ok=True)
    for name in names:
        globals()[name](work)


if __name__ == "__main__":
    main()
