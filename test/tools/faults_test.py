#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the n-th malloc, mmap, write, fsync or rename fail (faults/Inject.c). Training, evaluation, prediction, export and compilation then end with success, or with an error
and status 1, and never by a signal. Existing files are intact, and a file under its final name is whole.

A command that succeeds in spite of the fault must have done what it does undisturbed. A training that the fault ended is resumed and must end with the undisturbed
checkpoint. `make test` tries a seeded sample of n; `test/tools/faults_test.py --build build --all` tries every n of the programs and every STRIDE-th allocation of the compiler.
"""
import json
import os
import random
import re
import shutil
import subprocess
import sys

import harness
import models

HERE = os.path.dirname(os.path.abspath(__file__))
SAMPLE = {"malloc": 24, "mmap": 6, "write": 10, "fsync": 4, "rename": 4}  # number of n that are tried for each command
STRIDE = 997  # distance of the compiler's allocations that are tried
LOSS = ["--loss", "softmax_cross_entropy:logits:label"]


class Setting:
    """What every case starts from: a small network, its program, data, and a training that has done half its steps. It is made once."""

    def __init__(self, folder):
        self.folder = folder
        self.shim = f"{folder}/inject.so"
        harness.must(["cc", "-O1", "-shared", "-fPIC", "-o", self.shim, f"{HERE}/faults/Inject.c", "-ldl"])
        start = self.start = f"{folder}/start"
        os.makedirs(start)
        models.mlp(features=4, hidden=8, classes=3).save(f"{start}/net.onnx")
        models.labelled(f"{start}/data.npz", 64)
        harness.must([OPTIONS.bin + "/mpc", *COMPILE, "-o", "program"], cwd=start)
        harness.must(train(2), cwd=start)
        for step in (12, 16):
            os.remove(f"{start}/checkpoints/step-{step:08}.safetensors")

    def fresh(self, name):
        """Returns a copy of the start to work in. The program is a link, because it is not written to."""
        folder = f"{self.folder}/{name}"
        shutil.copytree(self.start, folder, ignore=shutil.ignore_patterns("program"))
        os.link(f"{self.start}/program", f"{folder}/program")
        return folder


COMPILE = ["compile", "net.onnx", "--quiet", "--cpu", "x86-64-v3", "--batch", "8", "--precision", "fp16", "--opt-level", "O2", "--optimizer", "adam", *LOSS]


# The generic library is used, because oneDNN and what it loads end by a signal when one of their mallocs fails.
LIBRARY = ["--library", "generic"]


def train(epochs):
    # The rate of samples is the only part of the log that differs between equal runs.
    return ["./program", "train", "--data", "data.npz", "--epochs", str(epochs), "--seed", "3", "--threads", "2", "--checkpoint-dir", "checkpoints", "--checkpoint-every", "4", "--keep", "0", "--log-every", "1",
            "--log", "log.jsonl", "--resume", *LIBRARY]


def newest():
    return "checkpoints/step-00000008.safetensors"


COMMANDS = {
    "train": train(2),
    "eval": ["./program", "eval", "--data", "data.npz", "--checkpoint", newest(), "--threads", "2", *LIBRARY],
    "predict": ["./program", "predict", "--data", "data.npz", "--checkpoint", newest(), "--out", "out.npz", "--threads", "2", *LIBRARY],
    "export": ["MPC", "export", "net.onnx", "--checkpoint", newest(), "-o", "trained.onnx"],
    "compile": ["MPC", *COMPILE, "-o", "again"],
}


def contents(folder):
    """Returns path -> bytes of all files. Of the log it returns lines without what depends on the clock."""
    found = {}
    for parent, _, files in os.walk(folder):
        for name in files:
            path = os.path.relpath(os.path.join(parent, name), folder)
            with open(os.path.join(parent, name), "rb") as file:
                found[path] = file.read()
    if "log.jsonl" in found:
        found["log.jsonl"] = [re.sub(rb',"(?:samples_per_s|time)":[^,}]*|,"at":"[^"]*"', b"", line) for line in found["log.jsonl"].splitlines(keepends=True)]
    return found


def execute(setting, command, folder, fault=None):
    """Runs a command of COMMANDS; returns (status, stdout, stderr, whether the fault came)."""
    environment = dict(os.environ, MPC_NO_LIBGOMP="1", TMPDIR=folder)
    if fault:
        environment.update(LD_PRELOAD=setting.shim, MPC_FAULT=fault, MPC_FAULT_MARK=f"{setting.folder}/{os.path.basename(folder)}.mark")
    words = [f"{OPTIONS.bin}/mpc" if word == "MPC" else word for word in COMMANDS[command]]
    status, out, err = harness.run(words, cwd=folder, environment=environment, seconds=120)
    mark = f"{setting.folder}/{os.path.basename(folder)}.mark"
    came = os.path.exists(mark)
    if came:
        os.remove(mark)
    return status, out, err, came


def check_log(lines, status):
    """Checks that the log is whole lines of JSON; the last one may be cut if the disk was full."""
    for i, line in enumerate(lines):
        try:
            json.loads(line)
        except ValueError:
            if i + 1 < len(lines) or status == 0:
                return f"line {i + 1} of the log is broken: {line[:80]}"
    return ""


def judge(command, folder, before, expected, status, out, err):
    """Returns what is wrong with what a command left behind, or "" when nothing is."""
    after = contents(folder)
    if status not in (0, 1):
        return f"status {status}"
    if status == 1 and not re.search(r"error|out of memory", err, re.I):
        return "status 1 without a message"
    if status == 0 and command == "eval" and out != expected["out"]:
        return f"success with another result: {out!r}"
    for path in sorted(set(before) | set(after) | (set(expected["files"]) if status == 0 else set())):
        if path == "log.jsonl":
            if problem := check_log(after.get(path, []), status):
                return problem
            if status == 0 and after.get(path) != expected["files"].get(path):
                return "success, but the log is not the undisturbed one"
        elif path not in after:
            return f"{path} is missing"
        elif path in before and after[path] != before[path]:
            return f"{path} was changed"
        elif path not in expected["files"] and os.path.basename(path) == ".mpc-lock" and status == 1:
            pass  # nobody holds the lock: a training that could not unwind has ended as if killed
        elif path not in expected["files"]:
            return f"{path} was left behind"
        elif after[path] != expected["files"][path]:
            return f"{path} is not what an undisturbed run writes ({len(after[path])} bytes)"
    return ""


def one(setting, command, expected, kind, n):
    """Returns whether the n-th call of the kind came. Raises Failure."""
    folder = setting.fresh(f"{command}-{kind}-{n}")
    before = contents(folder)
    status, out, err, came = execute(setting, command, folder, f"{kind}:{n}")
    problem = judge(command, folder, before, expected, status, out, err)
    if not problem and command == "train" and status == 1:
        status, out, err, _ = execute(setting, command, folder)
        problem = f"resumed: status {status}" if status else judge(command, folder, before, expected, 0, out, err)
    if problem:
        raise harness.Failure(f"{command}, {kind} {n}: {problem}\n{out[-300:]}{err[-1500:]}")
    shutil.rmtree(folder)
    return came


def count(setting, command, expected, kind):
    """Returns how many calls of the kind an undisturbed run makes, found by bisection of n."""
    low, high = 0, 1
    while one(setting, command, expected, kind, high):
        low, high = high, high * 4
    while high - low > max(1, low // 20):
        middle = (low + high) // 2
        low, high = (middle, high) if one(setting, command, expected, kind, middle) else (low, middle)
    return low


def walk(setting, command, kind):
    def case():
        folder = setting.fresh(f"{command}-{kind}-undisturbed")
        status, out, err, _ = execute(setting, command, folder)
        if status != 0:
            raise harness.Failure(f"undisturbed: status {status}\n{err[-2000:]}")
        expected = {"out": out, "files": contents(folder)}
        shutil.rmtree(folder)
        if OPTIONS.all:
            n, stride = 1, STRIDE if kind == "malloc" and command in ("compile", "export") else 1
            while one(setting, command, expected, kind, n):
                n += stride
            print(f"{command}, {kind}: every {stride} of {n - 1}", file=sys.stderr, flush=True)
            return
        total = count(setting, command, expected, kind)
        choose = random.Random(f"{command} {kind}")
        for n in sorted(choose.sample(range(1, total + 1), min(total, SAMPLE[kind]))):
            one(setting, command, expected, kind, n)
    return case


if __name__ == "__main__":
    ALL = "--all" in sys.argv
    sys.argv = [argument for argument in sys.argv if argument != "--all"]
    OPTIONS = harness.arguments(__doc__)
    OPTIONS.all = ALL
    with harness.folder() as FOLDER:
        SETTING = Setting(FOLDER)
        harness.main([(f"faults/{command}-{kind}", walk(SETTING, command, kind)) for command in COMMANDS for kind in SAMPLE], OPTIONS.only)
