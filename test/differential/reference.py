# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a graph means: its outputs, loss and gradients, computed in float64 by torch, with noise where that is asked for.

There is one function for each ONNX op. It takes (node, inputs, opset) and returns the op's outputs. Floats of every type are float64 here, and integers are
int64. Attributes are float32 in ONNX, so they are rounded to it first. Noise (see bounds.py) is applied to every float value and to its cotangent.
"""
import numpy as np
import torch

from graph import Node, is_float, round_to

OPS = {}
current = [None]  # noise for values inside the op that is being evaluated
stored = [None]  # noise for what the op stores


class NotDefined(Exception):
    """Either the specification gives no meaning, or this reference does not implement it."""


def op(*names):
    def add(function):
        for name in names:
            OPS[name] = function
        return function
    return add


def single(value):
    """Returns an attribute of type float as ONNX stores it."""
    return float(np.float32(value))


def attribute(attributes, name, otherwise):
    return single(attributes[name]) if name in attributes else float(otherwise)


def ints(tensor):
    return [int(v) for v in tensor.reshape(-1).tolist()]


def axes_of(axes, rank):
    return [a % rank if rank else 0 for a in axes]


JUMP = 16  # the roundings that the operand of an op that jumps may have been through


class Noise(torch.autograd.Function):
    """Returns x*(1 + u*r) + a*s, and does the same to the cotangent with b for a: this is one rounding with relative error u, or absolute error a."""

    @staticmethod
    def forward(ctx, x, noise):
        ctx.noise = noise
        noise.seen(x)
        return noise.apply(x, noise.forward, 1.0)

    @staticmethod
    def backward(ctx, g):
        noise = ctx.noise
        noise.seen_cotangent(g)
        return noise.apply_to_cotangent(g), None


class EdgeNoise(torch.autograd.Function):
    """One use of a value. The cotangent of each use is rounded before they are added."""

    @staticmethod
    def forward(ctx, x, noise):
        ctx.noise = noise
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        ctx.noise.seen_cotangent(g)  # recorded before the addition, since two cotangents that overflow may cancel
        return ctx.noise.apply_to_cotangent(g), None


class FromResult(torch.autograd.Function):
    """An op whose gradient is computed from its result as stored. It takes (forward, gradient of (cotangent, result))."""

    @staticmethod
    def forward(ctx, x, function, gradient, noise):
        ctx.y, ctx.gradient = noise.apply(function(x), noise.forward, 1.0), gradient
        return ctx.y.clone()

    @staticmethod
    def backward(ctx, g):
        return ctx.gradient(g, ctx.y), None, None, None


class NoiseSource:
    """Makes noise. It also records the largest magnitudes that it meets, which tell whether a storage type can hold them."""

    def __init__(self, u=0.0, forward=0.0, backward=0.0, seed=0):
        self.u, self.forward, self.backward = u, forward, backward
        self.rounding = None  # a torch type, where values are rounded to it instead of changed at random
        self.scale = 1.0  # scale of cotangents when they are rounded
        self.rounds_products = False  # whether a product is rounded before its bias is added, too
        self.changes_cotangents = False  # whether cotangents are changed at random, although values are rounded
        self.generator = torch.Generator().manual_seed(seed)
        self.largest = self.largest_cotangent = 0.0
        self.elements = 0  # number of elements of the largest tensor
        self.side = 0  # 1 or -1 where operands of ops that jump are moved up or down (beside_jump)

    def inner(self):
        """Returns the noise for values that stay inside an op: they are fp32, whatever the storage type is."""
        inner = NoiseSource(min(self.u, 2.0 ** -24))
        inner.generator, inner.scale = self.generator, self.scale
        inner.rounding = torch.float32 if self.rounding else None
        inner.changes_cotangents = self.changes_cotangents
        return inner

    def seen(self, x):
        if x.numel():
            self.largest, self.elements = max(self.largest, float(x.detach().abs().max())), max(self.elements, x.numel())

    def seen_cotangent(self, g):
        if g.numel():
            self.largest_cotangent = max(self.largest_cotangent, float(g.abs().max()))

    def apply(self, x, absolute, scale):
        if not self.u:
            return x.clone()
        if self.rounding:
            return (x * scale).to(self.rounding).double() / scale
        return self.changed(x, absolute)

    def apply_to_cotangent(self, g):
        return self.changed(g, self.backward) if self.u and self.changes_cotangents else self.apply(g, self.backward, self.scale)

    def changed(self, x, absolute):
        r = torch.randint(0, 2, x.shape, generator=self.generator).double() * 2 - 1
        y = x * (1 + self.u * r)
        return y + absolute * (torch.randint(0, 2, x.shape, generator=self.generator).double() * 2 - 1) * (x != 0) if absolute else y


class LostDigits(torch.autograd.Function):
    """One use of a value, whose cotangent has a relative error of `factor` roundings."""

    @staticmethod
    def forward(ctx, x, noise, factor):
        ctx.noise, ctx.factor = noise, factor
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        noise = ctx.noise
        return g * (1 + noise.u * ctx.factor * (torch.randint(0, 2, g.shape, generator=noise.generator).double() * 2 - 1)), None, None


def lost_digits(x, factor):
    return LostDigits.apply(x, current[0], factor) if current[0] is not None and current[0].u else x


def beside_jump(x):
    """Moves the operand of an op that jumps (Ceil) by as much as rounding may have changed it. Whether a random change of half an ULP crosses a jump is a matter of luck, so the
    bounds have one draw in which all operands are moved up, and one in which all are moved down."""
    noise = stored[0]
    return x + noise.side * JUMP * noise.u * x.detach().abs() if noise is not None and noise.side and x.is_floating_point() else x


def inner(x):
    """Marks a value that stays inside an op of several steps."""
    return Noise.apply(x, current[0]) if current[0] is not None and current[0].u else x


def product(x):
    """Marks a product to which its op adds a bias. It may be stored first, and a sum that is close to 0 may become 0."""
    return Noise.apply(x, stored[0]) if stored[0] is not None and stored[0].rounds_products else x


def used(x):
    """Marks a value inside an op that is composed of others: its cotangent is rounded, and may overflow, as it does between ops."""
    return EdgeNoise.apply(x, stored[0]) if stored[0] is not None and x.requires_grad else x


def from_result(x, function, gradient):
    return FromResult.apply(x, function, gradient, stored[0]) if stored[0] is not None and stored[0].u else function(x)


def evaluate(graph, noise=None, gradients=True):
    """Returns {"loss", "grad/<parameter>", outputs...} as float64 NumPy arrays."""
    noise = noise or NoiseSource()
    values, leaves = {}, {}
    for group in (graph.inputs, graph.initializers, graph.targets):
        for name, array in group.items():
            tensor = torch.from_numpy(np.array(array))
            if tensor.is_floating_point():
                if gradients and name.startswith("p") and group is graph.initializers:
                    leaves[name] = tensor = tensor.requires_grad_()
                if not held_exactly(name, array):
                    tensor = Noise.apply(tensor, noise)
            values[name] = tensor
    for node in graph.nodes:
        step(node, values, graph, noise)
    result = {name: values[name] for name in graph.outputs}
    current[0], stored[0] = noise.inner(), noise
    result["loss"] = loss_of(graph, values)
    if gradients:
        if result["loss"].requires_grad:
            result["loss"].reshape(()).backward()
        for name, leaf in leaves.items():
            result["grad/" + name] = leaf.grad if leaf.grad is not None else torch.zeros_like(leaf)
    return {name: tensor.detach().double().numpy() for name, tensor in result.items()}


def cast(x, dtype):
    """Converts to an element type of graph.py. The generator keeps integers within the range of their types."""
    if dtype == "bool":
        return x != 0
    if is_float(dtype):
        return x.clone() if x.is_floating_point() else x.double()
    return (torch.trunc(x.detach()) if x.is_floating_point() else x).to(torch.int64)


def held_exactly(name, values):
    """Constants that every type holds exactly, such as exponents and scales, are never rounded."""
    return name.startswith("c") and np.array_equal(values, round_to("bf16", values))


def step(node, values, graph, noise):
    """Evaluates one node and puts its results into `values`."""
    inputs = [values[n] if n else None for n in node.inputs]
    inputs = [EdgeNoise.apply(x, noise) if x is not None and x.requires_grad else x for x in inputs]
    current[0], stored[0] = noise.inner(), noise
    if node.op in ("Cast", "CastLike"):
        outputs = cast(inputs[0], graph.types[node.outputs[0]])
    elif node.op == "Scan":
        outputs = scan(node, inputs, graph, noise)
    elif node.op == "Constant":
        outputs = torch.from_numpy(round_to(graph.types[node.outputs[0]], np.asarray(node.attributes["value"]["values"]).reshape(node.attributes["value"]["shape"])))
    else:
        outputs = OPS[node.op](node.attributes, inputs, graph.opset)
    if not isinstance(outputs, (list, tuple)):
        outputs = [outputs]
    for name, y in zip(node.outputs, outputs):
        if name:
            exact = not y.is_floating_point() or (node.op == "Constant" and held_exactly(name, y.numpy()))
            values[name] = y if exact else Noise.apply(y, noise)


def scan(node, inputs, graph, noise):
    """Evaluates a Scan, an iteration at a time. The last inputs are what its body captures (graph.py)."""
    a, body = node.attributes, node.attributes["body"]
    given = len(inputs) - len(body["captured"])
    over = inputs[given - a["num_scan_inputs"]:given]
    states = inputs[:given - len(over)]
    stacks = len(node.outputs) - len(states)
    axes, back = a.get("scan_input_axes", [0] * len(over)), a.get("scan_input_directions", [0] * len(over))
    out_axes, out_back = a.get("scan_output_axes", [0] * stacks), a.get("scan_output_directions", [0] * stacks)
    trips, rows = over[0].shape[axes[0]], []
    if trips == 0:
        raise NotDefined
    for t in range(trips):
        slices = [x.select(axis, trips - 1 - t if backward else t) for x, axis, backward in zip(over, axes, back)]
        values = dict(zip(body["arguments"] + body["captured"], states + slices + inputs[given:]))
        for op, names, outputs, attributes in body["nodes"]:
            step(Node(op, names, outputs, attributes), values, graph, noise)
        results = [values[n] for n in body["outputs"]]
        states = results[:len(states)]
        rows.append(results[len(states):])
    return states + [torch.stack(column[::-1] if backward else column, axis) for column, axis, backward in zip(map(list, zip(*rows)), out_axes, out_back)]


VIEWS = {"Identity", "Cast", "CastLike", "Reshape", "Flatten", "Squeeze", "Unsqueeze"}
OWN_ACTIVATION = {"softmax_cross_entropy": {"Softmax", "LogSoftmax"}, "bce_with_logits": {"Sigmoid"}}


def scores_of(graph, values, kind, prediction):
    """What a loss with an activation of its own takes: the input of the network's own activation, if that makes the prediction in its shape (docs/losses.md)."""
    makers = {output: node for node in graph.nodes for output in node.outputs}
    node = makers.get(prediction)
    while node and node.op in VIEWS and values[node.inputs[0]].is_floating_point():
        node = makers.get(node.inputs[0])
    if node and node.op in OWN_ACTIVATION.get(kind, ()) and values[node.outputs[0]].shape == values[prediction].shape and (node.op == "Sigmoid" or over_classes(graph, node, values)):
        return values[node.inputs[0]]
    return values[prediction]


