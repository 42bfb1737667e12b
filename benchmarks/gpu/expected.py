#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints what the model of expected time (passes/Lowering/Schedule/Model.h) says of the layers in networks.py, as Markdown tables.

usage: expected.py [--build DIR] [--target sm_90a] [--precision bf16] [--only REGEX] [--out docs/results/gpu-expected.md]
The table has one row per layer and product: its size, layout, chosen schedule, number of tiles and of waves of them, megabytes of global memory, what bounds it, the roofline's and the expected
time, TFLOP/s, and share of the GPU's peak. The script compiles every layer without ptxas and measures nothing.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(ROOT, "tools", "models")]
import networks  # noqa: E402
from network import Network  # noqa: E402

HEAD = """# What the GPU kernels should reach

Computed, not measured: the model that chooses schedules (`passes/Lowering/Schedule/Model.h`: issue rate of the tensor cores, bytes of global memory, feed from L2, waves and
their tail, ramps, launches) with the data of an H100 SXM (132 multiprocessors, 1.83 GHz, 989 dense TFLOP/s in 16 bits, 3352 GB/s). Real GPUs clock lower under load. Printed by
`benchmarks/gpu/expected.py`; bf16, target {target}. A measurement is judged by it: far below, and something is wrong with the kernel or with the model.
"""
COLUMNS = ["layer", "product", "problem", "schedule", "tiles", "waves", "MB", "bound", "roofline, us", "expected, us", "TFLOP/s", "% of peak"]
PRODUCTS = {"matmul nt": "forward", "matmul nn": "input gradient", "matmul tn": "weight gradient", "conv": "forward", "conv_input_grad": "input gradient",
            "conv_weight_grad": "weight gradient"}


def product_of(problem):
    kind, _, layout = problem.split()[:3]
    return PRODUCTS[f"{kind} {layout}" if kind == "matmul" else kind]


def short(problem):
    """Returns layout and sizes of a problem."""
    words = problem.split()
    size = dict(word.split("=") for word in words[3:])
    if words[0] == "matmul":
        return f"{words[2].upper()} {size['m']} x {size['n']} x {size['k']}"
    return f"x {size['x']}, w {size['w']}; {size['a']}, {size['b']}"


def heroes(mpc, model, target, precision, folder):
    """Yields the rows of the report's second table as dicts of its columns."""
    text = subprocess.run([mpc, "compile", model, "-o", os.path.join(folder, "program"), "-q", f"--target={target}", f"--precision={precision}", "--opt-level=O1", "--loss=mse:y:target",
                           "--params=.*", "--no-trace", "--ptxas=none", "--kernel-report"], check=True, capture_output=True, text=True).stdout
    lines = iter(text.splitlines())
    for line in lines:
        if line.split()[1] == "dispatches":
            break
    for line in lines:
        *numbers, rest = line.split(maxsplit=9)
        yield dict(zip(("dispatches", "tiles", "waves", "MB", "bound", "roofline", "us", "tflops", "peak"), numbers),
                   **dict(zip(("schedule", "problem", "dispatch"), re.split(r"\s{2,}", rest))))


def rows(mpc, target, precision, only, folder):
    for name, (maker, *arguments) in networks.LAYERS.items():
        if not re.search(only, name):
            continue
        net = Network("layer", values=False)
        maker(net, *arguments)
        found = list(heroes(mpc, net.save(os.path.join(folder, "layer.onnx")), target, precision, folder))
        if len(found) != 3:
            sys.exit(f"error: {name}: {len(found)} products, not 3")
        for hero in sorted(found, key=lambda hero: ["forward", "input gradient", "weight gradient"].index(product_of(hero["problem"]))):
            yield [name, product_of(hero["problem"]), short(hero["problem"])] + [hero[key] for key in ("schedule", "tiles", "waves", "MB", "bound", "roofline", "us", "tflops", "peak")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--target", default="sm_90a")
    parser.add_argument("--precision", default="bf16")
    parser.add_argument("--only", default="")
    parser.add_argument("--out")
    options = parser.parse_args()
    lines = [HEAD.format(target=options.target), "| " + " | ".join(COLUMNS) + " |", "|" + "---|" * len(COLUMNS)]
    with tempfile.TemporaryDirectory() as folder:
        for row in rows(os.path.join(options.build, "bin", "mpc"), options.target, options.precision, options.only, folder):
            lines.append("| " + " | ".join(row) + " |")
            print(lines[-1], file=sys.stderr, flush=True)
    text = "\n".join(lines) + "\n"
    if options.out:
        with open(options.out, "w") as file:
            file.write(text)
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
