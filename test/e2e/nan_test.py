#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps that are not finite: what --nan=stop, skip and ignore do at every precision, and that an abort names the node where the infinities begin."""
import json
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import harness  # noqa: E402
from models import Graph  # noqa: E402
from programs import checkpoint, same, standard  # noqa: E402

BATCH, SAMPLES = 4, 32
LOSS = "--loss=mse:y:target"


def check(true, *what):
    if not true:
        raise harness.Failure(" ".join(map(str, what)))


def compiled(folder, model, *options):
    """Compiles a model and returns the path of the program."""
    model.save(f"{folder}/model.onnx")
    harness.must([OPTIONS.bin + "/mpc", "compile", "model.onnx", "-o", "program", "-q", "--cpu=x86-64-v3", *standard(options)], cwd=folder)
    return f"{folder}/program"


def convolutions(scale3=1.0):
    """Makes x [4, 3, 8, 8] -> four convolutions and a dense layer -> y [4, 2]; the weights of the third convolution are all `scale3`."""
    g = Graph()
    x, channels = g.input("x", [BATCH, 3, 8, 8]), 3
    for i in range(1, 5):
        weights = np.full((8, channels, 3, 3), scale3 if i == 3 else 0.1 / channels, np.float32)
        x = g.node("Conv", [x, g.constant(f"conv{i}.weight", weights)], f"conv{i}", kernel_shape=[3, 3], pads=[1, 1, 1, 1])
        x = g.node("Relu", [x], f"relu{i}")
        channels = 8
    x = g.node("Flatten", [x], "flat")
    g.node("Gemm", [x, g.constant("fc.weight", np.full((512, 2), 1e-3, np.float32)), g.constant("fc.bias", np.zeros(2, np.float32))], "y")
    return g.output("y", [BATCH, 2])


def logarithm():
    """Makes x [4, 3] -> dropout -> log(x w) -> y [4, 2], which is -inf for x = 0."""
    g = Graph()
    x = g.dropout(g.input("x", [BATCH, 3]), "drop", 0.01)
    x = g.node("MatMul", [x, g.constant("w", np.ones((3, 5), np.float32))], "product")
    x = g.node("Log", [x], "log")
    g.node("MatMul", [x, g.constant("v", np.full((5, 2), 0.1, np.float32))], "y")
    return g.output("y", [BATCH, 2])


def images(folder, value=1.0):
    np.savez(f"{folder}/data.npz", x=np.full((SAMPLES, 3, 8, 8), value, np.float32), target=np.zeros((SAMPLES, 2), np.float32))


def rows(folder, good):
    """Writes data.npz with `good` batches of positive rows, followed by zeros."""
    x = np.zeros((SAMPLES, 3), np.float32)
    x[:good * BATCH] = 1
    np.savez(f"{folder}/data.npz", x=x, target=np.zeros((SAMPLES, 2), np.float32))


def train(folder, *arguments, steps=40):
    """Trains; returns the status, standard output and error, and the log's lines."""
    log = f"{folder}/log.jsonl"
    status, out, err = harness.run([f"{folder}/program", "train", "--data", "data.npz", "--steps", steps, "--log", log, "--log-every", 1, "--no-shuffle",
                                    *arguments], cwd=folder)
    return status, out, err, [json.loads(line) for line in open(log)]


def third_convolution(*options):
    def case():
        with harness.folder() as folder:
            # The first two convolutions give 0.1 * 9 = 0.9 at most. The third gives 72 * 2000 * 0.7 in the middle of the image, which is beyond 65504.
            compiled(folder, convolutions(scale3=2000), LOSS, "--precision=fp16", "--lr=1e-4", *options)
            images(folder)
            status, _, err, _ = train(folder)
            check(status == 1 and "the last 10 steps are lost: the loss is" in err, status, err)
            named = err.split("the first result that is not finite is that of ")[1].split(": ")[0]
            check("'conv3'" in named and "conv2" not in named and "conv4" not in named, err)
            check(" f16 numbers are infinite and 0 are NaN; it read f16 from 0" in err and "'conv3.weight' from 2000 to 2000" in err, err)
            check("there is no checkpoint of finite parameters" in err and "\nhint: lower --lr" in err, err)
    return case


