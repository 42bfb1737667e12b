#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints what a training step is expected to move and take on GPUs, as a Markdown table: launches, bytes, the ratio to the bytes of its products and variables alone, and the time on each part of the architecture. It needs no GPU.

usage: step.py --mpc build/bin/mpc [--arch sm_90a] [--precision bf16,fp16] [--batch N,...] [--kinds] MODEL.onnx ...

--kinds: a second table for each row, by the kind of launch. The numbers are those of `mpc compile --kernel-report=json` (compiler/Report/README.md).
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

FROM_PYTORCH = "--params=.*(weight|bias|running|mean|var).*"  # files whose parameters are graph inputs


def report(options, model, precision, batch):
    """Returns the JSON object of the step report of one compilation."""
    with tempfile.TemporaryDirectory() as folder:
        command = [options.mpc, "compile", model, "-o", os.path.join(folder, "program"), "--quiet", "--kernel-report=json", f"--target={options.arch}", "--ptxas=none", "--no-trace",
                   f"--precision={precision}", FROM_PYTORCH, *([f"--batch={batch}"] if batch else [])]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{model}: {done.stderr.strip()}")
    return json.loads(done.stdout)["step_report"][0]


def kinds_table(step):
    """Prints the sums over launches of one kind."""
    parts = list(step["expected_ms"])
    print("\n| kind | launches | read GB | written GB | TFLOP | " + " | ".join(f"{part}, ms" for part in parts) + " |\n" + "|---" * (5 + len(parts)) + "|")
    sums = {}
    for launch in step["launches"]:
        row = sums.setdefault(launch["kind"], [0] * (4 + len(parts)))
        for i, value in enumerate([1, launch["read_bytes"] * 1e-9, launch["written_bytes"] * 1e-9, launch["flops"] * 1e-12, *(launch[f"{part} us"] * 1e-3 for part in parts)]):
            row[i] += value * launch["times"]
    for kind, row in sums.items():
        print(f"| {kind} | {row[0]} | " + " | ".join(f"{value:.2f}" for value in row[1:]) + " |")
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mpc", required=True)
    parser.add_argument("--arch", default="sm_90a")
    parser.add_argument("--precision", default="bf16")
    parser.add_argument("--batch", default="")
    parser.add_argument("--kinds", action="store_true")
    parser.add_argument("models", nargs="+")
    options = parser.parse_args()
    first = True
    for model in options.models:
        for batch in options.batch.split(","):
            for precision in options.precision.split(","):
                step = report(options, model, precision, batch)
                parts = list(step["expected_ms"])
                if first or options.kinds:
                    print("| network | batch | precision | launches | GB | of the least | " + " | ".join(f"{part}, ms" for part in parts) + " |\n" + "|---" * (6 + len(parts)) + "|")
                first = False
                name = os.path.basename(model).removesuffix(".onnx")
                print(f"| {name} | {batch or 'as in the file'} | {precision} | {step['launch_count']} | {step['bytes'] * 1e-9:.2f} | {step['bytes'] / step['ideal_bytes']:.2f} | "
                      + " | ".join(f"{ms:.2f}" for ms in step["expected_ms"].values()) + " |", flush=True)
                if options.kinds:
                    kinds_table(step)
    return 0


if __name__ == "__main__":
    sys.exit(main())
