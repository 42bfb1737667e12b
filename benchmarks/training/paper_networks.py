#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares training steps of convolutional networks at full size with PyTorch's on the CPU, and their compile times.

usage: paper_networks.py --torch PYTHON --files FOLDER [--build DIR] [--threads N] [--rounds N] [--precision fp32,bf16] [--modes eager,compile] [NETWORK:BATCH...]
--torch names a Python with torch, torchvision, numpy and onnx. FOLDER has the networks as training graphs (resnet50_ce.onnx, googlenet_aux_ce.onnx, ...); dcgan and ssd300 are made by tools/models,
and vit_s, mobilenet_v2, efficientnet_b0 and convnext_tiny are exported from torchvision.

Every round runs some steps of mpc and of PyTorch in turns; a ratio is the faster peer's median step over mpc's, and the median of the rounds is printed, with their geometric mean
at the end.
"""
import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.dirname(HERE))
import machine  # noqa: E402
from peers.server import Peer  # noqa: E402

VIT_S = {"image_size": 224, "patch_size": 16, "num_layers": 12, "num_heads": 6, "hidden_dim": 384, "mlp_dim": 1536}
NETWORKS = ["resnet50:4", "vgg16:2", "googlenet:8", "inception_v3:4", "densenet121:4", "dcgan:32"]
GAN = ["--outputs=fake", *(f"--step={name}:loss=output:{name}_loss:params=^{name}\\.:optimizer=adam,lr=2e-4,betas=0.5/0.999" for name in "dg")]
# What tools/torch/export.py exports; ViT-S/16 has torchvision's class.
EXPORTED = {"vit_s": ["torchvision.models:VisionTransformer", *(f"--set={name}={value}" for name, value in VIT_S.items())],
            **{name: [f"torchvision.models:{name}"] for name in ("mobilenet_v2", "efficientnet_b0", "convnext_tiny")}}
PARAMETERS = r"--params=.*(weight|bias|running_mean|running_var).*"


def compiled(options, network, batch, precision, folder):
    """Returns (program, the seconds of the fastest of three compilations)."""
    program = os.path.join(folder, f"{network}-{precision}")
    level = "--opt-level=" + ("O0" if precision == "fp32" else "O1")
    if network in EXPORTED:
        model, more = os.path.join(folder, f"{network}.onnx"), ["--loss=softmax_cross_entropy:logits:labels", "--optimizer=sgd,lr=0.01,momentum=0.9"]
        subprocess.run([options.torch, os.path.join(ROOT, "tools/torch/export.py"), *EXPORTED[network], f"--input=x={batch}x3x224x224", "--output=logits", "-o", model],
                       check=True, stdout=subprocess.DEVNULL)
    elif network in ("dcgan", "ssd300"):
        model, more = os.path.join(folder, f"{network}.onnx"), GAN if network == "dcgan" else ["--loss=output:loss", "--optimizer=sgd,lr=0.001,momentum=0.9"]
        subprocess.run([sys.executable, os.path.join(ROOT, "tools/models/make_model.py"), network, model, *(["--batch", batch] if network == "dcgan" else [])], check=True)
    else:
        model = next(path for name in (network, network + "_ce", network + "_aux_ce") if os.path.exists(path := os.path.join(options.files, name + ".onnx")))
        more = ["--optimizer=sgd,lr=0.01,momentum=0.9", PARAMETERS]
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        subprocess.run([os.path.join(options.build, "bin/mpc"), "compile", model, "-o", program, "-q", f"--batch={batch}", f"--precision={precision}", level, *more], check=True)
        seconds.append(time.perf_counter() - start)
    return program, min(seconds)


def milliseconds(program, steps, threads):
    out = subprocess.run([program, "bench", "--json", "--steps", str(steps), "--warmup", "1", "--threads", str(threads)], check=True, text=True, stdout=subprocess.PIPE).stdout
    return json.loads(out)["median_ms"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", default=NETWORKS, metavar="NETWORK:BATCH")
    parser.add_argument("--torch", required=True)
    parser.add_argument("--files", required=True)
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--precision", default="fp32")
    parser.add_argument("--modes", default="eager,compile")
    options = parser.parse_args()
    modes, ratios = options.modes.split(","), []
    for network in options.networks:
        name, batch = network.split(":")
        for precision in options.precision.split(","):
            with tempfile.TemporaryDirectory() as folder:
                program, seconds = compiled(options, name, batch, precision, folder)
                peers = [Peer(options.torch, name, "-", batch, precision, mode, "cpu", options.threads) for mode in modes]
                if not ratios:
                    print(f"{machine.cpu()}, {options.threads} threads; PyTorch {peers[0].version}\n\n| network | batch | precision | compile, s | mpc, ms | "
                          + " | ".join(f"{mode}, ms" for mode in modes) + " | ratio |\n" + "|---" * (6 + len(modes)) + "|", flush=True)
                rounds = [[milliseconds(program, options.steps, options.threads), *(1e3 * peer.median(options.steps) for peer in peers)] for _ in range(options.rounds)]
                for peer in peers:
                    peer.close()
            ratios.append(statistics.median(min(times[1:]) / times[0] for times in rounds))
            print(f"| {name} | {batch} | {precision} | {seconds:.1f} | " + " | ".join(f"{statistics.median(column):.0f}" for column in zip(*rounds)) + f" | {ratios[-1]:.2f} |", flush=True)
    print(f"\nGeometric mean of the ratios: {math.exp(statistics.fmean(map(math.log, ratios))):.2f}, smallest: {min(ratios):.2f}")


if __name__ == "__main__":
    main()
