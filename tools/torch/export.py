#!/usr/bin/env python3
"""Exports a torch module to an ONNX file that mpc trains exactly as torch would.

In Python:
    from export import export
    export(model, {"x": torch.randn(2, 3, 224, 224)}, "model.onnx", outputs=["logits"])
or as a command (see --help):
    export.py torchvision.models:resnet18 --input x=2x3x224x224 --output logits -o resnet18.onnx

What it does, and why:
- It uses the dynamo exporter with optimize=False. The optimizer of torch.onnx (the default) folds batch norms into convolutions in train mode too, merges equal parameters, drops
  zero biases and turns parameters into anonymous constants. The legacy exporter (dynamo=False) moves running statistics while it traces, and cannot export some networks.
- It exports in train mode: dropout stays, and batch norms use the statistics of the batch. Modules keep their modes when the network is in train mode already, so that a part
  put into eval mode (a frozen batch norm) stays in it.
- Dynamo writes batch norms in inference form in either mode; those that were in train mode get `training_mode=1` and their new statistics as outputs.
- A parameter that is shared under several names gets the name of `named_parameters()`.
- The requires_grad of a parameter, which no exporter writes, becomes the metadata `mpc.requires_grad` of its value. The file's metadata `mpc.training_form` says that norms in
  inference form are intended.
- At the end, the file is checked: every parameter that requires a gradient and is used is there, under its name, with its shape and values.

It needs torch >= 2.9 and onnxscript, and nothing of mpc.
"""
import argparse
import contextlib
import functools
import importlib
import importlib.util
import inspect
import io
import logging
import os
import pickle
import re
import sys
import warnings

import onnx
import torch
from onnx import helper, numpy_helper

SIGNATURE = "pkg.torch.export.ExportedProgram.graph_signature"
FX_NODE = "pkg.torch.onnx.fx_node"
REQUIRES_GRAD = "mpc.requires_grad"
TRAINING_FORM = "mpc.training_form"
PROTOBUF_LIMIT = 2**31 - 2**20  # in bytes; a larger file needs its values beside it


class ExportError(Exception):
    """Says what is wrong, and in a second line what to do."""


def export(module, inputs, path, *, outputs=None, dynamic=None, batch="batch", opset=None):
    """Writes `module` to `path` in its training form, and returns notes on what a reader of the file should know.

    inputs: examples, as a dict by the names of forward's arguments; labels too if forward takes them. The first dimension must be 2 or more.
    outputs: names of the outputs, in order; if forward returns a dict (or a ModelOutput of transformers), the keys to keep.
    dynamic: names of further free dimensions, such as {"input_ids": {1: "tokens"}}.
    batch: name of the free first dimension of all inputs; None fixes it.
    """
    check_names(module, inputs, outputs)
    shapes = free_dimensions(inputs, dynamic or {}, batch)
    with train_mode(module), selected_outputs(module, outputs) as names:
        program = exported(module, kwargs=inputs, opset_version=opset, dynamic_shapes=shapes, input_names=list(inputs))
    model = program.model_proto
    rename_outputs(model.graph, names)
    rename_shared(model.graph, module)
    batch_norms_in_training_form(model.graph)
    mark_frozen(model.graph, module)
    set_property(model, TRAINING_FORM, "True")
    unused = unused_parameters(program.exported_program, module)
    check(model.graph, module, unused)
    large = model.ByteSize() > PROTOBUF_LIMIT
    try:
        onnx.save(model, path, save_as_external_data=large, location=f"{os.path.basename(path)}.data" if large else None)
    except OSError as error:
        raise ExportError(f"cannot write '{path}': {error.strerror}\nhint: name a file in a folder that exists and can be written") from None
    return [f"not in the file, for forward does not use it: {name}" for name in sorted(unused)]


@contextlib.contextmanager
def quiet():
    """Silences torch's warnings, logs and prints, because torch prints its errors several times before it raises them."""
    level = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(level)


