#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the metrics of compiled programs with scikit-learn's and pycocotools' numbers (Inputs/metrics, where generate.py wrote them): in `eval`, in its JSON, in the lines
and the log of a training. The last batch is not full."""
import json
import os
import re
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "tools"), os.path.join(HERE, "Inputs", "metrics")]
import harness  # noqa: E402
import tasks  # noqa: E402
from models import INT64, Graph  # noqa: E402

EXPECTED = json.load(open(os.path.join(HERE, "Inputs", "metrics", "expected.json")))
DETECTIONS = json.load(open(os.path.join(HERE, "Inputs", "metrics", "detections.json")))
BATCH = 8
# The scores are exact, and everything behind them is computed in double; JSON has nine digits.
NEAR = {"rtol": 1e-8, "atol": 1e-12}


def check(true, *what):
    if not true:
        raise harness.Failure(" ".join(map(str, what)))


def build(folder, shape, options, activation=None):
    """Compiles z * w -> y with w = 1, so that the scores are the data; `activation` is put behind it."""
    g = Graph()
    z = g.input("z", ["N", *shape])
    y = g.node("Mul", [z, g.parameter("w", (shape[-1],), value=1)], "scores" if activation else "y")
    if activation:
        g.node(activation, [y], "y")
    g.output("y", ["N", *shape]).save(f"{folder}/model.onnx")
    return harness.must([OPTIONS.bin + "/mpc", "compile", "model.onnx", "-o", "program", "-q", "--cpu=x86-64-v3", "--precision=fp32", "--trainable=^w$", f"--batch={BATCH}", *options], cwd=folder)


def run(folder, *arguments):
    return harness.must([f"{folder}/program", *arguments], cwd=folder)


def agrees(name, loss, activation=None):
    """Asks for every expected metric of a task: by its name alone, and with the names of its output and target."""
    def case():
        scores, targets = getattr(tasks, name)()
        expected = EXPECTED[name]
        for names in ("", ":y:t"):
            with harness.folder() as folder:
                np.savez(f"{folder}/data.npz", z=scores, t=targets)
                metrics = [metric + names for metric in expected]
                # Half of them in one list, and the rest one by one.
                half = len(metrics) // 2
                build(folder, scores.shape[1:], [f"--loss={loss}", "--metric=" + ",".join(metrics[:half]), *(f"--metric={m}" for m in metrics[half:])], activation)
                found = json.loads(run(folder, "eval", "--data", "data.npz", "--json"))
                for metric, value in expected.items():
                    check(np.allclose(found[metric], value, **NEAR), metric + names, "is", found[metric], "not", value)
                text = run(folder, "eval", "--data", "data.npz")
                for metric, value in expected.items():
                    line = re.search(rf"^{metric}: ([^ \n]+)", text, re.M)
                    check(metric == "confusion" or (line and np.isclose(float(line[1]), value, rtol=1e-5)), metric, "is not in", text)
    return case


def training():
    """A training prints and logs them after each epoch. The table of confusion is only in the log."""
    scores, labels = tasks.classes()
    expected = EXPECTED["classes"]
    with harness.folder() as folder:
        np.savez(f"{folder}/data.npz", z=scores, t=labels)
        build(folder, scores.shape[1:], ["--loss=softmax_cross_entropy:y:t", "--metric=accuracy,f1,confusion,f1:micro"])
        status, out, err = harness.run([f"{folder}/program", "train", "--data", "data.npz", "--val", "data.npz", "--epochs", "2", "--lr", "0", "--log", "log.jsonl"], cwd=folder)
        check(status == 0, err)
        lines = [line for line in (out + err).splitlines() if "val_loss" in line]
        check(len(lines) == 2, out, err)
        correct = round(expected["accuracy"] * len(labels))
        words = f"accuracy {expected['accuracy']:.6g} ({correct}/{len(labels)})  f1 {expected['f1']:.6g}"
        check(all(words in line and f"f1:micro {expected['f1:micro']:.6g}" in line and "confusion" not in line for line in lines), words, "is not in", lines)
        logged = [line for line in map(json.loads, open(f"{folder}/log.jsonl")) if "val_samples" in line]
        check(len(logged) == 2, logged)
        for metric in ("accuracy", "f1", "confusion", "f1:micro"):
            check(np.allclose(logged[-1][metric], expected[metric], **NEAR), metric, logged[-1])
        check((logged[-1]["correct"], logged[-1]["counted"]) == (correct, len(labels)), logged[-1])
        table = run(folder, "eval", "--data", "data.npz").split("confusion (row: the label, column: the class of the largest score)\n")[1].splitlines()
        check([[int(n) for n in row.split()[1:]] for row in table[1:6]] == expected["confusion"], table)


def not_a_number():
    """Scores that are NaN are reported, and hide in no metric."""
    scores, labels = tasks.classes()
    with harness.folder() as folder:
        # A weight of 1e30 and scores of 1e30 make infinities of both signs, whose sum is NaN.
        g = Graph()
        y = g.node("Mul", [g.input("z", ["N", 5]), g.parameter("w", (5,), value=1e30)], "scaled")
        g.node("Sub", [y, g.node("Mul", [y, g.constant("one", np.float32(1))], "again")], "difference")
        g.node("Add", ["difference", "z"], "y")
        g.output("y", ["N", 5]).save(f"{folder}/model.onnx")
        z = scores.copy()
        z[3, 1] = 1e30
        np.savez(f"{folder}/data.npz", z=z, t=labels)
        harness.must([OPTIONS.bin + "/mpc", "compile", "model.onnx", "-o", "program", "-q", "--cpu=x86-64-v3", "--precision=fp32", "--trainable=^w$", f"--batch={BATCH}", "--loss=softmax_cross_entropy:y:t",
                      "--metric=accuracy,auc,f1"], cwd=folder)
        found = json.loads(run(folder, "eval", "--data", "data.npz", "--json"))
        check(found["accuracy_nan"] == 1 and found["accuracy_counted"] == len(labels) and found["auc"] is None, found)
        text = run(folder, "eval", "--data", "data.npz")
        check("; 1 with NaN scores)" in text and re.search(r"^auc: -?nan \(", text, re.M), text)


def two_targets():
    """Metrics of one kind are told apart by their names."""
    scores, targets = tasks.regression()
    with harness.folder() as folder:
        np.savez(f"{folder}/data.npz", z=scores, t=targets, u=targets + 1)
        g = Graph()
        g.node("Mul", [g.input("z", ["N", 2]), g.parameter("w", (2,), value=1)], "y")
        g.node("Add", [g.node("Mul", ["y", g.constant("zero", np.float32(0))], "nothing"), g.input("u", ["N", 2])], "same")
        g.output("y", ["N", 2]).output("same", ["N", 2]).save(f"{folder}/model.onnx")
        harness.must([OPTIONS.bin + "/mpc", "compile", "model.onnx", "-o", "program", "-q", "--cpu=x86-64-v3", "--precision=fp32", "--trainable=^w$", f"--batch={BATCH}", "--loss=mse:y:t",
                      "--metric=mae,mae:y:u,rmse:same:u"], cwd=folder)
        found = json.loads(run(folder, "eval", "--data", "data.npz", "--json"))
        check(np.allclose(found["mae"], EXPECTED["regression"]["mae"], **NEAR), found)
        check(np.allclose(found["mae:y:u"], np.abs(scores.astype(np.float64) - (targets + 1)).mean(), **NEAR) and found["rmse"] == 0, found)


def build_detector(folder, box_of_each_class, metric):
    """Compiles a network whose detections and scores are data, times a weight of 1."""
    g = Graph()
    shape = ["N", 12, 4, 4] if box_of_each_class else ["N", 12, 4]
    g.node("Mul", [g.input("d", shape), g.parameter("w", (1,), value=1)], "detections")
    g.node("Mul", [g.input("s", ["N", 12, 4]), "w"], "scores")
    g.input("boxes", ["N", 6, 4])
    g.input("labels", ["N", 6], INT64)
    g.node("ReduceMean", ["scores"], "loss", keepdims=0)
    g.output("detections", shape).output("scores", ["N", 12, 4]).output("loss", []).save(f"{folder}/model.onnx")
    return harness.must([OPTIONS.bin + "/mpc", "compile", "model.onnx", "-o", "program", "-q", "--cpu=x86-64-v3", "--precision=fp32", "--trainable=^w$", f"--batch={BATCH}",
                         "--loss=output:loss", f"--metric={metric}"], cwd=folder)


def detections():
    """Mean average precision of random sets, and of each class, as COCOeval computes them."""
    for name, box_of_each_class, seeds, options in tasks.DETECTIONS:
        with harness.folder() as folder:
            standard = options["iou"] == 0.5  # then the names are found, and the options left out
            build_detector(folder, box_of_each_class, "map" if standard else "map:detections:scores:boxes:labels," + ",".join(f"{key}={value}" for key, value in options.items()))
            for seed, (mean, at, classes) in zip(seeds, DETECTIONS[name]):
                d, s, boxes, labels = tasks.detections(seed, box_of_each_class)
                np.savez(f"{folder}/data.npz", d=d, s=s, boxes=boxes, labels=labels)
                found = json.loads(run(folder, "eval", "--data", "data.npz", "--json", "--per-class"))
                second = "map50" if standard else "map75"
                each = [(row["map"], row[second]) for row in found["classes"]]
                check(all((a is None) == (b is None) and (a is None or np.isclose(a, b, rtol=1e-5, atol=1e-9)) for (a, _), b in zip(each, classes)), name, seed, "has", each, "not", classes)
                check(found["map_counted"] == (labels >= 0).sum() and found["map_classes"] == sum(one is not None for one in classes), name, seed, found)
                for metric, value in (("map", mean), (second, at)):
                    check(found[metric] is None if value is None else np.isclose(found[metric], value, **NEAR), name, seed, metric, "is", found[metric], "not", value)


def best_detector():
    """A training prints mean average precisions and keeps the checkpoint of the best; without true boxes both are not defined, and a line says why."""
    with harness.folder() as folder:
        build_detector(folder, False, "map")
        seed = tasks.DETECTIONS[0][2][0]
        d, s, boxes, labels = tasks.detections(seed, False)
        mean, half, _ = DETECTIONS["detections"][0]
        np.savez(f"{folder}/data.npz", d=d, s=s, boxes=boxes, labels=labels)
        status, out, err = harness.run([f"{folder}/program", "train", "--data", "data.npz", "--val", "data.npz", "--epochs", "2", "--lr", "0", "--save-best=map", "--checkpoint-dir", "c", "--log", "log.jsonl"], cwd=folder)
        check(status == 0, err)
        words = f"  map {mean:.6g} (over 3 of 4 classes)  map50 {half:.6g} (over 3 of 4 classes)"
        check((out + err).count(words) == 2 and os.path.exists(f"{folder}/c/best.safetensors"), words, "is not in", out, err)
        logged = [line for line in map(json.loads, open(f"{folder}/log.jsonl")) if "val_samples" in line]
        check(np.isclose(logged[-1]["map"], mean, **NEAR) and np.isclose(logged[-1]["map50"], half, **NEAR), logged)
        np.savez(f"{folder}/data.npz", d=d, s=s, boxes=boxes, labels=np.full_like(labels, -1))
        text = run(folder, "eval", "--data", "data.npz")
        check("\nmap: nan (the data have no labels of its classes)\nmap50: nan (" in text, text)
        check(json.loads(run(folder, "eval", "--data", "data.npz", "--json"))["map"] is None, "a number without truth")


CASES = {
    "classes": agrees("classes", "softmax_cross_entropy:y:t"),
    "classes behind a softmax": agrees("classes", "softmax_cross_entropy:y:t", "Softmax"),
    "two classes": agrees("binary", "softmax_cross_entropy:y:t"),
    "several labels": agrees("several", "bce_with_logits:y:t"),
    "several labels behind a sigmoid": agrees("several", "bce_with_logits:y:t", "Sigmoid"),
    "regression": agrees("regression", "mse:y:t"),
    "tokens": agrees("tokens", "softmax_cross_entropy:y:t"),
    "detections": detections,
    "detections in a training": best_detector,
    "in a training": training,
    "scores that are NaN": not_a_number,
    "two of a kind": two_targets,
}

if __name__ == "__main__":
    OPTIONS = harness.arguments(__doc__)
    harness.main([(f"metrics/{name}", case) for name, case in CASES.items()], OPTIONS.only)
