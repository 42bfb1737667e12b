# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of export_checks.py: dropouts in the file, and the numbers of --reference."""
import json
import os
import stat
import subprocess
import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from export_support import TOOL, expect, harness, refused, written
from mpc_torch import draws, dropouts, losses
from mpc_torch.errors import ExportError
from state_cases import Updating


class Scores(nn.Module):
    """Scores of three classes for each of two images, tokens or pixels, of inputs [N, ..., 4]. `last` is called on them, and `move` puts the classes at dimension 1."""

    def __init__(self, last=None, move=False):
        super().__init__()
        self.fc, self.head, self.last, self.move = nn.Linear(4, 4), nn.Linear(4, 3), last, move

    def forward(self, x):
        y = self.head(self.fc(x).tanh())
        y = y.movedim(-1, 1) if self.move else y
        return self.last(y) if self.last else y


def stored(module, inputs, **options):
    """Exports with a reference, and returns its arrays, the meta data and the notes."""
    with harness.folder() as folder:
        _, notes = written(module, inputs, folder, reference=f"{folder}/ref.npz", **options)
        arrays = dict(np.load(f"{folder}/ref.npz"))
    return arrays, json.loads(bytes(arrays.pop("meta"))), notes


def expect_step(arrays, module, loss, prefix="", tolerance=1e-12):
    """Compares with a loss of the module, which is in the precision that the prefix stands for."""
    loss.backward()
    expect(abs(float(arrays[prefix + "loss"]) - loss.item()) <= tolerance * abs(loss.item()), f"{prefix}loss is {arrays[prefix + 'loss']}, PyTorch's {loss.item()}")
    for name, parameter in module.named_parameters():
        found, wanted = torch.from_numpy(arrays[f"{prefix}grad/{name}"]), torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        expect(found.dtype == torch.float64 and (found - wanted).norm() <= tolerance * wanted.norm() + 1e-15, f"{prefix}grad/{name} is {found}, PyTorch's {wanted}")
    module.zero_grad()


