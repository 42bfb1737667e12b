# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of export_checks.py on gradients that ONNX has no word for: rows of padding in embeddings, queries that see no key, numbers at the bounds of a clamp, and hooks."""
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
    return functional.scaled_dot_product_attention(q, k, v, attn_mask=torch.zeros(seen.shape, dtype=q.dtype).masked_fill(~seen, -torch.inf)[:, None, None, :].expand(-1, 1, 6, -1))


def causal(q, k, v, seen):
    return functional.scaled_dot_product_attention(q, k, v, is_causal=True)


def lowest_floats(q, k, v, seen):
    """A mask of floats says by a finite number that a query without keys sees all of them."""
    return functional.scaled_dot_product_attention(q, k, v, attn_mask=torch.zeros(3, 1, 6, 6).masked_fill(~seen[:, None, None, :].expand(3, 1, 6, 6), torch.finfo(torch.float32).min))


def own_guard(q, k, v, seen):
    p = (q @ k.mT + torch.where(seen[:, None, None, :], 0.0, torch.finfo(torch.float32).min)).softmax(-1)
    return torch.where(p.isnan(), 0.0, p) @ v


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


def trains(make, inputs, classes=5, ops=None, **options):
    """Makes the case that mpc computes PyTorch's loss and gradients, and that the file has so many nodes of some kinds."""
    def case():
        torch.manual_seed(3)
        with harness.folder() as folder:
            graph, _ = written(make(), inputs(), folder, outputs=["logits"], reference=f"{folder}/reference.npz", loss=LOSS, labels={"labels": torch.randint(0, classes, (3, 6))}, **options)
            export_support.expect_verified(folder)
            for kind, count in (ops or {}).items():
                found = sum(node.op_type == kind for node in graph.node)
                expect(found == count, f"{found} nodes {kind} instead of {count}")
    return case


def exported_only(make, inputs):
    def case():
        with harness.folder() as folder:
            written(make(), inputs(), folder, outputs=["logits"])
    return case


def of_type(dtype, attend):
    """Makes the case of a module of another type than float32, whose masks and zeros have its type, too."""
    def case():
        torch.manual_seed(3)
        inputs = tokens()
        inputs["x"] = inputs["x"].to(dtype)
        with harness.folder() as folder:
            written(Attends(attend).to(dtype), inputs, folder, outputs=["logits"], reference=f"{folder}/reference.npz", loss=LOSS, labels={"labels": torch.randint(0, 5, (3, 6))})
            status, out, err = harness.run([export_support.bin_folder + "/mpc", "verify", "model.onnx", "--reference", "reference.npz", "--precision=fp32"], cwd=folder)
            # mpc computes sums of 16-bit values in another order.
            expect(status == 0 or "DIFFERS" in out and "not finite" not in out and "error: model.onnx: " in out + err, f"status {status}: {out[-1500:]}{err[-500:]}")
            errors = [float(line.split()[1]) for line in out.splitlines() if line.endswith(("ok", "DIFFERS")) and line.split()[1:]]
            expect(errors and max(errors) < 16 * max(torch.finfo(dtype).eps, torch.finfo(torch.float32).eps), f"errors {errors}")
    return case


def keeps_lowest_floats():
    """The gradients of this loss are not compared, for torch's fused attention gives the queries without keys other ones than its composed attention."""
    torch.manual_seed(3)
    with harness.folder() as folder:
        written(Attends(lowest_floats), tokens(), folder, outputs=["logits"], batch=None, reference=f"{folder}/reference.npz", loss=LOSS, labels={"labels": torch.randint(0, 5, (3, 6))})
        _, out, _ = harness.run([export_support.bin_folder + "/mpc", "verify", "model.onnx", "--reference", "reference.npz"], cwd=folder)
        expect(any(line.split()[:1] == ["loss"] and " ok " in line for line in out.splitlines()), out[-1500:])


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


class Pictures(nn.Module):
    """A convolution, and what the exporter writes with a number less than forward has."""

    def __init__(self, pooled):
        super().__init__()
        self.conv, self.pooled = nn.Conv2d(3, 5, 3, padding=1), pooled

    def forward(self, x):
        return self.pooled(self.conv(x)).flatten(2).transpose(1, 2)


def pooled(pooling, positions):
    """Makes the case of a pooling of [3,5,6,7] to so many positions."""
    def case():
        torch.manual_seed(3)
        with harness.folder() as folder:
            written(Pictures(pooling), {"x": torch.randn(3, 3, 6, 7)}, folder, outputs=["logits"], reference=f"{folder}/reference.npz", loss=LOSS,
                    labels={"labels": torch.randint(0, 5, (3, positions))})
            export_support.expect_verified(folder)
    return case


def mean_of_places():
    """The exporter writes the mean of what is scattered to one place as its last value, and mpc refuses the file."""
    def mean(x):
        y = x.flatten(2)
        return torch.zeros(3, 5, 4).scatter_reduce(2, (torch.arange(42) % 4).expand(3, 5, 42), y, "mean", include_self=False)
    with harness.folder() as folder:
        written(Pictures(mean), {"x": torch.randn(3, 3, 6, 7)}, folder, outputs=["logits"], batch=None)
        status, out, err = harness.run([export_support.bin_folder + "/mpc", "check", "model.onnx", "--loss", LOSS], cwd=folder)
        expect(status == 1 and "scatter_reduce" in out + err and "hint: write it as scatter_add" in out + err, f"status {status}: {out[-300:]}{err[-800:]}")


