#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs train on pictures with boxes: the annotations of COCO, YOLO and Pascal VOC give the numbers that arrays give; boxes follow the pixels, classes
travel, and what does not fit is named."""
import json
import os
import struct
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "tools"), os.path.join(HERE, "..", "..", "tools", "models")]
import harness  # noqa: E402
from network import INT64, Network  # noqa: E402
from pictures_test import check, png  # noqa: E402

SIDE, MOST, SAMPLES, BATCH, NAMES = 16, 3, 10, 4, ("ant", "bee", "cow")
SCALE = "--scale=image=0.00392156862745098"


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def detector(boxes=True):
    """Makes a network that regresses the boxes, masked by the labels, and gives back what it was fed."""
    g = Network()
    y = g.node("Flatten", [g.relu(g.conv(g.input("image", ["N", 3, SIDE, SIDE]), "conv", 3, 4, 3, stride=2, pad=1), "relu")], "flat")
    y = g.node("Reshape", [g.linear(y, "fc", 4 * (SIDE // 2) ** 2, MOST * 4), g.constant("shape", [-1, MOST, 4], np.int64)], "raw")
    if not boxes:
        g.input("label", ["N"], INT64)
        g.node("ReduceSum", [y, g.constant("sum.axes", [2], np.int64)], "logits", keepdims=0)
        return g.output("logits", ["N", MOST])
    labels = g.node("Cast", [g.input("labels", ["N", MOST], INT64)], "labels.float", to=1)
    mask = g.node("Clip", [g.node("Add", [labels, g.constant("one", 1, np.float32)], "labels.one"), g.constant("low", 0, np.float32),
                           g.constant("high", 1, np.float32)], "mask.flat")
    g.node("Mul", [y, g.node("Unsqueeze", [mask, g.constant("axes", [2], np.int64)], "mask")], "predicted")
    g.node("Neg", [g.input("boxes", ["N", MOST, 4])], "minus_boxes")
    g.node("Neg", [labels], "minus_labels")
    g.node("Cast", [g.input("count", ["N"], INT64)], "seen_count", to=1)
    for name, shape in (("predicted", ["N", MOST, 4]), ("minus_boxes", ["N", MOST, 4]), ("minus_labels", ["N", MOST]), ("seen_count", ["N"])):
        g.output(name, shape)
    return g


class Training:
    """Pictures of SIDE x SIDE pixels with up to MOST boxes at whole pixels, in four forms."""

    def __init__(self, folder, boxes=True):
        self.folder = folder
        rng = np.random.default_rng(1)
        self.image = rng.integers(0, 256, (SAMPLES, 3, SIDE, SIDE)).astype(np.uint8)
        self.count = rng.integers(1, MOST + 1, SAMPLES)
        self.count[:2] = 0, MOST
        self.labels = np.full((SAMPLES, MOST), -1, np.int64)
        self.boxes = np.zeros((SAMPLES, MOST, 4), np.float32)
        for i, count in enumerate(self.count):
            self.labels[i, :count] = rng.integers(0, len(NAMES), count)
            self.boxes[i, :count, :2] = rng.integers(0, SIDE // 2, (count, 2))
            self.boxes[i, :count, 2:] = self.boxes[i, :count, :2] + rng.integers(1, SIDE // 2 + 1, (count, 2))
        self.labels[1] = 0, 1, 2  # all classes are there, which Pascal VOC needs
        np.savez(f"{folder}/train.npz", image=self.image, boxes=self.boxes, labels=self.labels, count=self.count)
        self.coco(f"{folder}/coco")
        self.yolo(f"{folder}/yolo")
        self.voc(f"{folder}/VOC")
        detector(boxes).save(f"{folder}/model.onnx")
        loss = "mse:predicted:boxes" if boxes else "softmax_cross_entropy:logits:label"
        harness.must([OPTIONS.bin + "/mpc", "compile", "model.onnx", "-o", "program", "-q", "--cpu=x86-64-v3", "--precision=fp32", f"--batch={BATCH}", "--optimizer=sgd",
                      "--lr=0.001", f"--loss={loss}"], cwd=folder)

    def each(self):
        for i in range(SAMPLES):
            yield i, f"{i:03}", [(NAMES[k], k, *map(int, box)) for k, box in zip(self.labels[i, :self.count[i]], self.boxes[i])]

    def coco(self, folder, names=NAMES, samples=range(SAMPLES)):
        """The ids of the categories are 5, 10, ...; the file names them in another order."""
        images, annotations = [], []
        for i, name, boxes in self.each():
            if i not in samples:
                continue
            png(f"{folder}/pictures/{name}.png", self.image[i])
            images.append({"id": 100 - i, "file_name": f"{name}.png", "width": SIDE, "height": SIDE})
            annotations += [{"id": len(annotations) + j, "image_id": 100 - i, "category_id": 5 * names.index(label) + 5, "bbox": [x1, y1, x2 - x1, y2 - y1],
                             "iscrowd": 0} for j, (label, _, x1, y1, x2, y2) in enumerate(boxes)]
        categories = [{"id": 5 * k + 5, "name": name} for k, name in enumerate(names)]
        write(f"{folder}/instances.json", json.dumps({"images": images, "annotations": annotations, "categories": categories[::-1]}))

    def yolo(self, folder):
        write(f"{folder}/data.yaml", "path: .\nnames:\n" + "".join(f"  {k}: {name}\n" for k, name in enumerate(NAMES)))
        for i, name, boxes in self.each():
            png(f"{folder}/images/train/{name}.png", self.image[i])
            write(f"{folder}/labels/train/{name}.txt", "".join(f"{k} {(x1 + x2) / 2 / SIDE} {(y1 + y2) / 2 / SIDE} {(x2 - x1) / SIDE} {(y2 - y1) / SIDE}\n"
                                                               for _, k, x1, y1, x2, y2 in boxes))

    def voc(self, folder):
        for i, name, boxes in self.each():
            png(f"{folder}/JPEGImages/{name}.png", self.image[i])
            objects = "".join(f"<object><name>{label}</name><bndbox><xmin>{x1 + 1}</xmin><ymin>{y1 + 1}</ymin><xmax>{x2}</xmax><ymax>{y2}</ymax></bndbox></object>"
                              for label, _, x1, y1, x2, y2 in boxes)
            write(f"{folder}/Annotations/{name}.xml", f"<annotation><size><width>{SIDE}</width><height>{SIDE}</height></size>{objects}</annotation>")
        write(f"{folder}/ImageSets/Main/train.txt", "".join(f"{name}\n" for _, name, _ in self.each()))

    def run(self, *arguments, fails=False):
        status, out, err = harness.run(["./program", *arguments], cwd=self.folder)
        check(status == (1 if fails else 0), arguments, out + err)
        return out + err

    def train(self, data, checkpoints, *arguments, fails=False):
        return self.run("train", "--data", data, "--checkpoint-dir", checkpoints, "--epochs", "2", SCALE, *arguments, fails=fails)

    def newest(self, checkpoints):
        return f"{checkpoints}/" + sorted(os.listdir(f"{self.folder}/{checkpoints}"))[-1]

    def parameters(self, checkpoints):
        """Returns the newest checkpoint's metadata, and its tensors by name."""
        with open(f"{self.folder}/{self.newest(checkpoints)}", "rb") as file:
            data = file.read()
        begin = 8 + struct.unpack("<Q", data[:8])[0]
        header = json.loads(data[8:begin])
        metadata = header.pop("__metadata__")
        return metadata, {name: data[begin + at["data_offsets"][0]:begin + at["data_offsets"][1]] for name, at in header.items()}

    def predict(self, data, checkpoints, *arguments):
        self.run("predict", "--data", data, "--out", "p.npz", "--checkpoint", self.newest(checkpoints), *arguments)
        return np.load(f"{self.folder}/p.npz")


