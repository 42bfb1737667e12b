#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains the small detectors of tools/models on made pictures of shapes: a step on an emulated GPU is that of the host, fp16 is close to fp32, pictures without boxes are fine, a picture's detections do not
depend on its batch, a short training finds shapes in other pictures, and `predict --boxes` draws what it finds."""
import json
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import harness  # noqa: E402
from picture_grid_test import read_png  # noqa: E402

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
SCALE = ["--scale", f"image={1 / 255:.8f}"]
NETWORKS = ("ssd_small", "faster_rcnn_small")
COLOURS = ((255, 56, 56), (0, 194, 255), (72, 249, 10))  # of the first classes in pictures with boxes
GRADIENT = 1e-4  # of a gradient's norm, between two orders of adding fp32 numbers


def check(condition, why):
    if not condition:
        raise harness.Failure(why)


class Detector:
    """A network and its data in a folder."""

    def __init__(self, folder, network, *options):
        self.folder = folder
        for tool, *words in (("make_model.py", network, "model.onnx"), ("make_shapes.py", "--out", "train", "--count", 256, "--seed", 1), ("make_shapes.py", "--out", "val", "--count", 70, "--seed", 2)):
            harness.must([sys.executable, "-B", os.path.join(ROOT, "tools", "models", tool), *words], cwd=folder)
        self.compile("program", *options)

    def compile(self, program, *options):
        harness.must([OPTIONS.bin + "/mpc", "compile", "model.onnx", "-o", program, "-q", "--loss=output:loss", "--cpu=x86-64-v3", "--lr=0.02", "--momentum=0.9", *options], cwd=self.folder)

    def trace(self, data, *options, program="program"):
        harness.must(["./" + program, "trace", "--data", data, *SCALE, "--steps=1", "--out=trace.npz", *options], cwd=self.folder)
        return dict(np.load(f"{self.folder}/trace.npz"))

    def gradient(self, traced):
        return np.concatenate([traced[key].ravel().astype(np.float64) for key in sorted(traced) if key.startswith("grad/")])


def devices(network):
    def case():
        arch = {"ssd_small": "sm_80", "faster_rcnn_small": "sm_90a"}[network]
        with harness.folder() as folder:
            detector = Detector(folder, network, "--precision=fp32", "--batch=4", f"--target=host,{arch},emulator")
            host, emulated = detector.trace("train/shapes.npz"), detector.trace("train/shapes.npz", "--device=emulator")
            check(abs(emulated["loss"][0] - host["loss"][0]) <= 1e-5 * abs(host["loss"][0]), f"the loss is {emulated['loss'][0]}, on the host {host['loss'][0]}")
            a, b = detector.gradient(emulated), detector.gradient(host)
            check(np.linalg.norm(a - b) <= GRADIENT * np.linalg.norm(b), f"the gradient is off by {np.linalg.norm(a - b) / np.linalg.norm(b):.2g} of its norm")
    return case


def precisions(network):
    """In fp16 a rounded score may choose another proposal, so Faster R-CNN's bound is wider."""
    def case():
        bound = {"ssd_small": 0.01, "faster_rcnn_small": 0.05}[network]
        with harness.folder() as folder:
            detector = Detector(folder, network, "--precision=fp32", "--batch=16")
            wanted = detector.trace("train/shapes.npz")["loss"][0]
            for precision in ("fp16", "bf16"):
                detector.compile("low", f"--precision={precision}", "--batch=16")
                found = detector.trace("train/shapes.npz", program="low")["loss"][0]
                check(abs(found - wanted) <= bound * wanted, f"{precision}: the loss is {found}, in fp32 {wanted}")
            data = dict(np.load(f"{folder}/train/shapes.npz"))
            data["labels"][:] = -1
            data["boxes"][:] = 0
            np.savez(f"{folder}/none.npz", **data)
            traced = detector.trace("none.npz")
            check(all(np.isfinite(value).all() for value in traced.values()), f"without boxes: the loss is {traced['loss'][0]}")
    return case


def trained(network):
    """70 pictures are no multiple of a batch of 16 or 5."""
    def case():
        with harness.folder() as folder:
            detector = Detector(folder, network, "--precision=fp32", "--batch=16", "--metric=map")
            harness.must(["./program", "train", "--data", "train/annotations.json:train/images", *SCALE, "--epochs=10", "--checkpoint-dir=ck"], cwd=folder)
            last = sorted(os.listdir(f"{folder}/ck"))[-1]
            said = harness.must(["./program", "eval", "--data", "val/annotations.json:val/images", "--checkpoint", f"ck/{last}", "--json"], cwd=folder)
            found = json.loads(said if isinstance(said, str) else said[1])
            check(found["map50"] > 0.3, f"a short training finds little: {found}")
            detector.compile("five", "--precision=fp32", "--batch=5")
            outputs = []
            for program in ("program", "five"):
                harness.must(["./" + program, "predict", "--data", "val/shapes.npz", "--checkpoint", f"ck/{last}", "--out=out.npz"], cwd=folder)
                outputs.append(dict(np.load(f"{folder}/out.npz")))
            for name in ("scores", "detections"):
                a, b = (output[name] for output in outputs)
                check(a.shape[0] == 70 and np.allclose(a, b, rtol=1e-3, atol=1e-3), f"{name} depends on the batch: off by up to {np.abs(a - b).max()}")
            drawn(detector, outputs[0], f"ck/{last}")
    return case


