#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests tools/torch/export.py: what its files hold, what it refuses, and that mpc trains them.

usage: export_checks.py --build BUILD [--only TEXT]      (make test-torch)
The modules have a few layers with what exporters fold, merge, drop or rename. Without torch the script prints why it does nothing and ends with 0.
"""
import os
import re
import subprocess
import sys

try:
    import numpy as np
    import onnxscript  # noqa: F401
    import torch
except ImportError as missing:
    print(f"SKIP export-checks: {missing}; it needs what test/torch/requirements.txt lists (pip install -r test/torch/requirements.txt)")
    sys.exit(0)

from torch import nn  # noqa: E402

import export_support  # noqa: E402
import evaluation_cases  # noqa: E402
import gradient_cases  # noqa: E402
import loss_cases  # noqa: E402
import recurrent_cases  # noqa: E402
import reference_cases  # noqa: E402
import state_cases  # noqa: E402
from export_support import LOGITS, TOOL, expect, expect_gradients, expect_parameters, gradients, harness, refused, roles, written  # noqa: E402


class Layers(nn.Module):
    """What exporters change: a batch norm after a convolution, equal norms, a zero bias, a table that is read at fixed indices, and a buffer."""

    def __init__(self):
        super().__init__()
        self.conv, self.bn = nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4)
        self.norm1, self.fc, self.norm2, self.head = nn.LayerNorm(4), nn.Linear(4, 4), nn.LayerNorm(4), nn.Linear(4, 3)
        nn.init.zeros_(self.fc.bias)
        self.positions = nn.Embedding(5, 4)
        self.register_buffer("offset", torch.linspace(-1, 1, 4))
        self.drop = nn.Dropout(0.25)

    def forward(self, x):
        y = self.bn(self.conv(x)).relu().mean((2, 3)) + self.positions(torch.arange(2)).sum(0) + self.offset
        return self.head(self.drop(self.norm2(self.fc(self.norm1(y)))))


class Tied(nn.Module):
    """Maps tokens to tokens; the table of the input is the weight of the output, as in GPT-2. It returns a loss if it gets labels."""

    def __init__(self):
        super().__init__()
        self.table, self.fc, self.head = nn.Embedding(11, 6), nn.Linear(6, 6), nn.Linear(6, 11, bias=False)
        self.head.weight = self.table.weight

    def forward(self, ids, labels=None):
        logits = self.head(self.fc(self.table(ids)).tanh())
        if labels is None:
            return {"logits": logits, "nothing": None}
        return {"loss": nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten()), "logits": logits}


class Pair(nn.Module):
    """Returns two outputs, as a tuple."""

    def __init__(self):
        super().__init__()
        self.one, self.other = nn.Linear(4, 3), nn.Linear(4, 2)

    def forward(self, x):
        return self.one(x), self.other(x)


def images():
    return {"x": torch.randn(2, 3, 4, 4)}


def ids():
    return torch.randint(0, 11, (2, 5))


def nothing_lost(training):
    """Makes the case that nothing is folded, merged or dropped, in train or eval mode of the module. Buffers are marked, and the batch is free."""
    def case():
        torch.manual_seed(1)
        module = Layers().train(training)
        with harness.folder() as folder:
            graph, notes = written(module, images(), folder, outputs=["logits"])
            expect_parameters(graph, module)
            expect(notes == ["dropout: 1 of forward's 1 are in the file, of 0.25"], f"notes: {notes}")
            expect([i.name for i in graph.input] == ["x"] and [o.name for o in graph.output] == ["logits"], "inputs and outputs have other names")
            expect(graph.input[0].type.tensor_type.shape.dim[0].dim_param == "batch", "the batch is not free")
            norms = [node for node in graph.node if node.op_type == "BatchNormalization"]
            expect(len(norms) == 1 and any(a.name == "training_mode" and a.i == 1 for a in norms[0].attribute), "the batch norm does not train")
            dropped = [node for node in graph.node if node.op_type == "Dropout"]
            expect(len(dropped) == 1, f"{len(dropped)} Dropout nodes")
            said = roles(folder, "--batch=6", LOGITS)
            trained = {name for name, role in said.items() if role == "parameter"}
            expect(trained == set(dict(module.named_parameters())), f"mpc trains {sorted(trained)}")
            expect(all(said[name] == "buffer" for name in ("bn.running_mean", "bn.running_var")) and said["offset"] != "parameter", f"buffers are {said}")
            for batch in (3, 6):  # dropout is random, so no numbers are compared
                found = gradients(folder, {"x": torch.randn(batch, 3, 4, 4), "labels": torch.arange(batch) % 3}, f"--batch={batch}", LOGITS)
                expect(set(found) - {""} == trained and all(np.isfinite(value).all() for value in found.values()), f"gradients of {sorted(found)}")
    return case


def numbers():
    """Without dropout the gradients are PyTorch's."""
    torch.manual_seed(2)
    module = Layers()
    module.drop.p = 0.0
    data = {"x": torch.randn(5, 3, 4, 4), "labels": torch.arange(5) % 3}
    with harness.folder() as folder:
        written(module, images(), folder, outputs=["logits"])
        found = gradients(folder, data, "--batch=5", LOGITS)
        expect_gradients(found, module, nn.functional.cross_entropy(module(data["x"]), data["labels"]))


