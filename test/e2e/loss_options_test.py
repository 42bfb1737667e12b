#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares classification losses of tokens and pixels in compiled programs with torch's formulas in float64: loss, gradient, evaluation and per-label
accuracy."""
import json
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import harness  # noqa: E402
from models import INT64, Graph  # noqa: E402

BATCH, SAMPLES, FEATURES, CLASSES = 4, 10, 5, 3
# f32 sums of some hundred products of order 1 are wrong by 2^-24 * 100, relative to their magnitude.
NEAR = {"rtol": 1e-5, "atol": 1e-6}


def check(true, *what):
    if not true:
        raise harness.Failure(" ".join(map(str, what)))


def cross_entropy(z, labels, ignore=-100, smoothing=0.0, weight=None, reduction="mean"):
    """Computes torch.nn.functional.cross_entropy of scores [..., C]; returns the loss and its gradient with respect to z."""
    z, labels = z.reshape(-1, z.shape[-1]), labels.reshape(-1)
    weight = np.ones(z.shape[1]) if weight is None else np.asarray(weight, np.float64)
    counts = labels != ignore
    safe = np.where(counts, labels, 0)
    logp = z - z.max(1, keepdims=True)
    logp -= np.log(np.exp(logp).sum(1, keepdims=True))
    # The loss of a label is the sum over classes of -share * logp.
    share = smoothing / z.shape[1] * weight + (1 - smoothing) * weight[safe][:, None] * np.eye(z.shape[1])[safe]
    share = share * counts[:, None]
    total = (weight[safe] * counts).sum() if reduction == "mean" else 1.0
    return -(share * logp).sum() / total, (share.sum(1, keepdims=True) * np.exp(logp) - share) / total


class Task:
    """A network that maps each token or pixel linearly to scores, with labels of which one in five is ignored."""

    def __init__(self, folder, shape, axis, ignore=-100, labels_input=False, classes=CLASSES):
        """`shape` is that of a sample's positions, and `axis` is where the network puts the classes."""
        self.folder, self.axis, self.ignore = folder, axis, ignore
        rng = np.random.default_rng(0)
        rank = len(shape) + 2
        order = list(range(rank - 1))
        order.insert(axis, rank - 1)
        g = Graph()
        g.node("MatMul", [g.input("x", [BATCH, *shape, FEATURES]), g.weight("w", (FEATURES, classes))], "product")
        if axis != rank - 1:
            g.node("Transpose", ["product"], "logits", perm=order)
        else:
            g.nodes[-1].output[0] = "logits"
        if labels_input:
            g.input("labels", [BATCH, *shape], INT64)
        scores = [BATCH, *shape]
        scores.insert(axis, classes)
        g.output("logits", scores).save(f"{folder}/model.onnx")
        self.w = np.frombuffer(g.proto().graph.initializer[0].raw_data, np.float32).reshape(FEATURES, classes).astype(np.float64)
        self.x = rng.normal(0, 1, (SAMPLES, *shape, FEATURES)).astype(np.float32)
        self.labels = rng.integers(0, classes, (SAMPLES, *shape))
        self.labels[rng.random(self.labels.shape) < 0.2] = ignore
        # No label of the first sample is ignored.
        self.labels[0] = np.arange(self.labels[0].size).reshape(self.labels[0].shape) % classes
        np.savez(f"{folder}/data.npz", x=self.x, labels=self.labels)

    def compile(self, options, fails=False):
        status, out, err = harness.run([OPTIONS.bin + "/mpc", "compile", "model.onnx", "-o", "program", "--cpu=x86-64-v3", "--precision=fp32", *options], cwd=self.folder)
        check(status == (1 if fails else 0), options, out, err)
        return err if fails else out

    def run(self, *arguments):
        return harness.must([f"{self.folder}/program", *arguments], cwd=self.folder)


