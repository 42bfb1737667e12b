#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The CTC loss and its gradient against float64: of few frames, the sum over all paths that there are; of many frames, numbers that torch.nn.functional.ctc_loss gave for the same
data. Targets that no path spells, options, evaluation, emulated GPUs, and what is refused.

The bounds: fp32 adds some ten logarithms for each frame, with errors of 1e-7 each; fp16 and bf16 round the scores, which are below 4, to 2e-3 and 2e-2.
"""
import itertools
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import harness  # noqa: E402
from models import Graph  # noqa: E402

SAMPLES, FRAMES, CLASSES, LONGEST = 200, 5, 4, 4
BOUNDS = {"fp32": 1e-5, "fp16": 4e-3, "bf16": 3e-2}
TORCH_LOSSES = [109.725223, 151.597497, 132.094663, 42.1948109, 4.42706685, 45.1546773]
TORCH_GRADIENTS = [-8.31180073, -2.68984505, 1.45026884, 4.21562082, -0.504882909, -0.596768206]
LOSS = "ctc:logits:target:frames:length"


def log_softmax(x):
    x = x - x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def spelled(path, blank):
    """Returns what a path spells: its runs without the blanks."""
    return tuple(label for label, _ in itertools.groupby(path) if label != blank)


def every_path(logits, targets, frames, lengths, blank):
    """Returns the losses [N], and their gradients [N, T, C], of scores [N, T, C] by listing the paths. A target that no path spells has the loss infinity and a gradient of 0."""
    losses, gradients = np.zeros(len(logits)), np.zeros(logits.shape)
    for n, (x, count) in enumerate(zip(log_softmax(logits.astype(np.float64)), frames)):
        target, total, visits = tuple(targets[n, :lengths[n]]), 0.0, np.zeros(x.shape)
        for path in PATHS[count, blank].get(target, []):
            probability = np.exp(sum(x[t, label] for t, label in enumerate(path)))
            total += probability
            for t, label in enumerate(path):
                visits[t, label] += probability
        losses[n] = -np.log(total) if total > 0 else np.inf
        if total > 0:
            gradients[n, :count] = (np.exp(x) - visits / total)[:count]
    return losses, gradients


def random_cases(seed, blank, possible=False):
    """Returns arrays with repeats, empty targets, targets that no path spells unless `possible`, and samples of 0 to FRAMES frames."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, 1.5, (SAMPLES, FRAMES, CLASSES)).astype(np.float32)
    labels = np.array([label for label in range(CLASSES) if label != blank])
    targets = labels[rng.integers(0, len(labels), (SAMPLES, LONGEST))]
    repeats = rng.random(SAMPLES) < 0.3
    targets[repeats] = targets[repeats, :1]
    lengths, frames = rng.integers(0, LONGEST + 1, SAMPLES), rng.integers(0, FRAMES + 1, SAMPLES)
    if possible:
        needed = lengths + [sum(a == b for a, b in zip(row[:count], row[1:count])) for row, count in zip(targets, lengths)]
        lengths = np.where(needed <= FRAMES, lengths, 1)
        frames = np.where(needed <= frames, frames, FRAMES)
    targets[np.arange(LONGEST) >= lengths[:, None]] = -7  # padding may be anything
    return logits, targets, frames, lengths


def network(shape, time_first=False, activation=""):
    """x + p -> logits, where p is 0: the gradient of p is that of the logits. With `time_first` the logits are [T, N, C]."""
    g = Graph()
    g.parameter("p", shape, value=0.0)
    y = g.node("Add", [g.input("x", shape), "p"], "sum")
    order = [shape[1], shape[0], shape[2]] if time_first else shape
    if time_first:
        y = g.node("Transpose", [y], "turned", perm=[1, 0, 2])
    if activation:
        y = g.node(activation, [y], "activation", axis=-1)
    g.node("Identity", [y], "logits")
    return g.output("logits", list(order))


def compiled(folder, graph, loss, *options, rate=0):
    graph.save(f"{folder}/m.onnx")
    return harness.must([OPTIONS.bin + "/mpc", "compile", "m.onnx", "--loss=" + loss, "--cpu=x86-64-v3", "--optimizer=sgd", f"--lr={rate}", "-o", "m", *options], cwd=folder)


