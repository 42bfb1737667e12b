#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Broken inputs: a program, a module, or an error and no file at all; never a crash.

- LeNet's file, cut and bit-flipped at 100 seeded places, goes through `mpc compile`.
- Models with a Scan, changed by mutate_scans.py, go through `mpc check`, and those that it accepts through `mpc compile --emit=mlir`.
- IR of the lit tests, changed by mutate_ir.py, goes through mpc-opt with the passes of some lit test.

test/import/BadInputTest.cpp takes thousands of mutants of other models through the import in process, and test/fuzz what a coverage-guided fuzzer makes. By hand and in `make campaigns`,
`test/tools/mutants_test.py --build build --scans 2000 --ir 3000 --first SEED` takes as many mutants as one likes.
"""
import os
import random
import sys

import harness
import models
import mutate_ir
import mutate_scans

COUNT = 100
SHORT = 60  # mutants of scans, and of IR, in `make test`
GROUP = 20  # mutants in one case


def mutants():
    """Yields (name, bytes): a third is cut, a third is flipped anywhere (nearly all of the file is weights), and a third is flipped in the structure."""
    whole = models.lenet().bytes()
    structure = whole.index(b"conv1.weight")
    choose = random.Random(97)
    for i in range(COUNT):
        if i % 3 == 0:
            length = choose.randrange(len(whole))
            yield f"cut-at-{length}", whole[:length]
            continue
        position, bit = choose.randrange(len(whole) if i % 3 == 1 else structure), choose.randrange(8)
        flipped = bytearray(whole)
        flipped[position] ^= 1 << bit
        yield f"bit-{bit}-of-{position}", bytes(flipped)


def check(content):
    with harness.folder() as folder:
        with open(f"{folder}/lenet.onnx", "wb") as file:
            file.write(content)
        status, out, err = harness.run([OPTIONS.bin + "/mpc", "compile", "lenet.onnx", "-o", "out", "--quiet", "--cpu", "x86-64-v3", "--batch", "4",
                                        "--loss", "softmax_cross_entropy:logits:label"], cwd=folder, seconds=60, memory_bytes=4 << 30, environment={"TMPDIR": folder})
        left = sorted(set(os.listdir(folder)) - {"lenet.onnx"})
        if status == 0 and left == ["out"]:
            return
        if status != 1 or "error: " not in err or "hint: " not in err or left:
            raise harness.Failure(f"status {status}, left behind: {left}\n{out[-500:]}{err[-1500:]}")


def judged(seed, status, said):
    """Raises where a command crashed or blames itself."""
    if status not in (0, 1) or "defect of mpc" in said:
        raise harness.Failure(f"seed {seed}: status {status}\n{said[-2500:]}")


def scan(seed, folder):
    with open(f"{folder}/{seed}.onnx", "wb") as file:
        file.write(mutate_scans.Mutant(seed).bytes())
    choose = random.Random(seed)
    options = ["--loss", choose.choice(["output:logits", "mse:logits:target"]), "--precision", choose.choice(["fp32", "fp16", "bf16"])] + choose.choice([[], [], ["--batch", "3"]])
    status, out, err = harness.run([OPTIONS.bin + "/mpc", "check", f"{seed}.onnx", *options], cwd=folder, seconds=60, memory_bytes=4 << 30)
    judged(seed, status, err)
    if status == 1 and ("error: " not in err or "hint: " not in err):
        raise harness.Failure(f"seed {seed}: an error without a hint\n{out[-500:]}{err[-1500:]}")
    if status == 0:
        target = choose.choice([[], ["--target", "sm_80"]])
        status, out, err = harness.run([OPTIONS.bin + "/mpc", "compile", f"{seed}.onnx", "-q", "--emit=mlir", "-o", f"{seed}.mlir", *options, *target], cwd=folder, seconds=60,
                                       memory_bytes=4 << 30)
        judged(seed, status, err)
        if status == 1 and not target:
            raise harness.Failure(f"seed {seed}: check accepts what compile refuses\n{err[-1500:]}")
    os.remove(f"{folder}/{seed}.onnx")


def ir(corpus):
    def case(seed, folder):
        path, text, passes = corpus.mutant(seed)
        with open(f"{folder}/{seed}.mlir", "w", encoding="utf-8") as file:
            file.write(text)
        status, out, err = harness.run([OPTIONS.bin + "/mpc-opt", f"{seed}.mlir", "-o", "/dev/null", *passes], cwd=folder, seconds=60, memory_bytes=4 << 30)
        # A plan that was edited by hand is what mpc-verify-arena blames the planner for.
        judged(seed, status, f"{path} {' '.join(passes)}\n{err if '--mpc-verify-arena' not in passes else err.replace('defect of mpc', 'defect')}")
        os.remove(f"{folder}/{seed}.mlir")
    return case


def group(one, seeds):
    def case():
        failures = []
        with harness.folder() as folder:
            for seed in seeds:
                try:
                    one(seed, folder)
                except harness.Failure as failure:
                    failures.append(str(failure))
        if failures:
            raise harness.Failure("\n".join(failures))
    return case


def groups(name, one, first, count):
    return [(f"mutants/{name}-{begin}", group(one, range(begin, min(begin + GROUP, first + count)))) for begin in range(first, first + count, GROUP)]


def number(option, otherwise):
    """Takes `option N` from the command line."""
    if option not in sys.argv:
        return otherwise
    at = sys.argv.index(option)
    value = int(sys.argv[at + 1])
    del sys.argv[at:at + 2]
    return value


if __name__ == "__main__":
    SCANS, IR, FIRST = number("--scans", None), number("--ir", None), number("--first", 0)
    OPTIONS = harness.arguments(__doc__)
    LONG = SCANS is not None or IR is not None
    CASES = [] if LONG else [(f"mutants/{name}", lambda content=content: check(content)) for name, content in mutants()]
    CASES += groups("scan", scan, FIRST, (SCANS or 0) if LONG else SHORT)
    CASES += groups("ir", ir(mutate_ir.Corpus()), FIRST, (IR or 0) if LONG else SHORT)
    harness.main(CASES, OPTIONS.only)
