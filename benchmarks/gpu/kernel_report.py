#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sums up what `mpc compile --kernel-report` says of networks' GPU kernels, as a Markdown table.

usage: kernel_report.py [--build DIR] [--targets sm_75,sm_80,sm_90a] [--precisions fp32,fp16,bf16] [--launches] MODEL.onnx...
The table has one row per network, precision and target: the number of kernels, launches of all entries, the most registers and shared memory (bytes) of a kernel, the bytes of spills of all kernels, how many
kernels have an instruction, and which share of the loads and stores in their code moves 16 bytes. With --launches it prints instead the first target's table, one row per kernel. It needs ptxas.
"""
import argparse
import itertools
import os
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LEVEL = {"fp32": "O0", "fp16": "O2", "bf16": "O1"}


def report(mpc, model, precision, target, folder):
    """Returns the lines of the table of kernels, split into columns; the last column is the dispatch's name and a product's schedule."""
    # mpc runs in the model's folder, because names of dispatches contain the model's path as it was given.
    where, name = os.path.split(os.path.abspath(model))
    command = [os.path.abspath(mpc), "compile", name, "-o", os.path.join(folder, "program"), "-q", f"--target={target}", "--precision", precision, "--opt-level", LEVEL[precision],
               "--kernel-report"]
    text = subprocess.run(command, cwd=where, check=True, capture_output=True, text=True).stdout
    lines = itertools.takewhile(lambda line: line.split()[1] != "dispatches", text.splitlines()[1:])
    return [line.split(maxsplit=13) for line in lines]


def share(rows, column):
    wide, all_ = (sum(int(row[column].split("/")[i]) for row in rows) for i in (0, 1))
    return f"{100 * wide / all_:.0f} %" if all_ else "–"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--targets", default="sm_75,sm_80,sm_90a")
    parser.add_argument("--precisions", default="fp32,fp16,bf16")
    parser.add_argument("--launches", action="store_true")
    options = parser.parse_args()
    mpc = os.path.join(options.build, "bin", "mpc")
    if not options.launches:
        print("| network | precision | target | kernels | launches | registers | shared | spills | mma.sync | wgmma | ldmatrix | cp.async | tensor copies | 16-byte loads | stores |")
        print("|" + "---|" * 15)
    with tempfile.TemporaryDirectory() as folder:
        for model in options.models:
            name = os.path.splitext(os.path.basename(model))[0]
            for precision in options.precisions.split(","):
                for target in options.targets.split(","):
                    rows = report(mpc, model, precision, target, folder)
                    if options.launches:
                        print(f"\n{name}, {precision}, {target}\n\n| kernel | launches | threads | registers | spills | shared | mma | wgmma | ldmatrix | cp.async | tensor | 16B loads "
                              "| 16B stores | dispatch |\n|" + "---|" * 14)
                        for row in rows:
                            print("| " + " | ".join(row) + " |")
                        break
                    having = [str(sum(row[column] != "0" for row in rows)) for column in (6, 7, 8, 9, 10)]
                    print("|", " | ".join([name, precision, target, str(len(rows)), str(sum(int(row[1]) for row in rows)), str(max(int(row[3]) for row in rows)),
                                           str(max(int(row[5]) for row in rows)), str(sum(int(row[4]) for row in rows)), *having, share(rows, 11), share(rows, 12)]), "|", flush=True)


if __name__ == "__main__":
    main()
