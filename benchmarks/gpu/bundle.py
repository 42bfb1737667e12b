#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds a folder that measures this build's training programs on a GPU machine. That machine needs a driver, Python 3 and, for the peers, PyTorch.

usage: bundle.py [--build DIR] [--out FOLDER] [--small] [--emulator]
The folder holds programs for sm_90a (as cubin if ptxas is found) and sm_80, sm_75 (PTX), the data and the host's results of the programs
that are checked, tuners of single layers, the peers' scripts, first-run.sh, which tries the programs on a new machine in less than ten minutes, and run.sh, which unpacks the programs, checks, measures, and
prints one table. --small --emulator builds a few tiny networks whose programs also hold
the emulator's code, to try the folder without a GPU (`first-run.sh --device=emulator`, `run.sh --device=emulator`).
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(ROOT, "tools", "models")]
import networks  # noqa: E402
from network import Network  # noqa: E402

LEVEL = {"fp32": "O0", "fp16": "O2", "bf16": "O1"}
CHECKS = {"full": {"mlp": 128, "lenet": 16, "resnet": 16, "gpt": 4}, "small": {"lenet": 4}}  # network to batch size
TRAINING = {"full": [("mlp", 128), ("mlp", 4096), ("lenet", 128), ("lenet", 2048), ("resnet18", 32), ("resnet18", 256), ("gpt2", 8)], "small": [("lenet", 4)]}
# Options of make_model.py. A context of 200 ends within a tile of attention.
MODEL = {"mlp": ["--no-values"], "lenet": [], "resnet": ["--blocks=1"], "gpt": ["--layers=2", "--heads=2", "--width=64", "--context=200"],
         "gpt2": ["--layers=12", "--heads=12", "--width=768", "--context=1024", "--vocabulary=50304", "--no-values"]}
SCALE = {"fp32": [], "fp16": ["--loss-scale=1024"], "bf16": ["--loss-scale=1024"]}
KIND = {"gpt2": "gpt"}  # of make_model.py, where it is not the network's name
SHAPE = {"mlp": (784,), "lenet": (1, 28, 28), "resnet": (3, 32, 32)}
TOKENS = {"gpt": (65, 200)}  # network to vocabulary and context
ADAMW = ["--loss=softmax_cross_entropy:logits:labels", "--optimizer=adamw,lr=0.0001", "--init=normal", "--params=.*"]
SGD = ["--loss=softmax_cross_entropy:logits:label", "--optimizer=sgd,lr=0.01,momentum=0.9", "--params=.*weight"]
TRAINED = {"gpt": ADAMW, "gpt2": ADAMW}  # the others: SGD
STEPS = 5
MOST_BYTES = 50e6