FORMS = ("coco/instances.json:coco/pictures", "yolo", "yolo/images/train", "VOC", "VOC:train", "image=yolo")


def same_as_arrays():
    with harness.folder() as folder:
        t = Training(folder)
        t.train("train.npz", "arrays")
        for i, data in enumerate(FORMS):
            said = t.train(data, f"c{i}", "--val", data)
            check("10 samples; classes: 0 ant, 1 bee, 2 cow" in said and "val_loss" in said, data, said)
            metadata, tensors = t.parameters(f"c{i}")
            check(tensors == t.parameters("arrays")[1], data, "trains other parameters than the arrays")
            check(metadata["classes"] == "ant\nbee\ncow", metadata)
            seen = t.predict(data, f"c{i}")
            for name, values in (("minus_boxes", -t.boxes), ("minus_labels", -t.labels), ("seen_count", t.count)):
                check((seen[name] == values).all(), data, name, seen[name])


def steps_move_boxes():
    with harness.folder() as folder:
        t = Training(folder)
        augment = "--augment=zoom-out:2,iou-crop,flip,jitter:0.2,erase:0.2"
        for name, readers in (("one", 1), ("four", 4)):
            said = t.train("yolo", name, augment, "--transform=resize", "--seed=3", f"--readers={readers}")
        check("augmentation: image: zoom-out:2:0.5,iou-crop:0.3:1,flip:0.5,jitter:0.2:0:0:0,erase:0.2" in said, said)
        check(t.parameters("one")[1] == t.parameters("four")[1], "four readers make other batches than one")
        t.train("yolo", "plain", "--seed=3")
        check(t.parameters("plain")[1] != t.parameters("one")[1], "augmentation has no effect")
        # Pictures of another size: the checkpoint's transform moves the boxes.
        large = t.image.repeat(2, axis=2).repeat(3, axis=3)
        for i in range(SAMPLES):
            png(f"{folder}/yolo/images/train/{i:03}.png", large[i])
        seen = t.predict("yolo", "one")
        check(np.abs(seen["minus_boxes"] + t.boxes).max() < 1e-4, seen["minus_boxes"])
        said = t.run("eval", "--data", "yolo", "--checkpoint", t.newest("one"))
        check("preprocessing of the checkpoint: image: transform resize, scale" in said, said)


