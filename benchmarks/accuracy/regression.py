#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains an MLP on a regression problem (mean squared error) in three precisions and prints the runs as Markdown.

usage: regression.py [--mpc build/bin/mpc] [--seeds 1,2,3] [--epochs 30] [--samples 32768] [--floor RMSE] > docs/results/regression.md
The data are Friedman's first function (Friedman 1991, Multivariate Adaptive Regression Splines, section 4.3) of x uniform in [0,1]^8, whose last
three coordinates do not matter: y = 10 sin(pi x1 x2) + 20 (x3 - 0.5)^2 + 10 x4 + 5 x5 + N(0, 1); x and y are standardised. No model
can get below the noise, which is RMSE 1 in the units of y.
Exits with status 1 when a mean RMSE lies above --floor or further than 5 % from fp32's.
"""
import argparse
import os
import sys
import tempfile

import numpy as np
import runs

COMPILE = ["--bundle", "--batch=64", "--loss=mse:y:target", "--optimizer=adamw", "--weight-decay=1e-4"]
TRAIN = ["--threads=1", "--lr=0.002", "--schedule=cosine", "--warmup=100"]
CONFIGURATIONS = ("fp32 O0", "fp16 O2", "bf16 O1")


def make_data(path, count, seed):
    """Writes arrays x [count,8] and target [count,1], standardised by the function's known moments; returns the scale of y."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 1, (count, 8))
    y = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4] + rng.normal(0, 1, count)
    mean, scale = 14.4, 5.0
    np.savez(path, x=((x - 0.5) * np.sqrt(12)).astype(np.float32), target=((y - mean) / scale).astype(np.float32)[:, None])
    return scale


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mpc", default=os.path.join(runs.SOURCE, "build", "bin", "mpc"))
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--epochs", default="30")
    parser.add_argument("--samples", type=int, default=32768)
    parser.add_argument("--floor", type=float, default=1.1)
    options = parser.parse_args()
    seeds, results = [int(s) for s in options.seeds.split(",")], {}
    with tempfile.TemporaryDirectory() as work:
        model, train, test = (os.path.join(work, name) for name in ("regressor.onnx", "train.npz", "test.npz"))
        make_data(train, options.samples, 1)
        scale = make_data(test, 4096, 2)
        for seed in seeds:
            runs.make_model("regressor", model, seed)
            for name in CONFIGURATIONS:
                result = runs.run(options.mpc, work, model, name, COMPILE,
                                  TRAIN + ["--data", train, "--epochs", options.epochs, "--seed", str(seed)], ["--data", test])
                results[name, seed] = dict(result, rmse=scale * result["loss"] ** 0.5)
                print(name, "seed", seed, results[name, seed], file=sys.stderr, flush=True)

    print("# Regression: error by precision\n")
    print(f"{runs.where()}. Made by `benchmarks/accuracy/regression.py`: Friedman's first function with noise of deviation 1 (the least RMSE there can be), "
          f"{options.samples} training and 4096 test samples, an MLP 8-64-64-1, {options.epochs} epochs:\n")
    print(f"```\nmpc compile regressor.onnx {' '.join(COMPILE)} --precision=P --opt-level=L\n./regressor train {' '.join(TRAIN)} --epochs {options.epochs} --seed S\n```\n")
    print("Root of the mean squared error on the test samples, in the units of the function.\n")
    print("| | " + " | ".join(f"seed {s}" for s in seeds) + " | mean | skipped steps |")
    print("|---" * (len(seeds) + 3) + "|")
    means, failed = {}, False
    for name in CONFIGURATIONS:
        rows = [results[name, s] for s in seeds]
        means[name] = sum(r["rmse"] for r in rows) / len(rows)
        print(f"| {name} | " + " | ".join(f"{r['rmse']:.4f}" for r in rows) + f" | **{means[name]:.4f}** | {', '.join(str(r['skipped']) for r in rows)} |")
        failed |= means[name] > options.floor or abs(means[name] / means[CONFIGURATIONS[0]] - 1) > 0.05
    print(f"\nHeld by the script: mean RMSE <= {options.floor}, within 5 % of fp32's: {'BROKEN' if failed else 'kept'}.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
