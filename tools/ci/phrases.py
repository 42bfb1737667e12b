#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds phrases that readers stumbled over, and says what to write in their place. A phrase is found in any case, and also where it wraps over lines
of a comment, of a table or of a string. Whoever replaces another phrase adds it here.
"""
import bisect
import os
import re
import subprocess
import sys

from include_rules import FOLDERS

# The part by which each phrase is known, and the better wording.
PHRASES = [
    ("no GPU has been at hand", "this has not run on a GPU yet"),
    ("what is open stands in", "known gaps are in"),
    ("on a driver that is none", "on a fake driver"),
    ("wherever operands come in", "where operands are aligned to"),
    ("low precision of the network", "compute precision of the network"),
    ("how parameters without a value", "initializer for parameters that have no value"),
    ("holds none yet, except with", "must hold no checkpoint unless --resume is given"),
    ("no parameter's place", "not trained: it is an input of"),
    ("how many times larger than while", "safety factor over the largest calibrated gradient"),
    ("GPU that has not the memory", "GPU without enough memory"),
    ("of the time of what is not slowest", "the fraction of the faster phases' time that is not overlapped by the slowest phase"),
    ("does not hide behind the slowest", "is not overlapped by the slowest"),
    ("shall hold at once", "must hold at once; 0 means no requirement"),
    ("said also where it is one", "the attribute is written even when its value is one"),
    ("is not a size, or none", "is not a valid size"),
    ("measures and takes no measurements", "cannot be used with --emit=tuner"),
    ("random numbers that are no dropout's", "random ops other than dropout"),
    ("for learn what any of them knows", "joins the clocks of"),
    ("the state of so many columns", "initial accumulators of `columns` columns"),
    ("piece of shared memory too many", "exceeds the limit of N shared allocations"),
    ("is said here alone", "only this file defines"),
]
# What stands around the text of a line: comment markers, the bars of tables, and the quotes of a string that goes on in the next line.
BEFORE = re.compile(r'^(?:\s|/{2,}<?|/?\*+|#+|\||")+')
AFTER = re.compile(r'(?:\s|\*/|\||"|\\)+$')


def files_of(source):
    """Returns the paths of the files that git tracks, relative to `source`; where it tracks none, of those in the folders of the sources."""
    try:
        done = subprocess.run(["git", "ls-files", "-z"], cwd=source, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        tracked = done.stdout.split("\0")[:-1]
    except FileNotFoundError:
        tracked = []
    if not tracked:  # an archive of the sources
        tracked = os.listdir(source)
        for top in FOLDERS + ("docs",):
            tracked += [os.path.relpath(os.path.join(folder, name), source) for folder, _, names in os.walk(os.path.join(source, top)) for name in names]
    return sorted(path for path in tracked if os.path.isfile(os.path.join(source, path)))


def joined(lines):
    """Returns the text of the lines with one space for each gap, and the offset at which each line begins in it."""
    begins, parts, length = [], [], 0
    for line in lines:
        part = " ".join(AFTER.sub("", BEFORE.sub("", line)).split())
        begins.append(length)
        if part:  # a line without text begins where the next one does
            parts.append(part)
            length += len(part) + 1
    return " ".join(parts), begins


def found_in(lines):
    """Returns (line, phrase, better wording) for each phrase in the lines, in their order."""
    text, begins = joined(lines)
    text = text.lower()
    found = []
    for phrase, better in PHRASES:
        at = text.find(phrase.lower())
        while at >= 0:
            found.append((bisect.bisect_right(begins, at), phrase, better))
            at = text.find(phrase.lower(), at + 1)
    return sorted(found)


def violations(source):
    """Returns 'FILE:LINE: says "PHRASE"; write "BETTER"' for each phrase in the files of `source`, other than this one."""
    found = []
    for path in files_of(source):
        if path == "tools/ci/phrases.py":
            continue
        try:
            with open(os.path.join(source, path), encoding="utf-8") as file:
                lines = file.readlines()
        except UnicodeDecodeError:
            continue  # not a text
        found += [f'{path}:{line}: says "{phrase}"; write "{better}"' for line, phrase, better in found_in(lines)]
    return found


def main():
    found = violations(os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")))
    print("\n".join(found) or "no phrase of the list is in the tree")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
