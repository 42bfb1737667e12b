# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Completes an exported model for training: batch norms, marks of frozen parameters, and the check that the file says what the module does."""
import onnx
import torch
from onnx import helper, numpy_helper

from .errors import DEFECT, ExportError
from .naming import BATCH_NORM, FX_NODE

REQUIRES_GRAD = "mpc.requires_grad"
STOP_GRADIENT = "mpc.stop_gradient"
TRAINING_FORM = "mpc.training_form"
PROTOBUF_LIMIT = 2**31 - 2**20  # in bytes; a larger file needs its values beside it


def properties(proto):
    return {entry.key: entry.value for entry in proto.metadata_props}


def set_property(proto, key, value):
    for entry in proto.metadata_props:
        if entry.key == key:
            entry.value = value
            return
    proto.metadata_props.add(key=key, value=value)


def batch_norms_in_training_form(graph):
    """Turns BatchNormalization(x, scale, bias, mean, variance) -> y, if torch used the batch's statistics, into training_mode=1 with -> y, mean', variance'."""
    for node in graph.node:
        if node.op_type != "BatchNormalization" or BATCH_NORM not in properties(node).get(FX_NODE, ""):
            continue
        kept = [attribute for attribute in node.attribute if attribute.name != "training_mode"]
        del node.attribute[:]
        node.attribute.extend([*kept, helper.make_attribute("training_mode", 1)])
        node.output[:] = [node.output[0], f"{node.output[0]}.running_mean", f"{node.output[0]}.running_var"]


def mark_frozen(graph, module):
    values = {value.name: value for value in graph.value_info}
    present = {tensor.name: tensor for tensor in graph.initializer}
    for name, parameter in module.named_parameters():
        if parameter.requires_grad or name not in present:
            continue
        if name not in values:
            values[name] = graph.value_info.add()
            values[name].CopyFrom(helper.make_tensor_value_info(name, present[name].data_type, present[name].dims))
        set_property(values[name], REQUIRES_GRAD, "False")


def unused_parameters(exported, module):
    """Returns the names of parameters that forward does not use under any of their names."""
    target_of = dict(exported.graph_signature.inputs_to_parameters)
    used = {target_of[node.name] for node in exported.graph.nodes if node.op == "placeholder" and node.name in target_of and node.users}
    by_tensor = {id(parameter): name for name, parameter in module.named_parameters()}
    used = {by_tensor[id(parameter)] for name, parameter in module.named_parameters(remove_duplicate=False) if name in used}
    return set(by_tensor.values()) - used


def check(model, module, exported, unused):
    """Checks parameters, gradient stops and names against the module and torch's graph, and the file against ONNX."""
    check_parameters(model.graph, module, unused)
    check_stops(model.graph, exported)
    check_names(model.graph)
    if model.ByteSize() <= PROTOBUF_LIMIT:
        check_onnx(model)


def tensor_of(stored):
    """Returns the tensor of an initializer. numpy has no bfloat16 of its own, which fits into float32."""
    array = numpy_helper.to_array(stored)
    return torch.from_numpy(array.astype("float32") if stored.data_type == onnx.TensorProto.BFLOAT16 else array.copy())


def check_parameters(graph, module, unused):
    """Checks that every parameter that requires a gradient and is used is an initializer with its name, shape and values."""
    present = {tensor.name: tensor for tensor in graph.initializer}
    wrong = []
    for name, parameter in module.named_parameters():
        if not parameter.requires_grad or name in unused:
            continue
        if name not in present:
            wrong.append(f"{name} {list(parameter.shape)} is missing")
        elif list(present[name].dims) != list(parameter.shape):
            wrong.append(f"{name} is {list(present[name].dims)} instead of {list(parameter.shape)}")
        elif not torch.equal(tensor_of(present[name]).to(parameter.dtype), parameter.detach().cpu()):
            wrong.append(f"{name} has other values")
    if wrong:
        raise ExportError("the exporter changed parameters: " + "; ".join(wrong) + "\n" + DEFECT)


def mark_stops(graph):
    """Marks each Identity that is a detach, for tools that lose or change what the exporter notes of its nodes."""
    for node in graph.node:
        if node.op_type == "Identity" and "target=torch.ops.aten.detach." in properties(node).get(FX_NODE, ""):
            set_property(node, STOP_GRADIENT, "True")


def check_stops(graph, exported):
    """Checks that every detach of torch's graph that something reads is an Identity in the file."""
    detached = [node for node in exported.graph.nodes if node.op == "call_function" and node.target is torch.ops.aten.detach.default]
    wanted = sum(bool(node.users) and node.meta["val"].is_floating_point() for node in detached)
    left = sum(properties(node).get(STOP_GRADIENT) == "True" for node in graph.node)
    if left < wanted:
        raise ExportError(f"the exporter lost gradient stops: {left} of {wanted} are left of detach() and no_grad\n{DEFECT}")


def check_names(graph, outer=frozenset()):
    """Checks that each value is defined once, before it is read. ONNX allows no body to hide a name of the graph around it."""
    defined = set(outer)

    def define(names):
        for name in filter(None, names):
            if name in defined:
                raise ExportError(f"the file would define '{name}' twice\nhint: this is a defect of this tool; give the parameter, buffer or output another name")
            defined.add(name)

    initializers = {tensor.name for tensor in graph.initializer}
    define([value.name for value in graph.input if value.name not in initializers] + [tensor.name for tensor in graph.initializer])
    for node in graph.node:
        for name in filter(None, node.input):
            if name not in defined:
                raise ExportError(f"the file would read '{name}' in a node {node.op_type} before it is made\n{DEFECT}")
        for attribute in node.attribute:
            for body in ([attribute.g] if attribute.type == onnx.AttributeProto.GRAPH else attribute.graphs):
                check_names(body, defined)
        define(node.output)


def check_onnx(model):
    """Runs the checker of ONNX on a model, or on the file of a path."""
    try:
        onnx.checker.check_model(model)
    except onnx.checker.ValidationError as error:
        raise ExportError(f"the exporter wrote what ONNX does not allow: {' '.join(str(error).split())[:400]}\n{DEFECT}") from None
