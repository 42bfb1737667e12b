#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The options of a compiled program's training and evaluation, as a user types them: the best checkpoint, an early end, schedules, evaluations within an epoch, windows of accumulated
batches, the line of an epoch in a terminal of 80 columns, and classes by name."""
import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "tools")]
import harness  # noqa: E402
from models import Graph  # noqa: E402
from programs import checkpoint  # noqa: E402

BATCH, SAMPLES, CLASSES = 4, 42, 3  # 10 batches; two samples are left over


def check(true, *what):
    if not true:
        raise harness.Failure(" ".join(map(str, what)))


class Program:
    """A linear classifier in a temporary folder, with data.npz and val.npz. With `mask` it has one more class, which an infinite bias hides."""

    def __init__(self, *options, mask=False):
        self.options, self.mask = options, mask

    def __enter__(self):
        self.held = harness.folder()
        self.path = self.held.__enter__()
        g = Graph(seed=1)
        classes = CLASSES + self.mask
        scores = g.node("MatMul", [g.input("x", ["N", 5]), g.parameter("w", (5, classes), fan_in=5)], "scores" if self.mask else "y")
        if self.mask:
            g.node("Add", [scores, g.constant("mask", np.array([0, 0, 0, -np.inf], np.float32))], "y")
        g.output("y", ["N", classes]).save(f"{self.path}/model.onnx")
        rng = np.random.default_rng(2)
        truth = rng.normal(0, 1, (5, CLASSES))
        for name in ("data", "val"):
            x = rng.normal(0, 1, (SAMPLES, 5)).astype(np.float32)
            np.savez(f"{self.path}/{name}.npz", x=x, t=(x @ truth + rng.normal(0, 1, (SAMPLES, CLASSES))).argmax(1))
        harness.must([OPTIONS.bin + "/mpc", "compile", "model.onnx", "-o", "program", "-q", "--cpu=x86-64-v3", "--precision=fp32", f"--batch={BATCH}", "--loss=softmax_cross_entropy:y:t",
                      "--metric=accuracy,top2,confusion", *self.options], cwd=self.path)
        return self

    def __exit__(self, *error):
        self.held.__exit__(*error)

    def run(self, *arguments):
        return harness.must(["./program", *arguments], cwd=self.path)

    def train(self, *arguments):
        rate = [] if "--lr" in arguments else ["--lr", "0.5"]
        return self.run("train", "--data", "data.npz", "--val", "val.npz", *rate, "--log", "log.jsonl", "--log-every", "1", *arguments)

    def log(self, key):
        """Returns {step: value} of the log's lines that have the value."""
        lines = [json.loads(line) for line in open(f"{self.path}/log.jsonl")]
        return {line["step"]: line[key] for line in lines if key in line}

    def files(self, folder):
        return sorted(name for name in os.listdir(f"{self.path}/{folder}") if name.endswith(".safetensors"))


def best():
    """The best checkpoint is that of the best evaluation, and outlives --keep; a resumed training knows its value."""
    with Program() as p:
        for option, key, better in ((["--save-best"], "val_loss", min), (["--save-best=accuracy"], "accuracy", max), (["--save-best", "top2"], "top2", max)):
            name = "ck-" + key
            text = p.train("--epochs", "6", "--lr", "9", "--checkpoint-dir", name, "--keep", "1", *option)
            values = p.log(key)
            step = min(s for s, v in values.items() if v == better(values.values()))
            check(p.files(name) == ["best.safetensors", "step-00000060.safetensors"], p.files(name))
            check(checkpoint(f"{p.path}/{name}/best.safetensors")[""]["step"] == str(step), key, values)
            marked = [int(m[1]) for m in re.finditer(r"step (\d+)  val_loss .*  best$", text, re.M)]
            check(marked and marked[-1] == step, marked, step)
            found = json.loads(p.run("eval", "--data", "val.npz", "--checkpoint", f"{name}/best.safetensors", "--json"))
            check(np.isclose(found[{"val_loss": "loss"}.get(key, key)], values[step], rtol=1e-8), found, values[step])
            # A rate of 0 leaves all as it is, so that nothing is better than before.
            text = p.train("--epochs", "8", "--lr", "0", "--checkpoint-dir", name, "--resume", *option)
            check("  best" not in text and checkpoint(f"{p.path}/{name}/best.safetensors")[""]["step"] == str(step), text)


