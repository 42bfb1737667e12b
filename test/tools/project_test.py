#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the version that CMake states with those of the tools, the documents and the CMake package."""
import os
import re

import harness

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")


def found(pattern, path, folder=SOURCE):
    """Returns the groups of the first match of `pattern` in a file."""
    with open(os.path.join(folder, path), encoding="utf-8") as file:
        match = re.search(pattern, file.read(), re.MULTILINE)
    if not match:
        raise harness.Failure(f"{path} has no {pattern}")
    return match.groups()


def expect(what, said, expected):
    if said != expected:
        raise harness.Failure(f"{what}: {said}, expected {expected}")


def version():
    return found(r"^project\(mpc VERSION (\S+)", "CMakeLists.txt")[0]


def tools():
    expect("mpc --version", harness.must([f"{OPTIONS.bin}/mpc", "--version"]), f"mpc {version()}\n")
    expect("the CMake package", found(r'set\(PACKAGE_VERSION "(.*?)"\)', "mpc-config-version.cmake", OPTIONS.build), (version(),))


def documents():
    released = found(r"^## \[(\d+\.\d+\.\d+)\] - (\d{4}-\d\d-\d\d)$", "CHANGELOG.md")
    expect("the newest version of CHANGELOG.md", released[0], version())
    expect("CITATION.cff", found(r'^version: (\S+)\ndate-released: "(\S+)"$', "CITATION.cff"), released)


if __name__ == "__main__":
    OPTIONS = harness.arguments(__doc__)
    harness.main([("project/tools", tools), ("project/documents", documents)], OPTIONS.only)