def dropouts():
    """A dropout in place is in the file as a mask, and an alpha dropout stays in evaluation."""
    for drop, wanted in ((lambda y: functional.dropout(y, 0.25, inplace=True), ["dropout: 1 of forward's 1 are in the file, of 0.25"]),
                         (lambda y: functional.alpha_dropout(y, 0.25, True), ["dropout: 1 of forward's 1 are in the file, of 0.25", "eval and predict drop, too: the alpha_dropout of 0.25"])):
        with harness.folder() as folder:
            _, notes = written(Pictures(drop), {"x": torch.randn(3, 3, 6, 7)}, folder, outputs=["logits"])
            expect(len(notes) == len(wanted) and all(note.startswith(start) for note, start in zip(notes, wanted)), f"notes: {notes}")


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


def frozen_by_frequency():
    """A frozen table has no gradient that could be scaled."""
    made = by_frequency()
    made.table.requires_grad_(False)
    return made


def bag_of_torch():
    return Looks(lambda table, ids: torch.embedding_bag(table, ids.reshape(-1), torch.arange(3) * 6)[0])


def by_frequency():
    return Looks(lambda table, ids: functional.embedding(ids, table, scale_grad_by_freq=True))


def bag_by_frequency():
    return Looks(lambda table, ids: functional.embedding_bag(ids, table, scale_grad_by_freq=True, mode="sum"))


CASES = {
    "padding/function": trains(lambda: Looks(lambda table, ids: functional.embedding(ids, table, padding_idx=0)), ids),
    "padding/module": trains(lambda: nn.Sequential(nn.Embedding(11, 6, padding_idx=2), nn.Linear(6, 5)), lambda: {"input": ids()["ids"]}),
    "padding/frozen-by-frequency": trains(frozen_by_frequency, ids),
    "padding/none": trains(lambda: Looks(lambda table, ids: functional.embedding(ids, table)), ids, ops={"Where": 0}),
    "padding/from-the-end-and-tied": trains(Tied, ids, classes=11),
    "refused/frequency": refused(r"scale_grad_by_freq=True \(.*gradient_cases.py:\d+\)", by_frequency, ids),
    "refused/frequency-of-a-bag": refused(r"scale_grad_by_freq=True \(.*gradient_cases.py:\d+\)", bag_by_frequency, ids),
    "padding/bag-of-torch": exported_only(bag_of_torch, ids),
    "hidden/pairs": trains(lambda: Attends(pairs), tokens, ops={"IsNaN": 1}),
    "hidden/left-padded": trains(lambda: Attends(left_padded), tokens, ops={"IsNaN": 1}),
    "hidden/floats": trains(lambda: Attends(float_mask), tokens, ops={"IsNaN": 1}),
    "hidden/encoder": trains(Encoder, tokens, ops={"IsNaN": 2}),
    "hidden/opset-17": trains(lambda: Attends(pairs), tokens, ops={"IsNaN": 1}, opset=17),
    "hidden/floats-at-opset-17": trains(lambda: Attends(float_mask), tokens, ops={"IsNaN": 1}, opset=17),
    "hidden/lowest-floats": keeps_lowest_floats,
    "hidden/own-guard": trains(lambda: Attends(own_guard), tokens),
    "hidden/causal": trains(lambda: Attends(causal), tokens, ops={"IsNaN": 0}),
    **{f"hidden/{attend.__name__}-{str(dtype)[6:]}": of_type(dtype, attend) for dtype in (torch.float16, torch.bfloat16, torch.float64) for attend in (pairs, float_mask, causal)},
    "hidden/own-softmax": leaves_softmax_alone,
    "bound/relu6": at_bound(functional.relu6),
    "bound/hardtanh": at_bound(lambda y: functional.hardtanh(y, -1, 0)),
    "bound/clamp": at_bound(lambda y: y.clamp(0, 1)),
    "bound/clamp-min": at_bound(lambda y: y.clamp(min=0)),
    "bound/clamp-max": at_bound(lambda y: y.clamp(max=0)),
    "bound/clamp-min-tensor": at_bound(lambda y: torch.clamp(y, min=torch.zeros(()))),
    "bound/maximum": at_bound(lambda y: torch.maximum(y, torch.zeros(()))),
    "lost/divisor": pooled(lambda y: functional.avg_pool2d(y, 3, 2, divisor_override=5), 6),
    "lost/divisor-and-padding": pooled(lambda y: functional.avg_pool2d(y, 3, 2, 1, divisor_override=5), 12),
    "lost/whole-length": pooled(lambda y: functional.interpolate(y, scale_factor=(1.7, 2.3), mode="bilinear", align_corners=True), 160),
    "lost/whole-length-of-a-cubic": pooled(lambda y: functional.interpolate(y, scale_factor=(0.7, 2.3), mode="bicubic", align_corners=True), 64),
    "lost/scale-of-an-antialiased": pooled(lambda y: functional.interpolate(y, scale_factor=0.6, mode="bilinear", antialias=True), 12),
    "lost/scale-of-an-antialiased-cubic": pooled(lambda y: functional.interpolate(y, scale_factor=(0.6, 0.45), mode="bicubic", antialias=True), 9),
    "lost/mean-of-places": mean_of_places,
    "lost/dropouts": dropouts,
    "refused/hook-of-a-weight": hooked("weight", "the parameter 'weight' has a hook on its gradient"),
    "refused/hook-of-a-module": hooked("module", "the module 'Hooked' has a backward hook"),
    "refused/hook-of-a-value": hooked("result", r"forward registers a hook on a gradient \(.*gradient_cases.py:\d+\)"),
}
