#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains with mixup and cutmix. Batches are what their definitions say, whatever the number of readers, and after an interruption; classes become
probabilities from every kind of data; what cannot be mixed is refused."""
import json
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import harness  # noqa: E402
import pictures_test  # noqa: E402
from models import INT64, Graph  # noqa: E402
from pictures_test import BATCH, CLASSES, EACH, SIDE, check  # noqa: E402

LOSS = "--loss=softmax_cross_entropy:logits:label,probabilities"
PIXELS = 3 * SIDE * SIDE


class Training(pictures_test.Training):
    """The pictures of that test, and a program whose labels are probabilities."""

    def __init__(self, folder, model=None, batch=BATCH, loss=LOSS):
        super().__init__(folder, model, batch, loss)

    def two(self):
        """Writes a batch of two pictures of different classes as data, and returns it as the network takes it."""
        chosen, labels = self.pictures[[0, 2 * EACH]], np.array([0, 2])
        np.savez(f"{self.folder}/two.npz", x=chosen, label=labels)
        mean, deviation = (np.array(numbers)[:, None, None] for numbers in ((0.5, 0.4, 0.3), (0.25, 0.2, 0.3)))
        return (chosen / 255 - mean) / deviation, np.eye(len(CLASSES))[labels]

    def gradient_of(self, seed, augment, *arguments):
        """Returns the parameters of the linear network, and their gradient in the first step on the two pictures."""
        out = f"c{seed}-{augment}"
        self.run("train", "--data", "two.npz", "--no-shuffle", "--checkpoint-dir", out, "--steps=1", "--lr=1", f"--seed={seed}", "--augment=" + augment, *pictures_test.NUMBERS, *arguments)
        after = np.frombuffer(self.tensors(out)["w"], np.float32).reshape(len(CLASSES), PIXELS).astype(np.float64)
        start = np.frombuffer(linear().proto().graph.initializer[0].raw_data, np.float32).reshape(after.shape).astype(np.float64)
        return start, start - after


def linear():
    """The scores of a picture are linear in its pixels, so that the gradient tells the pixels of a batch."""
    g = Graph()
    flat = g.node("Flatten", [g.input("x", ["N", 3, SIDE, SIDE])], "flat")
    g.node("Gemm", [flat, g.weight("w", (len(CLASSES), PIXELS))], "logits", transB=1)
    return g.output("logits", ["N", len(CLASSES)])


def gradient(w, x, t):
    z = x.reshape(len(x), -1) @ w.T
    p = np.exp(z - z.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    return (p - t).T @ x.reshape(len(x), -1) / len(x)


def boxes():
    """Returns the boxes of cutmix that lie in a picture: top, left, bottom, right."""
    ends = [(a, b) for a in range(SIDE + 1) for b in range(a, SIDE + 1)]
    return [(top, left, bottom, right) for top, bottom in ends for left, right in ends if (bottom > top) == (right > left)]


def mixed(x, t, own=None, box=None):
    """Returns the batch as torchvision mixes it, each sample with the one before."""
    x, others = x.copy(), np.roll(x, 1, 0)
    if box is None:
        x = own * x + (1 - own) * others
    else:
        top, left, bottom, right = box
        x[:, :, top:bottom, left:right] = others[:, :, top:bottom, left:right]
        own = 1 - (bottom - top) * (right - left) / SIDE ** 2
    return x, own * t + (1 - own) * np.roll(t, 1, 0)


def search(start, x, labels, found):
    """Returns the share of mixup, and the box of cutmix, whose gradients are nearest to what was found, each with the largest difference."""
    def gap(**mix):
        return np.abs(gradient(start, *mixed(x, labels, **mix)) - found).max()
    low, high = 0.0, 1.0
    for _ in range(6):
        best = min(np.linspace(low, high, 41), key=lambda own: gap(own=own))
        low, high = max(best - (high - low) / 20, 0), min(best + (high - low) / 20, 1)
    box = min(boxes(), key=lambda box: gap(box=box))
    return {"share": ({"own": best}, gap(own=best)), "box": ({"box": box}, gap(box=box))}


def values():
    """The gradient of a batch is that of some share, or of some box, for both the pictures and the labels; an evaluation mixes nothing."""
    with harness.folder() as folder:
        t = Training(folder, linear(), batch=2)
        x, labels = t.two()
        kinds = set()
        for seed in range(6):
            start, found = t.gradient_of(seed, "mixup,cutmix", "--val=two.npz", f"--log=log{seed}.jsonl")
            nearest = search(start, x, labels, found)
            kind = min(nearest, key=lambda kind: nearest[kind][1])
            # Parameters of order 1 are rounded to 2^-24, and so is the gradient, a sum over two pictures of values of order 2.
            check(nearest[kind][1] < 2e-6, "seed", seed, "is neither mixup nor cutmix:", nearest)
            kinds.add(kind)
            lines = [json.loads(line) for line in open(f"{folder}/log{seed}.jsonl")]
            out = f"c{seed}-mixup,cutmix"
            said, _ = t.eval("two.npz", f"{out}/{t.bytes_of(out)[0]}")
            check(abs([line["val_loss"] for line in lines if "val_loss" in line][-1] - said["loss"]) <= 1e-6 * said["loss"], "an evaluation is mixed", lines, said)
        check(kinds == {"share", "box"}, kinds)


def reproducible():
    """Batches depend neither on the number of readers, nor on the kind of the data, nor on where a training was interrupted."""
    augment = "--augment=random-crop:1,mixup:0.4,flip,cutmix"
    with harness.folder() as folder:
        t = Training(folder)
        t.train("train", "plain", "--augment=random-crop:1,flip", "--seed=3")
        said = t.train("train", "one", augment, "--readers=1", "--seed=3")
        check("augmentation: x: random-crop:1,flip:0.5,mixup:0.4,cutmix:1" in said, said)
        check(t.metadata("one")["augmentation"] == "x: random-crop:1,flip:0.5,mixup:0.4,cutmix:1", t.metadata("one"))
        check(t.tensors("one") != t.tensors("plain"), "mixing has no effect")
        t.train("train", "four", augment, "--readers=4", "--seed=3")
        check(t.bytes_of("four") == t.bytes_of("one"), "four readers make other batches than one")
        np.savez(f"{folder}/soft.npz", x=t.pictures, label=np.eye(len(CLASSES), dtype=np.float32)[t.labels])
        np.savez(f"{folder}/bytes.npz", x=t.pictures, label=t.labels.astype(np.uint8))
        for data in ("train.tar", "train.csv", "train.npz", "soft.npz", "bytes.npz"):
            said = t.train(data, data + ".c", augment, "--seed=3")
            check(t.tensors(data + ".c") == t.tensors("one"), data, "trains other parameters than the folder")
            check("input 'label' has bytes" not in said, said)
        check(t.metadata("train.tar.c")["classes"] == "ant\nbee\ncow", t.metadata("train.tar.c"))
        # An epoch has seven batches: the interruption lies within the second one.
        steps = len(t.labels) // BATCH
        for name, until in (("part", steps + 3), ("whole", 2 * steps)):
            t.run("train", "--data", "train", "--checkpoint-dir", name, "--steps", str(until), *pictures_test.NUMBERS, augment, "--seed=3")
        t.run("train", "--data", "train", "--checkpoint-dir", "part", "--steps", str(2 * steps), *pictures_test.NUMBERS, augment, "--resume")
        check(t.bytes_of("part") == t.bytes_of("whole"), "a training that was interrupted goes on otherwise")
        # A picture that cannot be read is left out before the batch is mixed.
        with open(f"{folder}/train/bee/025.png", "wb") as file:
            file.write(b"text")
        said = t.train("train", "bad1", augment, "--bad-samples=skip", "--readers=1")
        check("1 sample could not be read" in said, said)
        t.train("train", "bad3", augment, "--bad-samples=skip", "--readers=3")
        check(t.bytes_of("bad1") == t.bytes_of("bad3"), "skipping depends on the number of readers")


def mistakes():
    with harness.folder() as folder:
        t = Training(folder)
        for option, expected in (("mixup:0", "'mixup:0' does not give one ALPHA above 0, for shares from Beta(ALPHA, ALPHA)\nhint: write mixup[:ALPHA], such as mixup:0.2"),
                                 ("cutmix:-1", "'cutmix:-1' does not give one ALPHA above 0"), ("mixup:x", "'x' is no number"), ("mixup,mixup", "has 'mixup' twice"),
                                 ("mixup:1:2", "'mixup:1:2' does not give one ALPHA above 0"), ("mixups", "there is no step 'mixups'\nhint: the steps are random-crop"),
                                 ("mixup,fli", "there is no step 'fli'")):
            said = t.train("train", "c", "--augment=" + option, fails=True)
            check("--augment: " in said and expected in said, option, said)
        said = t.run("eval", "--data", "train", "--augment=mixup", fails=True)
        check("unknown option '--augment" in said, said)
        t = Training(folder, batch=1)
        said = t.train("train", "c", "--augment=mixup", fails=True)
        check("'mixup:1' mixes the samples of a batch, and a batch has one\nhint: compile with --batch of at least 2" in said, said)
        t = Training(folder, loss="--loss=softmax_cross_entropy:logits:label")
        said = t.train("train", "c", "--augment=flip,cutmix", fails=True)
        check("'cutmix:1' mixes labels, and input 'label' takes numbers of classes\n"
              "hint: compile with --loss=softmax_cross_entropy:logits:label,probabilities" in said, said)
        g = Graph()
        x = g.input("x", ["N", 3, SIDE, SIDE])
        g.node("ReduceMean", [g.node("Mul", [x, g.weight("w", (3, SIDE, SIDE))], "y")], "loss", keepdims=0)
        t = Training(folder, g.output("loss", []), loss="--loss=output:loss")
        said = t.run("train", "--data", "x=train", "--augment=mixup", fails=True)
        check("'mixup:1' mixes labels, and the training has none" in said, said)
        g = linear()
        g.input("n", ["N"], INT64)
        g.node("Cast", ["n"], "n.float", to=1)
        g.node("Add", ["logits", g.node("Unsqueeze", ["n.float", g.constant("axes", np.array([1]))], "column")], "sum")
        t = Training(folder, g.output("sum", ["N", len(CLASSES)]), loss="--loss=softmax_cross_entropy:sum:label,probabilities")
        np.savez(f"{folder}/n.npz", n=np.zeros(len(t.labels), np.int64))
        said = t.run("train", "--data", "x=train,label=train,n.npz", "--augment=mixup", fails=True)
        check("'mixup:1' mixes pictures and probabilities of classes; input 'n' is neither" in said, said)


CASES = {"values": values, "reproducible": reproducible, "mistakes": mistakes}

if __name__ == "__main__":
    OPTIONS = pictures_test.OPTIONS = harness.arguments(__doc__)
    harness.main([(f"mixing/{name}", case) for name, case in CASES.items()], OPTIONS.only)
