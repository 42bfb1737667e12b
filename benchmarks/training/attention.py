#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares training steps and memory of small GPTs of several lengths with PyTorch's on the CPU, whose attention is fused.

usage: attention.py [--build DIR] [--torch PYTHON] [--threads N] [--rounds N] [--precision LIST] [CONTEXT...]
Four layers, 256 wide, four heads; all batches have 8,192 tokens. --torch names a Python that has torch and numpy; without it only mpc is measured.
Rounds and ratios are those of benchmark.py. Memory is the most that a process had, with everything in it.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.dirname(HERE), HERE]
import machine  # noqa: E402
from benchmark import LEVEL  # noqa: E402
from peers.server import Peer  # noqa: E402

TOKENS = 8192
MIB = 2**20


def compile_program(options, model, context, precision, folder):
    program = os.path.join(folder, f"gpt-{context}-{precision}")
    subprocess.run([os.path.join(options.build, "bin/mpc"), "compile", model, "-o", program, "--bundle", "--quiet", "--batch", str(TOKENS // context), "--precision",
                    precision, "--opt-level", LEVEL[precision], "--loss", "softmax_cross_entropy:logits:labels", "--optimizer", "adamw"], check=True)
    return program


def bench(options, program, steps):
    """Returns (milliseconds of the median step, most bytes of the process)."""
    process = subprocess.Popen([program, "bench", "--json", "--steps", str(steps), "--warmup", "1", "--threads", str(options.threads)], stdout=subprocess.PIPE, text=True)
    result = json.loads(process.stdout.read())
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0, f"{program}: status {status}"
    return result["median_ms"], usage.ru_maxrss * 1024


def measure(options, context, precision, folder):
    model = os.path.join(folder, f"gpt-{context}.onnx")
    if not os.path.exists(model):
        subprocess.run([sys.executable, os.path.join(ROOT, "tools/models/make_model.py"), "gpt", model, "--layers", "4", "--width", "256", "--heads", "4",
                        "--context", str(context), "--vocabulary", "1024"], check=True)
    program = compile_program(options, model, context, precision, folder)
    modes = ["eager", "compile"] if options.torch and precision != "fp16" else []
    peers = [Peer(options.torch, f"gpt-{context}", "-", TOKENS // context, precision, mode, "cpu", options.threads) for mode in modes]
    rounds = []
    for _ in range(options.rounds):
        times = {}
        times["mpc"], memory = bench(options, program, 3)
        for peer in peers:
            times[peer.mode] = 1e3 * peer.median(3)
        rounds.append(times)
    row = {name: statistics.median(times[name] for times in rounds) for name in rounds[0]}
    row["memory"] = memory
    if peers:
        row["torch_memory"] = peers[0].peak_bytes()
        row["ratio"] = statistics.median(min(times[mode] for mode in modes) / times["mpc"] for times in rounds)
    for peer in peers:
        peer.close()
    return row, peers[0].version if peers else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("contexts", nargs="*", type=int, default=[128, 1024, 4096], metavar="CONTEXT")
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--torch", help="a Python with torch")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--precision", default="fp32,bf16,fp16")
    options = parser.parse_args()
    version = None
    lines = ["| context | batch | precision | mpc, ms | eager, ms | torch.compile, ms | ratio | mpc, MiB | eager, MiB |", "|---|---|---|---|---|---|---|---|---|"]
    with tempfile.TemporaryDirectory() as folder:
        for context in options.contexts:
            for precision in options.precision.split(","):
                row, found = measure(options, context, precision, folder)
                version = version or found

                def cell(name, form="{:.0f}", unit=1):
                    return form.format(row[name] / unit) if name in row else "–"

                lines.append(f"| {context} | {TOKENS // context} | {precision} | {cell('mpc')} | {cell('eager')} | {cell('compile')} | {cell('ratio', '**{:.2f}**')} | "
                             f"{cell('memory', unit=MIB)} | {cell('torch_memory', unit=MIB)} |")
                print(lines[-1], file=sys.stderr, flush=True)
    print(f"{machine.cpu()}, {options.threads} threads; PyTorch {version or 'not measured'}\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
