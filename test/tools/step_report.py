# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks the reports of `mpc compile --kernel-report=json` against numbers that follow from the networks, at batch 8 in fp32.

step_report.py REPORT PROFILE   the steps of LeNet, and the host's rows against a profile
step_report.py --scan REPORT    the steps of the network of step_report_model.py
step_report.py --tuner REPORT   its tuner, whose entries are the schedules of its products
"""
import json
import sys


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def checked_targets(path):
    """Returns the targets of a report by name, after the checks that hold for each."""
    targets = {target["target"]: target for target in read(path)["step_report"]}
    for target in targets.values():
        total = sum((launch["read_bytes"] + launch["written_bytes"]) * launch["times"] for launch in target["launches"])
        assert total == target["bytes"] and 0 < target["ideal_bytes"] <= total, (total, target["bytes"], target["ideal_bytes"])
        assert target["launch_count"] == sum(launch["times"] for launch in target["launches"])
        assert {launch["entry"] for launch in target["launches"]} == set(target["entries"]), target["entries"]
    return targets


def products(target):
    """Returns the launches that multiply matrices."""
    matmuls = [launch for launch in target["launches"] if launch["kind"] == "matmul"]
    assert all(launch["read_bytes"] > 0 for launch in matmuls), matmuls
    return matmuls


def check_scan(path):
    trips, cell, hidden, classes = 6, (16 + 32) * 32, 32 * 32, 32 * 10
    for target in checked_targets(path).values():
        inside = [launch for launch in products(target) if launch["times"] == trips]
        # In each iteration: two products, and the gradient of the carried value. Behind the scan there are the gradients of both matrices, for all iterations, and a linear layer.
        assert sum(launch["flops"] for launch in inside) == 2 * 8 * (cell + hidden), inside
        assert sum(launch["flops"] * launch["times"] for launch in products(target)) == 2 * 8 * (trips * (2 * cell + hidden) + 3 * classes), target["target"]


def check_tuner(path):
    tuner = checked_targets(path)["sm_80"]
    assert len(tuner["entries"]) > 1
    # The network's sums are too short to be split, so the launches are nothing but products and move what these need.
    assert products(tuner) == tuner["launches"] and tuner["bytes"] == tuner["ideal_bytes"], tuner


if sys.argv[1] in ("--scan", "--tuner"):
    {"--scan": check_scan, "--tuner": check_tuner}[sys.argv[1]](sys.argv[2])
    sys.exit(0)

targets, profile = checked_targets(sys.argv[1]), read(sys.argv[2])
host, gpu = targets["host"], targets["sm_80"]
assert host["entries"] == ["main"], host["entries"]

for target in (host, gpu):
    # Three linear layers, forward and both gradients of each, with two operations for each multiply-add.
    assert sum(launch["flops"] for launch in products(target)) == 3 * 2 * 8 * (400 * 120 + 120 * 84 + 84 * 10), (target["target"], products(target))
# Both targets compute the same products, but for channels that a GPU's kernels pad.
assert 1 <= gpu["flops"] / host["flops"] <= 2, (gpu["flops"], host["flops"])

# The longer of moving and computing, and what starting costs: no launch is expected to take less than 3 microseconds.
for launch in gpu["launches"]:
    assert launch["A100 us"] >= 3 and launch["A100 80GB us"] <= launch["A100 us"], launch
    moved = (launch["read_bytes"] + launch["written_bytes"]) / (0.9 * 1555e9)
    assert launch["A100 us"] >= 3 + moved * 1e6 - 1e-6, launch
assert abs(gpu["expected_ms"]["A100"] - sum(launch["A100 us"] * launch["times"] for launch in gpu["launches"]) * 1e-3) < 1e-9

# The program's profile has the host's launches with the same numbers.
measured = sorted((launch["kind"], launch["name"], launch["bytes"], launch["flops"]) for launch in profile["launches"])
expected = sorted((launch["kind"], launch["dispatch"], launch["read_bytes"] + launch["written_bytes"], launch["flops"]) for launch in host["launches"])
assert measured == expected, (measured, expected)
