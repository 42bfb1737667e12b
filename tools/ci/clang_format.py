#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Formats every C and C++ file as .clang-format says (`make format`). With --check it changes nothing: it names the files that are not formatted, and the
first place in each."""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys

from include_rules import FOLDERS

CLANG_FORMAT = "clang-format-22"  # another version formats some lines differently
SUFFIXES = (".c", ".cpp", ".h", ".inc")
COMPLAINT = re.compile(r"(.+?):(\d+):\d+: error: code should be clang-formatted")


def files_below(source):
    """Returns the paths of all C and C++ files below `source`, relative to it."""
    return sorted(os.path.relpath(os.path.join(folder, name), source) for top in FOLDERS for folder, _, names in os.walk(os.path.join(source, top))
                  for name in names if name.endswith(SUFFIXES))


def run(source, options):
    """Runs clang-format over all files below `source`, on all processors, and returns what it writes to stderr. Raises RuntimeError when it fails by itself."""
    files, chunk = files_below(source), 16

    def run_some(first):
        return subprocess.run([CLANG_FORMAT, *options, *files[first:first + chunk]], cwd=source, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        try:
            done = list(pool.map(run_some, range(0, len(files), chunk)))
        except FileNotFoundError:
            raise RuntimeError(f"{CLANG_FORMAT} is not installed; run tools/setup.sh") from None
    for part in done:
        if part.returncode != 0 and not COMPLAINT.search(part.stderr):
            raise RuntimeError(f"{CLANG_FORMAT} fails: {part.stderr}")
    return "".join(part.stderr for part in done)


def unformatted(source):
    """Returns "FILE:LINE: is not formatted; run `make format`" for the first such line of each file below `source`."""
    first = {}
    for file, line in COMPLAINT.findall(run(source, ["--dry-run", "--Werror"])):
        first.setdefault(file, line)
    return [f"{file}:{line}: is not formatted; run `make format`" for file, line in first.items()]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="only name the files that are not formatted")
    source = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
    try:
        if not parser.parse_args().check:
            run(source, ["-i"])
            return 0
        found = unformatted(source)
    except RuntimeError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print("\n".join(found) or "every file is formatted")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