LABELS2, LABELS3 = torch.tensor([2, 0]), torch.tensor([[0, 2, 1, 1, -100], [2, 2, 0, -100, 1]])
REAL = torch.linspace(0, 1, 6).reshape(2, 3)
SHARES, SHARES3 = torch.linspace(-1, 2, 6).reshape(2, 3).softmax(1), torch.linspace(-3, 3, 30).sin().reshape(2, 3, 5).softmax(1)
TOKENS, PIXELS = (2, 5, 4), (2, 3, 2, 4)
WEIGHT = [0.5, 1.0, 2.0]
# loss, module, shape of x, labels, the loss in torch of the module's scores y
LOSSES = {
    "cross-entropy": ("softmax_cross_entropy:logits:labels", Scores, (2, 4), LABELS2, lambda y, t: functional.cross_entropy(y, t)),
    "cross-entropy/options": ("softmax_cross_entropy:logits:labels,label_smoothing=0.1,weight=0.5/1/2,ignore_index=0,reduction=sum", Scores, (2, 4), LABELS2,
                              lambda y, t: functional.cross_entropy(y, t, weight=y.new_tensor(WEIGHT), ignore_index=0, reduction="sum", label_smoothing=0.1)),
    "cross-entropy/tokens": ("softmax_cross_entropy:logits:labels", Scores, TOKENS, LABELS3, lambda y, t: functional.cross_entropy(y.flatten(0, 1), t.flatten())),
    "cross-entropy/axis": ("softmax_cross_entropy:logits:labels,axis=1", lambda: Scores(move=True), TOKENS, LABELS3, lambda y, t: functional.cross_entropy(y, t)),
    "cross-entropy/pixels": ("softmax_cross_entropy:logits:labels", lambda: Scores(move=True), PIXELS, torch.ones(2, 3, 2, dtype=torch.int64), lambda y, t: functional.cross_entropy(y, t)),
    "cross-entropy/softmax": ("softmax_cross_entropy:logits:labels", lambda: Scores(nn.Softmax(-1)), (2, 4), LABELS2, lambda y, t: functional.nll_loss(y.log(), t)),
    "cross-entropy/log-softmax": ("softmax_cross_entropy:logits:labels", lambda: Scores(nn.LogSoftmax(-1)), (2, 4), LABELS2, lambda y, t: functional.nll_loss(y, t)),
    "cross-entropy/other-softmax": ("softmax_cross_entropy:logits:labels", lambda: Scores(nn.Softmax(0)), (2, 4), LABELS2, functional.cross_entropy),
    "cross-entropy/flattened-softmax": ("softmax_cross_entropy:logits:labels", lambda: Scores(nn.Sequential(nn.Unflatten(1, (3, 1)), nn.Softmax(1), nn.Flatten())), (2, 4), LABELS2, functional.cross_entropy),
    "cross-entropy/probabilities": ("softmax_cross_entropy:logits:labels,probabilities", Scores, (2, 4), SHARES, functional.cross_entropy),
    "cross-entropy/probabilities-options": ("softmax_cross_entropy:logits:labels,probabilities,axis=1,label_smoothing=0.1,weight=0.5/1/2", lambda: Scores(move=True), TOKENS, SHARES3,
                                            lambda y, t: functional.cross_entropy(y, t, weight=y.new_tensor(WEIGHT), label_smoothing=0.1)),
    "nll": ("nll:logits:labels,weight=0.5/1/2", lambda: Scores(nn.LogSoftmax(-1)), (2, 4), LABELS2, lambda y, t: functional.nll_loss(y, t, weight=y.new_tensor(WEIGHT))),
    "mse": ("mse:logits:labels,reduction=sum", Scores, (2, 4), REAL, lambda y, t: functional.mse_loss(y, t, reduction="sum")),
    "l1": ("l1:logits:labels", Scores, (2, 4), REAL, functional.l1_loss),
    "smooth-l1": ("smooth_l1:logits:labels", Scores, (2, 4), 3 * REAL, functional.smooth_l1_loss),
    "bce": ("bce_with_logits:logits:labels", Scores, (2, 4), REAL, functional.binary_cross_entropy_with_logits),
    "bce/sigmoid": ("bce_with_logits:logits:labels", lambda: Scores(nn.Sigmoid()), (2, 4), REAL, functional.binary_cross_entropy),
}


def loss_of(text, make, shape, labels, wanted):
    """Makes the case that the reference has PyTorch's loss and gradients in float64 and in float32."""
    def case():
        torch.manual_seed(11)
        module, x = make().train(), torch.randn(shape)
        arrays, meta, _ = stored(module, {"x": x}, outputs=["logits"], loss=text, labels={"labels": labels})
        expect(meta["loss"].partition(",weight")[0] == text.partition(",weight")[0] and meta["dims"] == {"batch": 2} and meta["format"] == 1, f"meta {meta}")
        expect(np.array_equal(arrays["input/x"], x.numpy()) and np.array_equal(arrays["input/labels"], labels.numpy()), "inputs have other values")
        expect_step(arrays, module, wanted(module(x), labels), "own/", 1e-5)
        module.double()
        expect_step(arrays, module, wanted(module(x.double()), labels if labels.dtype == torch.int64 else labels.double()))
        # A softmax over the samples takes the same from all of them, so the bias in front of it has no gradient and no relative error.
        measured = ["loss", *(name for name in ("fc.weight", "head.bias") if np.linalg.norm(arrays["grad/" + name]) > 1e-9)]
        for kind, limit in (("bfloat16", 0.1), ("float16", 0.02)):
            expect(all(float(arrays[f"error/{kind}/{name}"]) < limit for name in measured), f"errors of {kind} are large")
        expect("value/logits" in arrays and arrays["value/logits"].shape == (3,), f"values {[key for key in arrays if key.startswith('value/')]}")
    return case


