#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs graphs on rows that a mask chooses, whose number the compiler does not know, and compares with numpy; what would read rows that are not there is refused, with a located error.

Each graph has x [6,2], mask [6], and `rows`, x without the rows where the mask is false; then come the nodes of the case. A part of the masks is true nowhere or everywhere.
"""
import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import harness  # noqa: E402

MASKS = ([1, 0, 1, 1, 0, 1], [0, 0, 0, 0, 1, 0], [1] * 6)
SUM = ("ReduceSum", ["y"], "out", {"keepdims": 0})

# nodes (op, inputs, output, attributes), constants, and what numpy computes from the rows that are there
CASES = {
    "vector": ([("MatMul", ["rows", "v"], "y"), ("ReduceMean", ["y"], "out", {"keepdims": 0})], {"v": np.array([0.5, 2], np.float32)}, lambda r, c: (r @ c["v"]).mean()),
    "matrix": ([("MatMul", ["rows", "w"], "y"), ("ReduceMax", ["y"], "out", {"axes": [0], "keepdims": 0})], {"w": np.arange(6, dtype=np.float32).reshape(2, 3) - 2}, lambda r, c: (r @ c["w"]).max(0)),
    "stack-by-vector": ([("Unsqueeze", ["rows", "zero"], "s"), ("MatMul", ["s", "v"], "y"), SUM], {"zero": np.array([0]), "v": np.array([1, 3], np.float32)}, lambda r, c: (r @ c["v"]).sum()),
    "smallest-integer": ([("Cast", ["rows"], "i", {"to": TensorProto.INT64}), ("ReduceMin", ["i"], "out", {"axes": [0], "keepdims": 0})], {}, lambda r, c: r.astype(np.int64).min(0)),
    "place-of-smallest": ([("Cast", ["rows"], "i", {"to": TensorProto.INT64}), ("ArgMin", ["i"], "out", {"axis": 0, "keepdims": 0})], {}, lambda r, c: r.astype(np.int64).argmin(0)),
    "norm-and-logarithm": ([("ReduceL2", ["rows"], "n", {"axes": [1], "keepdims": 1}), ("Exp", ["n"], "e"), ("ReduceLogSumExp", ["e"], "out", {"axes": [0], "keepdims": 0})], {},
                           lambda r, c: np.log(np.exp(np.exp(np.linalg.norm(r, axis=1, keepdims=True)) - np.exp(np.linalg.norm(r, axis=1)).max()).sum(0)) + np.exp(np.linalg.norm(r, axis=1)).max()),
    "softmax-of-rows": ([("Softmax", ["rows"], "p", {"axis": 1}), ("ReduceProd", ["p"], "out", {"axes": [0], "keepdims": 0})], {}, lambda r, c: (np.exp(r) / np.exp(r).sum(1, keepdims=True)).prod(0)),
    "elements": ([("Reshape", ["rows", "all"], "y"), ("CumSum", ["y", "zero"], "s"), ("ReduceMax", ["s"], "out", {"keepdims": 0})], {"all": np.array([-1]), "zero": np.array(0)}, lambda r, c: np.cumsum(r).max()),
    "first-rows": ([("Shape", ["rows"], "shape"), ("Gather", ["shape", "zero"], "count"), ("Slice", ["rows", "from", "count", "zero"], "y"), SUM], {"zero": np.array([0]), "from": np.array([0])}, lambda r, c: r.sum()),
    "columns": ([("Split", ["rows"], ["a", "b"], {"axis": 1}), ("Mul", ["a", "b"], "y"), SUM], {}, lambda r, c: (r[:, 0] * r[:, 1]).sum()),
    "count": ([("Shape", ["rows"], "shape"), ("Gather", ["shape", "zero"], "count"), ("Cast", ["count"], "n", {"to": TensorProto.FLOAT}), ("Mul", ["rows", "n"], "y"), SUM], {"zero": np.array([0])}, lambda r, c: r.sum() * len(r)),
    "two-chosen-alike": ([("Compress", ["x", "mask"], "again", {"axis": 0}), ("Mul", ["rows", "again"], "y"), SUM], {}, lambda r, c: (r * r).sum()),
}
REFUSED = {
    "longer-rows": ([("Resize", ["rows", "", "scales"], "y", {"mode": "nearest"}), SUM], {"scales": np.array([2, 1], np.float32)}, "'Resize' (opset 17): it changes the number of rows"),
    "last-of-equal": ([("ArgMax", ["rows"], "out", {"axis": 0, "select_last_index": 1})], {}, "'ArgMax' (opset 17): of equal elements it takes the last one"),
    "matrix-for-each": ([("Unsqueeze", ["rows", "one"], "s"), ("MatMul", ["s", "w"], "y"), SUM], {"one": np.array([1]), "w": np.ones((6, 2, 3), np.float32)}, "'MatMul' (opset 17): each matrix has one of its own"),
    "computed-shape": ([("Shape", ["rows"], "shape"), ("NonZero", ["mask"], "n"), ("Reshape", ["n", "all"], "to"), ("Reshape", ["x", "to"], "out")], {"all": np.array([-1])}, "'Reshape' (opset 17): the data say how many elements input 1 has"),
    "sorted": ([("TopK", ["rows", "two"], ["out", "i"], {"axis": 0})], {"two": np.array([2])}, "'TopK' (opset 17): an input has as many rows as the data say"),
    "normalised-together": ([("BatchNormalization", ["rows", "v", "v", "v", "v"], "y"), SUM], {"v": np.ones(2, np.float32)}, "'BatchNormalization' (opset 17): an input has as many rows as the data say"),
}


def write(folder, nodes, constants):
    made = [helper.make_node("Compress", ["x", "mask"], ["rows"], "rows", axis=0)]
    for op, inputs, output, *attributes in nodes:
        outputs = output if isinstance(output, list) else [output]
        made.append(helper.make_node(op, inputs, outputs, outputs[0], **(attributes[0] if attributes else {})))
    graph = helper.make_graph(made, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [6, 2]), helper.make_tensor_value_info("mask", TensorProto.BOOL, [6])],
                              [onnx.ValueInfoProto(name="out")], [numpy_helper.from_array(value, name) for name, value in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), f"{folder}/model.onnx")


def run(folder):
    return harness.run([OPTIONS.bin + "/mpc", "run", "model.onnx", "--data", "data.npz", "--out", "out.npz"], cwd=folder)


def computed(name):
    def case():
        nodes, constants, wanted = CASES[name]
        x = np.array([[-4, 3], [9, 9], [1, 7], [2, 2], [-9, -8], [6, 5]], np.float32)
        with harness.folder() as folder:
            write(folder, nodes, constants)
            for mask in MASKS:
                mask = np.array(mask, bool)
                np.savez(f"{folder}/data.npz", x=x / (8 if "exp" in str(nodes).lower() else 1), mask=mask)
                status, _, said = run(folder)
                if status:
                    raise harness.Failure(said)
                found, right = np.load(f"{folder}/out.npz")["out"], wanted(np.load(f"{folder}/data.npz")["x"][mask], constants)
                if found.shape != np.shape(right) or not np.allclose(found, right, rtol=1e-5, atol=1e-6):
                    raise harness.Failure(f"{mask.astype(int)}: {found}, not {right}")
    return case


def refused(name):
    def case():
        nodes, constants, why = REFUSED[name]
        with harness.folder() as folder:
            write(folder, nodes, constants)
            np.savez(f"{folder}/data.npz", x=np.zeros((6, 2), np.float32), mask=np.ones(6, bool))
            status, _, said = run(folder)
            if status != 1 or why not in said or "hint: " not in said:
                raise harness.Failure(f"status {status}: {said}")
    return case


if __name__ == "__main__":
    OPTIONS = harness.arguments(__doc__)
    harness.main([(f"masked-rows/{name}", computed(name)) for name in CASES] + [(f"masked-rows/refused/{name}", refused(name)) for name in REFUSED], OPTIONS.only)
