# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of export_checks.py on eval mode: what a reference says of it, and what mpc verify says of a program that computes something else."""
import numpy as np
import torch
from torch import nn
from torch.nn import functional

import export_support
from export_support import expect, harness, written

LOSS = "softmax_cross_entropy:logits:labels"


class Between(nn.Module):
    """Calls `between` with itself and hidden values; `more` are its modules and buffers."""

    def __init__(self, between, **more):
        super().__init__()
        self.a, self.b, self.between = nn.Linear(6, 8), nn.Linear(8, 5), between
        for name, value in more.items():
            self.register_module(name, value) if isinstance(value, nn.Module) else self.register_buffer(name, value)

    def forward(self, x):
        return self.b(self.between(self, self.a(x)))


class Auxiliary(Between):
    """Has a second output in train mode."""

    def forward(self, x):
        h = self.a(x)
        return (self.b(h), h) if self.training else self.b(h)


class LossInside(Between):
    """Returns its loss in train mode, and else the scores."""

    def forward(self, x, y):
        scores = self.b(self.a(x))
        return functional.cross_entropy(scores, y) if self.training else scores


class OnlyTrains(Between):
    def forward(self, x):
        if not self.training:
            raise NotImplementedError("generation")
        return self.b(self.a(x))


def statistics():
    return {"mean": torch.linspace(-1, 1, 8), "variance": torch.linspace(0.5, 2, 8)}


def normalised(self, h):
    return functional.batch_norm(h, self.mean, self.variance, training=self.training)


def normalised_by_batches(self, h):
    return functional.batch_norm(h, self.mean, self.variance, training=True)


def doubled_in_training(self, h):
    return h * 2 if self.training else h


def running_maximum(self, h):
    if self.training:
        with torch.no_grad():
            self.most.mul_(0.9).add_(h.abs().amax(0), alpha=0.1)
    return h / self.most


def evaluated(module, said=(), differs=None, inputs=None, outputs=("logits",), loss=LOSS, absent=False, runs=((), ("--precision=fp16",))):
    """Makes the case of a module whose export says `said` of eval mode, and of which mpc verify finds that the output `differs`, or that all is equal."""
    def case():
        torch.manual_seed(5)
        made = module()
        with harness.folder() as folder:
            _, notes = written(made, {"x": torch.randn(4, 6), **(inputs or {})}, folder, outputs=list(outputs), reference=f"{folder}/ref.npz", loss=loss)
            for text in said:
                expect(any(text in note for note in notes), f"no note '{text}': {notes}")
            arrays = np.load(f"{folder}/ref.npz")
            expect((f"eval/{outputs[0]}" not in arrays) == absent, f"arrays {list(arrays)}")
            for options in runs:
                status, out, err = harness.run([export_support.bin_folder + "/mpc", "verify", "model.onnx", "--reference", "ref.npz", *options], cwd=folder)
                expect(status == (1 if differs else 0), f"{options}: {out}{err}")
                expect(("\neval " in out) != absent, out)
                if differs:
                    expect(f"the output '{differs}' in eval mode differs from PyTorch's" in err and "hint: training agrees, and forward computes something else in eval mode" in err, err)
    return case


CASES = {
    "eval/batch-norm": evaluated(lambda: Between(normalised, **statistics())),
    "eval/batch-norm-without-statistics": evaluated(lambda: Between(lambda self, h: self.norm(h), norm=nn.BatchNorm1d(8, track_running_stats=False))),
    "eval/dropout": evaluated(lambda: Between(lambda self, h: self.drop(h), drop=nn.Dropout(0.5))),
    "eval/spectral-norm": evaluated(lambda: Between(lambda self, h: self.fc(h), fc=nn.utils.parametrizations.spectral_norm(nn.Linear(8, 8)))),
    "eval/own-statistics": evaluated(lambda: Between(running_maximum, most=torch.ones(8))),
    "eval/fewer-outputs": evaluated(lambda: Auxiliary(None), ["in eval mode forward returns no hidden as in train mode"], outputs=("logits", "hidden")),
    "eval/branch": evaluated(lambda: Between(doubled_in_training), differs="logits"),
    "eval/always-statistics-of-batches": evaluated(lambda: Between(normalised_by_batches, **statistics()), differs="logits"),
    "eval/always-dropout": evaluated(lambda: Between(lambda self, h: functional.dropout(h, 0.3)), ["forward drops elements in eval mode, too"]),
    "eval/loss-in-training": evaluated(lambda: LossInside(None), ["in eval mode forward returns no loss as in train mode"], inputs={"y": torch.tensor([0, 1, 4, 2])}, outputs=("loss",),
                                       loss="output:loss", absent=True),
    "eval/infinite": evaluated(lambda: Between(lambda self, h: h if self.training else h / 0), ["eval mode is not compared for logits"], absent=True),
    "eval/error": evaluated(lambda: OnlyTrains(None), ["cannot run forward in it with these inputs: NotImplementedError: generation"], absent=True),
}
