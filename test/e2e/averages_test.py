#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Moving averages of the weights (--ema): numpy computes them again from the checkpoints of every step, and eval, predict, --val and export use them."""
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import onnx
from onnx import numpy_helper

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import harness  # noqa: E402
import programs  # noqa: E402

STEPS, DECAY = 20, 0.875
PARAMETERS = ("conv.weight", "conv.bias", "bn.scale", "bn.bias", "logits.weight", "logits.bias")


def check(true, *what):
    if not true:
        raise harness.Failure(" ".join(map(str, what)))


def safetensors(path, tensors):
    """Writes fp32 tensors as plain weights."""
    header, data = {}, b""
    for name, values in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(values.shape), "data_offsets": [len(data), len(data) + values.nbytes]}
        data += values.astype(np.float32).tobytes()
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + data)
    return path


def bfloat16(values):
    """Rounds fp32 to the nearest bf16, ties to even."""
    bits = values.view(np.uint32)
    return ((bits + 0x7fff + (bits >> 16 & 1)) & np.uint32(0xffff0000)).view(np.float32)


def close(logged, printed):
    """Compares a number of the log with what eval prints of it, which has 9 digits."""
    return abs(logged - printed) <= 1e-8 * abs(printed)


class Training:
    """A small convolutional network in a temporary folder, compiled with averages and without."""

    def __init__(self, *options):
        self.options = options

    def __enter__(self):
        self.held = harness.folder()
        self.path = self.held.__enter__()
        programs.convnet(f"{self.path}/model.onnx")
        programs.convnet_data(f"{self.path}/data.npz")
        self.compile("program", f"--ema={DECAY}", *self.options)
        return self

    def __exit__(self, *error):
        self.held.__exit__(*error)

    def mpc(self, *arguments):
        return harness.must([OPTIONS.bin + "/mpc", *arguments], cwd=self.path)

    def compile(self, name, *options):
        return self.mpc("compile", "model.onnx", "-o", name, "-q", "--cpu=x86-64-v3", "--loss=softmax_cross_entropy:logits:labels", "--optimizer=sgd", "--momentum=0.5", *options)

    def run(self, program, command, *arguments):
        return harness.must([f"./{program}", command, "--data", "data.npz", *arguments], cwd=self.path)

    def train(self, *arguments):
        return self.run("program", "train", "--lr", "0.2", "--steps", STEPS, "--checkpoint-dir", "ck", "--checkpoint-every", "1", "--keep", "0", "--log", "log.jsonl", "--log-every", "1",
                        *arguments)

    def checkpoint(self, step=STEPS):
        return programs.checkpoint(f"{self.path}/ck/step-{step:08}.safetensors")


LAST = ["--checkpoint", f"ck/step-{STEPS:08}.safetensors"]