def over_classes(graph, softmax, values):
    """Whether a softmax of scores [N, classes] is over the classes. Before opset 13 it is over all dimensions from its axis on."""
    rank, whole = values[softmax.inputs[0]].dim(), graph.opset < 13
    axis = softmax.attributes.get("axis", 1 if whole else -1) % rank
    return axis == 1 or (whole and axis == 0 and values[softmax.inputs[0]].shape[0] == 1)


def cross_entropy(x, t, **options):
    """torch's cross_entropy of scores [N, classes, ...]. Where one class has nearly all of the probability, the sum of exponentials is a little more than 1, and its rounding is what
    the loss and its gradient lose."""
    shifted = x - x.amax(1, keepdim=True).detach() if x.numel() else x
    logarithms = shifted - torch.log(inner(torch.exp(shifted).sum(1, keepdim=True)))
    return torch.nn.functional.nll_loss(logarithms, t, **options)


def loss_of(graph, values):
    f = torch.nn.functional
    if not graph.loss:
        return values[graph.outputs[0]]
    kind, prediction, target = graph.loss.split(":")
    x, t = scores_of(graph, values, kind, prediction), values[target]
    if kind == "softmax_cross_entropy":
        return cross_entropy(x, t)
    return {"mse": f.mse_loss, "l1": f.l1_loss, "smooth_l1": f.smooth_l1_loss, "bce_with_logits": f.binary_cross_entropy_with_logits}[kind](x, t)
