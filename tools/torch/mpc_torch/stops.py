# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes `torch.no_grad()` visible in an exported file.

The exporter writes `.detach()` as an Identity whose metadata names `aten.detach`, which mpc reads as a gradient stop. Of the other ways to stop a gradient it leaves no
trace: no_grad regions are inlined, inference_mode is not recorded at all, `.detach_()` becomes nothing, and `.data` cannot be exported. While GradientStops is active, a call
that is made with gradients disabled gets its arguments detached where they require a gradient. Everything that such a region computes then depends on detached values alone,
and an enable_grad region inside it sees the values themselves, as in torch:

    with torch.no_grad():            y = linear(detach(x), detach(w))
        y = linear(x, w)     ->      z = x * y
    z = x * y

What it does not do: a tensor that requires a gradient and is changed in place while gradients are disabled keeps its old history in torch. No file can say that, so it is an error.
"""
import contextlib

import torch
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree

from .errors import ExportError, at, place_now

IN_PLACE_OPERATORS = {f"__i{name}__" for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift")} | {"__setitem__"}
NO_HOOK = "hint: remove the hook; forward can say that the gradient of x is scaled by s: s * x + ((1 - s) * x).detach()"
NOT_VALUES = {"requires_grad_", "detach_", "retain_grad", "share_memory_"}  # they change flags, not values


def stopped(value):
    return value.detach() if isinstance(value, torch.Tensor) and value.requires_grad else value


def changed_by(function, arguments, keywords):
    """Returns the tensors that a call changes in place."""
    name = getattr(function, "__name__", "")
    name = getattr(function, "_opname", name)
    changed = [keywords["out"]] if keywords.get("out") is not None else []
    in_place = name in IN_PLACE_OPERATORS or name.endswith("_") and not name.endswith("__") and name not in NOT_VALUES
    if in_place and arguments:
        changed.append(arguments[0])
    if keywords.get("inplace") and arguments:
        changed.append(arguments[0])
    return [value for value in pytree.tree_leaves(changed) if isinstance(value, torch.Tensor)]


def refuse_hooks(module):
    """Refuses hooks of a module that change gradients, of which torch's exporter leaves no trace."""
    for name, parameter in module.named_parameters():
        if parameter._backward_hooks or getattr(parameter, "_post_accumulate_grad_hooks", None):
            raise ExportError(f"the parameter '{name}' has a hook on its gradient, which the file would lose\n{NO_HOOK}")
    for name, part in module.named_modules():
        if part._backward_hooks or part._backward_pre_hooks:
            raise ExportError(f"the module '{name or type(part).__name__}' has a backward hook, which the file would lose\n{NO_HOOK}")


class GradientStops(TorchFunctionMode):
    """Detaches the arguments of calls that are made while gradients are disabled. `custom` collects (name, place) of the autograd.Functions that were applied, and `hooks` the places
    where forward registers a hook on a gradient. (An error here would make torch try another way to capture the module, which loses the hook.)"""

    def __init__(self):
        super().__init__()
        self.custom, self.hooks, self.depth = [], [], 0

    def __torch_function__(self, function, types, arguments=(), keywords=None):
        keywords = keywords or {}
        if function in (torch.Tensor.register_hook, torch.Tensor.register_post_accumulate_grad_hook):
            self.hooks.append(place_now())
        if getattr(function, "__name__", "") == "__set__" and getattr(function, "__self__", None) is torch.Tensor.data:
            raise ExportError(f"forward assigns to .data of a tensor{at(place_now())}, of which torch's exporter leaves no trace\n"
                              "hint: write self.buffer.copy_(new) to a registered buffer, which each step of training then updates; parameters are changed by the optimizer alone")
        getter = getattr(function, "__self__", None) if getattr(function, "__name__", "") == "__get__" else None
        if getter is torch.Tensor.data:
            return arguments[0].detach()
        if torch.is_grad_enabled() or self.depth or function is torch.Tensor.detach:
            return function(*arguments, **keywords)
        if getter is not None:  # x.T is a value, x.shape is none
            found = function(*arguments, **keywords)
            return function(*map(stopped, arguments), **keywords) if isinstance(found, torch.Tensor) and not isinstance(found, torch.nn.Parameter) else found
        changed = changed_by(function, arguments, keywords)
        if any(value.requires_grad for value in changed):
            raise ExportError(f"forward changes a tensor that requires a gradient in place, by {getattr(function, '__name__', function)} under no_grad{at(place_now())}: "
                              "the file cannot say that its gradient passes by the change\n"
                              "hint: write y = y + (new - y).detach() where the gradient shall pass, and y = new.detach() where it shall not; change parameters outside of forward")
        kept = {id(value) for value in changed}
        arguments, keywords = pytree.tree_map_only(torch.Tensor, lambda value: value if id(value) in kept else stopped(value), (arguments, keywords))
        return function(*arguments, **keywords)

    @contextlib.contextmanager
    def functions_seen(self):
        """Collects the autograd.Functions that are applied. torch traces through their forward, which runs without gradients but is no region of no_grad."""
        apply = torch.autograd.Function.__dict__["apply"]
        stops = self

        def applied(function, *arguments, **keywords):
            if not function.__module__.startswith("torch."):
                stops.custom.append((function.__name__, place_now()))
            stops.depth += 1
            try:
                return apply.__get__(None, function)(*arguments, **keywords)
            finally:
                stops.depth -= 1

        torch.autograd.Function.apply = classmethod(applied)
        try:
            yield
        finally:
            torch.autograd.Function.apply = apply


def detached_out_of_place(program):
    """Rewrites `detach_(x)`, which the exporter drops, as `detach(x)` that replaces x in all later nodes of the captured graph."""
    for module in program.graph_module.modules():
        graph = getattr(module, "graph", None)
        if graph is None:
            continue
        for node in list(graph.nodes):
            if node.op != "call_function" or node.target is not torch.ops.aten.detach_.default:
                continue
            value = node.args[0]
            node.target = torch.ops.aten.detach.default
            later = node.next
            while later.op != "root":
                later.replace_input_with(value, node)
                later = later.next
        module.recompile()
