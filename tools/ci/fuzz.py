#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the fuzz targets (test/fuzz), each for some seconds or executions, from the seeds in the tree and the interesting inputs of earlier runs.

usage: tools/ci/fuzz.py --build build [--seconds 600 | --runs 1000000] [--seed N] [TARGET...]

Without targets it runs all of them, including the compiler's, whose sources are compiled anew with clang: that takes a while the first time. It keeps
interesting inputs in BUILD/fuzz/TARGET and failing ones in BUILD/fuzz/TARGET.found: run `BUILD/instrumented/asan/bin/fuzz-TARGET FILE` (compiler instead of asan for the
compiler's targets) to see a failure again. Exits with status 1 when an input fails. `make test` runs the runtime's targets for a fixed number of executions with a fixed seed
(test/fuzz/fuzz_test.py).
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import time

import instrumented

SOURCE = os.path.abspath(instrumented.SOURCE)
RUNTIME = ["npy", "npz", "idx", "safetensors", "log", "manifest", "program", "jpeg", "png", "tar", "list", "boxes"]
COMPILER = ["import", "mlir"]
LIMITS = ["-max_len=8192", "-timeout=60", "-rss_limit_mb=2048", "-malloc_limit_mb=512"]


class Finding(Exception):
    """An input that fails; the text is libFuzzer's message."""


def seeds(target, scratch):
    """Returns the folder of a target's seeds. The seeds of the MLIR parser are the dialects' own tests, cut into their parts."""
    if target != "mlir":
        return os.path.join(SOURCE, "test", "fuzz", "seeds", target)
    folder = os.path.join(scratch, "mlir.seeds")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    for parent, _, files in os.walk(os.path.join(SOURCE, "test", "dialects")):
        for name in files:
            if not name.endswith(".mlir"):
                continue
            with open(os.path.join(parent, name), encoding="utf-8") as file:
                text = file.read()
            # A function is a part as well; its first line has no indentation.
            for i, part in enumerate(re.split(r"^// -----.*$|^(?=func\.func|module)", text, flags=re.M)):
                code = "\n".join(line for line in part.splitlines() if not line.lstrip().startswith("//"))
                if code.strip():
                    with open(os.path.join(folder, f"{os.path.relpath(parent, SOURCE).replace('/', '-')}-{name}-{i}"), "w", encoding="utf-8") as out:
                        out.write(code)
    return folder


def run(build, target, budget, seed=1, keep=True):
    """Returns (executions, seconds). budget: libFuzzer's option, such as -runs=1000. keep: whether to read the corpus of earlier runs and add to it. Raises Finding."""
    folder = os.path.join(instrumented.build(build, "compiler", [f"fuzz-{target}"]) if target in COMPILER else instrumented.build(build, "asan"), "bin")
    scratch = os.path.join(os.path.abspath(build), "fuzz")
    # libFuzzer adds to the first folder it is given, which must not be the seeds.
    found, corpus = os.path.join(scratch, target + ".found"), os.path.join(scratch, target if keep else target + ".once")
    if not keep:
        shutil.rmtree(corpus, ignore_errors=True)
    for path in (found, corpus):
        os.makedirs(path, exist_ok=True)
    command = [os.path.join(folder, "fuzz-" + target), *LIMITS, budget, f"-seed={seed}", "-print_final_stats=1", f"-artifact_prefix={found}/"]
    start = time.monotonic()
    # LLVM's libraries are not instrumented: in the allocators that our code shares with them, ASan sees what one side poisons but not that the other uses it again.
    shared = {"ASAN_OPTIONS": "allow_user_poisoning=0:detect_container_overflow=0"} if target in COMPILER else {}
    done = subprocess.run(command + [corpus, seeds(target, scratch)], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, cwd=scratch, env=dict(os.environ, **shared))
    text = done.stdout.decode(errors="replace")
    executions = re.search(r"stat::number_of_executed_units: (\d+)", text)
    if done.returncode != 0 or not executions:
        raise Finding(text[-6000:])
    return int(executions.group(1)), time.monotonic() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--seconds", type=int, default=60, help="of each target")
    parser.add_argument("--runs", type=int, help="executions of each target, instead of seconds")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(RUNTIME + COMPILER))
    options = parser.parse_args()
    if unknown := set(options.targets) - set(RUNTIME + COMPILER):
        parser.error(f"no target {', '.join(sorted(unknown))}; there are {', '.join(RUNTIME + COMPILER)}")
    if instrumented.missing():
        sys.exit(f"error: {instrumented.missing()}")
    budget = f"-runs={options.runs}" if options.runs else f"-max_total_time={options.seconds}"
    failed = 0
    for target in options.targets or RUNTIME + COMPILER:
        try:
            executions, seconds = run(options.build, target, budget, options.seed)
            print(f"{target}: {executions} executions in {seconds:.0f} s, nothing found", flush=True)
        except Finding as finding:
            failed += 1
            print(f"{finding}\n{target}: an input fails; it is in {options.build}/fuzz/{target}.found", flush=True)
        except subprocess.CalledProcessError as error:
            failed += 1
            print(f"{error.output}\n{target}: it cannot be built", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
