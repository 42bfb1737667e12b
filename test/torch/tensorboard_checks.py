#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads the event files of trainings with TensorBoard's own readers.

usage: tensorboard_checks.py --build BUILD      (by hand; needs the package tensorboard)
What TensorBoard shows must be what the log says: of one training, of one that was resumed (TensorBoard forgets the steps that were done twice), and of one with two optimizers.
Exits with status 1 where it is not.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))
import programs  # noqa: E402

NAMES = {"loss": "train/loss", "lr": "train/lr", "scale": "train/scale", "skipped": "train/skipped", "samples_per_s": "train/samples_per_second", "epoch": "epoch",
         "val_loss": "val/loss", "accuracy": "val/accuracy"}


def shown(folder):
    """Returns {tag: [(step, value), ...]} as TensorBoard shows the folder."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    events = EventAccumulator(folder, size_guidance={"scalars": 0, "tensors": 0})
    events.Reload()
    return {tag: [(event.step, event.value) for event in events.Scalars(tag)] for tag in events.Tags()["scalars"]}


def records(folder):
    """Reads every record of the newest file with checksums (TensorBoard's RecordReader), and returns the events."""
    from tensorboard.compat.proto import event_pb2
    from tensorboard.compat.tensorflow_stub.pywrap_tensorflow import PyRecordReader_New
    from tensorboard.compat.tensorflow_stub import errors
    path = sorted(os.path.join(folder, name) for name in os.listdir(folder))[-1]
    reader, events = PyRecordReader_New(path), []
    while True:
        try:
            reader.GetNext()
        except errors.OutOfRangeError:
            return events
        events.append(event_pb2.Event.FromString(reader.record()))


def logged(path):
    """Returns {tag: [(step, value), ...]} of a log; later lines of a step are the last ones."""
    series = {}
    for line in map(json.loads, open(path)):
        for name, tag in NAMES.items():
            if name in line and not (name == "epoch" and "val_samples" in line):
                series.setdefault(tag, []).append((line["step"], np.float32(np.nan if line[name] is None else line[name])))
        for optimizer, report in line.get("steps", {}).items():
            for name, value in report.items():
                series.setdefault(f"{NAMES[name]}/{optimizer}", []).append((line["step"], np.float32(value)))
    if "steps" in json.loads(open(path).readline()):
        for name in ("loss", "lr", "scale", "skipped"):
            series.pop(NAMES[name], None)
    return series


def same(found, expected):
    if set(found) != set(expected):
        return f"tags {sorted(found)}, not {sorted(expected)}"
    for tag, points in expected.items():
        if [step for step, _ in found[tag]] != [step for step, _ in points]:
            return f"{tag}: steps {[step for step, _ in found[tag]]}, not {[step for step, _ in points]}"
        if not np.allclose([v for _, v in found[tag]], [v for _, v in points], rtol=2e-7, equal_nan=True):
            return f"{tag}: values {found[tag]}, not {points}"
    return ""


def compile_and_train(folder):
    """Trains twice: to the end, and killed with steps behind the checkpoint that it goes on from. Returns the mistakes."""
    model, data = programs.convnet(f"{folder}/model.onnx"), programs.convnet_data(f"{folder}/data.npz")
    program = programs.compile(model, f"{folder}/program", "--loss=softmax_cross_entropy:logits:labels", "--precision=fp16")
    train = [program, "train", "--data", data, "--val", data, "--log", f"{folder}/run.jsonl", "--log-every", "1", "--tensorboard", f"{folder}/runs", "--checkpoint-dir",
             f"{folder}/ckpt", "--checkpoint-every", "5", "--inject-inf", "3"]
    subprocess.run([*train, "--steps", "23"], check=True, stdout=subprocess.DEVNULL)
    yield "a training", same(shown(f"{folder}/runs"), logged(f"{folder}/run.jsonl"))
    os.remove(f"{folder}/ckpt/step-00000023.safetensors")  # as if it had been killed before it wrote this one
    subprocess.run([*train, "--steps", "40", "--resume"], check=True, stdout=subprocess.DEVNULL)
    first = records(f"{folder}/runs")
    yield "a resumed training begins where the checkpoint ends", "" if (first[0].file_version, first[1].step, first[2].step) == ("brain.Event:2", 21, 21) else str(first[:3])
    yield "a resumed training", same(shown(f"{folder}/runs"), logged(f"{folder}/run.jsonl"))
    subprocess.run([*train[:train.index("--checkpoint-dir")], "--steps", "7"], check=True, stdout=subprocess.DEVNULL)
    yield "a new training in the same folder", same(shown(f"{folder}/runs"), logged(f"{folder}/run.jsonl"))


def two_optimizers(folder):
    model, data = programs.convnet(f"{folder}/model.onnx"), programs.convnet_data(f"{folder}/data.npz")
    loss = "softmax_cross_entropy:logits:labels"
    program = programs.compile(model, f"{folder}/program", f"--step=body:loss={loss}:params=^(conv|bn):optimizer=sgd,lr=0.01",
                               f"--step=head:loss={loss}:params=^logits:optimizer=adam")
    subprocess.run([program, "train", "--data", data, "--log", f"{folder}/run.jsonl", "--log-every", "2", "--tensorboard", f"{folder}/runs", "--steps", "20"], check=True,
                   stdout=subprocess.DEVNULL)
    yield "two optimizers", same(shown(f"{folder}/runs"), logged(f"{folder}/run.jsonl"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True)
    arguments = parser.parse_args()
    try:
        import tensorboard  # noqa: F401
    except ImportError:
        print("tensorboard_checks.py: skipped, because the package tensorboard is not installed")
        return 0
    os.environ["PATH"] = os.path.join(os.path.abspath(arguments.build), "bin") + os.pathsep + os.environ["PATH"]
    failed = 0
    for work in (compile_and_train, two_optimizers):
        with tempfile.TemporaryDirectory() as folder:
            for name, mistake in work(folder):
                failed += bool(mistake)
                print(f"{'FAILED' if mistake else 'ok':8}{name}{': ' + mistake if mistake else ''}")
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
