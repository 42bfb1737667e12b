# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes one random graph step by step. The reference evaluates every node as it is added, so that shapes, types and magnitudes are known."""
import math

import numpy as np
import torch

import reference
import reference_nn  # noqa: F401 (fills the table of ops)
import reference_ops  # noqa: F401
import reference_recurrent  # noqa: F401
from graph import FLOATS, ONNX_TYPES, Graph, Node, is_float, round_to

MAX_ELEMENTS = 1500
LIMITS = {"i64": 1 << 40, "i32": (1 << 31) - 1, "i16": (1 << 15) - 1, "i8": 127, "u8": 255}


class Reject(Exception):
    """The attempted node has no meaning here; the generator tries something else."""


class Builder:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.graph = Graph(int(self.rng.choice(range(9, 24))))
        self.values = {}
        self.variable = set()  # tensors that depend on a parameter
        self.batch = int(self.rng.integers(1, 5))
        self.zeros = self.chance(0.1)  # whether extents may be zero
        self.graph.extreme = self.chance(0.15)
        self.limit = 1e30 if self.graph.extreme else 3e3
        self.quiet = reference.NoiseSource()
        self.counter = 0

    @property
    def opset(self):
        return self.graph.opset

    # -- chance --------------------------------------------------------------------------------------
    def chance(self, p):
        return bool(self.rng.random() < p)

    def choose(self, items):
        items = list(items)
        if not items:
            raise Reject
        return items[int(self.rng.integers(len(items)))]

    def number(self, low, high):
        """Returns a whole number between low and high, both included."""
        return int(self.rng.integers(low, high + 1))

    def extent(self):
        if self.zeros and self.chance(0.12):
            return 0
        return self.choose((1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8))

    def float_type(self):
        others = ["f16", "f64"] + (["bf16"] if self.opset >= 13 else [])
        return "f32" if self.chance(0.85) else self.choose(others)

    # -- tensors -------------------------------------------------------------------------------------
    def fresh(self, prefix):
        self.counter += 1
        return f"{prefix}{self.counter}"

    def sample(self, shape, dtype):
        if dtype == "bool":
            return self.rng.random(shape) < 0.5
        if not is_float(dtype):
            return self.rng.integers(0 if dtype == "u8" else -4, 6, shape)
        scale = 1.0
        # The values reach from below fp16's subnormals to its largest numbers.
        if self.graph.extreme and self.chance(0.3):
            scale = 10 ** self.rng.uniform(-8, 4.5)
        elif self.chance(0.3):
            scale = 10 ** self.rng.uniform(-2, 1)
        values = self.rng.normal(0, scale, shape) + (scale * self.rng.normal() * 2 if self.chance(0.15) else 0)
        if self.chance(0.1):
            values = np.round(values)  # rounding makes ties and zeros
        if self.chance(0.05):
            values = np.where(self.rng.random(shape) < 0.2, -0.0, values)
        return values if np.ndim(values) else np.float64(values)

    def register(self, group, name, values, dtype):
        values = round_to(dtype, values)
        if is_float(dtype) and not np.all(np.isfinite(values)):
            raise Reject
        group[name] = values
        self.graph.types[name] = dtype
        self.values[name] = torch.from_numpy(np.array(values))
        return name

    def input(self, shape, dtype="f32"):
        return self.register(self.graph.inputs, self.fresh("x"), self.sample(shape, dtype), dtype)

    def parameter(self, shape, dtype="f32", values=None):
        name = self.register(self.graph.initializers, self.fresh("p"), self.sample(shape, dtype) if values is None else values, dtype)
        self.variable.add(name)
        return name

    def constant(self, values, dtype):
        """Adds an initializer that is not trained, or a Constant node."""
        values = round_to(dtype, values)
        name = self.fresh("c")
        if self.chance(0.2):
            node = Node("Constant", [], [name], {"value": {"dtype": dtype, "shape": list(np.shape(values)), "values": np.ravel(values).tolist()}})
            self.graph.types[name] = dtype
            reference.step(node, self.values, self.graph, self.quiet)
            self.graph.nodes.append(node)
            return name
        return self.register(self.graph.initializers, name, values, dtype)

    def integers(self, values):
        return self.constant(np.asarray(values, np.int64), "i64")

    def weight(self, shape, dtype="f32"):
        """Returns a tensor for an operand: an initializer of the graph that fits, or a new one, which is mostly trained."""
        if self.chance(0.15):
            old = [n for n in self.graph.initializers if self.shape(n) == tuple(shape) and self.type(n) == dtype]
            if old:
                return self.choose(old)
        return self.parameter(shape, dtype) if self.chance(0.8) else self.constant(self.sample(shape, dtype), dtype)

    def shape(self, name):
        return tuple(self.values[name].shape)

    def rank(self, name):
        return self.values[name].dim()

    def type(self, name):
        return self.graph.types[name]

    def pick(self, types=FLOATS, rank=None, where=None):
        """Picks one of the tensors so far that has one of these types and ranks. Later tensors are picked more often."""
        low, high = rank if isinstance(rank, tuple) else (rank, rank) if rank is not None else (0, 9)
        names = [n for n, v in self.values.items() if self.type(n) in types and low <= v.dim() <= high and n not in self.graph.targets and (not where or where(n))]
        names = [n for n in names if not n.startswith("c")] or names
        if not names:
            raise Reject
        weights = np.arange(1, len(names) + 1) ** 1.5 * np.array([3 if n in self.variable else 1 for n in names])
        return names[int(self.rng.choice(len(names), p=weights / weights.sum()))]

    # -- nodes -----------------------------------------------------------------------------------------
    def add(self, op, inputs, attributes=None, types=None, outputs=1):
        """Adds a node if its results are small enough, finite, and within the range of their types. `types` are those of the results; the default is the first
        input's."""
        names = [self.fresh("t") for _ in range(outputs)]
        types = [types or self.type(inputs[0])] * outputs if not isinstance(types, list) else types
        node = Node(op, inputs, names, attributes)
        self.graph.types.update(zip(names, types))
        try:
            reference.step(node, self.values, self.graph, self.quiet)
        except (RuntimeError, IndexError, reference.NotDefined):
            raise Reject from None
        for name, dtype in zip(names, types):
            value = self.values[name]
            bad = value.numel() > MAX_ELEMENTS or value.dim() > 6
            if not bad and value.numel():
                if value.is_floating_point():
                    largest = float(value.abs().max())
                    bad = not math.isfinite(largest) or largest > self.limit
                elif value.dtype != torch.bool:
                    bad = int(value.abs().max()) > LIMITS[dtype] or (dtype == "u8" and int(value.min()) < 0)
            if bad:
                for n in names:
                    self.values.pop(n, None)
                raise Reject
        self.graph.nodes.append(node)
        if any(n in self.variable for n in inputs):
            self.variable.update(n for n, t in zip(names, types) if is_float(t))
        return names[0] if outputs == 1 else names

    def cast(self, x, dtype):
        return self.add("Cast", [x], {"to": ONNX_TYPES[dtype]}, dtype)

    def since(self, opset):
        if self.opset < opset:
            raise Reject

    def axes_argument(self, axes, since):
        """Returns (inputs after the first, attributes) of an op whose axes became an input in opset `since`."""
        if self.opset < since:
            return [], {"axes": list(axes)}
        return [self.integers(axes)], {}

    def maybe_negative(self, axis, rank):
        return axis - rank if self.chance(0.3) else axis