def early():
    with Program() as p:
        text = p.train("--epochs", "50", "--lr", "0", "--early-stop", "3:accuracy", "--val-every", "5s")
        check("note: the training ends after step 20: no evaluation of the last 3 is better than accuracy " in text and "done: 20 steps" in text, text)
        check(list(p.log("val_loss")) == [5, 10, 15, 20], p.log("val_loss"))


def schedules():
    """Each schedule is one of the options; its rates are in the log (test/runtime/ScheduleTest.cpp compares them with torch)."""
    with Program() as p:
        def rates(*arguments, lr="1"):
            p.train("--epochs", "4", "--lr", lr, *arguments)
            return list(p.log("lr").values())
        near = lambda a, b: np.allclose(a, b, rtol=1e-12)  # noqa: E731
        check(near(rates("--schedule", "multi-step", "--milestones", "1e,25"), [1] * 10 + [.1] * 15 + [.01] * 15), "multi-step")
        check(near(rates("--schedule", "step", "--step-size", "2e", "--step-gamma", "0.5", "--warmup", "5"), [.2, .4, .6, .8, 1] + [1] * 20 + [.5] * 15), "step")
        check(near(rates("--schedule", "exponential", "--step-gamma", "0.5"), .5 ** (np.arange(40) / 10)), "exponential")
        check(near(rates("--schedule", "polynomial", "--power", "2"), (1 - np.arange(40) / 40) ** 2), "polynomial")
        cycles = np.concatenate([np.arange(10) / 10, np.arange(20) / 20, np.arange(10) / 40])
        check(near(rates("--schedule", "cosine-restarts", "--restart-steps", "1e", "--restart-factor", "2"), (1 + np.cos(np.pi * cycles)) / 2), "cosine-restarts")
        cycle = rates("--schedule", "one-cycle", "--pct-start", "0.25", "--div-factor", "10", "--final-div-factor", "100")
        check(np.argmax(cycle) == 9 and near([cycle[0], cycle[9], cycle[-1]], [.1, 1, .001]), cycle)
        # Nothing improves but the first evaluation, whatever is small enough to be no improvement.
        found = rates("--schedule", "plateau", "--plateau-patience", "1", "--plateau-factor", "0.5", "--plateau-metric", "top2", "--val-every", "5s", lr="1e-9")
        check(near(found, np.repeat([1, 1, 1, .5, .5, .25, .25, .125], 5) * 1e-9), found)


def within_an_epoch():
    """Evaluations come after steps or epochs, under both names of the option."""
    with Program() as p:
        for arguments, steps in ((["--val-every", "4s"], [4, 8, 12, 16, 20]), (["--val-every", "7steps"], [7, 14, 20]), (["--eval-every", "2"], [20]), (["--val-every=1e"], [10, 20])):
            p.train("--epochs", "2", *arguments)
            check(list(p.log("val_loss")) == steps, arguments, p.log("val_loss"))
        # An evaluation changes nothing in the training.
        p.train("--epochs", "2", "--val-every", "1s")
        losses = p.log("loss")
        p.run("train", "--data", "data.npz", "--lr", "0.5", "--log", "log.jsonl", "--log-every", "1", "--epochs", "2")
        check(p.log("loss") == losses, losses, p.log("loss"))


def windows():
    """Windows of accumulated batches go on across epochs. The last one may be cut off: its sums stay in the checkpoint, and a longer training goes on to the same parameters."""
    with Program("--accumulate=4") as p:
        text = p.train("--epochs", "2", "--checkpoint-dir", "whole")  # 20 steps, 5 windows, one of them across the end of the first epoch
        check("are not applied" not in text, text)
        text = p.train("--epochs", "1", "--checkpoint-dir", "cut")
        check("note: the gradients of the last 2 batches are not applied: they do not fill a window of --accumulate; the checkpoint has their sums" in text, text)
        p.train("--epochs", "2", "--checkpoint-dir", "cut", "--resume")
        last = "step-00000020.safetensors"
        check(open(f"{p.path}/cut/{last}", "rb").read() == open(f"{p.path}/whole/{last}", "rb").read(), "other parameters")


