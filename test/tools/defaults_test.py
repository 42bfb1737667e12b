#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What mpc does where the user says nothing: its choices, the lines that name them with the option that changes them, and the training that follows."""
import json
import re

import numpy as np

import harness
from models import INT64, Graph, labelled, mlp


def check(true, *what):
    if not true:
        raise harness.Failure(" ".join(map(str, what)))


def mpc(folder, command, *options, fails=False):
    status, out, err = harness.run([OPTIONS.bin + "/mpc", command, "model.onnx", *options], cwd=folder)
    check(status == int(fails), command, options, out, err)
    return err if fails else out


def lines(said, kind):
    return [line[len(kind) + 2:] for line in said.splitlines() if line.startswith(kind + ": ")]


ASSUMED = ["--batch=32: the leading dimension of 'x' is open",
           "--loss=softmax_cross_entropy:logits:labels: the only float output is taken for scores: the classes are dimension 1 of 'logits' [32,3], the labels 'labels' are [32]",
           "--precision=fp16", "--opt-level=O1: autocast by op", "--loss-scale=dynamic", "--optimizer=sgd",
           "--lr=0.01: the default of sgd; the program's own --lr changes it too"]
DATA = ["x float32 [samples,4]", "labels int64 [samples], classes 0 to 2, or -100 where a label does not count"]


def no_option():
    with harness.folder() as folder:
        mlp().save(f"{folder}/model.onnx")
        said = mpc(folder, "compile")
        check(lines(said, "assumed") == ASSUMED, "assumed", said)
        check(lines(said, "data") == DATA, "data", said)
        check(lines(said, "next") == ["./model train --data data.npz --checkpoint-dir checkpoints"], "next", said)
        info = json.loads(harness.must([f"{folder}/model", "info", "--json"]))
        check(info["precision"] == {"type": "fp16", "opt_level": "O1"} and info["batch"] == 32 and info["steps"][0]["loss_scaling"] == "dynamic", info)
        # The printed lines are all that a user needs: data of these names, and the next command.
        labelled(f"{folder}/all.npz", 512)
        arrays = np.load(f"{folder}/all.npz")
        np.savez(f"{folder}/data.npz", x=arrays["x"], labels=arrays["label"])
        harness.must(["./model", "train", "--data", "data.npz", "--epochs", "5", "--lr", "0.1", "--log", "log.jsonl", "--log-every", "1", "--checkpoint-dir", "checkpoints"], cwd=folder)
        losses = [line["loss"] for line in map(json.loads, open(f"{folder}/log.jsonl")) if "loss" in line]
        check(losses[-1] < losses[0] / 2, "losses", losses)
        names = harness.must(["strings", "-a", f"{folder}/checkpoints/step-00000080.safetensors"])
        check("fc1.weight" in names and "/momentum" not in names, "the optimizer has a momentum")
        # No option and --optimizer sgd are the same.
        mpc(folder, "compile", "-o", "sgd", "--optimizer", "sgd")
        named = json.loads(harness.must([f"{folder}/sgd", "info", "--json"]))
        check(named["steps"] == info["steps"] and info["steps"][0]["fixed"]["momentum"] == 0, info["steps"])
        check(not lines(mpc(folder, "compile", "-q"), "assumed"), "--quiet")


def other_commands():
    """Checks that check and explain make the same assumptions."""
    with harness.folder() as folder:
        mlp().save(f"{folder}/model.onnx")
        for command in ("check", "explain"):
            said = mpc(folder, command)
            check(lines(said, "assumed") == ASSUMED and lines(said, "data") == DATA, command, said)
            parsed = json.loads(mpc(folder, command, "--json"))
            check(parsed["assumed"] == ASSUMED and parsed["data"] == DATA, command, parsed)
        check("model.onnx: fp16 O1, loss scale dynamic" in mpc(folder, "explain"), "explain")


