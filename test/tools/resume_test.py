#!/usr/bin/python3
"""A training run killed (SIGKILL) at 20 random moments and resumed each time ends with the weights of an undisturbed run, bit by bit.

The program is compiled: fp16 O2 with dynamic loss scaling (which skips steps at its start), Adam, dropout, shuffled data, a schedule that
depends on the step, a checkpoint every few steps. Everything that a step reads has to be in the checkpoint: weights, moments, scaler, dropout
counter, order and position of the samples.
"""
import os
import random
import re
import signal
import subprocess
import time

import harness
import models

KILLS = 20
SEED = 20


def prepare(folder, bin_folder):
    models.mlp(features=16, hidden=64, classes=4, dropout=0.25).save(f"{folder}/net.onnx")
    models.labelled(f"{folder}/train.npz", 600, features=16, classes=4)
    harness.must([f"{bin_folder}/mpc", "compile", "net.onnx", "-o", "net", "--batch", "32", "--loss", "softmax_cross_entropy:logits:label", "--precision", "fp16",
                  "--opt-level", "O2", "--loss-scale", "dynamic", "--init-scale", "16777216", "--growth-interval", "40", "--optimizer", "adam", "--lr", "0.01"], cwd=folder)


def command(folder, name, epochs):
    return [f"{folder}/net", "train", "--data", f"{folder}/train.npz", "--epochs", str(epochs), "--schedule", "cosine", "--warmup", "20", "--seed", "7",
            "--checkpoint-dir", f"{folder}/{name}", "--checkpoint-every", "7", "--keep", "3", "--log", f"{folder}/{name}.jsonl", "--log-every", "50", "--resume"]


def newest(folder, name):
    """(step, bytes) of the newest checkpoint, or (0, b"")."""
    files = sorted(f for f in os.listdir(f"{folder}/{name}") if re.fullmatch(r"step-\d+\.safetensors", f)) if os.path.isdir(f"{folder}/{name}") else []
    if not files:
        return 0, b""
    with open(f"{folder}/{name}/{files[-1]}", "rb") as file:
        return int(files[-1][5:-12]), file.read()


def calibrate(folder):
    """Epochs that make an undisturbed run last some seconds here, and how long it lasts."""
    epochs = 20
    while True:
        start = time.monotonic()
        said = harness.must(command(folder, f"undisturbed{epochs}", epochs), cwd=folder)
        seconds = time.monotonic() - start
        if not re.search(r"done: \d+ steps, [1-9]\d* skipped", said):
            raise harness.Failure(f"no step was skipped, so the scaler's state shows nothing: {said[-300:]}")
        if seconds > 2.0 or epochs > 20000:
            return epochs, seconds
        epochs *= 4


def killed_run():
    with harness.folder() as folder:
        prepare(folder, OPTIONS.bin)
        epochs, seconds = calibrate(folder)
        total, expected = newest(folder, f"undisturbed{epochs}")
        moments = random.Random(SEED)
        kills, attempts, progressed = 0, 0, set()
        while kills < KILLS:
            attempts += 1
            if attempts > 10 * KILLS:
                raise harness.Failure(f"only {kills} of {attempts} runs could be killed")
            before, _ = newest(folder, "killed")
            process = subprocess.Popen(command(folder, "killed", epochs), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, preexec_fn=harness.limits())
            # Within the share of the run that this kill has on average, so that all of them together cover it.
            try:
                process.wait(moments.uniform(0.02, 1.6 * seconds / KILLS))
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
            error = process.communicate()[1].decode(errors="replace")
            if process.returncode == -signal.SIGKILL:
                kills += 1
            elif process.returncode == 0:  # done too early: once more from the start
                for file in os.listdir(f"{folder}/killed"):
                    os.remove(f"{folder}/killed/{file}")
            else:
                raise harness.Failure(f"after {kills} kills: status {process.returncode}: {error[-1000:]}")
            step, _ = newest(folder, "killed")
            if step > before:
                progressed.add(step)
        harness.must(command(folder, "killed", epochs), cwd=folder)
        step, found = newest(folder, "killed")
        if step != total:
            raise harness.Failure(f"ends with step {step}, not {total}")
        if found != expected:
            raise harness.Failure(f"the checkpoints of step {total} differ after {KILLS} kills")
        if len(progressed) < KILLS // 4:
            raise harness.Failure(f"only {len(progressed)} of {KILLS} killed runs got to a checkpoint: the moments show little")
        left = [file for file in os.listdir(f"{folder}/killed") if not file.startswith("step-")]
        if left:
            raise harness.Failure(f"left behind: {left}")


if __name__ == "__main__":
    OPTIONS = harness.arguments(__doc__)
    harness.main([("resume/killed-20-times", killed_run)], OPTIONS.only)