def formula(*options, overflows=False, window=1):
    """Each checkpoint's averages are those that numpy computes from the ones before and the weights, and stay where nothing was updated."""
    def case():
        with Training(*options) as t:
            t.train(*(["--inject-inf", "5,6,14"] if overflows else []))
            before = {name: value for name, value in ((i.name, numpy_helper.to_array(i)) for i in onnx.load(f"{t.path}/model.onnx").graph.initializer) if name in PARAMETERS}
            check(set(before) == set(PARAMETERS), sorted(before))
            if "--opt-level=O3" in options:  # the parameters themselves have 16 bits
                before = {name: bfloat16(value) for name, value in before.items()}
            lines = [line for line in map(json.loads, open(f"{t.path}/log.jsonl")) if "loss" in line]
            moved = 0
            for step in range(1, STEPS + 1):
                now = t.checkpoint(step)
                check({name for name in now if name.endswith("/ema")} == {name + "/ema" for name in PARAMETERS}, "averages", sorted(now))
                updated = step % window == 0 and not lines[step - 1].get("skipped")
                moved += updated
                for name in PARAMETERS:
                    average, weight = now[name + "/ema"], now[name].astype(np.float32)
                    expected = before[name]
                    if updated:  # one multiplication and two additions, each rounded, or fused
                        expected = expected + np.float32(1 - DECAY) * (weight - expected)
                    check(average.dtype == np.float32 and (updated or average.tobytes() == expected.tobytes()), options, step, name, "has changed")
                    check(np.all(np.abs(average - expected) <= np.spacing(np.abs(expected))), options, step, name, average, expected)
                    before[name] = average
            skips = sum(bool(line.get("skipped")) for line in lines)
            check(moved == (STEPS // window if not overflows else STEPS - skips) and (skips >= 3) == overflows, moved, "updates", skips, "skips")
    return case


def used():
    """eval, predict, --val and the exported model use the averages, or the weights with --weights=raw, and say so."""
    with Training("--precision=fp32") as t:
        said = t.train("--val", "data.npz")
        check("--val evaluates the moving averages" in said, said)
        now = t.checkpoint()
        buffers = {name: now[name] for name in ("bn.mean", "bn.var")}
        t.compile("plain", "--precision=fp32")
        safetensors(f"{t.path}/averaged.safetensors", {**{name: now[name + "/ema"] for name in PARAMETERS}, **buffers})
        safetensors(f"{t.path}/raw.safetensors", {**{name: now[name] for name in PARAMETERS}, **buffers})
        results = {}
        for weights in ("averaged", "raw"):
            for program, checkpoint in (("program", LAST), ("plain", LAST), ("plain", ["--checkpoint", f"{weights}.safetensors"]), ("program", ["--checkpoint", f"{weights}.safetensors"])):
                choice = ["--weights", weights] if checkpoint == LAST else []
                found = json.loads(t.run(program, "eval", *checkpoint, *choice, "--json"))
                check(results.setdefault(weights, found) == found, weights, program, checkpoint, found, results[weights])
                t.run(program, "predict", *checkpoint, *choice, "--out", "out.npz")
                scores = np.load(f"{t.path}/out.npz")["logits"]
                check(results.setdefault("predict " + weights, scores).tobytes() == scores.tobytes(), "predict", weights, program, checkpoint)
            said = t.mpc("export", "model.onnx", *LAST, "-o", f"{weights}.onnx", *(["--weights=raw"] if weights == "raw" else []))
            check(("the weights are moving averages" in said) == (weights == "averaged"), said)
            written = {i.name: numpy_helper.to_array(i) for i in onnx.load(f"{t.path}/{weights}.onnx").graph.initializer}
            suffix = "/ema" if weights == "averaged" else ""
            check(all(written[name].tobytes() == now[name + suffix].tobytes() for name in PARAMETERS), weights, "export")
        check(results["averaged"]["loss"] != results["raw"]["loss"], "the averages are the weights")
        last = [line for line in map(json.loads, open(f"{t.path}/log.jsonl")) if "val_loss" in line][-1]
        check(close(last["val_loss"], results["averaged"]["loss"]), "--val", last, results["averaged"])
        _, _, said = harness.run(["./program", "eval", "--data", "data.npz", *LAST], cwd=t.path)
        check("note: the weights are moving averages (--ema); --weights=raw takes those of the last update" in said, said)
        check("ema 0.875" in harness.must(["./program", "info"], cwd=t.path), "info")


def low():
    """In 16 bits, evaluation rounds the averages of the masters, or of the weights themselves, and with them that of a program without averages."""
    for options in (["--precision=fp16", "--opt-level=O2"], ["--precision=bf16", "--opt-level=O3"]):
        with Training(*options) as t:
            t.train("--val", "data.npz")
            now = t.checkpoint()
            t.compile("plain", *options)
            safetensors(f"{t.path}/averaged.safetensors", {**{name: now[name + "/ema"] for name in PARAMETERS}, "bn.mean": now["bn.mean"], "bn.var": now["bn.var"]})
            found = json.loads(t.run("program", "eval", *LAST, "--json"))
            last = [line for line in map(json.loads, open(f"{t.path}/log.jsonl")) if "val_loss" in line][-1]
            check(found == json.loads(t.run("plain", "eval", "--checkpoint", "averaged.safetensors", "--json")), options, "eval")
            check(close(last["val_loss"], found["loss"]) and found != json.loads(t.run("program", "eval", *LAST, "--weights=raw", "--json")), options, "--val")


def resumed():
    """A training that is killed and resumed ends with the same averages, bit by bit."""
    with Training("--precision=fp16", "--accumulate=2") as t:
        t.train("--inject-inf", "5,6")
        expected = t.checkpoint()
        for name in os.listdir(f"{t.path}/ck"):
            os.remove(f"{t.path}/ck/{name}")
        process = subprocess.Popen(["./program", "train", "--data", "data.npz", "--lr", "0.2", "--steps", "100000", "--checkpoint-dir", "ck", "--checkpoint-every", "7", "--keep", "0",
                                    "--inject-inf", "5,6"], cwd=t.path, stdout=subprocess.DEVNULL)
        end = time.time() + 60
        while not os.path.exists(f"{t.path}/ck/step-00000007.safetensors") and time.time() < end:
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
        process.wait()
        for name in os.listdir(f"{t.path}/ck"):
            if name > "step-00000014":  # a checkpoint behind the middle would leave nothing to do
                os.remove(f"{t.path}/ck/{name}")
        t.train("--inject-inf", "5,6", "--resume")
        check(not programs.same(expected, t.checkpoint()), programs.same(expected, t.checkpoint()))


def some():
    """Parameters that are not trained have no average; those of two optimizers have theirs, and a norm of gradients each."""
    with Training("--precision=fp32", "--freeze=^conv") as t:
        t.train()
        check({name for name in t.checkpoint() if name.endswith("/ema")} == {name + "/ema" for name in PARAMETERS if not name.startswith("conv")}, "frozen", sorted(t.checkpoint()))
        t.run("program", "eval", *LAST)
        loss = "loss=softmax_cross_entropy:logits:labels"
        t.mpc("compile", "model.onnx", "-o", "program", "-q", "--cpu=x86-64-v3", "--precision=fp32", "--optimizer=sgd", f"--ema={DECAY}", "--grad-norm",
              f"--step=body:{loss}:params=^(conv|bn)", f"--step=head:{loss}:params=^logits")
        for name in os.listdir(f"{t.path}/ck"):
            os.remove(f"{t.path}/ck/{name}")
        t.train()
        before, now = t.checkpoint(STEPS - 1), t.checkpoint()
        for name in PARAMETERS:
            expected = before[name + "/ema"] + np.float32(1 - DECAY) * (now[name] - before[name + "/ema"])
            check(np.all(np.abs(now[name + "/ema"] - expected) <= np.spacing(np.abs(expected))), "two steps", name)
        line = json.loads(open(f"{t.path}/log.jsonl").readlines()[-1])
        norms = {step: report["grad_norm"] for step, report in line["steps"].items()}
        check(set(norms) == {"body", "head"} and norms["body"] != norms["head"] and line["grad_norm"] == norms["body"], line)


def mistakes():
    """Bad decays and choices are errors that say what to write."""
    with Training("--precision=fp32") as t:
        for option, what in (("--ema=1", "--ema: must be less than 1\nhint: write a decay such as 0.999"), ("--ema=0", "--ema"), ("--ema=-1", "--ema"), ("--ema=much", "--ema"),
                             ("--ema=nan", "--ema")):
            status, _, said = harness.run([OPTIONS.bin + "/mpc", "compile", "model.onnx", "-o", "bad", option], cwd=t.path)
            check(status == 1 and what in said and not os.path.exists(f"{t.path}/bad"), option, status, said)
        t.train()
        safetensors(f"{t.path}/plain.safetensors", {name: value for name, value in t.checkpoint().items() if name in PARAMETERS})
        none = "plain.safetensors: has no averages of its weights\nhint: leave --weights out, or train a program that was compiled with --ema=0.999"
        for arguments, what in ((["eval", "--checkpoint", "plain.safetensors", "--weights=averaged"], none), (["eval", *LAST, "--weights=mean"], "must be one of averaged,raw, not 'mean'"),
                                (["eval", "--weights=raw"], "--weights requires --checkpoint"), (["train", "--ema=0.5"], "mpc compile")):
            status, _, said = harness.run(["./program", arguments[0], "--data", "data.npz", *arguments[1:]], cwd=t.path)
            check(status == 1 and what in said, arguments, status, said)
        status, _, said = harness.run([OPTIONS.bin + "/mpc", "export", "model.onnx", "--checkpoint", "plain.safetensors", "--weights=averaged", "-o", "out.onnx"], cwd=t.path)
        check(status == 1 and none in said, status, said)
        # Only programs with averages resume such a training, but others load its parameters.
        t.compile("program", "--precision=fp32")
        status, _, said = harness.run(["./program", "train", "--data", "data.npz", "--steps", "30", "--checkpoint-dir", "ck", "--resume"], cwd=t.path)
        check(status == 1 and "/ema: the program has no such variable" in said, status, said)
        t.run("program", "train", "--init", LAST[1], "--steps", "1")


CASES = {
    "fp32": formula("--precision=fp32"),
    "fp16 O1 with overflows": formula("--precision=fp16", overflows=True),
    "fp16 O2 with overflows": formula("--precision=fp16", "--opt-level=O2", overflows=True),
    "bf16 O3": formula("--precision=bf16", "--opt-level=O3"),
    "accumulation": formula("--precision=fp32", "--accumulate=3", window=3),
    "use": used,
    "16 bits": low,
    "kill and resume": resumed,
    "some parameters": some,
    "mistakes": mistakes,
}

if __name__ == "__main__":
    OPTIONS = harness.arguments(__doc__)
    harness.main([(f"averages/{name}", case) for name, case in CASES.items()], OPTIONS.only)
