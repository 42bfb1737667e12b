#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains the small detectors of tools/models on made pictures of shapes: a step on an emulated GPU is that of the host, fp16 is close to fp32, pictures without boxes are fine, a picture's detections do not
depend on its batch, and a short training finds shapes in other pictures."""
import json
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import harness  # noqa: E402

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
SCALE = ["--scale", f"image={1 / 255:.8f}"]
NETWORKS = ("ssd_small", "faster_rcnn_small")
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
    return case


if __name__ == "__main__":
    OPTIONS = harness.arguments(__doc__)
    harness.main([(f"detectors/{network}/{kind.__name__}", kind(network)) for kind in (devices, precisions, trained) for network in NETWORKS], OPTIONS.only)
