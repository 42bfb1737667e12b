# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the casts of a report with those of the module itself. usage: explain.py REPORT.json MODULE.mlir"""
import collections
import json
import re
import sys

report = json.load(open(sys.argv[1]))
explained = collections.Counter()
for cast in report["casts"]:
    assert cast["reason"] and cast["value"] != "unknown", cast
    # In the module, casts of parameters in the forward pass have become reads of copies.
    copy = cast["phase"] == "forward" and any(other["phase"] == "update" and other["value"] == cast["value"] for other in report["casts"])
    if not copy:
        shape = "" if cast["shape"] == "scalar" else cast["shape"] + "x"
        explained[f"{shape}{cast['from']}", f"{shape}{cast['to']}"] += 1
text = open(sys.argv[2]).read()
step = text[text.index("train.step @main("):]
step = step[:step.index("train.yield")]
found = collections.Counter()
for source, target in re.findall(r"graph\.cast .*? : tensor<(\S+)> to tensor<(\S+)>", step):
    if re.search(r"b?f\d+$", source) and re.search(r"b?f\d+$", target):
        found[source, target] += 1
assert found, "the module has no casts"
assert found == explained, f"in the module only: {found - explained}, in the report only: {explained - found}"
print(f"every cast of the step is explained: {sum(found.values())}")
