#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs ONNX's node tests (Debian's libonnx-testdata) through compiled host kernels, reports how many pass, and checks that none
fails."""
import os
import re

import numpy as np
from onnx import helper, numpy_helper

import harness
from models import FLOAT, Graph

FOLDER = "/usr/share/libonnx-testdata/data/node"
LEAST = 755


def node_tests(bin_folder):
    if not os.path.isdir(FOLDER):
        raise harness.Skip(f"no {FOLDER} (package libonnx-testdata)")
    status, out, err = harness.run([bin_folder + "/mpc-conformance", "--verbose", FOLDER], seconds=600, memory_bytes=16 << 30)
    total = re.search(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", out.strip().splitlines()[-1] if out.strip() else "")
    if not total:
        raise harness.Failure(f"status {status}, no total line\n{out[-1000:]}{err[-1000:]}")
    passed, failed, skipped = map(int, total.groups())
    failures = [line for line in out.splitlines() if line.startswith("FAIL ")]
    if failed or status or failures:
        raise harness.Failure(f"{failed} failed, status {status}\n" + "\n".join(failures))
    if passed < LEAST:
        raise harness.Failure(f"{passed} passed, fewer than {LEAST}")
    folders = sum(os.path.exists(os.path.join(FOLDER, name, "model.onnx")) for name in os.listdir(FOLDER))
    if passed + skipped != folders:
        raise harness.Failure(f"{passed} passed and {skipped} skipped of {folders} folders")
    # A skip names an op (or its domain) and says which part of it is not supported.
    unnamed = [line for line in out.splitlines() if line.startswith("SKIP ") and not re.match(r"SKIP \w+: [A-Z][\w, ]+: \S", line)]
    if unnamed:
        raise harness.Failure("skips that name no op:\n" + "\n".join(unnamed))


def relu():
    g = Graph()
    g.node("Relu", [g.input("x", [2])], "y")
    return g.output("y", [2])


def clashing():
    """Makes shapes that do not fit. Add supports all shapes that do, so a skip would hide a defect here."""
    g = Graph()
    g.node("Add", [g.input("x", [2]), g.input("z", [3])], "y")
    return g.output("y", [2])


def rounded_up():
    g = Graph(opset=18)
    g.node("LpPool", [g.input("x", [1, 1, 4, 4])], "y", kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
    return g.output("y", [1, 1, 2, 2])


def unknown():
    g = Graph()
    g.node("Frobnicate", [g.input("x", [2])], "y")
    return g.output("y", [2])


def bernoulli():
    g = Graph()
    g.node("Bernoulli", [g.input("x", [2])], "y")
    return g.output("y", [2])


def sequence():
    g = relu()
    g.inputs.append(helper.make_tensor_sequence_value_info("s", FLOAT, [2]))
    return g


X = np.float32([-1, 2])
# Each entry is a folder with one set of data: the model, the data of inputs and outputs, and what the tool says of it.
FOLDERS = {
    "right": (relu, [X], [np.maximum(X, 0)], "1 passed, 0 failed, 0 skipped"),
    "wrong": (relu, [X], [X], "FAIL case: output 0: element 0"),
    "without-data": (relu, None, None, "FAIL case: there is no test_data_set_0"),
    "more-outputs-than-the-model": (relu, [X], [np.maximum(X, 0), X], "FAIL case: set 0 has more outputs"),
    "data-that-do-not-fit": (relu, [X[:1]], [X[:1]], "SKIP case: Relu: the test data of 'x' have another shape"),
    "unknown-op": (unknown, [X], [X], "SKIP case: Frobnicate: is not supported"),
    "stated-limit": (rounded_up, [X], [X], "SKIP case: LpPool: "),
    "other-type": (sequence, [X], [X], "SKIP case: Relu: s: "),
    "random": (bernoulli, [X], [X], "SKIP case: Bernoulli: what it draws is random; shape and type are as expected"),
    "random-of-another-type": (bernoulli, [X], [X > 0], "FAIL case: output 0: another element type"),
    "known-op-that-fails": (clashing, [X], [X], "FAIL case: Add: "),
    "no-model": (b"this is no model", [X], [X], "FAIL case: "),
}


def tool(bin_folder, name):
    model, inputs, outputs, expected = FOLDERS[name]
    with harness.folder() as folder:
        os.makedirs(f"{folder}/case")
        with open(f"{folder}/case/model.onnx", "wb") as file:
            file.write(model if isinstance(model, bytes) else model().bytes())
        if inputs is not None:
            os.makedirs(f"{folder}/case/test_data_set_0")
            for kind, arrays in (("input", inputs), ("output", outputs)):
                for i, array in enumerate(arrays):
                    with open(f"{folder}/case/test_data_set_0/{kind}_{i}.pb", "wb") as file:
                        file.write(numpy_helper.from_array(array).SerializeToString())
        status, out, err = harness.run([bin_folder + "/mpc-conformance", "--verbose", folder])
        if expected not in out or status != expected.startswith("FAIL"):
            raise harness.Failure(f"status {status}, not '{expected}':\n{out}{err}")


if __name__ == "__main__":
    options = harness.arguments(__doc__)
    cases = [(f"conformance/tool-{name}", lambda name=name: tool(options.bin, name)) for name in FOLDERS]
    harness.main([("conformance/node", lambda: node_tests(options.bin)), *cases], options.only)