def best(scores, boxes, least):
    """Returns the label, score and box of what is found in a picture, as the metric map finds it: of each class without those that a better box covers by more than a half."""
    found = []
    for at in np.argsort(-scores, axis=None, kind="stable"):
        anchor, label = np.unravel_index(at, scores.shape)
        box = boxes[anchor] if boxes.ndim == 2 else boxes[anchor, label]
        if scores[anchor, label] < least:
            break
        if not any(label == other and overlap(box, taken) > 0.5 for other, _, taken in found):
            found.append((label, scores[anchor, label], box))
    return found


def overlap(a, b):
    sides = np.maximum(np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2]), 0)
    areas = [np.prod(np.maximum(box[2:] - box[:2], 0)) for box in (a, b)]
    return np.prod(sides) / max(sum(areas) - np.prod(sides), 1e-9)


def drawn(detector, outputs, checkpoint):
    """The pictures have the boxes that the outputs say; pictures of files have the files' names, and those of an array their numbers."""
    folder, least = detector.folder, 0.3
    data = np.load(f"{folder}/val/shapes.npz")["image"]
    found = [best(scores, boxes, least) for scores, boxes in zip(outputs["scores"], outputs["detections"])]
    total = sum(len(boxes) for boxes in found)
    for out, source, names in (("files", "val/annotations.json:val/images", True), ("deep/array", "val/shapes.npz", False)):
        _, _, said = harness.run(["./program", "predict", "--data", source, "--checkpoint", checkpoint, "--boxes", out, f"--min-score={least}"], cwd=folder)
        check(f"note: {out}: 70 pictures, {total} boxes with a score of at least {least} (--min-score)" in said, f"{said} for {total} boxes")
        check(sorted(os.listdir(f"{folder}/{out}")) == [f"{i:06}.png" for i in range(70)], f"other files: {os.listdir(f'{folder}/{out}')[:3]}")
    check(open(f"{folder}/files/000069.png", "rb").read() != open(f"{folder}/files/000000.png", "rb").read(), "all pictures are the same")
    seen = 0
    for i in [i for i in range(70) if len(found[i]) == 1][:3]:
        pixels, (label, _, box) = read_png(f"{folder}/files/{i:06}.png"), found[i][0]
        factor = pixels.shape[0] // data.shape[2]
        check(pixels.shape == (data.shape[2] * factor, data.shape[3] * factor, 3) and factor == 6, f"the picture has the shape {pixels.shape}")
        x1, y1, x2, y2 = np.clip(np.floor(np.array(box, np.float64) * factor + 0.5), 0, pixels.shape[0]).astype(int)
        frame = np.concatenate([pixels[y2 - 2:y2, x1:x2].reshape(-1, 3), pixels[y1 + 12:y2, x1:x1 + 2].reshape(-1, 3), pixels[y1 + 12:y2, x2 - 2:x2].reshape(-1, 3)])
        check((frame == COLOURS[label]).all(), f"picture {i} has no frame of class {label} at {box}")
        rest = np.ones(pixels.shape[:2], bool)
        rest[max(y1 - 9, 0):y2] = False  # the box and its caption, which may lie beside it
        check((pixels == data[i].transpose(1, 2, 0).repeat(factor, 0).repeat(factor, 1))[rest].all(), f"picture {i} has other pixels beside the box")
        seen += 1
    check(seen > 0, f"no picture has one box alone: {[len(boxes) for boxes in found]}")


def refused():
    """A program without the metric, data without pictures, and folders that are none, or that hold what is read."""
    with harness.folder() as folder:
        detector = Detector(folder, "ssd_small", "--precision=fp32", "--batch=16", "--metric=map")
        detector.compile("plain", "--precision=fp32", "--batch=16")
        detector.compile("scores", "--precision=fp32", "--batch=16", "--metric=map", "--outputs=scores")
        data = dict(np.load(f"{folder}/val/shapes.npz"))
        np.savez(f"{folder}/floats.npz", image=data["image"].astype(np.float32))
        files = "val/annotations.json:val/images"
        before = {name: sorted(os.listdir(f"{folder}/{name}")) for name in (".", "val/images")}
        for said, program, source, *options in (
                ("--boxes: the program has no metric map", "plain", files, "--boxes=out"),
                ("--boxes: a prediction has no output 'detections'", "scores", files, "--boxes=out"),
                ("--boxes: the data have no pictures to draw on", "program", "floats.npz", "--boxes=out"),
                ("val/shapes.npz/out: cannot be made a folder", "program", files, "--boxes=val/shapes.npz/out"),
                ("val/images: has pictures that are read", "program", files, "--boxes=val/images"),
                ("--min-score requires --boxes", "program", files, "--out=out.npz", "--min-score=0.1"),
                ("must be a number from 0 to 1, not 'half'", "program", files, "--boxes=out", "--min-score=half"),
                ("--out, --images or --boxes is required", "program", files)):
            status, out, err = harness.run(["./" + program, "predict", "--data", source, *SCALE, *options], cwd=folder)
            check(status == 1 and said in err and "hint: " in err, f"{said}: status {status}, {out}{err}")
            check(before == {name: sorted(os.listdir(f"{folder}/{name}")) for name in before}, f"{said}: something was left")


if __name__ == "__main__":
    OPTIONS = harness.arguments(__doc__)
    harness.main([(f"detectors/{network}/{kind.__name__}", kind(network)) for kind in (devices, precisions, trained) for network in NETWORKS] + [("detectors/boxes_refused", refused)], OPTIONS.only)
