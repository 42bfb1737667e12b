# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Captures a module with torch's exporter: modes, free dimensions and outputs before, and the exporter's errors and silent decisions after."""
import contextlib
import functools
import inspect
import io
import logging
import re
import warnings

import torch

from . import embeddings, losses_of_torch, recurrent, stops
from .errors import ExportError, at, place_of

GRAD_REGION = "wrap_with_set_grad_enabled"
CONSTANT = (bool, int, float, complex, str, type(None))  # types of arguments of forward that are no inputs of the file


class Captured:
    """What the exporter made: `traced`, torch's graph of forward; `program`, torch's ONNXProgram, whose model has not been converted to `opset` yet; `names` of its
    outputs; `notes` for the user."""

    def __init__(self, traced, program, names, opset, notes):
        self.traced, self.program, self.names, self.opset, self.notes = traced, program, names, opset, notes


def capture(module, inputs, outputs, dynamic, batch, opset, accept_functions):
    check_names(module, inputs, outputs)
    stops.refuse_hooks(module)
    refuse_cumulative_statistics(module)
    inputs, constants = without_constants(inputs)
    shapes = free_dimensions(inputs, dynamic or {}, batch)
    gradients = stops.GradientStops()
    with train_mode(module), recurrent.written_out() as said, selected_outputs(module, outputs, constants) as names, conversion_postponed() as asked, \
            marking_exporter(gradients) as traced, compiled_anew():
        program = exported(module, kwargs=inputs, opset_version=opset, dynamic_shapes=shapes, input_names=list(inputs))
    refuse_other_names(program, shapes or {})
    if gradients.hooks:
        raise ExportError(f"forward registers a hook on a gradient{at(gradients.hooks[0])}, which the file would lose\n{stops.NO_HOOK}")
    if gradients.custom and not accept_functions:
        name, place = gradients.custom[0]
        raise ExportError(f"forward applies the autograd.Function '{name}'{at(place)}: its backward cannot be in the file, and mpc would differentiate its forward\n"
                          "hint: write it with detach(), as x + (torch.round(x) - x).detach(); "
                          "where its backward is the derivative of its forward, export with accept_functions=True (--accept-functions)")
    notes = [f"the backward of the autograd.Function '{name}'{at(place)} is not in the file: mpc differentiates its forward" for name, place in dict.fromkeys(gradients.custom)]
    notes += dict.fromkeys(said)
    return Captured(traced[-1], program, names_of(program, list(names), outputs), asked.get("opset"), notes + fixed_dimensions(program, shapes or {}) + lost_statistics(module))


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


def without_constants(inputs):
    """Returns the inputs of the file, and the constants. torch drops numbers and the like without a word, and then takes the names of inputs and dimensions for others."""
    kept, constants = {}, {}
    for name, value in inputs.items():
        leaves = [value] if isinstance(value, torch.Tensor) else torch.utils._pytree.tree_leaves(value)
        if not isinstance(value, torch.Tensor) and any(isinstance(leaf, torch.Tensor) for leaf in leaves):
            raise ExportError(f"the input '{name}' is a {type(value).__name__} that holds tensors, and an input of the file is one tensor\n"
                              "hint: export a module whose forward takes each tensor as an argument of its own")
        (constants if all(isinstance(leaf, CONSTANT) for leaf in leaves) else kept)[name] = value
    return kept, constants


def region_in_body(graph_module, body=False):
    """Returns whether a no_grad region lies in the body of a scan or the like, which dynamo reads and no mode sees. A region itself is a graph of its own, too."""
    for node in graph_module.graph.nodes:
        region = GRAD_REGION in str(node.target)
        if region and body:
            return True
        inner = [getattr(graph_module, argument.target, None) for argument in node.all_input_nodes if argument.op == "get_attr"]
        if any(isinstance(each, torch.fx.GraphModule) and region_in_body(each, body or not region) for each in inner):
            return True
    return False


