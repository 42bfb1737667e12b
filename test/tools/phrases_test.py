# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that tools/ci/phrases.py finds every phrase of its list, however it wraps, and none in the better wordings."""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools/ci"))
import harness
import phrases

# What stands before and behind a phrase that wraps over two lines: the text around it, where a line ends, where the next one begins.
WRAPS = [("/// A value, ", "", "    /// ", ".\n"), ("# A value,   ", "", "# ", "\n"), ("| ", " |", "| ", " |\n"), (' f("a ', ' "', '   "', '");\n'),
         (" * ", "", " * ", " */\n"), ("text ", "", "\n  ", ".\n")]


def write(folder, path, text):
    os.makedirs(os.path.dirname(os.path.join(folder, path)), exist_ok=True)
    with open(os.path.join(folder, path), "wb") as file:
        file.write(text)


def every_phrase():
    for phrase, better in phrases.PHRASES:
        words = phrase.upper().split()
        for before, end, begin, behind in WRAPS:
            for count in range(1, len(words) + 1):
                first, second = " ".join(words[:count]), " ".join(words[count:])
                lines = ("one\n\n" + before + first + end + "\n" + begin + second + behind).splitlines(True)
                if phrases.found_in(lines) != [(3, phrase, better)]:
                    raise harness.Failure(f"{''.join(lines)!r}: found {phrases.found_in(lines)}")
        if phrases.found_in([better + "\n"]):
            raise harness.Failure(f"the better wording has one: {phrases.found_in([better])}")


def reads_files():
    phrase, better = phrases.PHRASES[0]
    text = f"a\nb {phrase}\n".encode()
    with tempfile.TemporaryDirectory() as source:
        for path in ("docs/b.md", "passes/A.cpp", "tools/ci/phrases.py", "build/c.md"):
            write(source, path, text)
        write(source, "docs/archive.npz", b"\xff\x00" + text)
        expected = [f'{path}:2: says "{phrase}"; write "{better}"' for path in ("docs/b.md", "passes/A.cpp")]
        if phrases.violations(source) != expected:
            raise harness.Failure(f"without git: found {phrases.violations(source)}")
        subprocess.run(["git", "init", "-q"], cwd=source, check=True)
        subprocess.run(["git", "add", "docs"], cwd=source, check=True)
        os.remove(os.path.join(source, "docs/archive.npz"))  # tracked, and not there
        if phrases.violations(source) != expected[:1]:
            raise harness.Failure(f"with git: found {phrases.violations(source)}")


harness.arguments(__doc__)
harness.main([("phrases: each, in any form", every_phrase), ("phrases: files", reads_files)])
