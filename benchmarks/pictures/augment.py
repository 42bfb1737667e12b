#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the time that the plugin for pictures takes to read, decode and augment a picture with torchvision's, on one core.

usage: benchmarks/pictures/augment.py [--plugin build/bin/libmpc_images.so] [--rounds 5] [--pictures N] SIZE RECIPE SOURCE

SIZE is the side of the result in pixels. RECIPE is `cifar` (random crop with a padding of 4, flip) or `imagenet` (random resized crop, flip). SOURCE is a folder or a .tar
of pictures. Times are CPU time, the least of the rounds, in which the ways take turns. torchvision decodes bytes to tensors of bytes and applies transforms.v2 to them, or Pillow
decodes and torchvision's transforms work on Pillow's pictures, which is the usual way.
"""
import argparse
import io
import os
import sys

import plugin
import torch
import torchvision
from decode import ranges, read, seconds
from PIL import Image
from torchvision.io import ImageReadMode, decode_image
from torchvision.transforms import v2

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import machine  # noqa: E402

RECIPES = {
    "cifar": ("random-crop:4,flip", lambda size: [v2.RandomCrop(size, padding=4), v2.RandomHorizontalFlip()]),
    "imagenet": ("random-resized-crop,flip", lambda size: [v2.RandomResizedCrop(size, antialias=True), v2.RandomHorizontalFlip()]),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plugin", default="build/bin/libmpc_images.so")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--pictures", type=int, default=1000)
    parser.add_argument("size", type=int, metavar="SIZE")
    parser.add_argument("recipe", choices=RECIPES, metavar="RECIPE")
    parser.add_argument("source", metavar="SOURCE")
    options = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    torch.set_num_threads(1)
    torch.manual_seed(0)
    steps, transforms = RECIPES[options.recipe]
    table = plugin.load(os.path.abspath(options.plugin))
    source = plugin.Source(table, options.source)
    places = ranges(source)[:options.pictures]
    maker = plugin.Maker(table, source, (options.size, options.size), augment=steps)
    on_tensors = v2.Compose(transforms(options.size))
    on_pictures = v2.Compose([*transforms(options.size), v2.PILToTensor()])
    works = {
        "plugin": maker.make,
        "torchvision on tensors": lambda i: on_tensors(decode_image(torch.frombuffer(bytearray(read(places[i])), dtype=torch.uint8), ImageReadMode.RGB)),
        "torchvision on Pillow's": lambda i: on_pictures(Image.open(io.BytesIO(read(places[i]))).convert("RGB")),
    }
    least = {name: float("inf") for name in works}
    for _ in range(options.rounds):
        for name, work in works.items():
            least[name] = min(least[name], seconds(work, len(places)))
    print(f"{machine.cpu()}, one core; {table.name.decode()}; torchvision {torchvision.__version__}, torch {torch.__version__}")
    print(f"\n{len(places)} pictures, --augment={steps}, {options.size}x{options.size}\n\n| | \u00b5s a picture | pictures/s | the plugin is as fast |\n|---|---|---|---|")
    for name, time in least.items():
        print(f"| {name} | {time * 1e6:.0f} | {1 / time:.0f} | {time / least['plugin']:.2f}x |")
    maker.close()
    source.close()


if __name__ == "__main__":
    main()