def check_names(module, inputs, outputs):
    """Checks that inputs are arguments of forward, and that outputs have different names."""
    signature = inspect.signature(module.forward)
    try:
        signature.bind(**inputs)
    except TypeError as error:
        raise ExportError(f"the inputs do not fit forward: {error}\nhint: forward takes {', '.join(map(str, signature.parameters.values())) or 'nothing'}") from None
    twice = [name for name in outputs or [] if outputs.count(name) > 1]
    if twice:
        raise ExportError(f"two outputs have the name '{twice[0]}'\nhint: give each output a name of its own")


def exported(module, **options):
    """Calls torch.onnx.export. Its errors are pages long, so only the one that began it is raised."""
    try:
        with quiet():
            return torch.onnx.export(module, (), dynamo=True, optimize=False, verbose=False, **options)
    except torch.onnx.OnnxExporterError as error:
        cause = error
        while cause.__cause__ and not isinstance(cause, ExportError):
            cause = cause.__cause__
        if isinstance(cause, ExportError):
            raise cause from None
        raise ExportError(f"torch cannot export this module: {type(cause).__name__}: {str(cause).strip().splitlines()[0]}\n"
                          "hint: torch.export.export(module, ...) shows where; networks of transformers may need attn_implementation=\"eager\"") from error


def free_dimensions(inputs, dynamic, batch):
    """Returns the dynamic_shapes of torch.export; dimensions with the same name are one."""
    made = {}

    def dimension(name):
        return made.setdefault(name, torch.export.Dim(name))

    shapes = {}
    for name, value in inputs.items():
        if not isinstance(value, torch.Tensor):
            shapes[name] = None
            continue
        free = {**({0: batch} if batch and value.dim() else {}), **dynamic.get(name, {})}
        for axis, label in free.items():
            if axis >= value.dim():
                raise ExportError(f"the example '{name}' has no dimension {axis} ('{label}'): its shape is {list(value.shape)}\nhint: dimensions are counted from 0")
            if value.shape[axis] < 2:
                raise ExportError(f"dimension {axis} ('{label}') of the example '{name}' is {value.shape[axis]}: torch takes 0 and 1 as constants\n"
                                  f"hint: give an example whose dimension {axis} is 2 or more, or fix the dimension")
        shapes[name] = {axis: dimension(label) for axis, label in free.items()}
    unknown = set(dynamic) - set(inputs)
    if unknown:
        raise ExportError(f"free dimensions of '{min(unknown)}', which is no input\nhint: the inputs are {', '.join(inputs)}")
    return shapes if any(shapes.values()) else None


@contextlib.contextmanager
def train_mode(module):
    """Puts the module in train mode; if it is in train mode already, its parts keep their modes."""
    modes = [(part, part.training) for part in module.modules()]
    if not module.training:
        module.train()
    try:
        yield
    finally:
        for part, training in modes:
            part.training = training


@contextlib.contextmanager
def selected_outputs(module, wanted):
    """Makes forward return a tuple of tensors, and yields the list to which their names are added."""
    forward, names = module.forward, []

    @functools.wraps(forward)
    def selecting(*arguments, **keywords):
        result = forward(*arguments, **keywords)
        if isinstance(result, torch.Tensor):
            result = {(wanted or ["output"])[0]: result}
        elif not hasattr(result, "keys"):
            labels = wanted or [f"output_{i}" for i in range(len(result))]
            result = dict(zip(labels, result))
        missing = [name for name in wanted or [] if name not in result]
        if missing:
            raise ExportError(f"forward returns no output '{missing[0]}'\nhint: it returns {', '.join(result.keys())}")
        names[:] = [name for name in wanted or result.keys() if isinstance(result[name], torch.Tensor)]
        return tuple(result[name] for name in names)

    own = "forward" in vars(module)
    module.forward = selecting
    try:
        yield names
    finally:
        module.forward = forward
        if not own:
            del module.forward


def properties(proto):
    return {entry.key: entry.value for entry in proto.metadata_props}


def set_property(proto, key, value):
    for entry in proto.metadata_props:
        if entry.key == key:
            entry.value = value
            return
    proto.metadata_props.add(key=key, value=value)


