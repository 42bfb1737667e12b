#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""States that are carried from batch to batch (`--carry`), against numpy in float64: the losses of a recurrent language model and of a running mean, their state after skipped steps, at the
starts of epochs and in evaluation, prediction, checkpoints and libraries.

The bounds: in fp32, losses of some 20 small steps differ by their roundings of 6e-8, which learning amplifies; 1e-5 is ten times what was seen. In fp16 each product rounds to 5e-4.
"""
import ctypes
import json
import os
import subprocess
import sys
import time

import numpy as np
from onnx import helper, numpy_helper

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import harness  # noqa: E402
from models import FLOAT, INT64, Graph  # noqa: E402
from programs import checkpoint, same  # noqa: E402

BATCH, TIME, WORDS, HIDDEN, PIECES, RATE, WIDTH = 3, 4, 7, 5, 6, 0.5, 2
TOKENS = ["--loss=softmax_cross_entropy:logits:y,axis=-1", "--carry=hn:h0"]


def language_model():
    """x [BATCH, TIME] of words and h0 [1, BATCH, HIDDEN] -> logits [BATCH, TIME, WORDS] and hn [1, BATCH, HIDDEN]."""
    g = Graph(seed=3)
    info = helper.make_tensor_value_info
    x = g.node("Transpose", [g.input("x", [BATCH, TIME], INT64)], "xt", perm=[1, 0])
    g.input("h0", [1, BATCH, HIDDEN])
    for name, shape in (("table", (WORDS, HIDDEN)), ("wh", (HIDDEN, HIDDEN)), ("wf", (HIDDEN, WORDS))):
        g.parameter(name, shape, fan_in=HIDDEN)
    g.constant("zero", np.array([0], np.int64))
    first = g.node("Squeeze", ["h0", "zero"], "first")
    nodes = [helper.make_node(op, inputs, [output], name=output) for op, inputs, output in
             (("MatMul", ["hs", "wh"], "gh"), ("Add", ["gh", "xs"], "sum"), ("Tanh", ["sum"], "h"), ("Identity", ["h"], "each"))]
    body = helper.make_graph(nodes, "body", [info("hs", FLOAT, [BATCH, HIDDEN]), info("xs", FLOAT, [BATCH, HIDDEN])],
                             [info("h", FLOAT, [BATCH, HIDDEN]), info("each", FLOAT, [BATCH, HIDDEN])])
    g.node("Scan", [first, g.node("Gather", ["table", x], "words")], ["last", "all"], body=body, num_scan_inputs=1)
    g.node("Unsqueeze", ["last", "zero"], "hn")
    g.node("MatMul", [g.node("Transpose", ["all"], "turned", perm=[1, 0, 2]), "wf"], "logits")
    g.output("logits", [BATCH, TIME, WORDS])
    return g.output("hn", [1, BATCH, HIDDEN])


def values(graph):
    return {array.name: numpy_helper.to_array(array).astype(np.float64) for array in graph.initializers if array.name != "zero"}


def batchified(text, batch=BATCH, time=TIME):
    """Lays a text out for carried states: stream b is the b-th part of the text, and row k * batch + b is the k-th piece of stream b."""
    pieces = (len(text) - 1) // (batch * time)
    def rows(words):
        return words[:batch * pieces * time].reshape(batch, pieces, time).swapaxes(0, 1).reshape(pieces * batch, time)
    return rows(text[:-1]), rows(text[1:])


def text(pieces=PIECES):
    """Words that depend on the word two before, with some noise."""
    rng = np.random.default_rng(5)
    words = [1, 2]
    while len(words) < pieces * BATCH * TIME + 1:
        words.append((words[-2] * 3 + 1) % WORDS if rng.random() < 0.9 else int(rng.integers(WORDS)))
    return batchified(np.array(words))


class Reference:
    """The language model and its gradients, which end at the start of a batch."""

    def __init__(self):
        self.p = values(language_model())
        self.h = np.zeros((BATCH, HIDDEN))

    def forward(self, x):
        self.hs = [self.h]
        for t in range(TIME):
            self.hs.append(np.tanh(self.hs[-1] @ self.p["wh"] + self.p["table"][x[:, t]]))
        self.h = self.hs[-1]
        return np.stack(self.hs[1:], axis=1) @ self.p["wf"]

    def loss(self, x, y):
        scores = self.forward(x)
        scores -= scores.max(-1, keepdims=True)
        self.probabilities = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
        return -np.log(np.take_along_axis(self.probabilities, y[..., None], -1)).mean()

    def gradients(self, x, y):
        loss = self.loss(x, y)
        d = (self.probabilities - np.eye(WORDS)[y]) / y.size
        gradient = {name: np.zeros_like(value) for name, value in self.p.items()}
        later = np.zeros((BATCH, HIDDEN))
        for t in reversed(range(TIME)):
            gradient["wf"] += self.hs[t + 1].T @ d[:, t]
            ds = (d[:, t] @ self.p["wf"].T + later) * (1 - self.hs[t + 1] ** 2)
            np.add.at(gradient["table"], x[:, t], ds)
            gradient["wh"] += self.hs[t].T @ ds
            later = ds @ self.p["wh"].T
        return loss, gradient

    def train(self, x, y, steps, accumulate=1, carry=True):
        losses, total = [], None
        pieces = len(x) // BATCH
        for step in range(steps):
            k = step % pieces
            if k == 0 or not carry:
                self.h = np.zeros((BATCH, HIDDEN))
            loss, gradient = self.gradients(x[k * BATCH:(k + 1) * BATCH], y[k * BATCH:(k + 1) * BATCH])
            losses.append(loss)
            total = gradient if total is None else {name: total[name] + gradient[name] for name in total}
            if (step + 1) % accumulate == 0:
                for name in self.p:
                    self.p[name] -= RATE * total[name] / accumulate
                total = None
        return np.array(losses)

    def evaluate(self, x, y):
        self.h = np.zeros((BATCH, HIDDEN))
        return np.mean([self.loss(x[k:k + BATCH], y[k:k + BATCH]) for k in range(0, len(x), BATCH)])


def compile_model(folder, *options, name="lm", output=None, graph=None, rate=RATE):
    (graph or language_model()).save(f"{folder}/{name}.onnx")
    harness.must([OPTIONS.bin + "/mpc", "compile", f"{name}.onnx", "-q", "--cpu=x86-64-v3", "--optimizer=sgd", f"--lr={rate}", "-o", output or name, *options], cwd=folder)


def save_text(folder, pieces=PIECES):
    x, y = text(pieces)
    np.savez(f"{folder}/data.npz", x=x, y=y)
    return x, y


def train(folder, *options, name="lm", data="data.npz"):
    """Returns the losses of all steps."""
    harness.must([f"./{name}", "train", "--data", data, "--log", "log", "--log-every", "1", "--threads", "1", *options], cwd=folder, seconds=300)
    return logged(folder)


def logged(folder, log="log"):
    with open(f"{folder}/{log}") as lines:
        found = [json.loads(line) for line in lines]
    return np.array([line["loss"] for line in found if "loss" in line and "lr" in line])


def newest(folder):
    return f"{folder}/ckpt/" + max(name for name in os.listdir(f"{folder}/ckpt") if name.endswith(".safetensors"))


def near(what, got, want, bound):
    got, want = np.asarray(got), np.asarray(want)
    if got.shape != want.shape or not np.abs(got - want).max() <= bound:
        raise harness.Failure(f"{what}: {got}, expected {want} within {bound}")


def trains(precision, target, bound):
    """Two epochs and a half: the state goes on within an epoch and is zero at its start."""
    def run():
        steps = PIECES * 2 + PIECES // 2
        with harness.folder() as folder:
            x, y = save_text(folder)
            compile_model(folder, *TOKENS, "--precision=" + precision, "--target=" + (target if target == "host" else target + ",emulator"))
            reference = Reference()
            want = reference.train(x, y, steps)
            if np.abs(Reference().train(x, y, steps, carry=False) - want).max() < 4 * bound:
                raise harness.Failure("the state makes no difference in this test")
            near("losses", train(folder, "--steps", str(steps), "--checkpoint-dir", "ckpt", "--device", "host" if target == "host" else "emulator"), want, bound)
            near("state", checkpoint(newest(folder))["h0"], reference.h[None], bound)
    return run


def accumulates():
    """The state goes on with each batch of an update."""
    with harness.folder() as folder:
        x, y = save_text(folder)
        compile_model(folder, *TOKENS, "--precision=fp32", "--accumulate=2")
        near("losses", train(folder, "--epochs", "2"), Reference().train(x, y, 2 * PIECES, accumulate=2), 1e-5)


def evaluates():
    """Evaluation and prediction start with zero, carry their own state, and leave that of the training alone. The last batch of prediction may be incomplete."""
    with harness.folder() as folder:
        x, y = save_text(folder)
        compile_model(folder, *TOKENS, "--precision=fp32")
        steps = PIECES + 2
        reference = Reference()
        want = reference.train(x, y, steps + 2)
        near("losses", train(folder, "--steps", str(steps), "--val", "data.npz", "--checkpoint-dir", "ckpt"), want[:steps], 1e-5)
        near("losses after evaluation", train(folder, "--steps", str(steps + 2), "--checkpoint-dir", "ckpt", "--resume")[-2:], want[steps:], 1e-5)
        said = json.loads(harness.must(["./lm", "eval", "--data", "data.npz", "--checkpoint", newest(folder), "--json"], cwd=folder))
        near("evaluation", said["loss"], reference.evaluate(x, y), 1e-5)
        rows = len(x) - 1
        np.savez(f"{folder}/x.npz", x=x[:rows])
        harness.must(["./lm", "predict", "--data", "x.npz", "--checkpoint", newest(folder), "--out", "p.npz"], cwd=folder)
        predicted = np.load(f"{folder}/p.npz")
        reference.h = np.zeros((BATCH, HIDDEN))
        near("prediction", predicted["logits"], np.concatenate([reference.forward(x[k:k + BATCH]) for k in range(0, len(x), BATCH)])[:rows], 1e-4)
        if predicted.files != ["logits"]:
            raise harness.Failure(f"prediction returns {predicted.files}")
        harness.must([OPTIONS.bin + "/mpc", "export", "lm.onnx", "--checkpoint", newest(folder), "-o", "trained.onnx"], cwd=folder)
        harness.must(["./lm", "train", "--data", "data.npz", "--steps", "1", "--init", newest(folder)], cwd=folder)


def names_the_state():
    """An output that a state becomes is returned by predict where it is named, for one batch; check and explain call the input a state."""
    with harness.folder() as folder:
        x, _ = save_text(folder)
        compile_model(folder, *TOKENS, "--precision=fp32", "--outputs=hn,logits")
        np.savez(f"{folder}/x.npz", x=x[:BATCH])
        harness.must(["./lm", "predict", "--data", "x.npz", "--out", "p.npz"], cwd=folder)
        reference = Reference()
        reference.forward(x[:BATCH])
        near("hn", np.load(f"{folder}/p.npz")["hn"], reference.h[None], 1e-5)
        status, _, error = harness.run(["./lm", "predict", "--data", "data.npz", "--out", "p.npz"], cwd=folder)
        if status != 1 or "'hn'" not in error or "hint: " not in error:
            raise harness.Failure(f"status {status}: {error}")
        said = harness.must([OPTIONS.bin + "/mpc", "check", "lm.onnx", *TOKENS], cwd=folder)
        if "state      h0: tensor<1x3x5xf32> (carried from 'hn'" not in said or "data: h0" in said:
            raise harness.Failure(said)
        said = json.loads(harness.must([OPTIONS.bin + "/mpc", "explain", "lm.onnx", *TOKENS, "--json"], cwd=folder))
        if said["state_bytes"].get("state") != BATCH * HIDDEN * 4:
            raise harness.Failure(str(said["state_bytes"]))


def survives_kill():
    """A training that is killed within an epoch goes on with the same bits."""
    epochs, pieces = 60, 20
    with harness.folder() as folder:
        save_text(folder, pieces)
        compile_model(folder, *TOKENS, "--precision=fp16")
        whole = train(folder, "--epochs", str(epochs), "--checkpoint-dir", "ckpt", "--checkpoint-every", str(epochs * pieces))
        want = checkpoint(newest(folder))
        os.rename(f"{folder}/ckpt", f"{folder}/whole")
        os.remove(f"{folder}/log")
        options = ["train", "--data", "data.npz", "--log", "log", "--log-every", "1", "--threads", "1", "--epochs", str(epochs), "--checkpoint-dir", "ckpt", "--checkpoint-every", "7"]
        at = 0
        while at % pieces == 0:
            begun = os.path.exists(f"{folder}/ckpt")
            process = subprocess.Popen(["./lm", *options, *(["--resume"] if begun else [])], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while process.poll() is None and not (os.path.exists(f"{folder}/ckpt") and any(name >= f"step-{at + 28:08}" for name in os.listdir(f"{folder}/ckpt"))):
                time.sleep(0.001)
            process.kill()
            process.wait()
            at = int(os.path.basename(newest(folder)).split("-")[1].split(".")[0])
        if at >= epochs * pieces:
            raise harness.Failure("the training ended before it was killed")
        losses = train(folder, "--epochs", str(epochs), "--checkpoint-dir", "ckpt", "--resume")
        if not np.array_equal(losses, whole):
            raise harness.Failure(f"resumed after step {at}, the losses differ: {losses[at:at + 3]}, expected {whole[at:at + 3]}")
        got = checkpoint(newest(folder))
        if same(want, got) or "h0" not in want:
            raise harness.Failure(f"{same(want, got)} differ")


def overflows():
    """A step whose gradients overflow updates no parameter, but its state goes on, as in torch."""
    with harness.folder() as folder:
        x, y = save_text(folder)
        compile_model(folder, *TOKENS, "--precision=fp16", "--loss-scale=dynamic", "--init-scale=1e9")
        reference = Reference()
        first, second = (reference.loss(x[k:k + BATCH], y[k:k + BATCH]) for k in (0, BATCH))
        losses = train(folder, "--steps", "2", "--checkpoint-dir", "ckpt")
        near("losses", losses, [first, second], 4e-3)
        state = checkpoint(newest(folder))
        near("table", state["table"], reference.p["table"], 1e-6)
        near("state", state["h0"], reference.h[None], 4e-3)


def running_mean(width=WIDTH, dtype=FLOAT, **shapes):
    """x [BATCH, width] and s [BATCH, width] -> next = s / 2 + x and y = next @ w [BATCH, 1]."""
    g = Graph(seed=1)
    g.input("s", shapes.get("s", [BATCH, width]), dtype)
    g.input("x", [BATCH, width])
    g.constant("half", np.float32(0.5))
    kept = "s" if dtype == FLOAT else g.node("Cast", ["s"], "float", to=FLOAT)
    g.node("Add", [g.node("Mul", [kept, "half"], "kept"), "x"], "next")
    g.node("MatMul", ["next", g.parameter("w", (width, 1), fan_in=width)], "y")
    g.node("ReduceSum", ["next"], "total", keepdims=0)
    g.output("y", [BATCH, 1])
    g.output("next", [BATCH, width])
    return g.output("total", [])


def save_numbers(folder, steps, reset=None):
    rng = np.random.default_rng(2)
    x, target = rng.normal(size=(steps, BATCH, WIDTH)), rng.normal(size=(steps, BATCH, 1))
    arrays = {"x": x.reshape(-1, WIDTH).astype(np.float32), "t": target.reshape(-1, 1).astype(np.float32)}
    if reset is not None:
        arrays["reset"] = reset.reshape(-1)
    np.savez(f"{folder}/data.npz", **arrays)
    return x, target


def mean_losses(x, target, reset=None, lost=()):
    w, s, losses = values(running_mean())["w"], np.zeros((BATCH, WIDTH)), []
    for k in range(len(x)):
        if reset is not None:
            s = np.where(reset[k][:, None], 0, s)
        if k in lost:
            losses.append(np.nan)
            continue
        s = s / 2 + x[k]
        losses.append(np.mean((s @ w - target[k]) ** 2))
        w = w - 0.05 * s.T @ (s @ w - target[k]) * 2 / BATCH
    return losses, s


def not_finite():
    """A state that is not finite is not stored: the next step reads the one before, and so does the checkpoint."""
    with harness.folder() as folder:
        x, target = save_numbers(folder, 6)
        compile_model(folder, "--loss=mse:y:t", "--carry=next:s", "--precision=fp32", graph=running_mean(), rate=0.05)
        losses = train(folder, "--epochs", "1", "--inject-inf", "3", "--checkpoint-dir", "ckpt")
        want, s = mean_losses(x, target, lost=[2])
        near("losses", np.delete(losses.astype(np.float64), 2), np.delete(want, 2), 1e-5)
        near("state", checkpoint(newest(folder))["s"], s, 1e-5)


def resets():
    """A data array says which samples begin anew; truth values and integers are the same."""
    with harness.folder() as folder:
        reset = np.random.default_rng(4).random((6, BATCH)) < 0.4
        compile_model(folder, "--loss=mse:y:t", "--carry=next:s:reset", "--precision=fp32", "--outputs=y", graph=running_mean(), rate=0.05)
        for kind in (bool, np.int64):
            x, target = save_numbers(folder, 6, reset.astype(kind))
            want, _ = mean_losses(x, target, reset)
            near("losses", train(folder, "--epochs", "1"), want, 1e-5)
        if np.abs(np.array(want) - mean_losses(x, target)[0]).max() < 1e-2:
            raise harness.Failure("the reset makes no difference in this test")
        x, _ = save_numbers(folder, 6, reset)
        harness.must(["./lm", "predict", "--data", "data.npz", "--out", "p.npz"], cwd=folder)
        w, s, rows = values(running_mean())["w"], np.zeros((BATCH, WIDTH)), []
        for k in range(6):
            s = np.where(reset[k][:, None], 0, s) / 2 + x[k]
            rows.append(s @ w)
        near("prediction", np.load(f"{folder}/p.npz")["y"], np.concatenate(rows), 1e-5)


def exchanges():
    """Two states that exchange their values in each step, and one that becomes itself: all are read before any is written."""
    with harness.folder() as folder:
        x, target = save_numbers(folder, 6)
        g = Graph(seed=1)
        for name in "xab":
            g.input(name, [BATCH, WIDTH])
        g.constant("half", np.float32(0.5))
        g.node("Add", [g.node("Mul", ["a", "half"], "kept"), "x"], "next")
        g.node("Identity", ["b"], "old")
        g.node("Identity", ["a"], "same")
        g.node("MatMul", [g.node("Add", ["next", "b"], "sum"), g.parameter("w", (WIDTH, 1), fan_in=WIDTH)], "y")
        for name in ("y", "next", "old", "same"):
            g.output(name)
        w = values(g)["w"]
        for pairs, step in ((("old:a", "next:b"), lambda a, b, mean: (b, mean)), (("next:a", "same:b"), lambda a, b, mean: (mean, a)), (("same:a", "next:b"), lambda a, b, mean: (a, mean))):
            a = b = np.zeros((BATCH, WIDTH))
            want = []
            for k in range(6):
                mean = a / 2 + x[k]
                want.append(np.mean(((mean + b) @ w - target[k]) ** 2))
                a, b = step(a, b, mean)
            compile_model(folder, "--loss=mse:y:t", "--precision=fp32", *(f"--carry={pair}" for pair in pairs), graph=g, rate=1e-12)
            near(f"losses with {pairs}", train(folder, "--epochs", "1"), want, 1e-5)


def binds_batch():
    """--batch binds a named dimension of the state as well; the data come before the states, for the first input gives the batch."""
    with harness.folder() as folder:
        graph = running_mean()
        graph.inputs, graph.outputs = [], []
        for name in ("x", "s"):
            graph.input(name, ["N", WIDTH])
        graph.output("y", ["N", 1]).output("next", ["N", WIDTH])
        x, target = save_numbers(folder, 6)
        compile_model(folder, "--loss=mse:y:t", "--carry=next:s", "--precision=fp32", f"--batch={BATCH}", graph=graph, rate=0.05)
        near("losses", train(folder, "--epochs", "1"), mean_losses(x, target)[0], 1e-5)
        graph = language_model()
        graph.inputs.reverse()
        graph.save(f"{folder}/lm.onnx")
        status, _, error = harness.run([OPTIONS.bin + "/mpc", "compile", "lm.onnx", "-q", "-o", "lm", *TOKENS], cwd=folder)
        if status != 1 or "no data input is left whose leading dimension is the batch" not in error or "hint: " not in error:
            raise harness.Failure(f"status {status}: {error}")


def keeps_order():
    """The samples are not shuffled, and a line says so unless the user asked for it."""
    with harness.folder() as folder:
        save_numbers(folder, 4)
        compile_model(folder, "--loss=mse:y:t", "--carry=next:s", "--precision=fp32", graph=running_mean())
        said = [harness.run(["./lm", "train", "--data", "data.npz", "--epochs", "2", *options], cwd=folder) for options in ([], ["--no-shuffle"])]
        notes = ["'s' is carried from batch to batch" in out + error for _, out, error in said]
        if notes != [True, False] or any(status for status, _, _ in said):
            raise harness.Failure(f"{notes}: {said}")


def library():
    """A C library: mpc_set_variable begins a sequence anew."""
    with harness.folder() as folder:
        x, _ = save_numbers(folder, 2)
        compile_model(folder, "--loss=mse:y:t", "--carry=next:s", "--precision=fp32", "--emit=lib", output="libmean.so", graph=running_mean())
        mpc = ctypes.CDLL(f"{folder}/libmean.so")
        mpc.mpc_open.restype = mpc.mpc_error.restype = ctypes.c_void_p
        session = ctypes.c_void_p(mpc.mpc_open(None, None))
        f32 = 3  # MPC_F32

        def call(function, *arguments):
            if getattr(mpc, function)(session, *arguments) != 0:
                raise harness.Failure(f"{function}: {ctypes.string_at(mpc.mpc_error()).decode()}")

        def state():
            call("mpc_get_variable", b"s", f32, s.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(s.size))
            return s.copy()
        data, target, s = x[0].astype(np.float32), np.zeros((BATCH, 1), np.float32), np.zeros((BATCH, WIDTH), np.float32)
        call("mpc_bind", b"x", f32, data.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(data.size))
        call("mpc_bind", b"t", f32, target.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(target.size))
        call("mpc_step", None)
        call("mpc_step", None)
        near("state after two steps", state(), 1.5 * x[0], 1e-5)
        s[:] = 0
        call("mpc_set_variable", b"s", f32, s.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(s.size))
        call("mpc_run", 2)  # MPC_PREDICT
        near("state after a reset and a forward pass", state(), x[0], 1e-5)
        mpc.mpc_close(session)


def refused():
    """What cannot be carried is an error with a hint."""
    loss = "--loss=mse:y:t"
    cases = [(["--carry=next"], ["'next' is not OUTPUT:INPUT"], {}),
             (["--carry=none:s"], ["no output 'none'", "'y', 'next', 'total'"], {}),
             (["--carry=next:none"], ["no input 'none'", "'s', 'x'"], {}),
             (["--carry=next:w"], ["'w' is a parameter"], {}),
             (["--carry=next:s", "--carry=next:s"], ["'s' is carried twice"], {}),
             (["--carry=y:s"], ["'y' is tensor<3x1xf32>", "'s' is tensor<3x2xf32>"], {}),
             (["--carry=next:s"], ["'next' is tensor<3x2xf32>", "'s' is tensor<1x2xf32>"], {"s": [1, 2]}),
             (["--carry=next:s"], ["'s' is tensor<3x2xi64>"], {"dtype": INT64}),
             (["--carry=next:s:reset"], ["which dimension of 's'"], {"width": 3}),
             (["--carry=next:s", "--step=a:loss=mse:y:t", "--step=b:loss=output:total"], ["'s' would become 'next'", "2 steps"], {})]
    for options, words, changes in cases:
        with harness.folder() as folder:
            running_mean(**changes).save(f"{folder}/m.onnx")
            loss_option = [] if "--step" in options[-1] else [loss]
            status, out, error = harness.run([OPTIONS.bin + "/mpc", "compile", "m.onnx", "-q", "-o", "m", *loss_option, *options], cwd=folder)
            if status != 1 or "hint: " not in error or "m.onnx" not in error or any(word not in error for word in words):
                raise harness.Failure(f"{options}: status {status}: {error}, expected {words}")


def main():
    cases = [(f"{precision} {target}", trains(precision, target, bound))
             for precision, target, bound in (("fp32", "host", 1e-5), ("fp16", "host", 1e-2), ("fp32", "sm_80", 1e-5), ("fp16", "sm_90a", 1e-2))]
    cases += [("accumulated batches", accumulates), ("evaluation and prediction", evaluates), ("names, check and explain", names_the_state), ("killed and resumed", survives_kill),
              ("gradients that overflow", overflows), ("a state that is not finite", not_finite), ("samples that begin anew", resets), ("the order of the samples", keeps_order),
              ("states that exchange values", exchanges), ("--batch", binds_batch), ("a C library", library), ("what cannot be carried", refused)]
    harness.main(cases, OPTIONS.only)


OPTIONS = harness.arguments(__doc__)
if __name__ == "__main__":
    main()
