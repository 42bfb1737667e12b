#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks optimizers whose steps depend on norms of whole parameters: long trainings, 16 bits, odd shapes, devices and resumed trainings.

usage: norms.py WORK_DIR TEST...
"""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import programs  # noqa: E402
from optimizers import BATCH, Adafactor, Lamb, Lars, Linear  # noqa: E402
from programs import Network, compile, same, train  # noqa: E402

HOST, EMULATOR = ["--device=host"], ["--device=emulator", "--arch=sm_80"]
# The options of each optimizer, and the rule for a parameter of the name in float64.
OPTIMIZERS = {
    "lars": (["--optimizer=lars,trust_coefficient=0.02", "--lr=0.7", "--momentum=0.8", "--weight-decay=0.01"], lambda: Lars(0.7, 0.8, 0.01, 0.02)),
    "lamb": (["--optimizer=lamb", "--lr=0.02"], lambda: Lamb(0.02, 0.01)),
    "adafactor": (["--optimizer=adafactor", "--lr=0.05", "--weight-decay=0.01"], lambda: Adafactor(0.05, 0.01)),
}


def close(actual, expected, tolerance, what):
    error = np.abs(np.asarray(actual, np.float64) - expected).max(initial=0) / max(np.abs(expected).max(initial=0), 1e-30)
    assert error <= tolerance, (what, error, actual, expected)


def curves(work):
    """Compares 60 steps in fp32, and with fp16 compute and fp32 masters, with the same training in float64: the loss of each step and the last weights."""
    linear = Linear(work)
    for name, (flags, make) in OPTIMIZERS.items():
        # 60 steps of roundings of 2^-24 come back through the gradients: 2^-24 * 2^6 * 2^4. In fp16 each product of a step rounds by 2^-11, and the loss
        # sums 24 squares of such differences.
        for options, tolerance in (["--precision=fp32"], 2.0**-14), (["--precision=fp16", "--opt-level=O2", "--init-scale=256"], 2.0**-7):
            program = compile(linear.model, work + "/curve", "--loss=mse:y:t", "--no-trace", *flags, *options)
            log, state = train(program, work + "/linear.npz", 60, work + "/curve-ckpt", "--no-shuffle")
            w, rule = linear.weights(), make()
            for step in range(60):
                x, t = (v[step % 30 * BATCH:(step % 30 + 1) * BATCH].astype(np.float64) for v in (linear.x, linear.t))
                close(log[step]["loss"], ((x @ w["layer.a"] + w["layer.b"] - t)**2).mean(), tolerance, (name, options, step))
                g = linear.gradient(w, step % 30)
                w = {k: rule(k, w[k], g[k]) for k in w}
            for parameter, values in w.items():
                assert state[parameter].dtype == np.float32, (name, parameter, state[parameter].dtype)
                close(state[parameter], values, tolerance, (name, options, parameter))
            # The training has learned something, so the curves are no straight lines.
            first, last = (np.mean([line["loss"] for line in part]) for part in (log[:30], log[30:]))
            assert last < 0.9 * first, (name, first, last)
            print(f"{name} {options[0]}: loss {first:.3f}, {last:.3f}")


def shapes(work):
    """Trains a single number, a parameter of no elements and a bias that starts at zero."""
    rng = np.random.default_rng(3)
    start = {"a": rng.normal(0, 1, (5, 3)), "nothing": np.zeros((0, 3)), "bias": np.zeros(3), "factor": np.array(1.5)}
    start = {k: v.astype(np.float32) for k, v in start.items()}
    n = Network()
    n.input("x", [BATCH, 5])
    for name, array in start.items():
        n.constant(name, array, np.float32)
    n.node("Concat", ["a", "nothing"], "weight", axis=0)
    n.node("Gemm", ["x", "weight", "bias"], "h")
    n.node("Mul", ["h", "factor"], "y")
    n.output("y", [BATCH, 3])
    model = n.save(work + "/shapes.onnx")
    x, t = rng.normal(0, 1, (BATCH * 10, 5)).astype(np.float32), rng.normal(0, 1, (BATCH * 10, 3)).astype(np.float32)
    np.savez(work + "/shapes.npz", x=x, t=t)
    for name, (flags, make) in OPTIMIZERS.items():
        # One optimizer shows that a GPU's kernels take such shapes.
        target, machines = ("host,sm_80,emulator", [HOST, EMULATOR]) if name == list(OPTIMIZERS)[-1] else ("host", [HOST])
        program = compile(model, work + "/shapes", "--target=" + target, "--loss=mse:y:t", "--trainable=.*", "--no-trace", *flags)
        for device in machines:
            _, state = train(program, work + "/shapes.npz", 10, work + "/shapes-ckpt", "--no-shuffle", *device)
            w, rule = {k: v.astype(np.float64) for k, v in start.items()}, make()
            for step in range(10):
                rows = slice(step * BATCH, (step + 1) * BATCH)
                h = x[rows] @ w["a"] + w["bias"]
                d = 2 * (h * w["factor"] - t[rows]) / t[rows].size
                dh = d * w["factor"]
                g = {"a": x[rows].T.astype(np.float64) @ dh, "nothing": np.zeros((0, 3)), "bias": dh.sum(0), "factor": (d * h).sum()}
                w = {k: rule(k, w[k], g[k]) if w[k].size else w[k] for k in w}
            for parameter, values in w.items():
                assert state[parameter].shape == values.shape, (name, parameter)
                # Ten steps of roundings of 2^-24, a few dozen each.
                close(state[parameter], values, 2.0**-16, (name, device, parameter))


def devices(work):
    """Trains a network of convolutions, whose weights are stored in another order, in fp16 on the host and the emulated GPU; resumed trainings end with the same bits."""
    n = Network()
    n.input("x", [4, 2, 6, 6])
    # The gradient of a bias in front of the batch norm would be nothing but roundings, and the first steps of LAMB and Adafactor do not depend on its size.
    y = n.relu(n.batch_norm(n.conv("x", "conv", 2, 4, 3, bias=False), "bn", 4), "relu")
    n.linear(n.node("Flatten", [y], "flat"), "logits", 64, 3)
    n.output("logits", [4, 3])
    model = n.save(work + "/convnet.onnx")
    data = programs.convnet_data(work + "/convnet.npz")
    for name, (flags, _) in OPTIMIZERS.items():
        program = compile(model, work + "/convnet", "--target=host,sm_80,emulator", "--precision=fp16", "--opt-level=O2", "--init-scale=1024",
                          "--loss=softmax_cross_entropy:logits:labels", "--param-group=@norms,@biases:wd=0", "--clip-norm=1", "--accumulate=2", "--no-trace", *flags)
        states = []
        for device in HOST, EMULATOR:
            run = lambda folder, steps, *options: train(program, data, steps, f"{work}/{folder}", "--checkpoint-every=3", *options, *device)[1]
            states.append(run("straight", 6))
            run("resumed", 3)  # within a window of accumulated batches
            resumed = run("resumed", 6, "--resume")
            assert not same(states[-1], resumed), (name, device, same(states[-1], resumed))
        if name == "adafactor":
            assert [states[0]["conv.weight/" + slot].shape for slot in ("row_var", "col_var")] == [(4, 2, 3, 1), (4, 2, 1, 3)]
        # The devices differ by a few roundings of fp16 compute after three updates.
        for k in states[0]:
            if k:
                assert np.allclose(states[0][k], states[1][k], rtol=2e-2, atol=2e-3), (name, k)


def main():
    work, *names = sys.argv[1:]
    os.makedirs(work, exist_ok=True)
    for name in names:
        globals()[name](work)


if __name__ == "__main__":
    main()