def precision_case(mode, *options):
    def case():
        with harness.folder() as folder:
            compiled(folder, logarithm(), LOSS, "--lr=1e-4", *options)
            rows(folder, 1)
            harness.must([f"{folder}/program", "train", "--data", "data.npz", "--steps", 1, "--no-shuffle", "--checkpoint-dir", "saved"], cwd=folder)
            np.savez(f"{folder}/data.npz", x=np.zeros((SAMPLES, 3), np.float32), target=np.zeros((SAMPLES, 2), np.float32))
            status, out, err, lines = train(folder, "--checkpoint-dir", "saved", "--resume", "--checkpoint-every", 1, "--keep", 0, f"--nan={mode}")
            before = checkpoint(f"{folder}/saved/step-00000001.safetensors")
            if mode == "stop":
                check(status == 1 and "error: step 11: the last 10 steps are lost: the loss is inf; " in err, status, err)
                check("'log')" in err and "20 of 20" in err and " from 0 to 0; " in err, err)
                check("; the last good checkpoint is saved/step-00000010.safetensors" in err, err)
                changed = set(same(before, checkpoint(f"{folder}/saved/step-00000010.safetensors")))
                check(changed <= {"main/scale", "main/growth_tracker", "main/skipped", "rng.step"}, "changed", changed)
                check(len(lines) == 10 and all(line["skipped"] for line in lines), lines)
            elif mode == "skip":
                check(status == 0 and "done: 40 steps, 39 skipped" in out and "note: step 11: the last 10 steps are lost" in out, status, out, err)
                check("(skipped)" in out and all(line["skipped"] for line in lines if "loss" in line), lines)
                check([line["step"] for line in lines if "note" in line] == [11], lines)
                check("every step was skipped" in err, err)
                changed = set(same(before, checkpoint(f"{folder}/saved/step-00000040.safetensors")))
                check(changed <= {"main/scale", "main/growth_tracker", "main/skipped", "rng.step"}, "changed", changed)
            else:
                check(status == 0, status, err)
                weights = checkpoint(f"{folder}/saved/step-00000040.safetensors")["w"]
                scaled = any("scale" in line for line in lines)
                check(scaled or not np.isfinite(weights.astype(np.float64)).all(), "w is", weights)
    return case


def falling_scale():
    """A scale that falls from 2^24 to where gradients fit takes many skips, and they do not end the training."""
    with harness.folder() as folder:
        g = Graph()
        g.node("MatMul", [g.input("x", [BATCH, 3]), g.constant("w", np.ones((3, 2), np.float32))], "y")
        compiled(folder, g.output("y", [BATCH, 2]), LOSS, "--precision=fp16", "--init-scale=16777216", "--lr=1e-30")
        # The cotangent is 2 (y - target) / 8, which is about 1/4 of 60000; times the scale it fits in f16 up to a scale of 2^2.
        np.savez(f"{folder}/data.npz", x=np.full((SAMPLES, 3), 20000, np.float32), target=np.zeros((SAMPLES, 2), np.float32))
        status, out, err, lines = train(folder)
        skipped = [line["skipped"] for line in lines]
        check(status == 0 and sum(skipped) >= 22 and not skipped[-1] and skipped == sorted(skipped, reverse=True), status, err, lines)
        check(f"done: 40 steps, {sum(skipped)} skipped," in out, out)


