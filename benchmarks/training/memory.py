#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the memory of a training program by precision: what mpc plans, and by how much the process really grows.

usage: memory.py [--build DIR] [--network NAME] [--batch N] [--no-run]
Prints per precision the planned state, saved-for-backward bytes and peak, and by how much the process's resident memory grows from before the
program's state is set up until after the third step. Exits with status 1 when O2 needs more than 0.55 of what O0 needs (saved, and peak without
state), or the plan is off by more than 10 %.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MIB = 2**20


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--network", default="resnet18")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--no-run", action="store_true", help="plans only")
    options = parser.parse_args()
    rows, wrong = [], []
    with tempfile.TemporaryDirectory() as folder:
        model = os.path.join(folder, "model.onnx")
        subprocess.run([sys.executable, os.path.join(ROOT, "tools/models/make_model.py"), options.network, model], check=True)
        for precision, level in (("fp32", "O0"), ("fp16", "O2"), ("bf16", "O2")):
            program = os.path.join(folder, f"{precision}-{level}")
            subprocess.run([os.path.join(options.build, "bin/mpc"), "compile", model, "-o", program, "--bundle", "--quiet", "--cpu=native", "--batch", str(options.batch),
                            "--precision", precision, "--opt-level", level, "--loss", "softmax_cross_entropy:logits:label", "--optimizer", "sgd",
                            "--momentum", "0.9"], check=True)
            plan = json.loads(subprocess.run([program, "info", "--json"], check=True, text=True, stdout=subprocess.PIPE).stdout)["plans"][0]
            row = {"name": f"{precision} {level}", "state": plan["state_bytes"], "saved": plan["saved_bytes"], "peak": plan["peak_bytes"]}
            if not options.no_run:
                result = json.loads(subprocess.run([program, "bench", "--json", "--steps", "1", "--warmup", "3"], check=True, text=True,
                                                   stdout=subprocess.PIPE).stdout)
                row["grown"] = result["resident_growth_bytes"]
                if abs(row["grown"] - row["peak"]) > 0.1 * row["peak"]:
                    wrong.append(f"{row['name']}: the plan is off by more than 10 %")
            rows.append(row)
    base = rows[0]
    print("| | state, MiB | saved for backward, MiB | against O0 | peak without state, MiB | against O0 | peak, MiB | process grew by, MiB | against the plan |")
    print("|---|---|---|---|---|---|---|---|---|")
    for row in rows:
        saved, rest = row["saved"] / base["saved"], (row["peak"] - row["state"]) / (base["peak"] - base["state"])
        grown = f"{row['grown'] / MIB:.1f} | {row['grown'] / row['peak'] - 1:+.1%}" if "grown" in row else "– | –"
        print(f"| {row['name']} | {row['state'] / MIB:.1f} | {row['saved'] / MIB:.1f} | {saved:.3f} | {(row['peak'] - row['state']) / MIB:.1f} | {rest:.3f} | "
              f"{row['peak'] / MIB:.1f} | {grown} |")
        if row is not base and max(saved, rest) > 0.55:
            wrong.append(f"{row['name']}: needs more than 0.55 of O0")
    for line in wrong:
        print(line, file=sys.stderr)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
