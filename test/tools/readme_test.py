#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs what the README shows about libraries: its command compiles the demo's network, and its C program compiles as it stands and trains."""
import os
import re
import shlex

import harness

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def c_program():
    with open(f"{SOURCE}/README.md", encoding="utf-8") as file:
        readme = file.read()
    program = re.search(r"```c\n(.*?)```", readme, re.S)[1]
    command = re.search(r"^\$ (mpc compile .*--emit=lib.*)$", readme, re.M)[1]
    build = re.search(r"^`(cc train\.c .*?)`", readme, re.M)[1]
    with harness.folder() as folder:
        harness.must(["/usr/bin/python3", f"{SOURCE}/tools/demo/make_demo.py", folder, "--train", "64", "--test", "64"])
        harness.must([f"{OPTIONS.bin}/mpc", *shlex.split(command)[1:]], cwd=folder)
        with open(f"{folder}/train.c", "w") as file:
            file.write(program)
        harness.must([*shlex.split(build), "-std=c99", "-Wall", "-Wextra", "-Werror"], cwd=folder)
        said = harness.must([f"{folder}/train"], cwd=folder)
        if not re.fullmatch(r"loss \d[\d.e-]*\n", said) or not os.path.exists(f"{folder}/trained.safetensors"):
            raise harness.Failure(said)


if __name__ == "__main__":
    OPTIONS = harness.arguments(__doc__)
    harness.main([("readme/C program", c_program)], OPTIONS.only)
