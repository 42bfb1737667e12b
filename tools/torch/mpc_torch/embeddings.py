# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Keeps what modules say of the gradients of embeddings, of which ONNX's Gather says nothing.

The row `padding_idx` of an embedding gets no gradient, so it stays what it was. In torch's graph the positions that look this row up become constants:

    y = embedding(weight, ids, padding_idx)   ->   y = embedding(weight, ids);  y = where(ids == padding_idx, detach(y), y)

The values are the same, and mpc computes the `where` in the backward pass alone. `scale_grad_by_freq` divides gradients by counts that no file can hold, so it is an error.
"""
import torch

from .dropouts import arguments_of, place_of_node
from .errors import ExportError, at

aten = torch.ops.aten
LOOKUPS = {aten.embedding.default, aten._embedding_bag.default, aten.embedding_bag.default, aten.embedding_bag.padding_idx}


def keep_padding(program):
    """Rewrites the embeddings of a captured graph, and of its bodies, as above."""
    for module in program.graph_module.modules():
        graph = getattr(module, "graph", None)
        if graph is None:
            continue
        for node in [node for node in graph.nodes if node.op == "call_function" and node.target in LOOKUPS]:
            arguments = arguments_of(node)
            plain = node.target is aten.embedding.default
            if is_frozen(program, arguments["weight"]):
                if plain:
                    say_nothing(node)
                continue
            if arguments["scale_grad_by_freq"]:
                raise ExportError(f"an embedding has scale_grad_by_freq=True{at(place_of_node(node))}: the file cannot say that its gradients are divided by how often a row is read\n"
                                  "hint: make it without scale_grad_by_freq; an optimizer of the Adam family makes up for rows that are read rarely")
            if plain and arguments["padding_idx"] >= 0:
                stop_rows(graph, node, arguments["indices"], arguments["padding_idx"])
                say_nothing(node)
        module.recompile()


def say_nothing(node):
    """Removes all arguments of an embedding but its table and indices, since mpc would act on them a second time."""
    arguments = arguments_of(node)
    node.args, node.kwargs = (arguments["weight"], arguments["indices"]), {}


def is_frozen(program, table):
    """Returns whether a node is a parameter that requires no gradient."""
    name = program.graph_signature.inputs_to_parameters.get(table.name)
    return name in program.state_dict and not program.state_dict[name].requires_grad


def stop_rows(graph, node, ids, row):
    """Lets the gradient end at the positions where an embedding looks up a row."""
    def call(target, *arguments):
        made = graph.call_function(target, arguments)
        made.meta = {name: value for name, value in node.meta.items() if name in ("stack_trace", "nn_module_stack", "torch_fn", "source_fn_stack")}
        made.meta["val"] = target(*(argument.meta["val"] if isinstance(argument, torch.fx.Node) else argument for argument in arguments))
        return made

    with graph.inserting_after(node):
        stopped = call(aten.detach.default, node)
    with graph.inserting_after(stopped):
        is_row = call(aten.eq.Scalar, ids, row)
    with graph.inserting_after(is_row):
        spread = call(aten.unsqueeze.default, is_row, -1)
    with graph.inserting_after(spread):
        chosen = call(aten.where.self, spread, stopped, node)
    node.replace_all_uses_with(chosen, delete_user_cb=lambda user: user not in (stopped, chosen))
