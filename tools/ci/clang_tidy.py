#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs clang-tidy over the C++ files of a build's compile_commands.json, on all processors, and prints its findings (.clang-tidy names the checks).

A precompiled header of clang's hardly helps: it makes parsing 5 seconds shorter, but the checks then take 3 to 4 seconds more, to read its declarations.
"""
import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import time

CLANG_TIDY = "clang-tidy-22"  # older ones do not parse MLIR 22


def compiled_files(source, build):
    """Returns the paths, relative to `source`, of the files that the build compiles, without those that it generates."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as commands:
        paths = {os.path.relpath(command["file"], source) for command in json.load(commands)}
    return sorted(path for path in paths if not path.startswith("..") and not os.path.join(source, path).startswith(build + os.sep))


def changed_files(source, revision):
    """Returns the paths of the files that differ from a revision of git, those that git does not know among them."""
    listed = [subprocess.check_output(["git", *command], cwd=source, text=True).splitlines()
              for command in (["diff", "--name-only", "--relative", revision], ["ls-files", "--others", "--exclude-standard"])]
    return set(listed[0] + listed[1])


def includer(source, header, files):
    """Returns a file that includes the header, its own .cpp if there is one; None if none includes it."""
    def includes(path):
        with open(os.path.join(source, path), encoding="utf-8") as file:
            return re.search(f'#include "(.*/)?{re.escape(os.path.basename(header))}"', file.read())

    stem = os.path.splitext(header)[0]
    return next(filter(includes, sorted(files, key=lambda path: os.path.splitext(path)[0] != stem)), None)


def tidy(source, build, path):
    """Returns whether clang-tidy finds nothing in a file, what it printed, and the seconds that it took."""
    start = time.monotonic()
    done = subprocess.run([CLANG_TIDY, "-p", build, "--quiet", path], cwd=source, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    # stderr only counts the findings that are suppressed, unless clang-tidy itself fails.
    return done.returncode == 0, done.stdout or (done.stderr if done.returncode else ""), time.monotonic() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="build folder in which the target mpc-tablegen has been built")
    parser.add_argument("--changed", metavar="REVISION", help="only the files that differ from this revision of git, and for each such header a file that includes it")
    parser.add_argument("files", nargs="*", metavar="FILE", help="only these files")
    arguments = parser.parse_args()
    source = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
    build = os.path.abspath(arguments.build)
    files = compiled_files(source, build)
    if arguments.files:
        named = [os.path.relpath(os.path.abspath(file), source) for file in arguments.files]
        unknown = sorted(set(named) - set(files))
        if unknown:
            parser.error(f"the build does not compile {', '.join(unknown)}")
        files = named
    if arguments.changed:
        changed = changed_files(source, arguments.changed)
        changed |= {includer(source, path, files) for path in changed if path.endswith((".h", ".inc"))}
        files = [file for file in files if file in changed]

    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for file, (clean, output, seconds) in zip(files, pool.map(lambda file: tidy(source, build, file), files)):
            print(f"{'ok' if clean else 'FAIL'} {file} ({seconds:.0f} s)\n{'' if clean else output}", end="", flush=True)
            failed += not clean
    print(f"clang-tidy: {len(files) - failed} files are clean, {failed} are not")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
