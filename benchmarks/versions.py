#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares two builds of mpc on the same networks: launches, memory, the time of a compilation, and the time of a training step on the host.

usage: versions.py --before BUILD --after BUILD [--precision fp32,fp16] [--targets host,sm_80,sm_90a] [--batch N] [--compilations N] [--rounds N] [--out RESULT.json] MODEL.onnx ...
       versions.py --before BUILD --after BUILD --chains [--compilations N] [--out RESULT.json]

Each network is compiled by both builds for all targets; a row for each target shows the launches of all entries and the peak of the memory plan, before and after, and marks what became worse.
--compilations: how many times both compile the network for the host, in turns; the medians are compared. --rounds: how many times the two programs run some training
steps, in turns; the median over the rounds of after / before is printed, so that a change of the machine's speed affects neither (below 1, the later build is faster).
A batch that a network fixes in its file stays as it is.

--chains compiles chains of convolution, batch norm and ReLU of 10 to 1,000 blocks, and transformer encoders of 2 to 48 layers, instead, and prints seconds and the peak of memory of each build's compiler.

The machine must be idle otherwise where times are taken. Launches and memory do not depend on it.
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

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import machine  # noqa: E402

UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
STEP_SECONDS = 0.5  # a round runs steps for about so long


def mpc(build):
    return os.path.join(build, "bin", "mpc")


def arguments(model, output, precision, batch, targets=("host",)):
    return ["compile", model, "-o", output, "--precision", precision, *batch, *[f"--target={target}" for target in targets]]


def compile_with(build, *what):
    """Returns what `mpc compile` says, or None after its message where the build refuses the network."""
    done = subprocess.run([mpc(build), *arguments(*what)], capture_output=True, text=True)
    if done.returncode:
        print(f"{build}: {os.path.basename(what[0])}: {done.stderr.strip()}", file=sys.stderr)
        return None
    return done.stdout


def batch_of(options, model):
    """Returns --batch as arguments, or none where the file fixes the batch."""
    batch = ["--batch", str(options.batch)] if options.batch else []
    if batch and subprocess.run([mpc(options.after), "check", model, *batch], capture_output=True).returncode:
        return []
    return batch


def plans(text, targets):
    """Returns {target: (launches, peak bytes)} of what `mpc compile` printed. With one target its lines have no name in front."""
    found = {}
    for target in targets:
        prefix = re.escape(target) + ": " if len(targets) > 1 else ""
        launches = re.search(rf"^{prefix}(\d+) launches", text, re.M)
        peak = re.search(rf"^{prefix}memory: .* peak ([\d.]+) (\w+)", text, re.M)
        found[target] = (int(launches[1]), int(float(peak[1]) * UNITS[peak[2]]))
    return found


