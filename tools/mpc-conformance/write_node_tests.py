#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the node tests of the installed onnx package as folders for mpc-conformance: model.onnx, and test_data_set_N with input_K.pb and output_K.pb.

usage: write_node_tests.py DIR
"""
import os
import sys

import onnx
from onnx import TensorProto, numpy_helper
from onnx.backend.test.case.node import collect_testcases


def serialised(value, declared):
    """Serialises a value as the type that the model declares for it."""
    kind = declared.type.WhichOneof("value")
    if kind == "sequence_type":
        return numpy_helper.from_list(value, declared.name)
    if kind == "optional_type":
        return numpy_helper.from_optional(value, declared.name)
    if kind == "map_type":
        return numpy_helper.from_dict(value, declared.name)
    return value if isinstance(value, TensorProto) else numpy_helper.from_array(value, declared.name)


def write(path, proto):
    with open(path, "wb") as file:
        file.write(proto.SerializeToString())


def main(folder):
    cases = collect_testcases()
    for case in cases:
        here = os.path.join(folder, case.name)
        os.makedirs(here)  # fails if the folder exists, because cases of two releases must not mix
        write(f"{here}/model.onnx", case.model)
        for i, (inputs, outputs) in enumerate(case.data_sets):
            data = f"{here}/test_data_set_{i}"
            os.makedirs(data)
            for kind, values, declared in (("input", inputs, case.model.graph.input), ("output", outputs, case.model.graph.output)):
                for k, value in enumerate(values):
                    write(f"{data}/{kind}_{k}.pb", serialised(value, declared[k]))
    print(f"{folder}: {len(cases)} node tests of onnx {onnx.__version__}, opset {onnx.defs.onnx_opset_version()}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip())
    main(sys.argv[1])
