# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes a random typed graph from a seed: inputs, some parameters, nodes of weighted families, and a loss."""
import numpy as np

import families as plain
import families_nn as nn
from families_movement import MOVES, with_movement
from families_recurrent import recurrent, with_recurrent
from families_scan import scan
from builder import Builder, Reject
from graph import Node

FAMILIES = [(plain.unary, 10), (plain.activation, 5), (plain.binary, 10), (plain.logic, 3), (plain.casts, 3), (plain.reduce, 5), (plain.pickers, 4), (plain.reshape, 5),
            (plain.transpose, 5), (plain.concat, 4), (plain.split, 2), (plain.slices, 3), (plain.expand, 3), (plain.pad, 2), (plain.blocks, 1), (plain.trilu, 1),
            (plain.gather, 4), (plain.shape_sums, 2), (plain.extremes_of_floats, 1), (plain.data_gather, 2), (nn.matmul, 6), (nn.einsum, 2), (nn.gemm, 3), (nn.conv, 6), (nn.conv_transpose, 2), (nn.pool, 4), (nn.norm, 5), (nn.composed_norm, 3), (nn.resize, 1),
            (nn.dropout, 1), (nn.loss_op, 1), (nn.chain, 4), (nn.attention, 1), (scan, 1), (recurrent, 1)]
FUNCTIONS = [f for f, _ in FAMILIES]
WEIGHTS = np.array([w for _, w in FAMILIES], float) / sum(w for _, w in FAMILIES)


def generate(seed, must_have=""):
    """Returns the graph of a seed, or None where the seed leads to none that can be trained. `must_have` is empty, or what it has in any case: "scan", "recurrent" (RNN, GRU, LSTM) or
    "movement" (a chain of concatenations, slices, pads and splits)."""
    b = Builder(seed)
    try:
        begin(b)
        if must_have:
            nodes(b, b.number(0, 3))
            {"scan": with_scan, "recurrent": with_recurrent, "movement": with_movement}[must_have](b)
            if must_have != "movement":  # which ends with the sum that is trained
                nodes(b, len(b.graph.nodes) + b.number(0, 3))
        else:
            nodes(b, b.number(1, 4) if b.chance(0.2) else b.number(3, 14))
        finish(b, own_loss=must_have == "movement")
    except Reject:
        return None
    prune(b)
    wanted = {"": None, "scan": {"Scan"}, "recurrent": {"RNN", "GRU", "LSTM"}, "movement": set(MOVES)}[must_have]
    return b.graph if not wanted or any(node.op in wanted for node in b.graph.nodes) else None


def begin(b):
    for _ in range(b.number(1, 3)):
        rank = b.choose([1, 2, 2, 3, 3, 4, 4, 5])
        b.input((b.batch,) + tuple(b.extent() for _ in range(rank - 1)), b.float_type())
    if b.chance(0.3):
        b.input((b.batch,) + tuple(b.extent() for _ in range(b.number(0, 2))), b.choose(["i64", "i32", "bool"]))
    b.parameter(tuple(b.extent() for _ in range(b.number(0, 4))), b.float_type())


def with_scan(b):
    """Adds a Scan, and another one now and then."""
    for _ in range(20):
        try:
            scan(b)
            if b.chance(0.7):
                return
        except Reject:
            continue
    if all(node.op != "Scan" for node in b.graph.nodes):
        raise Reject


def nodes(b, wanted):
    tries = 0
    while len(b.graph.nodes) < wanted and tries < 80:
        tries += 1
        family = FUNCTIONS[int(b.rng.choice(len(FUNCTIONS), p=WEIGHTS))]
        try:
            family(b)
        except Reject:
            continue


def trained(b):
    """Returns the float results that depend on a parameter, the last first."""
    computed = [n for node in b.graph.nodes for n in node.outputs]
    return [n for n in reversed(computed) if n in b.variable and n in b.values and b.values[n].is_floating_point()]


def finish(b, own_loss):
    """Adds the loss. `own_loss`: the graph computes it itself."""
    ends = trained(b)
    if not ends:
        raise Reject
    g = b.graph
    if not own_loss and b.chance(0.35):
        with_loss_option(b, ends)
    else:
        terms = []
        for x in ends[:1] + ([b.choose(ends)] if b.chance(0.5) else []) + ([b.choose(ends)] if b.chance(0.2) else []):
            x = nn.cast_back(b, x)
            if b.rank(x) and b.chance(0.7):
                x = b.add("Mul", [x, b.constant(b.sample(b.shape(x), "f32"), "f32")])
            # ReduceMean is not used on an empty tensor, whose mean is NaN.
            x = b.add("ReduceMean" if b.chance(0.5) and 0 not in b.shape(x) else "ReduceSum", [x], {"keepdims": 0})
            terms.append(x)
        if not b.chance(0.03):  # a loss that reads no data is a rare case of its own
            terms.append(b.add("ReduceMean", [b.input((b.batch,))], {"keepdims": 0}))
        loss = b.add("Sum", terms) if len(terms) > 1 else b.add("Identity", terms) if b.chance(0.5) else terms[0]
        g.outputs = [loss]
    for x in ends[1:]:
        if b.chance(0.12) and x not in g.outputs:
            g.outputs.append(x)
    g.declared = {n: b.shape(n) for n in g.outputs}


def with_loss_option(b, ends):
    """Gives the graph a loss of the form `--loss KIND:out:target`."""
    g = b.graph
    ends = [x for x in ends if b.rank(x) and b.shape(x)[0] == b.batch and 0 not in b.shape(x)]
    if not ends:
        raise Reject
    x = nn.cast_back(b, ends[0])
    kinds = ["mse", "l1", "smooth_l1", "bce_with_logits"] + (["softmax_cross_entropy"] * 3 if b.rank(x) == 2 else [])
    kind = b.choose(kinds)
    out = b.add("Identity", [x])
    g.outputs = [out]
    if kind == "softmax_cross_entropy":
        target, dtype = b.rng.integers(0, b.shape(x)[1], b.shape(x)[:1]), "i64"
    else:
        target, dtype = (b.rng.random(b.shape(x)) if kind == "bce_with_logits" else b.sample(b.shape(x), "f32")), "f32"
    b.register(g.targets, "target", target, dtype)
    g.loss = f"{kind}:{out}:target"


def prune(b):
    """Mostly removes unused initializers and inputs, and nodes that nothing needs."""
    g = b.graph
    if b.chance(0.85):
        needed, kept = set(g.outputs), []
        for node in reversed(g.nodes):
            if needed & set(node.outputs):
                kept.append(node)
                needed.update(n for n in node.inputs if n)
        g.nodes = kept[::-1]
    used = {n for node in g.nodes for n in node.inputs} | set(g.outputs)
    g.inputs = {n: v for n, v in g.inputs.items() if n in used}
    g.initializers = {n: v for n, v in g.initializers.items() if n in used or (n.startswith("c") and b.chance(0.05))}


def drop_unused(graph):
    """Removes the same for the shrinker, always."""
    needed, kept = set(graph.outputs), []
    for node in reversed(graph.nodes):
        if needed & set(node.outputs):
            kept.append(node)
            needed.update(n for n in node.inputs if n)
    graph.nodes = kept[::-1]
    used = needed
    graph.inputs = {n: v for n, v in graph.inputs.items() if n in used}
    graph.initializers = {n: v for n, v in graph.initializers.items() if n in used}
    return graph


__all__ = ["generate", "drop_unused", "Node"]
