#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The program behind run.sh: it checks first, then measures, prints one table and writes results.json. It exits with status 1 when a check fails."""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tarfile

import check
from server import Peer

MODES = ("eager", "compile", "graphs")
PRODUCTS = ("forward", "input gradient", "weight gradient")


def run(*command):
    done = subprocess.run([str(part) for part in command], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}: status {done.returncode}: {done.stderr.strip()[-1000:]}")
    return done.stdout


def checks(index, options, results):
    rows = ["| network | batch | precision | worst loss | gradients | |", "|---|---|---|---|---|---|"]
    for case in index["checks"]:
        precision = case["precision"]
        try:
            run(case["program"], "trace", f"--device={options.device}", "--lr=0.001", "--data", case["data"], "--steps", case["steps"], "--out", "trace.npz")
            curve, gradient, wrong = check.compare(check.read("trace.npz"), check.read(case["expected"]), precision)
        except RuntimeError as error:
            curve, gradient, wrong = float("nan"), float("nan"), [str(error)]
        results.append({"network": case["network"], "precision": precision, "loss": curve, "gradient": gradient, "wrong": wrong})
        rows.append(f"| {case['network']} | {case['batch']} | {precision} | {curve:.1e} | {gradient:.1e} | {'; '.join(wrong) or 'within bounds'} |")
    return rows


def bench(program, options, *more):
    return json.loads(run(program, "bench", f"--device={options.device}", "--json", "--steps", options.steps, "--warmup", options.warmup, *more))


def measure_training(case, options):
    """Returns milliseconds per step of mpc and of each peer that runs, as medians of interleaved rounds."""
    peers, row = [], dict(case)
    for mode in MODES if options.torch else ():
        try:
            peers.append(Peer(options.torch, case["network"], "-", case["batch"], case["precision"], mode, "cuda"))
        except RuntimeError as error:
            row[f"{mode}_error"] = str(error)[-300:]
    rounds = []
    for _ in range(options.rounds):
        times = {"mpc": bench(case["program"], options)["median_ms"]}
        for peer in peers:
            times[peer.mode] = 1e3 * peer.median(options.steps)
        rounds.append(times)
    for peer in peers:
        peer.close()
    row.update({name: statistics.median(times[name] for times in rounds) for name in rounds[0]}, rounds=rounds)
    if peers:
        row["torch"] = peers[0].version
        row["ratio"] = statistics.median(min(times[peer.mode] for peer in peers) / times["mpc"] for times in rounds)
    return row


def training(index, options, results):
    rows = ["| network | batch | precision | mpc, ms | eager, ms | compile, ms | graphs, ms | ratio |", "|---|---|---|---|---|---|---|---|"]
    for case in index["training"]:
        row = measure_training(case, options)
        results.append(row)
        times = " | ".join(f"{row[name]:.3f}" if name in row else "–" for name in ("mpc",) + MODES)
        rows.append(f"| {row['network']} | {row['batch']} | {row['precision']} | {times} | " + (f"**{row['ratio']:.2f}** |" if "ratio" in row else "– |"))
        print(rows[-1], file=sys.stderr, flush=True)
    return rows


def clocks():
    """Returns the GPU's present clocks, power and temperature; it reads them and never sets them."""
    query = "name,driver_version,clocks.sm,clocks.mem,clocks.max.sm,power.draw,power.limit,temperature.gpu"
    try:
        return run("nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader").strip()
    except (OSError, RuntimeError):
        return ""


def peer_kernels(cases, options):
    """Returns what kernels.py measures of the same products: milliseconds of the three products by (name, precision), and the bandwidth of a copy."""
    if not options.torch:
        return {}, None
    shapes = [{key: case[key] for key in ("name", "kind", "arguments", "precision")} for case in cases]
    done = subprocess.run([options.torch, "kernels.py", str(options.steps)], input=json.dumps(shapes), text=True, stdout=subprocess.PIPE)
    if done.returncode:
        return {}, None
    answer = json.loads(done.stdout.splitlines()[-1])
    return {(row["name"], row["precision"]): row["ms"] for row in answer["products"]}, answer["copy_gbs"]


def products(launches, case):
    """Returns milliseconds of each product of the layer under test; each part of a split product is one launch, and their times are added."""
    times = [sum(launch["ms"] for launch in launches if re.match(pattern, launch["name"])) for pattern in case.get("products", ())]
    if not all(times):
        raise RuntimeError(f"{case['program']}: no launch is {[p for p, ms in zip(case['products'], times) if not ms]}")
    return times


