# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Computes in torch the loss that `mpc compile --loss` attaches to a network (docs/losses.md).

A loss is written as FORM:PREDICTION:TARGET[,OPTION=VALUE]..., or output:NAME. The defaults are those of torch's losses. Half predictions are taken in float32, as mpc does.
"""
import re

import numpy
import torch
from torch.nn import functional

from . import ctc
from .errors import ExportError

CLASSES = {"softmax_cross_entropy": ("axis", "ignore_index", "label_smoothing", "weight", "reduction", "probabilities"), "nll": ("axis", "ignore_index", "weight", "reduction")}
ELEMENTS = {"mse": functional.mse_loss, "l1": functional.l1_loss, "smooth_l1": functional.smooth_l1_loss, "bce_with_logits": functional.binary_cross_entropy_with_logits}
FORMS = "softmax_cross_entropy:LOGITS:LABELS, nll:LOG_PROBABILITIES:LABELS, mse, l1 and smooth_l1:PREDICTION:TARGET, bce_with_logits:LOGITS:TARGET, " \
    f"ctc:LOGITS:{ctc.TARGET}, or output:NAME"
OWN_ACTIVATION = {"softmax_cross_entropy": ("Softmax", "LogSoftmax"), "ctc": ("Softmax", "LogSoftmax"), "bce_with_logits": ("Sigmoid",)}
VIEWS = ("Identity", "Cast", "Reshape", "Squeeze", "Unsqueeze", "Flatten")


class Loss:
    """A parsed loss. `form` is "output" for a loss of the network's own; `text` is what mpc reads, with the numbers of a weight file written out."""

    def __init__(self, text, form, prediction, target, options):
        self.text, self.form, self.prediction, self.target = text, form, prediction, target
        self.targets = [target] if target else []
        self.axis = options.get("axis")
        self.ignore_index = options.get("ignore_index", -100)
        self.label_smoothing = options.get("label_smoothing", 0.0)
        self.weight = options.get("weight")
        self.reduction = options.get("reduction", "mean")
        self.probabilities = options.get("probabilities", False)  # whether labels are probabilities of classes, in the shape of the scores
        self.activation, self.activation_axis = "", None  # ONNX's name of the activation that makes the prediction and that the loss has itself, and a softmax's dimension

    def class_axis(self, scores, labels):
        """Returns the dimension of the classes: what the user said, or where the labels fit, else the last of rank 3 and dimension 1 of other ranks."""
        rank = scores.dim()
        if rank < 2:
            raise ExportError(f"--loss {self.text}: scores of classes are [N, C, ...], but '{self.prediction}' is {list(scores.shape)}\n"
                              "hint: name the output with the scores, or use mse, l1, smooth_l1 or bce_with_logits")
        if self.axis is not None:
            axis = self.axis + rank if self.axis < 0 else self.axis
            if 1 <= axis < rank:
                return axis
            raise ExportError(f"--loss {self.text}: axis={self.axis} is no dimension of classes of '{self.prediction}' {list(scores.shape)}\nhint: write a number from 1 to {rank - 1}")
        if labels is not None:
            fits = [axis for axis in dict.fromkeys((1, rank - 1)) if list(labels.shape) == without(scores.shape, axis)]
            if len(fits) == 2:
                raise ExportError(f"--loss {self.text}: the labels {list(labels.shape)} fit the classes of '{self.prediction}' {list(scores.shape)} along dimension 1 and along "
                                  f"dimension {rank - 1}\nhint: say which: {self.text},axis=1 or {self.text},axis={rank - 1}")
            if fits:
                return fits[0]
        return 2 if rank == 3 else 1

    def complete(self, prediction, given, batch):
        """Returns ({name: tensor}, the names of those that were drawn). `given`: {name: tensor or None}."""
        target = given[self.target]
        drawn = target is None
        target = self.draw_target(prediction) if drawn else target
        self.check_target(prediction, target)
        return {self.target: target}, [self.target] if drawn else []

    def draw_target(self, prediction):
        """Returns labels or a target of the right shape, the same in each run."""
        generator = torch.Generator().manual_seed(1)
        if self.form in CLASSES:
            axis = self.class_axis(prediction, None)
            if self.probabilities:
                return torch.rand(list(prediction.shape), generator=generator).softmax(axis)
            return torch.randint(0, prediction.shape[axis], without(prediction.shape, axis), generator=generator)
        draw = torch.rand if self.form == "bce_with_logits" else torch.randn
        return draw(list(prediction.shape), generator=generator)

    def check_target(self, prediction, target):
        if self.form in CLASSES:
            axis = self.class_axis(prediction, target)
            wanted, kind = (list(prediction.shape), "floats") if self.probabilities else (without(prediction.shape, axis), "integers")
            below = self.ignore_index if target.is_floating_point() else int(target[target != self.ignore_index].max()) if bool((target != self.ignore_index).any()) else 0
            if not self.probabilities and not target.is_floating_point() and below >= prediction.shape[axis]:
                raise ExportError(f"--loss {self.text}: '{self.target}' has the label {below}, and '{self.prediction}' has {prediction.shape[axis]} classes along dimension {axis}\n"
                                  f"hint: give labels below {prediction.shape[axis]}: --label {self.target}={'x'.join(map(str, wanted))}:int64:{prediction.shape[axis]}")
            if self.weight is not None and len(self.weight) != prediction.shape[axis]:
                raise ExportError(f"--loss {self.text}: weight has {len(self.weight)} numbers, but there are {prediction.shape[axis]} classes along dimension {axis}\n"
                                  "hint: give a weight for each class")
        else:
            wanted, kind = list(prediction.shape), "numbers like the prediction"
        if list(target.shape) != wanted or (self.form in CLASSES and target.is_floating_point() != self.probabilities):
            raise ExportError(f"--loss {self.text}: '{self.target}' is {str(target.dtype)[6:]} {list(target.shape)}, and should be {kind} {wanted}\nhint: leave it out, and the tool draws it")

    def of(self, outputs, target, scores_of):
        """Returns the scalar loss. `outputs`: {name: tensor}; `target`: {name: tensor}, the labels; `scores_of`: the input of the activation
        that made a tensor, or None."""
        x = outputs[self.prediction]
        x = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
        if self.form == "output":
            return x.reshape(())
        target = target[self.target]
        if self.activation and (self.form not in CLASSES or self.activation_axis % x.dim() == self.class_axis(x, target)):
            x = self.scores(x, scores_of(outputs[self.prediction]))
        if self.form not in CLASSES:
            return ELEMENTS[self.form](x, target.to(x.dtype), reduction=self.reduction)
        axis = self.class_axis(x, target)
        x = x.movedim(axis, 1)
        weight = None if self.weight is None else torch.tensor(self.weight, dtype=x.dtype, device=x.device)
        options = {"weight": weight, "ignore_index": self.ignore_index, "reduction": self.reduction}
        if self.form == "nll":
            return functional.nll_loss(x, target.long(), **options)
        if self.probabilities:
            del options["ignore_index"]
            return functional.cross_entropy(x, target.to(x.dtype).movedim(axis, 1), label_smoothing=self.label_smoothing, **options)
        return functional.cross_entropy(x, target.long(), label_smoothing=self.label_smoothing, **options)

    def scores(self, x, known):
        """Returns what the activation that made x was given, for the loss has this activation itself. log(softmax(s)) is s but for a constant of each row."""
        if known is not None and known.shape == x.shape:
            return known.to(x.dtype)
        return x if self.activation == "LogSoftmax" else x.log() if self.activation == "Softmax" else torch.logit(x)