def agrees(shape, axis, options="", labels_input=False, written="", **formula):
    """Makes a case. `written` is the part of the --loss option that is about the axis."""
    def case():
        with harness.folder() as folder:
            task = Task(folder, shape, axis, formula.get("ignore", -100), labels_input)
            loss = f"--loss=softmax_cross_entropy:logits:labels{written}{options}"
            task.compile([loss])
            task.run("trace", "--data", "data.npz", "--steps", "1", "--out", "trace.npz")
            traced = np.load(f"{folder}/trace.npz")
            x, labels = task.x[:BATCH].astype(np.float64), task.labels[:BATCH]
            expected, dz = cross_entropy(x @ task.w, labels, **formula)
            dw = x.reshape(-1, FEATURES).T @ dz
            check(np.allclose(traced["loss"][0], expected, **NEAR), "loss", traced["loss"][0], "not", expected)
            check(np.allclose(traced["grad/w"], dw, **NEAR), "gradient", traced["grad/w"], "not", dw)
            # All samples count as one large batch, although the last batch is not full.
            said = json.loads(task.run("eval", "--data", "data.npz", "--json"))
            z = task.x.astype(np.float64) @ task.w
            expected, _ = cross_entropy(z, task.labels, **formula)
            if formula.get("reduction") == "sum":
                expected /= SAMPLES / BATCH  # eval prints the mean over batches
            check(np.allclose(said["loss"], expected, **NEAR), "eval", said, "not", expected)
            counts = task.labels != task.ignore
            right = int(((z.argmax(-1) == task.labels) & counts).sum())
            check((said["accuracy_correct"], said["accuracy_counted"]) == (right, int(counts.sum())), "accuracy", said, "not", right, counts.sum())
            task.run("train", "--data", "data.npz", "--val", "data.npz", "--epochs", "1", "--log", "log.jsonl")
            line = json.loads(open(f"{folder}/log.jsonl").read().splitlines()[-1])
            check("accuracy" in line and line["counted"] == int(counts.sum()), "log", line)
    return case


def own_loss():
    """A network that computes the loss of its flattened tokens itself has the same accuracy."""
    with harness.folder() as folder:
        task = Task(folder, (6,), 2)
        g = Graph()
        g.node("MatMul", [g.input("x", [BATCH, 6, FEATURES]), g.constant("w", task.w.astype(np.float32))], "logits")
        g.node("Reshape", ["logits", g.constant("rows", np.array([-1, CLASSES]))], "flat")
        g.node("Reshape", [g.input("labels", [BATCH, 6], INT64), g.constant("all", np.array([-1]))], "flat.labels")
        g.node("SoftmaxCrossEntropyLoss", ["flat", "flat.labels"], "loss", ignore_index=-100)
        g.output("loss", []).save(f"{folder}/model.onnx")
        task.compile([])
        said = json.loads(task.run("eval", "--data", "data.npz", "--json"))
        counts = task.labels != -100
        right = int((((task.x.astype(np.float64) @ task.w).argmax(-1) == task.labels) & counts).sum())
        check((said["accuracy_correct"], said["accuracy_counted"]) == (right, int(counts.sum())), "accuracy", said)


def chosen_axis():
    """With as many tokens as classes the labels fit both dimensions. The rank of the logits decides, which mpc says. Where the labels are an input of the
    network, it is an error."""
    with harness.folder() as folder:
        task = Task(folder, (CLASSES,), 2)
        said = task.compile(["--loss=softmax_cross_entropy:logits:labels"])
        line = "assumed: --loss=softmax_cross_entropy:logits:labels,axis=2: the classes are dimension 2 of 'logits' [4,3,3], the labels 'labels' are [4,3]"
        check(line in said.splitlines(), "no line", line, "in", said)
        for axis in (2, 1):
            said = task.compile([f"--loss=softmax_cross_entropy:logits:labels,axis={axis}"])
            check("assumed: --loss=" not in said, "what was said is no assumption", said)
            task.run("trace", "--data", "data.npz", "--steps", "1", "--out", "trace.npz")
            z = np.moveaxis(task.x[:BATCH].astype(np.float64) @ task.w, axis, -1)
            expected, _ = cross_entropy(z, task.labels[:BATCH])
            check(np.allclose(np.load(f"{folder}/trace.npz")["loss"][0], expected, **NEAR), "axis", axis)
    with harness.folder() as folder:
        task = Task(folder, (CLASSES,), 2, labels_input=True)
        said = task.compile(["--loss=softmax_cross_entropy:logits:labels"], fails=True)
        for words in ("the labels 'labels' [4,3] fit the classes of 'logits' [4,3,3] along dimension 1 and along dimension 2",
                      "hint: say which: --loss=softmax_cross_entropy:logits:labels,axis=1 or --loss=softmax_cross_entropy:logits:labels,axis=2"):
            check(words in said, words, "not in", said)
        task.compile(["--loss=softmax_cross_entropy:logits:labels,axis=-1"])