def a_mask():
    """The -inf values of an attention's mask are no fault. The product after its softmax, which overflows, is named."""
    with harness.folder() as folder:
        g = Graph()
        scores = g.node("MatMul", [g.input("x", [BATCH, 3]), g.constant("k", np.ones((3, 6), np.float32))], "scores")
        mask = np.where(np.tri(BATCH, 6) > 0, 0, -np.inf).astype(np.float32)
        attention = g.node("Softmax", [g.node("Add", [scores, g.constant("mask", mask)], "masked")], "attention", axis=-1)
        values = g.node("MatMul", [attention, g.constant("v", np.full((6, 4), 60000, np.float32))], "values")
        g.node("MatMul", [values, g.constant("o", np.ones((4, 2), np.float32))], "y")
        compiled(folder, g.output("y", [BATCH, 2]), LOSS, "--precision=fp16", "--lr=1e-4")
        np.savez(f"{folder}/data.npz", x=np.ones((SAMPLES, 3), np.float32), target=np.zeros((SAMPLES, 2), np.float32))
        status, _, err, _ = train(folder)
        named = err.split("the first result that is not finite is that of ")[-1].split(": ")[0]
        check(status == 1 and "'y'" in named and "masked" not in named and "8 of 8 f16 numbers are infinite" in err, status, err)


def two_optimizers():
    """The loss of one optimizer (b) is infinite in every step and that of the other (a) is not: only b's steps are counted, named and skipped."""
    with harness.folder() as folder:
        g = Graph()
        g.input("x", [BATCH, 3])
        for name in ("a", "b"):
            g.node("MatMul", ["x", g.constant(f"{name}.w", np.ones((3, 2), np.float32))], f"{name}.y")
        g.node("Log", ["b.y"], "b.log")
        g.node("ReduceMean", ["a.y"], "a.loss", keepdims=0)
        g.node("ReduceMean", ["b.log"], "b.loss", keepdims=0)
        g.output("a.loss", []).output("b.loss", [])
        steps = [f"--step={n}:loss=output:{n}.loss:params=^{n}\\.:optimizer=sgd" for n in "ab"]
        compiled(folder, g, *steps)
        np.savez(f"{folder}/data.npz", x=np.zeros((SAMPLES, 3), np.float32))
        status, _, err, _ = train(folder)
        check(status == 1 and "error: step 10: the last 10 steps of 'b' are lost: the loss is -inf; " in err and "'b.log'" in err, status, err)
        status, out, err, lines = train(folder, "--nan=skip")
        check(status == 0 and "done: 40 steps, 40 skipped (a 0, b 40)" in out and "warning" not in err, status, out, err)
        check(all(line["steps"]["b"]["skipped"] and not line["steps"]["a"]["skipped"] for line in lines if "steps" in line), lines[:2])


def infinite_gradients(*options, mode="stop"):
    """The root's gradient at 0 is infinite and its value is not. Without a loss scale nothing checks gradients, and the first step makes the weights
    non-finite. Their checkpoint must not replace a good one."""
    def case():
        with harness.folder() as folder:
            g = Graph()
            x = g.node("MatMul", [g.input("x", [BATCH, 3]), g.constant("w", np.ones((3, 2), np.float32))], "product")
            g.node("Sqrt", [x], "y")
            compiled(folder, g.output("y", [BATCH, 2]), LOSS, "--lr=1e-4", *options)
            rows(folder, 8)
            harness.must([f"{folder}/program", "train", "--data", "data.npz", "--steps", 3, "--no-shuffle", "--checkpoint-dir", "saved"], cwd=folder)
            rows(folder, 1)
            status, _, err, _ = train(folder, "--checkpoint-dir", "saved", "--resume", "--checkpoint-every", 1, "--keep", 1, f"--nan={mode}")
            check(status == 1 and "error: step 4: the parameter 'w' is not finite: a gradient behind a finite loss was not; the last good checkpoint is "
                  "saved/step-00000003.safetensors\nhint: compile with --loss-scale=dynamic" in err, status, err)
            weights = checkpoint(f"{folder}/saved/step-00000003.safetensors")["w"]
            check(np.isfinite(weights).all() and os.listdir(f"{folder}/saved") != [], weights)
            # Nothing is saved in this run, so the loss of the next step shows it.
            status, _, err, _ = train(folder, f"--nan={mode}")
            check(status == 1 and "error: step 3: the parameter 'w' is not finite" in err and "there is no checkpoint of finite parameters" in err, status, err)
            compiled(folder, g, LOSS, "--lr=1e-4", *options, "--loss-scale=dynamic")
            status, out, err, lines = train(folder, "--nan=skip", steps=8)
            check(status == 0 and lines[-1]["skipped"], status, out, err)
    return case