def said_by_the_user():
    """Checks that nothing that the user wrote is called an assumption, and that writing out the defaults is no error."""
    written = ["--batch=32", "--loss=softmax_cross_entropy:logits:labels", "--precision=fp16", "--opt-level=O1", "--loss-scale=dynamic", "--optimizer=sgd,lr=0.01"]
    with harness.folder() as folder:
        mlp().save(f"{folder}/model.onnx")
        check(not lines(mpc(folder, "compile", *written), "assumed"), "all is said")
        for precision, level in (("fp32", "O1"), ("fp32", "O2"), ("fp32", "O0")):
            said = lines(mpc(folder, "compile", f"--precision={precision}", f"--opt-level={level}"), "assumed")
            check(not [line for line in said if re.match("--(precision|opt-level|loss-scale)", line)], said)
            info = json.loads(harness.must([f"{folder}/model", "info", "--json"]))
            check(info["precision"] == {"type": "fp32", "opt_level": "O0"} and info["steps"][0]["loss_scaling"] is None, info)
        check("--precision=fp32: the precision of level O0" in lines(mpc(folder, "compile", "--opt-level=O0"), "assumed"), "O0 alone")
        check("--loss-scale=none" in lines(mpc(folder, "compile", "--precision=bf16"), "assumed"), "bf16")
        said = lines(mpc(folder, "compile", "--momentum=0.5", "--lr=0.1"), "assumed")
        check("--optimizer=sgd" in said and not [line for line in said if line.startswith("--lr")], said)
        said = lines(mpc(folder, "compile", "--optimizer=adamw"), "assumed")
        check("--lr=0.001: the default of adamw; the program's own --lr changes it too" in said, said)
        check("--batch=8: as exported" in lines(mpc_of(folder, mlp(batch=8)), "assumed"), "a fixed batch")


def mpc_of(folder, model, *options):
    model.save(f"{folder}/model.onnx")
    return mpc(folder, "compile", *options)


def ends_in(op):
    """Checks a classifier that ends in Softmax or LogSoftmax: the loss takes the input of that op."""
    def case():
        with harness.folder() as folder:
            g = Graph()
            g.node("Gemm", [g.input("x", [8, 4]), g.weight("w", (3, 4))], "scores", transB=1)
            g.node(op, ["scores"], "y", axis=1)
            said = mpc_of(folder, g.output("y", [8, 3]), "--precision=fp32")
            check([line for line in lines(said, "assumed") if line.startswith(f"--loss: softmax cross entropy on the input of the {op} that makes 'y', the only float output")], said)
            labelled(f"{folder}/all.npz", 8)
            arrays = np.load(f"{folder}/all.npz")
            np.savez(f"{folder}/data.npz", x=arrays["x"], labels=arrays["label"])
            evaluated = json.loads(harness.must([f"{folder}/model", "eval", "--data", f"{folder}/data.npz", "--json"]))
            w = np.frombuffer(g.proto().graph.initializer[0].raw_data, np.float32).reshape(3, 4).astype(np.float64)
            z = arrays["x"] @ w.T
            loss = np.mean(np.log(np.exp(z).sum(1)) - z[np.arange(8), arrays["label"]])
            check(abs(evaluated["loss"] - loss) < 1e-5 and evaluated["accuracy_correct"] == (z.argmax(1) == arrays["label"]).sum(), evaluated, loss)
            harness.must([f"{folder}/model", "predict", "--data", f"{folder}/data.npz", "--out", f"{folder}/out.npz"])
            y = np.load(f"{folder}/out.npz")["y"]  # the network's output is still the Softmax
            check(np.allclose((y if op == "Softmax" else np.exp(y)).sum(1), 1, atol=1e-5), y)
    return case