class Dropouts(nn.Module):
    """Has each kind of dropout: a module, attention, between layers of an RNN, alpha dropout, and stochastic depth that it writes itself. `on`: 1, or 0 without any."""

    def __init__(self, on=1):
        super().__init__()
        self.on, self.fc, self.drop, self.rnn, self.head = on, nn.Linear(8, 8), nn.Dropout(0.3 * on), nn.LSTM(8, 8, 2, dropout=0.2 * on, batch_first=True), nn.Linear(8, 3)
        self.attention = nn.MultiheadAttention(8, 2, dropout=0.15 * on, batch_first=True)

    def forward(self, x):
        heads = self.fc(x).unflatten(-1, (2, 4)).transpose(1, 2)
        y = functional.scaled_dot_product_attention(heads, heads, heads, dropout_p=0.1 * self.on).transpose(1, 2).flatten(2)
        y = self.rnn(self.drop(y))[0]
        y = functional.alpha_dropout(self.attention(y, y, y, need_weights=False)[0], 0.05 * self.on, True)
        keep = torch.empty(len(x), 1, 1).bernoulli_(1 - 0.2 * self.on)
        return self.head(y + self.fc(y) * keep.div(1 - 0.2 * self.on)).mean(1)


def dropouts_in_the_file():
    """Attention's dropout trains too, and a note counts all."""
    with harness.folder() as folder:
        graph, notes = written(Dropouts().train(), {"x": torch.randn(2, 3, 8)}, folder, batch=None)
        expect(any("dropout: 5 of forward's 5 are in the file, of 0.1, 0.3, 0.2, 0.15, 0.05" in note for note in notes), f"notes: {notes}")
        nodes = [node for node in graph.node if node.op_type == "Dropout"]
        expect(len(nodes) == 4 and all(len(node.input) == 3 and node.input[2] for node in nodes), f"{[list(node.input) for node in nodes]}")


class Lost:
    """A model without nodes."""
    class graph:
        node, initializer = [], []
    functions = []


def lost_dropout():
    program = torch.export.export(Dropouts().train(), (torch.randn(2, 3, 8),))
    notes = dropouts.notes(program, Lost)
    expect("0 of forward's 5" in notes[0] and len(notes) == 6 and "scaled_dot_product_attention of 0.1" in notes[1] and "reference_cases.py:" in notes[1], f"notes: {notes}")


def without_dropout():
    """The reference is the step without dropout, and says so."""
    torch.manual_seed(12)
    module, x, labels = Dropouts().train(), torch.randn(2, 3, 8), torch.tensor([1, 2])
    arrays, meta, _ = stored(module, {"x": x}, outputs=["logits"], loss="softmax_cross_entropy:logits:labels", labels={"labels": labels}, batch=None)
    expect(meta["dropout"] == "off" and meta["dims"] == {}, f"meta {meta}")
    plain = Dropouts(0).train().double()
    plain.load_state_dict(module.state_dict())
    expect_step(arrays, plain, functional.cross_entropy(plain(x.double()), labels))


def updated_state():
    """Where forward updates buffers, the reference has their values after the step and the loss of a second forward."""
    torch.manual_seed(13)
    module, x = Updating().train(), torch.randn(2, 4)
    arrays, _, _ = stored(module, {"x": x}, loss="output:loss", batch=None)
    module.double()
    expect_step(arrays, module, module(x.double())["loss"])
    for name in ("ema", "seen", "count", "last", "norm.running_mean", "norm.running_var"):
        expect(np.allclose(arrays[f"buffer/{name}"], dict(module.named_buffers())[name].numpy(), rtol=1e-12), f"buffer/{name} is {arrays[f'buffer/{name}']}")
    expect("buffer/norm.num_batches_tracked" not in arrays, "there is a count of batches")
    expect(abs(float(arrays["loss/2"]) - module(x.double())["loss"].item()) < 1e-12, f"loss/2 is {arrays['loss/2']}")