@contextlib.contextmanager
def marking_exporter(gradients):
    """Makes torch.export.export, which torch.onnx.export calls, trace with gradient stops. Yields the list of the graphs that it returns."""
    export, traced = torch.export.export, []

    @functools.wraps(export)
    def marking(module, *arguments, **keywords):
        if keywords.get("strict"):  # dynamo reads the source of forward, which a mode does not see
            program = export(module, *arguments, **keywords)
            parts = [part for part in program.graph_module.modules() if isinstance(part, torch.fx.GraphModule)]
            if any(GRAD_REGION in str(node.target) for part in parts for node in part.graph.nodes):
                raise ExportError("forward has a no_grad region, and torch can only capture this module with strict=True, which loses it\n"
                                  "hint: use detach() instead of the region")
            embeddings.keep_padding(program)
            losses_of_torch.widen_losses(program)
            traced.append(program)
            return program
        gradients.custom.clear()
        with gradients.functions_seen(), gradients:
            program = export(module, *arguments, **keywords)
        stops.detached_out_of_place(program)
        embeddings.keep_padding(program)
        losses_of_torch.widen_losses(program)
        if region_in_body(program.graph_module):
            raise ExportError("the body of a scan, a while_loop or a cond has a no_grad region, which the file would lose\nhint: use detach() instead of the region")
        traced.append(program)
        return program

    torch.export.export = marking
    try:
        yield traced
    finally:
        torch.export.export = export


@contextlib.contextmanager
def compiled_anew():
    """Makes torch.compile, by which torch traces scan, cond and while_loop (LSTM and GRU too), forget what it compiled before this export. Dynamo asks whether the sizes of an
    earlier compilation are the new ones, and a free dimension whose example has such a size becomes a constant by this question. One scan does so to the next, so it is forgotten
    each time. A while_loop is not: torch cannot compile it twice in an export whose states have a free dimension."""
    compiled, seen = torch.compile, set()

    @functools.wraps(compiled)
    def anew(model=None, **options):
        code = getattr(model, "__code__", None)
        if code and (code not in seen or model.__module__ == "torch._higher_order_ops.scan"):
            seen.add(code)
            torch._dynamo.eval_frame.remove_from_cache(model)
        return compiled(model, **options)

    torch.compile = anew
    try:
        yield
    finally:
        torch.compile = compiled


@contextlib.contextmanager
def conversion_postponed():
    """Keeps torch.onnx.export from converting the model to its opset, because that removes what no output needs: new values of buffers. Yields a dict that gets the opset."""
    from onnxscript import version_converter
    convert, asked = version_converter.convert_version, {}

    def postponed(model, target_version, fallback=None):
        asked["opset"] = target_version

    version_converter.convert_version = postponed
    try:
        yield asked
    finally:
        version_converter.convert_version = convert


def exported(module, **options):
    """Calls torch.onnx.export. Its errors are pages long, so only the one that began it is raised."""
    try:
        with quiet():
            return torch.onnx.export(module, (), dynamo=True, optimize=False, verbose=False, **options)
    except torch.onnx.OnnxExporterError as error:
        causes = [error]
        while causes[-1].__cause__ and not isinstance(causes[-1], ExportError):
            causes.append(causes[-1].__cause__)
        cause = causes[-1]
        if isinstance(cause, ExportError):
            raise cause from None
        text = f"{type(cause).__name__}: {' '.join((str(cause).strip() or 'no message').splitlines()[0].split())[:500]}"
        raise ExportError(f"torch cannot export this module: {text}{at(next(filter(None, map(place_of, reversed(causes))), ''))}\nhint: {advice(module, cause)}") from error


