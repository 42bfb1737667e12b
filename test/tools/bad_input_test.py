#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Wrong models, options, data files and checkpoints: each of them gives a located error with a hint, and status 1.

Each row of the tables (bad_input/*.py) is a case. It runs one command in a folder of its own and asserts
  - that the exit status is 1: no signal and no hang,
  - that the message has `error:`, the row's words, and a `hint:`,
  - that the folder holds afterwards exactly what it held before: no file is half written and none is left behind.
"""
import hashlib
import os
import shlex
import shutil

import harness
import models
from bad_input import commands, networks, programs


def snapshot(folder):
    """Returns path -> what it is, for everything below the folder."""
    found = {}
    for parent, folders, files in os.walk(folder):
        for name in folders:
            found[os.path.relpath(os.path.join(parent, name), folder)] = "folder"
        for name in files:
            path = os.path.join(parent, name)
            if os.path.islink(path):
                found[os.path.relpath(path, folder)] = "link to " + os.readlink(path)
                continue
            if not os.path.isfile(path):  # opening a pipe would wait for a writer
                found[os.path.relpath(path, folder)] = "no regular file"
                continue
            with open(path, "rb") as file:
                found[os.path.relpath(path, folder)] = hashlib.sha1(file.read()).hexdigest()
    return found


def check(row, base, bin_folder):
    with harness.folder() as folder:
        shutil.copytree(base, folder, symlinks=True, dirs_exist_ok=True)
        if row.make:
            row.make(folder)
        command = shlex.split(row.command.replace("$LOSS", "--loss softmax_cross_entropy:logits:label"))
        command[0] = os.path.join(bin_folder, "mpc") if command[0] == "mpc" else os.path.join(folder, command[0])
        before = snapshot(folder)
        status, out, err = harness.run(command, cwd=folder, seconds=60, memory_bytes=6 << 30, environment={**os.environ, "TMPDIR": folder})
        said = f"{row.command}\nstatus {status}, it says:\n{out[-500:]}{err[-1500:]}"
        if status != 1:
            raise harness.Failure(f"not status 1: {said}")
        if "error: " not in err or "hint: " not in err:
            raise harness.Failure(f"no error with a hint: {said}")
        for word in row.words:
            if word not in err:
                raise harness.Failure(f"'{word}' is not in: {said}")
        after = snapshot(folder)
        changed = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
        if changed:
            raise harness.Failure(f"left behind or changed: {', '.join(changed)}\n{said}")


def make_base(folder, bin_folder):
    """Makes the files that every row finds: models, a compiled program, its data, its checkpoints, and another network's checkpoint."""
    # Every write to it reports a full disk. It is a link, so that nothing can replace the device.
    os.symlink("/dev/full", f"{folder}/full")
    models.mlp().save(f"{folder}/mlp.onnx")
    models.mlp(features=5).save(f"{folder}/other.onnx")
    models.lenet().save(f"{folder}/lenet.onnx")
    models.labelled(f"{folder}/train.npz", 64)
    models.labelled(f"{folder}/train5.npz", 64, features=5)
    mpc, loss = f"{bin_folder}/mpc", ["--loss", "softmax_cross_entropy:logits:label", "--batch", "8"]
    for model, data in (("mlp", "train"), ("other", "train5")):
        harness.must([mpc, "compile", f"{model}.onnx", "-o", f"{model}.program", "--precision", "fp32", "--momentum", "0.9", *loss], cwd=folder)
        harness.must([f"{folder}/{model}.program", "train", "--data", f"{data}.npz", "--epochs", "1", "--checkpoint-dir", f"{model}.checkpoints"], cwd=folder)
        os.rename(f"{folder}/{model}.checkpoints/step-00000008.safetensors", f"{folder}/{model}.safetensors")
        os.rmdir(f"{folder}/{model}.checkpoints")


if __name__ == "__main__":
    options = harness.arguments(__doc__)
    with harness.folder() as base:
        make_base(base, options.bin)
        rows = [("networks", networks.ROWS), ("commands", commands.ROWS), ("programs", programs.ROWS)]
        harness.main([(f"bad-input/{group}/{row.name}", lambda row=row: check(row, base, options.bin)) for group, table in rows for row in table], options.only)