def frozen():
    """requires_grad=False is recorded with the parameter, and a batch norm in eval mode stays in it."""
    torch.manual_seed(3)
    module = Layers().train()
    module.bn.eval()
    module.conv.requires_grad_(False)
    module.bn.requires_grad_(False)
    module.drop.p = 0.0
    data = {"x": torch.randn(4, 3, 4, 4), "labels": torch.arange(4) % 3}
    with harness.folder() as folder:
        graph, _ = written(module, images(), folder, outputs=["logits"])
        expect(not any(a.name == "training_mode" and a.i for node in graph.node for a in node.attribute), "the batch norm in eval mode trains")
        said = roles(folder, "--batch=4", LOGITS)
        trained = {name for name, role in said.items() if role == "parameter"}
        wanted = {name for name, parameter in module.named_parameters() if parameter.requires_grad}
        expect(trained == wanted, f"mpc trains {sorted(trained)}, PyTorch {sorted(wanted)}")
        found = gradients(folder, data, "--batch=4", LOGITS)
        expect_gradients(found, module, nn.functional.cross_entropy(module(data["x"]), data["labels"]))


def tied_loss():
    """Tied weights are one parameter with its first name. Labels are an input, and the requested keys of a dict are the outputs."""
    torch.manual_seed(4)
    module = Tied()
    data = {"ids": ids(), "labels": ids()}
    with harness.folder() as folder:
        graph, _ = written(module, data, folder, outputs=["loss", "logits"], dynamic={name: {1: "tokens"} for name in data})
        expect_parameters(graph, module)
        expect([i.name for i in graph.input] == ["ids", "labels"] and [o.name for o in graph.output] == ["loss", "logits"], "inputs or outputs have other names")
        dims = [[d.dim_param for d in i.type.tensor_type.shape.dim] for i in graph.input]
        expect(dims == [["batch", "tokens"]] * 2, f"free dimensions are {dims}")
        data = {"ids": torch.randint(0, 11, (3, 7)), "labels": torch.randint(0, 11, (3, 7))}
        found = gradients(folder, data, "--batch=3", "--dim=tokens=7", "--loss=output:loss")
        expect_gradients(found, module, module(**data)["loss"])


def whole_dict():
    """If no outputs are named, the tensors of a dict are the outputs, named by their keys."""
    torch.manual_seed(5)
    module = Tied()
    with harness.folder() as folder:
        graph, _ = written(module, {"ids": ids()}, folder)
        expect([o.name for o in graph.output] == ["logits"], f"outputs {[o.name for o in graph.output]}")
        data = {"ids": ids(), "labels": ids()}
        found = gradients(folder, data, "--batch=2", LOGITS + ",axis=-1")
        expect_gradients(found, module, module(**data)["loss"])