def drawn_labels():
    """Without labels the tool draws them below the number of classes; without a loss it takes what mpc would."""
    module = Scores().train()
    arrays, meta, notes = stored(module, {"x": torch.randn(TOKENS)}, outputs=["logits"])
    labels = arrays["input/labels"]
    expect(meta["loss"] == "softmax_cross_entropy:logits:labels" and labels.shape == (2, 5) and labels.dtype == np.int64 and labels.max() < 3, f"{meta}, labels {labels}")
    expect(any("as mpc would choose" in note for note in notes) and any("drawn at random" in note for note in notes), f"notes: {notes}")
    again, _, _ = stored(module, {"x": torch.randn(TOKENS)}, outputs=["logits"])
    expect(np.array_equal(labels, again["input/labels"]), "other labels are drawn each time")


def ctc(text, activation=None, given=(), counts=(4, 7), **options):
    """Makes the case that the reference has PyTorch's CTC loss of two samples and three classes; `given` are names of labels that are not drawn, `counts` their frames."""
    def case():
        torch.manual_seed(16)
        module, x = Scores(activation).train(), torch.randn(2, 7, 4)
        known = {"rows": torch.tensor([[1, 2, -5], [2, 2, 1]]), "frames": torch.tensor(counts), "length": torch.tensor([2, 3])}
        arrays, meta, notes = stored(module, {"x": x}, outputs=["logits"], loss=text, labels={name: known[name] for name in given}, batch=None)
        expect(meta["loss"] == text and sum("drawn at random" in note for note in notes) == text.count(":") - 1 - len(given) - ("::" in text), f"{meta}, {notes}")
        rows, lengths = torch.tensor(arrays["input/rows"]), torch.tensor(arrays["input/length"])
        frames = torch.tensor(arrays["input/frames"]) if "input/frames" in arrays else torch.tensor([7, 7])
        expect(all(np.array_equal(arrays[f"input/{name}"], known[name].numpy()) for name in given), "labels have other values")
        module.double()
        y = functional.log_softmax(module(x.double()), 2).transpose(0, 1)
        loss = functional.ctc_loss(y, rows.where(rows >= 0, 1), frames, lengths, **options)
        expect(loss.isfinite(), f"targets of {lengths} labels are drawn for {frames} frames")
        expect_step(arrays, module, loss)
    return case


class Narrow(nn.Module):
    """Casts to float32, makes constants and buffers of it, as networks of transformers do, and has a frozen and an unused parameter."""

    def __init__(self):
        super().__init__()
        self.fc, self.frozen, self.spare = nn.Linear(4, 4), nn.Linear(4, 4), nn.Parameter(torch.ones(2))
        self.frozen.requires_grad_(False)
        self.register_buffer("scale", torch.full((4,), 1.1))
        self.turn = torch.eye(4).roll(1, 0)

    def forward(self, x):
        y = self.frozen(self.fc(x)).to(torch.float32) @ self.turn
        y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6) * self.scale + torch.ones(4, dtype=torch.float32) / 3
        return {"loss": y.float().exp().mean()}


def float64_inside():
    """Casts to the module's own precision are casts to float64, so that the reference is exact."""
    torch.manual_seed(14)
    module, x = Narrow().train(), torch.randn(3, 4)
    arrays, meta, _ = stored(module, {"x": x}, loss="output:loss")
    expect({key for key in arrays if key.startswith("grad/")} == {"grad/fc.weight", "grad/fc.bias"} and meta["precision"] == "float32", f"{sorted(arrays)}")
    y = nn.Linear(4, 4).double()
    y.load_state_dict(module.fc.state_dict())
    z = module.frozen.double()(y(x.double())).roll(-1, 1)
    z = z * torch.rsqrt(z.pow(2).mean(-1, keepdim=True) + 1e-6) * module.scale.double() + torch.ones(4, dtype=torch.float64) / 3
    loss = z.exp().mean()
    expect(abs(float(arrays["loss"]) / loss.item() - 1) < 1e-14, f"the loss is {arrays['loss']}, in float64 {loss.item()}")


