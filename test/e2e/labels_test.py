#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A compiled program trains on data with labels that the loss ignores, whether or not ignore_index is one of the classes, and refuses all other labels outside
the classes."""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import harness  # noqa: E402
from models import INT64, Graph  # noqa: E402

CLASSES, BATCH, SAMPLES = 3, 8, 20


def compiled(folder, ignore):
    """Makes x [8, 4], label [8] -> the mean loss of the labels that are not ignored."""
    g = Graph()
    g.node("Gemm", [g.input("x", [BATCH, 4]), g.weight("fc.weight", (CLASSES, 4)), g.weight("fc.bias", (CLASSES,))], "logits", transB=1)
    g.node("SoftmaxCrossEntropyLoss", ["logits", g.input("label", [BATCH], INT64)], "loss", ignore_index=ignore, reduction="mean")
    g.output("loss", []).save(f"{folder}/model.onnx")
    harness.must([OPTIONS.bin + "/mpc", "compile", "model.onnx", "-o", "program", "-q", "--cpu=x86-64-v3", "--precision=fp32", "--loss=output:loss"], cwd=folder)
    arrays = {i.name: np.frombuffer(i.raw_data, np.float32).reshape(i.dims) for i in g.proto().graph.initializer}
    return arrays["fc.weight"].astype(np.float64), arrays["fc.bias"].astype(np.float64)


def save(folder, ignore, wrong=None):
    """Writes data.npz, in which every third label is ignored. `wrong` is (sample, label)."""
    rng = np.random.default_rng(1)
    x, label = rng.normal(0, 1, (SAMPLES, 4)).astype(np.float32), rng.integers(0, CLASSES, SAMPLES)
    label[::3] = ignore
    if wrong:
        label[wrong[0]] = wrong[1]
    np.savez(f"{folder}/data.npz", x=x, label=label)
    return x, label


def mean_loss(weight, bias, x, label, ignore):
    z = x @ weight.T + bias
    logp = z - np.log(np.exp(z).sum(1, keepdims=True))
    return -np.mean([logp[i, c] for i, c in enumerate(label) if c != ignore])


def ignored(ignore):
    def case():
        with harness.folder() as folder:
            weight, bias = compiled(folder, ignore)
            x, label = save(folder, ignore)
            harness.must([f"{folder}/program", "trace", "--data", "data.npz", "--steps", "1", "--out", "trace.npz"], cwd=folder)
            loss = float(np.load(f"{folder}/trace.npz")["loss"][0])
            # f32 arithmetic rounds numbers below 4 some ten times.
            if not abs(loss - mean_loss(weight, bias, x[:BATCH], label[:BATCH], ignore)) < 1e-5:
                raise harness.Failure(f"the first batch's loss is {loss}, not {mean_loss(weight, bias, x[:BATCH], label[:BATCH], ignore)}")
            harness.must([f"{folder}/program", "train", "--data", "data.npz", "--epochs", "2"], cwd=folder)
            said = harness.must([f"{folder}/program", "eval", "--data", "data.npz"], cwd=folder)
            expected = mean_loss(weight, bias, x, label, ignore)
            if not abs(float(said.split("loss: ")[1].split()[0]) - expected) < 1e-4:  # six digits are printed
                raise harness.Failure(f"eval says {said}, not {expected}")
    return case


def refused(ignore, wrong):
    def case():
        with harness.folder() as folder:
            compiled(folder, ignore)
            save(folder, ignore, (5, wrong))
            status, out, err = harness.run([f"{folder}/program", "train", "--data", "data.npz"], cwd=folder)
            said = f"sample 5 has label {wrong}, not in [0, 3) or {ignore}"
            if status != 1 or said not in err:
                raise harness.Failure(f"status {status} without '{said}': {err}")
    return case


CASES = {
    "torch's default": ignored(-100),
    "beyond the classes": ignored(255),
    "another negative label": refused(-100, -1),
    "another large label": refused(255, 3),
}

if __name__ == "__main__":
    OPTIONS = harness.arguments(__doc__)
    harness.main([(f"labels/{name}", case) for name, case in CASES.items()], OPTIONS.only)
