# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a network for step-report.test whose recurrence is an ONNX Scan: x [8, 6, 16] -> h = tanh(x[t] wx + h wh) [8, 32] -> logits [8, 10]."""
import os
import sys

import numpy as np
from onnx import helper

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from models import FLOAT, Graph  # noqa: E402

BATCH, TRIPS, FEATURES, HIDDEN, CLASSES = 8, 6, 16, 32, 10

net = Graph(seed=3)
net.input("x", [BATCH, TRIPS, FEATURES])
net.parameter("cell.wx", (FEATURES, HIDDEN), fan_in=FEATURES)
net.parameter("cell.wh", (HIDDEN, HIDDEN), fan_in=HIDDEN)
net.parameter("fc.weight", (CLASSES, HIDDEN), fan_in=HIDDEN)
net.parameter("fc.bias", (CLASSES,))
net.constant("h0", np.zeros((BATCH, HIDDEN), np.float32))
nodes = [helper.make_node("MatMul", ["xs", "cell.wx"], ["gx"], name="gx"), helper.make_node("MatMul", ["hs", "cell.wh"], ["gh"], name="gh"),
         helper.make_node("Add", ["gx", "gh"], ["sum"], name="sum"), helper.make_node("Tanh", ["sum"], ["h"], name="h")]
body = helper.make_graph(nodes, "body", [helper.make_tensor_value_info("hs", FLOAT, [BATCH, HIDDEN]), helper.make_tensor_value_info("xs", FLOAT, [BATCH, FEATURES])],
                         [helper.make_tensor_value_info("h", FLOAT, [BATCH, HIDDEN])])
net.node("Scan", ["h0", "x"], ["last"], body=body, num_scan_inputs=1, scan_input_axes=[1])
net.node("Gemm", ["last", "fc.weight", "fc.bias"], "logits", transB=1)
net.output("logits", [BATCH, CLASSES]).save(sys.argv[1])
