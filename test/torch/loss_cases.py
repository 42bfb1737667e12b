# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of export_checks.py on losses that forward computes sample by sample, and what their sums become."""
import numpy as np
import torch
from torch import nn
from torch.nn import functional

import export_support
from export_support import expect, harness, refused, written


class Losses(nn.Module):
    """Returns `combined` of the losses of scores [N, 5] or [N, T, 5], and the scores. `options` are those of cross_entropy, or of nll_loss for `logarithms`."""

    def __init__(self, combined, rows=False, probabilities=False, logarithms=False, **options):
        super().__init__()
        self.fc, self.combined, self.rows, self.probabilities, self.logarithms, self.options = nn.Linear(6, 5), combined, rows, probabilities, logarithms, options
        self.register_buffer("weight", torch.linspace(0.5, 2, 5))

    def forward(self, x, y):
        scores = self.fc(x)
        weight = {"weight": self.weight} if self.options.get("weighted") else {}
        options = {key: value for key, value in self.options.items() if key != "weighted"}
        z, labels = (scores.flatten(0, 1), y.flatten()) if self.rows else (scores, y)
        losses = functional.nll_loss(z.log_softmax(1), labels, reduction="none", **weight, **options) if self.logarithms else functional.cross_entropy(z, labels, reduction="none", **weight, **options)
        return self.combined(losses.view(x.shape[0], -1) if self.rows else losses), scores


def verified(module, time=None):
    """Makes the case of a module whose file trains as it does."""
    def case():
        torch.manual_seed(7)
        made, steps = module(), () if time is None else (time,)
        y = torch.randn(4, 5).softmax(1) if made.probabilities else torch.randint(0, 5, (4, *steps))
        with harness.folder() as folder:
            written(made, {"x": torch.randn(4, *steps, 6), "y": y}, folder, outputs=["loss", "scores"], reference=f"{folder}/reference.npz", loss="output:loss")
            export_support.expect_verified(folder)
    return case


class Pairs(nn.Module):
    """In the loss of contrasts, the other samples of the batch are the classes."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(6, 3)

    def forward(self, x, y):
        z = self.fc(x)
        return functional.cross_entropy(z @ y.t(), torch.arange(x.shape[0])), z


class Masked(nn.Module):
    """A mean over [T, N] elements that a mask leaves, of networks whose time is in front."""

    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(3, 2)

    def forward(self, x, y):
        p, _ = self.rnn(x.transpose(0, 1))
        mask = (y.t() > 0).to(p.dtype)
        return ((p.mean(-1) - y.t()) ** 2 * mask).sum() / mask.sum(), p.transpose(0, 1)


class Distilled(nn.Module):
    """A sum that is divided by the batch."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(6, 3)

    def forward(self, x, y):
        z = self.fc(x)
        return functional.kl_div(z.log_softmax(-1), y.softmax(-1), reduction="batchmean"), z


class LastStep(nn.Module):
    """The loss of the last valid step, which an index of (sample, step) picks."""

    def __init__(self):
        super().__init__()
        self.rnn, self.fc = nn.GRU(3, 2, batch_first=True), nn.Linear(2, 1)

    def forward(self, x, length, y):
        h, _ = self.rnn(x)
        return ((self.fc(h[torch.arange(x.shape[0]), length - 1])[:, 0] - y) ** 2).mean(), h


def data_of(names, count):
    made = {"x": torch.randn(count, 4, 3) if "length" in names or "steps" in names else torch.randn(count, 6), "y": torch.randn(count, 4) if "steps" in names else torch.randn(count, 3),
            "length": torch.randint(1, 5, (count,))}
    if "length" in names:
        made["y"] = torch.randn(count)
    return {name: value for name, value in made.items() if name != "length" or "length" in names}


