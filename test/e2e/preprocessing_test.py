#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The --scale and --normalize of a training travel: its checkpoints have them, and eval, predict, resume, export and `mpc run` use them."""
import json
import os
import struct
import sys

import numpy as np
import onnx

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import harness  # noqa: E402
import programs  # noqa: E402
from models import Graph  # noqa: E402

SAMPLES, SIDE, CLASSES = 70, 6, 3
OPTIONS_OF_TRAINING = ("--scale=x=0.00392156862745098", "--normalize=x=0.1307,0.3081")
MADE = "x: scale 0.00392157, normalize 0.1307/0.3081"


def check(true, *what):
    if not true:
        raise harness.Failure(" ".join(map(str, what)))


def idx(path, array):
    """Writes the format of MNIST: 0, 0, the type 8 (bytes), the rank, the extents."""
    with open(path, "wb") as file:
        file.write(bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes())


class Training:
    """A convolution, which is trained on pictures of bytes in IDX files."""

    def __init__(self, folder, options=OPTIONS_OF_TRAINING, channels=1):
        self.folder = folder
        rng = np.random.default_rng(1)
        self.pictures = rng.integers(0, 256, (SAMPLES, channels, SIDE, SIDE)).astype(np.uint8)
        labels = rng.integers(0, CLASSES, SAMPLES).astype(np.uint8)
        self.pictures[np.arange(SAMPLES), :, labels] = 255
        idx(f"{folder}/x.idx", self.pictures)
        idx(f"{folder}/label.idx", labels)
        np.savez(f"{folder}/x.npz", x=self.pictures)
        g = Graph()
        y = g.node("Conv", [g.input("x", ["N", channels, SIDE, SIDE]), g.weight("conv.weight", (4, channels, 3, 3)), g.weight("conv.bias", (4,))], "conv")
        y = g.node("Flatten", [g.node("Relu", [y], "relu")], "flat")
        g.node("Gemm", [y, g.weight("fc.weight", (CLASSES, 4 * (SIDE - 2) ** 2)), g.weight("fc.bias", (CLASSES,))], "logits", transB=1)
        g.output("logits", ["N", CLASSES]).save(f"{folder}/model.onnx")
        harness.must([OPTIONS.bin + "/mpc", "compile", "model.onnx", "-o", "program", "-q", "--cpu=x86-64-v3", "--precision=fp32", "--batch=16", "--optimizer=sgd",
                      "--loss=softmax_cross_entropy:logits:label"], cwd=folder)
        self.said = self.train("--epochs", "2", "--log", "log.jsonl", "--val", self.data, "--lr", "0.01", *options)
        self.checkpoint = "c/step-00000008.safetensors"
        logged = [line for line in map(json.loads, open(f"{folder}/log.jsonl")) if "val_loss" in line]
        self.loss = logged[-1]["val_loss"]

    data = "x=x.idx,label=label.idx"

    def run(self, *arguments, fails=False):
        status, out, err = harness.run(arguments, cwd=self.folder)
        check(status == (1 if fails else 0), arguments, err)
        return out + err

    def train(self, *arguments, fails=False):
        return self.run("./program", "train", "--data", self.data, "--checkpoint-dir", "c", *arguments, fails=fails)

    def eval(self, *arguments, checkpoint=None):
        """Returns the loss, and what was said beside it."""
        status, out, err = harness.run(["./program", "eval", "--data", self.data, "--json", "--checkpoint", checkpoint or self.checkpoint, *arguments], cwd=self.folder)
        check(status == 0, err)
        return json.loads(out)["loss"], err

    def predict(self, *arguments):
        said = self.run("./program", "predict", "--data", "x=x.idx", "--out", "p.npz", "--checkpoint", self.checkpoint, *arguments)
        return np.load(f"{self.folder}/p.npz")["logits"], said

    def mpc_run(self, model, data="x.npz", *arguments):
        said = self.run(OPTIONS.bin + "/mpc", "run", model, "--data", data, "--out", "r.npz", *arguments)
        return np.load(f"{self.folder}/r.npz")["logits"], said


def printed(loss):
    """Returns a loss with the digits of `eval --json`."""
    return float(f"{loss:.9g}")


def evaluation():
    with harness.folder() as folder:
        t = Training(folder)
        check("has bytes" not in t.said, t.said)
        loss, said = t.eval()
        check(loss == printed(t.loss), loss, "is not what the training said:", t.loss)
        check(f"note: preprocessing of the checkpoint: {MADE} (--scale and --normalize change it, --scale=none and --normalize=none turn it off)" in said, said)
        check(t.eval(*OPTIONS_OF_TRAINING) == (loss, ""), "the same options are no change", t.eval(*OPTIONS_OF_TRAINING))
        raw, said = t.eval("--scale=none", "--normalize=none")
        check(raw != loss and f"note: preprocessing: none; the checkpoint was trained with: {MADE}" in said, raw, said)
        logits, said = t.predict()
        check("note: preprocessing of the checkpoint" in said, said)
        check((logits == t.predict(*OPTIONS_OF_TRAINING)[0]).all() and (logits != t.predict("--scale=none")[0]).any(), "predictions")