def advice(module, error):
    """Returns what to do about an error of the exporter."""
    of_transformers = any(type(part).__module__.startswith("transformers.") for part in module.modules())
    if of_transformers and re.search(r"scaled_dot_product|sdpa|attention|view a tensor|vmap|stride", str(error), re.IGNORECASE):
        return 'make the network with attn_implementation="eager": the exporter does not take its attention'
    if isinstance(error, torch._dynamo.exc.UserError) and "Constraints violated" in str(error):
        return "forward needs these dimensions as they are; fix them: batch=None (--batch ''), or leave out dynamic= (--free)"
    if re.search(r"\d not in VR\[", str(error)):
        return "the first dimension of each input is a free batch; give every example one, as x=2x3x224x224, or fix it: batch=None (--batch '')"
    if type(error).__name__ == "SpecViolationError" and "not in the correct order" in str(error):
        return "torch cannot export a module that gives one value to two buffers; give the second one a copy: self.second.copy_(y.clone())"
    if "_ctc_loss" in str(error):
        return "return the scores of the frames, and let mpc compute the loss: --loss ctc:SCORES:TARGETS:INPUT_LENGTHS:TARGET_LENGTHS"
    if "_is_all_true" in str(error):
        return "make distributions of torch with validate_args=False, which leaves the check of their arguments out"
    if re.search(r"data.dependent|GuardOnDataDependent|Could not guard", str(error), re.IGNORECASE):
        if any(isinstance(part, (torch.nn.TransformerEncoder, torch.nn.TransformerDecoder)) for part in module.modules()):
            return "a Transformer of torch looks at its mask to see whether it is causal: say so, as tgt_is_causal=True (is_causal=True of an encoder), or False"
        return "forward decides by values of tensors, which a graph cannot; use torch.where, or leave the decision out of forward"
    return "torch.export.export(module, (), kwargs=inputs) says more; change forward at this place, or export a part of the network"


def free_dimensions(inputs, dynamic, batch):
    """Returns the dynamic_shapes of torch.export; dimensions with the same name are one."""
    made, first = {}, {}

    def dimension(name):
        return made.setdefault(name, torch.export.Dim(name))

    shapes = {}
    for name, value in inputs.items():
        if not isinstance(value, torch.Tensor):
            shapes[name] = None
            continue
        free = {**({0: batch} if batch and value.dim() else {}), **dynamic.get(name, {})}
        for axis, label in free.items():
            if not 0 <= axis < value.dim():
                raise ExportError(f"the example '{name}' has no dimension {axis} ('{label}'): its shape is {list(value.shape)}\nhint: dimensions are counted from 0")
            of = first.setdefault(label, (value.shape[axis], axis, name))
            if of[0] != value.shape[axis]:
                raise ExportError(f"'{label}' is {of[0]} as dimension {of[1]} of '{of[2]}', and {value.shape[axis]} as dimension {axis} of '{name}'\n"
                                  + (f"hint: where the batch is not the first dimension of an input, as in a state [layers, batch, ...], name it yourself: "
                                     f"batch=None, dynamic={{'{of[2]}': {{0: 'batch'}}, '{name}': {{1: 'batch'}}}} (--batch '' --free {of[2]}:0=batch --free {name}:1=batch)"
                                     if axis == 0 and label == batch else "hint: give examples in which it has one size, or free dimensions with names of their own"))
            if value.shape[axis] < 2:
                raise ExportError(f"dimension {axis} ('{label}') of the example '{name}' is {value.shape[axis]}: torch takes 0 and 1 as constants\n"
                                  f"hint: give an example whose dimension {axis} is 2 or more, or fix the dimension")
        shapes[name] = {axis: dimension(label) for axis, label in free.items()}
    unknown = set(dynamic) - set(inputs)
    if unknown:
        raise ExportError(f"free dimensions of '{min(unknown)}', which is no input\nhint: the inputs are {', '.join(inputs)}")
    return shapes if any(shapes.values()) else None


