# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stores what PyTorch computes for one step on the example inputs, for `mpc verify MODEL --reference FILE`.

The numbers come from the module itself, run eagerly on copies, and not from what was exported. Only the fingerprints of inner values come from the exported graph, because
only it has their names.
The file is one of numpy (savez):

    meta                    JSON in bytes: format 1, torch, loss, dims (sizes of free dimensions), precision (of the module), outputs, and dropout: "off" where the module
                            has one, which both sides switch off
    input/NAME              the inputs and labels
    loss, grad/PARAM        float64, of the module in float64. A parameter that the loss does not depend on has zeros
    own/loss, own/grad/PARAM      the same in the module's precision
    error/TYPE/loss, error/TYPE/PARAM   relative distance of torch.autocast in bfloat16 and float16 from float64
    rounding/loss, rounding/grad/PARAM, rounding/buffer/NAME   how far a number moves (the norm of the difference) where the module runs in its own precision, or where all
                            parameters and inputs of the float64 run are off by a relative ROUNDING: a pre-activation next to zero may then have the other sign
    error/TYPE/buffer/NAME  relative distance of a buffer behind a step in torch.autocast
    buffer/NAME, loss/2     where forward updates buffers: their values after the step, and the loss of a second forward without an update of parameters
    eval/NAME, rounding/eval/NAME, error/TYPE/eval/NAME   float64: a float output of the module in eval mode before the step, without dropout, and the distances as above
    value/NAME              of a float value of the graph in float64: sum |x|, sqrt(sum x^2), sum x_i cos(i) over its elements in their order
