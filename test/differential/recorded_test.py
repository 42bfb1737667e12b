#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Takes graphs of the differential fuzzer (recorded.json, made by record.py) through import, gradients, the evaluator after each stage, and compiled programs
in fp32 and fp16. The results are compared with torch's in float64, which are recorded, so that torch is not needed. Each result has a bound of its own;
bounds.py says where it comes from."""
import json
import os
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "tools")]
import harness  # noqa: E402
from graph import Graph  # noqa: E402
from worker import Ended, Worker  # noqa: E402

import numpy as np  # noqa: E402

SCALE = {"fp16": {"level": "O1", "scale": "static,init_scale=128"}, "fp32": {}}
WORK = [{"kind": "evaluate", "at": "autodiff", "precision": "fp32", "mode": "exact"}, {"kind": "evaluate", "at": "planned", "precision": "fp32", "mode": "exact"},
        {"kind": "evaluate", "at": "planned", "precision": "fp16", "mode": "rounded", **SCALE["fp16"]}, {"kind": "run", "precision": "fp32"},
        {"kind": "run", "precision": "fp16", **SCALE["fp16"]}]


def compare(answer, work, case):
    where = " ".join(str(work[k]) for k in ("kind", "at", "precision") if k in work)
    if not answer["ok"]:
        raise harness.Failure(f"{where}: {answer['errors']}")
    compared = 0
    for name, expected in case["expected"].items():
        want = np.array(expected["values"])
        got = answer["tensors"].get(name)
        if got is None:
            if name == "loss" or (name.startswith("grad/") and np.any(want)):
                raise harness.Failure(f"{where}: {name} is missing")
            continue
        allowed = case["allowed"][work["precision"]][name]
        if got.size != want.size or (want.size and not np.max(np.abs(got.reshape(-1) - want)) <= allowed):
            raise harness.Failure(f"{where}: {name} is {got.reshape(-1)[:4]} instead of {want[:4]}, allowed error {allowed}")
        compared += 1
    if compared < 2:
        raise harness.Failure(f"{where}: compares nothing but a loss")


def check(case):
    graph = Graph.from_json(json.dumps(case["graph"]))
    with harness.folder() as folder:
        worker = Worker(os.path.join(OPTIONS.bin, "mpc-differential"), folder, seconds=60)
        try:
            answers = worker.ask(graph, WORK)
        except Ended as ended:
            raise harness.Failure(str(ended)) from None
        finally:
            worker.stop()
    for answer, work in zip(answers, WORK):
        compare(answer, work, case)


if __name__ == "__main__":
    OPTIONS = harness.arguments(__doc__)
    with open(os.path.join(HERE, "recorded.json")) as file:
        cases = json.load(file)
    harness.main([(f"recorded/{case['name']}", lambda case=case: check(case)) for case in cases], OPTIONS.only)
