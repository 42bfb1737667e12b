# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tests of compiled programs share: small networks, and functions that compile, run, and read logs and checkpoints."""
import json
import os
import struct
import subprocess
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "models"))
from network import Network  # noqa: E402


def convnet(path, batch=4):
    """Makes convolution, batch norm, relu, dropout and a dense layer, which have every kind of state that a step has. The output is logits."""
    n = Network()
    n.input("x", [batch, 2, 6, 6])
    y = n.batch_norm(n.conv("x", "conv", 2, 4, 3), "bn", 4)
    y = n.node("Flatten", [n.dropout(n.relu(y, "relu"), "dropout", 0.25)], "flat")
    n.linear(y, "logits", 64, 3)
    n.output("logits", [batch, 3])
    return n.save(path)


def convnet_data(path, samples=64):
    rng = np.random.default_rng(1)
    np.savez(path, x=rng.normal(0, 1, (samples, 2, 6, 6)).astype(np.float32), labels=rng.integers(0, 3, samples))
    return path


# The tests in this folder compare with fp32 and plain SGD unless they say otherwise.
STANDARD = ("--precision=fp32", "--optimizer=sgd")


def standard(options):
    """Returns the options, and those of STANDARD that they do not set."""
    given = {option.split("=")[0] for option in options}
    return [*(option for option in STANDARD if option.split("=")[0] not in given), *options]


def compile(model, program, *options):
    subprocess.run(["mpc", "compile", model, "-o", program, "-q", "--cpu=x86-64-v3", *standard(options)], check=True)
    return program


def run(program, *arguments):
    subprocess.run([program, *arguments], check=True, stdout=subprocess.DEVNULL)


def trace(program, data, steps, out, *arguments):
    run(program, "trace", "--data", data, "--steps", str(steps), "--out", out, *arguments)
    return dict(np.load(out))


def train(program, data, steps, folder, *arguments):
    """Trains with a log line for each step; returns the log's lines and the last checkpoint."""
    os.makedirs(folder, exist_ok=True)
    log = os.path.join(folder, "log.jsonl")
    if "--resume" not in arguments:
        for name in os.listdir(folder):
            os.remove(os.path.join(folder, name))
    run(program, "train", "--data", data, "--steps", str(steps), "--log", log, "--log-every", "1", "--checkpoint-dir", folder, "--keep", "0", *arguments)
    lines = [json.loads(line) for line in open(log)]
    return [line for line in lines if "loss" in line], checkpoint(os.path.join(folder, f"step-{steps:08}.safetensors"))


def checkpoint(path):
    """Returns the tensors of a safetensors file, with its metadata under ""."""
    types = {"F64": np.float64, "F32": np.float32, "F16": np.float16, "I64": np.int64, "I32": np.int32, "U8": np.uint8, "BOOL": np.bool_}
    raw = open(path, "rb").read()
    size = struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8:8 + size])
    tensors = {"": header.pop("__metadata__", {})}
    for name, info in header.items():
        begin, end = info["data_offsets"]
        if info["dtype"] == "BF16":
            bits = np.frombuffer(raw[8 + size + begin:8 + size + end], np.uint16).astype(np.uint32) << 16
            tensors[name] = bits.view(np.float32).reshape(info["shape"])
        else:
            tensors[name] = np.frombuffer(raw[8 + size + begin:8 + size + end], types[info["dtype"]]).reshape(info["shape"])
    return tensors


def same(a, b):
    """Returns the names of the tensors in which two states are not equal bit by bit."""
    names = set(a) | set(b)
    return [n for n in sorted(names - {""}) if n not in a or n not in b or a[n].tobytes() != b[n].tobytes()]