def resumed():
    with harness.folder() as folder:
        t = Training(folder)
        said = t.train("--steps", "12", "--resume", "--lr", "0.01")
        check(f"note: preprocessing of the checkpoint: {MADE}\n" in said, said)  # it cannot be changed here
        state = programs.checkpoint(f"{folder}/c/step-00000012.safetensors")
        os.remove(f"{folder}/c/step-00000012.safetensors")
        t.train("--steps", "12", "--resume", "--lr", "0.01", *OPTIONS_OF_TRAINING)
        check(programs.same(state, programs.checkpoint(f"{folder}/c/step-00000012.safetensors")) == [], "the options are the checkpoint's")
        said = t.train("--steps", "16", "--resume", "--scale=none", fails=True)
        check(f"error: c: the checkpoint comes from training with the preprocessing {MADE}, not x: normalize 0.1307/0.3081\nhint: leave --transform, --scale and --normalize out" in said, said)


def bytes_as_they_are():
    """Bytes that enter a network raw are noted; the checkpoint knows that this is how it was trained."""
    with harness.folder() as folder:
        t = Training(folder, options=())
        check("note: input 'x' has bytes 0…255 and enters as it is; --scale=x=0.00392157" in t.said, t.said)
        check("'label'" not in t.said, "labels are no pictures", t.said)
        loss, said = t.eval()
        check(loss == printed(t.loss) and said == "", loss, t.loss, said)
        check("note: preprocessing: x: scale 2; the checkpoint was trained with: none" in t.eval("--scale=x=2")[1])


def old_checkpoints():
    """A checkpoint without the entry loads as before."""
    with harness.folder() as folder:
        t = Training(folder)
        rewritten(f"{folder}/{t.checkpoint}", f"{folder}/old.safetensors", lambda metadata: metadata.pop("preprocessing"))
        raw, said = t.eval(checkpoint="old.safetensors")
        check(raw != printed(t.loss) and said == "", raw, said)
        check(t.eval(*OPTIONS_OF_TRAINING, checkpoint="old.safetensors") == (printed(t.loss), ""))
        rewritten(f"{folder}/{t.checkpoint}", f"{folder}/new.safetensors", lambda metadata: metadata.update(preprocessing="x\tcrop\t28"))
        status, _, said = harness.run(["./program", "eval", "--data", t.data, "--checkpoint", "new.safetensors"], cwd=folder)
        check(status == 1 and "error: new.safetensors: its preprocessing has 'crop', which is not understood here\nhint: " in said, said)
        said = t.run(OPTIONS.bin + "/mpc", "export", "model.onnx", "--checkpoint", "old.safetensors", "-o", "e.onnx", "--preprocess", fails=True)
        check("old.safetensors: does not say what its training did to the inputs" in said and not os.path.exists(f"{folder}/e.onnx"), said)


def rewritten(path, target, change):
    """Writes a copy of a checkpoint with its metadata changed, in the first format, whose header has no checksum."""
    raw = open(path, "rb").read()
    size, = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8:8 + size])
    header["__metadata__"]["format"] = "mpc-checkpoint-1"
    del header["__metadata__"]["header_crc32"]
    change(header["__metadata__"])
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(target, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + raw[8 + size:])


def metadata(path):
    return {entry.key: entry.value for entry in onnx.load(path).metadata_props}


def exported(options, made, channels):
    def case():
        with harness.folder() as folder:
            t = Training(folder, options, channels)
            expected, _ = t.predict()
            export = (OPTIONS.bin + "/mpc", "export", "model.onnx", "--checkpoint", t.checkpoint, "-o")
            said = t.run(*export, "e.onnx")
            check(f"e.onnx: the training preprocessed its inputs ({made}); mpc run does the same by the model's metadata" in said, said)
            check("x\tscale\t0.0039215686274509" in metadata(f"{folder}/e.onnx")["mpc.preprocessing"], metadata(f"{folder}/e.onnx"))
            logits, said = t.mpc_run("e.onnx")
            check(f"note: preprocessing of the model: {made} (--no-preprocess leaves it out)" in said, said)
            # Both compute in f32, where sums of some hundred products of order 1 are wrong by 2^-24 * 100.
            np.testing.assert_allclose(logits, expected, rtol=1e-5, atol=1e-5)
            raw, said = t.mpc_run("e.onnx", "x.npz", "--no-preprocess")
            check(np.abs(raw - expected).max() > 0.1 and "preprocessing" not in said, said)

            said = t.run(*export, "p.onnx", "--preprocess")
            check(f"p.onnx: preprocessing in the graph: {made}" in said, said)
            onnx.checker.check_model(f"{folder}/p.onnx", full_check=True)
            check("mpc.preprocessing" not in metadata(f"{folder}/p.onnx"), "it would be done twice")
            logits, said = t.mpc_run("p.onnx")
            check("preprocessing" not in said, said)
            np.testing.assert_allclose(logits, expected, rtol=1e-4, atol=1e-4)
            # What is exported once more says what its own training did.
            said = t.run(OPTIONS.bin + "/mpc", "check", "e.onnx", "--batch=16", "--loss=softmax_cross_entropy:logits:label")
            check("note: the model was trained on preprocessed inputs (x scale 0.0039215686274509" in said, said)
    return case


CASES = {
    "eval and predict": evaluation,
    "resume": resumed,
    "bytes as they are": bytes_as_they_are,
    "old checkpoints": old_checkpoints,
    "export": exported(OPTIONS_OF_TRAINING, MADE, 1),
    "export, per channel": exported((OPTIONS_OF_TRAINING[0], "--normalize=x=0.5:0.25,0.25:0.5"), "x: scale 0.00392157, normalize 0.5:0.25/0.25:0.5", 2),
}

if __name__ == "__main__":
    OPTIONS = harness.arguments(__doc__)
    harness.main([(f"preprocessing/{name}", case) for name, case in CASES.items()], OPTIONS.only)
