#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains a small detector on made pictures of shapes in fp32, and in fp16 with several loss scales, and measures how many activation gradients fp16 cannot hold.

usage: loss_scaling.py [--build DIR] [--network ssd_small] [--epochs N] [--pictures N] [--size PIXELS] [--lr RATE] [--out FOLDER]
It repeats table 2 of "Mixed Precision Training" (ICLR 2018) in small: all trainings start at the same values and read the same batches, and each row has the loss of the last epoch and
the mean average precision on other pictures. curves.svg in FOLDER has the losses. The second table has, for each convolution, the shares of its output's gradients that are 0, below 2^-24
(fp16 has no number there) and below 2^-14 (where fp16 loses bits), at the first step and behind the fp32 training. They are gradients of parameters of zeros that are added to the outputs.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import helper, numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SCALE = ["--scale", f"image={1 / 255:.8f}"]
# A scale below 1 stands for a network whose gradients are so much smaller.
RUNS = {"fp32": ["--precision=fp32"], **{name: ["--precision=fp16", "--opt-level=O2", f"--loss-scale={scale}"] for name, scale in {
    "fp16, no scaling": "none", "fp16, scale 8": 8, "fp16, dynamic": "dynamic", "fp16, scale 1/64": 2**-6, "fp16, scale 1/1024": 2**-10, "fp16, scale 1/16384": 2**-14}.items()}}


def must(command, **options):
    result = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if result.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{result.stdout}")
    return result.stdout


def tool(name, *words):
    must([sys.executable, os.path.join(ROOT, "tools/models", name), *words])


def compile_program(options, model, program, *words):
    must([os.path.join(options.build, "bin/mpc"), "compile", model, "-o", program, "-q", "--bundle", "--loss=output:loss", f"--batch={options.batch}", "--optimizer=sgd",
          f"--lr={options.lr}", "--momentum=0.9", *words])


def train(options, folder, name, words):
    """Returns the mean loss of the last epoch, the last evaluation, the log's path, and the number of skipped steps."""
    program = os.path.join(folder, "program-" + "".join(c for c in name if c.isalnum()))
    log = os.path.join(options.out, "".join(c if c.isalnum() else "-" for c in name) + ".jsonl")
    compile_program(options, os.path.join(folder, "model.onnx"), program, "--metric=map", *words)
    must([program, "train", "--data", os.path.join(folder, "train/shapes.npz"), "--val", os.path.join(folder, "val/shapes.npz"), *SCALE, "--epochs", options.epochs, "--schedule=cosine",
          "--log", log, "--log-every=10", "--checkpoint-dir", os.path.join(folder, "ck-" + os.path.basename(program)), "--nan=ignore"])
    lines = [json.loads(line) for line in open(log)]
    losses = [line["loss"] for line in lines if line.get("loss") is not None]
    last = [line for line in lines if "val_loss" in line][-1]
    skipped = sum(bool(line.get("skipped")) for line in lines)
    return np.mean(losses[-max(1, len(losses) // options.epochs):]), last, log, skipped, os.path.join(folder, "ck-" + os.path.basename(program))


def add_probes(model, path, batch):
    """Adds a parameter of zeros to the output of each convolution. Its gradient is the output's. Returns the parameters' names."""
    model = onnx.shape_inference.infer_shapes(model)
    shapes = {v.name: [d.dim_value or batch for d in v.type.tensor_type.shape.dim] for v in model.graph.value_info}
    names, nodes = [], []
    for node in model.graph.node:
        nodes.append(node)
        if node.op_type != "Conv" or node.output[0] not in shapes:
            continue
        value = node.output[0]
        node.output[0] = value + ".plain"
        nodes.append(helper.make_node("Add", [node.output[0], "probe:" + value], [value], name="probe." + value))
        model.graph.initializer.append(numpy_helper.from_array(np.zeros(shapes[value], np.float32), "probe:" + value))
        names.append(value)
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    onnx.save(model, path)
    return names


def gradients(options, folder, checkpoint):
    """Returns the gradients of the convolutions' outputs for one batch, at the initial values or those of a checkpoint."""
    model = onnx.load(os.path.join(folder, "model.onnx"))
    if checkpoint:
        must([os.path.join(options.build, "bin/mpc"), "export", os.path.join(folder, "model.onnx"), "--checkpoint", checkpoint, "-o", os.path.join(folder, "trained.onnx")])
        trained = {i.name: i for i in onnx.load(os.path.join(folder, "trained.onnx")).graph.initializer}
        for initializer in model.graph.initializer:
            if initializer.name in trained:
                initializer.CopyFrom(trained[initializer.name])
    names = add_probes(model, os.path.join(folder, "probes.onnx"), options.batch)
    program = os.path.join(folder, "probes")
    compile_program(options, os.path.join(folder, "probes.onnx"), program, "--precision=fp32", "--trainable=+^probe:")
    must([program, "trace", "--data", os.path.join(folder, "train/shapes.npz"), *SCALE, "--steps=1", "--out", os.path.join(folder, "trace.npz")])
    traced = np.load(os.path.join(folder, "trace.npz"))
    return {name: traced["grad/probe:" + name] for name in names}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--network", default="ssd_small")
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--pictures", type=int, default=2048)
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--lr", type=float, default=0.02)
    parser.add_argument("--out", default=".")
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        tool("make_model.py", options.network, os.path.join(folder, "model.onnx"), "--size", str(options.size))
        tool("make_shapes.py", "--out", os.path.join(folder, "train"), "--count", str(options.pictures), "--size", str(options.size), "--seed", "1")
        tool("make_shapes.py", "--out", os.path.join(folder, "val"), "--count", "512", "--size", str(options.size), "--seed", "2")
        print("| run | loss, last epoch | loss, other pictures | map | map50 | skipped steps |\n|---|---|---|---|---|---|")
        logs, trained = [], None
        for name, words in RUNS.items():
            loss, last, log, skipped, checkpoints = train(options, folder, name, words)
            trained = trained or os.path.join(checkpoints, sorted(os.listdir(checkpoints))[-1])
            logs.append(log)
            print(f"| {name} | {loss:.3f} | {last['val_loss']:.3f} | {last['map']:.3f} | {last['map50']:.3f} | {skipped} |", flush=True)
        must([os.path.join(folder, "program-fp32"), "plot", *logs, "-o", os.path.join(options.out, "curves.svg")])
        print("\n| gradient of the output of | first step: 0 | below 2^-24 | below 2^-14 | trained: 0 | below 2^-24 | below 2^-14 |\n|---|---|---|---|---|---|---|")
        first, behind = gradients(options, folder, None), gradients(options, folder, trained)
        for name in first:
            cells = []
            for values in (first[name], behind[name]):
                size = np.abs(values[values != 0])
                cells += [1 - size.size / values.size, np.mean(size < 2.0**-24) if size.size else 0, np.mean(size < 2.0**-14) if size.size else 0]
            print(f"| {name} | " + " | ".join(f"{100 * cell:.1f} %" for cell in cells) + " |")


if __name__ == "__main__":
    main()