def without(shape, axis):
    return [size for i, size in enumerate(shape) if i != axis]


def parse(text, names):
    """Parses a loss of a network whose outputs are `names`. Names may hold colons and commas, but not `,key=`."""
    form, _, rest = text.partition(":")
    if form == "output":
        if rest not in names:
            raise ExportError(f"--loss {text}: there is no output '{rest}'\nhint: the outputs are {', '.join(names)}")
        return Loss(text, form, rest, None, {})
    if form not in CLASSES and form not in ELEMENTS and form != "ctc":
        raise ExportError(f"--loss {text}: there is no loss '{form}'\nhint: the losses are {FORMS}")
    begin = re.search(r",(?:[A-Za-z_]+=|(?:zero_infinity|probabilities)(?:,|$))", rest)
    both, tail = (rest[:begin.start()], rest[begin.start() + 1:]) if begin else (rest, "")
    splits = [(both[:at], both[at + 1:]) for at, letter in enumerate(both) if letter == ":" and at + 1 < len(both)]
    prediction, target = next((split for split in splits if split[0] in names), splits[0] if splits else (both, ""))
    if not target:
        raise ExportError(f"--loss {text} names no target\nhint: write {form}:PREDICTION:{ctc.TARGET if form == 'ctc' else 'TARGET'}")
    if prediction not in names:
        raise ExportError(f"--loss {text}: there is no output '{prediction}'\nhint: the outputs are {', '.join(names)}")
    allowed, options = ctc.OPTIONS if form == "ctc" else CLASSES.get(form, ("reduction",)), {}
    for item in filter(None, tail.split(",")):
        key, _, value = item.partition("=")
        if key not in allowed or key in options:
            raise ExportError(f"--loss {text}: {form} has {'no option' if key not in allowed else 'twice the option'} '{key}'\nhint: its options are {', '.join(allowed)}")
        options[key] = parse_option(text, key, value)
    if "weight" in options:
        text = re.sub(r",weight=[^,]*", ",weight=" + "/".join(map(repr, options["weight"])), text)
    return ctc.Ctc(text, prediction, target, options) if form == "ctc" else Loss(text, form, prediction, target, options)


