# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Computes the outputs of a module in eval mode on the example inputs, for the arrays `eval/NAME` of a reference.

What a file says is the module in train mode. A program derives its evaluation from that: without dropouts, and with the running statistics of batch norms. A module that does
something else in eval mode, as under `if self.training:`, is found by the comparison.
"""
import torch

from . import draws
from .capture import named_outputs
from .errors import ExportError, at, place_of

MASK = 1e30  # A larger number stands for infinity, and is another one in 16 bits.


class Evaluation:
    """One run of a copy of a module, which is put in eval mode. `wanted` are the names of train mode's outputs; a tuple may have fewer.

    outputs: {name: float64 tensor} of the float outputs. drops: whether forward drops elements."""

    def __init__(self, made, inputs, wanted, own=None, around=None):
        # Gradients stay on, for without them torch takes another path through its transformers, which has zeros in the place of padding.
        with around or torch.enable_grad():
            result, mode = draws.run(made.eval(), inputs, own)
        if not hasattr(result, "keys"):
            wanted = wanted[:1 if isinstance(result, torch.Tensor) else len(result)]  # a tuple has no names, so that the first are taken
        found = named_outputs(result, [name for name in wanted if not hasattr(result, "keys") or name in result])
        self.outputs = {name: value.detach().double() for name, value in found.items() if value.is_floating_point()}
        self.drops = mode.dropout


def relative(found, wanted):
    """Returns |found - wanted| / |wanted|, or None for zeros."""
    norm = wanted.norm().item()
    return (found - wanted).norm().item() / norm if norm > 0 else None


def evaluation(runs, autocast, trained):
    """Returns ({key: array}, notes).

    runs: functions that make an Evaluation: in float64, and then those that tell how far rounding leads. autocast: {type: such a function in torch.autocast}.
    trained: {name: output} of train mode in float64.
    """
    floats = {name: value for name, value in trained.items() if value.is_floating_point()}
    try:
        exact, *others = [run() for run in runs]
    except Exception as error:  # forward may throw anything
        why = str(error).partition("\n")[0] if isinstance(error, ExportError) else f"{type(error).__name__}: {' '.join(str(error).split())[:300]}{at(place_of(error))}"
        return {}, [f"eval mode is not compared, for PyTorch cannot run forward in it with these inputs: {why}"]
    notes = []
    if exact.drops:
        notes.append("forward drops elements in eval mode, too; eval and predict of the program do not")
    other = [name for name, value in floats.items() if name not in exact.outputs or exact.outputs[name].shape != value.shape]
    if other:
        rest = f" (outputs without names are taken in order: {', '.join(exact.outputs)})" if exact.outputs else ""
        notes.append(f"in eval mode forward returns no {', '.join(other)} as in train mode{rest}; eval and predict of the program compute what train mode returns")
    truth = {name: value for name, value in exact.outputs.items() if name in floats and name not in other and bool((value.abs() < MASK).all())}
    infinite = [name for name in exact.outputs if name in floats and name not in other and name not in truth]
    if infinite:
        notes.append(f"eval mode is not compared for {', '.join(infinite)}, which holds infinities, NaN, or numbers of masks")
    arrays = {f"eval/{name}": value.cpu().numpy() for name, value in truth.items()}
    arrays |= {f"rounding/eval/{name}": max((run.outputs[name] - value).norm() for run in others).cpu().numpy() for name, value in truth.items()}
    for kind, run in autocast.items():
        try:
            found = run().outputs
        except (ExportError, RuntimeError):  # torch cannot do it
            continue
        errors = {name: relative(found[name], value) for name, value in truth.items()}
        arrays |= {f"error/{kind}/eval/{name}": torch.tensor(error, dtype=torch.float64).numpy() for name, error in errors.items() if error is not None}
    return arrays, notes
