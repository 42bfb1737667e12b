# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of export_checks.py: gradients that stop, buffers that forward updates, and names that values and parameters share."""
import copy
import os

import torch
from torch import nn
from torch.nn import functional

from export_support import expect, expect_parameters, expect_verified, harness, onnx, refused, written
from mpc_torch import finish
from mpc_torch.capture import capture
from mpc_torch.errors import ExportError
from mpc_torch.naming import SIGNATURE


class Parts(nn.Module):
    """Three layers that the modules below combine. Each returns a dict with its loss."""

    def __init__(self):
        super().__init__()
        self.body, self.head, self.other = nn.Linear(4, 4), nn.Linear(4, 3), nn.Linear(4, 3)


class Teacher(Parts):
    def forward(self, x):
        scores = self.head(self.body(x))
        with torch.no_grad():
            target = self.other(self.body(x)).softmax(-1)
        return {"loss": -(target * scores.log_softmax(-1)).sum(-1).mean()}


class Nested(Parts):
    """A method with the decorator, which calls one layer with gradients."""

    @torch.no_grad()
    def both(self, x):
        stopped = self.body(x)
        with torch.enable_grad():
            flowing = self.head(x) + stopped[:, :3]
        return stopped[:, :3] * 2, flowing

    def forward(self, x):
        stopped, flowing = self.both(x)
        return {"loss": (stopped * flowing + self.other(x)).square().mean()}


class StraightThrough(Parts):
    def forward(self, x):
        weight = self.head.weight
        with torch.no_grad():
            step = torch.round(weight * 4) / 4 - weight
        return {"loss": functional.linear(self.body(x), weight + step, self.other.bias).square().mean() + self.other(x).mean()}


class Codebook(Parts):
    """The codebook of a VQ-VAE: the nearest rows of a table, two losses and a straight-through step."""

    def forward(self, x):
        z, table = self.body(x), self.head.weight
        nearest = table[(z.detach()[:, None] - table.detach()).square().sum(-1).argmin(-1)]
        passed = z + (nearest - z).detach()
        return {"loss": (self.other(passed) ** 2).mean() + (nearest - z.detach()).square().mean() + 0.25 * (nearest.detach() - z).square().mean()}


class Forms(Parts):
    """The other ways to stop a gradient: inference_mode, set_grad_enabled, .data, detach_, and a view of a parameter that is taken without gradients."""

    def forward(self, x):
        with torch.inference_mode():
            first = self.body(x)
        torch.set_grad_enabled(False)
        second = self.head.weight.T.sum(1)
        torch.set_grad_enabled(True)
        third = self.body(x) * 2
        third.detach_()
        return {"loss": (self.head(self.body(x) * first.clone() + second + third) * self.other.weight.data.sum()).square().mean() + self.other(x).mean()}


class Spectral(nn.Module):
    """The power iteration of spectral norms runs without gradients, and its vectors are buffers that forward overwrites; one is not read before."""

    def __init__(self, norm):
        super().__init__()
        self.body, self.head = norm(nn.Linear(4, 4)), nn.Linear(4, 3)

    def forward(self, x):
        return {"loss": self.head(self.body(x)).square().mean()}


def eager(module, x):
    """Returns the gradients of PyTorch. None counts as zero."""
    module = copy.deepcopy(module)
    module(x=x)["loss"].backward()
    return {name: torch.zeros_like(p) if p.grad is None else p.grad for name, p in module.named_parameters()}


def of_graph(module, x):
    """Returns the gradients of the graph that is translated to ONNX, in which detach alone stops a gradient."""
    program = capture(module, {"x": x}, None, None, "batch", None, False).program.exported_program
    graph = program.module(check_guards=False).double()
    loss = graph(x=x.double())
    (loss if isinstance(loss, torch.Tensor) else loss[0]).backward()
    return {name: torch.zeros_like(p) if p.grad is None else p.grad for name, p in graph.named_parameters()}


def stops(make, least):
    """Makes the case that a module's graph has PyTorch's gradients, the file at least so many marks, and the program PyTorch's step."""
    def case():
        torch.manual_seed(7)
        module, x = make().train(), torch.randn(2, 4)
        found, wanted = of_graph(module, x), eager(module.double(), x.double())
        for name, value in wanted.items():
            expect(torch.allclose(found[name], value, rtol=1e-6, atol=1e-9), f"{name}: {found[name]}, PyTorch's {value}")
        with harness.folder() as folder:
            graph, _ = written(module.float(), {"x": x}, folder, reference=f"{folder}/reference.npz")
            marked = [node for node in graph.node if any(p.key == "mpc.stop_gradient" and p.value == "True" for p in node.metadata_props)]
            expect(len(marked) >= least and all(node.op_type == "Identity" for node in marked), f"{len(marked)} marks")
            expect_verified(folder)
    return case


