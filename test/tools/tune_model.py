# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the model of tune.test and works on its tuning files.

tune_model.py MODEL.onnx                     x [64, 256] -> fc1 [64, 64], two layers
tune_model.py --slowest TUNED.json OUT.json  reverses the order of the times; prints "PROBLEM\tSCHEDULE" of what is fastest now
tune_model.py --check CHOSEN REPORT          fails unless the report has those schedules, as measured
"""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "models"))
from network import Network  # noqa: E402


def model(path):
    net = Network("pair")
    net.output(net.linear(net.relu(net.linear(net.input("x", [64, 256]), "fc0", 256, 256), "relu"), "fc1", 256, 64), [64, 64])
    net.save(path)


def slowest(path, out):
    with open(path) as file:
        tuning = json.load(file)
    for problem in tuning["problems"]:
        for candidate in problem["candidates"]:
            candidate["us"] = 1 / candidate["us"]
        best = min(problem["candidates"], key=lambda candidate: candidate["us"])
        print(problem["problem"], best["schedule"], sep="\t")
    with open(out, "w") as file:
        json.dump(tuning, file)


def check(chosen, report):
    with open(report) as file:
        lines = file.read().splitlines()
    with open(chosen) as file:
        pairs = [line.rstrip("\n").split("\t") for line in file]
    assert pairs
    for problem, schedule in pairs:
        assert any(f"  {schedule} (measured)  " in line and f"  {problem}  " in line for line in lines), (problem, schedule)
        assert any(line.endswith(f"[{schedule}]") for line in lines), schedule


if __name__ == "__main__":
    {"--slowest": slowest, "--check": check}.get(sys.argv[1], model)(*sys.argv[2 if sys.argv[1].startswith("--") else 1:])
