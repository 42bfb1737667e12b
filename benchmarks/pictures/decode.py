#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the plugin for pictures with Pillow and torchvision: the pixels of each picture, and the time that reading and decoding takes on one core.

usage: benchmarks/pictures/decode.py --plugin build/bin/libmpc_images.so [--rounds 5] SOURCE...

SOURCE is what the plugin reads: a folder, a list or a .tar. Prints a table in Markdown. Times are CPU time of this process, the least of the rounds, in which the three take turns; each reads
the file of a picture and gives RGB of 8 bits. Needs Pillow; torchvision is left out where it is not installed.
"""
import argparse
import io
import os
import sys
import time

import numpy as np
import PIL
from PIL import Image, ImageOps, features

import plugin

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import machine  # noqa: E402

try:
    import torch
    import torchvision
    from torchvision.io import ImageReadMode, decode_image
except ImportError:
    torchvision = None


def ranges(source):
    """Returns (file, offset, bytes) of each picture; bytes is None for a file of its own."""
    found, members = [], {}
    for i in range(len(source)):
        path, _, member = source.where(i).partition(": ")
        if member and path not in members:
            import tarfile
            with tarfile.open(path) as archive:
                members[path] = {os.path.normpath(m.name): (m.offset_data, m.size) for m in archive if m.isfile()}
        found.append((path, *members[path][member]) if member else (path, 0, None))
    return found


def read(place):
    path, offset, size = place
    with open(path, "rb") as file:
        file.seek(offset)
        return file.read() if size is None else file.read(size)


def pillow(data):
    return ImageOps.exif_transpose(Image.open(io.BytesIO(data))).convert("RGB")


def compare(source, places):
    """Returns how many pictures differ from Pillow's, and the largest difference."""
    differ, most = 0, 0
    for i, place in enumerate(places):
        ours, theirs = source.pixels(i).astype(np.int16), np.asarray(pillow(read(place)))
        if ours.shape != theirs.shape:
            sys.exit(f"error: {source.where(i)}: {ours.shape} and {theirs.shape}")
        difference = int(abs(ours - theirs).max())
        differ, most = differ + (difference > 0), max(most, difference)
    return differ, most


def seconds(work, count):
    """Returns the CPU time of `work` for each of `count` pictures, on average."""
    start = time.process_time()
    for i in range(count):
        work(i)
    return (time.process_time() - start) / count


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plugin", default="build/bin/libmpc_images.so")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("sources", nargs="+", metavar="SOURCE")
    options = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    table = plugin.load(os.path.abspath(options.plugin))
    print(f"{machine.cpu()}, one core; {table.name.decode()}; Pillow {PIL.__version__} (libjpeg-turbo {features.version('libjpeg_turbo')})" +
          (f"; torchvision {torchvision.__version__}" if torchvision else ""))
    print("\n| source | pictures | differ from Pillow | largest difference | plugin, \u00b5s each | Pillow | torchvision |\n|---|---|---|---|---|---|---|")
    for path in options.sources:
        source = plugin.Source(table, path)
        places = ranges(source)
        differ, most = compare(source, places)
        works = {"plugin": source.decode, "Pillow": lambda i, places=places: pillow(read(places[i])).load()}
        if torchvision:
            torch.set_num_threads(1)
            works["torchvision"] = lambda i, places=places: decode_image(torch.frombuffer(bytearray(read(places[i])), dtype=torch.uint8), ImageReadMode.RGB)
        least = {name: float("inf") for name in works}
        for _ in range(options.rounds):
            for name, work in works.items():
                least[name] = min(least[name], seconds(work, len(source)))
        cells = [f"{least[name] * 1e6:.1f} ({least[name] / least['plugin']:.2f}x)" if name in least else "-" for name in ("Pillow", "torchvision")]
        print(f"| {path} | {len(source)} | {differ} | {most} | {least['plugin'] * 1e6:.1f} | {' | '.join(cells)} |")
        source.close()


if __name__ == "__main__":
    main()
