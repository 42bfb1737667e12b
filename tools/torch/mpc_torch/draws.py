# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a forward pass as a function of its inputs: without dropout, and in float64 where that is wanted.

Two programs can only agree on a step in which nothing is drawn. Dropouts of all kinds return their input, also inside attention and between the layers of an RNN, and a
Bernoulli mask is its mean, so that a dropout or stochastic depth that a module writes itself with bernoulli is switched off, too. Every other draw is an error.
"""
import copy
import inspect

import torch
from torch import nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree

from .errors import ExportError, at, place_now

DROPOUTS = {"dropout", "dropout_", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "alpha_dropout_", "feature_dropout", "feature_dropout_", "feature_alpha_dropout",
            "feature_alpha_dropout_", "native_dropout"}
DRAWS = {"rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like", "normal", "normal_", "uniform_", "random_", "multinomial", "poisson", "binomial", "exponential_",
         "geometric_", "log_normal_", "cauchy_", "gumbel_softmax", "rrelu", "rrelu_", "fractional_max_pool2d_with_indices", "fractional_max_pool3d_with_indices"}
CASTS = {"float": torch.float32, "half": torch.float16, "bfloat16": torch.bfloat16}
ACTIVATIONS = {"softmax", "log_softmax", "sigmoid", "special_softmax", "special_log_softmax", "special_expit"}


def without_dropout(module):
    """Returns a deep copy whose modules of torch have dropout of probability 0, and whether one of them was active.

    Attributes that are computed from parameters, as the weight that torch.nn.utils.weight_norm makes anew before each forward, are copied without their history.
    """
    computed = [value for part in module.modules() for value in vars(part).values() if isinstance(value, torch.Tensor) and not value.is_leaf]
    try:
        made = copy.deepcopy(module, {id(value): value.detach().clone() for value in computed})
    except (RuntimeError, TypeError) as error:
        raise ExportError(f"torch cannot copy this module: {' '.join(str(error).split())[:300]}\nhint: make the module anew and export it before forward has run, or export without a reference") from None
    active = False
    for part in made.modules():
        if isinstance(part, nn.modules.dropout._DropoutNd):
            active |= part.training and part.p > 0
        elif isinstance(part, (nn.RNNBase, nn.MultiheadAttention)):
            active |= part.training and part.dropout > 0
            part.dropout = 0.0
    return made, active


def in_float64(module):
    """Turns a module into float64, with the tensors that it has as plain attributes."""
    module.double()
    for part in module.modules():
        for name, value in vars(part).items():
            if isinstance(value, torch.Tensor) and value.is_floating_point():
                setattr(part, name, value.double())
    return module


class Repeatable(TorchFunctionMode):
    """Switches dropout off, refuses other draws, and remembers the inputs of softmaxes and sigmoids.

    own: the module's precision, if the pass runs in float64 instead: casts to it, and to float32, become casts to float64. dropout: whether an active dropout was called.
    """

    def __init__(self, own=None):
        super().__init__()
        self.widened = {own, torch.float32} - {torch.float64} if own else set()
        self.dropout, self.activations = False, {}

    def scores_of(self, value):
        """Returns the input of the activation that made a tensor, or None."""
        known = self.activations.get(id(value))
        return known[1] if known is not None and known[0] is value else None

    def wide(self, value):
        return torch.float64 if isinstance(value, torch.dtype) and value in self.widened else value

    def __torch_function__(self, function, types, arguments=(), keywords=None):
        keywords = dict(keywords or {})
        name = getattr(function, "__name__", "")
        if name in DROPOUTS:
            return self.dropped(function, name, arguments, keywords)
        if name in ("bernoulli", "bernoulli_"):
            return self.mean_of_bernoulli(name, arguments, keywords)
        if name in DRAWS and not (name.startswith("rrelu") and not keywords.get("training", False)):
            raise ExportError(f"forward draws random numbers with {name}{at(place_now())}: there is no reference for what differs in each run\n"
                              "hint: give the numbers as an input, or export without a reference")
        if name in ("scaled_dot_product_attention", "multi_head_attention_forward"):
            arguments, keywords = self.attention_without_dropout(function, name, arguments, keywords)
        if self.widened:
            arguments, keywords = pytree.tree_map_only(torch.dtype, self.wide, (arguments, keywords))
            if name in CASTS and CASTS[name] in self.widened:
                return arguments[0].double()
        result = function(*arguments, **keywords)
        if name in ACTIVATIONS and isinstance(result, torch.Tensor):
            self.activations[id(result)] = (result, arguments[0] if arguments else keywords["input"])
        return result

    def dropped(self, function, name, arguments, keywords):
        x = arguments[0] if arguments else keywords["input"]
        p = keywords.get("p", arguments[1] if len(arguments) > 1 else 0.5)
        training = keywords.get("training", keywords.get("train", arguments[2] if len(arguments) > 2 else True))
        self.dropout |= bool(training) and p > 0
        return (x, torch.ones_like(x, dtype=torch.bool)) if name == "native_dropout" else x

    def mean_of_bernoulli(self, name, arguments, keywords):
        self.dropout = True
        x, p = arguments[0], keywords.get("p", arguments[1] if len(arguments) > 1 else None)
        if name == "bernoulli_":
            p = 0.5 if p is None else p
            return x.copy_(p) if isinstance(p, torch.Tensor) else x.fill_(p)
        return x.clone() if p is None else torch.full_like(x, p)

    def attention_without_dropout(self, function, name, arguments, keywords):
        if name == "scaled_dot_product_attention":
            order = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal")
            keywords = {**dict(zip(order, arguments)), **keywords}
            self.dropout |= keywords.get("dropout_p", 0.0) > 0
            keywords["dropout_p"] = 0.0
            return (), keywords
        bound = inspect.signature(functional.multi_head_attention_forward).bind(*arguments, **keywords)
        self.dropout |= bound.arguments.get("training", True) and bound.arguments["dropout_p"] > 0
        bound.arguments["dropout_p"] = 0.0
        return bound.args, bound.kwargs


def run(module, inputs, own=None):
    """Calls a module without dropout. Returns (what forward returns, the mode). Raises ExportError for other draws, also for ones that no function of torch shows."""
    before = torch.get_rng_state()
    default = torch.get_default_dtype()
    mode = Repeatable(own)
    try:
        torch.set_default_dtype(torch.float64 if own and default == torch.float32 else default)
        with mode:
            result = module(**inputs)
    finally:
        torch.set_default_dtype(default)
        drew = not torch.equal(torch.get_rng_state(), before)
        torch.set_rng_state(before)
    if drew:
        raise ExportError("forward draws random numbers in a way that the tool cannot switch off\nhint: give the numbers as an input, or export without a reference")
    return result, mode
