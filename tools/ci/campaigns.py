#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the long campaigns against generated input, failing calls and sizes, and writes a table of what each of them said.

usage: tools/ci/campaigns.py --build build [--python /path/to/python] [--scale 1.0] [CAMPAIGN...]        `make campaigns` runs it

`make test` runs a short form of each campaign. The long forms take about two hours on two cores, so a developer starts them by hand after a change of the compiler or the runtime. Seeds
begin at --seed. By default that is 30,000 times the days since 2020, so that the runs of two days share none as long as --scale is at most 1.1. Two campaigns run at a time. Each writes BUILD/campaigns/NAME.log; BUILD/campaigns/table.md is the table, in which a campaign that failed is
marked. Exit status 1 when one failed.

The campaigns `differential`, `scans`, `movement` and `norms` need numpy, onnx and torch in the Python that --python names.
"""
import argparse
import concurrent.futures
import datetime
import os
import re
import subprocess
import sys
import time

SOURCE = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
SYSTEM_PYTHON = "/usr/bin/python3"  # the one that tools/setup.sh gives numpy and onnx


def campaigns(options):
    """(name, command, pattern of the lines that say what came out), the longest first, so that the last ones fill both cores. Commands are relative to the source folder."""
    def count(number):
        return str(max(1, int(number * options.scale)))

    def fuzz(runs, *targets):
        return [SYSTEM_PYTHON, "tools/ci/fuzz.py", "--build", options.build, "--seed", str(options.seed), "--runs", count(runs), *targets]

    def test(path, *arguments):
        return [SYSTEM_PYTHON, "-B", path, "--build", options.build, *arguments]

    def emulated(script, precision, level):
        """All reference networks on all emulated GPUs; they need the folder ../shared."""
        path = os.pathsep.join([os.path.join(options.build, "bin"), os.environ["PATH"]])
        return ["env", f"PATH={path}", f"MPC_LIBRARY_PATH={options.build}/bin", SYSTEM_PYTHON, "-B", f"test/e2e/emulator/{script}.py", os.path.join(SOURCE, "..", "shared"),
                os.path.join(options.build, "campaigns", f"{script}-{precision}"), precision, level, "mlp_ce", "lenet_ce", "bncnn_ce", "resnet_basic_cifar_ce",
                *(["lstm_lm_ce", "gru_lm_ce", "lstmp_unrolled_ce", "seq2seq_attn_ce", "deepspeech2_ctc_primitives"] if script == "parity" else [])]

    ran, verdict = r"nothing found|an input fails|cannot be built", r"^(PASS|FAIL|SKIP) "
    norms = [options.python, "benchmarks/accuracy/norms.py", "--mpc", os.path.join(options.build, "bin", "mpc")]
    return [
        ("faults", test("test/tools/faults_test.py", "--all"), verdict),
        ("differential", [options.python, "-B", "test/differential/fuzz.py", "--build", options.build, "--first", str(options.seed), "--count", count(25500), "--compiled", "0.25",
                          "--out", os.path.join(options.build, "campaigns", "differential")], r"^\d+ graphs"),
        ("scans", [options.python, "-B", "test/differential/fuzz.py", "--build", options.build, "--first", str(options.seed), "--count", count(1300), "--scans", "--compiled", "0.25",
                   "--out", os.path.join(options.build, "campaigns", "scans")], r"^\d+ graphs"),
        ("movement", [options.python, "-B", "test/differential/fuzz.py", "--build", options.build, "--first", str(options.seed), "--count", count(1000), "--movement", "--compiled", "0.5",
                      "--out", os.path.join(options.build, "campaigns", "movement")], r"^\d+ graphs"),
        ("mutants", test("test/tools/mutants_test.py", "--scans", count(2000), "--ir", count(3000), "--first", str(options.seed)), verdict),
        ("import", fuzz(210000, "import"), ran),
        ("mlir", fuzz(210000, "mlir"), ran),
        ("program", fuzz(210000, "program", "manifest"), ran),
        ("readers", fuzz(3000000, "npy", "npz", "idx"), ran),
        ("state", fuzz(600000, "safetensors", "log"), ran),
        ("norms", norms, r"^\d+ inputs"),
        ("norms-gpu", norms + ["--target", "emulator"], r"^\d+ inputs"),
        *((f"{script}-{precision}", emulated(script, precision, level), r"^\d+ of \d+ trainings") for script, precision, level in
          (("parity", "fp32", "O0"), ("parity", "fp16", "O2"), ("parity", "bf16", "O1"), ("wgmma", "fp16", "O2"), ("wgmma", "bf16", "O1"))),
        ("networks-gpu", ["env", "MPC_ALL_PAIRS=1", os.path.join(options.build, "bin", "DispatchTest"), "--gtest_filter=*/GpuNetwork.*:*/GpuResources.*"], r"^\[  (PASSED|FAILED|SKIPPED) +\] \d+ tests"),
        ("layouts", test("test/passes/Layout/chains_test.py", "--chains", count(2000)), verdict),
        ("ladder", test("test/tools/ladder_test.py", "--long"), verdict),
    ]


def outcome(text, pattern):
    """What the lines that match say, each count of PASS, FAIL and SKIP lines once."""
    lines = [line.strip() for line in text.splitlines() if re.search(pattern, line)]
    verdicts = [line.split()[0] for line in lines]
    if lines and all(v in ("PASS", "FAIL", "SKIP") for v in verdicts):
        return f"{verdicts.count('PASS')} passed, {verdicts.count('FAIL')} failed, {verdicts.count('SKIP')} skipped"
    # A campaign that counts as it goes says its last count last.
    return "; ".join(lines[-1:] if pattern.startswith(r"^\d") else lines)


def run(name, command, pattern, folder):
    """Returns (succeeded, row of the table)."""
    log, start = os.path.join(folder, name + ".log"), time.monotonic()
    with open(log, "w", encoding="utf-8") as out:
        try:
            status = subprocess.call(command, cwd=SOURCE, stdout=out, stderr=subprocess.STDOUT)
        except OSError as error:
            status = error
    minutes = (time.monotonic() - start) / 60
    with open(log, encoding="utf-8", errors="replace") as file:
        said = outcome(file.read(), pattern) or "nothing"
    if status != 0:
        said = f"**FAILED** (status {status}): {said}"
    print(f"{name}: {said}; {minutes:.0f} min, {log}", flush=True)
    return status == 0, f"| {name} | {said} | {minutes:.0f} min | `{' '.join(os.path.relpath(c, SOURCE) if c.startswith(SOURCE) else c for c in command)}` |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(SOURCE, "build"), type=os.path.abspath)
    parser.add_argument("--python", default=sys.executable, help="a Python with torch")
    parser.add_argument("--scale", type=float, default=1.0, help="of the counts")
    parser.add_argument("--seed", type=int, default=30_000 * (datetime.date.today() - datetime.date(2020, 1, 1)).days)
    parser.add_argument("campaigns", nargs="*", metavar="CAMPAIGN")
    options = parser.parse_args()
    every = campaigns(options)
    if unknown := set(options.campaigns) - {name for name, _, _ in every}:
        parser.error(f"no campaign {', '.join(sorted(unknown))}; there are {', '.join(name for name, _, _ in every)}")
    folder = os.path.join(options.build, "campaigns")
    os.makedirs(folder, exist_ok=True)
    chosen = [c for c in every if not options.campaigns or c[0] in options.campaigns]
    # Their targets are built before two of them run at a time, for they build in one folder.
    if any("tools/ci/fuzz.py" in command for _, command, _ in chosen):
        subprocess.run([SYSTEM_PYTHON, "tools/ci/fuzz.py", "--build", options.build, "--runs", "1"], cwd=SOURCE, check=True)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        done = list(pool.map(lambda c: run(*c, folder), chosen))
    with open(os.path.join(folder, "table.md"), "w", encoding="utf-8") as table:
        table.write("\n".join(["| campaign | what it said | time | command |", "|---|---|---|---|", *(row for _, row in done)]) + "\n")
    print(f"{sum(good for good, _ in done)} passed, {sum(not good for good, _ in done)} failed, 0 skipped; the table is {folder}/table.md")
    sys.exit(0 if all(good for good, _ in done) else 1)


if __name__ == "__main__":
    main()