def rename(graph, names):
    """Renames values by {old: new}."""
    for node in graph.node:
        node.input[:] = [names.get(name, name) for name in node.input]
        node.output[:] = [names.get(name, name) for name in node.output]
        for attribute in node.attribute:
            for body in ([attribute.g] if attribute.type == onnx.AttributeProto.GRAPH else attribute.graphs):
                rename(body, names)
    for value in [*graph.initializer, *graph.value_info, *graph.input, *graph.output]:
        value.name = names.get(value.name, value.name)


def rename_outputs(graph, names):
    taken = {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer}
    new = {}
    for value, name in zip(graph.output, names):
        if name in taken:
            raise ExportError(f"the output '{name}' has the name of an input or a parameter\nhint: choose another with outputs= (--output)")
        new[value.name] = name
    inner = {name for node in graph.node for name in node.output}
    for name in set(new.values()) & (inner - set(new)):
        new[name] = f"{name}.inner"  # a value within the network may happen to have the name of an output
    rename(graph, new)


def rename_shared(graph, module):
    """Renames shared parameters, because dynamo names one by its last name and torch's optimizers by its first."""
    first = {id(parameter): name for name, parameter in module.named_parameters()}
    new = {name: first[id(parameter)] for name, parameter in module.named_parameters(remove_duplicate=False) if first[id(parameter)] != name}
    if not new:
        return
    rename(graph, new)
    signature = properties(graph).get(SIGNATURE, "")
    set_property(graph, SIGNATURE, re.sub(r"target='([^']*)'", lambda match: f"target='{new.get(match[1], match[1])}'", signature))


def batch_norms_in_training_form(graph):
    """Turns BatchNormalization(x, scale, bias, mean, variance) -> y, if torch used the batch's statistics, into training_mode=1 with -> y, mean', variance'."""
    for node in graph.node:
        if node.op_type != "BatchNormalization" or "_native_batch_norm_legit_functional" not in properties(node).get(FX_NODE, ""):
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


def check(graph, module, unused):
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
        elif not torch.equal(torch.from_numpy(numpy_helper.to_array(present[name]).copy()).to(parameter.dtype), parameter.detach().cpu()):
            wrong.append(f"{name} has other values")
    if wrong:
        raise ExportError("the exporter changed parameters: " + "; ".join(wrong) + "\nhint: this is a defect of this torch version's exporter; try another version")


def load_object(text):
    """Returns the object NAME of `package.module:NAME` or `file.py:NAME`."""
    place, _, name = text.rpartition(":")
    if not place:
        raise ExportError(f"'{text}' names no object\nhint: write package.module:NAME or file.py:NAME")
    try:
        if place.endswith(".py"):
            spec = importlib.util.spec_from_file_location("exported_module", place)
            found = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(found)
        else:
            found = importlib.import_module(place)
        return functools.reduce(getattr, name.split("."), found)
    except (ImportError, FileNotFoundError, AttributeError) as error:
        raise ExportError(f"'{text}': {error}\nhint: write package.module:NAME or file.py:NAME") from None


def make_module(text, arguments):
    """Returns the module that `text` names, or the module that the named function or class makes of the arguments."""
    found = load_object(text)
    if isinstance(found, torch.nn.Module):
        if arguments:
            raise ExportError(f"'{text}' is a module already, and takes no --set\nhint: name a function or class that makes one")
        return found
    try:
        inspect.signature(found).bind(**arguments)
    except (TypeError, ValueError) as error:
        raise ExportError(f"'{text}' cannot be called: {error}\nhint: name a module, or a function or class that makes one of what --set gives") from None
    try:
        module = found(**arguments)
    except TypeError as error:  # the function may pass its **keywords on
        raise ExportError(f"'{text}' cannot be called with {', '.join(arguments) or 'no argument'}: {error}\nhint: correct the --set options") from error
    if not isinstance(module, torch.nn.Module):
        raise ExportError(f"'{text}' makes no torch module, but a {type(module).__name__}\nhint: name a module, or a function or class that makes one")
    return module


def load_weights(module, path):
    try:
        module.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
    except OSError as error:
        raise ExportError(f"--weights {path}: {error.strerror}\nhint: name a file that torch.save wrote") from None
    except (RuntimeError, TypeError, AttributeError, EOFError, pickle.UnpicklingError) as error:
        raise ExportError(f"--weights {path}: {' '.join(str(error).split())[:300]}\nhint: name a state dict of this module: torch.save(module.state_dict(), FILE)") from None


