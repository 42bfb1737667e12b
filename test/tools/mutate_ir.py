# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mutants of the IR in the lit tests, and the passes that run on them.

A mutant is a function of its seed: a part of a file in test/ (parts end at `// -----`) after one to three changes of its tokens and lines, and the passes of one of the file's RUN
lines, or of any file's.
"""
import glob
import os
import random
import re
import shlex

TEST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
TOKEN = re.compile(r"%[\w.:#]+|@[\w.\"]+|tensor<[^<>]*(?:<[^<>]*>)?[^<>]*>|!\w+[\w.]*(?:<[^<>]*>)?|#?\w+\.\w+(?:<[^<>]*>)?|-?\d+(?:\.\d+)?(?:e[-+]?\d+)?|\b[a-z_]\w*\b|[\[\](){}<>,:=]")
NUMBERS = ["0", "1", "-1", "2", "3", "7", "64", "4096", "9223372036854775807", "-9223372036854775808", "1e30", "0.5"]


def passes(text):
    """The lists of passes that the RUN lines of a file give to mpc-opt."""
    found = []
    for line in re.findall(r"RUN:(.*)", text.replace("\\\n// RUN:", "")):
        for command in re.split(r"\||&&|;", line):
            try:
                words = shlex.split(command)
            except ValueError:
                continue
            if "mpc-opt" not in words:
                continue
            words = words[words.index("mpc-opt") + 1:]
            if any("%{" in word or "%t" in word or ">" in word for word in words):
                continue
            found.append([w for w in words if w.startswith("-") and w.lstrip("-") not in ("split-input-file", "verify-diagnostics") and not w.startswith("--mlir")])
    return found


class Corpus:
    def __init__(self):
        self.parts, self.passes = [], []
        for path in sorted(glob.glob(os.path.join(TEST, "**", "*.mlir"), recursive=True)):
            with open(path, encoding="utf-8") as file:
                text = file.read()
            own = passes(text)
            self.passes += own
            for part in text.split("// -----"):
                body = "\n".join(line for line in part.splitlines() if not line.lstrip().startswith("//"))
                if body.strip():
                    self.parts.append((os.path.relpath(path, TEST), body, own))

    def mutant(self, seed):
        """Returns (the file that it is made of, text, options of mpc-opt)."""
        choose = random.Random(seed)
        path, text, own = choose.choice(self.parts)
        for _ in range(choose.choice([1, 1, 2, 3])):
            text = self.changed(text, choose)
        options = choose.choice(own if own and choose.random() < 0.6 else self.passes)
        return path, text, options

    def changed(self, text, choose):
        lines = text.splitlines()
        if not lines:
            return text
        kind = choose.random()
        if kind < 0.12 and len(lines) > 1:
            del lines[choose.randrange(len(lines))]
            return "\n".join(lines)
        if kind < 0.18:
            at = choose.randrange(len(lines))
            lines.insert(choose.randrange(len(lines)), lines[at])
            return "\n".join(lines)
        if kind < 0.21:
            begin = choose.randrange(len(text))
            return text[:begin] + text[begin + choose.randrange(1, 30):]
        tokens = list(TOKEN.finditer(text))
        if not tokens:
            return text
        token = choose.choice(tokens)
        word = token.group()
        if re.fullmatch(r"-?\d.*", word) or (word.startswith("tensor<") and choose.random() < 0.3):
            number = choose.choice(NUMBERS)
            new = number if not word.startswith("tensor<") else re.sub(r"\d+", number, word, count=1)
        else:
            same = [t.group() for t in tokens if t.group()[0] == word[0] and t.group() != word]
            if choose.random() < 0.2 or not same:  # a word of another file
                same = [t.group() for t in TOKEN.finditer(choose.choice(self.parts)[1]) if t.group()[0] == word[0]] or [word]
            new = choose.choice(same)
        return text[:token.start()] + new + text[token.end():]
