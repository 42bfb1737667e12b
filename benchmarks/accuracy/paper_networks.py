#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains networks at full size for ten steps on one repeated batch of 2, in fp32 (O0) and fp16 (O1, O2), with dropout off, and prints a table.

usage: paper_networks.py [--build DIR] [--lr X] [--params REGEX] [--only TEXT] NETWORK...
A NETWORK is an ONNX file, or `inception_v2` or `dcgan` of tools/models. Files need no values: parameters without one get mpc's initial values (`mpc compile --params`).
The script exits with status 1 where the last loss of a network with one loss is not below the first, or where the state or a gradient is not finite, other than one of a
skipped step.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
from onnx import numpy_helper

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LEVELS = (("fp32", "O0"), ("fp16", "O1"), ("fp16", "O2"))
GAN = ["--outputs=fake", *(f"--step={name}:loss=output:{name}_loss:params=^{name}\\.:optimizer=adam,lr=2e-4,betas=0.5/0.999" for name in "dg")]


def without_dropout(model):
    """Sets every ratio of a Dropout to 0."""
    graph = model.graph
    ratios = {node.input[1] for node in graph.node if node.op_type == "Dropout" and len(node.input) > 1}
    for node in graph.node:
        if node.op_type == "Dropout":
            for attribute in node.attribute:
                if attribute.name == "ratio":
                    attribute.f = 0
        if node.op_type == "Constant" and node.output[0] in ratios:
            node.attribute[0].t.CopyFrom(numpy_helper.from_array(np.zeros_like(numpy_helper.to_array(node.attribute[0].t))))
    for tensor in graph.initializer:
        if tensor.name in ratios:
            tensor.CopyFrom(numpy_helper.from_array(np.zeros_like(numpy_helper.to_array(tensor)), tensor.name))
    return model


def model_of(name, folder):
    path = os.path.join(folder, os.path.basename(name).removesuffix(".onnx") + ".onnx")
    if name.endswith(".onnx"):
        onnx.save(without_dropout(onnx.load(name)), path)
    else:
        subprocess.run([sys.executable, os.path.join(ROOT, "tools/models/make_model.py"), name, path, "--batch", "2"], check=True)
    return path


def data_of(program, path, seed=1):
    """Writes a batch of made-up pictures and labels."""
    rng, arrays = np.random.default_rng(seed), {}
    info = json.loads(subprocess.run([program, "info", "--json"], check=True, text=True, stdout=subprocess.PIPE).stdout)
    plan = info["plans"][0]
    for port in next(entry for entry in plan["entries"] if entry["kind"] == "train")["inputs"]:
        shape = port["shape"]
        if port["dtype"] == "f32":
            arrays[port["name"]] = np.clip(rng.normal(0, 0.5, shape), -1, 1).astype(np.float32)
        else:
            arrays[port["name"]] = rng.integers(0, 1000, shape)
    np.savez(path, **arrays)
    return plan


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--lr", type=float, default=0.001)
    parser.add_argument("--params", default=r".*(weight|bias|running_mean|running_var).*", help="inputs that are parameters (regex)")
    parser.add_argument("--only", default="", help="levels whose names contain this, such as O2")
    parser.add_argument("networks", nargs="+")
    options = parser.parse_args()
    mpc, wrong = os.path.join(options.build, "bin", "mpc"), []
    print("| network | | compile, s | first loss | last loss | skipped | largest gradient of step 1 | peak, MiB |\n|---|---|---|---|---|---|---|---|")
    for name in options.networks:
        with tempfile.TemporaryDirectory() as folder:
            model, program = model_of(name, folder), os.path.join(folder, "program")
            more = GAN if name == "dcgan" else [f"--optimizer=sgd,lr={options.lr}"]
            if name.endswith(".onnx"):
                more.append(f"--params={options.params}")
            for precision, level in LEVELS:
                if options.only not in level:
                    continue
                began = time.monotonic()
                subprocess.run([mpc, "compile", model, "-o", program, "-q", "--batch=2", f"--precision={precision}", f"--opt-level={level}", *more], check=True)
                seconds = time.monotonic() - began
                plan = data_of(program, folder + "/data.npz")
                subprocess.run([program, "trace", "--data", folder + "/data.npz", "--steps", "10", "--out", folder + "/trace.npz"], check=True, stderr=subprocess.DEVNULL)
                trace = np.load(folder + "/trace.npz")
                largest = max(float(np.abs(trace[key]).max()) for key in trace.files if key.startswith("grad/"))
                for key in [key for key in trace.files if re.fullmatch("loss(/.*)?", key)]:
                    if key == "loss" and any(other.startswith("loss/") for other in trace.files):
                        continue
                    loss, skipped = trace[key], trace.get("skipped" + key[4:], np.zeros(10))
                    title = os.path.basename(model).removesuffix(".onnx") + key[4:]
                    print(f"| {title} | {precision} {level} | {seconds:.1f} | {loss[0]:.4f} | {loss[-1]:.4f} | {int(np.sum(skipped))} | {largest:.3g} | "
                          f"{plan['peak_bytes'] / 2**20:.0f} |", flush=True)
                    if not key.startswith("loss/") and not loss[-1] < loss[0]:
                        wrong.append(f"{title} {precision} {level}: the last loss is not below the first")
                unskipped = not any(trace[key][0] for key in trace.files if re.fullmatch("skipped(/.*)?", key))
                if not np.isfinite(largest) and unskipped:
                    wrong.append(f"{title} {precision} {level}: a gradient is not finite")
                if not all(np.isfinite(trace[key]).all() for key in trace.files if key.startswith("state/")):
                    wrong.append(f"{title} {precision} {level}: the state is not finite")
    print(*wrong, sep="\n", file=sys.stderr)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