class ClampsWithoutGradient(Parts):
    def forward(self, x):
        y = self.head(x)
        with torch.no_grad():
            y.clamp_(0)
        return y


class ClampsWeight(Parts):
    def forward(self, x):
        with torch.no_grad():
            self.head.weight.clamp_(-1, 1)
        return self.head(x)


class AssignsData(Parts):
    """Moves a copy of a layer after the layer, as momentum contrast does."""

    def forward(self, x):
        with torch.no_grad():
            self.other.weight.data = self.other.weight.data * 0.9 + self.head.weight.data * 0.1
        return self.head(x) + self.other(x)


class ChangesFrozen(Parts):
    def forward(self, x):
        self.other.requires_grad_(False).weight.data.mul_(0.9)
        return self.head(x) + self.other(x)


class RenormedTable(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(5, 3, max_norm=1.0)

    def forward(self, x):
        return self.table(x)


class Round(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        return torch.round(x)

    @staticmethod
    def backward(context, gradient):
        return gradient


class Rounded(Parts):
    def forward(self, x):
        return {"loss": Round.apply(self.head(x) * 4).square().mean()}


def accepted_function():
    with harness.folder() as folder:
        _, notes = written(Rounded(), {"x": torch.randn(2, 4)}, folder, accept_functions=True)
        expect(any("backward of the autograd.Function 'Round'" in note for note in notes), f"notes: {notes}")


class Updating(Parts):
    """Updates buffers: one that the loss reads and that is an output too, one that nothing reads, a counter, and one that gets the input as it is."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(4)
        self.register_buffer("ema", torch.ones(3))
        self.register_buffer("seen", torch.zeros(3))
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))
        self.register_buffer("last", torch.zeros(2, 4))

    def forward(self, x):
        scores = self.head(self.norm(self.body(x)))
        with torch.no_grad():
            self.ema.mul_(0.9).add_(scores.mean(0) * 0.1)
            self.seen.copy_(self.other(x).amax(0))
            self.count += 1
            self.last.copy_(x)
        return {"loss": (scores * self.ema).square().mean() + self.other(x).mean(), "average": self.ema}


def updates(graph):
    """Returns {buffer: value} of the file's signature, and checks that the values are made by nodes and the buffers are initializers."""
    signature = next(p.value for p in graph.metadata_props if p.key == SIGNATURE)
    lines = [line.split(" ") for line in signature.partition("# outputs")[2].splitlines() if " BUFFER_MUTATION " in line]
    found = {line[2].removeprefix("target='").removesuffix("'"): line[0].removesuffix(":") for line in lines}
    made, tensors = {name for node in graph.node for name in node.output}, {tensor.name for tensor in graph.initializer}
    expect(set(found.values()) <= made, f"{found}: no node makes {sorted(set(found.values()) - made)}")
    expect(set(found) <= tensors, f"{sorted(set(found) - tensors)} are no initializers")
    return found


def updated_buffers():
    """The new values of buffers stay in the file, under the names that the signature has. Batch norms have theirs as outputs."""
    with harness.folder() as folder:
        graph, _ = written(Updating().train(), {"x": torch.randn(2, 4)}, folder, batch=None, reference=f"{folder}/reference.npz", loss="output:loss")
        found = updates(graph)
        expect(set(found) == {"ema", "seen", "count", "last"} and found["ema"] == "average", f"updates {found}")
        norm = next(node for node in graph.node if node.op_type == "BatchNormalization")
        expect(len(norm.output) == 3 and list(norm.input[3:]) == ["norm.running_mean", "norm.running_var"], f"{norm.input} -> {norm.output}")
        expect_verified(folder)


class Twins(Parts):
    """Gives one value to two buffers, the second of which may get a copy."""

    def __init__(self, copies=False):
        super().__init__()
        self.copies = copies
        self.register_buffer("one", torch.zeros(3))
        self.register_buffer("other_one", torch.zeros(3))

    def forward(self, x):
        most = self.head(x).detach().amax(0) * 2
        self.one.copy_(most)
        self.other_one.copy_(most.clone() if self.copies else most)
        return self.head(x)


def one_value_for_two():
    with harness.folder() as folder:
        graph, _ = written(Twins(True).train(), {"x": torch.randn(2, 4)}, folder)
        expect(len(set(updates(graph).values())) == 2, f"updates {updates(graph)}")


def spectral_vectors():
    with harness.folder() as folder:
        graph, _ = written(Spectral(nn.utils.parametrizations.spectral_norm).train(), {"x": torch.randn(2, 4)}, folder)
        expect(set(updates(graph)) == {f"body.parametrizations.weight.0.{name}" for name in ("_u", "_v")}, f"updates {updates(graph)}")


class Distances(nn.Module):
    def forward(self, x):
        return torch.cdist(x, x)


class Names(nn.Module):
    """Parameters, buffers and outputs that are called as torch calls values of this graph. Outputs are an input, a parameter, and a value twice."""

    def __init__(self):
        super().__init__()
        self.t, self.linear, self.mul, self.f = nn.Parameter(torch.randn(4, 3)), nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(3)), nn.Linear(4, 3)
        self.register_buffer("add", torch.zeros(3))
        self.register_buffer("val_0", torch.zeros(3))

    def forward(self, relu):
        y = self.f(relu).relu() @ self.t.t() + self.f(relu).mean()
        self.add.mul_(0.9).add_(y.detach().mean() * self.mul.detach())
        self.val_0.copy_(self.f(relu).mean(0).detach())
        return {"mean": (y.mean() * self.linear * self.mul + self.add + relu.sum()).mean(), "sub": y, "again": y, "relu_1": relu, "exp": self.t}


def shared_names():
    """Each name has one meaning; parameters, buffers, inputs and outputs have theirs, and the numbers are PyTorch's."""
    torch.manual_seed(8)
    module, x = Names(), torch.randn(3, 4)
    with harness.folder() as folder:
        graph, _ = written(module, {"relu": x}, folder, reference=f"{folder}/reference.npz", loss="output:mean")
        expect_parameters(graph, module)
        expect([i.name for i in graph.input] == ["relu"] and [o.name for o in graph.output] == ["mean", "sub", "again", "relu_1", "exp"], "inputs and outputs have other names")
        made = [name for node in graph.node for name in node.output]
        others = {tensor.name for tensor in graph.initializer} | {"relu"}
        expect(len(set(made)) == len(made) and not set(made) & others, f"two meanings of {sorted(name for name in made if made.count(name) > 1 or name in others)}")
        expect(set(updates(graph)) == {"add", "val_0"}, f"updates {updates(graph)}")
        results = onnx.reference.ReferenceEvaluator(f"{folder}/model.onnx").run(None, {"relu": x.numpy()})
        for name, value, own in zip(("mean", "sub", "again", "relu_1", "exp"), results, module(x).values()):
            expect(torch.allclose(torch.from_numpy(value.copy()), own, rtol=1e-5, atol=1e-6), f"{name} is {value}, PyTorch's {own}")
        expect_verified(folder)


def values_beside():
    """A file that is too large for protobuf has its values beside it, and is checked by its path."""
    limit, finish.PROTOBUF_LIMIT = finish.PROTOBUF_LIMIT, 1000
    try:
        with harness.folder() as folder:
            module = nn.Linear(64, 64)
            written(module, {"input": torch.randn(2, 64)}, folder)
            expect(sorted(os.listdir(folder)) == ["model.onnx", "model.onnx.data"], f"files {os.listdir(folder)}")
            expect_parameters(onnx.load(f"{folder}/model.onnx").graph, module)
    finally:
        finish.PROTOBUF_LIMIT = limit


def two_meanings():
    """The check finds a name that is defined twice, as torch's exporter writes it."""
    nodes = [onnx.helper.make_node("Transpose", ["x"], ["t"]), onnx.helper.make_node("MatMul", ["x", "t"], ["y"])]
    values = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2, 2]) for name in ("x", "y")]
    for stored in ([], [onnx.numpy_helper.from_array(torch.ones(2, 2).numpy(), "t")]):
        try:
            finish.check_names(onnx.helper.make_graph(nodes, "g", values[:1], values[1:], stored))
            expect(not stored, "not refused")
        except ExportError as error:
            expect(stored and "define 't' twice" in str(error), str(error))


