#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the fuzz targets of the runtime's readers, each with a fixed seed for some seconds' worth of executions, and checks that the seeds in the tree are those that
the script makes.

tools/ci/fuzz.py runs these targets, and those of the compiler, for as long as one likes.
"""
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "tools"), os.path.join(HERE, "..", "..", "tools", "ci")]
import fuzz  # noqa: E402
import harness  # noqa: E402
import instrumented  # noqa: E402

# On an idle machine each of these takes one to ten seconds.
RUNS = {"npy": 150000, "npz": 50000, "idx": 150000, "safetensors": 40000, "log": 6000, "manifest": 15000, "program": 20000, "jpeg": 30000, "png": 30000,
        "tar": 10000, "list": 30000, "boxes": 30000}


def fuzzed(target):
    def case():
        if instrumented.missing():
            raise harness.Skip(instrumented.missing())
        try:
            executions, _ = fuzz.run(OPTIONS.build, target, f"-runs={RUNS[target]}", keep=False)
        except fuzz.Finding as finding:
            raise harness.Failure(str(finding)) from None
        except subprocess.CalledProcessError as error:
            raise harness.Failure(f"it cannot be built: {error.output[-4000:]}") from None
        if executions < RUNS[target]:
            raise harness.Failure(f"only {executions} executions")
    return case


def seeds_are_the_scripts():
    with harness.folder() as folder:
        harness.must(["/usr/bin/python3", "-B", os.path.join(HERE, "make_seeds.py"), folder])
        for target in fuzz.RUNTIME + ["import"]:
            # Only the names are compared: the bytes also depend on the versions of NumPy, ONNX and zlib.
            there, made = set(os.listdir(os.path.join(HERE, "seeds", target))), set(os.listdir(os.path.join(folder, target)))
            if there != made:
                raise harness.Failure(f"{target}: {sorted(there ^ made)}; run test/fuzz/make_seeds.py")


if __name__ == "__main__":
    OPTIONS = harness.arguments(__doc__)
    if not instrumented.missing():  # built once, before the cases ask for it at the same time
        try:
            instrumented.build(OPTIONS.build, "asan")
        except subprocess.CalledProcessError:
            pass  # the cases report the error
    harness.main([("fuzz/seeds", seeds_are_the_scripts)] + [(f"fuzz/{target}", fuzzed(target)) for target in fuzz.RUNTIME], OPTIONS.only)
