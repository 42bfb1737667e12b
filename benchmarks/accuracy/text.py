#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains a language model of characters, a 2-layer LSTM, as PyTorch does from the same weights, and prints the validation losses as Markdown.

usage: text.py --text FILE [--mpc build/bin/mpc] [--steps 400] [--hidden 256] > docs/results/text.md
It needs PyTorch and onnxscript. The last tenth of the text is for validation. PyTorch trains in fp32; programs of mpc in fp32, fp16 and bf16 take the same batches in the same order.
With --carry the state goes on from batch to batch; a training of this kind is killed in the middle, resumed, and compared bit for bit with one that ran through.
Exits with status 1 when a validation loss is further than 0.03 from PyTorch's, or when the resumed training ends in other bits.
"""
import argparse
import glob
import os
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np
import runs
import torch
from torch import nn

sys.path.insert(0, os.path.join(runs.SOURCE, "tools", "torch"))
from export import export  # noqa: E402

BATCH, TIME, BOUND = 32, 64, 0.03
OPTIMIZER = ["--optimizer=adam", "--lr=0.002"]


class LanguageModel(nn.Module):
    def __init__(self, characters, hidden):
        super().__init__()
        self.embed, self.rnn, self.fc = nn.Embedding(characters, 64), nn.LSTM(64, hidden, 2, batch_first=True), nn.Linear(hidden, characters)

    def forward(self, x):
        return self.fc(self.rnn(self.embed(x))[0])


class Carrying(LanguageModel):
    def forward(self, x, h0, c0):
        y, (hn, cn) = self.rnn(self.embed(x), (h0, c0))
        return self.fc(y), hn, cn


def rows(tokens):
    """Cuts a text into BATCH streams, and these into pieces of TIME tokens, so that row i goes on where row i - BATCH ended."""
    pieces = (len(tokens) - 1) // (BATCH * TIME)

    def cut(t):
        return t[:BATCH * pieces * TIME].reshape(BATCH, pieces, TIME).swapaxes(0, 1).reshape(pieces * BATCH, TIME)
    return cut(tokens[:-1]), cut(tokens[1:])


def validation(model, data):
    model.eval()
    losses = []
    with torch.no_grad():
        for i in range(0, len(data[0]), BATCH):
            x, y = (torch.from_numpy(part[i:i + BATCH]) for part in data)
            losses.append(nn.functional.cross_entropy(model(x).flatten(0, 1), y.flatten()).item())
    return float(np.mean(losses))


def train_torch(model, train, steps):
    optimizer = torch.optim.Adam(model.parameters(), lr=0.002)
    model.train()
    for step in range(steps):
        i = step * BATCH % len(train[0])
        x, y = (torch.from_numpy(part[i:i + BATCH]) for part in train)
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x).flatten(0, 1), y.flatten()).backward()
        optimizer.step()


def carried(mpc, work, model, data, steps):
    """Trains with a carried state, once through and once killed and resumed; returns whether both end in the same bits, and the loss."""
    path, program = os.path.join(work, "carrying.onnx"), os.path.join(work, "carrying")
    state = torch.zeros(2, BATCH, model.rnn.hidden_size)
    export(model, {"x": torch.zeros(BATCH, TIME, dtype=torch.int64), "h0": state, "c0": state}, path, outputs=["logits", "hn", "cn"], batch=None)
    runs.call([mpc, "compile", path, "-q", "-o", program, "--loss=softmax_cross_entropy:logits:y,axis=2", "--carry=hn:h0", "--carry=cn:c0", "--precision=fp16"] + OPTIMIZER)
    command = [program, "train", "--data", data, "--no-shuffle", "--steps", str(steps), "--checkpoint-every", str(steps // 4), "--keep", "0", "--seed", "1", "--checkpoint-dir"]
    whole, killed = os.path.join(work, "whole"), os.path.join(work, "killed")
    text = runs.call(command + [whole])
    process = subprocess.Popen(command + [killed], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while len(glob.glob(os.path.join(killed, "*.safetensors"))) < 2 and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    runs.call(command + [killed, "--resume"])
    ends = [sorted(glob.glob(os.path.join(folder, "*.safetensors")))[-1] for folder in (whole, killed)]
    return process.returncode == -signal.SIGKILL and open(ends[0], "rb").read() == open(ends[1], "rb").read(), text.rstrip().splitlines()[-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", required=True)
    parser.add_argument("--mpc", default=os.path.join(runs.SOURCE, "build", "bin", "mpc"))
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--hidden", type=int, default=256)
    options = parser.parse_args()
    text = open(options.text, encoding="utf-8").read()
    characters = sorted(set(text))
    number = {c: i for i, c in enumerate(characters)}
    tokens = np.array([number[c] for c in text], np.int64)
    cut = len(tokens) * 9 // 10
    train, val = rows(tokens[:cut]), rows(tokens[cut:])
    with tempfile.TemporaryDirectory() as work:
        files = {name: os.path.join(work, f"{name}.npz") for name in ("train", "val")}
        np.savez(files["train"], x=train[0], y=train[1])
        np.savez(files["val"], x=val[0], y=val[1])
        torch.manual_seed(1)
        model = LanguageModel(len(characters), options.hidden)
        path = os.path.join(work, "lm.onnx")
        export(model, {"x": torch.zeros(BATCH, TIME, dtype=torch.int64)}, path, outputs=["logits"])
        losses = {}
        for name in ("fp32 O0", "fp16 O1", "bf16 O1"):
            result = runs.run(options.mpc, work, path, name, ["--batch", str(BATCH), "--loss=softmax_cross_entropy:logits:y,axis=2"] + OPTIMIZER,
                              ["--data", files["train"], "--no-shuffle", "--steps", str(options.steps)], ["--data", files["val"]])
            losses[name] = result["loss"]
            print(name, result, file=sys.stderr, flush=True)
        same, end = carried(options.mpc, work, Carrying(len(characters), options.hidden), files["train"], min(options.steps, 80))
        print("carried:", same, end, file=sys.stderr, flush=True)
        first = validation(model, val)
        train_torch(model, train, options.steps)
        reference = validation(model, val)

    print("# A language model of characters: validation loss by precision\n")
    print(f"{runs.where()}; PyTorch {torch.__version__}. Made by `benchmarks/accuracy/text.py --text {os.path.basename(options.text)} --steps {options.steps} --hidden {options.hidden}`: a 2-layer LSTM, "
          f"{len(characters)} characters, batch {BATCH}, {TIME} characters a sample, Adam at 0.002, the same initial weights and batches. Loss on the last tenth of the text, in nats a character:\n")
    print("| | loss | difference from PyTorch |\n|---|---|---|")
    print(f"| before the training | {first:.4f} | |\n| PyTorch, fp32 | {reference:.4f} | |")
    for name, loss in losses.items():
        print(f"| {name} | {loss:.4f} | {loss - reference:+.4f} |")
    failed = any(abs(loss - reference) > BOUND for loss in losses.values()) or not same
    print(f"\nWith `--carry` (fp16), a training that was killed and resumed ended in {'the same' if same else 'OTHER'} bits as one that ran through.")
    print(f"\nHeld by the script: losses within {BOUND} of PyTorch's, the same bits: {'BROKEN' if failed else 'kept'}.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