def save(folder, x, targets, frames, lengths):
    np.savez(f"{folder}/data.npz", x=x, target=targets, frames=frames, length=lengths)


def traced(folder, steps, *options):
    harness.must(["./m", "trace", "--data", "data.npz", "--steps", str(steps), "--out", "t.npz", *options], cwd=folder, seconds=300)
    return np.load(f"{folder}/t.npz")


def expect(what, got, want, bound):
    """Compares in the unit of the bound: relative for what is above 1."""
    got, want = np.asarray(got, np.float64), np.asarray(want, np.float64)
    with np.errstate(invalid="ignore"):
        same = (got == want) | (np.abs(got - want) <= bound * np.maximum(1, np.abs(want)))
    if got.shape != want.shape or not same.all():
        at = np.argwhere(~same)[0] if got.shape == want.shape else ""
        raise harness.Failure(f"{what} {at}: {got[tuple(at)]}, expected {want[tuple(at)]}" if len(at) else f"{what} has shape {got.shape}, expected {want.shape}")


def agrees(options, seed, blank=0, reduction="mean", zero=True, time_first=False, possible=False, activation="", precision="fp32", bound=1e-5, target="host"):
    """The loss of all samples in one batch, and the gradient of each, are those of the sum over all paths."""
    def run():
        with harness.folder() as folder:
            x, targets, frames, lengths = random_cases(seed, blank, possible)
            save(folder, x, targets, frames, lengths)
            losses, gradients = every_path(x, targets, frames, lengths, blank)
            if not possible and not 20 < np.isinf(losses).sum() < 180:
                raise harness.Failure("the cases do not have both kinds")
            weights = 1 / np.maximum(lengths, 1) / SAMPLES if reduction == "mean" else np.ones(SAMPLES)
            losses = np.where(np.isinf(losses) & zero, 0, losses * weights)
            compiled(folder, network([SAMPLES, FRAMES, CLASSES], time_first, activation), LOSS + f",max_target={LONGEST}" + options, "-q", "--precision=" + precision,
                     "--target=" + (target if target == "host" else target + ",emulator"))
            trace = traced(folder, 2, "--device", "host" if target == "host" else "emulator")
            expect("the loss", trace["loss"][0], losses.sum(), bound)
            if np.isfinite(losses).all():
                expect("gradients", trace["grad/p"], gradients * weights[:, None, None], bound * weights.max())
            elif np.isfinite(trace["grad/p"]).all():
                raise harness.Failure("an infinite loss has finite gradients, so the step would count")
    return run


def spoken(precision, target="host"):
    """A network with a product, in the precision: loss, and the gradient of its weights."""
    def run():
        with harness.folder() as folder:
            features, samples = 8, 16
            rng = np.random.default_rng(11)
            x = rng.normal(0, 1, (SAMPLES, FRAMES, features)).astype(np.float32)
            _, targets, frames, lengths = random_cases(12, 0, possible=True)
            g = Graph(seed=4)
            w = g.parameter("w", (features, CLASSES), fan_in=features)
            g.node("MatMul", [g.input("x", [samples, FRAMES, features]), w], "logits")
            g.output("logits", [samples, FRAMES, CLASSES])
            save(folder, x, targets, frames, lengths)
            compiled(folder, g, LOSS + f",max_target={LONGEST}", "-q", "--precision=" + precision, "--target=" + (target if target == "host" else target + ",emulator"))
            trace = traced(folder, 1, "--device", "host" if target == "host" else "emulator")
            weight = trace["state/w"].astype(np.float64)  # the rate is 0
            losses, gradients = every_path(x[:samples] @ weight, targets, frames, lengths, 0)
            weights = 1 / np.maximum(lengths[:samples], 1) / samples
            want = np.einsum("ntf,ntc->fc", x[:samples].astype(np.float64), gradients * weights[:, None, None])
            expect("the loss", trace["loss"][0], (losses * weights).sum(), BOUNDS[precision])
            expect("the gradient", trace["grad/w"] / np.abs(want).max(), want / np.abs(want).max(), BOUNDS[precision])
    return run


