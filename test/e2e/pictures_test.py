#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs train on pictures: folders of classes, lists and archives give the numbers that arrays give; classes, transforms and augmentation travel; what
cannot be read is named."""
import json
import os
import shutil
import struct
import subprocess
import sys
import tarfile
import time
import zlib

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import harness  # noqa: E402
import programs  # noqa: E402, F401
from models import Graph  # noqa: E402

SIDE, BATCH, CLASSES = 8, 8, ("ant", "bee", "cow")
EACH = 20  # pictures in each class
NUMBERS = ("--scale=x=0.00392156862745098", "--normalize=x=0.5:0.4:0.3,0.25:0.2:0.3")
AUGMENT = "--augment=random-crop:1,flip,jitter:0.3:0.3:0.3:0.1,erase:0.3"


def check(true, *what):
    if not true:
        raise harness.Failure(" ".join(map(str, what)))


def png(path, picture):
    """Writes u8 [channels, height, width], grey or colours."""
    channels, height, width = picture.shape
    rows = b"".join(b"\0" + row.tobytes() for row in picture.transpose(1, 2, 0))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2 if channels == 3 else 0, 0, 0, 0)) +
                   chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def write_pictures(folder, pictures, labels, classes=CLASSES):
    """Writes them so that the order of the names is that of the samples: the labels are sorted."""
    for i, (picture, label) in enumerate(zip(pictures, labels)):
        os.makedirs(f"{folder}/{classes[label]}", exist_ok=True)
        png(f"{folder}/{classes[label]}/{i:03}.png", picture)


class Training:
    def __init__(self, folder, model=None, batch=BATCH, loss="--loss=softmax_cross_entropy:logits:label"):
        self.folder = folder
        rng = np.random.default_rng(1)
        self.labels = np.repeat(np.arange(len(CLASSES)), EACH)
        self.pictures = rng.integers(0, 256, (len(self.labels), 3, SIDE, SIDE)).astype(np.uint8)
        write_pictures(f"{folder}/train", self.pictures, self.labels)
        np.savez(f"{folder}/train.npz", x=self.pictures, label=self.labels)
        with tarfile.open(f"{folder}/train.tar", "w") as archive:
            archive.add(f"{folder}/train", "train")
        with open(f"{folder}/train.csv", "w") as file:
            file.write("label,path\n" + "".join(f"{CLASSES[k]},train/{CLASSES[k]}/{i:03}.png\n" for i, k in enumerate(self.labels)))
        (model or self.network()).save(f"{folder}/model.onnx")
        harness.must([OPTIONS.bin + "/mpc", "compile", "model.onnx", "-o", "program", "-q", "--cpu=x86-64-v3", "--precision=fp32", f"--batch={batch}", "--optimizer=sgd", "--lr=0.01", loss],
                     cwd=folder)

    def network(self):
        g = Graph()
        y = g.node("Conv", [g.input("x", ["N", 3, SIDE, SIDE]), g.weight("conv.weight", (4, 3, 3, 3)), g.weight("conv.bias", (4,))], "conv")
        y = g.node("Flatten", [g.node("Relu", [y], "relu")], "flat")
        g.node("Gemm", [y, g.weight("fc.weight", (3, 4 * (SIDE - 2) ** 2)), g.weight("fc.bias", (3,))], "logits", transB=1)
        return g.output("logits", ["N", 3])

    def run(self, *arguments, fails=False):
        status, out, err = harness.run(["./program", *arguments], cwd=self.folder)
        check(status == (1 if fails else 0), arguments, out + err)
        return out + err

    def train(self, data, checkpoints, *arguments, fails=False):
        return self.run("train", "--data", data, "--checkpoint-dir", checkpoints, "--epochs", "2", *NUMBERS, *arguments, fails=fails)

    def bytes_of(self, checkpoints):
        newest = sorted(os.listdir(f"{self.folder}/{checkpoints}"))[-1]
        with open(f"{self.folder}/{checkpoints}/{newest}", "rb") as file:
            return newest, file.read()

    def tensors(self, checkpoints):
        """Returns the newest checkpoint's tensors, without the metadata that names the data."""
        _, data = self.bytes_of(checkpoints)
        (length,) = struct.unpack("<Q", data[:8])
        header = json.loads(data[8:8 + length])
        return {name: data[8 + length + at["data_offsets"][0]:8 + length + at["data_offsets"][1]] for name, at in header.items() if name != "__metadata__"}

    def metadata(self, checkpoints):
        _, data = self.bytes_of(checkpoints)
        return json.loads(data[8:8 + struct.unpack("<Q", data[:8])[0]])["__metadata__"]

    def eval(self, data, checkpoint, *arguments):
        status, out, err = harness.run(["./program", "eval", "--data", data, "--json", "--checkpoint", checkpoint, *arguments], cwd=self.folder)
        check(status == 0, err)
        return json.loads(out), err


