#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares training steps of mpc's programs on the host with PyTorch's on the CPU: both have the same networks, values, batch and threads.

usage: benchmark.py [--build DIR] [--torch PYTHON] [--threads N] [--rounds N] [--out RESULT.json] [NETWORK...]
--torch names a Python that has torch, numpy and onnx (`pip install torch numpy onnx`); without it only mpc is measured.

Every round runs some steps of mpc, of PyTorch eager and of torch.compile one after the other, so that a change of the machine's
speed affects all of them; a ratio is the faster peer's median step over mpc's, and the median of the rounds is printed. Then it prints per
program the compile time, start-up, memory, size, and the libraries that the program opens.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.dirname(HERE))
import machine  # noqa: E402
from peers.server import Peer  # noqa: E402

BATCH = {"mlp": 128, "lenet": 128, "resnet18": 32, "lstm": 32, "gru": 32}
STEPS = {"mlp": 100, "lenet": 100, "resnet18": 8, "lstm": 4, "gru": 4}  # timed steps per round
LEVEL = {"fp32": "O0", "bf16": "O1", "fp16": "O1"}  # the levels that correspond to torch.autocast
# PyTorch's fp16 on the CPU takes seconds for a step, so only a few steps are measured.
STEPS_FP16 = {"mlp": 4, "lenet": 10, "resnet18": 1, "lstm": 1, "gru": 1}


def run(command, **options):
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, **options).stdout


def compile_program(mpc, network, model, precision, folder):
    """Returns (program, seconds of the fastest of three compilations)."""
    program = os.path.join(folder, f"{network}-{precision}")
    command = [mpc, "compile", model, "-o", program, "--bundle", "--quiet", "--batch", str(BATCH[network]), "--precision", precision,
               "--opt-level", LEVEL[precision], "--loss", "softmax_cross_entropy:logits:label", "--optimizer", "sgd", "--lr", "0.01",
               "--momentum", "0.9"]
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        run(command)
        seconds.append(time.perf_counter() - start)
    return program, min(seconds)


def bench(program, steps, warmup, threads):
    return json.loads(run([program, "bench", "--json", "--steps", str(steps), "--warmup", str(warmup), "--threads", str(threads)]))


def startup(program, threads):
    """Returns the seconds of a whole process with one step, minus the step: from start to the first step, and the exit. Takes the fastest of three."""
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        result = bench(program, 1, 0, threads)
        seconds.append(time.perf_counter() - start - result["median_ms"] / 1e3)
    return min(seconds)


def libraries(program):
    """Returns every shared library that the program opens, except those of libc."""
    text = subprocess.run([program, "bench", "--steps", "1", "--warmup", "0"], env={**os.environ, "LD_DEBUG": "files"}, text=True,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE).stderr
    names = {os.path.basename(path) for path in re.findall(r"calling init: (\S+\.so\S*)", text)}
    return sorted(name for name in names if not re.match(r"(libc|ld-linux-x86-64|libm|libdl|libpthread|librt)\.so", name))


def measure(options, network, precision, model, folder):
    program, compile_seconds = compile_program(os.path.join(options.build, "bin", "mpc"), network, model, precision, folder)
    row = {"network": network, "batch": BATCH[network], "precision": precision, "compile_s": compile_seconds}
    peers = []
    if options.torch:
        modes = ["eager"] if precision == "fp16" else ["eager", "compile"]
        peers = [Peer(options.torch, network, model, BATCH[network], precision, mode, "cpu", options.threads) for mode in modes]
        row["torch"] = peers[0].version
    rounds = []
    for _ in range(1 if precision == "fp16" and peers else options.rounds):
        times = {"mpc": bench(program, STEPS[network], 3, options.threads)["median_ms"]}
        for peer in peers:
            times[peer.mode] = 1e3 * peer.median(STEPS_FP16[network] if precision == "fp16" else STEPS[network])
        rounds.append(times)
    for peer in peers:
        peer.close()
    row["rounds"] = rounds
    for name in rounds[0]:
        row[f"{name}_ms"] = statistics.median(times[name] for times in rounds)
    if peers:
        row["ratio"] = statistics.median(min(t for name, t in times.items() if name != "mpc") / times["mpc"] for times in rounds)
    row["startup_s"] = startup(program, options.threads)
    memory = bench(program, 3, 3, options.threads)
    row["planned_bytes"], row["grown_bytes"] = memory["planned_bytes"], memory["resident_growth_bytes"]
    row["program_bytes"] = os.path.getsize(program)
    row["libraries"] = libraries(program)
    return row


def markdown(rows, options):
    def ms(row, name):
        return f"{row[name]:.2f}" if name in row else "–"

    torch = next((row["torch"] for row in rows if "torch" in row), None)
    lines = [f"{machine.cpu()}, {options.threads} threads; PyTorch {torch or 'not measured'}", "",
             "| network | batch | precision | mpc, ms | eager, ms | torch.compile, ms | ratio | compile, s | start-up, s | planned, MiB | grown, MiB |",
             "|---|---|---|---|---|---|---|---|---|---|---|"]
    for row in rows:
        ratio = f"**{row['ratio']:.2f}**" if "ratio" in row else "–"
        lines.append(f"| {row['network']} | {row['batch']} | {row['precision']} | {ms(row, 'mpc_ms')} | {ms(row, 'eager_ms')} | {ms(row, 'compile_ms')} | "
                     f"{ratio} | {row['compile_s']:.2f} | {row['startup_s']:.3f} | {row['planned_bytes'] / 2**20:.1f} | {row['grown_bytes'] / 2**20:.1f} |")
    runner = os.path.getsize(os.path.join(options.build, "bin", "mpc-runner"))
    lines += ["", f"Runtime (the runner without a model): {runner} bytes. Libraries opened besides libc and libm: "
              + ", ".join(sorted({name for row in rows for name in row["libraries"]})) + "."]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", default=sorted(BATCH), metavar="NETWORK")
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--torch", help="a Python with torch")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--precision", default="fp32,bf16,fp16")
    parser.add_argument("--out", help="write everything as JSON")
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for network in options.networks:
            model = os.path.join(folder, f"{network}.onnx")
            run([sys.executable, os.path.join(ROOT, "tools", "models", "make_model.py"), network, model])
            for precision in options.precision.split(","):
                rows.append(measure(options, network, precision, model, folder))
                print(f"{network} {precision}: " + ", ".join(f"{k} {v:.3f}" for k, v in rows[-1].items() if isinstance(v, float)), file=sys.stderr, flush=True)
    print(markdown(rows, options))
    if options.out:
        with open(options.out, "w") as file:
            json.dump({"cpu": machine.cpu(), "threads": options.threads, "rows": rows}, file, indent=1)


if __name__ == "__main__":
    main()
