#!/usr/bin/python3
"""Takes LeNet's file, cut and bit-flipped at 100 seeded places, through `mpc compile`. The result is a program, or an error and no file at all.

test/import/BadInputTest.cpp takes thousands of mutants through the same code in process.
"""
import os
import random

import harness
import models

COUNT = 100


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


if __name__ == "__main__":
    OPTIONS = harness.arguments(__doc__)
    harness.main([(f"mutants/{name}", lambda content=content: check(content)) for name, content in mutants()], OPTIONS.only)
