#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes and trains a character model of GPT-2's shape as a user does: tools/models writes network and data, mpc compiles them with an optimizer alone, the loss falls,
and evaluation counts tokens."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import harness  # noqa: E402

TOOLS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "models")
CONTEXT = 16
TEXT = "it was the best of times, it was the worst of times; " * 120


def check(true, *what):
    if not true:
        raise harness.Failure(" ".join(map(str, what)))


def trains(*options, steps, below):
    def case():
        with harness.folder() as folder:
            with open(f"{folder}/text.txt", "w") as file:
                file.write(TEXT)
            said = harness.must(["/usr/bin/python3", f"{TOOLS}/make_text.py", "text.txt", "data.npz", "val.npz", "--length", CONTEXT, "--stride", "5"], cwd=folder)
            vocabulary = len(set(TEXT))
            check(f"vocabulary: {vocabulary} characters" in said, said)
            harness.must(["/usr/bin/python3", f"{TOOLS}/make_model.py", "gpt", "gpt.onnx", "--layers", "2", "--heads", "2", "--width", "32", "--context", CONTEXT,
                          "--vocabulary", vocabulary], cwd=folder)
            said = harness.must([OPTIONS.bin + "/mpc", "compile", "gpt.onnx", "--cpu=x86-64-v3", *options], cwd=folder)
            line = (f"assumed: --loss=softmax_cross_entropy:logits:labels: the only float output is taken for scores: the classes are dimension 2 of 'logits' [32,{CONTEXT},{vocabulary}], "
                    f"the labels 'labels' are [32,{CONTEXT}]")
            check(line in said.splitlines(), line, "is not in", said)
            said = harness.must(["./gpt", "train", "--data", "data.npz", "--val", "val.npz", "--steps", steps, "--log", "log.jsonl", "--log-every", "1", "--seed", "1"], cwd=folder, seconds=600)
            lines = [json.loads(line) for line in open(f"{folder}/log.jsonl")]
            first, last = ([line for line in lines if "loss" in line][i]["loss"] for i in (0, -1))
            check(last < below < first, "losses", lines)
            val = [line for line in lines if "accuracy" in line][-1]
            check(val["counted"] == val["val_samples"] * CONTEXT and val["accuracy"] > 0.5, "per-token accuracy", val)
            check("  accuracy " in said, said)
    return case


CASES = {
    "momentum": trains("--momentum=0.9", steps=150, below=1.5),
    "adamw": trains("--optimizer=adamw", "--lr=1e-3", steps=150, below=1.5),
}

if __name__ == "__main__":
    OPTIONS = harness.arguments(__doc__)
    harness.main([(f"gpt/{name}", case) for name, case in CASES.items()], OPTIONS.only)