def usage(command):
    """Runs a command; returns (seconds, CPU seconds, peak bytes)."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return time.perf_counter() - start, used.ru_utime + used.ru_stime, used.ru_maxrss << 10


def step_ms(program, steps, warmup=1):
    said = subprocess.run([program, "bench", "--json", "--steps", str(steps), "--warmup", str(warmup)], check=True, capture_output=True, text=True).stdout
    return json.loads(said)["median_ms"]


def step_ratios(programs, rounds):
    """Runs both programs in turns; returns (their median steps in ms, the median ratio, its least and largest)."""
    first = max(step_ms(program, 2) for program in programs)
    steps = max(2, int(1e3 * STEP_SECONDS / first))
    times = []
    for turn in range(rounds):
        # Whoever comes second finds a warmer processor, so the two change places.
        order = (0, 1) if turn % 2 == 0 else (1, 0)
        took = {which: step_ms(programs[which], steps) for which in order}
        times.append((took[0], took[1]))
    ratios = sorted(after / before for before, after in times)
    return [statistics.median(t[i] for t in times) for i in (0, 1)], statistics.median(ratios), ratios[0], ratios[-1]


def compare(options, model, precision, folder):
    """Returns a row of the result for a network in a precision, or None where a build refuses it."""
    builds, targets = (options.before, options.after), options.targets.split(",")
    programs = [os.path.join(folder, name) for name in ("before", "after")]
    batch = batch_of(options, model)
    said = [compile_with(build, model, program, precision, batch, targets) for build, program in zip(builds, programs)]
    if None in said:
        return None
    before, after = (plans(text, targets) for text in said)
    row = {"network": os.path.basename(model).removesuffix(".onnx"), "precision": precision, "plans": {target: (before[target], after[target]) for target in targets}}
    if options.rounds or options.compilations:
        for build, program in zip(builds, programs):
            compile_with(build, model, program, precision, batch)
    if options.compilations:
        commands = [[mpc(build), *arguments(model, program, precision, batch)] for build, program in zip(builds, programs)]
        times = [[usage(command)[0] for command in commands] for _ in range(options.compilations)]
        row["compile_s"] = [statistics.median(t[i] for t in times) for i in (0, 1)]
    if options.rounds:
        row["step_ms"], row["ratio"], row["least"], row["most"] = step_ratios(programs, options.rounds)
    return row


def plan_table(rows):
    lines = ["| network | precision | target | launches | peak, MiB | |", "|---|---|---|---|---|---|"]
    for row in rows:
        for target, ((launches0, peak0), (launches1, peak1)) in row["plans"].items():
            worse = ", ".join([name for name, one, two in (("launches", launches0, launches1), ("memory", peak0, peak1)) if two > one])
            lines.append(f"| {row['network']} | {row['precision']} | {target} | {launches0} → {launches1} | {peak0 / 2**20:.1f} → {peak1 / 2**20:.1f} | {worse and 'more ' + worse} |")
    return lines


def time_table(rows):
    lines = ["| network | precision | step, ms | ratio (least to largest) | compile, s |", "|---|---|---|---|---|"]
    for row in rows:
        step = " → ".join(f"{t:.2f}" for t in row["step_ms"]) if "step_ms" in row else "–"
        ratio = f"{row['ratio']:.3f} ({row['least']:.2f} to {row['most']:.2f})" if "ratio" in row else "–"
        seconds = " → ".join(f"{t:.2f}" for t in row["compile_s"]) if "compile_s" in row else "–"
        lines.append(f"| {row['network']} | {row['precision']} | {step} | {ratio} | {seconds} |")
    return lines


def chains(options):
    """Compiles chains of several lengths by both builds; returns the table's lines and the numbers."""
    sys.path.insert(0, os.path.join(ROOT, "test", "tools"))
    import ladder_test  # noqa: E402  (it has the networks)
    from models import Graph  # noqa: E402
    lines = ["| chain | length | compile, s | CPU, s | peak, MiB |", "|---|---|---|---|---|"]
    numbers = []
    for name, lengths in (("conv-norm-relu", (10, 100, 300, 1000)), ("encoder", (2, 12, 48))):
        for length in lengths:
            with tempfile.TemporaryDirectory() as folder:
                graph, model = Graph(), os.path.join(folder, "chain.onnx")
                graph.output(ladder_test.CHAINS[name](graph, length))
                graph.save(model)
                commands = [[mpc(build), "compile", model, "-o", os.path.join(folder, "program"), "--precision", "fp16", "--quiet", "--loss", f"mse:{graph.outputs[0].name}:target"]
                            for build in (options.before, options.after)]
                runs = [[usage(command) for command in commands] for _ in range(max(1, options.compilations))]
            medians = [[statistics.median(run[which][i] for run in runs) for which in (0, 1)] for i in range(3)]
            numbers.append({"chain": name, "length": length, "seconds": medians[0], "cpu": medians[1], "bytes": medians[2]})
            lines.append(f"| {name} | {length} | {medians[0][0]:.2f} → {medians[0][1]:.2f} | {medians[1][0]:.2f} → {medians[1][1]:.2f} | "
                         f"{medians[2][0] / 2**20:.0f} → {medians[2][1] / 2**20:.0f} |")
            print(lines[-1], file=sys.stderr, flush=True)
    return lines, numbers


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL.onnx")
    parser.add_argument("--before", required=True, help="the folder of a build")
    parser.add_argument("--after", required=True, help="the folder of a build")
    parser.add_argument("--precision", default="fp32,fp16")
    parser.add_argument("--targets", default="host,sm_80,sm_90a")
    parser.add_argument("--batch", type=int)
    parser.add_argument("--compilations", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=0)
    parser.add_argument("--chains", action="store_true")
    parser.add_argument("--out", help="write all numbers as JSON")
    options = parser.parse_args()
    print(f"{machine.cpu()}, {os.cpu_count()} cores\n")
    if options.chains:
        lines, rows = chains(options)
        print("\n".join(lines))
    else:
        rows = []
        for model in options.models:
            for precision in options.precision.split(","):
                with tempfile.TemporaryDirectory() as folder:
                    row = compare(options, model, precision, folder)
                if row:
                    rows.append(row)
                    print("\n".join((plan_table([row]) + (time_table([row]) if options.rounds or options.compilations else []))[2:]), file=sys.stderr, flush=True)
                    if options.out:
                        with open(options.out, "w", encoding="utf-8") as out:
                            json.dump(rows, out, indent=1)
        print("\n".join(plan_table(rows)))
        if options.rounds or options.compilations:
            print("\n" + "\n".join(time_table(rows)))
    if options.out:
        with open(options.out, "w", encoding="utf-8") as out:
            json.dump(rows, out, indent=1)


if __name__ == "__main__":
    main()