def kernels(index, options, results):
    peers, copy = peer_kernels(index["kernels"], options)
    rows = ["| kernel | precision | product | ms | TFLOP/s | peer, TFLOP/s | ratio |", "|---|---|---|---|---|---|---|"]
    streams = ["| kernel | precision | launch | MB | ms | GB/s | of a copy |", "|---|---|---|---|---|---|---|"]
    for case in index["kernels"]:
        launches = bench(case["program"], options, "--profile")["launches"]
        results.append({**case, "launches": launches, "peer_ms": peers.get((case["name"], case["precision"]))})
        peer = peers.get((case["name"], case["precision"]))
        for i, ms in enumerate(products(launches, case)):
            rate = case["flops"] / ms / 1e9
            other = case["flops"] / peer[i] / 1e9 if peer else None
            rows.append(f"| {case['name']} | {case['precision']} | {PRODUCTS[i]} | {ms:.4f} | {rate:.1f} | " +
                        (f"{other:.1f} | **{rate / other:.2f}** |" if other else "– | – |"))
        least = max(launch["bytes"] for launch in launches) / 100
        for launch in launches if case["kind"] == "stream" else ():
            if launch["bytes"] < least:
                continue
            rate = launch["bytes"] / launch["ms"] / 1e6
            streams.append(f"| {case['name']} | {case['precision']} | {launch['name']} | {launch['bytes'] / 1e6:.1f} | {launch['ms']:.4f} | {rate:.0f} | " +
                           (f"{rate / copy:.2f} |" if copy else "– |"))
    return rows + [""] + streams


def product_of(problem):
    """Returns 0 for forward, 1 for the input gradient and 2 for the weight gradient."""
    kind, _, layout = problem.split()[:3]
    return {"nt": 0, "nn": 1, "tn": 2}[layout] if kind == "matmul" else ("conv", "conv_input_grad", "conv_weight_grad").index(kind)


def tuners(index, options, results):
    """Measures every schedule that a tuner has, beside the peer's kernel for the same product."""
    peers, _ = peer_kernels(index["tuners"], options)
    rows = ["| layer | product | schedule | us | TFLOP/s | of roofline | peer, us | ratio | model, us |", "|---|---|---|---|---|---|---|---|---|"]
    best = []
    for case in index["tuners"]:
        more = [f"--iterations={max(options.steps, 100)}"] if options.device == "cuda" else []
        table = run(case["program"], f"--device={options.device}", "--out", "tune.json", *more)
        with open("tune.json") as file:
            tuning = json.load(file)
        peer = peers.get((case["name"], case["precision"]))
        results.append({**case, "tuning": tuning, "peer_ms": peer})
        print(table, file=sys.stderr, flush=True)
        for problem in sorted(tuning["problems"], key=lambda problem: product_of(problem["problem"])):
            product = product_of(problem["problem"])
            other = 1e3 * peer[product] if peer and peer[product] else None
            fastest = min(candidate["us"] for candidate in problem["candidates"])
            if other:
                best.append(other / fastest)
            for candidate in problem["candidates"]:
                us = candidate["us"]
                schedule = f"**{candidate['schedule']}**" if us == fastest else candidate["schedule"]
                rows.append(f"| {case['name']} | {PRODUCTS[product]} | {schedule} | {us:.2f} | {case['flops'] / us / 1e6:.1f} | {100 * problem['roofline_us'] / us:.1f} % | " +
                            (f"{other:.2f} | {other / us:.2f} | " if other else "– | – | ") + f"{candidate['estimate_us']:.2f} |")
    if best:
        rows += ["", f"Fastest schedule against the peer: geometric mean {statistics.geometric_mean(best):.3f}, least {min(best):.3f}, of {len(best)} products"]
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--torch", help="a Python with PyTorch; default: this one, where it has it")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--warmup", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="checks,training,kernels,tuners")
    options = parser.parse_args()
    if options.torch is None and options.device == "cuda" and subprocess.run([sys.executable, "-c", "import torch"], stderr=subprocess.DEVNULL).returncode == 0:
        options.torch = sys.executable
    if not os.path.isdir("programs"):
        with tarfile.open("programs.tar.xz") as archive:
            archive.extractall(".")
    with open("index.json") as file:
        index = json.load(file)
    results, text = {"command": sys.argv[1:], "clocks": [clocks()]}, []
    for part in (checks, training, kernels, tuners):
        if part.__name__ in options.only.split(","):
            results[part.__name__] = []
            text += part(index, options, results[part.__name__]) + [""]
    results["clocks"].append(clocks())
    if any(results["clocks"]):
        text += ["GPU, driver, SM and memory clocks, highest SM clock, power, its limit, temperature; before and after:", ""] + [f"    {line}" for line in results["clocks"]]
    print("\n".join(text))
    with open("results.md", "w") as file:
        file.write("\n".join(text))
    with open("results.json", "w") as file:
        json.dump(results, file, indent=1)
    sys.exit(1 if any(row["wrong"] for row in results.get("checks", ())) else 0)


if __name__ == "__main__":
    main()