class Loop(nn.Module):
    """Takes one step for each token, so that their number is a constant."""

    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(4, 4)

    def forward(self, x):
        state = x[:, 0]
        for token in range(1, x.shape[1]):
            state = self.cell(x[:, token], state)
        return state


def fixed_without_a_word():
    with harness.folder() as folder:
        graph, notes = written(Loop(), {"x": torch.randn(2, 5, 4)}, folder, dynamic={"x": {1: "tokens"}})
        expect(len(notes) == 1 and "'tokens' (dimension 1 of 'x') is fixed at 5" in notes[0], f"notes: {notes}")
        expect(graph.input[0].type.tensor_type.shape.dim[0].dim_param == "batch", "the batch is fixed")


class ScansWithoutGradient(Parts):
    """A no_grad region in the body of a scan, which dynamo reads, where no mode sees it."""

    def forward(self, x):
        from torch._higher_order_ops.scan import scan

        def step(h, row):
            with torch.no_grad():
                gate = torch.sigmoid(self.body(h))
            h = torch.tanh(self.body(row) * gate + h)
            return h, h.clone()
        return {"loss": scan(step, torch.zeros(4), x)[0].sum()}


def x():
    return {"x": torch.randn(2, 4)}


def frozen_cumulative():
    """A norm that is held in eval mode uses its statistics as they are."""
    made = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4, momentum=None), nn.Linear(4, 3)).train()
    made[1].eval()
    with harness.folder() as folder:
        written(made, {"input": torch.randn(5, 4)}, folder, outputs=["logits"], reference=f"{folder}/reference.npz", loss="softmax_cross_entropy:logits:labels")
        expect_verified(folder)


