# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of export_checks.py: recurrent modules that torch's exporter loses or cannot write."""
import torch
from torch import nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pack_sequence, pad_packed_sequence

import export_support
from export_support import check, expect, expect_parameters, expect_verified, harness, refused, written

LENGTHS = {"lengths": torch.tensor([5, 2, 4])}


def sequences():
    return {"x": torch.randn(3, 5, 4)} | LENGTHS


class Projected(nn.Module):
    """LSTMs with proj_size: two directions and layers, an initial state, time in front, no biases, and a sequence without a batch."""

    def __init__(self):
        super().__init__()
        self.both = nn.LSTM(4, 5, num_layers=2, proj_size=3, bidirectional=True, batch_first=True)
        self.plain = nn.LSTM(4, 5, proj_size=2, bias=False)
        self.h = nn.Parameter(torch.randn(4, 1, 3))

    def forward(self, x, lengths):
        batch = x.shape[0]
        y, (h, c) = self.both(x, (self.h.expand(4, batch, 3).contiguous(), torch.ones(4, batch, 5)))
        z, _ = self.plain(x.transpose(0, 1))
        alone, _ = self.plain(x.mean(0))
        return {"loss": (y * y).mean() + (h[1] * 2 + h[2]).mean() + (c * c).mean() + z.sum(2).square().mean() + alone.mean()}


class Unrolled(nn.Module):
    """nn.RNN, which torch's exporter writes once for each time step."""

    def __init__(self):
        super().__init__()
        self.tanh = nn.RNN(4, 5, num_layers=2, bidirectional=True, batch_first=True)
        self.relu = nn.RNN(4, 3, nonlinearity="relu", bias=False)

    def forward(self, x, lengths):
        y, h = self.tanh(x)
        z, last = self.relu(x.transpose(0, 1), torch.ones(1, x.shape[0], 3))
        return {"loss": (y * y).mean() + h[3].mean() + z.square().mean() + last.sum(2).mean()}


class Packed(nn.Module):
    """Packed sequences through all kinds of modules, one behind the other, with their states, and with other paddings."""

    def __init__(self):
        super().__init__()
        self.lstm, self.gru = nn.LSTM(4, 6, num_layers=2, bidirectional=True, batch_first=True), nn.GRU(12, 5, bias=False)
        self.rnn, self.projected = nn.RNN(5, 4, bidirectional=True), nn.LSTM(8, 5, proj_size=2)

    def forward(self, x, lengths):
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        y, (h, c) = self.lstm(packed)
        z, last = self.gru(y, torch.ones(1, x.shape[0], 5))
        z, _ = self.rnn(z)
        z, (p, q) = self.projected(z)
        padded, out = pad_packed_sequence(z, batch_first=True, total_length=7)
        filled, _ = pad_packed_sequence(y, padding_value=0.5, total_length=5)
        back, _ = pad_packed_sequence(packed, padding_value=-1.0)
        loss = (h * h).mean() + (c[1] + c[2]).square().mean() + last.square().mean() + (p * p).mean() + q.mean()
        return {"loss": loss + (padded * padded).sum() / out.sum() + filled.square().mean() + (self.gru.weight_ih_l0[0, 0] * back).mean()}


class Stopped(nn.Module):
    """Recurrent modules without gradients, beside one that is trained."""

    def __init__(self):
        super().__init__()
        self.teacher, self.other, self.student = nn.RNN(4, 4, batch_first=True), nn.LSTM(4, 6, proj_size=4, batch_first=True), nn.GRU(4, 4, batch_first=True)
        self.inside = nn.Linear(4, 4)

    def forward(self, x, lengths):
        x = self.inside(x)
        with torch.no_grad():
            target = self.teacher(x)[0] + self.other(x)[0]
        y, _ = pad_packed_sequence(self.student(pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False))[0], batch_first=True)
        return {"loss": (y - target).square().mean()}


class Carried(nn.Module):
    """Takes its states and returns the next ones, as a language model does whose states go on from batch to batch."""

    def __init__(self):
        super().__init__()
        self.lstm, self.head = nn.LSTM(4, 5, num_layers=2, batch_first=True), nn.Linear(5, 3)

    def forward(self, x, h0, c0):
        y, (h, c) = self.lstm(x, (h0, c0))
        return self.head(y), h, c


def states():
    return {"x": torch.randn(3, 5, 4), "h0": torch.zeros(2, 3, 5), "c0": torch.zeros(2, 3, 5)}


def carried():
    """States whose batch is their second dimension; mpc carries them."""
    with harness.folder() as folder:
        written(Carried(), states(), folder, outputs=["logits", "hn", "cn"], batch=None, dynamic={"x": {0: "batch"}, "h0": {1: "batch"}, "c0": {1: "batch"}})
        data = check(folder, "--loss=softmax_cross_entropy:logits:labels,axis=-1", "--batch=6")["data"]
        expect(any("h0" in line for line in data), f"the data are {data}")
        harness.must([export_support.bin_folder + "/mpc", "compile", "model.onnx", "-q", "-o", "m", "--loss=softmax_cross_entropy:logits:labels,axis=-1", "--batch=6", "--carry=hn:h0",
                      "--carry=cn:c0"], cwd=folder)


class Reads(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.head = nn.GRU(4, 4, batch_first=True), nn.Linear(4, 2)

    def forward(self, x, lengths):
        packed, _ = self.rnn(pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False))
        return self.head(packed.data).mean()


class Remade(Reads):
    def forward(self, x, lengths):
        packed, _ = self.rnn(pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False))
        values, *rest = packed
        return pad_packed_sequence(PackedSequence(self.head(values), *rest), batch_first=True)[0]


