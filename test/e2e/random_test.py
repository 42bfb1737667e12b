#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random numbers of compiled programs: they are a function of seed, step and node, and are compared with numpy's; dropout that a model composes of random ops;
which ops stay random in predict."""
import json
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import harness  # noqa: E402
from models import Graph  # noqa: E402

SAMPLES, BATCH, WIDTH = 10, 4, 6


def philox(counter, key):
    """Computes Philox4x32-10 (Salmon et al. 2011)."""
    c, k = list(counter), list(key)
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b & 0xFFFFFFFF, (a >> 32) ^ c[3] ^ k[1], a & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


def words(count, seed, step, salt):
    blocks = [philox([i, salt, step & 0xFFFFFFFF, step >> 32], [seed & 0xFFFFFFFF, seed >> 32]) for i in range((count + 3) // 4)]
    return np.array(blocks, np.uint64).reshape(-1)


def uniform(shape, seed, step, salt):
    """Returns uniform numbers, made of 24 bits of each word."""
    count = int(np.prod(shape))
    return ((words(count, seed, step, salt)[:count] >> np.uint64(8)) * 2.0**-24).astype(np.float32).reshape(shape)


def normal(shape, seed, step, salt):
    """Returns normal numbers by Box and Muller's transform of each pair of words."""
    count = int(np.prod(shape))
    w = words(count, seed, step, salt).astype(np.float64)
    radius, angle = np.sqrt(-2 * np.log((w[0::2] + 1) * 2.0**-32)), 2 * np.pi * w[1::2] * 2.0**-32
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1).reshape(-1)[:count].astype(np.float32).reshape(shape)


def mpc(folder, *arguments):
    return harness.must([OPTIONS.bin + "/mpc", *arguments], cwd=folder)


def compiled(folder, g, *options):
    g.save(f"{folder}/model.onnx")
    mpc(folder, "compile", "model.onnx", "-o", "program", "-q", "--cpu=x86-64-v3", "--precision=fp32", f"--batch={BATCH}", *options)
    return f"{folder}/program"


def data(folder, samples=SAMPLES):
    rng = np.random.default_rng(1)
    x, t = rng.normal(0, 1, (samples, WIDTH)).astype(np.float32), rng.normal(0, 1, (samples, WIDTH)).astype(np.float32)
    np.savez(f"{folder}/data.npz", x=x, t=t)
    return x, t


def noisy():
    """Makes y = (x + normal) W. The first node is the one that draws, so its stream is 0."""
    g = Graph(opset=15)
    x = g.input("x", ["N", WIDTH])
    g.node("RandomNormalLike", [x], "noise", scale=0.5, mean=0.25)
    g.node("Gemm", [g.node("Add", [x, "noise"], "sum"), g.constant("W", np.eye(WIDTH, dtype=np.float32)), g.constant("b", np.zeros(WIDTH, np.float32))], "y")
    return g.output("y", ["N", WIDTH])


def losses(program, folder, name, seed, *arguments):
    harness.must([program, "train", "--data", "data.npz", "--steps", "3", "--lr", "0", "--no-shuffle", "--seed", str(seed), "--log", f"{name}.jsonl", "--log-every", "1", *arguments], cwd=folder)
    return [line["loss"] for line in map(json.loads, open(f"{folder}/{name}.jsonl")) if "loss" in line]


def steps():
    """Every step draws fresh numbers, which are the same for the same seed, on the host and on an emulated GPU, and equal numpy's."""
    with harness.folder() as folder:
        x, t = data(folder, BATCH)
        program = compiled(folder, noisy(), "--loss=mse:y:t", "--target=host,sm_80,emulator")
        expected = lambda seed: [np.mean((x + np.float32(0.5) * normal(x.shape, seed, step, 0) + np.float32(0.25) - t) ** 2) for step in range(3)]
        for name, seed, *device in (("host", 7), ("again", 7), ("another", 8), ("emulator", 7, "--device=emulator")):
            found = losses(program, folder, name, seed, *device)
            if not np.allclose(found, expected(seed), rtol=1e-6):  # the loss is a mean of 24 f32 numbers
                raise harness.Failure(f"{name}: losses {found}, not {expected(seed)}")