class Bundle:
    def __init__(self, options):
        self.mpc, self.out, self.size = os.path.join(options.build, "bin", "mpc"), options.out, "small" if options.small else "full"
        self.emulator = ",emulator" if options.emulator else ""
        self.index = {"checks": [], "training": [], "kernels": [], "tuners": []}
        for folder in ("programs", "data", "models"):
            os.makedirs(os.path.join(self.out, folder))

    def path(self, *parts):
        return os.path.join(self.out, *parts)

    def model(self, name, *options):
        path = self.path("models", name + ".onnx")
        subprocess.run([sys.executable, os.path.join(ROOT, "tools", "models", "make_model.py"), KIND.get(name, name), path, *options], check=True)
        return path

    def compile(self, model, name, precision, batch, targets, *options):
        """Compiles the model; returns the path of the program in the folder, and what the compiler printed."""
        program = os.path.join("programs", f"{name}-{precision}")
        done = subprocess.run([self.mpc, "compile", model, "-o", self.path(program), "--quiet", f"--target={targets}{self.emulator}", "--batch", str(batch), "--precision",
                        precision, "--opt-level", LEVEL[precision], *options], check=True, stdout=subprocess.PIPE, text=True)
        return program, done.stdout

    def check(self, name, batch):
        """Adds the programs of a network with their data, and what the host plan of each gives: the losses of STEPS steps and the first step's gradients."""
        model = self.model(name, *MODEL[name])
        rng = np.random.default_rng(1)
        data = os.path.join("data", f"{name}.npz")
        if name in TOKENS:
            vocabulary, context = TOKENS[name]
            tokens = rng.integers(0, vocabulary, (batch, context + 1))
            np.savez(self.path(data), inputs=tokens[:, :-1], labels=tokens[:, 1:])
        else:
            np.savez(self.path(data), x=rng.normal(size=(batch,) + SHAPE[name]).astype(np.float32), label=rng.integers(0, 10, batch))
        for precision in LEVEL:
            program, _ = self.compile(model, f"check-{name}", precision, batch, "host,sm_75,sm_80,sm_90a", *TRAINED.get(name, SGD), *SCALE[precision])
            traced, expected = self.path("traced.npz"), os.path.join("data", f"{name}-{precision}.npz")
            subprocess.run([self.path(program), "trace", "--device=host", "--lr=0.001", "--data", self.path(data), "--steps", str(STEPS), "--out", traced],
                           check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            np.savez(self.path(expected), **{key: value for key, value in np.load(traced).items() if key == "loss" or key.startswith("grad/")})
            os.remove(traced)
            self.index["checks"].append({"network": name, "batch": batch, "precision": precision, "program": program, "data": data, "expected": expected,
                                         "steps": STEPS})

    def training(self, name, batch):
        model = self.model(name, *dict.fromkeys([*MODEL.get(name, []), "--no-values"]))
        for precision in LEVEL:
            program, printed = self.compile(model, f"training-{name}-{batch}", precision, batch, "sm_90a", *TRAINED.get(name, SGD), "--no-trace", "--kernel-report=json")
            step = json.loads(printed)["step_report"][0]
            report = {key: step[key] for key in ("launch_count", "bytes", "expected_ms")}
            self.index["training"].append({"network": name, "batch": batch, "precision": precision, "program": program, "report": report})

    def kernel(self, name, maker, *arguments):
        net = Network(name, values=False)
        about = maker(net, *arguments)
        model = net.save(self.path("models", name + ".onnx"))
        batch = networks.batch_of(name, self.size, arguments)
        for precision in ("fp16", "bf16"):
            program, _ = self.compile(model, f"kernel-{name}", precision, batch, "sm_90a", *SGD, "--no-trace")
            self.index["kernels"].append({"name": name, "kind": maker.__name__, "arguments": arguments, "precision": precision, "program": program, **about})

    def tuner(self, name, maker, *arguments):
        """Adds a tuner of the layer's product or convolution and its two gradients."""
        net = Network("layer", values=False)
        about = maker(net, *arguments)
        program = os.path.join("programs", "tune-" + re.sub(r"[^A-Za-z0-9]+", "-", name))
        subprocess.run([self.mpc, "compile", net.save(self.path("models", "layer.onnx")), "-o", self.path(program), "--quiet", "--emit=tuner", f"--target=sm_90a{self.emulator}",
                        "--precision=bf16", "--loss=mse:y:target", "--params=.*", "--no-trace"], check=True)
        self.index["tuners"].append({"name": name, "kind": maker.__name__, "arguments": arguments, "precision": "bf16", "program": program, **about})

    def finish(self):
        for source in ("bundle/first-run.sh", "bundle/first_run.py", "bundle/run.sh", "bundle/run.py", "bundle/check.py", "../peers/training.py", "../peers/kernels.py", "../peers/server.py"):
            shutil.copy(os.path.join(HERE, source), self.out)
        if self.emulator:
            shutil.copy(os.path.join(os.path.dirname(self.mpc), "libmpc-emulator.so"), self.path("programs"))
        shutil.rmtree(self.path("models"))
        # Programs share most of their bytes, because each contains the runner: together they compress to a tenth.
        with tarfile.open(self.path("programs.tar.xz"), "w:xz") as archive:
            archive.add(self.path("programs"), "programs")
        shutil.rmtree(self.path("programs"))
        with open(self.path("index.json"), "w") as file:
            json.dump(self.index, file, indent=1)
        total = sum(os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk(self.out) for name in names)
        print(f"{self.out}: {total / 1e6:.1f} MB")
        if total > MOST_BYTES:
            sys.exit(f"error: more than {MOST_BYTES / 1e6:.0f} MB")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--out", default=os.path.join(ROOT, "build", "gpu-bundle"))
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--emulator", action="store_true")
    options = parser.parse_args()
    shutil.rmtree(options.out, ignore_errors=True)
    bundle = Bundle(options)
    for name, batch in CHECKS[bundle.size].items():
        bundle.check(name, batch)
    for name, batch in TRAINING[bundle.size]:
        bundle.training(name, batch)
    for name, (maker, *arguments) in (networks.SMALL if options.small else networks.FULL).items():
        bundle.kernel(name, maker, *arguments)
    for name, (maker, *arguments) in networks.TUNED[bundle.size].items():
        bundle.tuner(name, maker, *arguments)
    bundle.finish()


if __name__ == "__main__":
    main()