def computed_weight():
    """A weight that a hook computes before each forward is no leaf, and does not keep the module from being copied."""
    torch.manual_seed(15)
    module, x = nn.utils.weight_norm(nn.Linear(4, 3)).train(), torch.randn(2, 4)
    arrays, _, _ = stored(module, {"input": x}, outputs=["logits"], loss="mse:logits:target", labels={"target": REAL})
    expect({key for key in arrays if key.startswith("grad/")} == {"grad/bias", "grad/weight_g", "grad/weight_v"}, f"{sorted(arrays)}")
    expect_step(arrays, module, functional.mse_loss(module(x), REAL), "own/", 1e-5)


def half_precision():
    """A module in bfloat16 has inputs in float32, and no errors of autocast."""
    module = Scores().train().bfloat16()
    arrays, meta, _ = stored(module, {"x": torch.randn(2, 4).bfloat16()}, outputs=["logits"])
    expect(meta["precision"] == "bfloat16" and arrays["input/x"].dtype == np.float32 and arrays["grad/fc.weight"].dtype == np.float64, f"{meta}")
    expect(not any(key.startswith("error/") for key in arrays), "there are errors of autocast")


class Noisy(Scores):
    def forward(self, x):
        return super().forward(x + torch.randn_like(x))


class Hidden(nn.Module):
    """Draws numbers in a way that no function of torch shows."""

    def forward(self, x):
        return torch.ops.aten.uniform(x) if self.training else x


def hidden_noise():
    try:
        draws.run(Hidden(), {"x": torch.ones(3)})
    except ExportError as error:
        expect("draws random numbers" in str(error) and "hint: " in str(error), str(error))
    else:
        raise harness.Failure("not refused")


class Shares(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3)

    def forward(self, x):
        return {"d_loss": self.fc(x).mean(), "g_loss": self.fc(x).square().mean()}


def refuses(said, module, **options):
    return refused(said, module, lambda: {"x": torch.randn(2, 4)}, reference="never.npz", **options)


def parsed():
    """Names may hold colons; each option is read."""
    loss = losses.parse("nll:a:0:y,axis=-1,ignore_index=7,weight=1/2.5", ["a:0", "b"])
    expect((loss.prediction, loss.target, loss.axis, loss.ignore_index, loss.weight) == ("a:0", "y", -1, 7, [1.0, 2.5]), f"{vars(loss)}")
    expect(loss.text == "nll:a:0:y,axis=-1,ignore_index=7,weight=1.0/2.5", loss.text)


COMMAND = """
import torch
class Scores(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(4, 3)
    def forward(self, x):
        return self.fc(x)
"""


def command(arguments, said, status=0, mpc=None):
    """Makes the case of a command. `mpc`: exit status of an mpc on the PATH that prints its arguments."""
    def case():
        with harness.folder() as folder:
            with open(f"{folder}/mine.py", "w") as out:
                out.write(COMMAND)
            path = os.path.join(folder, "bin")
            os.mkdir(path)
            if mpc is not None:
                with open(f"{path}/mpc", "w") as out:
                    out.write(f'#!/bin/sh\necho "mpc: $*"\nexit {mpc}\n')
                os.chmod(f"{path}/mpc", stat.S_IRWXU)
            done = subprocess.run([sys.executable, "-B", TOOL, "mine.py:Scores", "--input", "x=2x4", "--output", "logits", "-o", "m.onnx", *arguments], cwd=folder, capture_output=True,
                                  text=True, env={**os.environ, "PATH": f"{path}:/usr/bin:/bin"})
            text = done.stdout + done.stderr
            expect(done.returncode == status and all(part in text for part in said) and "Traceback" not in text, f"status {done.returncode}: {text[-800:]}")
            expect(os.path.exists(f"{folder}/m.onnx") == os.path.exists(f"{folder}/r.npz"), "one file is there without the other")
    return case


