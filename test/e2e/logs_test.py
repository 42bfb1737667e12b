#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The logs of a training in fp16 with two skipped steps: JSON lines, a table and an event file hold the same, and `plot` draws them; the norm of the gradients in them."""
import csv
import glob
import json
import os
import sys
import xml.etree.ElementTree as ElementTree

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import harness  # noqa: E402
import programs  # noqa: E402

SVG = "{http://www.w3.org/2000/svg}"


def check(true, *what):
    if not true:
        raise harness.Failure(" ".join(map(str, what)))


def picture(path):
    """Returns the texts of a picture and the titles of its curves."""
    root = ElementTree.parse(path).getroot()
    return [text.text for text in root.iter(SVG + "text")], [title.text for title in root.iter(SVG + "title")]


def logs_and_plots():
    with harness.folder() as folder:
        programs.convnet(f"{folder}/model.onnx")
        data = programs.convnet_data(f"{folder}/data.npz")
        loss = "--loss=softmax_cross_entropy:logits:labels"
        harness.must([OPTIONS.bin + "/mpc", "compile", "model.onnx", "-o", "program", "-q", "--cpu=x86-64-v3", "--precision=fp16", loss], cwd=folder)
        train = [f"{folder}/program", "train", "--data", data, "--val", data, "--epochs", 4, "--log-every", 1, "--inject-inf", "5,6"]
        for log in ("fast/run.jsonl", "slow/run.csv"):
            os.makedirs(os.path.dirname(f"{folder}/{log}"))
            harness.must([*train, "--lr", 0.05 if log.startswith("fast") else 0.01, "--log", log, "--tensorboard", os.path.dirname(log)], cwd=folder)
        lines = [json.loads(line) for line in open(f"{folder}/fast/run.jsonl")]
        table = list(csv.DictReader(open(f"{folder}/slow/run.csv")))
        check(len(lines) == len(table) == 64 + 4, len(lines), len(table))
        check([line["step"] for line in lines] == [int(row["step"]) for row in table], "steps")
        skipped = [line["step"] for line in lines if line.get("skipped")]
        check({5, 6} <= set(skipped) and skipped == [int(row["step"]) for row in table if row["skipped"] == "true"], "skipped steps", skipped)
        check(set(lines[0]) | set(lines[-1]) <= set(table[0]), "columns")
        events, = glob.glob(f"{folder}/fast/events.out.tfevents.*.mpc")
        content = open(events, "rb").read()
        check(content.count(b"train/loss") == 64 and content.count(b"val/accuracy") == 4, "events")

        harness.must([f"{folder}/program", "plot", "fast/run.jsonl", "-o", "one.svg"], cwd=folder)
        texts, titles = picture(f"{folder}/one.svg")
        check({"loss", "accuracy", "learning rate", "loss scale", "training", "validation", "skipped step"} <= set(texts), texts)
        check(f"run validation: {lines[-1]['accuracy']:g} at step 64" in " ".join(titles), titles)
        harness.must([f"{folder}/program", "plot", "fast/run.jsonl", "slow/run.csv", "--out", "two.svg", "--title", "Two & more", "--width", 800, "--log-loss"], cwd=folder)
        texts, _ = picture(f"{folder}/two.svg")
        check({"Two & more", "fast/run", "slow/run", "loss (logarithmic)"} <= set(texts), texts)
        # Without a model, the command draws as well.
        harness.must([OPTIONS.bin + "/mpc-runner", "plot", "fast/run.jsonl", "-o", "three.svg"], cwd=folder)
        check(open(f"{folder}/three.svg").read() == open(f"{folder}/one.svg").read(), "the runner's picture")

        for arguments, mistake in ((["data.npz", "-o", "x.svg"], "data.npz:1: is no JSON\nhint: give files that a training wrote with --log"),
                                   (["fast/run.jsonl", "-o", "fast/run.jsonl"], "fast/run.jsonl: is read, so it cannot be written"),
                                   (["fast/run.jsonl"], "--out is required"), (["-o", "x.svg"], "logs is required"),
                                   (["fast/run.jsonl", "-o", "x.svg", "--width", "3"], "must be a whole number from 320 to 10000")):
            status, _, err = harness.run([f"{folder}/program", "plot", *arguments], cwd=folder)
            check(status == 1 and mistake in err and not os.path.exists(f"{folder}/x.svg"), arguments, status, err)


