#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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
- A parameter that is shared under several names gets the name of `named_parameters()`, and a value that happens to have the name of a parameter another one.
- What runs under `torch.no_grad()`, of which no exporter leaves a trace, reads its arguments through gradient stops (`detach`), which mpc knows.
- The new value of a buffer that forward updates stays in the file, and the graph's signature names it.
- The requires_grad of a parameter, which no exporter writes, becomes the metadata `mpc.requires_grad` of its value. The file's metadata `mpc.training_form` says that norms in
  inference form are intended.
- LSTMs with proj_size, which the exporter loses, nn.RNN, which it unrolls, and packed sequences, which it cannot write, become ONNX Scan.
- The dropout of attention, which the exporter writes as switched off, trains.
- At the end, the file is checked: every parameter that requires a gradient and is used is there, under its name, with its shape and values; each name has one meaning; ONNX
  allows the file.

With --reference it stores what PyTorch computes for one step on the example inputs, and `mpc verify` compares a compiled program with it.

It needs torch >= 2.9 and onnxscript, and nothing of mpc.
"""
import argparse
import difflib
import functools
import importlib
import importlib.util
import inspect
import os
import pickle
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
MISSING = None  # what the command says in place of an export: --help works without these packages
try:
    import onnx
    import onnxscript  # noqa: F401 (torch's exporter needs it)
    import torch

    from mpc_torch import attention, dropouts, finish, naming
    from mpc_torch.capture import capture
    from mpc_torch.errors import ExportError
    from mpc_torch.reference import reference as step_of_pytorch
    from mpc_torch.reference import save
except ImportError as error:
    if __name__ != "__main__":
        raise
    MISSING = f"error: {sys.executable}: {error}\nhint: {sys.executable} -m pip install torch onnx onnxscript"


def export(module, inputs, path, *, outputs=None, dynamic=None, batch="batch", opset=None, accept_functions=False, reference=None, loss=None, labels=None):
    """Writes `module` to `path` in its training form, and returns notes on what a reader of the file should know.

    inputs: examples, as a dict by the names of forward's arguments; labels too if forward takes them. The first dimension must be 2 or more. Numbers, strings and None become constants.
    outputs: names of the outputs, in order; if forward returns a dict (or a ModelOutput of transformers), the keys to keep.
    dynamic: names of further free dimensions, such as {"input_ids": {1: "tokens"}}.
    batch: name of the free first dimension of all inputs; None fixes it.
    accept_functions: export a module that applies autograd.Functions; mpc differentiates their forward.
    reference: a file (.npz) for PyTorch's loss and gradients of one step on these inputs, which `mpc verify` compares with its own (mpc_torch/reference.py has the format).
    loss: the loss of that step, written as for `mpc compile --loss` (docs/losses.md); None takes what mpc would take.
    labels: its labels, such as {"labels": tensor}, where they are no input of forward; None draws them.
    Raises ExportError, and then writes no file.
    """
    captured = capture(module, inputs, outputs, dynamic, batch, opset, accept_functions)
    attention.empty_rows(captured.program.model)
    names = naming.name_values(captured, module)
    model = captured.program.model_proto
    finish.batch_norms_in_training_form(model.graph)
    dropouts.activate(model.graph)
    finish.mark_stops(model.graph)
    finish.mark_frozen(model.graph, module)
    finish.set_property(model, finish.TRAINING_FORM, "True")
    unused = finish.unused_parameters(captured.program.exported_program, module)
    finish.check(model, module, captured.program.exported_program, unused)
    numbers, notes = step_of_pytorch(module, inputs, outputs, loss, labels or {}, model.graph, captured.program.exported_program, names) if reference else ({}, [])
    write(model, path)
    if reference:
        save(reference, numbers)
    return captured.notes + dropouts.notes(captured.traced, model) + notes + [f"not in the file, for forward does not use it: {name}" for name in sorted(unused)]


def write(model, path):
    """Writes the model, with its values beside it if it is too large for a file of protobuf."""
    large = model.ByteSize() > finish.PROTOBUF_LIMIT
    beside = f"{os.path.basename(path)}.data"
    try:
        onnx.save(model, path, save_as_external_data=large, location=beside if large else None)
        if large:
            finish.check_onnx(path)
    except OSError as error:
        raise ExportError(f"cannot write '{path}': {error.strerror}\nhint: name a file in a folder that exists and can be written") from None
    except ExportError:
        for left in (path, os.path.join(os.path.dirname(path), beside)):
            os.remove(left)
        raise


def load_object(text):
    """Returns the object NAME of `package.module:NAME` or `file.py:NAME`.

    Modules are found as `python -m package.module` and `python file.py` find them: in the current folder, and beside the file."""
    place, _, name = text.rpartition(":")
    if not place:
        raise ExportError(f"'{text}' names no object\nhint: write package.module:NAME or file.py:NAME")
    is_file = place.endswith(".py")
    sys.path.insert(0, os.path.dirname(os.path.abspath(place)) if is_file else os.getcwd())
    try:
        if is_file:
            spec = importlib.util.spec_from_file_location("exported_module", place)
            found = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(found)
        else:
            found = importlib.import_module(place)
        return functools.reduce(getattr, name.split("."), found)
    except ModuleNotFoundError as error:
        hint = "write package.module:NAME or file.py:NAME"
        if is_file or not f"{place}.".startswith(f"{error.name}."):
            hint = f"install '{error.name}', or set PYTHONPATH to the folder that holds it"
        raise ExportError(f"'{text}': {error}\nhint: {hint}") from None
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


def parse_input(text, option="--input"):
    """Parses an example: NAME=2x3x8x8 is float32; NAME=2x16:int64:100 holds random numbers below 100."""
    match = re.fullmatch(r"(\w+)=((?:\d+x)*\d+)(?::(\w+))?(?::(\d+))?", text)
    if not match:
        raise ExportError(f"{option} {text} is not understood\nhint: write NAME=2x3x224x224, or NAME=2x16:int64:BELOW for integers")
    name, shape, dtype, below = match[1], [int(n) for n in match[2].split("x")], getattr(torch, match[3] or "float32", None), int(match[4] or 2)
    if not isinstance(dtype, torch.dtype):
        raise ExportError(f"{option} {text}: torch has no type '{match[3]}'\nhint: float32, int64, bool …")
    integer = not dtype.is_floating_point and not dtype.is_complex
    return name, torch.randint(0, below, shape).to(dtype) if integer else torch.randn(shape, dtype=dtype)


class Parser(argparse.ArgumentParser):
    """Reports a mistake on the command line as all commands of mpc do."""

    def parse_args(self):
        known = [name for action in self._actions for name in action.option_strings]
        for word in sys.argv[1:]:  # before argparse says what else is missing
            name = word.split("=")[0]
            if name.startswith("--") and name not in ("--", *known):
                near = difflib.get_close_matches(name, known, 1)
                self.error(f"unknown option '{name}'", f"did you mean {near[0]}? " if near else "")
        return super().parse_args()

    def error(self, message, hint=""):
        sys.exit(f"error: command line: {message}\nhint: {hint}'{self.prog} --help' prints the options")


def main():
    parser = Parser(allow_abbrev=False, description="Exports a torch module to an ONNX file for training with mpc.")
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
    parser.add_argument("--accept-functions", action="store_true", help="export a module that applies autograd.Functions: mpc differentiates their forward")
    parser.add_argument("--reference", metavar="FILE.npz", help="write PyTorch's loss and gradients of one step too, for mpc verify, and run it where mpc is on the PATH")
    parser.add_argument("--loss", metavar="LOSS", help="loss of the reference, as mpc compile --loss has it: softmax_cross_entropy:logits:labels or output:loss")
    parser.add_argument("--label", action="append", default=[], metavar="NAME=SHAPE[:TYPE[:BELOW]]", help="labels of the reference, as labels=2:int64:10; else they are drawn")
    parser.add_argument("--no-verify", action="store_true", help="do not run mpc verify")
    arguments = parser.parse_args()
    if MISSING:
        sys.exit(MISSING)
    try:
        if not arguments.reference and (arguments.loss or arguments.label):
            raise ExportError("--loss and --label say what the reference has, and --reference is missing\nhint: add --reference FILE.npz; the loss of training is an option of mpc compile")
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
        notes = export(module, inputs, arguments.out, outputs=arguments.output, dynamic=dynamic, batch=arguments.batch or None, opset=arguments.opset,
                       accept_functions=arguments.accept_functions, reference=arguments.reference, loss=arguments.loss,
                       labels=dict(parse_input(text, "--label") for text in arguments.label))
    except ExportError as error:
        sys.exit(f"error: {error}")
    for note in notes:
        print(f"note: {note}")
    print(f"{arguments.out}: {sum(p.requires_grad for p in module.parameters())} parameters to train", flush=True)
    if arguments.reference:
        sys.exit(verify(arguments.out, arguments.reference, arguments.no_verify))


def verify(model, reference, never):
    """Runs `mpc verify`, or prints how to run it. Returns the exit status."""
    mpc = None if never else shutil.which("mpc")
    if mpc is None:
        print(f"next: mpc verify {model} --reference {reference}")
        return 0
    return subprocess.run([mpc, "verify", model, "--reference", reference]).returncode


if __name__ == "__main__":
    main()