def wrong_labels():
    """Labels that do not fit are refused with both shapes: the network's labels at compile time, and the data's labels when training starts."""
    with harness.folder() as folder:
        task = Task(folder, (6,), 2, labels_input=True)
        said = task.compile(["--loss=softmax_cross_entropy:logits:labels,axis=1"], fails=True)
        check("input 'labels' is tensor<4x6xi64>, but the labels of 'logits' [4,6,3] with its classes along dimension 1 should be tensor<4x3xi64>" in said, said)
        check("hint: the labels fit --loss=softmax_cross_entropy:logits:labels,axis=2" in said, said)
    with harness.folder() as folder:
        task = Task(folder, (6,), 2)
        task.compile(["--loss=softmax_cross_entropy:logits:labels,axis=1"])
        status, _, said = harness.run([f"{folder}/program", "train", "--data", "data.npz"], cwd=folder)
        check(status == 1 and "labels: has shape [10,6], but input 'labels' needs [samples,3]: the labels of 'logits' [samples,6,3] with its classes along dimension 1" in said, said)
        check("hint: they fit classes along dimension 2: compile with ,axis=2 at the end of --loss" in said, said)
        np.savez(f"{folder}/data.npz", x=task.x, labels=task.labels[:, :3] + 0.5)
        status, _, said = harness.run([f"{folder}/program", "train", "--data", "data.npz"], cwd=folder)
        check(status == 1 and "takes integers" in said and "--loss=mse:logits:labels or --loss=bce_with_logits:logits:labels" in said, said)


def weights_file():
    with harness.folder() as folder:
        task = Task(folder, (6,), 2)
        np.save(f"{folder}/w.npy", np.array([1, 2, 0.5], np.float32))
        losses = []
        for weight in ("w.npy", "1/2/0.5"):
            task.compile([f"--loss=softmax_cross_entropy:logits:labels,axis=2,weight={weight}"])
            task.run("trace", "--data", "data.npz", "--steps", "1", "--out", "trace.npz")
            losses.append(np.load(f"{folder}/trace.npz")["loss"][0])
        check(losses[0] == losses[1], "losses", losses)


def positives(option, weight, activation=None):
    """Compares bce_with_logits and its pos_weight with torch's formula: loss, gradient, and the loss of eval, whose last batch is not full."""
    def case():
        with harness.folder() as folder:
            rng = np.random.default_rng(2)
            x, w = rng.normal(0, 2, (SAMPLES, CLASSES)).astype(np.float32), np.array([0.5, -1, 2], np.float32)
            t = (rng.random((SAMPLES, CLASSES)) < 0.4).astype(np.float32)
            g = Graph()
            y = g.node("Mul", [g.input("x", ["N", CLASSES]), g.constant("w", w)], "scores" if activation else "y")
            if activation:
                g.node(activation, [y], "y")
            g.output("y", ["N", CLASSES]).save(f"{folder}/model.onnx")
            np.savez(f"{folder}/data.npz", x=x, t=t)
            np.save(f"{folder}/p.npy", np.array([1, 2.5, 0.25], np.float32))
            harness.must([OPTIONS.bin + "/mpc", "compile", "model.onnx", "-o", "program", "-q", "--cpu=x86-64-v3", "--precision=fp32", "--optimizer=sgd", "--trainable=^w$", f"--batch={BATCH}",
                          "--loss=bce_with_logits:y:t" + option], cwd=folder)

            def losses(n):
                z, one = x[:n].astype(np.float64) * w, t[:n]
                share = weight * one + 1 - one
                return share * np.log1p(np.exp(-z)) + (1 - one) * z, (1 - one - share / (1 + np.exp(z))) * x[:n]
            harness.must([f"{folder}/program", "trace", "--data", "data.npz", "--steps", "1", "--out", "trace.npz"], cwd=folder)
            trace = np.load(f"{folder}/trace.npz")
            loss, gradient = losses(BATCH)
            check(np.allclose(trace["loss"][0], loss.mean(), **NEAR), "loss", trace["loss"][0], "not", loss.mean())
            check(np.allclose(trace["grad/w"], gradient.sum(0) / gradient.size, **NEAR), "gradient", trace["grad/w"], "not", gradient.sum(0) / gradient.size)
            said = json.loads(harness.must([f"{folder}/program", "eval", "--data", "data.npz", "--json"], cwd=folder))
            check(np.allclose(said["loss"], losses(SAMPLES)[0].mean(), **NEAR), said, "not", losses(SAMPLES)[0].mean())
    return case


