# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of export_checks.py on gradients that ONNX has no word for: rows of padding in embeddings, queries that see no key, numbers at the bounds of a clamp, and hooks."""
import onnx
import torch
from torch import nn
from torch.nn import functional

import export_support
from export_support import expect, harness, refused, written

LOSS = "softmax_cross_entropy:logits:labels,axis=-1"


class Looks(nn.Module):
    """Looks tokens up in a table by a function that gets (table, ids)."""

    def __init__(self, look):
        super().__init__()
        self.table, self.fc, self.look = nn.Parameter(torch.randn(11, 6)), nn.Linear(6, 5), look

    def forward(self, ids):
        return self.fc(self.look(self.table, ids).tanh())


class Tied(nn.Module):
    """The table of the input, which has a row of padding, is the weight of the output, too, and there the row has a gradient."""

    def __init__(self):
        super().__init__()
        self.table, self.head = nn.Embedding(11, 6, padding_idx=-11), nn.Linear(6, 11, bias=False)
        self.head.weight = self.table.weight

    def forward(self, ids):
        return self.head(self.table(ids).tanh())


class Attends(nn.Module):
    """Attention with two heads, of which `attend` gets queries, keys and values [B,2,N,4], and `seen` [B,N]."""

    def __init__(self, attend):
        super().__init__()
        self.heads, self.fc, self.attend = nn.Linear(8, 24), nn.Linear(8, 5), attend

    def forward(self, x, seen):
        q, k, v = self.heads(x).unflatten(-1, (3, 2, 4)).permute(2, 0, 3, 1, 4).unbind(0)
        return self.fc(self.attend(q, k, v, seen).transpose(1, 2).flatten(2))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers, self.fc = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True), 2), nn.Linear(8, 5)

    def forward(self, x, seen):
        return self.fc(self.layers(x, src_key_padding_mask=~seen))


def pairs(q, k, v, seen):
    """Neither keys nor queries of padding take part."""
    return functional.scaled_dot_product_attention(q, k, v, attn_mask=seen[:, None, :, None] & seen[:, None, None, :])


def left_padded(q, k, v, seen):
    """With padding in front, the causal mask leaves its queries no key."""
    return functional.scaled_dot_product_attention(q, k, v, attn_mask=seen[:, None, None, :] & torch.ones(6, 6, dtype=torch.bool).tril())


def float_mask(q, k, v, seen):
    return functional.scaled_dot_product_attention(q, k, v, attn_mask=torch.zeros(seen.shape).masked_fill(~seen, -torch.inf)[:, None, None, :].expand(-1, 1, 6, -1))


def own_softmax(q, k, v, seen):
    """A softmax of the user's own is NaN for such a query in PyTorch, too."""
    return (q @ k.mT).masked_fill(~seen[:, None, None, :], -torch.inf).softmax(-1) @ v


def ids():
    return {"ids": torch.tensor([[1, 0, 3, 0, 5, 0], [10, 9, 0, 0, 0, 0], [2, 2, 4, 8, 1, 7]])}


def tokens():
    """Three samples: the first is whole, the second has padding in front, and the third is nothing but padding."""
    seen = torch.ones(3, 6, dtype=torch.bool)
    seen[1, :3] = seen[2] = False
    return {"x": torch.randn(3, 6, 8), "seen": seen}


def trains(make, inputs, classes=5, ops=None):
    """Makes the case that mpc computes PyTorch's loss and gradients, and that the file has so many nodes of some kinds."""
    def case():
        torch.manual_seed(3)
        with harness.folder() as folder:
            graph, _ = written(make(), inputs(), folder, outputs=["logits"], reference=f"{folder}/reference.npz", loss=LOSS, labels={"labels": torch.randint(0, classes, (3, 6))})
            export_support.expect_verified(folder)
            for kind, count in (ops or {}).items():
                found = sum(node.op_type == kind for node in graph.node)
                expect(found == count, f"{found} nodes {kind} instead of {count}")
    return case


def in_half_precision():
    """The lowest number of a mask is that of its own type."""
    torch.manual_seed(3)
    inputs = tokens()
    inputs["x"] = inputs["x"].half()
    with harness.folder() as folder:
        graph, _ = written(Attends(pairs).half(), inputs, folder, outputs=["logits"])
        numbers = [onnx.numpy_helper.to_array(attribute.t) for node in graph.node if node.op_type == "Constant" for attribute in node.attribute if attribute.name == "value"]
        lowest = sorted({float(number) for number in numbers if number.size == 1 and number.dtype.kind == "f" and number < -1})
        expect(-float("inf") in lowest, f"the numbers of the masks are {lowest}")