def fixed_dimensions(program, shapes):
    """Returns notes on dimensions that were asked to be free and are constants in the file: torch fixes them without a word where forward uses their size as a number of Python."""
    places, sizes = {}, {}
    for value in program.model.graph.inputs:
        for axis, dimension in (shapes.get(value.name) or {}).items():
            if isinstance(value.shape[axis], int):
                places.setdefault(dimension.__name__, []).append(f"dimension {axis} of '{value.name}'")
                sizes[dimension.__name__] = value.shape[axis]
    return [f"'{name}' ({', '.join(places[name])}) is fixed at {sizes[name]} in the file, because forward uses this size as a constant (a loop, a list, a table of that size); "
            f"give an example of the size that you train with, or let forward compute with tensors alone" for name in places]


def refuse_other_names(program, shapes):
    """Refuses a free dimension that the file calls otherwise: torch gives dimensions that forward needs to be equal one name."""
    for value in program.model.graph.inputs:
        for axis, dimension in (shapes.get(value.name) or {}).items():
            name, found = dimension.__name__, value.shape[axis]
            if not isinstance(found, int) and found.value != name:
                raise ExportError(f"the file would call dimension {axis} of '{value.name}' '{found.value}' instead of '{name}'\n"
                                  f"hint: forward needs the two to be equal, so give both one name, as dynamic={{'{value.name}': {{{axis}: '{found.value}'}}}} "
                                  f"(--free {value.name}:{axis}={found.value})")


def refuse_cumulative_statistics(module):
    """Refuses norms that train and whose running statistics are means over all batches so far, since ONNX's norm has one momentum for all steps."""
    for name, part in module.named_modules():
        if isinstance(part, torch.nn.modules.batchnorm._NormBase) and part.track_running_stats and part.momentum is None and (part.training or not module.training):
            raise ExportError(f"the norm '{name}' has momentum=None, so that its running statistics are means over all batches, which no file can say\nhint: give it a momentum, as 0.1")


def lost_statistics(module):
    """Returns notes on instance norms whose running statistics the exporter leaves out."""
    return [f"the running statistics of the instance norm '{name}' are not in the file: evaluation normalises by each sample, too" for name, part in module.named_modules()
            if isinstance(part, torch.nn.modules.instancenorm._InstanceNorm) and part.track_running_stats]


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


def names_of(program, names, wanted):
    """Returns the names of the outputs. Where torch captures with strict=True, it reads forward without running it, and `names` is empty; then the keys of a dict are not known, and
    outputs that are not `wanted` by name are numbered. Raises ExportError where names and outputs differ in number."""
    count = len(program.model.graph.outputs)
    names = names or wanted or (["output"] if count == 1 else [f"output_{i}" for i in range(count)])
    if len(names) != count:
        raise ExportError(f"the file would have {count} outputs, and {len(names)} names: {', '.join(names)}\nhint: name all tensors that forward returns, in order: outputs= (--output)")
    return names


def named_outputs(result, wanted):
    """Returns {name: tensor} of what forward returned, in the order of `wanted` where that is given."""
    if isinstance(result, torch.Tensor):
        result = {(wanted or ["output"])[0]: result}
    elif not hasattr(result, "keys"):
        labels = wanted or [f"output_{i}" for i in range(len(result))]
        result = dict(zip(labels, result))
    missing = [name for name in wanted or [] if name not in result]
    if missing:
        raise ExportError(f"forward returns no output '{missing[0]}'\nhint: it returns {', '.join(result.keys())}")
    return {name: result[name] for name in wanted or result.keys() if isinstance(result[name], torch.Tensor)}


@contextlib.contextmanager
def selected_outputs(module, wanted, constants):
    """Makes forward take the constants by itself and return a tuple of tensors, and yields the list to which their names are added."""
    forward, names = module.forward, []

    @functools.wraps(forward)
    def selecting(*arguments, **keywords):
        result = named_outputs(forward(*arguments, **constants, **keywords), wanted)
        names[:] = result
        return tuple(result.values())

    signature = inspect.signature(forward)
    selecting.__signature__ = signature.replace(parameters=[parameter for name, parameter in signature.parameters.items() if name not in constants])
    own = "forward" in vars(module)
    module.forward = selecting
    try:
        yield names
    finally:
        module.forward = forward
        if not own:
            del module.forward
