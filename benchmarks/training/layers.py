#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds the launches of training steps on the CPU that are far from the machine's limit.

usage: layers.py [--build DIR] [--batches 1,8,32] [--precision fp32,bf16,fp16] [--threads N] [--steps N] [--share 0.25] FILE.onnx...

The files are training graphs with a free batch, as tools/torch/export.py and the dynamo exporter write them. Each is compiled for each batch and precision, and `bench --profile` times every launch.
A launch's limit is the longer of its floating-point operations at the rate of a large product in the same precision, and of its bytes at the rate of a copy beyond the caches; both are
measured first. (What lies in a cache can be faster than this limit.) The first table says for each program how much of its step is spent in launches that take more than 1 / --share times their limit;
the second lists those that take at least 2 % of a step, the most costly first.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.dirname(HERE))
import machine  # noqa: E402

PARAMETERS = r"--params=.*(weight|bias|running_mean|running_var).*"
LEVEL = {"fp32": "O0", "bf16": "O1", "fp16": "O2"}
LISTED = 0.02  # the share of a step from which a launch is listed


def copy_rate(threads, megabytes=512):
    """Returns the bytes that `threads` copies read and write in a second together, in arrays of so many megabytes beyond the caches; the best of five."""
    elements = (megabytes << 18) // threads
    arrays = [(np.ones(elements, np.float32), np.zeros(elements, np.float32)) for _ in range(threads)]
    best = 0
    for _ in range(5):
        workers = [threading.Thread(target=np.copyto, args=(target, source)) for source, target in arrays]
        start = time.perf_counter()
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        best = max(best, sum(2 * source.nbytes for source, _ in arrays) / (time.perf_counter() - start))
    return best


def product_network(path, size=2048):
    """Writes a network of two square products, whose weights are parameters."""
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "a.weight"], ["h"]), helper.make_node("Relu", ["h"], ["r"]), helper.make_node("MatMul", ["r", "b.weight"], ["y"]),
         helper.make_node("ReduceMean", ["y"], ["loss"], keepdims=0)], "products",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [size, size])], [helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])],
        [numpy_helper.from_array(np.random.default_rng(i).normal(0, 0.02, (size, size)).astype(np.float32), name) for i, name in enumerate(["a.weight", "b.weight"])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def profile(options, model, precision, folder, *more):
    """Returns (milliseconds of the median step, launches of `bench --profile`)."""
    program = os.path.join(folder, "program")
    subprocess.run([os.path.join(options.build, "bin/mpc"), "compile", model, "-o", program, "-q", f"--precision={precision}", f"--opt-level={LEVEL[precision]}", "--cpu=native",
                    "--optimizer=sgd,lr=0.0001,momentum=0.9", PARAMETERS, *more], check=True)
    out = subprocess.run([program, "bench", "--json", "--profile", f"--steps={options.steps}", "--warmup=2", f"--threads={options.threads}"], check=True, text=True, stdout=subprocess.PIPE).stdout
    result = json.loads(out)
    return result["median_ms"], result["launches"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="FILE.onnx")
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--batches", default="1,8,32")
    parser.add_argument("--precision", default="fp32,bf16,fp16")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--share", type=float, default=0.25)
    options = parser.parse_args()
    precisions = options.precision.split(",")
    slow = []
    with tempfile.TemporaryDirectory() as folder:
        model = os.path.join(folder, "products.onnx")
        product_network(model)
        bandwidth = copy_rate(options.threads)
        peak = {p: max(launch["flops"] / launch["ms"] for launch in profile(options, model, p, folder)[1]) * 1e3 for p in precisions}
        print(f"{machine.cpu()}, {options.threads} threads; copy {bandwidth * 1e-9:.1f} GB/s; products " + ", ".join(f"{p} {peak[p] * 1e-9:.0f} GFLOP/s" for p in precisions) + "\n")
        print("| network | batch | precision | step, ms | launches | below their share | part of the step, % | limit of the step, ms |\n|---|---|---|---|---|---|---|---|", flush=True)
        for file in options.files:
            name = os.path.basename(file).removesuffix(".onnx").removesuffix("_ce").removesuffix("_aux")
            for batch in options.batches.split(","):
                for precision in precisions:
                    step, launches = profile(options, file, precision, folder, f"--batch={batch}")
                    total, limits, below = sum(launch["ms"] for launch in launches), 0, []
                    for launch in launches:
                        limit = max(launch["flops"] / peak[precision], launch["bytes"] / bandwidth) * 1e3
                        limits += limit
                        if launch["ms"] > 0 and limit < options.share * launch["ms"]:
                            below.append(launch)
                            if launch["ms"] >= LISTED * total:
                                slow.append((launch["ms"] / total, name, batch, precision, limit / launch["ms"], launch))
                    print(f"| {name} | {batch} | {precision} | {step:.1f} | {len(launches)} | {len(below)} | {100 * sum(launch['ms'] for launch in below) / total:.1f} | {limits:.1f} |", flush=True)
    print("\n| part of the step, % | network | batch | precision | ms | of its limit, % | kind | implementation | launch |\n|---|---|---|---|---|---|---|---|---|")
    for part, name, batch, precision, share, launch in sorted(slow, key=lambda row: -row[0]):
        print(f"| {100 * part:.1f} | {name} | {batch} | {precision} | {launch['ms']:.2f} | {100 * share:.0f} | {launch['kind']} | {launch['implementation']} | {launch['name']} {launch['loc'][:60]} |")


if __name__ == "__main__":
    main()