def many_frames():
    """Losses of more frames and classes than paths can be listed for, against torch in float64."""
    samples, frames, classes, longest = 6, 61, 9, 14
    rng = np.random.default_rng(21)
    x = rng.normal(0, 2, (samples, frames, classes)).astype(np.float32)
    targets, direction = rng.integers(1, classes, (samples, longest)), rng.normal(0, 1, x.shape)
    targets[1] = 3
    lengths, counts = np.array([14, 14, 7, 0, 1, 10]), np.array([61, 60, 61, 12, 1, 25])
    with harness.folder() as folder:
        save(folder, x, targets, counts, lengths)
        compiled(folder, network([samples, frames, classes]), f"{LOSS},max_target={longest},reduction=sum", "-q", "--precision=fp32")
        trace = traced(folder, 1)
        expect("the loss", trace["loss"][0], np.sum(TORCH_LOSSES), 1e-5)
        # Sums of some 500 products of a gradient below 1 and a number below 4.
        expect("the gradients", (trace["grad/p"] * direction).sum((1, 2)), TORCH_GRADIENTS, 1e-4)


def evaluated():
    """The mean over all samples, in batches of which the last one is not full."""
    with harness.folder() as folder:
        x, targets, frames, lengths = random_cases(9, 0)
        save(folder, x, targets, frames, lengths)
        compiled(folder, network([24, FRAMES, CLASSES]), LOSS + f",max_target={LONGEST},zero_infinity", "-q", "--precision=fp32")
        losses, _ = every_path(x, targets, frames, lengths, 0)
        said = harness.must(["./m", "eval", "--data", "data.npz"], cwd=folder)
        expect("the loss of eval", float(said.split("loss: ")[1].split()[0]), np.where(np.isinf(losses), 0, losses / np.maximum(lengths, 1)).mean(), 1e-5)


def skipped():
    """A step whose batch holds a target that no path spells changes nothing, unless such a target costs 0."""
    with harness.folder() as folder:
        x, targets, frames, lengths = (a[:4].copy() for a in random_cases(10, 0, possible=True))
        targets[2], lengths[2], frames[2] = 1, 4, 4  # repeats need blanks between them
        save(folder, x, targets, frames, lengths)
        for option, moves in (("", False), (",zero_infinity", True)):
            compiled(folder, network([4, FRAMES, CLASSES]), LOSS + f",max_target={LONGEST}" + option, "-q", rate=1)
            trace = traced(folder, 1)
            if bool(trace["skipped"][0]) == moves or bool(np.abs(trace["state/p"]).max() > 0) != moves:
                raise harness.Failure(f"'{option}': skipped {trace['skipped']}, parameters {trace['state/p']}")


CASES = {
    "mean": agrees(",zero_infinity", 1),
    "sum": agrees(",zero_infinity=true,reduction=sum", 2, reduction="sum"),
    "time first": agrees(",zero_infinity", 3, time_first=True),
    "another blank": agrees(",zero_infinity,blank=2", 4, blank=2),
    "the last class is the blank": agrees(",blank=3,reduction=sum", 5, blank=3, reduction="sum", possible=True),
    "infinite": agrees("", 6, zero=False),
    "behind the network's LogSoftmax": agrees("", 7, possible=True, activation="LogSoftmax"),
    "behind the network's Softmax": agrees("", 8, possible=True, activation="Softmax"),
    "many frames": many_frames,
    "fp32": spoken("fp32"),
    "fp16": spoken("fp16"),
    "bf16": spoken("bf16"),
    "fp32 sm_80": spoken("fp32", "sm_80"),
    "fp16 sm_90a": spoken("fp16", "sm_90a"),
    "evaluation": evaluated,
    "a skipped step": skipped,
}

if __name__ == "__main__":
    OPTIONS = harness.arguments(__doc__)
    PATHS = {}
    for count, blank in itertools.product(range(FRAMES + 1), (0, 2, 3)):
        PATHS[count, blank] = {}
        for path in itertools.product(range(CLASSES), repeat=count):
            PATHS[count, blank].setdefault(spelled(path, blank), []).append(path)
    harness.main([(f"ctc/{name}", case) for name, case in CASES.items()], OPTIONS.only)