def gradient_norms():
    """The logged norm is that of the gradients that `trace` writes, before clipping, and of the window's mean with accumulation."""
    with harness.folder() as folder:
        programs.convnet(f"{folder}/model.onnx")
        programs.convnet_data(f"{folder}/data.npz", samples=8)
        train = ["./program", "train", "--data", "data.npz", "--steps", 8, "--lr", 0.1, "--log-every", 1]
        for options, window in ((["--precision=fp32", "--clip-norm=0.01"], 1), (["--precision=fp16", "--grad-norm"], 1), (["--precision=fp32", "--grad-norm", "--clip-value=0.001"], 1),
                                (["--precision=fp32", "--grad-norm", "--accumulate=2"], 2)):
            harness.must([OPTIONS.bin + "/mpc", "compile", "model.onnx", "-o", "program", "-q", "--cpu=x86-64-v3", "--loss=softmax_cross_entropy:logits:labels", *options], cwd=folder)
            harness.must([*train, "--log", "run.jsonl", "--tensorboard", "events", "--no-shuffle", "--inject-inf", "5"], cwd=folder)
            lines = [json.loads(line) for line in open(f"{folder}/run.jsonl")]
            check(["grad_norm" in line for line in lines] == [step >= window for step in range(1, 9)], options, "lines", lines)
            for step, line in enumerate(lines, 1):  # steps that only accumulate have the norm of the last update
                check(step % window == 0 or step < window or line["grad_norm"] == lines[step - 2]["grad_norm"], options, lines)
            check(lines[4 + (window - 1)]["skipped"] and all(line["lr"] == 0.1 for line in lines), options, lines)
            if window == 1:  # a batch whose loss is not finite is not added to a window
                check(lines[4]["grad_norm"] is None, options, "a step that is not finite", lines)
                harness.must(["./program", "trace", "--data", "data.npz", "--steps", 1, "--out", "trace.npz"], cwd=folder)
                gradients = [value.astype(np.float64) for name, value in np.load(f"{folder}/trace.npz").items() if name.startswith("grad/")]
                norm = np.sqrt(sum((g * g).sum() for g in gradients))
                # Sums of a few hundred squares in fp32, in any order.
                check(len(gradients) == 6 and abs(lines[0]["grad_norm"] - norm) <= 512 * 2 ** -24 * norm, options, lines[0], norm)
            events, = glob.glob(f"{folder}/events/*")
            check(open(events, "rb").read().count(b"train/grad_norm") == 8 - (window - 1), options, "events")
            os.remove(events)
            harness.must(["./program", "plot", "run.jsonl", "-o", "run.svg"], cwd=folder)
            check("gradient norm" in picture(f"{folder}/run.svg")[0], options, "picture")
            harness.must([*train, "--log", "run.csv"], cwd=folder)
            check(all(float(row["grad_norm"]) > 0 for row in list(csv.DictReader(open(f"{folder}/run.csv")))[window - 1:]), options, "table")
        harness.must([OPTIONS.bin + "/mpc", "compile", "model.onnx", "-o", "program", "-q", "--cpu=x86-64-v3", "--precision=fp32", "--loss=softmax_cross_entropy:logits:labels"], cwd=folder)
        harness.must([*train, "--log", "without.jsonl"], cwd=folder)
        check("grad_norm" not in open(f"{folder}/without.jsonl").read(), "a norm that nobody asked for")


if __name__ == "__main__":
    OPTIONS = harness.arguments(__doc__)
    harness.main([("logs/plots", logs_and_plots), ("logs/norms of gradients", gradient_norms)], OPTIONS.only)
