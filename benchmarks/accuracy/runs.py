# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles and trains one network under several precisions, and describes the machine it ran on."""
import datetime
import json
import os
import re
import subprocess
import sys

SOURCE = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
sys.path.insert(0, os.path.join(SOURCE, "benchmarks"))
import machine  # noqa: E402

# maps the name to precision and opt level
CONFIGURATIONS = {"fp32 O0": ("fp32", "O0"), "fp16 O1": ("fp16", "O1"), "fp16 O2": ("fp16", "O2"), "fp16 O3": ("fp16", "O3"),
                  "bf16 O1": ("bf16", "O1")}


def call(command, **options):
    """Runs a command and returns its output; prints the output when the command fails."""
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    if done.returncode != 0:
        sys.exit(f"failed ({done.returncode}): {' '.join(command)}\n{done.stdout[-2000:]}")
    return done.stdout


def make_model(name, path, seed):
    call([sys.executable, os.path.join(SOURCE, "tools", "models", "make_model.py"), name, path, "--seed", str(seed)])


def run(mpc, work, model, configuration, compile_options, train_options, eval_options):
    """Trains once from `model`; returns what `eval --json` says of the last checkpoint, and the number of skipped steps."""
    precision, level = CONFIGURATIONS[configuration]
    program, folder = os.path.join(work, "program"), os.path.join(work, "checkpoints")
    call(["rm", "-rf", folder])
    call([mpc, "compile", model, "-q", "-o", program, f"--precision={precision}", f"--opt-level={level}"] + compile_options)
    text = call([program, "train", "--checkpoint-dir", folder, "--keep", "1"] + train_options)
    steps, skipped, seconds = re.search(r"done: (\d+) steps, (\d+) skipped, loss \S+, (\S+)", text).groups()
    checkpoint = os.path.join(folder, sorted(os.listdir(folder))[-1])
    result = json.loads(call([program, "eval", "--json", "--checkpoint", checkpoint] + eval_options).splitlines()[-1])
    return dict(result, steps=int(steps), skipped=int(skipped), time=seconds)


def where():
    """Returns one line with date, CPU and cores. (The program's `info` names the library that computes products.)"""
    return f"{datetime.date.today()}, {machine.cpu()}, {len(os.sched_getaffinity(0))} cores"