def validated():
    """Validation between the steps draws numbers of its own: a training with it has the losses of one without it."""
    with harness.folder() as folder:
        data(folder, BATCH)  # one step an epoch, so that each step follows a validation
        program = compiled(folder, noisy(), "--loss=mse:y:t")
        alone, beside = losses(program, folder, "alone", 7), losses(program, folder, "beside", 7, "--val", "data.npz")
        lines = [json.loads(line) for line in open(f"{folder}/beside.jsonl")]
        if alone != beside or len(alone) != 3 or sum("val_loss" in line for line in lines) < 2:
            raise harness.Failure(f"losses {alone}, with validation {beside}; {lines}")


def stays(op, drawn, **attributes):
    """predict draws for each batch. The numbers are the same in every run and differ from those of every training step."""
    def case():
        with harness.folder() as folder:
            x, _ = data(folder)
            g = Graph(opset=15)
            g.node("Gemm", [g.input("x", ["N", WIDTH]), g.weight("W", (WIDTH, WIDTH))], "y", transB=1)
            g.node(op, ["x"], "noise", **attributes)
            g.node("Add", ["x", "noise"], "z")
            program = compiled(folder, g.output("y", ["N", WIDTH]).output("z", ["N", WIDTH]), "--loss=mse:y:t")
            found = []
            for name in ("a", "b"):
                harness.must([program, "predict", "--data", "data.npz", "--out", f"{name}.npz"], cwd=folder)
                found.append(np.load(f"{folder}/{name}.npz")["z"])
            batches = -(-SAMPLES // BATCH)
            wanted = x + np.concatenate([drawn((BATCH, WIDTH), 0, (i + 1) << 32, 1) for i in range(batches)])[:SAMPLES]
            if not np.array_equal(*found) or not np.array_equal(found[0], wanted):
                raise harness.Failure(f"predicted {found}, not {wanted}")
    return case


def masked(g, x, form, keep=0.8):
    """Returns x with whole samples dropped, as exporters write stochastic depth."""
    like = g.node("ConstantOfShape", [g.node("Concat", [g.node("Shape", [x], "shape", end=1), g.constant("ones", np.int64([1]))], "rows", axis=0)], "like")
    p = g.constant("keep", np.float32(keep))
    if form == "floor":
        mask = g.node("Floor", [g.node("Add", [g.node("RandomUniformLike", [like], "u"), p], "u+keep")], "mask")
        return g.node("Mul", [g.node("Div", [x, p], "scaled"), mask], "dropped")
    if form == "bernoulli":
        mask = g.node("Bernoulli", [g.node("Expand", [p, "rows"], "p")], "mask")
    else:
        mask = g.node("CastLike", [g.node("Less", [g.node("RandomUniformLike", [like], "u"), p], "below"), x], "mask")
    return g.node("Mul", [x, g.node("Div", [mask, p], "scale")], "dropped")


def depth(form):
    """Training drops whole samples by the numbers of the mask's node; eval, predict and the exported model drop none."""
    def case():
        with harness.folder() as folder:
            x, t = data(folder, BATCH)
            g = Graph(opset=15)
            y = masked(g, g.input("x", ["N", WIDTH]), form)
            draws = [node.output[0] for node in g.nodes].index("mask" if form == "bernoulli" else "u")
            g.node("Gemm", [y, g.constant("W", np.eye(WIDTH, dtype=np.float32)), g.constant("b", np.zeros(WIDTH, np.float32))], "y")
            program = compiled(folder, g.output("y", ["N", WIDTH]), "--loss=mse:y:t")
            masks = [words(BATCH, 5, step, draws)[:BATCH, None] * 2.0**-32 >= 1 - np.float64(np.float32(0.8)) for step in range(3)]
            wanted = [np.mean((x * mask / np.float32(0.8) - t) ** 2) for mask in masks]
            found = losses(program, folder, "log", 5, "--checkpoint-dir", "checkpoints")
            if not np.allclose(found, wanted, rtol=1e-5) or all(mask.all() for mask in masks):
                raise harness.Failure(f"losses {found}, not {wanted}; masks {masks}")
            if (loss := json.loads(harness.must([program, "eval", "--data", "data.npz", "--json"], cwd=folder))["loss"]) and not np.isclose(loss, np.mean((x - t) ** 2), rtol=1e-5):
                raise harness.Failure(f"eval says {loss}, not {np.mean((x - t) ** 2)}")
            harness.must([program, "predict", "--data", "data.npz", "--out", "predicted.npz"], cwd=folder)
            mpc(folder, "export", "model.onnx", "--checkpoint", "checkpoints/step-00000003.safetensors", "-o", "out.onnx")
            mpc(folder, "run", "out.onnx", "--data", "data.npz", "--out", "run.npz")
            for name in ("predicted", "run"):
                if not np.allclose(np.load(f"{folder}/{name}.npz")["y"], x, rtol=1e-6):
                    raise harness.Failure(f"{name} drops")
            status, _, err = harness.run([OPTIONS.bin + "/mpc", "run", "model.onnx", "--data", "data.npz", "--out", "other.npz"], cwd=folder)
            if status != 1 or "mpc export MODEL --inference" not in err:
                raise harness.Failure(f"mpc run of the training form: status {status}, {err}")
    return case


def distributions():
    """Checks a forward run: its moments and the frequencies of its classes are within five standard deviations."""
    with harness.folder() as folder:
        n, weights = 1 << 16, np.array([0.1, 0, 0.6, 0.3])
        g = Graph(opset=15)
        g.input("x", [1, 4])
        g.node("RandomNormal", [], "z", shape=[n])
        g.node("RandomUniform", [], "u", shape=[n], low=-2.0, high=4.0)
        g.node("Bernoulli", [g.node("Expand", [g.constant("p", np.float32(0.3)), g.constant("n", np.int64([n]))], "ps")], "b", dtype=7)
        g.node("Multinomial", ["x"], "classes", sample_size=n)
        g.output("z", [n]).output("u", [n]).output("b", [n], 7).output("classes", [1, n], 6).save(f"{folder}/model.onnx")
        with np.errstate(divide="ignore"):
            np.savez(f"{folder}/data.npz", x=np.log(weights * 7)[None].astype(np.float32))  # weights that do not sum to one
        mpc(folder, "run", "model.onnx", "--data", "data.npz", "--out", "out.npz")
        out = np.load(f"{folder}/out.npz")
        z, u = out["z"].astype(np.float64), (out["u"].astype(np.float64) + 2) / 6
        for what, values, mean, deviation in (("z", z, 0, 1), ("z^2", z**2, 1, 2**0.5), ("z^4", z**4, 3, 96**0.5), ("u", u, 1 / 2, 12**-0.5), ("u^2", u**2, 1 / 3, (4 / 45) ** 0.5),
                                              ("b", out["b"], 0.3, 0.21**0.5), ("neighbours", z[::2] * z[1::2], 0, 1), ("next pairs", z[1:-1:2] * z[2::2], 0, 1)):
            if abs(values.mean() - mean) > 5 * deviation / len(values) ** 0.5:
                raise harness.Failure(f"the mean of {what} is {values.mean()}, not {mean}")
        counts = np.bincount(out["classes"].reshape(-1), minlength=4)
        if len(counts) != 4 or counts[1] or (abs(counts / n - weights) > 5 * (weights * (1 - weights) / n) ** 0.5).any():
            raise harness.Failure(f"classes come {counts} times of {n}")


CASES = {"random/steps": steps, "random/validated": validated, "random/predict-uniform": stays("RandomUniformLike", uniform), "random/predict-normal": stays("RandomNormalLike", normal),
         **{f"random/depth-{form}": depth(form) for form in ("less", "floor", "bernoulli")}, "random/distributions": distributions}

if __name__ == "__main__":
    OPTIONS = harness.arguments(__doc__)
    harness.main(list(CASES.items()), OPTIONS.only)
