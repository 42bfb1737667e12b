# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the exported graph in float64 and keeps three numbers of each value, by the names that the file has.

`mpc verify` compares them with its own values along the graph, to name the first that differs.
"""
import numpy
import torch

from . import draws

CHUNK = 1 << 22  # elements at a time


def fingerprint(value):
    """Returns sum |x|, sqrt(sum x^2) and sum x_i cos(i) over the elements in row-major order."""
    flat = value.detach().double().reshape(-1)
    total, square, wave = 0.0, 0.0, 0.0
    for begin in range(0, flat.numel(), CHUNK):
        part = flat[begin:begin + CHUNK]
        total += part.abs().sum().item()
        square += part.square().sum().item()
        wave += (part * torch.arange(begin, begin + part.numel(), dtype=torch.float64, device=part.device).cos()).sum().item()
    return numpy.array([total, square ** 0.5, wave])


class Values(torch.fx.Interpreter):
    """Runs a graph of torch, and keeps the fingerprints of float values. Constants and casts to the module's precision are float64."""

    def __init__(self, module, mode, names):
        super().__init__(module)
        self.mode, self.names, self.found = mode, names, {}

    def run_node(self, node):
        result = super().run_node(node)
        if node.op == "call_function" and node.name in self.names and isinstance(result, torch.Tensor) and result.is_floating_point():
            self.found[self.names[node.name]] = fingerprint(result)
        return result

    def call_function(self, target, arguments, keywords):
        return self.mode.__torch_function__(target, (), arguments, keywords) if isinstance(target, torch._ops.OpOverload) else super().call_function(target, arguments, keywords)


class OfOperators(draws.Repeatable):
    """The same rules for operators, whose names end in the name of an overload (native_dropout.default)."""

    def __torch_function__(self, function, types, arguments=(), keywords=None):
        named = Named(function)
        return super().__torch_function__(named, types, arguments, keywords)


class Named:
    def __init__(self, function):
        self.function, self.__name__ = function, function._schema.name.partition("::")[2]

    def __call__(self, *arguments, **keywords):
        return self.function(*arguments, **keywords)


def fingerprints(program, module, inputs, own, names):
    """Returns {value of the file: its fingerprint}; what comes before the first call that torch cannot do in float64. `names`: {value of the graph: value of the file}."""
    tensors = dict(program.state_dict) | dict(program.constants) | dict(module.named_buffers())
    signature = program.graph_signature
    target_of = signature.inputs_to_parameters | signature.inputs_to_buffers | signature.inputs_to_lifted_tensor_constants
    values = []
    users = iter([value for value in inputs.values() if isinstance(value, torch.Tensor)])
    for node in program.graph.nodes:
        if node.op == "placeholder":
            value = tensors[target_of[node.name]].detach().clone() if node.name in target_of else next(users, None)
            values.append(value.double() if isinstance(value, torch.Tensor) and value.is_floating_point() else value)
    runner = Values(program.graph_module, OfOperators(own), names)
    try:
        with torch.no_grad():
            runner.run(*values)
    except Exception:  # a graph may hold what only its own types can do
        pass
    return runner.found
