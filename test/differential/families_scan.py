# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scans for the generator: a body of random nodes that carries, reads and stacks tensors, along any axes and in any directions. Operands may be the same tensor twice; what the body
reads may be unused, and what it carries may stay as it was."""
import families as plain
import families_nn as nn
from builder import Builder, Reject
from graph import FLOATS, Graph

NODES = [plain.unary, plain.unary, plain.activation, plain.binary, plain.binary, plain.binary, plain.logic, plain.casts, plain.reduce, plain.pickers, plain.reshape, plain.transpose,
         plain.concat, plain.slices, plain.expand, nn.matmul, nn.matmul, nn.gemm]
TYPES = FLOATS + ("i64", "bool")
MOST_TRIPS = 6


class Body(Builder):
    """Builds a body: its nodes are evaluated on the values of the first iteration. Weights and constants that it makes are initializers of the graph around it."""

    def __init__(self, outer):
        self.outer, self.rng, self.graph = outer, outer.rng, Graph(outer.opset)
        self.graph.types = outer.graph.types  # names are unique in both, so one table has all types
        self.values, self.variable = {}, set()
        self.batch, self.zeros, self.limit, self.quiet = outer.batch, False, outer.limit, outer.quiet

    def fresh(self, prefix):
        return self.outer.fresh(prefix)

    def register(self, group, name, values, dtype):
        self.outer.register(self.outer.graph.initializers, name, values, dtype)
        return self.capture(name)

    def parameter(self, shape, dtype="f32", values=None):
        self.outer.variable.add(super().parameter(shape, dtype, values))
        return next(reversed(self.values))

    def weight(self, shape, dtype="f32"):
        return self.parameter(shape, dtype) if self.chance(0.8) else self.constant(self.sample(shape, dtype), dtype)

    def capture(self, name):
        """Lets nodes of the body read a tensor of the graph around it."""
        self.values[name] = self.outer.values[name]
        if name in self.outer.variable:
            self.variable.add(name)
        return name

    def argument(self, value, like):
        name = self.fresh("a")
        self.graph.types[name], self.values[name] = self.outer.type(like), value
        if like in self.outer.variable:
            self.variable.add(name)
        return name

    def fill(self, wanted):
        """Adds up to this many nodes of random families."""
        for _ in range(6 * wanted):
            if len(self.graph.nodes) >= wanted:
                break
            try:
                self.choose(NODES)(self)
            except Reject:
                continue


def scanned(b):
    """Returns the scanned tensors and their axes; each has as many elements along its axis."""
    first = b.pick(TYPES, rank=(1, 5), where=lambda n: 0 < max(b.shape(n)) and min(b.shape(n)) > 0)
    axis = b.choose([i for i, d in enumerate(b.shape(first)) if d <= MOST_TRIPS])
    trips, result = b.shape(first)[axis], [(first, axis)]
    for _ in range(b.choose([0, 0, 1, 1, 2])):
        axes = [(n, i) for n in b.values for i, d in enumerate(b.shape(n)) if d == trips and b.rank(n) < 6 and n not in b.graph.targets and b.type(n) in TYPES]
        if b.chance(0.6):
            result.append(b.choose(result if b.chance(0.3) else axes))
            continue
        shape = [b.extent() for _ in range(b.number(0, 2))]
        axis = b.number(0, len(shape))
        result.append((b.weight(tuple(shape[:axis] + [trips] + shape[axis:])), axis))
    return trips, result


def directions(b, count):
    return [int(b.chance(0.4)) for _ in range(count)] if b.chance(0.7) else [int(b.chance(0.5))] * count


def scan(b):
    trips, over = scanned(b)
    inits = [b.pick(TYPES if b.chance(0.2) else FLOATS, rank=(0, 4), where=lambda n: 0 not in b.shape(n)) for _ in range(b.choose([0, 1, 1, 1, 2, 2, 3]))]
    if len(inits) > 1 and b.chance(0.2):
        inits[-1] = inits[0]
    input_directions = directions(b, len(over))
    body = Body(b)
    carried = [body.argument(b.values[n], n) for n in inits]
    slices = [body.argument(b.values[n].select(axis, trips - 1 if backward else 0), n) for (n, axis), backward in zip(over, input_directions)]
    for _ in range(b.choose([0, 1, 1, 2])):
        # The state's first value and the scanned tensor itself are captured now and then, too.
        body.capture(b.choose(inits + [n for n, _ in over]) if b.chance(0.3) else b.pick(TYPES, rank=(0, 4)))
    body.fill(b.number(0, 2) if b.chance(0.2) else b.number(2, 7))
    yields = [next_value(body, name) for name in carried]
    for _ in range(b.choose([0, 1, 1, 1, 2, 3]) if inits else b.choose([1, 1, 2])):
        yields.append(b.choose(yields) if yields and b.chance(0.15) else body.pick(TYPES + ("i32",), rank=(0, 4)))
    nodes = [node.to_json() for node in body.graph.nodes]
    made = set(carried + slices).union(*(node.outputs for node in body.graph.nodes))
    used = [n for node in body.graph.nodes for n in node.inputs] + yields
    captured = list(dict.fromkeys(n for n in used if n and n not in made))
    # What a body yields is made in it; ONNX has names of outputs, so two of the same value need two.
    outputs = []
    for name in yields:
        outputs.append(b.fresh("y"))
        b.graph.types[outputs[-1]] = b.type(name)
        nodes.append(["Identity", [name], outputs[-1:], {}])
    stacks = len(yields) - len(inits)
    ranks = [body.values[n].dim() + 1 for n in yields[len(inits):]]
    attributes = {"num_scan_inputs": len(over), "body": {"arguments": carried + slices, "captured": captured, "nodes": nodes, "outputs": outputs}}
    for name, values, default in (("scan_input_axes", [b.maybe_negative(axis, b.rank(n)) for n, axis in over], 0), ("scan_input_directions", input_directions, 0),
                                  ("scan_output_axes", [b.maybe_negative(b.number(0, rank - 1), rank) if b.chance(0.5) else 0 for rank in ranks], 0),
                                  ("scan_output_directions", input_directions[:1] * stacks if b.chance(0.4) else directions(b, stacks), 0)):
        if values and (any(v != default for v in values) or b.chance(0.3)):
            attributes[name] = values
    b.add("Scan", inits + [n for n, _ in over] + captured, attributes, [b.type(n) for n in outputs], outputs=len(outputs))


def next_value(body, name):
    """Returns what the body yields as the next value of a state."""
    fits = [n for n in body.values if body.shape(n) == body.shape(name) and body.type(n) == body.type(name) and n != name]
    if body.chance(0.12) or (not fits and body.type(name) not in FLOATS):
        return name
    if fits and body.chance(0.85):
        return body.choose(fits[-3:])
    if body.type(name) not in FLOATS:
        return body.choose(fits)
    return body.add("Tanh", [name])