def agrees(module, said=()):
    """The file has all parameters, and mpc verify finds the loss and all gradients of PyTorch in it."""
    def case():
        torch.manual_seed(3)
        made = module()
        with harness.folder() as folder:
            inputs = sequences()
            graph, notes = written(made, inputs, folder, outputs=["loss"], reference=f"{folder}/reference.npz", loss="output:loss")
            expect_parameters(graph, made)
            expect_verified(folder)
            expect(all(any(text in note for note in notes) for text in said), f"the notes are {notes}")
            expect(sum(node.op_type == "Scan" for node in graph.node) > 0, "there is no Scan")
    return case


def dropped():
    """The dropout between layers is in the file, and mpc draws it."""
    with harness.folder() as folder:
        _, notes = written(nn.RNN(4, 5, num_layers=3, dropout=0.25, batch_first=True), {"input": torch.randn(3, 5, 4)}, folder, outputs=["y"])
        expect("dropout: 2 of forward's 2 are in the file, of 0.25" in notes, f"the notes are {notes}")
        check(folder, "--loss=softmax_cross_entropy:y:labels,axis=-1", "--batch=3")


class Free(Reads):
    def forward(self, x, lengths):
        packed, _ = self.rnn(pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False))
        y, _ = pad_packed_sequence(packed, batch_first=True, total_length=x.shape[1])
        return {"loss": self.head(y).square().mean()}


def free_time():
    """The number of time steps may be free, and lengths are bounded by it."""
    with harness.folder() as folder:
        written(Free(), sequences(), folder, outputs=["loss"], dynamic={"x": {1: "steps"}})
        said = check(folder, "--loss=output:loss", "--batch=3", "--dim=steps=6")
        expect("lengths 0 to 6" in str(said), f"the lengths have no bound of 6: {said}")


class Both(nn.Module):
    """Runs one module over two inputs."""

    def __init__(self):
        super().__init__()
        self.rnn = nn.RNN(4, 5, batch_first=True)

    def forward(self, x, y):
        return self.rnn(x)[0].mean(1) + self.rnn(y)[0].mean(1)


def expect_steps(module, inputs, dynamic):
    """Checks that the second dimensions have the names that were asked for, or the sizes of the examples."""
    with harness.folder() as folder:
        graph, notes = written(module, {name: torch.randn(3, 5, 4) for name in inputs}, folder, outputs=["z"], dynamic=dynamic)
        for value in graph.input:
            found, wanted = value.type.tensor_type.shape.dim[1], (dynamic or {}).get(value.name, {}).get(1, 5)
            expect((found.dim_param or found.dim_value) == wanted, f"the steps of {value.name} are {found}, not {wanted}, where {dynamic} was asked: {notes}")


def free_behind_fixed():
    """A number of time steps stays free behind the same number that is fixed: in an earlier export of the process, and of nn.RNN in the same export."""
    for kind in (nn.RNN, nn.LSTM, nn.GRU):
        for dynamic in (None, {"input": {1: "steps"}}, {"input": {1: "others"}}):
            expect_steps(kind(4, 5, batch_first=True), ["input"], dynamic)
    for dynamic in (None, {"y": {1: "steps"}}, {"x": {1: "others"}}, {"x": {1: "others"}, "y": {1: "steps"}}):
        expect_steps(Both(), "xy", dynamic)


def restored():
    """torch's own functions and modules are what they were, also after an error."""
    x = torch.randn(2, 3, 4)
    packed = pack_padded_sequence(x, torch.tensor([3, 2]), batch_first=True)
    expect(type(packed) is PackedSequence and packed.data.shape == (5, 4), f"{type(packed)} of {packed.data.shape}")
    expect(torch.equal(pad_packed_sequence(packed, batch_first=True)[0][0], x[0]), "another padding")
    expect(pack_sequence([x[0], x[1]]).data.shape == (6, 4), "another pack_sequence")


class Chooses(nn.Module):
    """A recurrent network in front of a cond, which torch captures by reading forward."""

    def __init__(self):
        super().__init__()
        self.rnn, self.one, self.other = nn.GRU(3, 6, batch_first=True), nn.Linear(6, 2), nn.Linear(6, 2)

    def forward(self, x):
        h = self.rnn(x)[0][:, -1]
        return torch.cond(x.sum() > 0, lambda h: self.one(h), lambda h: self.other(h), (h,))


def named_behind_cond():
    for outputs, name in ((["p"], "p"), (None, "output")):
        with harness.folder() as folder:
            graph, _ = written(Chooses(), {"x": torch.randn(4, 5, 3)}, folder, outputs=outputs, reference=f"{folder}/reference.npz", loss=f"mse:{name}:y")
            expect([output.name for output in graph.output] == [name], [output.name for output in graph.output])
            export_support.expect_verified(folder)


CASES = {
    "recurrent/named-behind-cond": named_behind_cond,
    "recurrent/projected": agrees(Projected),
    "recurrent/unrolled": agrees(Unrolled),
    "recurrent/packed": agrees(Packed, ["pad_packed_sequence"]),
    "recurrent/stopped": agrees(Stopped),
    "recurrent/dropout": dropped,
    "recurrent/free-time": free_time,
    "recurrent/free-behind-fixed": free_behind_fixed,
    "recurrent/carried": carried,
    "recurrent/batch-of-states": refused("'batch' is 3 as dimension 0 of 'x', and 2 as dimension 0 of 'h0'\nhint: .*--free x:0=batch --free h0:1=batch", Carried, states),
    "recurrent/data": refused("forward reads data of a PackedSequence .*recurrent_cases.py:", Reads, sequences),
    "recurrent/fields": refused("forward reads the fields of a PackedSequence .*recurrent_cases.py:", Remade, sequences),
    "recurrent/restored": restored,
}
