#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Changes the layouts of seeded chains (chains.py): the pass ends within its budget of rewrites, and the evaluator computes the same before and after.

`make test` runs 200 chains, `chains_test.py --build build --chains 2000` more. The evaluator computes in float64 without rounding, so that results differ by the
order of sums alone: 2^-53 times the length of the sums (below 1000) times the depth (below 20), relative to the largest element.
"""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools"))
import chains  # noqa: E402
import harness  # noqa: E402

GROUP = 20  # chains in a module, since a process costs more than a chain
TOLERANCE = 2.0 ** -53 * 1000 * 20
PIPELINES = [["--mpc-assign-orders"], ["--mpc-set-target=name=sm_80", "--mpc-assign-orders", "--canonicalize", "--cse"]]


def results(path):
    """Returns the numbers of each result of @main."""
    out = harness.must([OPTIONS.bin + "/mpc-interpret", path, "--mode=exact", "--wide"], seconds=60)
    found = []
    for line in out.splitlines():
        kind, _, numbers = line.partition(" = ")
        found.append((kind, [float(n) for n in re.findall(r"-?(?:nan|inf|[0-9][0-9.e+-]*)", numbers)]))
    return found


def compare(seeds, before, after, pipeline):
    if len(before) != len(seeds) or len(after) != len(seeds):
        raise harness.Failure(f"{len(seeds)} chains, but {len(before)} results before and {len(after)} after")
    for seed, (kind, old), (new_kind, new) in zip(seeds, before, after):
        if kind != new_kind or len(old) != len(new) or not old:
            raise harness.Failure(f"chain {seed} {pipeline}: {new_kind} instead of {kind}")
        allowed = TOLERANCE * max(1.0, max(abs(v) for v in old))
        for i, (a, b) in enumerate(zip(old, new)):
            if not abs(a - b) <= allowed:
                raise harness.Failure(f"chain {seed} {pipeline}: element {i} is {b} instead of {a}")


def check(seeds):
    with harness.folder() as folder:
        plain = f"{folder}/chains.mlir"
        with open(plain, "w") as file:
            file.write(chains.module(seeds))
        before = results(plain)
        for i, pipeline in enumerate(PIPELINES):
            changed = f"{folder}/changed{i}.mlir"
            # A pass that exceeds its budget reports it, and the limit of time stops one that never ends.
            harness.must([OPTIONS.bin + "/mpc-opt", plain, *pipeline, "-o", changed], seconds=60, memory_bytes=4 << 30)
            with open(changed) as file:
                text = file.read()
            if "channels_last" not in text:
                raise harness.Failure(f"{pipeline[0]} changed no layout of {len(seeds)} chains")
            compare(seeds, before, results(changed), pipeline[0])


if __name__ == "__main__":
    count = 200
    if "--chains" in sys.argv:
        at = sys.argv.index("--chains")
        count = int(sys.argv[at + 1])
        del sys.argv[at:at + 2]
    OPTIONS = harness.arguments(__doc__)
    groups = [list(range(first, min(first + GROUP, count))) for first in range(0, count, GROUP)]
    harness.main([(f"layout-chains/{seeds[0]}-{seeds[-1]}", lambda seeds=seeds: check(seeds)) for seeds in groups], OPTIONS.only)
