"""Checks the step report of LeNet at batch 8 in fp32 against numbers that follow from the network, and the host's rows against a profile."""
import json
import sys

report, profile = (json.load(open(path, encoding="utf-8")) for path in sys.argv[1:3])
targets = {target["target"]: target for target in report["step_report"]}
host, gpu = targets["host"], targets["sm_80"]

for target in (host, gpu):
    matmuls = [launch for launch in target["launches"] if launch["kind"] == "matmul"]
    # Three linear layers, forward and both gradients of each, with two operations for each multiply-add.
    assert sum(launch["flops"] for launch in matmuls) == 3 * 2 * 8 * (400 * 120 + 120 * 84 + 84 * 10), (target["target"], matmuls)
    assert all(launch["read_bytes"] > 0 for launch in matmuls), matmuls
    total = sum((launch["read_bytes"] + launch["written_bytes"]) * launch["times"] for launch in target["launches"])
    assert total == target["bytes"] and 0 < target["ideal_bytes"] <= total, (total, target["bytes"], target["ideal_bytes"])
    assert target["launch_count"] == sum(launch["times"] for launch in target["launches"])
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
