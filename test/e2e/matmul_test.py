#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matrix products whose batch dimensions broadcast in part are checked and compiled, and a training step has the right loss and
gradients."""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import harness  # noqa: E402
from models import Graph  # noqa: E402


def product(x_shape, w_shape):
    """Makes the case of loss = mean((x @ w)^2). The gradient of w is x^T (x @ w) 2 / count, summed over the dimensions in which w is
    broadcast."""
    def case():
        g = Graph()
        y = g.node("MatMul", [g.input("x", x_shape), g.weight("w", w_shape)], "product")
        g.node("ReduceMean", [g.node("Mul", [y, y], "square")], "loss", keepdims=0)
        g.output("loss", [])
        with harness.folder() as folder:
            g.save(f"{folder}/model.onnx")
            w = np.frombuffer(g.proto().graph.initializer[0].raw_data, np.float32).reshape(w_shape).astype(np.float64)
            x = np.random.default_rng(0).normal(0, 1, x_shape).astype(np.float32)
            np.savez(f"{folder}/data.npz", x=x)
            mpc, loss = OPTIONS.bin + "/mpc", "--loss=output:loss"
            harness.must([mpc, "check", "model.onnx", loss], cwd=folder)
            harness.must([mpc, "compile", "model.onnx", "-o", "program", "-q", "--cpu=x86-64-v3", "--precision=fp32", loss], cwd=folder)
            harness.must([f"{folder}/program", "trace", "--data", "data.npz", "--steps", "1", "--out", "trace.npz"], cwd=folder)
            traced, y = np.load(f"{folder}/trace.npz"), x @ w
            dw = np.swapaxes(x, -1, -2) @ y * 2 / y.size
            while dw.ndim > w.ndim:
                dw = dw.sum(0)
            dw = dw.sum(tuple(d for d in range(w.ndim) if w_shape[d] == 1 and dw.shape[d] != 1), keepdims=True)
            # f32 sums of some hundred products of order 1 are wrong by 2^-24 * 100, relative to their magnitude.
            for name, got, want in (("loss", traced["loss"][0], np.mean(y * y)), ("gradient", traced["grad/w"], dw)):
                if not np.allclose(got, want, rtol=1e-5, atol=1e-6):
                    raise harness.Failure(f"{name} {got}, not {want}")
    return case


CASES = {
    "shared by the outer batch": product([2, 3, 4, 5], [3, 5, 6]),
    "both in part": product([2, 1, 4, 5], [1, 3, 5, 6]),
    "shared by all": product([2, 3, 4, 5], [5, 6]),
}

if __name__ == "__main__":
    OPTIONS = harness.arguments(__doc__)
    harness.main([(f"matmul/{name}", case) for name, case in CASES.items()], OPTIONS.only)
