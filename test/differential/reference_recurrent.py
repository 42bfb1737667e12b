# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""RNN, GRU and LSTM by torch in float64, from the ONNX specification. What an iteration stores, and its cotangent, has the noise of the storage type."""
import torch

import reference
import reference_ops  # noqa: F401 (fills the table of ops)
from reference import OPS, attribute, ints, single

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
DEFAULTS = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}
ACTIVATIONS = ["Relu", "Tanh", "Sigmoid", "Affine", "LeakyRelu", "ThresholdedRelu", "ScaledTanh", "HardSigmoid", "Elu", "Softsign", "Softplus"]
PARAMETERS = {"affine": (1.0, 0.0), "leakyrelu": (0.01, None), "thresholdedrelu": (1.0, None), "scaledtanh": (1.0, 1.0), "hardsigmoid": (0.2, 0.5), "elu": (1.0, None)}


def kept(x):
    """Marks a value that an iteration stores."""
    noise = reference.stored[0]
    return reference.Noise.apply(reference.used(x), noise) if noise is not None and noise.u else reference.used(x)


def apply(name, alpha, beta, x):
    if name == "affine":
        return kept(kept(alpha * x) + beta)
    if name == "scaledtanh":
        return kept(alpha * kept(OPS["Tanh"]({}, [kept(beta * x)], 22)))
    proper = {known.lower(): known for known in ACTIVATIONS}[name]
    given = {key: value for key, value in (("alpha", alpha), ("beta", beta)) if value is not None}
    return kept(OPS[proper](given, [x], 22))


def curves(op, attributes, directions):
    """Returns a function for each activation of each direction. A list of alphas or betas holds a value for each activation that has one."""
    lists, made = [list(attributes.get(key, ())) for key in ("activation_alpha", "activation_beta")], []
    for name in attributes.get("activations", DEFAULTS[op] * directions):
        values = [None if default is None else single(given.pop(0)) if given else default for default, given in zip(PARAMETERS.get(name.lower(), (None, None)), lists)]
        made.append(lambda x, name=name.lower(), values=values: apply(name, *values, x))
    return made


def step(op, attributes, inputs, product, h, c, own, f):
    """One time step: `inputs` are the products of the gates' inputs with their biases, `product(gate, h)` those of the state. Returns the new h and c."""
    clip = attribute(attributes, "clip", float("inf"))
    size = h.shape[1]

    def gate(which, value):
        value = kept(value)
        return f[which](value.clamp(-clip, clip) if "clip" in attributes else value)

    if op == "RNN":
        return gate(0, inputs[0] + product(0, h)), c
    if op == "GRU":
        z, r = gate(0, inputs[0] + product(0, h)), gate(0, inputs[1] + product(1, h))
        n = gate(1, inputs[2] + (kept(r * product(2, h)) if attributes.get("linear_before_reset") else product(2, kept(r * h))))
        return kept(n + kept(z * kept(h - n))), c
    peep = own.get("P", torch.zeros(3 * size, dtype=torch.float64))
    i = gate(0, inputs[0] + product(0, h) + kept(peep[:size] * c))
    forget = kept(1 - i) if attributes.get("input_forget") else gate(0, inputs[2] + product(2, h) + kept(peep[2 * size:] * c))
    c = kept(kept(forget * c) + kept(i * gate(1, inputs[3] + product(3, h))))
    o = gate(0, inputs[1] + product(1, h) + kept(peep[size:2 * size] * c))
    return kept(o * f[2](c)), c


def recurrent(op, attributes, inputs):
    x, w, r, bias, lengths, h0, c0, p = list(inputs) + [None] * (8 - len(inputs))
    layout, size, count, directions = attributes.get("layout", 0), attributes["hidden_size"], GATES[op], w.shape[0]
    if layout:
        x, h0, c0 = (value if value is None else value.transpose(0, 1) for value in (x, h0, c0))
    time, batch = x.shape[:2]
    lengths = ints(lengths) if lengths is not None else [time] * batch
    f, each, results = curves(op, attributes, directions), len(DEFAULTS[op]), []
    for d in range(directions):
        own = {"P": p[d]} if p is not None else {}
        weights, recurrents = w[d].split(size), r[d].split(size)
        biases = (bias[d] if bias is not None else torch.zeros(2 * count * size, dtype=torch.float64)).split(size)
        separate = op == "GRU" and attributes.get("linear_before_reset")

        def product(gate, state):
            added = kept(state @ recurrents[gate].t())
            return kept(added + biases[count + gate]) if separate and gate == 2 else added

        h, c = (torch.zeros(batch, size, dtype=torch.float64) if state is None else state[d] for state in (h0, c0))
        rows = [None] * time
        backward = attributes.get("direction") == "reverse" or d == 1
        for t in reversed(range(time)) if backward else range(time):
            of_inputs = [kept(kept(x[t] @ weights[g].t()) + kept(biases[g] + (0 if separate and g == 2 else biases[count + g]))) for g in range(count)]
            new_h, new_c = step(op, attributes, of_inputs, product, h, c, own, f[d * each:(d + 1) * each])
            valid = torch.tensor([[t < length] for length in lengths])
            rows[t] = torch.where(valid, new_h, torch.zeros_like(new_h))
            h, c = torch.where(valid, new_h, h), torch.where(valid, new_c, c)
        results.append((torch.stack(rows), h, c))
    y, h, c = (torch.stack(values, 1 if which == 0 else 0) for which, values in enumerate(zip(*results)))
    if layout:
        y, h, c = y.permute(2, 0, 1, 3), h.transpose(0, 1), c.transpose(0, 1)
    return [y, h, c]


for name in GATES:
    OPS[name] = lambda attributes, inputs, opset, name=name: recurrent(name, attributes, inputs)
