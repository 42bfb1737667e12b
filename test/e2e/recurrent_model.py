# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""RNN, GRU and LSTM in numpy, written from the ONNX specification (onnx.ai/onnx/operators, version 22 of each).

All tensors have a first dimension for variants of their values, of size 1 where there is one, so that central differences of all elements are one evaluation.
"""
import dataclasses

import numpy as np

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
NAMES = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}
DEFAULTS = {"affine": (1, 0), "leakyrelu": (0.01, None), "thresholdedrelu": (1, None), "scaledtanh": (1, 1), "hardsigmoid": (0.2, 0.5), "elu": (1, None)}
CURVES = {
    "relu": lambda x, a, b: np.maximum(x, 0),
    "tanh": lambda x, a, b: np.tanh(x),
    "sigmoid": lambda x, a, b: 1 / (1 + np.exp(-x)),
    "affine": lambda x, a, b: a * x + b,
    "leakyrelu": lambda x, a, b: np.where(x >= 0, x, a * x),
    "thresholdedrelu": lambda x, a, b: np.where(x >= a, x, 0),
    "scaledtanh": lambda x, a, b: a * np.tanh(b * x),
    "hardsigmoid": lambda x, a, b: np.clip(a * x + b, 0, 1),
    "elu": lambda x, a, b: np.where(x >= 0, x, a * (np.exp(x) - 1)),
    "softsign": lambda x, a, b: x / (1 + np.abs(x)),
    "softplus": lambda x, a, b: np.log(1 + np.exp(x)),
}


@dataclasses.dataclass
class Form:
    """One node: its attributes, which optional inputs it has, and which of its outputs Y, H (Y_h) and C (Y_c) are used."""

    name: str
    op: str
    direction: str = "forward"
    layout: int = 0
    activations: list = None
    alpha: list = None
    beta: list = None
    clip: float = None
    bias: bool = True
    linear: int = 0
    coupled: int = 0
    peep: bool = False
    h0: bool = False
    c0: bool = False
    lengths: str = None
    outputs: str = "Y"
    hidden: int = 4

    @property
    def directions(self):
        return 2 if self.direction == "bidirectional" else 1

    def attributes(self):
        given = {"hidden_size": self.hidden, "direction": self.direction, "activations": self.activations, "activation_alpha": self.alpha, "activation_beta": self.beta, "clip": self.clip,
                 "layout": self.layout or None, "linear_before_reset": self.linear or None, "input_forget": self.coupled or None}
        return {name: value for name, value in given.items() if value is not None}

    def shapes(self, inputs, batch):
        """Returns the shapes of the inputs behind X, as the file has them."""
        d, h, rows = self.directions, self.hidden, GATES[self.op] * self.hidden
        state = (batch, d, h) if self.layout else (d, batch, h)
        all_of_them = {"W": (d, rows, inputs), "R": (d, rows, h), "B": (d, 2 * rows) if self.bias else None, "h0": state if self.h0 else None, "c0": state if self.c0 else None,
                       "P": (d, 3 * h) if self.peep else None}
        return {name: shape for name, shape in all_of_them.items() if shape}

    def output_shapes(self, time, batch):
        d, h = self.directions, self.hidden
        shapes = {"Y": (batch, time, d, h), "H": (batch, d, h), "C": (batch, d, h)} if self.layout else {"Y": (time, d, batch, h), "H": (d, batch, h), "C": (d, batch, h)}
        return {name: shapes[name] for name in self.outputs}

    def curves(self):
        """Returns f, g and h of all directions. The lists of alphas and betas hold a value for each activation that has one."""
        alphas, betas, made = list(self.alpha or []), list(self.beta or []), []
        for name in self.activations or NAMES[self.op] * self.directions:
            a, b = DEFAULTS.get(name.lower(), (None, None))
            a = alphas.pop(0) if a is not None and alphas else a
            b = betas.pop(0) if b is not None and betas else b
            made.append(lambda x, curve=CURVES[name.lower()], a=a, b=b: curve(x, a, b))
        return made

    def run(self, x, parts, lengths):
        """x [V, T, B, I] -> {output: [V, ...] in the file's shape}. A sample keeps its state outside of its length, and its output is zero there."""
        time, batch = x.shape[1:3]
        variants = max(len(x), *(len(value) for value in parts.values()))
        curves, each = self.curves(), len(NAMES[self.op])
        results = []
        for d in range(self.directions):
            axis = 2 if self.layout else 1
            states = [parts[name].take(d, axis) if name in parts else np.zeros((1, batch, self.hidden)) for name in ("h0", "c0")]
            h, c = (np.broadcast_to(state, (variants, batch, self.hidden)) for state in states)
            own = {name: value[:, d] for name, value in parts.items() if name not in ("h0", "c0")}
            y = np.zeros((variants, time, batch, self.hidden))
            backward = self.direction == "reverse" or d == 1
            for t in reversed(range(time)) if backward else range(time):
                valid = (t < lengths)[None, :, None]
                new_h, new_c = self.step(x[:, t], h, c, own, curves[d * each:(d + 1) * each])
                y[:, t] = np.where(valid, new_h, 0)
                h, c = np.where(valid, new_h, h), np.where(valid, new_c, c)
            results.append((y, h, c))
        y, h, c = (np.stack(values, axis=2 if which == 0 else 1) for which, values in enumerate(zip(*results)))  # [V, T, D, B, H] and [V, D, B, H]
        if self.layout:
            y, h, c = y.transpose(0, 3, 1, 2, 4), h.swapaxes(1, 2), c.swapaxes(1, 2)
        return {"Y": y, "H": h, "C": c}

    def step(self, x, h, c, own, curves):
        size, gates = self.hidden, GATES[self.op]
        bias = own.get("B", np.zeros((1, 2 * gates * size)))[:, None]

        def rows(value, gate):
            return value[:, gate * size:(gate + 1) * size].swapaxes(1, 2)

        def of_inputs(gate):
            return x @ rows(own["W"], gate) + bias[..., gate * size:(gate + 1) * size]

        def of_state(gate, state=h):
            return state @ rows(own["R"], gate) + bias[..., (gates + gate) * size:(gates + gate + 1) * size]

        def activated(which, value):
            return curves[which](np.clip(value, -self.clip, self.clip) if self.clip else value)

        if self.op == "RNN":
            return activated(0, of_inputs(0) + of_state(0)), c
        if self.op == "GRU":
            z, r = (activated(0, of_inputs(gate) + of_state(gate)) for gate in (0, 1))
            new = activated(1, of_inputs(2) + (r * of_state(2) if self.linear else of_state(2, r * h)))
            return (1 - z) * new + z * h, c
        peep = own.get("P", np.zeros((1, 3 * size)))[:, None]  # of the input, output and forget gates
        i = activated(0, of_inputs(0) + of_state(0) + peep[..., :size] * c)
        f = 1 - i if self.coupled else activated(0, of_inputs(2) + of_state(2) + peep[..., 2 * size:] * c)
        c = f * c + i * activated(1, of_inputs(3) + of_state(3))
        o = activated(0, of_inputs(1) + of_state(1) + peep[..., size:2 * size] * c)
        return o * curves[2](c), c