def one_number():
    """Checks that the network's own loss is found and named, and that one of several is not guessed. One number for the only sample of a batch is no loss."""
    with harness.folder() as folder:
        g = Graph()
        g.node("Gemm", [g.input("x", [8, 4]), g.weight("w", (1, 4))], "y", transB=1)
        g.node("ReduceMean", ["y"], "loss", keepdims=0)
        said = mpc_of(folder, g.output("loss", []))
        check("--loss=output:loss: the network's only number" in lines(said, "assumed"), said)
        g.node("ReduceMax", ["y"], "other", keepdims=0)
        g.output("other", []).save(f"{folder}/model.onnx")
        said = mpc(folder, "compile", fails=True)
        check("any of 2 outputs may be the loss, since each is one number: 'loss', 'other'" in said and "--loss=output:loss; " in said, said)
        mpc(folder, "compile", "--loss=output:other")
        for rank in (1, 2):
            g = Graph()
            g.node("Gemm", [g.input("x", [1, 4]), g.weight("w", (1, 4))], "y2", transB=1)
            g.node("Reshape", ["y2", g.constant("shape", np.array([1] * rank))], "y")
            g.output("y", [1] * rank).save(f"{folder}/model.onnx")
            said = mpc(folder, "compile", fails=True)
            check("no scalar float output that could be the loss" in said, said)


def own_activation():
    """Checks that a loss of logits takes the input of the Softmax or Sigmoid that makes its operand, and says so."""
    rng = np.random.default_rng(1)
    x, labels, target = rng.standard_normal((8, 4)).astype(np.float32), rng.integers(0, 3, 8), (rng.random((8, 3)) < 0.5).astype(np.float32)
    for op, loss in (("Softmax", "softmax_cross_entropy:y:labels"), ("Sigmoid", "bce_with_logits:y:target")):
        with harness.folder() as folder:
            g = Graph()
            g.node("Gemm", [g.input("x", [8, 4]), g.weight("w", (3, 4))], "scores", transB=1)
            g.node(op, ["scores"], "y", **({"axis": 1} if op == "Softmax" else {}))
            said = mpc_of(folder, g.output("y", [8, 3]), "--precision=fp32", "--loss=" + loss)
            check(f"--loss={loss}: takes the input of the {op} that makes 'y', for it has one of its own" in lines(said, "assumed"), said)
            np.savez(f"{folder}/data.npz", x=x, labels=labels, target=target)
            found = json.loads(harness.must([f"{folder}/model", "eval", "--data", f"{folder}/data.npz", "--json"]))["loss"]
            w = np.frombuffer(g.proto().graph.initializer[0].raw_data, np.float32).reshape(3, 4).astype(np.float64)
            z = x @ w.T
            wanted = np.mean(np.log(np.exp(z).sum(1)) - z[np.arange(8), labels]) if op == "Softmax" else np.mean(np.log1p(np.exp(z)) - target * z)
            check(abs(found - wanted) < 1e-5, op, found, wanted)


def until_the_end():
    """Checks that a training validates at its end, says when nothing is saved, and asks when a learning rate falls."""
    with harness.folder() as folder:
        mpc_of(folder, mlp())
        labelled(f"{folder}/all.npz", 256)
        arrays = np.load(f"{folder}/all.npz")
        np.savez(f"{folder}/data.npz", x=arrays["x"], labels=arrays["label"])
        train = ["./model", "train", "--data", "data.npz", "--val", "data.npz", "--steps"]
        said = harness.must([*train, "11"], cwd=folder)
        check(re.findall(r"epoch (\d+)  step (\d+)  val_loss", said) == [("1", "8"), ("2", "11")], said)
        # Each epoch has a line that stays; the last one is not whole.
        times = r"  lr 0\.01  \d:\d\d  left \d:\d\d  \d+ samples/s"
        check(re.findall(r"epoch (\d/\d)  loss [\d.e-]+ (\(.*?\))" + times, said) == [("1/2", "(mean)"), ("2/2", "(mean of 3 of 8 steps)")], said)
        check("note: nothing was saved (no --checkpoint-dir)" in said, said)
        check("nothing was saved" not in harness.must([*train, "3", "--checkpoint-dir", "ck"], cwd=folder), "saved")
        status, _, said = harness.run([*train, "3", "--schedule", "step"], cwd=folder)
        check(status == 1 and "add --step-size N" in said, said)


