#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares training whose products all use wgmma with PyTorch's losses, gradients and curves, within the bounds of gradref.py.

usage: wgmma.py SHARED_DIR WORK_DIR PRECISION OPT_LEVEL NET...
The compiler would choose smaller tiles without wgmma for small products. A made-up tuning file therefore prefers wgmma wherever operands are aligned to 8 bytes,
with another tile, alone or in clusters, from product to product. The script prints a line for each network. Its exit status is 1 when a bound is broken or a
product that could use wgmma does not.
"""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from gradref import Reference, optimizer_options  # noqa: E402
from parity import agrees, end  # noqa: E402

TILES = ["128x256x64 stages=4", "256x128x64 stages=4", "128x128x64 stages=6 pingpong=1", "64x256x64 stages=4 pingpong=1", "128x192x64 stages=4",
         "128x128x64 stages=6", "64x256x64 stages=5", "128x64x64 stages=7", "64x128x64 stages=4", "64x64x64 stages=6"]
CLUSTERS = ["", " cluster_m=2", " cluster_n=2"]


def preferences(first):
    """Returns all schedules in the order of preference. They start with the `first`-th tile; the smallest tiles, which every product can use, are among
    them."""
    turned = TILES[first % len(TILES):] + TILES[:first % len(TILES)]
    schedules = [f"wgmma {tile}{cluster}" for tile in turned for cluster in CLUSTERS[first % 3:] + CLUSTERS[:first % 3]]
    return [{"schedule": schedule, "us": i + 1} for i, schedule in enumerate(schedules)]


def problems(reference, options):
    """Returns the keys of the network's products."""
    tuner = reference.program + "-tuner"
    subprocess.run(["mpc", "compile", reference.model, "--emit=tuner", "-o", tuner, "-q", *options], check=True)
    listed = subprocess.run([tuner, "--device=emulator", "--list"], check=True, text=True, stdout=subprocess.PIPE).stdout
    return re.findall(r"^(?:matmul|conv\w*) .*$", listed, re.MULTILINE)


def main():
    shared, work, precision, level, *nets = sys.argv[1:]
    os.makedirs(work, exist_ok=True)
    agreements = []
    for net in nets:
        reference = Reference(net, shared, work)
        target = ["--target=sm_90a,emulator", "--ptxas=none"]
        keys = problems(reference, [f"--precision={precision}", f"--opt-level={level}", "--loss-scale=1024", *optimizer_options("sgd", reference.info), *target])
        # Products whose operands are aligned to less than 8 bytes use mma.sync, and so does fp32.
        fed = [key for key in keys if re.search(rf" {precision.replace('fp', 'f')} ", key) and not re.search(r"gather[12]\b", key)]
        tuning = os.path.join(work, f"{net}.json")
        with open(tuning, "w") as file:
            json.dump({"format": "mpc-tuning", "version": 1, "gpu": "none", "arch": "sm_90a",
                       "problems": [{"problem": key, "candidates": preferences(i)} for i, key in enumerate(fed)]}, file)
        broken = []
        report = os.path.join(work, f"{net}.report")
        with open(report, "w") as file, open(report + ".warnings", "w") as warnings:
            subprocess.run(["mpc", "compile", reference.model, "-o", reference.program, "--kernel-report", f"--tune={tuning}", f"--precision={precision}",
                            f"--opt-level={level}", "--loss-scale=1024", *optimizer_options("sgd", reference.info), *target], check=True, stdout=file, stderr=warnings)
        with open(report) as file:
            measured = [line for line in file if "(measured)" in line]
        through = [key for key in fed if any("wgmma" in line and f"  {key}  " in line for line in measured)]
        broken += [f"not through wgmma: {key}" for key in fed if key not in through]
        if not through:
            broken.append("no product goes through wgmma")
        agreements.append(agrees(reference, "sm_90a", precision, f"{net} {precision} {level}, {len(through)} of {len(keys)} products through wgmma", broken))
    end(agreements)


if __name__ == "__main__":
    main()