def evaluates(module, names, divided):
    """Makes the case of a program for batches of four that evaluates six samples: all of them where each has a loss of its own, else the first four."""
    def case():
        torch.manual_seed(9)
        made, data = module(), data_of(names, 6)
        with harness.folder() as folder:
            written(made, {name: value[:4] for name, value in data.items()}, folder, outputs=["loss", "z"])
            np.savez(f"{folder}/data.npz", **{name: value.numpy() for name, value in data.items()})
            harness.must([export_support.bin_folder + "/mpc", "compile", "model.onnx", "-o", "program", "-q", "--batch=4", "--precision=fp32", "--loss=output:loss", "--lr=0"], cwd=folder)
            harness.must(["./program", "train", "--data", "data.npz", "--steps", 1, "--checkpoint-dir", "ck"], cwd=folder)
            status, out, err = harness.run(["./program", "eval", "--data", "data.npz", "--checkpoint", "ck/step-00000001.safetensors"], cwd=folder)
        with torch.no_grad():
            wanted = made(**{name: value[:6 if divided else 4] for name, value in data.items()})[0].item()
        line = next((line for line in out.splitlines() if line.startswith("loss: ")), "loss: nan")
        expect(status == 0 and abs(float(line.split()[1]) - wanted) < 1e-5 * max(abs(wanted), 1), f"eval says '{line}', PyTorch {wanted}; {err}")
        expect(("over 4 of 6 samples" in line) != divided, line)
    return case


class Frames(nn.Module):
    """Scores of five classes for each frame. With `inside`, forward returns their CTC loss, too."""

    def __init__(self, inside=False):
        super().__init__()
        self.rnn, self.fc, self.inside = nn.GRU(4, 6, batch_first=True), nn.Linear(6, 5), inside

    def forward(self, x, rows=None, frames=None, lengths=None):
        scores = self.fc(self.rnn(x)[0])
        return functional.ctc_loss(scores.log_softmax(-1).transpose(0, 1), rows, frames, lengths) if self.inside else scores


def labelled():
    return {"rows": torch.tensor([[1, 2, 3], [4, 1, 2]]), "frames": torch.full((2,), 9), "lengths": torch.tensor([3, 2])}


def short_targets():
    """Targets that are shorter than the frames, whose length the loss of the reference then says."""
    with harness.folder() as folder:
        _, notes = written(Frames(), {"x": torch.randn(2, 9, 4)}, folder, outputs=["scores"], reference=f"{folder}/reference.npz", loss="ctc:scores:rows:frames:lengths", labels=labelled())
        expect("the loss of the reference is --loss ctc:scores:rows:frames:lengths,max_target=3" in notes, notes)
        export_support.expect_verified(folder)


TOTAL = torch.Tensor.sum
CASES = {
    "loss/sum": verified(lambda: Losses(TOTAL)),
    "loss/scaled-sum": verified(lambda: Losses(lambda losses: losses.sum() / losses.shape[0] * 0.25)),
    "loss/mean-of-a-dimension": verified(lambda: Losses(lambda losses: losses.mean(0) * 2)),
    "loss/by-difficulty": verified(lambda: Losses(lambda losses: (losses / losses.sum().detach() * losses).mean())),
    "loss/hardest": verified(lambda: Losses(lambda losses: losses.topk(2).values.mean())),
    "loss/smoothed": verified(lambda: Losses(TOTAL, label_smoothing=0.1)),
    "loss/weighted": verified(lambda: Losses(TOTAL, weighted=True)),
    "loss/ignored": verified(lambda: Losses(TOTAL, ignore_index=0)),
    "loss/probabilities": verified(lambda: Losses(TOTAL, probabilities=True)),
    "loss/logarithms": verified(lambda: Losses(TOTAL, logarithms=True, weighted=True, ignore_index=0)),
    "loss/sequences-of-logarithms": verified(lambda: Losses(lambda losses: losses.sum(1).mean(), rows=True, logarithms=True), time=3),
    "loss/sequences": verified(lambda: Losses(lambda losses: losses.sum(1).mean(), rows=True), time=3),
    "loss/short-targets": short_targets,
    "refused/ctc-inside": refused("_ctc_loss(.|\n)*hint: return the scores of the frames", lambda: Frames(inside=True), lambda: {"x": torch.randn(2, 9, 4), **labelled()}),
    "eval/contrasts": evaluates(Pairs, (), divided=False),
    "eval/batchmean": evaluates(Distilled, (), divided=True),
    "eval/time-in-front": evaluates(Masked, ("steps",), divided=True),
    "eval/last-step": evaluates(LastStep, ("length",), divided=True),
}