def parameter_groups():
    """Checks that check, compile -v and info say which parameter is in which group, and info the fixed numbers of the optimizer."""
    with harness.folder() as folder:
        mlp().save(f"{folder}/model.onnx")
        options = ["--momentum=0.75", "--param-group", "bias$:lr=2,weight_decay=0", "--param-group", "^fc1:lr=0.5"]
        wanted = ["'bias$' (lr x 2, weight_decay 0): fc1.bias, fc2.bias", "'^fc1' (lr x 0.5): fc1.weight", "none: fc2.weight"]
        check(lines(mpc(folder, "check", *options), "group") == wanted, "check")
        check(json.loads(mpc(folder, "check", "--json", *options))["groups"] == wanted, "check --json")
        check(lines(mpc(folder, "compile", "-v", *options), "group") == wanted and not lines(mpc(folder, "compile", *options), "group"), "compile")
        said = harness.must([f"{folder}/model", "info"])
        check(re.search(r"^step +main: sgd, lr 0\.01, .*momentum 0\.75", said, re.M), said)
        check([line.split(maxsplit=1)[1] for line in said.splitlines() if line.startswith("group ")] == wanted, said)
        step = json.loads(harness.must([f"{folder}/model", "info", "--json"]))["steps"][0]
        check(step["fixed"]["momentum"] == 0.75 and [group["parameters"] for group in step["groups"]] == [["fc1.bias", "fc2.bias"], ["fc1.weight"], ["fc2.weight"]], step)
        check(lines(mpc(folder, "compile", "-v"), "group") == ["none: fc1.weight, fc1.bias, fc2.weight, fc2.bias"], "no group")


def groups_of_kinds():
    """Checks that groups take norms, biases and embeddings by what the network does with them, whatever their names are."""
    with harness.folder() as folder:
        g = Graph()
        rows = g.node("Gather", [g.weight("a", (9, 6)), g.input("tokens", ["N", 5], INT64)], "rows")
        normed = g.node("LayerNormalization", [rows, g.weight("b", (6,)), g.weight("c", (6,))], "normed", axis=-1)
        g.node("LSTM", [g.node("Transpose", [normed], "steps", perm=[1, 0, 2]), g.weight("d", (1, 16, 6)), g.weight("e", (1, 16, 4)), g.weight("f", (1, 32))],
                            ["all", "last", "cell"], hidden_size=4)
        flat = g.node("Reshape", ["last", g.constant("flat", np.array([-1, 4]))], "h")
        g.node("Gemm", [flat, g.weight("g", (4, 3)), g.weight("h.weight", (3,))], "logits")
        g.output("logits", ["N", 3]).save(f"{folder}/model.onnx")
        options = ["--optimizer=adamw", "--param-group=@norms,@biases:wd=0", "--param-group=@embeddings:lr=0.5"]
        wanted = ["'@norms,@biases' (lr x 1, weight_decay 0): b, c, f, h.weight", "'@embeddings' (lr x 0.5): a", "none: d, e, g"]
        check(lines(mpc(folder, "check", *options), "group") == wanted, lines(mpc(folder, "check", *options), "group"))
        mpc(folder, "compile", *options)
        said = harness.must([f"{folder}/model", "info"])
        check([line.split(maxsplit=1)[1] for line in said.splitlines() if line.startswith("group ")] == wanted, said)


