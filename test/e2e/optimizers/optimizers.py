#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the optimizers of compiled programs with independent numpy models, in one test per name.

usage: optimizers.py WORK_DIR TEST... [--shared DIR]
"""
import os
import re
import subprocess
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from programs import Network, checkpoint, compile, same, trace, train  # noqa: E402

BATCH, STEPS = 8, 7
# fp32 programs are compared with float64 models. Each of a few dozen operations of a step rounds by 2^-24, and errors of the weights come back
# through the gradient of the next step: 2^-24 * 2^8.
TOLERANCE = 2.0**-16


def close(actual, expected, what):
    error = np.abs(np.asarray(actual, np.float64) - expected).max() / max(np.abs(expected).max(), 1e-30)
    assert error <= TOLERANCE, (what, error, actual, expected)


class Linear:
    """The loss mean((x a + b) - y)^2 with its data in file order, and its gradient worked out by hand."""

    def __init__(self, work):
        rng = np.random.default_rng(5)
        self.start = {"layer.a": rng.normal(0, 1, (5, 3)).astype(np.float32), "layer.b": rng.normal(0, 1, 3).astype(np.float32)}
        n = Network()
        n.input("x", [BATCH, 5])
        n.constant("layer.a", self.start["layer.a"], np.float32)
        n.constant("layer.b", self.start["layer.b"], np.float32)
        n.node("Gemm", ["x", "layer.a", "layer.b"], "y")
        n.output("y", [BATCH, 3])
        self.model = n.save(work + "/linear.onnx")
        self.x = rng.normal(0, 1, (BATCH * 30, 5)).astype(np.float32)
        self.t = rng.normal(0, 3, (BATCH * 30, 3)).astype(np.float32)
        np.savez(work + "/linear.npz", x=self.x, t=self.t)
        self.work = work

    def gradient(self, w, batch):
        x, t = (v[batch * BATCH:(batch + 1) * BATCH].astype(np.float64) for v in (self.x, self.t))
        d = 2 * (x @ w["layer.a"] + w["layer.b"] - t) / t.size
        return {"layer.a": x.T @ d, "layer.b": d.sum(0)}

    def compiled(self, steps, *options):
        program = compile(self.model, self.work + "/linear", "--precision=fp32", "--loss=mse:y:t", *options)
        return train(program, self.work + "/linear.npz", steps, self.work + "/linear-ckpt", "--no-shuffle")[1]

    def weights(self):
        return {k: v.astype(np.float64) for k, v in self.start.items()}


def clip_norm(g, bound):
    norm = np.sqrt(sum((v * v).sum() for v in g.values()))
    factor = min(bound / (norm + 1e-6), 1)
    return {k: v * factor for k, v in g.items()}, norm


class Sgd:
    def __init__(self, lr, momentum=0, decay=0, nesterov=False, dampening=0):
        self.lr, self.momentum, self.decay, self.nesterov, self.dampening, self.m = lr, momentum, decay, nesterov, dampening, {}

    def __call__(self, name, w, g):
        g = g + self.decay * w
        if self.momentum:
            self.m[name] = self.momentum * self.m[name] + (1 - self.dampening) * g if name in self.m else g
            g = g + self.momentum * self.m[name] if self.nesterov else self.m[name]
        return w - self.lr * g


class Adam:
    def __init__(self, lr, decay=0, decoupled=False):
        self.lr, self.decay, self.decoupled, self.state = lr, decay, decoupled, {}

    def __call__(self, name, w, g):
        if self.decay and self.decoupled:
            w = w * (1 - self.lr * self.decay)
        elif self.decay:
            g = g + self.decay * w
        m, v, t = self.state.get(name, (0, 0, 0))
        m, v, t = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g, t + 1
        self.state[name] = m, v, t
        return w - self.lr * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)


class NAdam:
    def __init__(self, lr, decay, momentum_decay, decoupled=False):
        self.lr, self.decay, self.momentum_decay, self.decoupled, self.state = lr, decay, momentum_decay, decoupled, {}

    def __call__(self, name, w, g):
        w, g = (w * (1 - self.lr * self.decay), g) if self.decoupled else (w, g + self.decay * w)
        m, v, product, t = self.state.get(name, (0, 0, 1, 0))
        m, v, t = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g, t + 1
        now, following = (0.9 * (1 - 0.5 * 0.96**(step * self.momentum_decay)) for step in (t, t + 1))
        product *= now
        self.state[name] = m, v, product, t
        direction = (1 - now) / (1 - product) * g + following / (1 - product * following) * m
        return w - self.lr * direction / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)


class Lion:
    def __init__(self, lr, decay):
        self.lr, self.decay, self.m = lr, decay, {}

    def __call__(self, name, w, g):
        m = self.m.get(name, 0)
        self.m[name] = 0.9 * m + 0.1 * g
        return w * (1 - self.lr * self.decay) - self.lr * np.sign(0.5 * m + 0.5 * g)


class Lars:
    def __init__(self, lr, momentum, decay, trust, nesterov=False, adapts=True):
        self.lr, self.momentum, self.decay, self.trust, self.nesterov, self.adapts, self.m = lr, momentum, decay, trust, nesterov, adapts, {}

    def __call__(self, name, w, g):
        size, slope = np.sqrt((w * w).sum()), np.sqrt((g * g).sum())
        ratio = self.trust * size / (slope + self.decay * size + 1e-8) if self.adapts and size and slope else 1
        g = ratio * (g + self.decay * w)
        self.m[name] = self.momentum * self.m.get(name, 0) + g
        return w - self.lr * (g + self.momentum * self.m[name] if self.nesterov else self.m[name])


class Lamb:
    def __init__(self, lr, decay, adapts=True):
        self.lr, self.decay, self.adapts, self.state = lr, decay, adapts, {}

    def __call__(self, name, w, g):
        m, v, t = self.state.get(name, (0, 0, 0))
        m, v, t = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g, t + 1
        self.state[name] = m, v, t
        u = m / (1 - 0.9**t) / (np.sqrt(v / (1 - 0.999**t)) + 1e-6) + self.decay * w
        size, length = np.sqrt((w * w).sum()), np.sqrt((u * u).sum())
        return w - self.lr * (size / length if self.adapts and size and length else 1) * u


class Adafactor:
    def __init__(self, lr, decay):
        self.lr, self.decay, self.state = lr, decay, {}

    def __call__(self, name, w, g):
        t, *moments = self.state.get(name, (0, 0, 0))
        t += 1
        axes = (-1, -2) if g.ndim > 1 else ((), ())
        row, col = (old + t**-0.8 * ((g * g).mean(axis, keepdims=True) - old) for old, axis in zip(moments, axes))
        self.state[name] = t, row, col
        v = row * col / np.maximum(row.mean(-2, keepdims=True), 2.0**-23) if g.ndim > 1 else row
        u = g / np.sqrt(np.maximum(v, 2.0**-46))
        rms = lambda x: np.sqrt((x * x).sum() / max(x.size, 1))
        step = max(1e-3, rms(w)) * min(self.lr, t**-0.5) / max(1, rms(u))
        return w * (1 - self.lr * self.decay) - step * u


class RMSprop:
    def __init__(self, lr, decay, alpha, momentum=0, centered=False):
        self.lr, self.decay, self.alpha, self.momentum, self.centered, self.state = lr, decay, alpha, momentum, centered, {}

    def __call__(self, name, w, g):
        g = g + self.decay * w
        s, a, m = self.state.get(name, (0, 0, 0))
        s, a = (self.alpha * old + (1 - self.alpha) * new for old, new in ((s, g * g), (a, g)))
        m = self.momentum * m + g / (np.sqrt(s - a * a if self.centered else s) + 0.25)
        self.state[name] = s, a, m
        return w - self.lr * m


def updates(work):
    """Tests parameter groups, clipping by norm and by value, and accumulation, together for each optimizer and alone for some."""
    linear = Linear(work)
    optimizers = {
        "sgd": (["--optimizer=sgd", "--lr=0.05"], lambda lr, wd: Sgd(0.05 * lr, decay=wd or 0)),
        "momentum": (["--optimizer=sgd", "--lr=0.05", "--momentum=0.9", "--weight-decay=0.1", "--dampening=0.2"],
                     lambda lr, wd: Sgd(0.05 * lr, 0.9, 0.1 if wd is None else wd, dampening=0.2)),
        "nesterov": (["--optimizer=sgd", "--lr=0.05", "--momentum=0.8", "--nesterov"], lambda lr, wd: Sgd(0.05 * lr, 0.8, wd or 0, True)),
        "adam": (["--optimizer=adam", "--lr=0.02", "--weight-decay=0.3"], lambda lr, wd: Adam(0.02 * lr, 0.3 if wd is None else wd)),
        "rmsprop": (["--optimizer=rmsprop,alpha=0.9", "--lr=0.05", "--eps=0.25", "--weight-decay=0.1"],
                    lambda lr, wd: RMSprop(0.05 * lr, 0.1 if wd is None else wd, 0.9)),
        "centered": (["--optimizer=rmsprop,alpha=0.5,centered=true", "--lr=0.05", "--eps=0.25", "--momentum=0.5"],
                     lambda lr, wd: RMSprop(0.05 * lr, wd or 0, 0.5, 0.5, True)),
        "nadam": (["--optimizer=nadam,momentum_decay=0.5", "--lr=0.02", "--weight-decay=0.3"],
                  lambda lr, wd: NAdam(0.02 * lr, 0.3 if wd is None else wd, 0.5)),
        "nadam-decoupled": (["--optimizer=nadam,decoupled_weight_decay=true", "--lr=0.02", "--weight-decay=0.3"],
                            lambda lr, wd: NAdam(0.02 * lr, 0.3 if wd is None else wd, 0.004, True)),
        "lion": (["--optimizer=lion", "--betas=0.5,0.9", "--lr=0.02", "--weight-decay=0.3"],
                 lambda lr, wd: Lion(0.02 * lr, 0.3 if wd is None else wd)),
        "lars": (["--optimizer=lars,trust_coefficient=0.05", "--lr=0.5", "--weight-decay=0.1"],
                 lambda lr, wd: Lars(0.5 * lr, 0.9, 0.1 if wd is None else wd, 0.05, adapts=wd != 0)),
        "lars-nesterov": (["--optimizer=lars,trust_coefficient=0.05,always_adapt=true", "--lr=0.5", "--momentum=0.5", "--nesterov"],
                          lambda lr, wd: Lars(0.5 * lr, 0.5, wd or 0, 0.05, True)),
        "lamb": (["--optimizer=lamb", "--lr=0.02", "--weight-decay=0.3"],
                 lambda lr, wd: Lamb(0.02 * lr, 0.3 if wd is None else wd, wd != 0)),
        "adafactor": (["--optimizer=adafactor", "--lr=0.3", "--weight-decay=0.1"],
                      lambda lr, wd: Adafactor(0.3 * lr, 0.1 if wd is None else wd)),
        "adamw": (["--optimizer=adamw", "--lr=0.02", "--weight-decay=0.3"], lambda lr, wd: Adam(0.02 * lr, 0.3 if wd is None else wd, True)),
    }
    count = clipped = 0
    together = ["--param-group=a$:lr=3,wd=0.5", "--clip-norm=1", "--accumulate=2"]
    alone = [["--param-group=\\.b$:lr=0.25,weight_decay=0"], ["--clip-norm=1.5"], ["--clip-value=0.2"], ["--accumulate=3"]]
    for name, (flags, make) in optimizers.items():
        # Optimizers with a trust ratio leave it out where a group has no decay.
        some = alone if name in ("sgd", "momentum", "nesterov", "adam", "adamw") else alone[:1] if name[:4] in ("lars", "lamb") else []
        for extra in ([], *some, together):
            option = lambda key, default: next((e.split("=", 1)[1] for e in extra if e.startswith(key + "=")), default)
            window = int(option("--accumulate", 1))
            state = linear.compiled(STEPS * window, *flags, *extra)
            group = option("--param-group", "")
            rules = {}
            for parameter in linear.start:
                lr, wd = 1.0, None
                if group and re.search(group.rsplit(":", 1)[0], parameter):
                    lr, wd = (0.25, 0.0) if parameter == "layer.b" else (3.0, 0.5)
                rules[parameter] = make(lr, wd)
            w = linear.weights()
            for step in range(STEPS):
                parts = [linear.gradient(w, step * window + i) for i in range(window)]
                g = {k: sum(p[k] for p in parts) / window for k in w}
                if bound := float(option("--clip-value", 0)):
                    clipped += any((np.abs(v) > bound).any() for v in g.values())
                    g = {k: np.clip(v, -bound, bound) for k, v in g.items()}
                if bound := float(option("--clip-norm", 0)):
                    g, norm = clip_norm(g, bound)
                    clipped += norm > bound
                w = {k: rules[k](k, w[k], g[k]) for k in w}
            for parameter in w:
                close(state[parameter], w[parameter], (name, extra, parameter))
            assert int(state["main/step"]) == STEPS
            count += 1
    assert clipped > 50, "the bounds are too wide to test anything"
    print(f"{count} programs")


class Gan:
    """The network fake = tanh(z g.w + g.b), whose scores are d(v) = v d.w + d.b, with least-squares losses (Mao et al. 2017)."""

    def __init__(self, work):
        rng = np.random.default_rng(9)
        self.start = {"g.w": rng.normal(0, 1, (3, 4)), "g.b": rng.normal(0, 1, 4), "d.w": rng.normal(0, 1, (4, 1)), "d.b": np.zeros(1)}
        self.start = {k: v.astype(np.float32) for k, v in self.start.items()}
        n = Network()
        n.input("z", [BATCH, 3])
        n.input("x", [BATCH, 4])
        for name, array in self.start.items():
            n.constant(name, array, np.float32)
        n.constant("one", np.ones(()), np.float32)
        n.node("Gemm", ["z", "g.w", "g.b"], "h")
        n.node("Tanh", ["h"], "fake")
        for name, source in (("real", "x"), ("fooled", "fake")):
            n.node("Gemm", [source, "d.w", "d.b"], f"{name}.score")
            n.node("Sub", [f"{name}.score", "one"], f"{name}.off")
            n.node("Mul", [f"{name}.off", f"{name}.off"], f"{name}.square")
            n.node("ReduceMean", [f"{name}.square"], f"{name}.loss", keepdims=0)
        n.node("Mul", ["fooled.score", "fooled.score"], "caught.square")
        n.node("ReduceMean", ["caught.square"], "caught.loss", keepdims=0)
        n.node("Add", ["real.loss", "caught.loss"], "d_loss")
        n.node("Identity", ["fooled.loss"], "g_loss")
        n.output("d_loss", [])
        n.output("g_loss", [])
        self.model = n.save(work + "/gan.onnx")
        self.data = work + "/gan.npz"
        self.z, self.x = rng.normal(0, 1, (BATCH * 12, 3)).astype(np.float32), rng.normal(0.5, 1, (BATCH * 12, 4)).astype(np.float32)
        np.savez(self.data, z=self.z, x=self.x)

    def losses(self, w, batch):
        """Returns (d_loss, its gradients of d.*), (g_loss, its gradients of g.*)."""
        z, x = (v[batch * BATCH:(batch + 1) * BATCH].astype(np.float64) for v in (self.z, self.x))
        fake = np.tanh(z @ w["g.w"] + w["g.b"])
        real, fooled = x @ w["d.w"] + w["d.b"], fake @ w["d.w"] + w["d.b"]
        r, f = 2 * (real - 1) / BATCH, 2 * fooled / BATCH
        d = {"d.w": x.T @ r + fake.T @ f, "d.b": r.sum(0) + f.sum(0)}
        h = (2 * (fooled - 1) / BATCH) @ w["d.w"].T * (1 - fake**2)
        g = {"g.w": z.T @ h, "g.b": h.sum(0)}
        return (((real - 1)**2).mean() + (fooled**2).mean(), d), (((fooled - 1)**2).mean(), g)


STEP_D = "--step=d:loss=output:d_loss:params=^d\\.:optimizer=sgd,lr=0.05,momentum=0.5"
STEP_G = "--step=g:loss=output:g_loss:params=^g\\.:optimizer=adam,lr=0.01"


def two_steps(work):
    """Trains with two optimizers in one program: each updates its own parameters, in order, with a scaler and a state of its own."""
    gan = Gan(work)
    program = compile(gan.model, work + "/gan", "--precision=fp32", STEP_D, STEP_G)
    log, state = train(program, gan.data, 10, work + "/gan-ckpt", "--no-shuffle", "--checkpoint-every", "1")
    w = {k: v.astype(np.float64) for k, v in gan.start.items()}
    rules = {"d": Sgd(0.05, 0.5), "g": Adam(0.01)}
    for step in range(10):
        for which, name in enumerate("dg"):
            # The second optimizer's step reads what the first one has updated.
            loss, gradients = gan.losses(w, step)[which]
            close(log[step]["steps"][name]["loss"], loss, (step, name))
            w.update({k: rules[name](k, w[k], g) for k, g in gradients.items()})
    for name in w:
        close(state[name], w[name], name)
    assert int(state["d/step"]) == int(state["g/step"]) == 10
    slots = {n for n in state if n[:2] in ("d.", "g.") and n.count("/")}
    assert {"d.w/momentum", "d.b/momentum"} <= slots and not any(n.startswith("g.") and n.endswith("/momentum") for n in slots), slots
    assert len(slots) == 6, slots  # two of sgd and four of adam

    # A resumed training continues both optimizers.
    for at in (1, 4):
        train(program, gan.data, at, work + "/gan-resumed", "--no-shuffle")
        assert same(train(program, gan.data, 10, work + "/gan-resumed", "--no-shuffle", "--resume")[1], state) == []

    # Each optimizer has a scaler of its own: the generator's first scales are too large for f16, and the discriminator's is not.
    program = compile(gan.model, work + "/gan16", "--precision=fp16", "--opt-level=O1", STEP_D + ":scaler=dynamic,init_scale=64",
                      STEP_G + ":scaler=dynamic,init_scale=1048576")
    log, state = train(program, gan.data, 10, work + "/gan16-ckpt", "--no-shuffle", "--checkpoint-every", "1")
    at = lambda step: checkpoint(f"{work}/gan16-ckpt/step-{step:08}.safetensors")
    d, g = ([line["steps"][name] for line in log] for name in "dg")
    skips = [line["skipped"] for line in g]
    assert not any(line["skipped"] for line in d) and all(line["scale"] == 64 for line in d)
    assert skips[0] and not skips[-1], skips
    assert [line["scale"] for line in g] == [2.0**(20 - sum(skips[:i])) for i in range(10)]
    assert int(state["g/skipped"]) == sum(skips) and int(state["d/skipped"]) == 0
    assert int(state["d/step"]) == 10 and int(state["g/step"]) == 10 - sum(skips)
    # While its steps are skipped, the generator stays as it is, moments included, and the discriminator learns.
    moved = set(same(at(1), at(sum(skips))))
    if sum(skips) > 1:
        assert "d.w" in moved and not any(n.startswith("g.") for n in moved), moved
    train(program, gan.data, 2, work + "/gan16-resumed", "--no-shuffle")
    assert same(train(program, gan.data, 10, work + "/gan16-resumed", "--no-shuffle", "--resume")[1], state) == []

    # Injected infinities reach both losses, so both steps are skipped.
    log, _ = train(program, gan.data, 10, work + "/gan16-inf", "--no-shuffle", "--inject-inf=9")
    assert log[8]["steps"]["d"]["skipped"] and log[8]["steps"]["g"]["skipped"]
    assert not log[9]["steps"]["d"]["skipped"] and log[8]["steps"]["d"]["scale"] == 64 and log[9]["steps"]["d"]["scale"] == 32
    print(f"generator skipped {sum(skips)} of 10")


def alternating(work):
    """The second of two optimizers runs on each K-th batch, also where it accumulates, and where the training is resumed in between."""
    gan = Gan(work)
    for every, window in ((3, 1), (2, 2)):
        program = compile(gan.model, f"{work}/gan-{every}", "--precision=fp32", STEP_D, f"{STEP_G}:every={every}", f"--accumulate={window}")
        log, state = train(program, gan.data, 10, f"{work}/gan-{every}-ckpt", "--no-shuffle")
        w = {k: v.astype(np.float64) for k, v in gan.start.items()}
        rules, sums, newest = {"d": Sgd(0.05, 0.5), "g": Adam(0.01)}, {}, {}
        for step in range(10):
            for which, (name, K) in enumerate((("d", 1), ("g", every))):
                said = log[step]["steps"][name]
                if (step + 1) % K == 0:
                    newest[name], gradients = gan.losses(w, step)[which]
                    runs = (step + 1) // K
                    sums.update({k: g + (sums[k] if (runs - 1) % window else 0) for k, g in gradients.items()})
                    if runs % window == 0:
                        w.update({k: rules[name](k, w[k], sums[k] / window) for k in gradients})
                # The log repeats what the last run said. Before the first one it has nothing to say.
                if name in newest:
                    close(said["loss"], newest[name], (every, step, name))
                else:
                    assert said == {}, said
        for name in w:
            close(state[name], w[name], name)
        assert int(state["d/step"]) == 10 // window and int(state["g/step"]) == 10 // every // window, state
        for at in (1, 3, 4):
            train(program, gan.data, at, f"{work}/gan-{every}-resumed-{at}", "--no-shuffle")
            assert same(train(program, gan.data, 10, f"{work}/gan-{every}-resumed-{at}", "--no-shuffle", "--resume")[1], state) == []
        if every == 3:  # another program goes on with no training that left out other batches
            other = compile(gan.model, f"{work}/gan-1", "--precision=fp32", STEP_D, STEP_G, f"--accumulate={window}")
            for resuming, found, own in ((other, "1,3", "1,1"), (program, "1,1", "1,3")):
                folder = f"{work}/gan-{found}-other"
                train(program if resuming is other else other, gan.data, 3, folder, "--no-shuffle")
                said = subprocess.run([resuming, "train", "--data", gan.data, "--steps=10", "--checkpoint-dir", folder, "--resume"], capture_output=True, text=True)
                assert said.returncode == 1 and f"with K = {found}; this program's is {own}" in said.stderr, said.stderr
        said = subprocess.run([program, "trace", "--data", gan.data, f"--steps={every - 1}", "--out", f"{work}/short.npz"], capture_output=True, text=True)
        assert said.returncode == 1 and f"ends before 'g' runs for the first time, at step {every}" in said.stderr, said.stderr
        traced = trace(program, gan.data, 4, f"{work}/gan-{every}.trace.npz")
        assert {k for k in traced if k.startswith("grad/")} == {f"grad/{k}" for k in gan.start}
        assert [bool(np.isnan(x)) for x in traced["loss/g"]] == [(i + 1) % every != 0 for i in range(4)], traced["loss/g"]


def shared_noise(work):
    """All steps of a batch draw the same random numbers, those of the only step of a program with one; each batch has other ones."""
    n = Network()
    n.input("x", [BATCH, 5])
    n.node("RandomNormalLike", ["x"], "noise")
    for name in "ab":
        n.constant(name, np.ones(1), np.float32)
        n.node("ReduceMean", [n.node("Mul", ["noise", name], f"{name}.noise")], f"{name}.loss", keepdims=0)
        n.output(f"{name}.loss", [])
    n.save(work + "/noise.onnx")
    np.savez(work + "/noise.npz", x=np.zeros((BATCH * 4, 5), np.float32))
    a, b = (f"--step=step_{name}:loss=output:{name}.loss:params=^{name}$:optimizer=sgd,lr=0" for name in "ab")
    losses = []
    for steps in ((a, b), (a, b + ":every=2"), (b, a), (a,)):
        log, _ = train(compile(work + "/noise.onnx", work + "/noise", "--trainable=^[ab]$", *steps), work + "/noise.npz", 6, work + "/noise-ckpt")
        losses += [[line["steps"][name]["loss"] for line in log if line["steps"][name]] for name in ("step_a", "step_b")] if len(steps) > 1 else [[line["loss"] for line in log]]
    assert len(set(losses[0])) == 6, losses
    each = [losses[0][i] for i in (1, 1, 3, 3, 5)]  # the log repeats the last run
    assert losses[3] == each and all(found == losses[0] for i, found in enumerate(losses) if i != 3), losses


def gan_reference(work, shared):
    """Trains generator and discriminator of dcgan_GD_bce as steps of their own. Whichever comes first has the reference's gradients."""
    folder = os.path.join(shared, "gradref")
    reference = np.load(os.path.join(folder, "ref_dcgan_GD_bce.npz"))
    np.savez(work + "/dcgan.npz", **{k[3:]: reference[k] for k in reference.files if k.startswith("in_")})
    steps = {"d": "--step=d:params=^d\\.:optimizer=adam,lr=0.001", "g": "--step=g:params=^g\\.:optimizer=sgd,lr=0.02"}
    for order, precision, bound in (("dg", "fp32", 1e-4), ("gd", "fp32", 1e-4), ("dg", "fp16", 6e-2), ("gd", "fp16", 6e-2)):
        scale = ["--loss-scale=1024"] if precision == "fp16" else []
        program = compile(os.path.join(folder, "ref_dcgan_GD_bce.onnx"), work + "/dcgan", f"--precision={precision}", "--loss=output:loss",
                          *(steps[name] for name in order), *scale)
        result = trace(program, work + "/dcgan.npz", 3, work + "/dcgan.out.npz")
        first = [k for k in reference.files if k.startswith(f"grad/{order[0]}.")]
        assert len(first) in (8, 10), first
        assert {k[5:] for k in result if k.startswith("grad/")} == {k[5:] for k in reference.files if k.startswith("grad/")}
        join = lambda source: np.concatenate([source[k].astype(np.float64).ravel() for k in first])
        error = np.linalg.norm(join(result) - join(reference)) / np.linalg.norm(join(reference))
        if precision == "fp32":
            for k in first:
                each = np.linalg.norm(result[k] - reference[k].astype(np.float64)) / np.linalg.norm(reference[k])
                assert each <= bound or np.abs(reference[k]).max() < 2e-6, (k, each)
            assert abs(result[f"loss/{order[0]}"][0] / float(reference["loss0"]) - 1) <= 1e-6
        assert error <= bound, (order, precision, error)
        # The second step's loss is computed after the first step's update, which lowers it; the training goes on.
        assert result[f"loss/{order[1]}"][0] < result[f"loss/{order[0]}"][0] and result["loss"][2] < result["loss"][0], result["loss"]
        print(f"{order} {precision}: gradients to {error:.1e}")


def main():
    work, *names = sys.argv[1:]
    shared = None
    if "--shared" in names:
        at = names.index("--shared")
        shared = names[at + 1]
        del names[at:at + 2]
    os.makedirs(work, exist_ok=True)
    for name in names:
        globals()[name](*([work, shared] if name == "gan_reference" else [work]))


if __name__ == "__main__":
    main()
