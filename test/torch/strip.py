#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes networks as PyTorch's exporters write them, without their weights, and what PyTorch computes from them: test/e2e/Inputs/exported/.

usage: strip.py [--only TEXT] [--out FOLDER]      (by hand, with what requirements.txt lists; when networks.py or the exporters changed)
For each network of networks.py there are
  NAME.VARIANT.onnx.xz   its graph by each way of exporting (VARIANTS). Values are replaced by rules that make them again (test/tools/stripped.py); equal tensors that the exporter
                         merged stay merged, and dropped or transposed ones stay so.
  NAME.json              the inputs of one step and PyTorch's loss and gradients, in float64: of each trained parameter the shape, the gradient's norm, its product with a seeded
                         direction, and how far another program may be from it (reference.py).
Before the export the module gets seeded values of the size of the library's own. Values that are all equal (fresh norms, zero biases) stay, because exporters merge and drop those.
"""
import argparse
import copy
import json
import lzma
import math
import os
import sys
import tempfile
import warnings

import onnx
import torch
import transformers

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tools"))
import networks  # noqa: E402
import recurrent  # noqa: E402
import stripped  # noqa: E402
import variants  # noqa: E402
from reference import Reference, step  # noqa: E402

VARIANTS = {"tool": "export.py", "dynamo": "dynamo train", "legacy": "legacy TRAINING", "legacy-eval": "legacy EVAL"}
# This entry is most of the metadata. mpc reads none of it; what it does read grows with each version of torch.
STACK = "pkg.torch.onnx.stack_trace"
KEPT = 1024      # a computed tensor with at most so many elements keeps its values
# So many seeds are tried for the inputs, to find some that put no pre-activation of a ReLU next to zero.
SEEDS = 200
# All weights and inputs may have this relative error: some ten layers have float32 sums that are off by some 1e-7 each.
ROUNDING = 2e-6
# This multiplies the bound of reference.py, because other machines' libraries sum in other orders.
OTHERS = 3
# If a gradient then moves by more, relative to its norm, a ReLU or a maximum has changed sides.
SMOOTH = 1e-3


def rounded(number, digits=4):
    return float(f"{number:.{digits}g}")


def give_values(module):
    """Replaces the values of parameters that are not all equal, and returns {name: (array, rule)} of those. Scales of 1e-6, as convnext has, become larger,
    because the gradients behind them would be too small to compare."""
    known = {}
    for name, parameter in module.named_parameters():
        old = parameter.detach().double()
        if old.numel() < 2 or bool((old == old.flatten()[0]).all()):
            if 0 < old.abs().max() < 0.1:
                torch.nn.init.constant_(parameter, 0.1)
            continue
        rule = {"seed": name, "shape": list(old.shape), "mean": rounded(old.mean()), "std": rounded(old.std(correction=0))}
        array = stripped.values(rule, list(old.shape))
        with torch.no_grad():
            parameter.copy_(torch.from_numpy(array.copy()))
        known[name] = (array, rule)
    return known


def give_inputs(case, seed):
    """Makes float inputs by a rule and leaves integers as they are. Returns what the JSON file says of them."""
    said = {}
    for name, value in case.inputs.items():
        if value.is_floating_point():
            rule = {"seed": f"{name} {seed}", "shape": list(value.shape), "mean": 0.0, "std": 1.0}
            case.inputs[name] = torch.from_numpy(stripped.values(rule, rule["shape"]))
            said[name] = rule
        else:
            said[name] = value.tolist()
    if case.labels is not None:
        said["labels"] = case.labels.tolist()
    return said


def moved(case, found):
    """Returns {name: how far a gradient moves} when all weights and inputs are off by ROUNDING."""
    generator = torch.Generator().manual_seed(1)

    def off(tensor):
        return tensor * (1 + ROUNDING * (2 * torch.rand(tensor.shape, generator=generator, dtype=torch.float64) - 1))

    module, inputs = copy.deepcopy(found.module).double(), case.inputs
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(off(parameter))
    case.inputs = {name: off(value.double()) if value.is_floating_point() else value for name, value in inputs.items()}
    _, gradients = step(case, module, torch.float64)
    case.inputs = inputs
    return {name: (gradients[name] - gradient).norm().item() for name, gradient in found.gradients.items()}


def reference(case, module):
    """Returns a reference whose gradients do not depend on how float32 rounds, how far other gradients may be from them, and the inputs."""
    for seed in range(SEEDS):
        said = give_inputs(case, seed)
        found = Reference(case, module)
        away = moved(case, found)
        norms = {name: max(gradient.norm().item(), found.floor) for name, gradient in found.gradients.items()}
        if all(away[name] <= SMOOTH * norm for name, norm in norms.items()):
            bounds = {name: max(OTHERS * bound * norms[name], away[name]) for name, (_, bound) in found.distances(found.gradients, found.gradients).items()}
            return found, bounds, said
    raise RuntimeError(f"gradients from each of {SEEDS} inputs depend on how float32 rounds")


def facts(case, found, bounds, inputs):
    """Returns what the test needs to know about a network."""
    shapes = {name: list(p.shape) for name, p in found.module.named_parameters()}
    parameters = {}
    for name, gradient in found.gradients.items():
        direction = torch.from_numpy(stripped.seeded(f"direction {name}", shapes[name], 0.0, 1.0)).double()
        product = (gradient * direction).sum() / direction.norm()
        parameters[name] = [shapes[name], rounded(gradient.norm(), 9), rounded(product, 9), rounded(bounds[name], 2)]
    aliases = {name: first for name, first in found.names.items() if name != first}
    return {"loss_option": case.mpc_loss(), "batch": len(next(iter(case.inputs.values()))), "inputs": inputs, "loss": rounded(found.loss, 9), "aliases": aliases,
            "unused": sorted(set(shapes) - set(parameters)), "parameters": parameters}


def write_facts(path, told):
    """Writes JSON with a line for each parameter."""
    parameters = told.pop("parameters")
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in told.items()]
    lines.append('"parameters": {\n' + ",\n".join(f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in parameters.items()) + "\n}")
    with open(path, "w") as out:
        out.write("{" + ",\n".join(lines) + "}\n")


def with_bodies(graph):
    """Yields a graph and the bodies of its nodes."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from with_bodies(attribute.g)


