# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lets a query that sees no key have the attention that PyTorch gives it: 0.

The exporter writes scaled_dot_product_attention as products and a Softmax, in which such a query sees keys that are hidden from it, or is NaN:

    boolean mask     Softmax(scores + Where(mask, 0, lowest number)), then 0 in place of NaN, which does not occur
    mask of floats   Softmax(scores + mask), which is NaN where all of the mask is minus infinity

Here the first mask gets minus infinity, and the second Softmax gets the 0 in place of NaN. The causal mask hides no query's own key, so it stays as it is, and so does a Softmax that
forward itself calls. This comes before the conversion to an opset, which may lose what the exporter notes of its nodes.
"""
import numpy as np
import onnx_ir as ir
import torch

from .naming import FX_NODE

ATTENTION = "target=torch.ops.aten.scaled_dot_product_attention."


def empty_rows(model):
    """Changes the attentions of a model (onnx_ir.Model), and of its bodies, as above."""
    for node in list(ir.traversal.RecursiveGraphIterator(model.graph)):
        if not is_part(node):
            continue
        if node.op_type == "Where" and is_lowest(node.inputs[2]):
            node.replace_input_with(2, number(node, constant_of(node.inputs[2]).dtype, -np.inf))
        elif node.op_type == "Softmax" and adds_mask(node.inputs[0].producer()) and not any(reader.op_type == "IsNaN" for reader, _ in node.outputs[0].uses()):
            guard(node)


def is_part(node):
    """Returns whether a node is a part of an attention."""
    return node is not None and ATTENTION in node.metadata_props.get(FX_NODE, "")


def constant_of(value):
    """Returns the tensor of a constant, and None for other values."""
    node = value.producer()
    stored = value.const_value
    if stored is None and node is not None and node.op_type == "Constant" and "value" in node.attributes:
        stored = node.attributes["value"].value
    return stored


def is_lowest(value):
    """Returns whether a value is one number, the lowest of its type."""
    stored = constant_of(value)
    if stored is None or stored.size != 1 or not stored.dtype.is_floating_point():
        return False
    lowest = torch.finfo(torch.bfloat16).min if stored.dtype == ir.DataType.BFLOAT16 else np.finfo(stored.dtype.numpy()).min
    return float(stored.numpy().item()) == float(lowest)


def adds_mask(scores):
    """Returns whether a node adds a mask that forward gives the attention."""
    return is_part(scores) and scores.op_type == "Add" and any(not is_part(value.producer()) for value in scores.inputs)


def number(before, dtype, value):
    """Returns a number that a new node in front of another one makes."""
    array = np.array(value, np.float32).astype(dtype.numpy())
    node = ir.node("Constant", [], {"value": ir.tensor(array, dtype=dtype)}, metadata_props=dict(before.metadata_props))
    before.graph.insert_before(before, node)
    return node.outputs[0]


def guard(softmax):
    """Lets the readers of a Softmax read 0 in place of NaN."""
    p, properties = softmax.outputs[0], dict(softmax.metadata_props)
    readers = list(p.uses())
    zero = ir.node("Constant", [], {"value": ir.tensor(np.array(0, np.float32))}, metadata_props=dict(properties))
    like = ir.node("CastLike", [zero.outputs[0], p], metadata_props=dict(properties))
    is_nan = ir.node("IsNaN", [p], metadata_props=dict(properties))
    chosen = ir.node("Where", [is_nan.outputs[0], like.outputs[0], p], metadata_props=dict(properties))
    softmax.graph.insert_after(softmax, [zero, like, is_nan, chosen])
    for reader, index in readers:
        reader.replace_input_with(index, chosen.outputs[0])