def freeze(module, regex):
    try:
        frozen = [parameter for name, parameter in module.named_parameters() if re.search(regex, name)]
    except re.error as error:
        raise ExportError(f"--freeze '{regex}' is no regular expression: {error}\nhint: write '^(conv1|bn1)', for example") from None
    if not frozen:
        raise ExportError(f"--freeze '{regex}' matches no parameter\nhint: the first is '{next((name for name, _ in module.named_parameters()), '')}'")
    for parameter in frozen:
        parameter.requires_grad_(False)


def parse_setting(text):
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise ExportError(f"--set {text} is not understood\nhint: write KEY=VALUE, as num_classes=10")
    return key, parse_value(value)


def parse_value(text):
    """Returns a Python literal if the text is one, else the text."""
    import ast
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def parse_input(text):
    """Parses an example: NAME=2x3x8x8 is float32; NAME=2x16:int64:100 holds random numbers below 100."""
    match = re.fullmatch(r"(\w+)=((?:\d+x)*\d+)(?::(\w+))?(?::(\d+))?", text)
    if not match:
        raise ExportError(f"--input {text} is not understood\nhint: write NAME=2x3x224x224, or NAME=2x16:int64:BELOW for integers")
    name, shape, dtype, below = match[1], [int(n) for n in match[2].split("x")], getattr(torch, match[3] or "float32", None), int(match[4] or 2)
    if not isinstance(dtype, torch.dtype):
        raise ExportError(f"--input {text}: torch has no type '{match[3]}'\nhint: float32, int64, bool …")
    integer = not dtype.is_floating_point and not dtype.is_complex
    return name, torch.randint(0, below, shape).to(dtype) if integer else torch.randn(shape, dtype=dtype)


def main():
    parser = argparse.ArgumentParser(description="Exports a torch module to an ONNX file for training with mpc.")
    parser.add_argument("module", help="package.module:NAME or file.py:NAME of a module, or of a function or class that makes one")
    parser.add_argument("-o", "--out", required=True, help="ONNX file to write")
    parser.add_argument("--input", action="append", required=True, metavar="NAME=SHAPE[:TYPE[:BELOW]]", help="an argument of forward, as x=2x3x224x224 or ids=2x16:int64:50257")
    parser.add_argument("--output", action="append", metavar="NAME", help="name of an output, in order, or a key of the dict that forward returns")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="keyword argument of the function, as num_classes=10")
    parser.add_argument("--weights", metavar="FILE", help="state dict to load (torch.save)")
    parser.add_argument("--freeze", metavar="REGEX", help="parameters that get requires_grad=False")
    parser.add_argument("--free", action="append", default=[], metavar="INPUT:AXIS=NAME", help="a further free dimension, as ids:1=tokens")
    parser.add_argument("--batch", default="batch", metavar="NAME", help="name of the free first dimension; '' fixes it")
    parser.add_argument("--opset", type=int)
    arguments = parser.parse_args()
    try:
        inputs = dict(parse_input(text) for text in arguments.input)
        dynamic = {}
        for text in arguments.free:
            match = re.fullmatch(r"(\w+):(\d+)=(\w+)", text)
            if not match:
                raise ExportError(f"--free {text} is not understood\nhint: write INPUT:AXIS=NAME, as ids:1=tokens")
            dynamic.setdefault(match[1], {})[int(match[2])] = match[3]
        module = make_module(arguments.module, dict(map(parse_setting, arguments.set)))
        if arguments.weights:
            load_weights(module, arguments.weights)
        if arguments.freeze:
            freeze(module, arguments.freeze)
        notes = export(module, inputs, arguments.out, outputs=arguments.output, dynamic=dynamic, batch=arguments.batch or None, opset=arguments.opset)
    except ExportError as error:
        sys.exit(f"error: {error}")
    for note in notes:
        print(f"note: {note}")
    print(f"{arguments.out}: {sum(p.requires_grad for p in module.parameters())} parameters to train")


if __name__ == "__main__":
    main()
