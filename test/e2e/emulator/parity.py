#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares training on emulated GPUs with PyTorch's losses, gradients and curves, within the bounds of gradref.py.

usage: parity.py SHARED_DIR WORK_DIR PRECISION OPT_LEVEL NET[:ARCH]...
One program holds the plans of the host and of ARCH, or of every architecture, and each plan takes 5 steps of SGD. The script prints a line for each network and
architecture, and its exit status is 1 when a bound is broken. In `make test` every network meets every architecture in one of the precisions; `make campaigns` runs all of them.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from gradref import Reference  # noqa: E402

ARCHS = ("sm_75", "sm_80", "sm_90a")


def agrees(reference, arch, precision, what, broken=()):
    """Traces 5 steps of SGD on the emulated GPU, prints how they compare and then what is `broken`, and returns whether nothing is."""
    broken = list(broken)
    traced = reference.trace(5, "--device=emulator", f"--arch={arch}")
    gradients = reference.check_gradients(traced, precision, broken)
    curve = reference.check_curve(traced, precision, "sgd", broken)
    print(f"{what}: {gradients}, curve {curve:.1e}", flush=True)
    for each in broken:
        print(f"FAIL {what}: {each}", flush=True)
    return not broken


def end(agreements):
    """Says how many trainings agree, and ends the script."""
    print(f"{sum(agreements)} of {len(agreements)} trainings are within their bounds")
    sys.exit(0 if all(agreements) else 1)


def main():
    shared, work, precision, level, *nets = sys.argv[1:]
    os.makedirs(work, exist_ok=True)
    agreements = []
    for net, _, arch in (each.partition(":") for each in nets):
        archs = [arch] if arch else ARCHS
        reference = Reference(net, shared, work)
        reference.compile(precision, level, "sgd", "--target=host," + ",".join(archs) + ",emulator")
        for arch in archs:
            agreements.append(agrees(reference, arch, precision, f"{net} {precision} {level} {arch}"))
    end(agreements)


if __name__ == "__main__":
    main()