def whole_tuple(outputs, names):
    def case():
        torch.manual_seed(6)
        module = Pair()
        with harness.folder() as folder:
            graph, _ = written(module, {"x": torch.randn(2, 4)}, folder, outputs=outputs)
            expect([o.name for o in graph.output] == names, f"outputs {[o.name for o in graph.output]}")
            data = {"x": torch.randn(4, 4), "labels": torch.arange(4) % 3}
            found = gradients(folder, data, "--batch=4", f"--loss=softmax_cross_entropy:{names[0]}:labels")
            used = {name: found[name] for name in found if not name.startswith("other.") or np.abs(found[name]).max() > 0}
            expect_gradients(used, module, nn.functional.cross_entropy(module(data["x"])[0], data["labels"]))
    return case


def unused():
    """A parameter that forward does not use gets a note and is not trained."""
    module = Layers()
    module.spare = nn.Linear(2, 2)
    with harness.folder() as folder:
        _, notes = written(module, images(), folder, outputs=["logits"])
        expect(sum("spare" in note for note in notes) == 2, f"notes: {notes}")
        expect("parameter" not in [role for name, role in roles(folder, "--batch=2", LOGITS).items() if name.startswith("spare")], "mpc trains it")


def fixed_batch():
    """batch=None keeps the example's batch size."""
    with harness.folder() as folder:
        graph, _ = written(Pair(), {"x": torch.randn(1, 4)}, folder, batch=None)
        expect(graph.input[0].type.tensor_type.shape.dim[0].dim_value == 1, "the batch is not fixed")


class Chosen(nn.Module):
    """Takes arguments that are no tensors, before and between those that are."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3)

    def forward(self, flip, x, scale, y, more=None):
        return self.fc(-x if flip else x) * scale + self.fc(y) + (0 if more is None else more[0])


class Sum(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, x, y):
        return (x + y) * self.scale


class Parts(nn.Linear):
    def forward(self, x):
        return super().forward(x[0]) + super().forward(x[1])


def constants():
    """Arguments that are no tensors are constants, and the inputs and free dimensions keep their names."""
    torch.manual_seed(7)
    module = Chosen()
    examples = {"flip": True, "x": torch.randn(2, 5, 4), "scale": 0.5, "y": torch.randn(2, 5, 4), "more": [2.0]}
    with harness.folder() as folder:
        graph, _ = written(module, examples, folder, outputs=["logits"], dynamic={name: {1: "tokens"} for name in "xy"}, reference=f"{folder}/reference.npz",
                           loss="softmax_cross_entropy:logits:labels,axis=-1")
        found = {value.name: [d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim] for value in graph.input}
        expect(found == {"x": ["batch", "tokens", 4], "y": ["batch", "tokens", 4]}, f"the inputs are {found}")
        export_support.expect_verified(folder)
        data = {"x": torch.randn(3, 7, 4), "y": torch.randn(3, 7, 4), "labels": torch.randint(0, 3, (3, 7))}
        loss = nn.functional.cross_entropy(module(**(examples | {name: data[name] for name in "xy"})).flatten(0, 1), data["labels"].flatten())
        expect_gradients(gradients(folder, data, "--batch=3", "--dim=tokens=7", LOGITS + ",axis=-1"), module, loss)


MODULES = """
import torch
class Scores(torch.nn.Module):
    def __init__(self, features=4, classes=3):
        super().__init__()
        self.fc = torch.nn.Linear(features, classes)
    def forward(self, x):
        return self.fc(x)
class Packed(Scores):
    def forward(self, x, lengths):
        packed = torch.nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        return self.fc(torch.nn.utils.rnn.pad_packed_sequence(packed, batch_first=True, total_length=x.shape[1])[0])
