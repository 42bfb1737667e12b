# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lets the exporter write recurrent modules that it loses or cannot write.

- nn.LSTM(proj_size=...): the exporter takes proj_size for the hidden size and leaves weight_hr out.
- What pack_padded_sequence makes: the number of samples of each time step depends on the data, which no graph has.
- nn.RNN: the exporter repeats its nodes for each time step.

While `written_out` is active, these become a product for the inputs of all time steps and torch's `scan`, which the exporter writes as ONNX Scan. A packed sequence is a padded one
with its lengths: a sample keeps its state behind its end, and what pad_packed_sequence returns there is the padding. LSTM and GRU without either stay what they are.
"""
import contextlib
import functools

import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils import rnn

from .errors import ExportError, at, place_now


def _refuse(what):
    raise ExportError(f"forward reads {what} of a PackedSequence{at(place_now())}, whose shape depends on the data\n"
                      "hint: compute with what pad_packed_sequence returns, and mask what lies behind the lengths")


class Padded(rnn.PackedSequence):
    """Stands for a packed sequence: the tensor [T, B, ...] and the lengths [B]. Forward may only give it to recurrent modules and to pad_packed_sequence."""

    def __new__(cls, padded, lengths):
        return super().__new__(cls, padded, lengths, None, None)

    data = property(lambda self: _refuse("data"))
    batch_sizes = property(lambda self: _refuse("batch_sizes"))
    sorted_indices = property(lambda self: _refuse("sorted_indices"))
    unsorted_indices = property(lambda self: _refuse("unsorted_indices"))

    def __iter__(self):
        _refuse("the fields")

    def parts(self):
        return tuple.__getitem__(self, 0), tuple.__getitem__(self, 1)


def is_valid(lengths, steps):
    """Returns [T, B]: whether a time step is within a sample's length. mpc knows from the table, which counts from 0 to T, that these are lengths, and finds others in the data."""
    return torch.arange(steps).unsqueeze(1) < torch.arange(steps + 1)[lengths].unsqueeze(0)


def packed(sequence, lengths, batch_first=False, enforce_sorted=True):
    """Stands for pack_padded_sequence. The order of the samples has no meaning here, so nothing is sorted."""
    return Padded(sequence.transpose(0, 1) if batch_first else sequence, torch.as_tensor(lengths, dtype=torch.int64))


def padded(sequence, batch_first=False, padding_value=0.0, total_length=None):
    """Stands for pad_packed_sequence. The result has as many time steps as the padded tensor had, or `total_length`."""
    if not isinstance(sequence, Padded):
        raise ExportError(f"forward pads a PackedSequence that it gets or makes itself{at(place_now())}\nhint: make it with pack_padded_sequence within forward")
    values, lengths = sequence.parts()
    steps = values.shape[0]
    valid = is_valid(lengths, steps)
    values = torch.where(valid.reshape(valid.shape + (1,) * (values.dim() - 2)), values, torch.full((), padding_value, dtype=values.dtype))
    if total_length is None:
        NOTES.append(f"pad_packed_sequence{at(place_now())} returns all {steps} time steps in the file; torch returns as many as the longest sample of a batch has. "
                     "Give it total_length= to have the same in both")
    elif total_length > steps:
        values = torch.cat([values, values.new_full((total_length - steps, *values.shape[1:]), padding_value)])
    else:
        values = values[:total_length]
    return values.transpose(0, 1) if batch_first else values, lengths


NOTES = []  # of the export that is under way


