#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The CTC loss and its gradient against float64: of few frames, the sum over all paths that there are; of many frames, numbers that torch.nn.functional.ctc_loss gave for the same
data. Targets that no path spells, options, evaluation, decoding and its error rate, emulated GPUs, and what is refused.

The bounds: fp32 adds some ten logarithms for each frame, with errors of 1e-7 each; fp16 and bf16 round the scores, which are below 4, to 2e-3 and 2e-2.
"""
import itertools
import json
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


def compiled(folder, graph, loss, *options):
    graph.save(f"{folder}/m.onnx")
    return harness.must([OPTIONS.bin + "/mpc", "compile", "m.onnx", "--loss=" + loss, "--cpu=x86-64-v3", "--optimizer=sgd", "--lr=0", "-o", "m", *options], cwd=folder)


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


def agrees(options, seed, blank=0, reduction="mean", time_first=False, possible=False, activation="", precision="fp32", bound=1e-5, target="host"):
    """The loss of all samples in one batch, and the gradient of each, are those of the sum over all paths."""
    def run():
        with harness.folder() as folder:
            x, targets, frames, lengths = random_cases(seed, blank, possible)
            save(folder, x, targets, frames, lengths)
            losses, gradients = every_path(x, targets, frames, lengths, blank)
            if not possible and not 20 < np.isinf(losses).sum() < 180:
                raise harness.Failure("the cases do not have both kinds")
            weights = 1 / np.maximum(lengths, 1) / SAMPLES if reduction == "mean" else np.ones(SAMPLES)
            losses = np.where(np.isinf(losses), 0, losses * weights)
            compiled(folder, network([SAMPLES, FRAMES, CLASSES], time_first, activation), LOSS + f",max_target={LONGEST}" + options, "-q", "--precision=" + precision,
                     "--target=" + (target if target == "host" else target + ",emulator"))
            trace = traced(folder, 2, "--device", "host" if target == "host" else "emulator")
            expect("the loss", trace["loss"][0], losses.sum(), bound)
            expect("gradients", trace["grad/p"], gradients * weights[:, None, None], bound * weights.max())
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


def refused(what, says, option="", integers=np.int64):
    """Data that change one thing are an error that names sample and value."""
    def run():
        with harness.folder() as folder:
            x, targets, frames, lengths = (a[:8].copy() for a in random_cases(10, 0, possible=True))
            targets[:, :], lengths[:], frames[:] = [1, 2, 1, 2], 3, 4
            compiled(folder, network([4, FRAMES, CLASSES]), LOSS + f",max_target={LONGEST}" + option, "-q")
            save(folder, x, targets.astype(integers), frames, lengths)
            traced(folder, 1)
            what(targets, frames, lengths)
            save(folder, x, targets.astype(integers), frames, lengths)
            for command in (["trace", "--steps", "1", "--out", "t.npz"], ["train", "--epochs", "1"], ["eval"]):
                status, _, error = harness.run(["./m", *command, "--data", "data.npz"], cwd=folder)
                if says is None and status == 0:
                    continue
                if says is None or status != 1 or says not in error or "hint: " not in error:
                    raise harness.Failure(f"{command[0]}: status {status} without '{says}': {error}")
    return run


def at(array, index, value):
    """Returns a function that changes an element of the targets (0), the frames (1) or the lengths (2)."""
    def change(*arrays):
        arrays[array][index] = value
    return change


def decoded():
    """What predict reads in the scores, against numpy: over samples that fill no whole batch, and with and without lengths."""
    with harness.folder() as folder:
        x, targets, frames, lengths = (a[:30] for a in random_cases(13, 1, possible=True))
        save(folder, x, targets, frames, lengths)
        for loss, counts in ((LOSS, frames), (LOSS.replace(":frames:", "::"), np.full(30, FRAMES))):
            compiled(folder, network([4, FRAMES, CLASSES]), loss + f",max_target={LONGEST},blank=1", "-q", "--precision=fp32")
            harness.must(["./m", "predict", "--data", "data.npz", "--out", "p.npz"], cwd=folder)
            got = np.load(f"{folder}/p.npz")
            read = [spelled(row[:count].argmax(1).tolist(), 1) for row, count in zip(x, counts)]
            if got["decoded_length"].tolist() != [len(row) for row in read] or got["decoded"].tolist() != [list(row) + [-1] * (FRAMES - len(row)) for row in read]:
                raise harness.Failure(f"decoded {got['decoded'].tolist()} of lengths {got['decoded_length'].tolist()}, expected {read}")


def distance(read, target):
    """Levenshtein's distance by its definition."""
    table = np.zeros((len(read) + 1, len(target) + 1), int)
    table[:, 0], table[0] = np.arange(len(read) + 1), np.arange(len(target) + 1)
    for i, j in itertools.product(range(len(read)), range(len(target))):
        table[i + 1, j + 1] = min(table[i, j + 1] + 1, table[i + 1, j] + 1, table[i, j] + (read[i] != target[j]))
    return int(table[-1, -1])