def interrupted_evaluation():
    """A signal ends an evaluation at once. The checkpoint is written all the same, and a resumed training evaluates first, so that it ends like one that nobody interrupted."""
    with Program("--trainable=^(w|mask)$", mask=True) as p:
        rng = np.random.default_rng(5)
        long = 400_000
        np.savez(f"{p.path}/val.npz", x=rng.normal(0, 1, (long, 5)).astype(np.float32), t=rng.integers(0, CLASSES, long))
        for epochs in ("2", "1"):
            common = ["--epochs", epochs, "--save-best"]
            p.train(*common, "--checkpoint-dir", "whole" + epochs)
            whole = [p.log(key) for key in ("loss", "val_loss", "accuracy")]
            os.remove(f"{p.path}/log.jsonl")
            folder = "part" + epochs
            command = ["./program", "train", "--data", "data.npz", "--val", "val.npz", "--lr", "0.5", "--log", "log.jsonl", "--log-every", "1", *common, "--checkpoint-dir", folder]
            process = subprocess.Popen(command, cwd=p.path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            for line in process.stdout:
                if line.startswith("epoch 1/"):  # the line of the epoch stands before its evaluation
                    break
            process.send_signal(signal.SIGINT)
            process.send_signal(signal.SIGTERM)  # counts as the same one, for it comes at once
            text = process.stdout.read()
            check(process.wait() in (130, 143) and "interrupted after step 10, before its evaluation; the checkpoint is written, continue with --resume" in text, process.returncode, text)
            check(p.log("val_loss") == {} and checkpoint(f"{p.path}/{folder}/step-00000010.safetensors")[""]["evaluation_due"] == "1", p.log("val_loss"))
            p.train(*common, "--checkpoint-dir", folder, "--resume")
            check(whole == [p.log(key) for key in ("loss", "val_loss", "accuracy")], p.log("val_loss"))
            last = f"step-000000{epochs}0.safetensors"
            for name in (last, "best.safetensors"):
                check(open(f"{p.path}/{folder}/{name}", "rb").read() == open(f"{p.path}/whole{epochs}/{name}", "rb").read(), name, "has other bytes")
            text = p.train(*common, "--checkpoint-dir", folder, "--resume")
            check("nothing to do" in text and "val_loss" not in text, text)


def resumed_otherwise():
    """A resumed training has the checkpoint's options where others are not typed, and says which ones; a note says what differs."""
    with Program() as p:
        cosine = ["--schedule=cosine", "--min-lr=0.01", "--warmup", "5", "--lr", "0.3", "--epochs=2", "--save-best", "--val-every=5s"]
        data = ["train", "--data", "data.npz", "--log", "log.jsonl", "--log-every", "1", "--checkpoint-dir", "ck"]
        p.train(*cosine, "--checkpoint-dir", "whole")
        rates, losses, last = p.log("lr"), p.log("val_loss"), "step-00000020.safetensors"
        stored = "--epochs=2 --lr=0.3 --schedule=cosine --warmup=5 --min-lr=0.01 --val-every=5s --save-best"

        def killed():
            """Leaves a folder as if the training had been killed behind step 14."""
            subprocess.run(["rm", "-rf", "ck"], cwd=p.path, check=True)
            p.run(*data, "--val", "val.npz", *cosine, "--checkpoint-every", "7")
            for name in (last, "best.safetensors"):
                os.remove(f"{p.path}/ck/{name}")

        other = "note: from here on the training has "
        for again in ([], cosine):
            killed()
            text = p.run(*data, "--val", "val.npz", "--resume", *again)
            check("resumed after step 14" in text and other not in text and (f"note: taken from the checkpoint: {stored}\n" in text) == (not again), text)
            check(p.log("lr") == rates and p.log("val_loss") == losses, p.log("lr"))
            check(open(f"{p.path}/ck/{last}", "rb").read() == open(f"{p.path}/whole/{last}", "rb").read(), "other bytes")
        killed()
        text = p.run(*data, "--val", "val.npz", "--resume", "--epochs=3", "--lr", "0.1", "--save-best=none")
        check(f"{other}--epochs=3 --lr=0.1 --save-best=none in place of --epochs=2 --lr=0.3 --save-best\n" in text, text)
        check(p.log("lr")[30] < 0.02 and max(p.log("lr")[step] for step in range(15, 31)) < 0.1, p.log("lr"))
        killed()
        text = p.run(*data, "--val", "val.npz", "--resume", "--steps=22", "--schedule=constant", "--warmup=0")
        check(f"{other}--steps=22 --schedule=constant --warmup=0 in place of --epochs=2 --schedule=cosine --warmup=5 --min-lr=0.01\n" in text, text)
        check(p.log("lr")[22] == 0.3, p.log("lr"))
        # What the checkpoint's options need has to be given again, and is named.
        status, _, error = harness.run(["./program", *data, "--resume"], cwd=p.path)
        check(status == 1 and "--resume: the training of the checkpoint has --save-best and evaluates: give --val, or say --save-best=none" in error, error)
        text = p.run(*data, "--resume", "--save-best=none", "--early-stop=none", "--steps=23")
        check("done: 23 steps" in text, text)
        text = p.run(*data, "--resume", "--steps=24")
        check("note: taken from the checkpoint: --lr=0.3 --schedule=constant --warmup=0 --val-every=5s --early-stop=none --save-best=none\n" in text, text)
        # Of a damaged checkpoint nothing is taken.
        killed()
        with open(f"{p.path}/ck/step-00000014.safetensors", "r+b") as file:
            found = file.read()
            file.seek(found.index(b"--lr=0.3"))
            file.write(b"--lr=9.3")
        text = p.run(*data, "--val", "val.npz", "--resume")
        check("skipping a damaged checkpoint" in text and f"note: taken from the checkpoint: {stored}\n" in text and "resumed after step 7" in text, text)
        check(p.log("lr") == rates, p.log("lr"))


def resumed_by_another_program():
    """Where a program was compiled otherwise than the one of the checkpoint, a note says how; where it cannot go on, so does the error."""
    with Program("--lr=0.5", "--weight-decay=1e-3") as p:
        common = ["train", "--data", "data.npz", "--checkpoint-dir", "ck"]
        p.run(*common)

        def compile_again(*options):
            harness.must([OPTIONS.bin + "/mpc", "compile", "model.onnx", "-o", "program", "-q", "--cpu=x86-64-v3", f"--batch={BATCH}", "--metric=accuracy,top2,confusion", *options], cwd=p.path)

        other = "the program was compiled with"
        check(other not in p.run(*common, "--epochs=2", "--resume"), "a note where nothing differs")
        compile_again("--loss=softmax_cross_entropy:y:t,label_smoothing=0.1", "--precision=fp32", "--lr=0.25", "--weight-decay=1e-3")
        text = p.run(*common, "--epochs=3", "--resume")
        step = "step main: sgd, lr {}, dampening 0, momentum 0, nesterov 0, weight_decay 0.001"
        check(f"note: {other} loss softmax_cross_entropy:y:t,label_smoothing=0.1; {step.format(0.25)} in place of loss softmax_cross_entropy:y:t; {step.format(0.5)}\n" in text, text)
        compile_again("--loss=softmax_cross_entropy:y:t", "--precision=fp16", "--lr=0.25")
        status, _, error = harness.run(["./program", *common, "--epochs=4", "--resume"], cwd=p.path)
        check(status == 1 and f"; {other} precision fp16 O1; loss softmax_cross_entropy:y:t; " in error and "in place of precision fp32 O0; " in error, error)


def resumed_steps():
    """The rates of several optimizers come from the checkpoint; a rate for all of them takes the place of each."""
    with Program("--step=a.b:params=^w:optimizer=sgd", "--step=c:params=^w:optimizer=sgd") as p:
        def train(*options):
            text = p.run("train", "--data", "data.npz", "--checkpoint-dir", "ck", *options)
            line = re.search(r"step \d+/\d+ .*  lr (\S+)  loss/c \S+(?:  lr/c (\S+))?  ", text)  # the second rate is left out where it is the first
            return text, float(line[1]), float(line[2] or line[1])
        train("--steps=2", "--lr=0.5", "--a.b.lr=0.1", "--c.lr=0.2")
        for steps, options, rates in ((3, [], (0.1, 0.2)), (4, ["--c.lr=0.3"], (0.1, 0.3)), (5, [], (0.1, 0.3)), (6, ["--lr=0.7"], (0.7, 0.7)), (7, [], (0.7, 0.7))):
            text, *found = train(f"--steps={steps}", "--resume", *options)
            check(tuple(found) == rates, steps, found, text)


def terminal():
    """In 80 columns the two lines of an epoch hold loss, rate and time, and the values of the evaluation, without a wrap."""
    with Program() as p:
        primary, secondary = pty.openpty()
        fcntl.ioctl(secondary, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        command = ["./program", "train", "--data", "data.npz", "--val", "val.npz", "--lr", "0.037621", "--epochs", "12", "--save-best", "--checkpoint-dir", "ck"]
        process = subprocess.Popen(command, cwd=p.path, stdin=subprocess.DEVNULL, stdout=secondary, stderr=secondary, env={**os.environ, "TERM": "xterm"})
        os.close(secondary)
        data = b""
        try:
            while chunk := os.read(primary, 4096):
                data += chunk
        except OSError:  # all of the program's ends are closed
            pass
        check(process.wait() == 0, data)
        os.close(primary)
        # What is behind the last return of the cursor stays on the screen.
        lines = [re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", line.split("\r")[-1]) for line in data.decode().replace("\r\n", "\n").split("\n")]
        epochs = [line for line in lines if re.match(r"epoch \d+/12  loss \S+ \(mean\)  lr 0\.037621  \d+:\d\d  left \d+:\d\d", line)]
        values = [line for line in lines if re.match(r"epoch \d+  step \d+  val_loss \S+  accuracy \S+ \(\d+/42\)  top2 ", line)]
        check(len(epochs) == 12 and len(values) == 12, lines)
        check(max(map(len, epochs)) <= 80, epochs)
        check(max(len(line.split("  top2")[0] + "  best") for line in values) <= 80, values)


def per_class():
    """The classes of an evaluation are those that numpy counts, in text and JSON, with names and without."""
    with Program() as p:
        p.train("--epochs", "1", "--checkpoint-dir", "ck")
        with open(f"{p.path}/names.txt", "w") as file:
            file.write("cat\r\ngrey dog\nbird\n")
        state = ["--checkpoint", "ck/step-00000010.safetensors"]
        data = np.load(f"{p.path}/val.npz")
        scores = data["x"] @ checkpoint(f"{p.path}/ck/step-00000010.safetensors")["w"]
        order = np.argsort(-scores, axis=1)
        found = json.loads(p.run("eval", "--data", "val.npz", *state, "--per-class", "--class-names", "names.txt", "--json"))["classes"]
        table = [re.split(r"  +", line.strip()) for line in p.run("eval", "--data", "val.npz", *state, "--per-class", "--class-names", "names.txt").splitlines()[-4:]]
        check(table[0] == ["class", "name", "labels", "accuracy", "top2"], table)
        for c, name in enumerate(("cat", "grey dog", "bird")):
            own = data["t"] == c
            expected = [(order[own, 0] == c).mean(), (order[own, :2] == c).any(1).mean()]
            check(found[c]["name"] == name and found[c]["labels"] == own.sum(), found)
            check(np.allclose([found[c]["accuracy"], found[c]["top2"]], expected, rtol=1e-5), found, expected)
            check(table[c + 1][:3] == [str(c), name, str(own.sum())] and np.allclose(list(map(float, table[c + 1][3:])), expected, rtol=1e-5), table, expected)
        check("name" not in p.run("eval", "--data", "val.npz", "--per-class"), "names of nothing")
        # A class without labels has no accuracy.
        np.savez(f"{p.path}/one.npz", x=data["x"][:4], t=np.zeros(4, np.int64))
        check(json.loads(p.run("eval", "--data", "one.npz", "--per-class", "--json"))["classes"][2] == {"class": 2, "labels": 0, "accuracy": None, "top2": None}, "no labels")


CASES = {
    "the best checkpoint": best,
    "an interrupted evaluation": interrupted_evaluation,
    "an early end": early,
    "schedules": schedules,
    "evaluations within an epoch": within_an_epoch,
    "windows": windows,
    "a resumed training with other options": resumed_otherwise,
    "a resumed training by another program": resumed_by_another_program,
    "a resumed training of several optimizers": resumed_steps,
    "a terminal": terminal,
    "classes": per_class,
}

if __name__ == "__main__":
    OPTIONS = harness.arguments(__doc__)
    harness.main([(f"training-loop/{name}", case) for name, case in CASES.items()], OPTIONS.only)
