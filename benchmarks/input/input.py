#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures how fast u8 pictures of 3 x 224 x 224 become shuffled batches, as a ratio to numpy's fancy indexing and to memcpy (README.md)."""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import machine  # noqa: E402

SHAPE = (3, 224, 224)


def numpy_rate(data, batch, seed):
    """Returns the bytes per second of gathering one shuffled epoch of `data`, [samples, C, H, W] u8, by `data[order]`."""
    order = numpy.random.default_rng(seed).permutation(len(data))
    data[order[:batch]]
    begin = time.perf_counter()
    for first in range(batch, len(order) - batch + 1, batch):
        data[order[first:first + batch]]
    return (len(order) // batch - 1) * batch * data[0].nbytes / (time.perf_counter() - begin)


def rates(options, path, kind, readers):
    """Returns the bytes per second of memcpy, Batches, and Batches with one more copy, from one run of the program."""
    done = subprocess.run([options.bench, path, *kind, str(options.batch), str(readers)], check=True, stdout=subprocess.PIPE, text=True)
    seconds = json.loads(done.stdout)
    return {name: seconds["bytes"] / seconds[name] for name in ("memcpy", "batches", "staged")}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bench", required=True, help="the program mpc_input_bench")
    parser.add_argument("--samples", type=int, default=2048)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--readers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    if options.samples < 2 * options.batch:
        parser.error("--samples must be at least two batches: the first of an epoch is not timed")
    kinds = [("u8", "nchw"), ("u8", "nhwc"), ("f32", "nchw"), ("f32", "nhwc")]
    cases = {(*kind, readers): [] for kind in kinds for readers in options.readers}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.npy")
        numpy.save(path, numpy.random.default_rng(0).integers(0, 256, (options.samples, *SHAPE), dtype=numpy.uint8))
        data = numpy.load(path, mmap_mode="r")
        for turn in range(options.rounds):
            for (*kind, readers), results in cases.items():
                results.append({"numpy": numpy_rate(data, options.batch, turn), **rates(options, path, kind, readers)})
    print(f"{machine.cpu()}, {os.cpu_count()} CPUs; batches of {options.batch}; GB/s of u8 pictures, medians of {options.rounds} rounds")
    print("| type | order | readers | GB/s | of numpy | of memcpy | staged, GB/s | numpy, GB/s | memcpy, GB/s |\n|---|---|---|---|---|---|---|---|---|")
    for (kind, order, readers), results in cases.items():
        middle = {name: statistics.median(result[name] for result in results) for name in results[0]}
        ratio = {name: statistics.median(result["batches"] / result[name] for result in results) for name in ("numpy", "memcpy")}
        gigabytes = {name: f"{rate / 1e9:.2f}" for name, rate in middle.items()}
        print(f"| {kind} | {order} | {readers} | {gigabytes['batches']} | {ratio['numpy']:.2f} | {ratio['memcpy']:.2f} | {gigabytes['staged']} | "
              f"{gigabytes['numpy']} | {gigabytes['memcpy']} |")


if __name__ == "__main__":
    main()
