#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `predict` and `mpc run` write: they join outputs over batches where each sample has its own part, and refuse outputs in which samples mix."""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import harness  # noqa: E402
from models import Graph  # noqa: E402

FEATURES = CLASSES = BATCH = 4  # equal, so that no shape tells the dimensions apart
SAMPLES = 10


def compiled(folder, outputs, batch=BATCH):
    """Compiles x [N, 4] -> logits [N, 4], mean [4] over the batch, byclass [4, N], and writes data.npz with ten samples. Returns x and the weights."""
    g = Graph()
    g.node("Gemm", [g.input("x", ["N", FEATURES]), g.weight("fc.weight", (CLASSES, FEATURES)), g.weight("fc.bias", (CLASSES,))], "logits", transB=1)
    g.node("ReduceMean", ["logits"], "mean", axes=[0], keepdims=0)
    g.node("Transpose", ["logits"], "byclass", perm=[1, 0])
    g.output("logits", ["N", CLASSES]).output("mean", [CLASSES]).output("byclass", [CLASSES, "N"]).save(f"{folder}/model.onnx")
    if outputs is not None:
        harness.must([OPTIONS.bin + "/mpc", "compile", "model.onnx", "-o", "program", "-q", "--cpu=x86-64-v3", "--precision=fp32", "--loss=mse:logits:t", f"--batch={batch}"]
                     + ([f"--outputs={outputs}"] if outputs else []), cwd=folder)
    x = np.random.default_rng(1).normal(0, 1, (SAMPLES, FEATURES)).astype(np.float32)
    np.savez(f"{folder}/data.npz", x=x)
    arrays = {i.name: np.frombuffer(i.raw_data, np.float32).reshape(i.dims) for i in g.proto().graph.initializer}
    return x, x @ arrays["fc.weight"].T + arrays["fc.bias"]


def predict(folder, data="data.npz"):
    return harness.run([f"{folder}/program", "predict", "--data", data, "--out", "out.npz"], cwd=folder)


def expect(folder, wanted):
    found = np.load(f"{folder}/out.npz")
    if sorted(found) != sorted(wanted):
        raise harness.Failure(f"wrote {sorted(found)}, not {sorted(wanted)}")
    for name, value in wanted.items():
        # f32 arithmetic rounds numbers below 8 five times.
        if found[name].shape != value.shape or not np.allclose(found[name], value, rtol=0, atol=1e-5):
            raise harness.Failure(f"{name} is {found[name]}, not {value}")


def joined(batch):
    def case():
        with harness.folder() as folder:
            _, logits = compiled(folder, "logits", batch)
            status, _, err = predict(folder)
            if status != 0:
                raise harness.Failure(err)
            expect(folder, {"logits": logits})
    return case


def refused(output, shape, batch=BATCH):
    def case():
        with harness.folder() as folder:
            compiled(folder, output, batch)
            status, _, err = predict(folder)
            said = f"output '{output}' {shape} has no part for each sample"
            if status != 1 or said not in err or "--outputs" not in err or os.path.exists(f"{folder}/out.npz"):
                raise harness.Failure(f"status {status} without '{said}': {err}")
    return case


def one_batch():
    with harness.folder() as folder:
        x, logits = compiled(folder, "")
        np.savez(f"{folder}/one.npz", x=x[:BATCH])
        status, _, err = predict(folder, "one.npz")
        if status != 0:
            raise harness.Failure(err)
        logits = logits[:BATCH]
        expect(folder, {"logits": logits, "mean": logits.mean(0), "byclass": logits.T})


def batch_of_the_input():
    """`mpc run` takes the batch size from the network's input, whatever else the file holds."""
    with harness.folder() as folder:
        x, logits = compiled(folder, None)
        np.savez(f"{folder}/data.npz", x=x, aux=np.zeros(3, np.float32), zeros=np.zeros((2, 2), np.float32))
        harness.must([OPTIONS.bin + "/mpc", "run", "model.onnx", "--data", "data.npz", "--out", "out.npz"], cwd=folder)
        expect(folder, {"logits": logits, "mean": logits.mean(0), "byclass": logits.T})


CASES = {
    **{f"predict/joined-{batch}": joined(batch) for batch in (4, 1, 5, 16)},
    "predict/mean-over-the-batch": refused("mean", "[4]"),
    "predict/batch-last": refused("byclass", "[4,4]"),
    "predict/mean-over-a-batch-of-one": refused("mean", "[4]", 1),
    "predict/more-than-the-data": refused("mean", "[4]", 16),
    "predict/one-batch": one_batch,
    "run/batch-of-the-input": batch_of_the_input,
}

if __name__ == "__main__":
    OPTIONS = harness.arguments(__doc__)
    harness.main(list(CASES.items()), OPTIONS.only)