def same_as_arrays():
    with harness.folder() as folder:
        t = Training(folder)
        t.train("train.npz", "arrays")
        open(f"{folder}/train/cow/x.bmp", "w").close()
        for data in ("train", "train.tar", "train.csv"):
            said = t.train(data, data + ".c")
            check(" samples; classes: 0 ant, 1 bee, 2 cow" in said, said)
            check(("note: train: 1 file is left out, not being named .jpg, .jpeg or .png: train/cow/x.bmp" in said) == (data == "train"), said)
            check(t.tensors(data + ".c") == t.tensors("arrays"), data, "trains other parameters than the array")
            check(t.metadata(data + ".c")["classes"] == "ant\nbee\ncow", t.metadata(data + ".c"))
        # predict has no labels and takes the pictures alone; names bind a collection to the inputs that are meant.
        step = "arrays/" + t.bytes_of("arrays")[0]
        for name, data in (("a", "x=train.npz"), ("b", "train"), ("c", "x=train.tar")):
            t.run("predict", "--data", data, "--out", f"{name}.npz", "--checkpoint", step)
        a, b, c = (np.load(f"{folder}/{name}.npz")["logits"] for name in "abc")
        check((a == b).all() and (a == c).all(), "other logits")
        one, _ = t.eval("train.npz", step)
        for data in ("train", "x=train.tar,label=train.csv", "x=train,label=train.npz", "train,label=train.npz"):
            check(t.eval(data, step)[0] == one, data)


def reproducible():
    """Batches depend neither on the number of readers, nor on where a training was interrupted."""
    with harness.folder() as folder:
        t = Training(folder)
        t.train("train", "plain")
        t.train("train", "one", AUGMENT, "--readers=1", "--seed=3", "--checkpoint-every=3")
        check(t.tensors("one") != t.tensors("plain"), "augmentation has no effect")
        check(t.metadata("one")["augmentation"].startswith("x: random-crop:1,flip:0.5,jitter:0.3:0.3:0.3:0.1,erase:0.3"), t.metadata("one"))
        t.train("train.tar", "four", AUGMENT, "--readers=4", "--seed=3", "--checkpoint-every=3")
        check(t.bytes_of("four") == t.bytes_of("one"), "four readers make other batches than one")
        # An array of bytes is augmented as the same pictures in files are.
        said = t.train("train.npz", "array", AUGMENT, "--seed=3")
        check("augmentation: x: random-crop:1,flip:0.5," in said, said)
        np.savez(f"{t.folder}/rows.npz", x=t.pictures.reshape(len(t.labels), -1), label=t.labels)  # the same layout in another shape
        t.train("rows.npz", "rows", AUGMENT, "--seed=3")
        check(t.tensors("rows") == t.tensors("one"), "rows are augmented otherwise")
        check(t.tensors("array") == t.tensors("one"), "an array is augmented otherwise")
        # Kill it somewhere after a checkpoint within an epoch, and go on.
        killed = subprocess.Popen(["./program", "train", "--data", "train", "--checkpoint-dir", "killed", "--epochs", "2000", *NUMBERS, AUGMENT, "--seed=3",
                                   "--checkpoint-every=3"], cwd=folder, stdout=subprocess.DEVNULL)
        until = time.time() + 60
        while not os.path.exists(f"{folder}/killed/step-00000003.safetensors") and time.time() < until:
            time.sleep(0.001)
        killed.kill()
        killed.wait()
        steps = sorted(name for name in os.listdir(f"{folder}/killed") if name.endswith(".safetensors"))
        done = int(steps[-1][5:13])
        t.run("train", "--data", "train", "--checkpoint-dir", "killed", "--steps", str(done + 4), *NUMBERS, AUGMENT, "--resume")
        t.run("train", "--data", "train", "--checkpoint-dir", "whole", "--steps", str(done + 4), *NUMBERS, AUGMENT, "--seed=3")
        check(t.bytes_of("killed") == t.bytes_of("whole"), "a killed training goes on otherwise, from step", done)
        said = t.run("train", "--data", "train", "--checkpoint-dir", "killed", "--steps", str(done + 5), "--resume")
        check(f"note: taken from the checkpoint: {AUGMENT}\n" in said and "from here on --augment" not in said and "augmentation: x: random-crop:1,flip:0.5," in said, said)
        said = t.run("train", "--data", "train", "--checkpoint-dir", "killed", "--steps", str(done + 6), "--augment=none", "--resume")
        check("note: from here on --augment is none; the checkpoint comes from training with x: random-crop:1" in said, said)


