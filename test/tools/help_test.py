#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The text of --help, of mpc and of the programs that it makes: every line fits into the terminal, options are in groups, and each command has an example that
its own options take."""
import fcntl
import os
import pty
import re
import struct
import subprocess
import termios

import harness
from models import labelled, mlp

MPC = ["compile", "check", "explain", "verify", "run", "export", "ops"]
PROGRAM = ["train", "eval", "predict", "trace", "bench", "plot", "info"]


def check(true, *what):
    if not true:
        raise harness.Failure(" ".join(map(str, what)))


def environment(**changes):
    return {**{name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR")}, **changes}


def program(folder):
    mlp().save(f"{folder}/model.onnx")
    harness.must([f"{OPTIONS.bin}/mpc", "compile", "model.onnx", "-q", "--batch", "8"], cwd=folder)
    return f"{folder}/model"


def on_a_terminal(command, columns, **changes):
    """Returns what a command prints to a terminal of so many columns."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment(**changes))
    os.close(theirs)
    said = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        said += part
    process.wait()
    os.close(ours)
    return said.decode(errors="replace").replace("\r\n", "\n")


def widths():
    """Checks that lines are wrapped; only a word that is longer than its column may stand out, such as a list of values without blanks."""
    with harness.folder() as folder:
        for tool, commands in ((f"{OPTIONS.bin}/mpc", MPC), (program(folder), PROGRAM)):
            for command in [[], *([c] for c in commands)]:
                for columns in (60, 80, 200):
                    said = harness.must([tool, *command, "--help"], environment=environment(COLUMNS=str(columns)))
                    long = [line for line in said.splitlines() if len(line) > min(columns, 100) and len(line.split()) > 2]
                    check(not long, tool, command, columns, long)
        wide = on_a_terminal([tool, "train", "--help"], 90)
        check(80 < max(map(len, wide.splitlines())) <= 90, "the terminal's own width", wide)


def groups():
    with harness.folder() as folder:
        model = program(folder)
        said = harness.must([model, "train", "--help"])
        for group in ("Data", "Training", "Learning rate", "Hyperparameters", "Checkpoints", "Log and evaluation", "Machine", "Help"):
            check(said.count(f"\n{group}:\n") == 1, group, said)
        said = harness.must([f"{OPTIONS.bin}/mpc", "compile", "--help"])
        for group in ("Arguments", "Output", "Network", "Precision", "Loss", "Loss scaling", "Optimizer", "Targets and kernels", "Help"):
            check(said.count(f"\n{group}:\n") == 1, group, said)
        # --mode, which the notes of `mpc check` recommend, is an option of it.
        check("--mode" in harness.must([f"{OPTIONS.bin}/mpc", "check", "--help"]), "check has no --mode")


def examples():
    """Checks that each command has an example, of the options that it has."""
    with harness.folder() as folder:
        for tool, commands in ((f"{OPTIONS.bin}/mpc", MPC), (program(folder), PROGRAM)):
            for command in commands:
                said = harness.must([tool, command, "--help"], environment=environment(COLUMNS="200"))
                found = re.search(r"\nexample: (.*(?:\n    .*)*)", said)
                check(found and command in found[1].split(), command, said)
                for option in re.findall(r"--[a-z-]+", found[1]):
                    check(re.search(rf"\n  (-., )?{option}\b", said), command, option, "is no option of it")


def version():
    with harness.folder() as folder:
        ours = harness.must([f"{OPTIONS.bin}/mpc", "--version"]).strip()
        check(re.fullmatch(r"mpc \d+\.\d+\.\d+", ours), ours)
        said = harness.must([program(folder), "--version"])
        check(said == f"model ({ours}): fp16 O1, batch 8, for host\n", said)


def colours():
    """Checks that only a terminal gets colours, and none where the user wants none."""
    with harness.folder() as folder:
        command = [program(folder), "train"]
        for changes, wanted in (({"TERM": "xterm"}, True), ({"TERM": "xterm", "NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False), ({"TERM": "xterm", "NO_COLOR": ""}, True)):
            for tool in (command, [f"{OPTIONS.bin}/mpc", "compile"]):
                said = on_a_terminal(tool, 80, **changes)
                check(("\x1b[31merror:\x1b[0m" in said) == wanted and ("\x1b" in said) == wanted and "error:" in said, tool, changes, repr(said))
        check("\x1b" not in harness.run(command, environment=environment(TERM="xterm"))[2], "a pipe has colours")


def bar():
    """Checks that the bar of a training fits into the terminal, with the remaining time, and that the lines of epochs stay."""
    with harness.folder() as folder:
        model = program(folder)
        labelled(f"{folder}/all.npz", 4096)
        import numpy as np
        arrays = np.load(f"{folder}/all.npz")
        np.savez(f"{folder}/data.npz", x=arrays["x"], labels=arrays["label"])
        for columns in (40, 80):
            said = on_a_terminal([model, "train", "--data", f"{folder}/data.npz", "--epochs", "3", "--threads", "1"], columns, TERM="xterm")
            plain = re.sub(r"\x1b\[[0-9;]*m", "", said)
            bars = re.findall(r"\r\x1b\[K(train[^\r\n]*)", plain)
            check(bars and all(len(line) < columns for line in bars), columns, bars)
            check(any(re.search(r" \d+/1536  left \d:\d\d", line) for line in bars), bars)
            check(re.findall(r"^(?:.*\x1b\[K)?epoch (\d/\d)  loss [\d.e-]+ \(mean\)", plain, re.M) == ["1/3", "2/3", "3/3"], plain)
        said = on_a_terminal([model, "train", "--data", f"{folder}/data.npz"], 80, TERM="dumb")
        check("\x1b" not in said and "\r" not in said and "epoch 1  step 50/512" in said, repr(said))


CASES = {"widths": widths, "groups": groups, "examples": examples, "version": version, "colours": colours, "bar": bar}

if __name__ == "__main__":
    OPTIONS = harness.arguments(__doc__)
    harness.main([(f"help/{name}", case) for name, case in CASES.items()], OPTIONS.only)