def shifted_labels():
    """Checks that labels which a language model shifts are checked as other labels are."""
    with harness.folder() as folder:
        g = Graph()
        ids = g.input("labels", [2, 5], INT64)
        g.node("Gemm", [g.input("x", [2, 4]), g.weight("w", (15, 4))], "flat", transB=1)
        g.node("Reshape", ["flat", g.constant("rows", np.array([2, 5, 3]))], "logits")
        g.node("Transpose", ["logits"], "scores", perm=[0, 2, 1])
        g.node("Pad", [ids, g.constant("pads", np.array([0, 0, 0, 1])), g.constant("ignored", np.array(-100))], "padded")
        g.node("Slice", ["padded", g.constant("from", np.array([1])), g.constant("to", np.array([6])), g.constant("axis", np.array([1]))], "shifted")
        g.node("SoftmaxCrossEntropyLoss", ["scores", "shifted"], "loss", ignore_index=-100, reduction="mean")
        said = mpc_of(folder, g.output("loss", []))
        check("labels int64 [samples,5], classes 0 to 2, or -100 where a label does not count" in lines(said, "data"), said)
        np.savez(f"{folder}/data.npz", x=np.ones((4, 4), np.float32), labels=np.full((4, 5), 9))
        status, _, said = harness.run(["./model", "eval", "--data", "data.npz"], cwd=folder)
        check(status == 1 and "9" in said, said)


def indices():
    """Checks that all places state the same range of indices, which count from the end where they are negative."""
    with harness.folder() as folder:
        g = Graph()
        rows = g.node("Gather", [g.weight("table", (7, 4)), g.input("ids", ["N"], INT64)], "rows")
        g.node("Gemm", [rows, g.weight("w", (4, 3))], "logits")
        said = mpc_of(folder, g.output("logits", ["N", 3]))
        check("ids int64 [samples], indices -7 to 6" in lines(said, "data"), said)
        check("ids i64[32] in [-7, 7)" in harness.must(["./model", "info"], cwd=folder), "info")
        for index, fits in ((-8, False), (-7, True), (6, True), (7, False)):
            np.savez(f"{folder}/data.npz", ids=np.full(32, index), labels=np.zeros(32, np.int64))
            status, _, said = harness.run(["./model", "eval", "--data", "data.npz"], cwd=folder)
            check(status == (0 if fits else 1) and (fits or f"has index {index}, not in [-7, 7)" in said), index, said)


def labels_of_the_network():
    """Checks that an integer input which the network has and does not use is taken for its labels."""
    with harness.folder() as folder:
        g = mlp()
        g.input("targets", ["N"], INT64)
        said = mpc_of(folder, g)
        check([line for line in lines(said, "assumed") if line.startswith("--loss=softmax_cross_entropy:logits:targets:")], said)


def float_labels():
    """Checks that floats of any shape are refused as labels of a loss that the user did not name."""
    with harness.folder() as folder:
        mpc_of(folder, mlp())
        x = np.zeros((64, 4), np.float32)
        for labels in (np.zeros(64, np.float32), np.zeros((64, 3), np.float64)):
            np.savez(f"{folder}/data.npz", x=x, labels=labels)
            status, _, said = harness.run([f"{folder}/model", "train", "--data", "data.npz"], cwd=folder)
            check(status == 1 and "no loss was named" in said and "the labels of 'logits' [samples,3] with its classes along dimension 1" in said, said)
            check("--loss=mse:logits:labels or --loss=bce_with_logits:logits:labels" in said, said)
        # If the user names the loss, the labels may be whole numbers stored as floats.
        mpc(folder, "compile", "--loss=softmax_cross_entropy:logits:labels")
        np.savez(f"{folder}/data.npz", x=x, labels=np.zeros(64, np.float32))
        harness.must([f"{folder}/model", "train", "--data", "data.npz"], cwd=folder)


CASES = {
    "indices": indices,
    "no option": no_option,
    "check and explain": other_commands,
    "what the user says": said_by_the_user,
    "Softmax at the end": ends_in("Softmax"),
    "LogSoftmax at the end": ends_in("LogSoftmax"),
    "one number": one_number,
    "an activation of its own": own_activation,
    "until the end": until_the_end,
    "parameter groups": parameter_groups,
    "groups of kinds": groups_of_kinds,
    "shifted labels": shifted_labels,
    "labels of the network": labels_of_the_network,
    "float labels": float_labels,
}

if __name__ == "__main__":
    OPTIONS = harness.arguments(__doc__)
    harness.main([(f"defaults/{name}", case) for name, case in CASES.items()], OPTIONS.only)