def drop_stack_traces(proto):
    kept = [onnx.StringStringEntryProto(key=entry.key, value=entry.value) for entry in proto.metadata_props if entry.key != STACK]
    del proto.metadata_props[:]
    proto.metadata_props.extend(kept)


def strip(model, known, own):
    """Removes values and stack traces from a model and returns whether its values can be made again.

    Values that the exporter computed from weights or constants are kept if all of them are small. Otherwise (folded batch norms) mpc refuses the file anyway, and values are made up.
    """
    graph = model.graph
    computed = [tensor for tensor in graph.initializer if not stripped.describe(tensor, known, own)]
    exact = all(math.prod(tensor.dims) <= KEPT for tensor in computed)
    for tensor in computed if not exact else []:
        stripped.make_up(tensor)
    for part in with_bodies(graph):
        for proto in [part, *part.node, *part.value_info, *part.initializer, *part.input, *part.output]:
            drop_stack_traces(proto)
        for node in part.node:
            node.ClearField("doc_string")
    return exact


def write_graph(variant, case, module, known, path):
    """Returns what there is to say about the file."""
    with tempfile.TemporaryDirectory() as folder:
        plain = os.path.join(folder, "model.onnx")
        try:
            variants.write(VARIANTS[variant], case, module, plain)
        except Exception as error:  # an exporter may throw anything
            return f"no export: {type(error).__name__}"
        model = onnx.load(plain)
    exact = strip(model, known, set(module.state_dict()))
    raw = model.SerializeToString(deterministic=True)
    if b"site-packages" in raw or HERE.encode() in raw:
        raise RuntimeError(f"{path} holds paths of this machine")
    with open(path, "wb") as out:
        out.write(lzma.compress(raw, preset=9))
    return f"{os.path.getsize(path)} bytes" + ("" if exact else ", computed values are lost")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="networks whose name contains this")
    parser.add_argument("--out", default=os.path.join(HERE, "..", "e2e", "Inputs", "exported"))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")  # exporters give many warnings
    transformers.logging.set_verbosity_error()
    os.makedirs(arguments.out, exist_ok=True)
    for name in networks.NETWORKS:
        if arguments.only not in name:
            continue
        case, module = networks.case(name)
        known = give_values(module)
        write_facts(os.path.join(arguments.out, f"{name}.json"), facts(case, *reference(case, module)))
        for variant in VARIANTS:
            if variant == "legacy-eval" and name in recurrent.NETWORKS:
                continue  # W, R and B of its nodes are trained, which are no parameters of the module
            print(f"{name:12} {variant:12} {write_graph(variant, case, module, known, os.path.join(arguments.out, f'{name}.{variant}.onnx.xz'))}", flush=True)


if __name__ == "__main__":
    main()