REFERENCE = ["--reference", "r.npz", "--loss", "softmax_cross_entropy:logits:labels"]
LOSS = "softmax_cross_entropy:output:labels"
CASES = {
    "dropout": dropouts_in_the_file,
    "dropout/lost": lost_dropout,
    "reference/without-dropout": without_dropout,
    "reference/state": updated_state,
    "reference/drawn-labels": drawn_labels,
    "reference/float64": float64_inside,
    "reference/computed-weight": computed_weight,
    "reference/bfloat16": half_precision,
    "reference/parsed": parsed,
    "reference/ctc": ctc("ctc:logits:rows:frames:length,max_target=3", given=("rows", "frames", "length")),
    "reference/ctc/drawn": ctc("ctc:logits:rows:frames:length,max_target=3,blank=2,zero_infinity", blank=2, zero_infinity=True),
    "reference/ctc/few-frames": ctc("ctc:logits:rows:frames:length,max_target=3", given=("frames",), counts=(1, 2)),
    "reference/ctc/all-frames": ctc("ctc:logits:rows::length,reduction=sum", nn.LogSoftmax(-1), reduction="sum"),
    **{f"reference/{name}": loss_of(*row) for name, row in LOSSES.items()},
    "refused/noise": refuses(r"draws random numbers with randn_like \(.*reference_cases.py:\d+\)", Noisy),
    "refused/hidden-noise": hidden_noise,
    "refused/which-loss": refuses("do not say which loss", Shares),
    "refused/no-form": refuses("there is no loss 'hinge'", Scores, loss="hinge:output:labels"),
    "refused/no-output": refuses("there is no output 'scores'", Scores, loss="mse:scores:labels"),
    "refused/no-target": refuses("names no target", Scores, loss="mse:output"),
    "refused/no-option": refuses("no option 'axis'", Scores, loss="mse:output:labels,axis=1"),
    "refused/option": refuses("label_smoothing='2' is not a number from 0 to 1", Scores, loss=LOSS + ",label_smoothing=2"),
    "refused/no-weights": refuses("weight='none.npy' is not numbers", Scores, loss=LOSS + ",weight=none.npy"),
    "refused/weights": refuses("weight has 2 numbers, but there are 3 classes", Scores, loss=LOSS + ",weight=1/2"),
    "refused/ctc-inputs": refuses("does not find its three inputs in 'rows:length'", Scores, loss="ctc:output:rows:length"),
    "refused/ctc-scores": refuses(r"are \[T, N, C\] or \[N, T, C\] for 2 samples, but 'output' is \[2, 3\]", Scores, loss="ctc:output:rows:frames:length"),
    "refused/ctc-frames": refused("sample 1 has 2 labels, which need 3 frames, and has 2", Scores, lambda: {"x": torch.randn(2, 7, 4)}, reference="never.npz",
                                  loss="ctc:output:rows:frames:length", labels={"rows": torch.tensor([[1, 2], [1, 1]]), "frames": torch.tensor([2, 2]), "length": torch.tensor([2, 2])}),
    "refused/ctc-option": refuses("zero_infinity='no' is not true or false", Scores, loss="ctc:output:rows:frames:length,zero_infinity=no"),
    "refused/labels-shape": refuses(r"'labels' is int64 \[2, 3\], and should be integers \[2\]", Scores, loss=LOSS, labels={"labels": torch.zeros(2, 3, dtype=torch.int64)}),
    "refused/labels-range": refuses("has the label 3, and 'output' has 3 classes", Scores, loss=LOSS, labels={"labels": torch.tensor([3, 0])}),
    "refused/labels-name": refuses("labels are given for 'classes'", Scores, loss=LOSS, labels={"classes": LABELS2}),
    "refused/loss-of-many": refuses("a loss is one number", Scores, loss="output:output"),
    "command/reference": command(REFERENCE, ["next: mpc verify m.onnx --reference r.npz"]),
    "command/label": command([*REFERENCE, "--label", "labels=2:int64:3"], ["next: mpc verify"]),
    "command/verify": command(REFERENCE, ["mpc: verify m.onnx --reference r.npz"], mpc=0),
    "command/differs": command(REFERENCE, ["mpc: verify m.onnx --reference r.npz"], status=1, mpc=1),
    "command/no-verify": command([*REFERENCE, "--no-verify"], ["next: mpc verify"], mpc=1),
    "command/loss-alone": command(["--loss", "mse:logits:y"], ["--reference is missing", "hint: "], status=1),
}
