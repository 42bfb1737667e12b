# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes a graph that shows a fault smaller, as long as it still shows the fault: fewer nodes, earlier losses, fewer outputs."""
import time

import numpy as np
import torch

import reference
from generate import drop_unused
from graph import Node, is_float, round_to


def values_of(graph):
    """Returns all tensors of the graph, or None where it cannot be evaluated."""
    values = {}
    for group in (graph.inputs, graph.initializers, graph.targets):
        for name, array in group.items():
            values[name] = torch.from_numpy(np.array(array))
    quiet = reference.NoiseSource()
    try:
        for node in graph.nodes:
            reference.step(node, values, graph, quiet)
    except (RuntimeError, IndexError, reference.NotDefined, KeyError):
        return None
    return values


def with_sum_of(graph, name, values):
    """Returns the graph whose loss is the weighted sum of one of its tensors."""
    small = graph.copy()
    small.loss, small.targets = "", {}
    inputs = name
    if small.types[name] != "f32":
        small.nodes.append(Node("Cast", [name], ["s0"], {"to": 1}))
        small.types["s0"] = "f32"
        inputs = "s0"
    shape = values[name].shape
    small.types.update({"cw": "f32", "s1": "f32", "s2": "f32"})
    small.initializers["cw"] = round_to("f32", np.random.default_rng(0).normal(0, 1, tuple(shape)) if len(shape) else np.float64(1.0))
    small.nodes += [Node("Mul", [inputs, "cw"], ["s1"]), Node("ReduceSum", ["s1"], ["s2"], {"keepdims": 0})]
    small.outputs, small.declared = ["s2"], {"s2": []}
    return drop_unused(small)


def candidates(graph):
    """Yields smaller graphs, the most promising first."""
    values = values_of(graph)
    if values is None:
        return
    for i in range(1, len(graph.outputs)):
        small = graph.copy()
        del small.outputs[i]
        yield drop_unused(small)
    tail = {n for node in graph.nodes for n in node.outputs if n in ("s0", "s1", "s2")}
    for node in graph.nodes[:-1]:
        for name in node.outputs:
            if name in values and is_float(graph.types[name]) and name not in tail and not tail:
                yield with_sum_of(graph, name, values)
    # The results of a node become parameters or constants, so that all nodes before it can go.
    for node in reversed(graph.nodes):
        if any(n in graph.outputs for n in node.outputs) or node.op in ("Constant",):
            continue
        small = graph.copy()
        small.nodes = [n for n in small.nodes if n.outputs != node.outputs]
        renamed = {}
        for name in node.outputs:
            if name not in values:
                continue
            new = ("p9" if is_float(graph.types[name]) else "c9") + name[1:]
            while new in small.types:
                new += "0"
            renamed[name] = new
            small.types[new] = graph.types[name]
            small.initializers[new] = round_to(graph.types[name], values[name].numpy())
        for other in small.nodes:
            other.inputs = [renamed.get(n, n) for n in other.inputs]
        if small.loss.split(":")[1:2] and small.loss.split(":")[1] in renamed:
            continue
        yield drop_unused(small)
    # Nodes whose result has the type and shape of an operand are left out.
    for node in graph.nodes:
        if len(node.outputs) != 1 or node.outputs[0] in graph.outputs or not node.inputs:
            continue
        for source in node.inputs:
            if source in values and graph.types[source] == graph.types[node.outputs[0]] and values[source].shape == values[node.outputs[0]].shape:
                small = graph.copy()
                small.nodes = [n for n in small.nodes if n.outputs != node.outputs]
                for other in small.nodes:
                    other.inputs = [source if n == node.outputs[0] else n for n in other.inputs]
                yield drop_unused(small)
                break


def size(graph):
    return sum(n.op != "Constant" for n in graph.nodes) + 0.1 * (len(graph.initializers) + len(graph.inputs) + len(graph.outputs))


def shrink(graph, shows, seconds=20):
    """Returns the smallest graph found for which shows(graph) holds."""
    end = time.monotonic() + seconds
    best, progress = graph, True
    while progress and time.monotonic() < end:
        progress = False
        for small in candidates(best):
            if size(small) >= size(best) or not small.nodes or not small.parameters() or time.monotonic() > end:
                continue
            if values_of(small) is not None and shows(small):
                best, progress = small, True
                break
    return best