def classes_travel():
    with harness.folder() as folder:
        t = Training(folder)
        t.train("train", "c", "--val", "train")
        step = "c/" + t.bytes_of("c")[0]
        of_cows = t.labels == 2
        np.savez(f"{folder}/cows.npz", x=t.pictures[of_cows], label=t.labels[of_cows])
        write_pictures(f"{folder}/cows", t.pictures[of_cows], t.labels[of_cows])
        # The only folder is the training's class 2.
        check(t.eval("cows", step)[0] == t.eval("cows.npz", step)[0], "cows are not class 2")
        # A list without names has the numbers of the training's classes.
        for label, expected in ((2, None), (3, "numbers.csv: has a class of the number 3; the training had 3 classes: ant, bee, cow")):
            with open(f"{folder}/numbers.csv", "w") as file:
                file.write("".join(f"cows/cow/{name},{label}\n" for name in sorted(os.listdir(f"{folder}/cows/cow"))))
            if expected:
                said = t.run("eval", "--data", "numbers.csv", "--checkpoint", step, fails=True)
                check(expected in said, said)
            else:
                check(t.eval("numbers.csv", step)[0] == t.eval("cows.npz", step)[0], "number 2 is not class 2")
        # Where a training does not know names, those of a folder need not mean the same numbers.
        said = t.train("x=train,label=train.npz", "n", "--val", "cows")
        check("note: the training's data does not name its classes; --val has the classes: 0 cow" in said, said)
        _, said = t.eval("cows", "n/" + t.bytes_of("n")[0])
        check(" does not name the classes of its training; the data has the classes: 0 cow" in said, said)
        os.rename(f"{folder}/cows/cow", f"{folder}/cows/yak")
        said = t.run("eval", "--data", "cows", "--checkpoint", step, fails=True)
        check("cows: has the class 'yak', which the training did not have; it had ant, bee, cow" in said, said)
        os.makedirs(f"{folder}/train/dog")
        png(f"{folder}/train/dog/0.png", t.pictures[0])
        said = t.train("train", "d", fails=True)
        check("train: has 4 classes; input 'label' takes [0, 3)" in said, said)


def transforms_travel():
    with harness.folder() as folder:
        t = Training(folder)
        rng = np.random.default_rng(2)
        large = rng.integers(0, 256, (len(t.labels), 3, 2 * SIDE + 2, 2 * SIDE)).astype(np.uint8)
        write_pictures(f"{folder}/large", large, t.labels)
        said = t.train("large", "c", fails=True)
        check("large/" in said and ": the picture has 16x18 pixels (width x height), and the input takes 8x8" in said and "--transform=resize" in said, said)
        said = t.train("large", "c", "--transform=resize:12,center-crop", "--augment=random-resized-crop,flip")
        check(t.metadata("c")["preprocessing"].startswith("x\ttransform\tresize:12,center-crop\n"), t.metadata("c"))
        step = "c/" + t.bytes_of("c")[0]
        one, said = t.eval("large", step)
        check("preprocessing of the checkpoint: x: transform resize:12,center-crop, scale" in said, said)
        check(t.eval("large", step, "--transform=resize:12,center-crop")[0] == one, "the checkpoint's transform is not used")
        check(t.eval("large", step, "--transform=resize")[0] != one, "--transform has no effect")
        # A grey picture becomes one of three equal channels.
        png(f"{folder}/large/ant/grey.png", large[0, :1])
        t.eval("large", step)