def error_rate(blank=0, time_first=False, integers=np.int64, precision="fp32", target="host", loss=LOSS, metric=()):
    """eval's text and JSON, and the lines and the log of a training, against numpy: over all samples, in batches of which the last one is not full."""
    def run():
        with harness.folder() as folder:
            x, targets, frames, lengths = random_cases(14, blank, possible=True)
            x = x.astype(np.float16).astype(np.float32)  # exact in every precision
            counts = frames if ":frames:" in loss else np.full(SAMPLES, FRAMES)
            save(folder, x, targets.astype(integers), frames.astype(integers), lengths.astype(integers))
            compiled(folder, network([24, FRAMES, CLASSES], time_first), f"{loss},max_target={LONGEST},blank={blank}", "-q", "--precision=" + precision,
                     "--target=" + (target if target == "host" else target + ",emulator"), *metric)
            read = [spelled(row[:count].argmax(1).tolist(), blank) for row, count in zip(x, counts)]
            errors, total = sum(distance(a, b[:count]) for a, b, count in zip(read, targets.tolist(), lengths)), int(lengths.sum())
            if not 0.2 * total < errors < 2 * total:
                raise harness.Failure(f"{errors} errors of {total} labels say little")
            device = ["--device", "host" if target == "host" else "emulator"]
            found = json.loads(harness.must(["./m", "eval", "--data", "data.npz", "--json", *device], cwd=folder))
            expect("eval's JSON", [found["token_error_rate"], found["token_error_rate_errors"], found["token_error_rate_counted"]], [errors / total, errors, total], 1e-8)
            line = f"token_error_rate: {errors / total:.6g} ({errors}/{total})\n"
            said = harness.must(["./m", "eval", "--data", "data.npz", *device], cwd=folder)
            if line not in said:
                raise harness.Failure(f"'{line}' is not in {said}")
            if target != "host":
                return
            said = "".join(harness.run(["./m", "train", "--data", "data.npz", "--val", "data.npz", "--epochs", "1", "--log", "log.jsonl"], cwd=folder)[1:])
            if line.strip().replace(":", "") not in said:
                raise harness.Failure(f"'{line.strip()}' is not in {said}")
            logged = [row for row in map(json.loads, open(f"{folder}/log.jsonl")) if "val_samples" in row]
            expect("the log", [row["token_error_rate"] for row in logged], [errors / total], 1e-8)
    return run


def undecided():
    """A frame with a score that is NaN reads no label, but counts as one that is wrong; one behind a sample's last frame is not read."""
    with harness.folder() as folder:
        # The network has 1e30 times 1e30, which is infinite, minus itself.
        g = Graph()
        g.parameter("p", (CLASSES,), value=1e30)
        y = g.node("Mul", [g.input("x", [2, FRAMES, CLASSES]), "p"], "scaled")
        g.node("Sub", [y, g.node("Mul", [y, g.constant("one", np.float32(1))], "again")], "difference")
        g.node("Add", ["difference", "x"], "logits")
        g.output("logits", [2, FRAMES, CLASSES])
        x = np.zeros((3, FRAMES, CLASSES), np.float32)
        for n, row in enumerate(([1, 1, 0, 2, 3], [2, 0, 0, 0, 0], [0, 0, 0, 0, 0])):
            x[n, range(FRAMES), row] = 1
        x[0, 4, 1] = x[1, 4, 1] = 1e30
        save(folder, x, np.array([[1, 2, 3, 3], [3, 1, 1, 1], [1, 1, 1, 1]]), np.array([5, 4, 5]), np.array([3, 1, 0]))
        compiled(folder, g, LOSS + f",max_target={LONGEST}", "-q", "--precision=fp32", "--trainable=^p$")
        said = harness.must(["./m", "eval", "--data", "data.npz"], cwd=folder)
        if "token_error_rate: 0.5 (2/4; 1 with NaN scores)\n" not in said:
            raise harness.Failure(said)
        save(folder, x, np.ones((3, 4), int), np.array([5, 4, 5]), np.zeros(3, int))
        found = json.loads(harness.must(["./m", "eval", "--data", "data.npz", "--json"], cwd=folder))
        if found["token_error_rate"] is not None or found["token_error_rate_errors"] != 4 or found["token_error_rate_counted"] != 0:
            raise harness.Failure(f"targets without labels have the rate {found}")


