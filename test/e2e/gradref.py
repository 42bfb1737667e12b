#!/usr/bin/python3
"""Compares compiled training programs with PyTorch's losses, gradients and 20-step curves.

usage: gradref.py SHARED_DIR WORK_DIR PRECISION OPT_LEVEL NET...
fp32: loss0 to 1e-6 relative, each gradient to 1e-4 (|a-b|/|b|; parameters whose true gradient is zero, |g| < 2e-6, excepted),
curves to 5e-3. fp16 and bf16 with loss scale 1024: the concatenated gradient to 6e-2 and 1.6e-1, curves to 3 % and 5 %.
Prints one line a network; exit status 1 when a bound is broken.
"""
import json
import os
import subprocess
import sys

import numpy as np

CURVE = {"fp32": 5e-3, "fp16": 3e-2, "bf16": 5e-2}
GRADIENT = {"fp16": 6e-2, "bf16": 1.6e-1}


def optimizer_options(name, info):
    if name == "sgd":
        return ["--optimizer=sgd", f"--lr={info['lr_sgd']}"]
    if name == "sgdm":
        return ["--optimizer=sgd", f"--lr={info['sgdm']['lr']}", f"--momentum={info['sgdm']['momentum']}",
                f"--weight-decay={info['sgdm']['weight_decay']}"]
    options = [f"--optimizer={name}", f"--lr={info[name]['lr']}"]
    return options + ([f"--weight-decay={info[name]['weight_decay']}"] if name == "adamw" else [])


def relative(a, b):
    return float(np.linalg.norm(a.astype(np.float64) - b) / np.linalg.norm(b))


def check(net, shared, work, precision, level):
    folder = os.path.join(shared, "gradref")
    info = json.load(open(os.path.join(folder, "INDEX.json")))[net]
    reference = np.load(os.path.join(folder, f"ref_{net}.npz"))
    data, program, out = (os.path.join(work, f"{net}.{end}") for end in ("in.npz", "program", "out.npz"))
    np.savez(data, **{k[3:]: reference[k] for k in reference.files if k.startswith("in_")})
    broken, curves = [], {}
    for optimizer in ("sgd", "sgdm", "adam", "adamw"):
        scale = [] if precision == "fp32" else ["--loss-scale=1024"]
        subprocess.run(["mpc", "compile", os.path.join(folder, f"ref_{net}.onnx"), "-o", program, "-q", f"--precision={precision}",
                        f"--opt-level={level}"] + optimizer_options(optimizer, info) + scale, check=True)
        subprocess.run([program, "trace", "--data", data, "--steps", "20", "--out", out], check=True, stdout=subprocess.DEVNULL)
        traced = np.load(out)
        curve = reference[f"curve_{optimizer}"].astype(np.float64)
        curves[optimizer] = float(np.max(np.abs(traced["loss"] - curve) / np.abs(curve)))
        if not curves[optimizer] <= CURVE[precision]:
            broken.append(f"curve of {optimizer}: {curves[optimizer]:.1e}")
        if optimizer != "sgd":
            continue
        loss0 = abs(float(traced["loss"][0]) / float(reference["loss0"]) - 1)
        gradients = [k for k in reference.files if k.startswith("grad/")]
        total = relative(np.concatenate([traced[k].ravel() for k in gradients]),
                         np.concatenate([reference[k].ravel().astype(np.float64) for k in gradients]))
        each = {k: relative(traced[k], reference[k].astype(np.float64)) for k in gradients if np.abs(reference[k]).max() >= 2e-6}
        worst = max(each, key=each.get)
        if precision == "fp32":
            if not loss0 <= 1e-6:
                broken.append(f"loss0: {loss0:.1e}")
            broken += [f"{k}: {error:.1e}" for k, error in each.items() if not error <= 1e-4]
        elif not total <= GRADIENT[precision]:
            broken.append(f"all gradients: {total:.1e}")
    print(f"{net} {precision} {level}: loss0 {loss0:.1e}, worst gradient {each[worst]:.1e} ({worst[5:]}), all {total:.1e}, curves",
          " ".join(f"{k} {v:.1e}" for k, v in curves.items()), flush=True)
    for what in broken:
        print(f"FAIL {net} {precision} {level}: {what}", flush=True)
    return not broken


def main():
    shared, work, precision, level, *nets = sys.argv[1:]
    os.makedirs(work, exist_ok=True)
    results = [check(net, shared, work, precision, level) for net in nets]
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
