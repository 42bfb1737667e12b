#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the training of a residual network on a folder of pictures of 32x32 with the same loop in PyTorch, by pictures per second.

usage: benchmarks/pictures/training.py [--build build] [--network resnet50] [--precision fp32] [--rounds 2] [--steps 10] FOLDER

FOLDER has a folder of pictures for each of ten classes. The recipe is the usual one of CIFAR-10: batch 128, SGD with a rate of 0.1, momentum 0.9 and a weight decay of
5e-4, random crop with a padding of 4, flip, normalization. Both run on two threads and take turns; PyTorch reads the folder by torchvision's ImageFolder and a
DataLoader with one worker process, and bf16 by torch.autocast. The first step of each round is left out.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

import residual
import torch
from torch.nn import functional
from torchvision import datasets, transforms

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.dirname(HERE), os.path.join(ROOT, "tools", "torch")]
import machine  # noqa: E402
from export import export  # noqa: E402

MEAN, STD = (0.4914, 0.4822, 0.4465), (0.247, 0.2435, 0.2616)


def program_rate(program, options, folder):
    """Returns pictures per second, from the times in the log's lines."""
    log = os.path.join(folder, "run.jsonl")
    numbers = f"x={':'.join(map(str, MEAN))},{':'.join(map(str, STD))}"
    subprocess.run([program, "train", "--data", options.folder, "--scale=x=0.00392156862745098", f"--normalize={numbers}", "--augment=random-crop:4,flip", "--schedule=cosine",
                    f"--steps={options.steps + 1}", f"--log={log}", "--log-every=1", f"--threads={options.threads}"], check=True, stdout=subprocess.DEVNULL)
    lines = [line for line in map(json.loads, open(log)) if "loss" in line]
    os.remove(log)
    return 128 * (len(lines) - 1) / (lines[-1]["time"] - lines[0]["time"])


def torch_rate(module, options):
    steps = transforms.Compose([transforms.RandomCrop(32, padding=4), transforms.RandomHorizontalFlip(), transforms.ToTensor(), transforms.Normalize(MEAN, STD)])
    loader = torch.utils.data.DataLoader(datasets.ImageFolder(options.folder, steps), 128, shuffle=True, num_workers=1, drop_last=True)
    optimizer = torch.optim.SGD(module.parameters(), 0.1, 0.9, weight_decay=5e-4)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, options.steps + 1)
    for step, (pictures, labels) in enumerate(loader):
        with torch.autocast("cpu", torch.bfloat16, enabled=options.precision == "bf16"):
            loss = functional.cross_entropy(module(pictures), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        loss.item()
        if step == 0:
            start = time.perf_counter()
        if step == options.steps:
            return 128 * options.steps / (time.perf_counter() - start)
    sys.exit("error: the folder has too few pictures for so many steps")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--network", choices=("resnet20", "resnet50"), default="resnet50")
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="fp32")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("folder", metavar="FOLDER")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    module = getattr(residual, options.network)().train()
    with tempfile.TemporaryDirectory() as folder:
        model, program = os.path.join(folder, "model.onnx"), os.path.join(folder, "program")
        export(module, {"x": torch.randn(2, 3, 32, 32)}, model)
        subprocess.run([os.path.join(options.build, "bin", "mpc"), "compile", model, "-o", program, "-q", "--batch=128", f"--precision={options.precision}",
                        f"--opt-level={'O0' if options.precision == 'fp32' else 'O1'}", "--optimizer=sgd", "--lr=0.1", "--momentum=0.9", "--weight-decay=5e-4"], check=True)
        print(f"{machine.cpu()}, {options.threads} threads; torch {torch.__version__}; {options.network}, {options.precision}, batch 128, {options.steps} steps a round\n")
        print("| round | mpc, pictures/s | PyTorch | ratio |\n|---|---|---|---|")
        for r in range(options.rounds):
            ours, theirs = program_rate(program, options, folder), torch_rate(module, options)
            print(f"| {r + 1} | {ours:.1f} | {theirs:.1f} | {ours / theirs:.2f} |", flush=True)


if __name__ == "__main__":
    main()
