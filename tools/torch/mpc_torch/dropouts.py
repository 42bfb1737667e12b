# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Puts the dropouts of forward into the file, and says which are there.

The exporter writes the dropout of scaled_dot_product_attention without training_mode, in the form of a dropout that is switched off:

    Dropout(weights, 0.1) -> y      becomes      Dropout(weights, 0.1, true) -> y
"""
import collections
import re

import numpy
import onnx
import torch
from onnx import helper, numpy_helper

from .errors import at, is_users

MASKS = ("alpha_dropout", "feature_dropout", "feature_alpha_dropout")  # they become a mask of random numbers, and so do dropouts in place
ALPHA = ("alpha_dropout", "feature_alpha_dropout")  # what they drop is not 0, so mpc does not know their masks as dropouts
RANDOM = ("RandomUniformLike", "RandomUniform", "Bernoulli")


class Call:
    """A dropout that forward calls: its name, its probability, the place in the user's code, and whether the exporter writes a mask of random numbers for it."""

    def __init__(self, name, p, place, is_mask):
        self.name, self.p, self.place, self.is_mask = name, p, place, is_mask

    def __str__(self):
        return f"{self.name} of {self.p:g}{at(self.place)}"


def place_of_node(node):
    found = ""
    for file, line in re.findall(r'File "([^"]+)", line (\d+)', str(node.meta.get("stack_trace", ""))):
        if is_users(file):
            found = f"{file}:{line}"
    return found


def arguments_of(node):
    """Returns the arguments of a call in a captured graph by name, with the defaults of those that are left out."""
    arguments = node.target._schema.arguments
    return {argument.name: argument.default_value for argument in arguments} | dict(zip((argument.name for argument in arguments), node.args)) | dict(node.kwargs)


def calls(program):
    """Returns the active dropouts of a captured graph, one for each layer of an RNN but the last."""
    found = []
    for module in program.graph_module.modules():
        for node in getattr(getattr(module, "graph", None), "nodes", ()):
            if node.op != "call_function" or not isinstance(node.target, torch._ops.OpOverload):
                continue
            given = arguments_of(node)
            name = node.target._schema.name.partition("::")[2]
            p, active, times = 0.0, given.get("train", True), 1
            if "dropout" in name and "p" in given:
                p = given["p"]
            elif "dropout_p" in given:
                p = given["dropout_p"]
            elif "num_layers" in given and "dropout" in given:
                p, times = given["dropout"], given["num_layers"] - 1
            if active and isinstance(p, float) and p > 0:
                found += [Call(name.rstrip("_"), p, place_of_node(node), name.endswith("_") or name in MASKS)] * times
    return found


def all_nodes(model):
    """Yields the nodes of a model, of bodies and of functions too."""
    graphs = [model.graph, *model.functions]
    while graphs:
        for node in graphs.pop().node:
            yield node
            for attribute in node.attribute:
                graphs += [attribute.g] if attribute.type == onnx.AttributeProto.GRAPH else attribute.graphs


def activate(graph):
    """Gives each Dropout of the graph that has no training_mode a true one."""
    waiting = [node for node in graph.node if node.op_type == "Dropout" and (len(node.input) < 3 or not node.input[2])]
    for node in waiting:
        training = helper.make_node("Constant", [], [f"{node.output[0]}.training_mode"], value=numpy_helper.from_array(numpy.array(True)))
        graph.node.insert(next(i for i, other in enumerate(graph.node) if other is node or other == node), training)
        node.input[:] = [*node.input[:1], node.input[1] if len(node.input) > 1 else "", training.output[0]]


def ratios(model):
    """Returns the probabilities of the model's Dropout nodes, None where it is computed."""
    nodes = list(all_nodes(model))
    made = {output: node for node in nodes for output in node.output}
    stored = {tensor.name: tensor for tensor in model.graph.initializer}

    def number(name):
        while name in made and made[name].op_type in ("Cast", "CastLike", "Identity"):
            name = made[name].input[0]
        if name in stored:
            return float(numpy_helper.to_array(stored[name]))
        value = next((a for a in made[name].attribute if a.name in ("value", "value_float")), None) if name in made else None
        return None if value is None else value.f if value.name == "value_float" else float(numpy_helper.to_array(value.t))

    return [number(node.input[1]) if len(node.input) > 1 and node.input[1] else 0.5 for node in nodes if node.op_type == "Dropout"]


def notes(program, model):
    """Returns what there is to say on the dropouts of a captured graph: how many are in the file, and which are not."""
    wanted = calls(program)
    if not wanted:
        return []
    left = collections.Counter(None if p is None else round(p, 6) for p in ratios(model))
    masks = sum(node.op_type in RANDOM for node in all_nodes(model))
    lost = []
    for call in wanted:
        if call.is_mask and masks > 0:
            masks -= 1
        elif left[round(call.p, 6)] > 0:
            left[round(call.p, 6)] -= 1
        elif left[None] > 0:
            left[None] -= 1
        else:
            lost.append(call)
    kept = len(wanted) - len(lost)
    probabilities = ", ".join(f"{p:g}" for p in dict.fromkeys(call.p for call in wanted if call not in lost))
    said = [f"dropout: {kept} of forward's {len(wanted)} are in the file" + (f", of {probabilities}" if kept else "")]
    said += [f"eval and predict drop, too: the {call}, whose form in the file mpc does not know as a dropout" for call in wanted if call.name in ALPHA and call not in lost]
    return said + [f"not in the file: the dropout {call}; mpc trains without it. Write it with torch.nn.functional.dropout to keep it" for call in lost]