def soft_entropy(z, t, smoothing=0.0, weight=None, reduction="mean"):
    """Computes torch.nn.functional.cross_entropy of scores and probabilities of classes [..., C]; returns the loss and its gradient with respect to z."""
    z, t = z.reshape(-1, z.shape[-1]), t.reshape(-1, t.shape[-1])
    logp = z - z.max(1, keepdims=True)
    logp -= np.log(np.exp(logp).sum(1, keepdims=True))
    share = ((1 - smoothing) * t + smoothing / z.shape[1]) * (1 if weight is None else np.asarray(weight))
    total = len(z) if reduction == "mean" else 1  # torch divides by the number of labels, also with weights
    return -(share * logp).sum() / total, (share.sum(1, keepdims=True) * np.exp(logp) - share) / total


def probabilities(shape, axis, options="", written="", **formula):
    """Labels that are probabilities of classes: loss, gradient and evaluation are torch's; numbers of classes stand for probabilities of 1."""
    def case():
        with harness.folder() as folder:
            task = Task(folder, shape, axis)
            task.compile([f"--loss=softmax_cross_entropy:logits:labels,probabilities{written}{options}", "--metric=accuracy", "--metric=top2:logits:labels", "--metric=mae:logits:labels"])
            t = np.random.default_rng(7).dirichlet(np.ones(CLASSES), task.labels.shape).astype(np.float32)
            t[0] = 0  # a label of no probability costs nothing and counts in the mean, but not in metrics of classes
            np.savez(f"{folder}/soft.npz", x=task.x, labels=np.moveaxis(t, -1, axis))
            task.run("trace", "--data", "soft.npz", "--steps", "1", "--out", "trace.npz")
            traced, x = np.load(f"{folder}/trace.npz"), task.x.astype(np.float64)
            expected, dz = soft_entropy(x[:BATCH] @ task.w, t[:BATCH], **formula)
            dw = x[:BATCH].reshape(-1, FEATURES).T @ dz
            check(np.allclose(traced["loss"][0], expected, **NEAR), "loss", traced["loss"][0], "not", expected)
            check(np.allclose(traced["grad/w"], dw, **NEAR), "gradient", traced["grad/w"], "not", dw)
            said = json.loads(task.run("eval", "--data", "soft.npz", "--json"))
            z = x @ task.w
            expected, _ = soft_entropy(z, t, **formula)
            if formula.get("reduction") == "sum":
                expected /= SAMPLES / BATCH  # eval prints the mean over batches
            check(np.allclose(said["loss"], expected, **NEAR), "eval", said, "not", expected)
            there = t.max(-1) > 0
            check((said["accuracy_correct"], said["accuracy_counted"]) == (int(((z.argmax(-1) == t.argmax(-1)) & there).sum()), int(there.sum())), "accuracy", said)
            second = np.take_along_axis(z, t.argmax(-1)[..., None], -1)
            check(said["top2_correct"] == int((((z > second).sum(-1) < 2) & there).sum()), "top2", said)
            check(np.allclose(said["mae"], np.abs(z - t).mean(), **NEAR), "mae", said)
            # Numbers of classes are taken in all integer types, and mean what their probabilities mean.
            hard = np.where(task.labels < 0, 0, task.labels)
            for name, labels in (("one", np.moveaxis(np.eye(CLASSES, dtype=np.float32)[hard], -1, axis)), ("wide", hard), ("bytes", hard.astype(np.uint8))):
                np.savez(f"{folder}/{name}.npz", x=task.x, labels=labels)
            results = [json.loads(task.run("eval", "--data", f"{name}.npz", "--json")) for name in ("one", "wide", "bytes")]
            check(results[0] == results[1] == results[2], results)
            check(np.allclose(results[0]["loss"], soft_entropy(z, np.eye(CLASSES)[hard], **formula)[0] / (SAMPLES / BATCH if formula.get("reduction") == "sum" else 1), **NEAR), results)
    return case


