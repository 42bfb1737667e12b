#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains a network of convolutions, a bidirectional GRU and CTC to read spoken digits, and prints the digit error rates as Markdown.

usage: speech.py --data FSDD [--mpc build/bin/mpc] [--epochs 8] [--sequences 4000] [--precision "fp32 O0,fp16 O1"] > docs/results/speech.md
FSDD is a folder with the WAV files of the free spoken digit dataset (DIGIT_SPEAKER_N.wav, 8 kHz) or its tar file. It needs PyTorch and onnxscript for the export, not for the training.
Recordings are joined at random to sequences of 1 to 5 digits; the last five recordings of each digit and speaker are only in test sequences. The features are the logarithms of 40 mel bands,
in windows of 32 ms each 16 ms, with mean 0 and deviation 1.
Exits with status 1 when the error rate in fp32 is above 5 %, or another precision is more than 1.5 points from it.
"""
import argparse
import io
import os
import sys
import tarfile
import tempfile
import wave

import numpy as np
import runs

sys.path.insert(0, os.path.join(runs.SOURCE, "tools", "torch"))

RATE, WINDOW, HOP, BANDS, DIGITS, LONGEST = 8000, 256, 128, 40, 5, 256
HELD_OUT, TEST = 5, 1000
BOUND, NEAR = 0.05, 0.015


def recordings(path):
    """Returns {(digit, speaker, n): samples in [-1, 1]}."""
    found = {}

    def add(name, file):
        digit, speaker, number = os.path.splitext(os.path.basename(name))[0].split("_")
        with wave.open(file) as sound:
            assert sound.getframerate() == RATE and sound.getsampwidth() == 2 and sound.getnchannels() == 1, name
            found[int(digit), speaker, int(number)] = np.frombuffer(sound.readframes(sound.getnframes()), "<i2") / 32768
    if os.path.isdir(path):
        for folder, _, names in os.walk(path):
            for name in sorted(names):
                if name.endswith(".wav"):
                    add(name, os.path.join(folder, name))
    else:
        with tarfile.open(path) as archive:
            for member in archive:
                if member.name.endswith(".wav"):
                    add(member.name, io.BytesIO(archive.extractfile(member).read()))
    return found


def mel_filters():
    """[WINDOW/2 + 1, BANDS]: triangles whose corners are equally far from each other in mel = 2595 log10(1 + f/700) (O'Shaughnessy 1987)."""
    top = 2595 * np.log10(1 + RATE / 2 / 700)
    corners = 700 * (10 ** (np.linspace(0, top, BANDS + 2) / 2595) - 1)
    f = np.arange(WINDOW // 2 + 1)[:, None] * RATE / WINDOW
    up, down = (f - corners[:-2]) / (corners[1:-1] - corners[:-2]), (corners[2:] - f) / (corners[2:] - corners[1:-1])
    return np.maximum(0, np.minimum(up, down))


def log_mel(sound):
    """[frames, BANDS]"""
    frames = np.lib.stride_tricks.sliding_window_view(sound, WINDOW)[::HOP] * np.hanning(WINDOW)
    return np.log(np.abs(np.fft.rfft(frames)) ** 2 @ mel_filters() + 1e-6)


def sequences(sounds, keys, count, seed):
    """Joins recordings at random. Returns features [count, LONGEST, BANDS], labels 1 to 10 [count, DIGITS] (0 is the blank), and the lengths of both."""
    rng = np.random.default_rng(seed)
    x, y = np.zeros((count, LONGEST, BANDS), np.float32), np.zeros((count, DIGITS), np.int64)
    frames, digits = np.zeros(count, np.int64), np.zeros(count, np.int64)
    i = 0
    while i < count:
        chosen = [keys[k] for k in rng.integers(len(keys), size=rng.integers(1, DIGITS + 1))]
        parts = []
        for key in chosen:
            parts += [sounds[key] * rng.uniform(0.5, 1.5), rng.normal(0, 1e-3, rng.integers(200, 1200))]
        features = log_mel(np.concatenate(parts) + 0)
        if len(features) > LONGEST:
            continue
        features = (features - features.mean()) / features.std()
        x[i, :len(features)], y[i, :len(chosen)] = features, [key[0] + 1 for key in chosen]
        frames[i], digits[i] = len(features), len(chosen)
        i += 1
    return x, y, frames, digits


def export_network(path):
    """A network from features [N, LONGEST, BANDS] to logits [N, LONGEST/2, 11]."""
    import torch
    from export import export
    from torch import nn

    class Reader(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Sequential(nn.Conv2d(1, 16, 5, stride=2, padding=2), nn.BatchNorm2d(16), nn.ReLU(),
                                      nn.Conv2d(16, 24, 3, stride=(1, 2), padding=1), nn.BatchNorm2d(24), nn.ReLU())
            self.rnn, self.fc = nn.GRU(24 * BANDS // 4, 96, batch_first=True, bidirectional=True), nn.Linear(192, 11)

        def forward(self, x):
            y = self.conv(x.unsqueeze(1))  # [N, 24, LONGEST/2, BANDS/4]
            return self.fc(self.rnn(y.transpose(1, 2).flatten(2))[0])
    torch.manual_seed(0)
    export(Reader(), {"x": torch.zeros(2, LONGEST, BANDS)}, path, outputs=["logits"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True)
    parser.add_argument("--mpc", default=os.path.join(runs.SOURCE, "build", "bin", "mpc"))
    parser.add_argument("--epochs", default="8")
    parser.add_argument("--sequences", type=int, default=4000)
    parser.add_argument("--precision", default="fp32 O0,fp16 O1")
    options = parser.parse_args()
    sounds = recordings(options.data)
    last = {}
    for digit, speaker, number in sounds:
        last.setdefault((digit, speaker), []).append(number)
    held = {(digit, speaker, n) for (digit, speaker), numbers in last.items() for n in sorted(numbers)[-HELD_OUT:]}
    results = {}
    with tempfile.TemporaryDirectory() as work:
        files = {name: os.path.join(work, f"{name}.npz") for name in ("train", "test")}
        for name, keys, count, seed in (("train", set(sounds) - held, options.sequences, 1), ("test", held, TEST, 2)):
            x, y, frames, digits = sequences(sounds, sorted(keys), count, seed)
            np.savez(files[name], x=x, y=y, frames=(frames + 1) // 2, digits=digits)
        model = os.path.join(work, "reader.onnx")
        export_network(model)
        for name in options.precision.split(","):
            results[name] = runs.run(options.mpc, work, model, name, COMPILE,
                                     TRAIN + ["--data", files["train"], "--epochs", options.epochs, "--seed", "1"], ["--data", files["test"]])
            print(name, results[name], file=sys.stderr, flush=True)
    rates = {name: result["token_error_rate"] for name, result in results.items()}
    reference = rates[next(iter(rates))]
    failed = reference > BOUND or any(abs(rate - reference) > NEAR for rate in rates.values())
    print("# Spoken digits: convolutions, a bidirectional GRU and CTC\n")
    print(f"{runs.where()}. Made by `benchmarks/accuracy/speech.py --data FSDD --epochs {options.epochs} --sequences {options.sequences}`. {options.sequences} training sequences of 1 to {DIGITS} digits, "
          f"{TEST} test sequences of recordings that no training sequence has ({len(held)} of {len(sounds)}).\n")
    print(f"```\nmpc compile reader.onnx {' '.join(COMPILE)} --precision=P --opt-level=L\n./reader train {' '.join(TRAIN)} --epochs {options.epochs} --seed 1\n```\n")
    print("| | digit error rate | test loss | steps | skipped | time |\n|---|---|---|---|---|---|")
    for name, result in results.items():
        print(f"| {name} | **{rates[name]:.2%}** | {result['loss']:.4f} | {result['steps']} | {result['skipped']} | {result['time']} |")
    print(f"\nHeld by the script: at most {BOUND:.0%} in fp32, and within {NEAR * 100:g} points of it in other precisions: {'BROKEN' if failed else 'kept'}.")
    return 1 if failed else 0


COMPILE = ["--batch=32", f"--loss=ctc:logits:y:frames:digits,max_target={DIGITS}", "--optimizer=adam"]
TRAIN = ["--lr=0.002", "--schedule=cosine"]

if __name__ == "__main__":
    sys.exit(main())