def classes_travel():
    with harness.folder() as folder:
        t = Training(folder)
        t.train("yolo", "c")
        # The same classes of another order, and of fewer names.
        t.coco(f"{folder}/other", names=("cow", "ant", "bee"))
        seen = t.predict("other/instances.json:other/pictures", "c")
        check((seen["minus_labels"] == -t.labels).all(), "numbers that are not the training's", seen["minus_labels"])
        t.coco(f"{folder}/yak", names=("ant", "bee", "cow", "yak"))
        said = t.run("eval", "--data", "yak/instances.json:yak/pictures", "--checkpoint", t.newest("c"), fails=True)
        check("has the class 'yak', which the training did not have; it had ant, bee, cow" in said, said)


def too_many():
    with harness.folder() as folder:
        t = Training(folder)
        path = f"{folder}/yolo/labels/train/001.txt"
        with open(path, "a", encoding="utf-8") as file:
            file.write("0 0.5 0.5 0.1 0.1\n")
        said = t.train("yolo", "c", fails=True)
        check("yolo/images/train/001.png: has 4 boxes, and the network takes 3\nhint: " in said and "largest-boxes" in said, said)
        said = t.train("yolo", "c", "--transform=largest-boxes")
        check("note: yolo: 1 picture has more than 3 boxes; the largest 3 of it are kept" in said, said)
        check((t.predict("yolo", "c")["minus_boxes"][1] == -t.boxes[1]).all(), "the smallest box is not the one that is left out")


def damaged():
    with harness.folder() as folder:
        t = Training(folder)
        path = f"{folder}/coco/pictures/004.png"
        with open(path, "wb") as file:
            file.write(b"text")
        said = t.train(FORMS[0], "c", fails=True)
        check("coco/pictures/004.png: " in said, said)
        said = t.train(FORMS[0], "c", "--bad-samples=skip")
        check("note: --data: 1 sample could not be read and is left out of its batch, first coco/pictures/004.png: " in said, said)
        os.remove(path)
        said = t.train(FORMS[0], "e", fails=True)
        check("coco/pictures/004.png: cannot open: No such file or directory" in said, said)
        write(f"{folder}/coco/cut.json", open(f"{folder}/coco/instances.json", encoding="utf-8").read()[:500])
        for data, options, expected in (
                ("coco/cut.json:coco/pictures", [], "coco/cut.json: is no JSON, or was cut off: "),
                ("coco/instances.json", [], "coco/000.png: is missing; coco/instances.json names it\nhint: write the folder of the pictures behind a colon"),
                ("coco/missing.json", [], "coco/missing.json: cannot open: No such file"),
                ("VOC:test", [], "VOC/ImageSets/Main/test.txt: cannot open: No such file"),
                ("yolo:test", [], "yolo: holds no JPEGImages and Annotations"),
                ("boxes=yolo", [], "yolo: no input 'boxes' takes pictures"),
                ("yolo", ["--augment=mixup"], "--augment: 'mixup:1' mixes "),
                ("train.npz", ["--augment=iou-crop"], "--augment: iou-crop looks at the boxes of pictures, and these have none"),
                ("yolo,boxes=train.npz", [], "--data: gives input 'boxes' twice")):
            said = t.train(data, "d", *options, fails=True)
            check(expected in said and "\nhint: " in said or "cannot open" in expected and expected in said, data, options, said)


def other_networks():
    with harness.folder() as folder:
        t = Training(folder, boxes=False)
        said = t.train("yolo", "c", fails=True)
        check("yolo: has boxes, which no input takes\nhint: " in said, said)
        # Prediction takes the pictures alone.
        t.run("predict", "--data", "yolo", "--out", "p.npz")
        check(np.load(f"{folder}/p.npz")["logits"].shape == (SAMPLES, MOST), "no predictions")


CASES = {
    "same as arrays": same_as_arrays,
    "steps move boxes": steps_move_boxes,
    "classes travel": classes_travel,
    "too many": too_many,
    "damaged": damaged,
    "other networks": other_networks,
}

if __name__ == "__main__":
    OPTIONS = harness.arguments(__doc__)
    harness.main([(f"boxes/{name}", case) for name, case in CASES.items()], OPTIONS.only)
