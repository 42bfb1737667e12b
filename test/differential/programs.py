# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Takes a graph through mpc as a user does: `mpc check`, `mpc compile` and `PROGRAM trace`, on the host or on an emulated GPU, and `mpc run`."""
import os
import subprocess
import zipfile

import numpy as np

from checks import SCALE, Fault, generalise, precisions_of

TRAINED = "--trainable=^p[0-9]+$"


def call(command, folder, seconds=300):
    """Returns (status, stderr). A negative status is a signal, and None means that the command hangs."""
    try:
        done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=seconds)
    except subprocess.TimeoutExpired:
        return None, ""
    return done.returncode, done.stderr.decode(errors="replace")


def said_well(stage, status, text):
    """Returns what is wrong with how a command failed."""
    if status is None:
        return [Fault(stage, "hangs")]
    if status < 0 or status > 1:
        return [Fault(stage, f"ends with status {status}", text[:200])]
    if "error: " not in text or "hint: " not in text:
        return [Fault(stage, "an error without a hint", generalise(text))]
    return []


def examine_programs(graph, oracle, build, folder, precision, level, emulated):
    """Returns the faults of one graph under one precision. `folder` is empty before and after."""
    graph.save(os.path.join(folder, "graph.onnx"), os.path.join(folder, "data.npz"))
    given = {"graph.onnx", "data.npz"}
    low = precision != "fp32"
    options = [TRAINED, f"--precision={precision}", f"--loss={graph.loss_option()}"]
    if low:
        options += [f"--opt-level={level}", "--loss-scale=" + (f"{SCALE:g}" if precision == "fp16" else "none")]
    target = ["--target=sm_80,emulator"] if emulated else ["--cpu=native"]
    name = f"program {'emulator' if emulated else 'host'} {precision} {level if low else ''}".strip()
    mpc = os.path.join(build, "bin", "mpc")
    try:
        checked, _ = call([mpc, "check", "graph.onnx", *options], folder)
        status, text = call([mpc, "compile", "graph.onnx", "-o", "program", "-q", *options, *target], folder)
        left = set(os.listdir(folder)) - given
        if status != 0:
            faults = said_well(name, status, text)
            if left:
                faults.append(Fault(name, "a failed compile leaves files", str(sorted(left))))
            if checked == 0 and not emulated:
                faults.append(Fault(name, "check accepts what compile refuses", generalise(text)))
            return faults
        faults = [] if left == {"program"} else [Fault(name, "compile leaves other files", str(sorted(left)))]
        if checked != 0:
            faults.append(Fault(name, "check refuses what compile accepts"))
        status, text = call(["./program", "trace", "--data", "data.npz", "--steps", "1", "--out", "trace.npz", "--threads", "1"] + (["--device=emulator"] if emulated else []), folder)
        if status != 0:
            return faults + (said_well(name + " trace", status, text) or [Fault(name + " trace", "refuses its data", generalise(text))])
        try:
            with np.load(os.path.join(folder, "trace.npz")) as arrays:
                tensors = {n: arrays[n].astype(np.float64) for n in arrays.files}
        except (ValueError, zipfile.BadZipFile) as error:
            return faults + [Fault(name + " trace", "what it writes cannot be read", str(error)[:200])]
        bounds = precisions_of(graph, {"precision": precision})
        scale = SCALE if precision == "fp16" else 1.0
        if oracle.finite() and all(oracle.fits(p, scale) for p in bounds):
            for text in oracle.compare({n: v for n, v in tensors.items() if n == "loss" or n.startswith("grad/")}, bounds, scale):
                what, _, detail = text.partition("|")
                faults.append(Fault(name, what, detail))
        return faults
    finally:
        for file in os.listdir(folder):
            os.remove(os.path.join(folder, file))