ready = Scores()
text = "no module"
def number():
    return 3
"""


def command(*arguments):
    """Runs the tool as a command, with the modules of MODULES in mine.py and in parts/layers.py, which parts/net.py imports as `layers`.

    Returns (status, what it says, new files of the folder)."""
    with harness.folder() as folder:
        os.mkdir(f"{folder}/parts")
        for name, text in (("mine.py", MODULES), ("parts/layers.py", MODULES), ("parts/net.py", "from layers import Scores\n")):
            with open(f"{folder}/{name}", "w") as out:
                out.write(text)
        before = set(os.listdir(folder))
        done = subprocess.run([sys.executable, "-B", TOOL, *arguments], cwd=folder, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr, sorted(set(os.listdir(folder)) - before)


def commanded(*arguments, said=""):
    def case():
        status, text, files = command(*arguments, "-o", "m.onnx")
        expect(status == 0 and files == ["m.onnx"] and said in text, f"status {status}, files {files}: {text[-800:]}")
    return case


def command_refused(said, *arguments):
    def case():
        status, text, files = command(*arguments)
        expect(status == 1 and not files and re.search("error: .*" + said, text) and "hint: " in text and "Traceback" not in text,
               f"status {status}, files {files}, not '{said}': {text[-800:]}")
    return case


class Branching(nn.Linear):
    def forward(self, x):
        return super().forward(x) if x.sum() > 0 else x


def row():
    return {"x": torch.randn(2, 4)}


IN = ("--input", "x=2x4", "-o", "m.onnx")
CASES = {
    "nothing-lost/train": nothing_lost(True),
    "nothing-lost/eval": nothing_lost(False),
    "numbers": numbers,
    "frozen": frozen,
    "tied-and-loss": tied_loss,
    "dict": whole_dict,
    "tuple": whole_tuple(None, ["output_0", "output_1"]),
    "tuple/named": whole_tuple(["logits", "more"], ["logits", "more"]),
    "unused": unused,
    "fixed-batch": fixed_batch,
    "constants": constants,
    "refused/batch-of-one": refused("dimension 0 .'batch'. of the example 'x' is 1", Pair, lambda: {"x": torch.randn(1, 4)}),
    "refused/free-axis": refused("has no dimension 2", Pair, row, dynamic={"x": {2: "more"}}),
    "refused/free-axis-from-the-end": refused("has no dimension -1", Pair, row, dynamic={"x": {-1: "more"}}),
    "refused/free-names-of-one": refused("call dimension 1 of 'y' 'a' instead of 'b'\nhint: .*--free y:1=a", Sum, lambda: {"x": torch.randn(2, 4), "y": torch.randn(2, 4)},
                                         dynamic={"x": {1: "a"}, "y": {1: "b"}}),
    "refused/parts": refused("the input 'x' is a list that holds tensors", lambda: Parts(4, 4), lambda: {"x": [torch.randn(2, 4), torch.randn(2, 4)]}, batch=None),
    "refused/free-input": refused("free dimensions of 'y', which is no input", Pair, row, dynamic={"y": {1: "more"}}),
    "refused/input": refused("do not fit forward", Pair, lambda: {"z": torch.randn(2, 4)}),
    "refused/missing-input": refused("do not fit forward: missing", Pair, dict),
    "refused/not-a-tensor": refused("torch cannot export this module: TypeError", Pair, lambda: {"x": [1.0, 2.0]}),
    "refused/no-batch": refused("torch cannot export this module: AssertionError.*\nhint: the first dimension of each input is a free batch", lambda: torch.nn.Conv2d(1, 2, 3), lambda: {"input": torch.randn(4, 28, 28)}),
    "refused/key": refused("no output 'scores'", Tied, lambda: {"ids": ids()}, outputs=["scores"]),
    "refused/too-many-names": refused("no output 'c'", Pair, row, outputs=["a", "b", "c"]),
    "refused/name-twice": refused("two outputs have the name 'a'", Pair, row, outputs=["a", "a"]),
    "refused/name-of-an-input": refused("the output 'x' has the name", Pair, row, outputs=["x", "y"]),
    "refused/branches": refused(r"torch cannot export this module: .*export_checks.py:\d+.\nhint: forward decides by values", lambda: Branching(4, 4), row),
    "command/file": commanded("mine.py:Scores", "--set", "classes=5", "--input", "x=2x4", "--output", "logits", said="2 parameters to train"),
    "command/beside-the-file": commanded("parts/net.py:Scores", "--input", "x=2x4", said="2 parameters to train"),
    "command/in-the-current-folder": commanded("parts.layers:Scores", "--input", "x=2x4", said="2 parameters to train"),
    "command/import-not-found": command_refused("No module named 'layers'\nhint: install 'layers', or set PYTHONPATH", "parts.net:Scores", *IN),
    "command/no-such-package": command_refused("No module named 'none'\nhint: write package.module:NAME", "none.net:Scores", *IN),
    "command/object": commanded("mine.py:ready", "--input", "x=2x4:float32", "--output", "logits"),
    "command/freeze": commanded("mine.py:Scores", "--input", "x=2x4", "--freeze", "bias", said="1 parameters to train"),
    "command/no-colon": command_refused("names no object", "mine.py", *IN),
    "command/no-such-file": command_refused("other.py", "other.py:Scores", *IN),
    "command/no-such-name": command_refused("Other", "mine.py:Other", *IN),
    "command/no-module": command_refused("cannot be called", "mine.py:text", *IN),
    "command/keyword": command_refused("depth", "mine.py:Scores", "--set", "depth=3", *IN),
    "command/set-of-a-module": command_refused("is a module already", "mine.py:ready", "--set", "classes=5", *IN),
    "command/no-torch-module": command_refused("makes no torch module", "mine.py:number", *IN),
    "command/set": command_refused("--set classes", "mine.py:Scores", "--set", "classes", *IN),
    "command/input": command_refused("--input x is not understood", "mine.py:Scores", "--input", "x", "-o", "m.onnx"),
    "command/type": command_refused("torch has no type 'f32'", "mine.py:Scores", "--input", "x=2x4:f32", "-o", "m.onnx"),
    "command/length-0": command_refused(r"these inputs for the reference: RuntimeError: Length of all samples.*mine.py:\d+.\nhint: .*lengths above 0", "mine.py:Packed", "--input", "x=2x3x4",
                                        "--input", "lengths=2:int64:1", "--reference", "r.npz", "--loss", "mse:output:y", "-o", "m.onnx"),
    "command/free": command_refused("--free x=n is not understood", "mine.py:Scores", "--free", "x=n", *IN),
    "command/weights": command_refused("none.pt", "mine.py:Scores", "--weights", "none.pt", *IN),
    "command/freeze-regex": command_refused("--freeze", "mine.py:Scores", "--freeze", "(", *IN),
    "command/freeze-nothing": command_refused("matches no parameter", "mine.py:Scores", "--freeze", "^conv", *IN),
    "command/weights-of-another": command_refused("mine.py", "mine.py:Scores", "--weights", "mine.py", *IN),
    "command/shape": command_refused("torch cannot export", "mine.py:Scores", "--input", "x=2x5", "-o", "m.onnx"),
    "command/folder": command_refused("none/m.onnx", "mine.py:Scores", "--input", "x=2x4", "-o", "none/m.onnx"),
}


if __name__ == "__main__":
    OPTIONS = harness.arguments(__doc__)
    export_support.bin_folder = OPTIONS.bin
    torch.set_num_threads(1)
    # Exporting is not safe in threads.
    harness.main([("export-checks/" + name, case) for name, case in (CASES | state_cases.CASES | reference_cases.CASES | recurrent_cases.CASES | gradient_cases.CASES | evaluation_cases.CASES | loss_cases.CASES).items()], OPTIONS.only, jobs=1)