def damaged():
    with harness.folder() as folder:
        t = Training(folder)
        good = f"{folder}/train/bee/025.png"
        with open(good, "rb") as file:
            data = file.read()
        with open(good, "wb") as file:
            file.write(data[:len(data) // 2])
        said = t.train("train", "stopped", fails=True)
        check("train/bee/025.png: " in said, said)
        said = t.train("train", "c", "--bad-samples=skip", AUGMENT)
        check("note: --data: 1 sample could not be read and is left out of its batch, first train/bee/025.png: " in said, said)
        said = t.train("train.npz", "v", "--bad-samples=skip", "--val", "train")
        check("note: --val: 1 sample could not be read" in said, said)
        said = t.run("predict", "--data", "train", "--out", "p.npz", "--bad-samples=skip", fails=True)
        check("unknown option '--bad-samples" in said, said)
        t.train("train", "d", "--bad-samples=skip", AUGMENT, "--readers=3")
        check(t.bytes_of("c") == t.bytes_of("d"), "skipping depends on the number of readers")
        step = "c/" + t.bytes_of("c")[0]
        result, said = t.eval("train", step, "--bad-samples=skip")
        check(result["samples"] == 3 * EACH - 1 and "left out" in said, result, said)
        os.remove(good)
        without, _ = t.eval("train", step)
        check(abs(without["loss"] - result["loss"]) < 1e-6 and without["accuracy_correct"] == result["accuracy_correct"], without, result)
        # Batches that have no good sample: an evaluation leaves them out, a training takes others.
        for i in range(40, 40 + 2 * BATCH):
            with open(f"{folder}/train/cow/{i:03}.png", "wb") as file:
                file.write(b"text")
        result, _ = t.eval("train", step, "--bad-samples=skip")
        check(result["samples"] == 3 * EACH - 1 - 2 * BATCH, result)
        said = t.train("train", "e", "--bad-samples=skip", "--no-shuffle")
        check(f"note: --data: {2 * BATCH} samples could not be read and are left out of their batches, first train/cow/0" in said, said)
        for name in CLASSES:
            for i in os.listdir(f"{folder}/train/{name}"):
                with open(f"{folder}/train/{name}/{i}", "wb") as file:
                    file.write(b"text")
        said = t.run("eval", "--data", "train", "--checkpoint", step, "--bad-samples=skip", fails=True)
        check("--bad-samples=skip: no sample can be read" in said, said)


def mistakes():
    with harness.folder() as folder:
        t = Training(folder)
        np.savez(f"{folder}/floats.npz", x=t.pictures.astype(np.float32), label=t.labels)
        os.makedirs(f"{folder}/empty")
        os.makedirs(f"{folder}/flat")
        png(f"{folder}/flat/a.png", t.pictures[0])
        shutil.copy(f"{folder}/train.npz", f"{folder}/empty2.npz")
        for data, options, expected in (
                ("train", ["--augment=random-corp:4"], "--augment: there is no step 'random-corp'\nhint: the steps are random-crop[:PADDING]"),
                ("train", ["--augment=flip:1.5"], "--augment: '1.5' in 'flip' is no number from 0 to 1\nhint: write flip[:P]"),
                ("train", ["--augment=jitter"], "--augment: 'jitter' has 0 numbers"),
                ("train", ["--augment=y=flip"], "--augment: there is no input 'y'"),
                ("train", ["--transform=flip"], "--transform: 'flip' is random, and random steps are for training only\nhint: write --augment=flip"),
                ("train", ["--transform=resize:0"], "--transform: '0' in 'resize' is no whole number from 1"),
                ("train", ["--transform=center-crop,resize:9"], "--transform: a crop is followed by resize"),
                ("floats.npz", ["--augment=flip"], "--augment: no input takes pictures\nhint: leave it out, or give --data pictures, or an array of bytes"),
                ("train.npz", ["--transform=resize"], "--transform: no input takes pictures"),
                ("empty", [], "empty: "),
                ("flat", [], "flat: its pictures have no classes, and input 'label' takes them"),
                ("missing.tar", [], "missing.tar: "),
                ("train/ant/000.png", [], "train/ant/000.png: is a PNG picture, not an array\nhint: name the folder that holds the pictures"),
                ("train", ["--augment=flip", "--augment=erase"], "--augment: is given twice for input 'x'"),
                ("train", ["--augment=resize:9"], "--augment: 'resize' is not random"),
                ("train", ["--normalize=x=0.5:0.5,0.2:0.2"], "--normalize: 2 channels for input 'x'"),
                ("train", ["--early-stop=3:"], "has no metric behind ':'"),
                ("train.tar.gz", [], "train.tar.gz: ")):
            said = t.train(data, "c", *options, fails=True)
            check(expected in said, data, options, said)


CASES = {
    "same as arrays": same_as_arrays,
    "reproducible": reproducible,
    "classes travel": classes_travel,
    "transforms travel": transforms_travel,
    "damaged files": damaged,
    "mistakes": mistakes,
}

if __name__ == "__main__":
    OPTIONS = harness.arguments(__doc__)
    harness.main([(f"pictures/{name}", case) for name, case in CASES.items()], OPTIONS.only)