PRECISIONS = {
    "fp32": ["--precision=fp32"],
    "fp16": ["--precision=fp16"],
    "fp16 without a scale": ["--precision=fp16", "--loss-scale=none"],
    "fp16 with a fixed scale": ["--precision=fp16", "--loss-scale=64"],
    "fp16 O3": ["--precision=fp16", "--opt-level=O3"],
    "bf16": ["--precision=bf16"],
}
def equal_numbers():
    """The variance of a row of equal numbers is 0. Where rounding makes it negative, and epsilon is smaller than the rounding, its root is not a number: that would be so for
    one in five of these rows."""
    with harness.folder() as folder:
        g = Graph()
        x = g.input("x", [BATCH, 1000])
        x = g.node("LayerNormalization", [x, g.constant("scale", np.ones(1000, np.float32)), g.constant("bias", np.zeros(1000, np.float32))], "norm", axis=-1, epsilon=1e-18)
        g.node("MatMul", [x, g.constant("v", np.full((1000, 2), 1e-3, np.float32))], "y")
        compiled(folder, g.output("y", [BATCH, 2]), LOSS, "--precision=fp32")
        constants = np.random.default_rng(1000).uniform(0.01, 100, (512, 1)).astype(np.float32)
        np.savez(f"{folder}/data.npz", x=np.repeat(constants, 1000, axis=1), target=np.zeros((512, 2), np.float32))
        status, out, err, lines = train(folder, "--lr=0", steps=128)
        check(status == 0 and len(lines) == 128 and all(np.isfinite(line["loss"]) for line in lines), status, err)


def equal_gradients():
    """The variance that a centred RMSprop divides by is that of gradients, the same in each step here: rounding makes it negative for most of them."""
    with harness.folder() as folder:
        g = Graph()
        y = g.node("Mul", [g.input("x", [BATCH, 64]), g.constant("w", np.zeros(64, np.float32))], "y")
        g.node("ReduceMean", [y], "loss", keepdims=0)
        compiled(folder, g.output("loss", []), "--loss=output:loss", "--precision=fp32", "--optimizer=rmsprop,alpha=0.125,centered=1")
        np.savez(f"{folder}/data.npz", x=np.repeat(np.random.default_rng(1).uniform(1, 100, (1, 64)).astype(np.float32), SAMPLES, axis=0))
        status, out, err, lines = train(folder, "--lr=1e-9", steps=50)
        check(status == 0 and len(lines) == 50 and all(np.isfinite(line["loss"]) for line in lines), status, err)


CASES = {
    "equal numbers": equal_numbers,
    "equal gradients": equal_gradients,
    "the third convolution": third_convolution(),
    "the third convolution, O2": third_convolution("--opt-level=O2"),
    "a falling scale": falling_scale,
    "a mask of -inf": a_mask,
    "two optimizers": two_optimizers,
    "infinite gradients": infinite_gradients("--precision=fp32"),
    "infinite gradients, bf16, skip": infinite_gradients("--precision=bf16", mode="skip"),
    **{f"{name} {mode}": precision_case(mode, *options) for name, options in PRECISIONS.items() for mode in ("stop", "skip", "ignore")},
}

if __name__ == "__main__":
    OPTIONS = harness.arguments(__doc__)
    harness.main([(f"nan/{name}", case) for name, case in CASES.items()], OPTIONS.only)