def parse_option(text, key, value):
    try:
        if key in ("axis", "ignore_index", "blank"):
            return int(value)
        if key == "max_target" and int(value) > 0:
            return int(value)
        if key in ("zero_infinity", "batch_first", "probabilities") and value in ("true", "false", *[""] * (key != "batch_first")):
            return value != "false"
        if key == "label_smoothing" and 0 <= float(value) <= 1:
            return float(value)
        if key == "weight":
            return [float(number) for number in (numpy.load(value).ravel() if value.endswith(".npy") else value.split("/"))]
        if key == "reduction" and value in ("mean", "sum"):
            return value
    except (ValueError, OSError):
        pass
    wanted = {"axis": "a whole number", "ignore_index": "a whole number", "label_smoothing": "a number from 0 to 1", "weight": "numbers with '/' between them, or a file of numpy",
              "reduction": "mean or sum", "blank": "a whole number", "max_target": "a positive whole number", "zero_infinity": "true or false", "batch_first": "true or false", "probabilities": "true or false"}[key]
    raise ExportError(f"--loss {text}: {key}='{value}' is not {wanted}\nhint: docs/losses.md lists the options")


def inferred(outputs):
    """Returns the loss that mpc takes where none is given: the only scalar, or softmax cross entropy of the only float output. `outputs`: {name: tensor}."""
    floats = {name: value for name, value in outputs.items() if value.is_floating_point()}
    scalars = [name for name, value in floats.items() if value.dim() == 0]
    if len(scalars) == 1:
        return f"output:{scalars[0]}"
    if not scalars and len(floats) == 1 and next(iter(floats.values())).dim() in (2, 3):
        return f"softmax_cross_entropy:{next(iter(floats))}:labels"
    raise ExportError(f"the outputs {', '.join(outputs)} do not say which loss the reference has\nhint: say it with --loss (loss=), as mpc compile will be told; the losses are {FORMS}")


def activation_behind(graph, name, form):
    """Returns ONNX's name of the activation that makes an output and that the loss has itself, or "", and the dimension of a softmax. Where the softmax is over the classes, mpc takes its input, unless a
    view behind it changes the shape."""
    makers = {output: node for node in graph.node for output in node.output}
    shapes = {value.name: [size.dim_value for size in value.type.tensor_type.shape.dim] for value in [*graph.value_info, *graph.output] if value.type.tensor_type.HasField("shape")}
    node = makers.get(name)
    while node is not None and node.op_type in VIEWS:
        node = makers.get(node.input[0])
    if node is None or node.op_type not in OWN_ACTIVATION.get(form, ()):
        return "", None
    made, seen = shapes.get(node.output[0]), shapes.get(name)
    if made is not None and seen is not None and (len(made) != len(seen) or any(a != b for a, b in zip(made, seen) if a and b)):  # 0 is a size that is not known
        return "", None
    axis = next((attribute.i for attribute in node.attribute if attribute.name == "axis"), -1)
    return node.op_type if form != "ctc" or axis in (-1, 2) else "", axis  # the classes of ctc are the last of three dimensions