"""
import json

import numpy
import torch

from . import draws, losses
from .capture import named_outputs, train_mode
from .errors import ExportError, at, place_of
from .evaluation import Evaluation, evaluation, relative
from .fingerprints import fingerprints

FLOAT16_SCALES = (1024.0, 64.0, 1.0)
# All weights and inputs may have this relative error: some ten layers have float32 sums that are off by some 1e-7 each.
ROUNDING = 2e-6


def cannot_run(how, error, hint):
    """Returns the error that says that forward raised another one."""
    return ExportError(f"PyTorch cannot run forward {how} for the reference: {type(error).__name__}: {' '.join(str(error).split())[:300]}{at(place_of(error))}\nhint: {hint}")


class Step:
    """The loss, the gradients and the mode of one step of a copy of a module."""

    def __init__(self, made, inputs, wanted, loss, target, own=None, scale=1.0, around=None):
        result, mode = None, None
        try:
            with around or torch.enable_grad():
                result, mode = draws.run(made, inputs, own)
                self.outputs = named_outputs(result, wanted)
                found = loss.of(self.outputs, target, mode.scores_of) if loss.form == "output" else None
            found = loss.of(self.outputs, target, mode.scores_of) if found is None else found
        except ExportError:
            raise
        except Exception as error:  # forward may throw anything
            kind = "float64" if own else "its own precision"
            raise cannot_run(f"in {kind}", error, "make new tensors in the type of others (x.new_zeros), or export without a reference") from error
        if not found.requires_grad:
            raise ExportError(f"the loss {loss.text} depends on no parameter that requires a gradient\nhint: name another loss with --loss, or unfreeze parameters")
        made.zero_grad()
        try:
            (found * scale).backward()
        except RuntimeError as error:
            raise ExportError(f"PyTorch cannot compute the gradients of this module: {' '.join(str(error).split())[:300]}\n"
                              "hint: the module cannot be trained as it is; a tensor that a gradient needs may be changed in place after its use") from error
        self.loss, self.dropout = found.detach().double(), mode.dropout
        self.gradients = {name: (torch.zeros_like(p) if p.grad is None else p.grad.detach()).double() / scale for name, p in made.named_parameters() if p.requires_grad}
        made.zero_grad()


def precision_of(module):
    """Returns the type of the first float parameter."""
    return next((p.dtype for p in module.parameters() if p.is_floating_point()), torch.float32)


def widened(value):
    return value.double() if isinstance(value, torch.Tensor) and value.is_floating_point() else value


def stored(value):
    """Returns an array of the types that a data file of mpc has."""
    value = value.detach().cpu()
    return (value.float() if value.dtype in (torch.bfloat16, torch.float16) else value).contiguous().numpy()


def on_device(value, module):
    place = next((p.device for p in module.parameters()), torch.device("cpu"))
    return value.to(place) if isinstance(value, torch.Tensor) else value


def reference(module, inputs, outputs, text, labels, graph, program, names):
    """Returns ({key: array}, notes). `graph` is the exported file's; `program` torch's graph, with `names` {its value: the value of the file}."""
    with train_mode(module):
        made, active = draws.without_dropout(module)
    own = precision_of(module)
    inputs = {name: on_device(value, module) for name, value in inputs.items()}
    loss, target, drawn, notes = chosen_loss(made, inputs, outputs, text, labels, graph)
    target = {name: on_device(tensor, module) for name, tensor in target.items()}
    wide_target = {name: widened(tensor) for name, tensor in target.items()}

    wide, wide_inputs = draws.in_float64(draws.without_dropout(made)[0]), {name: widened(value) for name, value in inputs.items()}
    before = {name: buffer.clone() for name, buffer in wide.named_buffers()}
    exact = Step(wide, wide_inputs, outputs, loss, wide_target, own=own)
    narrow = draws.without_dropout(made)[0]
    near = Step(narrow, inputs, outputs, loss, target)
    stored_names = {tensor.name for tensor in graph.initializer}
    trained = [name for name in exact.gradients if name in stored_names]

    arrays = {f"input/{value.name}": stored(inputs[value.name]) for value in graph.input if isinstance(inputs.get(value.name), torch.Tensor)}
    arrays |= {f"input/{name}": stored(tensor) for name, tensor in target.items()}
    arrays |= {"loss": exact.loss.cpu().numpy(), "own/loss": near.loss.cpu().numpy()}
    for name in trained:
        arrays[f"grad/{name}"], arrays[f"own/grad/{name}"] = exact.gradients[name].cpu().numpy(), near.gradients[name].cpu().numpy()
    buffers = changed_buffers(wide, before, stored_names)
    if own == torch.float32:
        for kind in ("bfloat16", "float16"):
            arrays |= autocast_errors(kind, made, inputs, outputs, loss, target, exact, trained, buffers)
    arrays |= rounding(made, wide_inputs, outputs, loss, wide_target, own, exact, trained, buffers, [(near, narrow)])
    arrays |= buffer_values(wide, buffers, wide_inputs, outputs, loss, wide_target, own)
    evaluated, said = evaluation_of(made, inputs, wide_inputs, exact.outputs, own)
    arrays |= evaluated
    made_by_nodes = {output for node in graph.node for output in node.output if output}
    names = {name: value for name, value in names.items() if value in made_by_nodes}
    arrays |= {f"value/{name}": numbers for name, numbers in fingerprints(program, module, wide_inputs, own, names).items()}

    meta = {"format": 1, "torch": torch.__version__.partition("+")[0], "loss": loss.text, "dims": free_sizes(graph, inputs), "precision": str(own)[6:],
            "outputs": [output.name for output in graph.output]}
    if active or exact.dropout:
        meta["dropout"] = "off"
    arrays["meta"] = numpy.frombuffer(json.dumps(meta).encode(), dtype=numpy.uint8)
    notes += said
    notes += [f"the labels '{name}' of the reference are drawn at random: {str(target[name].dtype)[6:]} {list(target[name].shape)}" for name in drawn]
    return arrays, notes


def chosen_loss(made, inputs, outputs, text, labels, graph):
    """Returns (loss, {name: target}, the names of drawn ones, notes). A target is an input of forward, one of `labels`, or drawn in the shape that the prediction asks for."""
    try:
        with torch.no_grad():
            result, _ = draws.run(draws.without_dropout(made)[0], inputs)
    except ExportError:
        raise
    except Exception as error:  # forward may throw anything
        raise cannot_run("with these inputs", error, "--input NAME=SHAPE:int64:BELOW draws numbers from 0 to BELOW - 1; where forward takes others, such as lengths above 0, "
                         "call export() of tools/torch/export.py with tensors that it takes, or export without a reference") from error
    found = named_outputs(result, outputs)
    notes = [] if text else [f"the loss of the reference is --loss {losses.inferred(found)}, as mpc would choose"]
    loss = losses.parse(text or losses.inferred(found), list(found))
    prediction = found[loss.prediction]
    if not prediction.is_floating_point() or (loss.form == "output" and prediction.numel() != 1):
        raise ExportError(f"--loss {loss.text}: the output '{loss.prediction}' is {str(prediction.dtype)[6:]} {list(prediction.shape)}\n"
                          f"hint: {'a loss is one number: take its mean' if loss.form == 'output' else 'a loss compares float predictions with a target'}")
    unknown = sorted(set(labels) - set(loss.targets))
    if unknown:
        reads = f"its labels are {', '.join(loss.targets)}" if loss.targets else "leave them out"
        raise ExportError(f"labels are given for '{unknown[0]}', which the loss {loss.text} does not read\nhint: {reads}")
    if loss.form == "output":
        return loss, {}, [], notes
    twice = [name for name in loss.targets if name in inputs and name in labels]
    if twice:
        raise ExportError(f"'{twice[0]}' is an input of forward, and labels are given for it too\nhint: leave out --label (labels=)")
    loss.activation, loss.activation_axis = losses.activation_behind(graph, loss.prediction, loss.form)
    batch = next((value.shape[0] for value in inputs.values() if isinstance(value, torch.Tensor) and value.dim() > 0), None)
    target, drawn = loss.complete(prediction, {name: inputs.get(name, labels.get(name)) for name in loss.targets}, batch)
    if loss.form == "ctc" and loss.rows in labels:
        loss.name_longest(labels[loss.rows], prediction)
        notes.append(f"the loss of the reference is --loss {loss.text}")
    return loss, target, drawn, notes


def free_sizes(graph, inputs):
    """Returns {name of a free dimension: its size in the examples}."""
    return {dimension.dim_param: inputs[value.name].shape[axis] for value in graph.input if isinstance(inputs.get(value.name), torch.Tensor)
            for axis, dimension in enumerate(value.type.tensor_type.shape.dim) if dimension.dim_param}


def slightly_off(made, inputs):
    """Returns a copy of a module in float64 and inputs, all of whose numbers are off by up to ROUNDING."""
    generator = torch.Generator().manual_seed(1)

    def off(value):
        if not (isinstance(value, torch.Tensor) and value.is_floating_point()):
            return value
        return value * (1 + ROUNDING * (2 * torch.rand(value.shape, generator=generator, dtype=torch.float64) - 1)).to(value)

    moved = draws.in_float64(draws.without_dropout(made)[0])
    with torch.no_grad():
        for parameter in moved.parameters():
            parameter.copy_(off(parameter))
    return moved, {name: off(value) for name, value in inputs.items()}


def evaluation_of(made, inputs, wide_inputs, trained, own):
    """Returns ({key: array}, notes) of the module in eval mode; `trained` are the outputs of train mode in float64."""
    def copied():
        return draws.without_dropout(made)[0]

    place, wanted = next((p.device.type for p in made.parameters()), "cpu"), list(trained)
    runs = [lambda: Evaluation(draws.in_float64(copied()), wide_inputs, wanted, own), lambda: Evaluation(copied(), inputs, wanted),
            lambda: Evaluation(*slightly_off(made, wide_inputs), wanted, own)]
    kinds = ("bfloat16", "float16") if own == torch.float32 else ()
    return evaluation(runs, {kind: lambda kind=kind: Evaluation(copied(), inputs, wanted, around=torch.autocast(place, dtype=getattr(torch, kind))) for kind in kinds}, trained)


def rounding(made, inputs, outputs, loss, target, own, exact, trained, buffers, runs):
    """Returns how far loss, gradients and buffers are from the exact ones in the steps of `runs`, and in one whose parameters and inputs are slightly off."""
    moved, moved_inputs = slightly_off(made, inputs)
    runs = [*runs, (Step(moved, moved_inputs, outputs, loss, target, own=own), moved)]
    found = {"loss": max(abs((step.loss - exact.loss).item()) for step, _ in runs)}
    for name in trained:
        found[f"grad/{name}"] = max((step.gradients[name] - exact.gradients[name]).norm().item() for step, _ in runs)
    for name, buffer in buffers.items():
        found[f"buffer/{name}"] = max((dict(module.named_buffers())[name].double() - buffer.double()).norm().item() for _, module in runs)
    return {f"rounding/{name}": numpy.float64(error) for name, error in found.items()}


def autocast_errors(kind, made, inputs, outputs, loss, target, exact, trained, buffers):
    """Returns how far torch.autocast is from float64, or nothing where torch cannot do it. Gradients of float16 need a scale; a smaller one is tried where they overflow."""
    place = next((p.device.type for p in made.parameters()), "cpu")
    for scale in FLOAT16_SCALES if kind == "float16" else (1.0,):
        run = draws.without_dropout(made)[0]
        try:
            step = Step(run, inputs, outputs, loss, target, scale=scale, around=torch.autocast(place, dtype=getattr(torch, kind)))
        except (ExportError, RuntimeError):
            return {}
        if torch.isfinite(step.loss) and all(torch.isfinite(gradient).all() for gradient in step.gradients.values()):
            errors = {"loss": relative(step.loss, exact.loss)} | {name: relative(step.gradients[name], exact.gradients[name]) for name in trained}
            errors |= {f"buffer/{name}": relative(dict(run.named_buffers())[name].double(), buffer.double()) for name, buffer in buffers.items()}
            return {f"error/{kind}/{name}": numpy.float64(error) for name, error in errors.items() if error is not None}
    return {}


def changed_buffers(wide, before, stored_names):
    """Returns {name: value} of the file's buffers that a step has changed; `wide` is the copy that has made it."""
    return {name: buffer.detach().clone() for name, buffer in wide.named_buffers()
            if name in stored_names and not torch.equal(buffer, before[name]) and name.rpartition(".")[2] != "num_batches_tracked"}


def buffer_values(wide, buffers, inputs, outputs, loss, target, own):
    """Returns the buffers, and the loss of a second forward where there are some. `wide` is the copy that has made the step."""
    if not buffers:
        return {}
    arrays = {f"buffer/{name}": buffer.double().cpu().numpy() for name, buffer in buffers.items()}
    with torch.no_grad():
        result, mode = draws.run(wide, inputs, own)
        arrays["loss/2"] = loss.of(named_outputs(result, outputs), target, mode.scores_of).double().cpu().numpy()
    return arrays


def save(path, arrays):
    try:
        with open(path, "wb") as out:
            numpy.savez(out, **arrays)
    except OSError as error:
        raise ExportError(f"cannot write '{path}': {error.strerror}\nhint: name a file in a folder that exists and can be written") from None