def lstm(x, state, recurrent, bias, projection):
    h, c = state
    i, f, g, o = (x + h @ recurrent.t()).chunk(4, 1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    h = o.sigmoid() * c.tanh()
    return [h if projection is None else h @ projection.t(), c]


def gru(x, state, recurrent, bias, projection):
    h, = state
    own = h @ recurrent.t()
    xr, xz, xn = x.chunk(3, 1)
    hr, hz, hn = (own if bias is None else own + bias).chunk(3, 1)
    z, n = (xz + hz).sigmoid(), (xn + (xr + hr).sigmoid() * hn).tanh()
    return [(1 - z) * n + z * h]


def rnn_tanh(x, state, recurrent, bias, projection):
    return [(x + state[0] @ recurrent.t()).tanh()]


def rnn_relu(x, state, recurrent, bias, projection):
    return [(x + state[0] @ recurrent.t()).relu()]


CELLS = {"LSTM": lstm, "GRU": gru, "RNN_TANH": rnn_tanh, "RNN_RELU": rnn_relu}


def direction(module, suffix, x, valid, state):
    """Runs one direction of one layer over x [T, B, I]. Returns (y [T, B, H], the last state)."""
    from torch._higher_order_ops.scan import scan
    # Gradient stops see no calls within the body of a scan, so its tensors are detached in front of it.
    stopped = (lambda value: value) if torch.is_grad_enabled() else (lambda value: None if value is None else value.detach())

    def weight(name):
        return stopped(getattr(module, name + suffix)) if hasattr(module, name + suffix) else None

    step, recurrent, projection = CELLS[module.mode], weight("weight_hh"), weight("weight_hr")
    bias, own_bias = weight("bias_ih"), weight("bias_hh")
    if bias is not None and module.mode != "GRU":  # a bias that is only added joins the product for the inputs
        bias = bias + own_bias
    inputs = functional.linear(stopped(x), weight("weight_ih"), bias)
    count = len(state)

    def body(carried, now):
        after = step(now[0], carried, recurrent, own_bias, projection)
        if len(now) > 1:
            after = [torch.where(now[1], new, old) for new, old in zip(after, carried)]
        return after, [after[0].clone()]

    last, (y,) = scan(body, [stopped(value) for value in state], [inputs] if valid is None else [inputs, valid.unsqueeze(2)], dim=0, reverse=suffix.endswith("_reverse"))
    return y, list(last)[:count]


def run(module, sequence, hx):
    """Computes forward of a recurrent module: of a padded sequence with lengths, or of a tensor."""
    lengths = None
    if isinstance(sequence, Padded):
        x, lengths = sequence.parts()
    else:
        x = sequence
        if x.dim() not in (2, 3):
            raise ValueError(f"{type(module).__name__}: expected a 2-D or 3-D input, got {x.dim()}-D")
        x = x.unsqueeze(1) if x.dim() == 2 else x.transpose(0, 1) if module.batch_first else x
    alone = lengths is None and sequence.dim() == 2
    valid = None if lengths is None else is_valid(lengths, x.shape[0])
    is_lstm = module.mode == "LSTM"
    if hx is None:
        given = None
    else:
        given = [value.unsqueeze(1) if alone else value for value in (hx if is_lstm else [hx])]
    suffixes = ("", "_reverse") if module.bidirectional else ("",)
    sizes = [getattr(module, "proj_size", 0) or module.hidden_size] + [module.hidden_size] * is_lstm
    last = [[] for _ in sizes]
    for layer in range(module.num_layers):
        outputs = []
        for which, suffix in enumerate(suffixes):
            row = layer * len(suffixes) + which
            state = [x.new_zeros(x.shape[1], size) for size in sizes] if given is None else [value[row].clone() for value in given]
            y, after = direction(module, f"_l{layer}{suffix}", x, valid, state)
            outputs.append(y)
            for values, value in zip(last, after):
                values.append(value)
        x = outputs[0] if len(outputs) == 1 else torch.cat(outputs, 2)
        if module.dropout and layer + 1 < module.num_layers:
            x = functional.dropout(x, module.dropout, module.training)
    states = [torch.stack(values) for values in last]
    if alone:
        x, states = x.squeeze(1), [value.squeeze(1) for value in states]
    elif lengths is None and module.batch_first:
        x = x.transpose(0, 1)
    return x if lengths is None else Padded(x, lengths), tuple(states) if is_lstm else states[0]


def _forward_of(original):
    @functools.wraps(original)
    def forward(self, input, hx=None):
        if isinstance(input, Padded) or self.mode.startswith("RNN") or getattr(self, "proj_size", 0):
            return run(self, input, hx)
        return original(self, input, hx)
    return forward


def _calls(function):
    """Returns code for a function of torch.nn.utils.rnn that calls `function` instead."""
    names = function.__code__.co_varnames[:function.__code__.co_argcount]
    made = {}
    exec(f"def standing_in({', '.join(names)}):\n    from {__name__} import {function.__name__}\n    return {function.__name__}({', '.join(names)})\n", made)
    return made["standing_in"].__code__


@contextlib.contextmanager
def written_out():
    """Lets recurrent modules be exported as the file says above. Yields the list of notes for the user."""
    NOTES.clear()
    forwards = {cls: cls.forward for cls in (nn.LSTM, nn.GRU, nn.RNN)}
    # Modules import these two functions by name, so the functions themselves change, not the names of torch.
    codes = {function: function.__code__ for function in (rnn.pack_padded_sequence, rnn.pad_packed_sequence)}
    for cls, forward in forwards.items():
        cls.forward = _forward_of(forward)
    for function, stand_in in zip(codes, (packed, padded)):
        function.__code__ = _calls(stand_in)
    try:
        yield NOTES
    finally:
        for function, code in codes.items():
            function.__code__ = code
        for cls, forward in forwards.items():
            cls.forward = forward
