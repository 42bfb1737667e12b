# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes losses of classes in a form that torch's exporter understands.

When torch 2.15 decomposes a graph for ONNX, it takes the losses of scores [N, C] and `reduction="none"` for one number, and drops the sum or the mean that forward takes of them.
Scores with one dimension more have the right shape:

    losses = cross_entropy_loss(scores, labels)   ->   losses = squeeze(cross_entropy_loss(scores[..., None], labels[..., None]), -1)

and so do log-probabilities of nll_loss.
"""
import torch

from .dropouts import arguments_of

aten = torch.ops.aten
LOSSES = {aten.cross_entropy_loss.default, aten.nll_loss.default, aten.nll_loss_nd.default}
NONE = 0  # torch's number of reduction="none"


def widen_losses(program):
    """Rewrites the losses of a captured graph, and of its bodies, as above."""
    for module in program.graph_module.modules():
        graph = getattr(module, "graph", None)
        if graph is None:
            continue
        for node in [node for node in graph.nodes if node.op == "call_function" and node.target in LOSSES]:
            arguments = arguments_of(node)
            if arguments["reduction"] == NONE and arguments["self"].meta["val"].dim() == 2:
                widen(graph, node, arguments)
        module.recompile()


def widen(graph, node, arguments):
    """Replaces one loss of scores [N, C] and labels [N], or probabilities [N, C]. `arguments`: {name: node or number}."""
    def call(target, *operands):
        made = graph.call_function(target, operands)
        made.meta = {name: value for name, value in node.meta.items() if name != "val"}
        made.meta["val"] = target(*(operand.meta["val"] if isinstance(operand, torch.fx.Node) else operand for operand in operands))
        return made

    with graph.inserting_before(node):
        scores, labels = (call(aten.unsqueeze.default, arguments[name], -1) for name in ("self", "target"))
        rest = [value for name, value in arguments.items() if name not in ("self", "target")]
        losses = call(aten.squeeze.dim, call(node.target, scores, labels, *rest), -1)
    node.replace_all_uses_with(losses)
    graph.erase_node(node)