def leaves_softmax_alone():
    with harness.folder() as folder:
        graph, _ = written(Attends(own_softmax), tokens(), folder, outputs=["logits"])
        expect(not any(node.op_type == "IsNaN" for node in graph.node), "the softmax of the user's own is guarded")


class AtItsBound(nn.Module):
    """A layer whose results are 0 at first, behind a function that has a bound there."""

    def __init__(self, bounded):
        super().__init__()
        self.fc, self.bounded = nn.Linear(8, 5), bounded
        nn.init.zeros_(self.fc.weight)
        nn.init.zeros_(self.fc.bias)

    def forward(self, x):
        y = self.fc(x)
        return self.bounded(y) + 0.1 * y


def at_bound(bounded):
    return trains(lambda: AtItsBound(bounded), lambda: {"x": torch.randn(3, 6, 8)})


class Hooked(nn.Linear):
    """A layer with a hook on its weight, on itself or on its result."""

    def __init__(self, where):
        super().__init__(4, 3)
        self.where = where
        if where == "weight":
            self.weight.register_hook(lambda gradient: 0 * gradient)
        if where == "module":
            self.register_full_backward_hook(lambda module, given, gradients: None)

    def forward(self, x):
        y = super().forward(x)
        if self.where == "result" and y.requires_grad:
            y.register_hook(lambda gradient: -gradient)
        return y.tanh()


def row():
    return {"x": torch.randn(2, 4)}


def hooked(where, said):
    return refused(said + r".*\nhint: remove the hook", lambda: Hooked(where), row)


def by_frequency():
    return Looks(lambda table, ids: functional.embedding(ids, table, scale_grad_by_freq=True))


def bag_by_frequency():
    return Looks(lambda table, ids: functional.embedding_bag(ids, table, scale_grad_by_freq=True, mode="sum"))


CASES = {
    "padding/function": trains(lambda: Looks(lambda table, ids: functional.embedding(ids, table, padding_idx=0)), ids),
    "padding/module": trains(lambda: nn.Sequential(nn.Embedding(11, 6, padding_idx=2), nn.Linear(6, 5)), lambda: {"input": ids()["ids"]}),
    "padding/none": trains(lambda: Looks(lambda table, ids: functional.embedding(ids, table)), ids, ops={"Where": 0}),
    "padding/from-the-end-and-tied": trains(Tied, ids, classes=11),
    "refused/frequency": refused(r"scale_grad_by_freq=True \(.*gradient_cases.py:\d+\)", by_frequency, ids),
    "refused/frequency-of-a-bag": refused(r"scale_grad_by_freq=True \(.*gradient_cases.py:\d+\)", bag_by_frequency, ids),
    "hidden/pairs": trains(lambda: Attends(pairs), tokens, ops={"IsNaN": 1}),
    "hidden/left-padded": trains(lambda: Attends(left_padded), tokens, ops={"IsNaN": 1}),
    "hidden/floats": trains(lambda: Attends(float_mask), tokens, ops={"IsNaN": 1}),
    "hidden/encoder": trains(Encoder, tokens, ops={"IsNaN": 2}),
    "hidden/half": in_half_precision,
    "hidden/own-softmax": leaves_softmax_alone,
    "bound/relu6": at_bound(functional.relu6),
    "bound/hardtanh": at_bound(lambda y: functional.hardtanh(y, -1, 0)),
    "bound/clamp": at_bound(lambda y: y.clamp(0, 1)),
    "bound/clamp-min": at_bound(lambda y: y.clamp(min=0)),
    "bound/clamp-max": at_bound(lambda y: y.clamp(max=0)),
    "bound/maximum": at_bound(lambda y: torch.maximum(y, torch.zeros(()))),
    "refused/hook-of-a-weight": hooked("weight", "the parameter 'weight' has a hook on its gradient"),
    "refused/hook-of-a-module": hooked("module", "the module 'Hooked' has a backward hook"),
    "refused/hook-of-a-value": hooked("result", r"forward registers a hook on a gradient \(.*gradient_cases.py:\d+\)"),
}
