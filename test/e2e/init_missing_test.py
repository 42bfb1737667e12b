#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs train --init with a checkpoint that lacks a part of the parameters: a new head keeps its initial values, and the rest comes from the file."""
import os
import shutil
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import harness  # noqa: E402
import models  # noqa: E402
from programs import checkpoint  # noqa: E402


def check(true, *what):
    if not true:
        raise harness.Failure(" ".join(map(str, what)))


def program(folder, name, **network):
    """Compiles a program of the network and makes data for it."""
    models.mlp(**network).save(f"{folder}/{name}.onnx")
    harness.must([OPTIONS.bin + "/mpc", "compile", f"{name}.onnx", "-o", name, "-q", "--cpu=x86-64-v3", "--batch=8", "--loss=softmax_cross_entropy:logits:label"], cwd=folder)
    models.labelled(f"{folder}/{name}.npz", 16, classes=network.get("classes", 3))
    return f"{folder}/{name}"


def trained(folder):
    """Trains a network of three classes; returns its checkpoint and the tensors in it."""
    harness.must([program(folder, "old"), "train", "--data", "old.npz", "--epochs", "2", "--lr", "0.1", "--checkpoint-dir", "old.checkpoints"], cwd=folder)
    path = f"{folder}/old.checkpoints/step-00000004.safetensors"
    return path, checkpoint(path)


def start(folder, new, init, *options):
    """Returns (status, what the program says, the parameters after a step at learning rate 0)."""
    shutil.rmtree(f"{folder}/new.checkpoints", ignore_errors=True)
    status, out, err = harness.run([new, "train", "--data", os.path.basename(new) + ".npz", "--steps", "1", "--lr", "0", "--init", init, "--checkpoint-dir", "new.checkpoints",
                                    *options], cwd=folder)
    return status, out + err, checkpoint(f"{folder}/new.checkpoints/step-00000001.safetensors") if status == 0 else None


def new_head():
    with harness.folder() as folder:
        old, before = trained(folder)
        new = program(folder, "new", classes=5, seed=3)
        status, said, _ = start(folder, new, old)
        check(status == 1 and "fc2.weight: has shape [3,8], the program needs [5,8]" in said and "--init-missing=REGEX" in said, said)
        status, said, after = start(folder, new, old, "--init-missing=^fc2[.]")
        check(status == 0, said)
        for name, shape in (("fc2.weight", "[3,8], the program needs [5,8]"), ("fc2.bias", "[3], the program needs [5]")):
            check(f"note: '{name}' keeps its initial value: in {old} it has shape {shape}" in said, said)
        check(np.array_equal(after["fc1.weight"], before["fc1.weight"]), "fc1 is not the file's")
        initial = {i.name: np.frombuffer(i.raw_data, np.float32).reshape(i.dims) for i in models.mlp(classes=5, seed=3).proto().graph.initializer}
        check(np.array_equal(after["fc2.weight"], initial["fc2.weight"]), "fc2 is not the model's")


def absent():
    """Parameters that the user names and the file has are taken; a name that matches no parameter is an error."""
    with harness.folder() as folder:
        old, before = trained(folder)
        new = program(folder, "same", seed=3)
        status, said, after = start(folder, new, old, "--init-missing=fc")
        check(status == 0 and "keeps its initial value" not in said and np.array_equal(after["fc2.weight"], before["fc2.weight"]), said)
        for pattern, words in (("nothing", "error: --init-missing: 'nothing' matches no parameter"), ("(", "error: --init-missing: '(' is not a regular expression")):
            status, said, _ = start(folder, new, old, f"--init-missing={pattern}")
            check(status == 1 and words in said and "hint:" in said, said)
        status, said = harness.run([new, "train", "--data", "same.npz", "--init-missing=fc"], cwd=folder)[::2]
        check(status == 1 and "--init" in said, said)
        status, said, _ = start(folder, program(folder, "other", hidden=9, classes=5), old, "--init-missing=fc")
        check(status == 1 and "holds none of the program's parameters" in said, said)


CASES = {"a new head": new_head, "names": absent}

if __name__ == "__main__":
    OPTIONS = harness.arguments(__doc__)
    harness.main([(f"init-missing/{name}", case) for name, case in CASES.items()], OPTIONS.only)
