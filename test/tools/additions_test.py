#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What docs/how-to-add.md asks for in tests and documents, and nothing else would miss, is there for each op of the graph dialect, each optimizer and each GPU.

Files are searched for names; what they say of them is not looked at. docs/dialects/graph.md, which docs.test holds against the definitions, names the ops, and
`mpc compile --help` names the optimizers and the GPUs.
"""
import glob
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
LOOP = "a loop: test/gradients/ScanCases.cpp and test/e2e/scan_test.py compare it with its iterations"
# The ops that have no such test, and why.
NO_NUMBER = {"scan": LOOP, "scan_yield": LOOP}
NO_KERNEL = {"scan": LOOP, "scan_yield": LOOP, "barrier": "no launch"}


def read(*patterns):
    """Returns the text of all files of the source that match one of the patterns."""
    texts = []
    for path in [path for pattern in patterns for path in sorted(glob.glob(os.path.join(SOURCE, pattern)))]:
        with open(path, encoding="utf-8") as file:
            texts.append(file.read())
    return "\n".join(texts)


def listed(pattern, text, known):
    """Returns all matches of the pattern. Fails unless `known`, which has always been there, is one of them."""
    names = sorted(set(re.findall(pattern, text, re.MULTILINE)))
    if known not in names:
        raise harness.Failure(f"found the names {names}, without {known}")
    return names


def ops():
    return listed(r"^### `graph\.(\w+)`", read("docs/dialects/graph.md"), "add")


def help_text():
    return " ".join(harness.must([OPTIONS.bin + "/mpc", "compile", "--help"]).split())


def optimizers():
    return listed(r"[:;] (\w+) \([^()]*\blr=", help_text(), "sgd")


def gpus():
    return listed(r"\bsm_\d+[a-z]?", help_text(), "sm_80")


def expect(names, pattern, text, where, exceptions=()):
    """Fails for names, other than exceptions, for which the text has no match of the pattern, and for exceptions that have one. NAME stands for the name."""
    found = {name for name in names if re.search(pattern.replace("NAME", name), text, re.MULTILINE)}
    problems = [f"{name} is not in {where}" for name in names if name not in found and name not in exceptions]
    problems += [f"{name} is in {where} now, and no exception any more" for name in exceptions if name in found]
    if problems:
        raise harness.Failure("; ".join(problems))


def compiled_ops():
    # A name is written as a whole, or as that of a reduction behind "graph.reduce_".
    text = re.sub(r'"(\w+)"', r'"\1" "reduce_\1"', read("test/codegen/*Test.cpp", "test/heroes/*.cpp"))
    expect(ops(), r'\bgraph\.NAME\b|"NAME"', text, "test/codegen (contractions: test/heroes)", NO_KERNEL)


CASES = [
    ("graph ops: syntax", lambda: expect(ops(), r"CHECK.*\bgraph\.NAME\b", read("test/dialects/Graph/round-trip.mlir", "test/dialects/Graph/scan.mlir"),
                                         "a CHECK line of test/dialects/Graph/round-trip.mlir")),
    ("graph ops: numbers", lambda: expect(ops(), r"= graph\.NAME\b", read("test/dialects/Graph/interpret/*.mlir"), "test/dialects/Graph/interpret", NO_NUMBER)),
    ("graph ops: compiled code", compiled_ops),
    ("optimizers: formulas", lambda: expect(optimizers(), r"#train\.optimizer<NAME\b", read("test/passes/Numeric/*OptimizersTest.cpp"),
                                            "test/passes/Numeric/*OptimizersTest.cpp")),
    ("optimizers: files", lambda: expect(optimizers(), r"(?i)`NAME\.cpp`", read("dialects/Train/Optimizers/README.md"), "dialects/Train/Optimizers/README.md")),
    ("GPUs: documents", lambda: expect(gpus(), r"^\| .*`NAME`", read("docs/gpu.md"), "the table of docs/gpu.md")),
    ("GPUs: PTX of a program", lambda: expect(gpus(), r"RUN: .*--emit=ptx .*\bNAME\b", read("test/tools/emit-gpu.test"), "test/tools/emit-gpu.test")),
]

OPTIONS = harness.arguments(__doc__)
harness.main(CASES)