def announced():
    """What the data hold is said beforehand."""
    with harness.folder() as folder:
        said = compiled(folder, network([4, FRAMES, CLASSES]), LOSS + f",max_target={LONGEST},blank=3")
        for line in ("data: target int64 [samples,4], as many classes 0 to 3 as 'length' says, without the blank 3", "data: frames int64 [samples], lengths 0 to 5",
                     "data: length int64 [samples], lengths 0 to 4"):
            if line + "\n" not in said:
                raise harness.Failure(f"'{line}' is not in {said}")


CASES = {
    "mean": agrees(",zero_infinity", 1),
    "sum": agrees(",zero_infinity=true,reduction=sum", 2, reduction="sum"),
    "time first": agrees(",zero_infinity", 3, time_first=True),
    "another blank": agrees(",zero_infinity,blank=2", 4, blank=2),
    "the last class is the blank": agrees(",blank=3,reduction=sum", 5, blank=3, reduction="sum", possible=True),
    "behind the network's LogSoftmax": agrees("", 7, possible=True, activation="LogSoftmax"),
    "behind the network's Softmax": agrees("", 8, possible=True, activation="Softmax"),
    "many frames": many_frames,
    "fp32": spoken("fp32"),
    "fp16": spoken("fp16"),
    "bf16": spoken("bf16"),
    "fp32 sm_80": spoken("fp32", "sm_80"),
    "fp16 sm_90a": spoken("fp16", "sm_90a"),
    "evaluation": evaluated,
    "a negative label": refused(at(0, (5, 1), -1), "target: sample 5, element 1 has label -1, not in [0, 4)"),
    "a large label": refused(at(0, (5, 2), 4), "target: sample 5, element 2 has label 4, not in [0, 4)", integers=np.int32),
    "the blank as a label": refused(at(0, (0, 0), 0), "target: sample 0, element 0 has label 0, which is the blank"),
    "labels behind the end": refused(at(0, (5, 3), 99), None),
    "a long target": refused(at(2, 6, 5), "length: sample 6 has length 5, not in [0, 5)"),
    "a negative length": refused(at(2, 6, -1), "length: sample 6 has length -1, not in [0, 5)"),
    "many frames of a sample": refused(at(1, 7, 6), "frames: sample 7 has length 6, not in [0, 6)"),
    "repeats without a frame between": refused(at(0, 4, 1), "target: sample 4 has 3 labels, which need 5 frames, and has 4"),
    "repeats that may cost 0": refused(at(0, 4, 1), None, option=",zero_infinity"),
    "few frames": refused(at(1, 3, 2), "target: sample 3 has 3 labels, which need 3 frames, and has 2"),
    "decoding": decoded,
    "error rate": error_rate(),
    "error rate, time first": error_rate(blank=2, time_first=True, integers=np.int32, metric=["--metric=token_error_rate"]),
    "error rate of all frames": error_rate(blank=3, loss=LOSS.replace(":frames:", "::")),
    "error rate fp16": error_rate(precision="fp16"),
    "error rate sm_80": error_rate(target="sm_80"),
    "error rate of NaN": undecided,
    "what is said of the data": announced,
}

if __name__ == "__main__":
    OPTIONS = harness.arguments(__doc__)
    PATHS = {}
    for count, blank in itertools.product(range(FRAMES + 1), (0, 2, 3)):
        PATHS[count, blank] = {}
        for path in itertools.product(range(CLASSES), repeat=count):
            PATHS[count, blank].setdefault(spelled(path, blank), []).append(path)
    harness.main([(f"ctc/{name}", case) for name, case in CASES.items()], OPTIONS.only)