def wrong_probabilities():
    """Options and data that do not go with probabilities are refused, with what to do about it."""
    with harness.folder() as folder:
        task = Task(folder, (), 1)
        said = task.compile(["--loss=softmax_cross_entropy:logits:labels,probabilities,ignore_index=0"], fails=True)
        check("no label is ignored where labels are probabilities of classes" in said and "hint: leave ignore_index out" in said, said)
        said = task.compile(["--loss=softmax_cross_entropy:logits:labels,probabilities,weight=1/2"], fails=True)
        check("weight has 2 numbers, but 'logits' [4,3] has 3 classes" in said, said)
        said = task.compile(["--loss=nll:logits:labels,probabilities"], fails=True)
        check("loss 'nll' has no option 'probabilities'" in said, said)
        said = task.compile(["--loss=softmax_cross_entropy:logits:labels,probabilities"])
        check("labels float32 [samples,3], probabilities of classes, or for each label the number of a class from 0 to 2" in said, said)
        for labels, words in ((np.full((SAMPLES, 4), 0.25), "has shape [10,4], but input 'labels' needs [samples,3]: the labels of 'logits' [samples,3] with its classes along dimension 1\n"
                                                            "hint: give 3 probabilities for each label, or numbers of classes"),
                              (np.arange(SAMPLES) % 4, "labels: sample 3 has label 3, not in [0, 3)"), (np.full(SAMPLES, 0.5), "takes integers"),
                              (np.full((SAMPLES, 3), np.nan), "holds NaN")):
            np.savez(f"{folder}/data.npz", x=task.x, labels=labels)
            status, _, said = harness.run([f"{folder}/program", "train", "--data", "data.npz"], cwd=folder)
            check(status == 1 and words in said, said)
        np.savez(f"{folder}/data.npz", x=task.x, labels=np.arange(SAMPLES) % 3)
        status, _, said = harness.run([f"{folder}/program", "train", "--data", "data.npz", "--scale=labels=2"], cwd=folder)
        check(status == 1 and "cannot be scaled" in said, said)
        task = Task(folder, (), 1, labels_input=True)
        said = task.compile(["--loss=softmax_cross_entropy:logits:labels,probabilities"], fails=True)
        check("input 'labels' is tensor<4xi64>, but labels that are probabilities are floats" in said, said)


CASES = {
    "probabilities": probabilities((), 1),
    "probabilities, label smoothing": probabilities((), 1, ",label_smoothing=0.2", smoothing=0.2),
    "probabilities of tokens, all options": probabilities((6,), 2, ",label_smoothing=0.1,weight=1/2/0.5,reduction=sum", smoothing=0.1, weight=(1, 2, 0.5), reduction="sum"),
    "probabilities of tokens, classes in front": probabilities((6,), 1, ",weight=1/2/0.5", written=",axis=1", weight=(1, 2, 0.5)),
    "probabilities of pixels": probabilities((2, 3), 1),
    "wrong probabilities": wrong_probabilities,
    "no weight of positives": positives("", 1),
    "a weight of positives": positives(",pos_weight=3", 3),
    "weights of positives": positives(",pos_weight=1/2.5/0.25", np.array([1, 2.5, 0.25])),
    "weights of positives in a file": positives(",pos_weight=p.npy", np.array([1, 2.5, 0.25])),
    "weights of positives behind a sigmoid": positives(",pos_weight=3", 3, "Sigmoid"),
    "samples": agrees((), 1),
    "tokens": agrees((6,), 2),
    "tokens, the network's labels": agrees((6,), 2, labels_input=True),
    "tokens, classes in front": agrees((6,), 1, written=",axis=1"),
    "tokens, classes in front by the network's labels": agrees((6,), 1, labels_input=True),
    "pixels": agrees((6, 5), 1),
    "pixels, classes behind": agrees((6, 5), 3, written=",axis=-1"),
    "pixels, classes between": agrees((6, 5), 2, written=",axis=2"),
    "ignore_index": agrees((6,), 2, ",ignore_index=1", ignore=1),
    "label_smoothing": agrees((6,), 2, ",label_smoothing=0.1", smoothing=0.1),
    "weight": agrees((6,), 2, ",weight=1/2/0.5", weight=[1, 2, 0.5]),
    "weight and label_smoothing of pixels": agrees((6, 5), 1, ",weight=1/2/0.5,label_smoothing=0.2", weight=[1, 2, 0.5], smoothing=0.2),
    "sum": agrees((6,), 2, ",reduction=sum", reduction="sum"),
    "sum of smoothed samples": agrees((), 1, ",label_smoothing=0.1,reduction=sum", smoothing=0.1, reduction="sum"),
    "a loss in the network": own_loss,
    "the choice of the axis": chosen_axis,
    "labels that do not fit": wrong_labels,
    "weights of a file": weights_file,
}

if __name__ == "__main__":
    OPTIONS = harness.arguments(__doc__)
    harness.main([(f"loss-options/{name}", case) for name, case in CASES.items()], OPTIONS.only)
