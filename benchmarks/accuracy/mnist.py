#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains LeNet on MNIST at O0 to O3 and prints every run and the means as Markdown.

usage: mnist.py --data FOLDER [--mpc build/bin/mpc] [--seeds 1,2,3] [--epochs 5] [--only "fp16 O1,..."] > docs/results/mnist-lenet.md
FOLDER holds the four IDX files of MNIST (.gz or not): train-images*, train-labels*, t10k-*images*, t10k-*labels*.
The seed decides the initial values and the order of the samples; everything else is the same for all runs.
Exits with status 1 when a mean misses what the page promises: >= 98.6 % for O0, fp16 O1, fp16 O2 and bf16 O1, and within 0.3 points of O0's.
"""
import argparse
import glob
import os
import sys
import tempfile

import runs

COMPILE = ["--bundle", "--batch=64", "--loss=softmax_cross_entropy:logits:label", "--optimizer=sgd", "--momentum=0.9", "--weight-decay=5e-4"]
TRAIN = ["--threads=1", "--lr=0.05", "--schedule=cosine", "--warmup=200", "--scale=x=0.00392156862745098", "--normalize=x=0.1307,0.3081"]
FLOOR, DISTANCE, HELD = 98.6, 0.3, ("fp32 O0", "fp16 O1", "fp16 O2", "bf16 O1")


def find(folder, pattern):
    files = sorted(glob.glob(os.path.join(folder, pattern)))
    if len(files) != 1:
        sys.exit(f"error: {len(files)} files match {os.path.join(folder, pattern)}\nhint: --data names a folder with the IDX files of MNIST")
    return files[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True)
    parser.add_argument("--mpc", default=os.path.join(runs.SOURCE, "build", "bin", "mpc"))
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--epochs", default="5")
    parser.add_argument("--only", default=",".join(runs.CONFIGURATIONS))
    options = parser.parse_args()
    seeds, names = [int(s) for s in options.seeds.split(",")], options.only.split(",")

    def data(part):
        return f"x={find(options.data, part + '*images*')},label={find(options.data, part + '*labels*')}"

    train, test = data("train-"), data("t10k-")
    results = {}
    with tempfile.TemporaryDirectory() as work:
        for seed in seeds:
            model = os.path.join(work, "lenet.onnx")
            runs.make_model("lenet", model, seed)
            for name in names:
                extra = ["--data", train, "--epochs", options.epochs, "--seed", str(seed)]
                preparation = [o for o in TRAIN if o.startswith(("--scale", "--normalize"))]
                results[name, seed] = runs.run(options.mpc, work, model, name, COMPILE, TRAIN + extra, ["--data", test] + preparation)
                print(name, "seed", seed, results[name, seed], file=sys.stderr, flush=True)

    print("# MNIST, LeNet: accuracy by precision\n")
    print(f"{runs.where()}. Made by `benchmarks/accuracy/mnist.py --data FOLDER`: 60,000 training pictures, {results[names[0], seeds[0]]['samples']} "
          f"test pictures, {options.epochs} epochs, the same settings for every run:\n")
    print(f"```\nmpc compile lenet.onnx {' '.join(COMPILE)} --precision=P --opt-level=L\n./lenet train {' '.join(TRAIN)} --epochs {options.epochs} --seed S\n```\n")
    print("Accuracy on the test pictures in percent, after the last epoch; skipped: steps that loss scaling skipped.\n")
    print("| | " + " | ".join(f"seed {s}" for s in seeds) + " | mean | against O0 | mean test loss | skipped |")
    print("|---" * (len(seeds) + 5) + "|")
    means, failed = {}, False
    for name in names:
        rows = [results[name, s] for s in seeds]
        accuracy = [100 * r["accuracy"] for r in rows]
        means[name] = sum(accuracy) / len(accuracy)
        distance = means[name] - means[names[0]]
        print(f"| {name} | " + " | ".join(f"{a:.2f}" for a in accuracy) + f" | **{means[name]:.2f}** | {distance:+.2f} | "
              f"{sum(r['loss'] for r in rows) / len(rows):.4f} | {', '.join(str(r['skipped']) for r in rows)} |")
        failed |= name in HELD and (means[name] < FLOOR or abs(distance) > DISTANCE)
    same = [n for n in names if all(results[n, s]["loss"] == results["fp16 O1", s]["loss"] for s in seeds)] if "fp16 O1" in names else []
    if len(same) > 1:
        print(f"\n{' and '.join(same)} place the same casts in this network: their runs are the same to the last bit.")
    print(f"\nHeld by the script: mean >= {FLOOR} % and within {DISTANCE} points of the first row for {', '.join(n for n in names if n in HELD)}: "
          f"{'BROKEN' if failed else 'kept'}.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