CASES = {
    "stops/no-grad": stops(Teacher, 4),
    "stops/nested": stops(Nested, 2),
    "stops/straight-through": stops(StraightThrough, 1),
    "stops/codebook": stops(Codebook, 4),
    "stops/forms": stops(Forms, 4),
    "stops/spectral": stops(lambda: Spectral(nn.utils.parametrizations.spectral_norm), 1),
    "stops/spectral-hook": stops(lambda: Spectral(nn.utils.spectral_norm), 1),
    "stops/function": accepted_function,
    "refused/function": refused(r"applies the autograd.Function 'Round' \(.*state_cases.py:\d+\)", Rounded, x),
    "refused/in-place": refused(r"in place, by clamp_ under no_grad \(.*state_cases.py:\d+\)", ClampsWithoutGradient, x),
    "refused/in-place-weight": refused(r"in place, by clamp_ under no_grad \(.*state_cases.py:\d+\)", ClampsWeight, x),
    "refused/data": refused(r"assigns to .data of a tensor \(.*state_cases.py:\d+\)", AssignsData, x),
    "refused/changed-frozen": refused("forward changes the parameter 'other.weight' itself", ChangesFrozen, x),
    "refused/changed-parameter": refused("forward changes the parameter 'table.weight' itself", RenormedTable, lambda: {"x": torch.tensor([1, 2])}),
    "refused/mask-that-decides": refused("hint: a Transformer of torch looks at its mask", lambda: nn.Transformer(4, 2, 1, 1, 8, 0.0, batch_first=True),
                                         lambda: {"src": torch.randn(3, 5, 4), "tgt": torch.randn(3, 6, 4), "tgt_mask": nn.Transformer.generate_square_subsequent_mask(6)}, batch=None),
    "refused/max-norm": refused("hint: an embedding with max_norm", lambda: nn.Embedding(5, 4, max_norm=1.0), lambda: {"input": torch.tensor([[0, 1], [2, 3]])}),
    "refused/cumulative": refused("the norm '1' has momentum=None", lambda: nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4, momentum=None)), lambda: {"input": torch.randn(5, 4)}),
    "refused/cumulative-in-eval-mode": refused("the norm '1' has momentum=None", lambda: nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4, momentum=None)).eval(), lambda: {"input": torch.randn(5, 4)}),
    "cumulative-but-frozen": frozen_cumulative,
    "refused/scan-body": refused("the body of a scan, a while_loop or a cond has a no_grad region", ScansWithoutGradient, lambda: {"x": torch.randn(5, 4)}),
    "buffers": updated_buffers,
    "buffers/twins": one_value_for_two,
    "buffers/spectral": spectral_vectors,
    "names": shared_names,
    "names/check": two_meanings,
    "values-beside": values_beside,
    "refused/no-translation": refused(r"aten._cdist_forward.*state_cases.py:\d+\)\nhint: ", Distances, x),
    "refused/twins": refused("SpecViolationError.*\nhint: torch cannot export a module that gives one value to two buffers", Twins, x),
    "fixed-dimension": fixed_without_a_word,
}
