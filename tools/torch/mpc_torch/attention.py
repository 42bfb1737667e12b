# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lets a query that sees no key have the attention that PyTorch gives it: 0.

The exporter writes scaled_dot_product_attention as products and a Softmax, in which such a query sees keys that are hidden from it, or is NaN:

    boolean mask     Softmax(scores + Where(mask, 0, lowest float)), then 0 in place of NaN, which does not occur
    mask of floats   Softmax(scores + mask), which is NaN where all of the mask is minus infinity

Here the first mask gets minus infinity, and the second Softmax gets the 0 in place of NaN. A Softmax that forward itself calls stays as it is.
"""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

from .finish import properties
from .naming import FX_NODE

ATTENTION = "target=torch.ops.aten.scaled_dot_product_attention."
LOWEST = {TensorProto.FLOAT16: np.finfo(np.float16).min, TensorProto.FLOAT: np.finfo(np.float32).min, TensorProto.DOUBLE: np.finfo(np.float64).min,
          TensorProto.BFLOAT16: -3.3895313892515355e38}


def empty_rows(graph):
    """Changes the attentions of a graph, and of its bodies, as above."""
    for node in graph.node:
        for attribute in node.attribute:
            for body in ([attribute.g] if attribute.HasField("g") else attribute.graphs):
                empty_rows(body)
    constants = {node.output[0]: attribute.t for node in graph.node if node.op_type == "Constant" for attribute in node.attribute if attribute.name == "value"}
    made = {name: node for node in graph.node for name in node.output}
    nodes, infinity = [], {}
    for node in graph.node:
        nodes.append(node)
        if ATTENTION not in properties(node).get(FX_NODE, ""):
            continue
        if node.op_type == "Where" and is_lowest(constants.get(node.input[2])):
            kind = constants[node.input[2]].data_type
            if kind not in infinity:
                infinity[kind] = number(node, "hidden", kind, -np.inf)
                nodes.insert(-1, infinity[kind])
            node.input[2] = infinity[kind].output[0]
        elif node.op_type == "Softmax" and has_mask(node, made) and not any(other.op_type == "IsNaN" and node.output[0] in other.input for other in graph.node):
            nodes += guard(graph, node)
    del graph.node[:]
    graph.node.extend(nodes)


def is_lowest(tensor):
    return tensor is not None and tensor.data_type in LOWEST and numpy_helper.to_array(tensor).size == 1 and float(numpy_helper.to_array(tensor).item()) == float(LOWEST[tensor.data_type])


def has_mask(softmax, made):
    """Returns whether the attention adds a mask to its scores."""
    scores = made.get(softmax.input[0])
    return scores is not None and scores.op_type == "Add" and ATTENTION in properties(scores).get(FX_NODE, "")


def like(node, *arguments, **attributes):
    """Makes a node with the metadata of another one."""
    made = helper.make_node(*arguments, **attributes)
    made.metadata_props.extend(node.metadata_props)
    return made


def number(node, name, kind, value):
    return like(node, "Constant", [], [f"{node.output[0]}.{name}"], value=helper.make_tensor("", kind, [], [value]))


def guard(graph, softmax):
    """Returns the nodes that put 0 in place of NaN behind a Softmax, and lets its readers read them."""
    p = softmax.output[0]
    kind = next((value.type.tensor_type.elem_type for value in graph.value_info if value.name == p), TensorProto.FLOAT)
    for other in graph.node:
        other.input[:] = [f"{p}.seen" if name == p else name for name in other.input]
    zero = number(softmax, "zero", kind, 0.0)
    return [zero, like(softmax, "IsNaN", [p], [f"{p}.is_nan"]), like(softmax, "Where", [f"{p}.is_nan", zero.output[0], p], [f"{p}.seen"])]
