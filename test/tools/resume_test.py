#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A training run that is killed (SIGKILL) at 20 random moments and resumed each time ends with the weights of an undisturbed run, bit by bit.

Each of the 20 kills comes some checkpoints after the last one, so that load on the machine changes nothing. A few more kills come while the run starts.

The compiled program is fp16 O2 with dynamic loss scaling (which skips steps at its start), Adam, dropout, shuffled data, a schedule that
depends on the step, and a checkpoint every few steps. Everything that a step reads must be in the checkpoint: weights, moments, scaler, dropout
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
STEPS = 7  # steps between checkpoints
HANGS = 120  # seconds without a new checkpoint, after which the test gives up


def prepare(folder, bin_folder):
    models.mlp(features=16, hidden=64, classes=4, dropout=0.25).save(f"{folder}/net.onnx")
    models.labelled(f"{folder}/train.npz", 600, features=16, classes=4)
    harness.must([f"{bin_folder}/mpc", "compile", "net.onnx", "-o", "net", "--batch", "32", "--loss", "softmax_cross_entropy:logits:label", "--precision", "fp16",
                  "--opt-level", "O2", "--loss-scale", "dynamic", "--init-scale", "16777216", "--growth-interval", "40", "--optimizer", "adam", "--lr", "0.01"], cwd=folder)


def command(folder, name, epochs):
    return [f"{folder}/net", "train", "--data", f"{folder}/train.npz", "--epochs", str(epochs), "--schedule", "cosine", "--warmup", "20", "--seed", "7",
            "--checkpoint-dir", f"{folder}/{name}", "--checkpoint-every", str(STEPS), "--keep", "3", "--log", f"{folder}/{name}.jsonl", "--log-every", "50", "--resume"]


def newest_step(folder, name):
    """Returns the step of the newest checkpoint, or 0."""
    files = os.listdir(f"{folder}/{name}") if os.path.isdir(f"{folder}/{name}") else []
    return max((int(file[5:-12]) for file in files if re.fullmatch(r"step-\d+\.safetensors", file)), default=0)


def newest(folder, name):
    """Returns (step, bytes) of the newest checkpoint."""
    step = newest_step(folder, name)
    with open(f"{folder}/{name}/step-{step:08}.safetensors", "rb") as file:
        return step, file.read()


def calibrate(folder):
    """Returns a number of epochs for which an undisturbed run takes some seconds here, and how long it takes."""
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


def run_and_kill(folder, epochs, when):
    """Starts the run and kills it when `when(newest step, seconds since the start)` is true. Returns whether it was killed: it may have finished before."""
    start = time.monotonic()
    with open(f"{folder}/errors", "w+b") as errors:
        process = subprocess.Popen(command(folder, "killed", epochs), stdout=subprocess.DEVNULL, stderr=errors, preexec_fn=harness.limits())
        while process.poll() is None and not when(newest_step(folder, "killed"), time.monotonic() - start):
            if time.monotonic() - start > HANGS:
                process.kill()
                raise harness.Failure(f"no new checkpoint in {HANGS} s")
            time.sleep(0.0005)
        process.send_signal(signal.SIGKILL)
        status = process.wait()
        errors.seek(0)
        if status not in (0, -signal.SIGKILL):
            raise harness.Failure(f"status {status}: {errors.read()[-1000:].decode(errors='replace')}")
    return status != 0


class SomeCheckpointsLater:
    """A random moment after the `count`th new checkpoint, at most as long after it as the last checkpoints were apart. It may therefore be in any part of a
    step or a checkpoint, however fast this machine is just now."""

    def __init__(self, before, count, share):
        self.last, self.count, self.share, self.seen = before, count, share, []

    def __call__(self, step, seconds):
        if step > self.last:
            self.last = step
            self.seen.append((step, seconds))
        if len(self.seen) < self.count:
            return False
        (first, begin), (last, end) = self.seen[0], self.seen[-1]
        return seconds >= end + self.share * (end - begin) / (last - first) * STEPS


def killed_run():
    with harness.folder() as folder:
        prepare(folder, OPTIONS.bin)
        epochs, _ = calibrate(folder)
        total, expected = newest(folder, f"undisturbed{epochs}")
        moments = random.Random(SEED)
        # So many new checkpoints come before a kill that all kills together cover most of the run.
        most = max(3, 2 * (total // STEPS) * 2 // 3 // KILLS)
        kills, attempts, startup = 0, 0, 0.0
        while kills < KILLS:
            attempts += 1
            if attempts > 10 * KILLS:
                raise harness.Failure(f"only {kills} of {attempts} runs could be killed")
            before = newest_step(folder, "killed")
            if attempts % 4 == 0:  # the kill also comes before the first new checkpoint: while it starts and resumes
                moment = moments.uniform(0, startup)
                run_and_kill(folder, epochs, lambda step, seconds: step > before or seconds >= moment)
                continue
            when = SomeCheckpointsLater(before, moments.randint(2, most), moments.random())
            if run_and_kill(folder, epochs, when):
                kills += 1
                startup = when.seen[0][1]
            else:  # it finished before the kill: start over
                for file in os.listdir(f"{folder}/killed"):
                    os.remove(f"{folder}/killed/{file}")
        harness.must(command(folder, "killed", epochs), cwd=folder)
        step, found = newest(folder, "killed")
        if step != total:
            raise harness.Failure(f"ends with step {step}, not {total}")
        if found != expected:
            raise harness.Failure(f"the checkpoints of step {total} differ after {KILLS} kills")
        left = [file for file in os.listdir(f"{folder}/killed") if not file.startswith("step-")]
        if left:
            raise harness.Failure(f"left behind: {left}")


if __name__ == "__main__":
    OPTIONS = harness.arguments(__doc__)
    harness.main([("resume/killed-20-times", killed_run)], OPTIONS.only)
