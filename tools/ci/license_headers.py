#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds source files without the licence line; --fix inserts it.

The line is a comment among the first five lines: below the title of a C++ or TableGen file (`//===- ... -===//`), below the first line of a script, otherwise first.
"""
import argparse
import os
import re
import sys

from include_rules import FOLDERS

LICENSE = "SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"
LINES = 5
# How a comment of one line is written in the files with these ends.
COMMENTS = {(".c", ".cpp", ".h", ".inc", ".td"): "// {}", (".py", ".sh", ".cmake", "CMakeLists.txt"): "# {}"}
TITLE = re.compile(r"//===-.*-(===)?//$")
ENCODING = re.compile(r"#.*coding[:=]")


def comment_of(name):
    """Returns how a comment is written in the file `name`; None if it is no source file."""
    return next((comment for ends, comment in COMMENTS.items() if name.endswith(ends)), None)


def files_below(source):
    """Returns the paths of all source files below `source`, relative to it, without the data of tests."""
    found = ["CMakeLists.txt"] if os.path.exists(os.path.join(source, "CMakeLists.txt")) else []
    for top in FOLDERS:
        for folder, folders, names in os.walk(os.path.join(source, top)):
            folders[:] = [name for name in folders if name != "Inputs"]
            found += [os.path.relpath(os.path.join(folder, name), source) for name in names if comment_of(name)]
    return sorted(found)


def has_license(lines):
    return any(LICENSE in line for line in lines[:LINES])


def with_license(name, lines):
    """Returns the lines of the file `name` with the licence line inserted."""
    first = lines[0].rstrip() if lines else ""
    comment = "/* {} */" if first.startswith("/*") else comment_of(name)
    at = 1 if first.startswith("#!") or TITLE.match(first) else 0
    if name.endswith(".py") and at < len(lines) and ENCODING.match(lines[at]):
        at += 1
    return [*lines[:at], comment.format(LICENSE) + "\n", *lines[at:]]


def read(source, path):
    with open(os.path.join(source, path), encoding="utf-8", newline="") as file:
        return file.readlines()


def violations(source):
    """Returns "FILE: has no licence line; run ..." for each source file below `source` without one."""
    return [f"{path}: has no licence line; run tools/ci/license_headers.py --fix" for path in files_below(source) if not has_license(read(source, path))]


def fix(source):
    """Inserts the licence line into each source file below `source` that lacks it."""
    for path in files_below(source):
        lines = read(source, path)
        if not has_license(lines):
            with open(os.path.join(source, path), "w", encoding="utf-8", newline="") as file:
                file.writelines(with_license(path, lines))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fix", action="store_true", help="insert the line where it is missing")
    source = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
    if parser.parse_args().fix:
        fix(source)
    found = violations(source)
    print("\n".join(found) or "every file has the licence line")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
