#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures what `mpc compile --recompute` saves and costs: peak of the plan, growth of the process, and times of steps, in turns.

usage: recompute.py [--build DIR] [--rounds N] [--steps N] [--recompute none,auto,SIZE,...] MODEL.onnx [OPTIONS OF mpc compile...]
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.dirname(HERE))
import machine  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--recompute", default="none,auto")
    parser.add_argument("model")
    options, rest = parser.parse_known_args()
    choices, said, times, grown = options.recompute.split(","), {}, {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for choice in choices:
            command = [os.path.join(options.build, "bin/mpc"), "compile", options.model, "-o", os.path.join(folder, choice), f"--recompute={choice}", *rest]
            done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            if done.returncode:
                sys.exit(done.stderr)
            out = done.stdout
            peak = re.search(r"peak ([\d.]+ .iB)", out)[1]
            more = re.search(r"; ([\d.]+ %) more operations.*, ([-\d.]+ %) more bytes", out)
            said[choice] = (peak, *(more.groups() if more else ("–", "–")))
            times[choice] = []
        for _ in range(options.rounds):
            for choice in choices:
                command = [os.path.join(folder, choice), "bench", "--json", "--steps", str(options.steps), "--warmup", "3"]
                result = json.loads(subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout)
                times[choice].append(result["median_ms"])
                grown[choice] = result["resident_growth_bytes"]
    print(f"{machine.cpu()}\n\n| recompute | peak | the process grew by, MiB | more operations | more bytes | step, ms | time against {choices[0]} |\n|---|---|---|---|---|---|---|")
    for choice in choices:
        ratio = statistics.median(b / a for a, b in zip(times[choices[0]], times[choice]))
        print(f"| {choice} | {' | '.join([said[choice][0], f'{grown[choice] / 2**20:.0f}', *said[choice][1:]])} | {statistics.median(times[choice]):.0f} | {ratio:.2f} |")


if __name__ == "__main__":
    main()
