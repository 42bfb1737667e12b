#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests networks as PyTorch's exporters write them, without PyTorch. Their graphs (Inputs/exported, made by test/torch/strip.py) get seeded weights, and what mpc makes of them is
compared with what PyTorch computed from the same weights.

For each network and each way of exporting:
- `mpc check` reports exactly the module's parameters, with their names and shapes, or refuses the file for what the exporter lost (REFUSED), naming parameters of the module;
- it reports no tensor as shared by several modules where PyTorch shares none;
- one step of the fp32 program has PyTorch's loss and gradients: the norm of each, and its product with a seeded direction;
- one step of the fp16 program (of tools/torch/export.py's files) has PyTorch's loss to the precision of fp16, and a finite gradient for every parameter.
"""
import json
import os
import re
import sys

import numpy as np
import onnx

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import harness  # noqa: E402
import stripped  # noqa: E402

INPUTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs", "exported")
LOSS = 1e-5    # relative error in fp32: a sum of some thousand numbers with an error of 6e-8 each
LOSS16 = 2e-2  # relative error in fp16: some ten layers, each of which rounds its inputs by 5e-4
ERROR = "torch's exporter rewrote what would be trained: "
SHARED = "exporters merge equal tensors"  # mpc's note about a tensor that may be several parameters

FOLDED_NORM = r"batch norm '[\w.]+' is folded into Conv"
FOLDED_NORMS = r"\d+ batch norms are folded into convolutions"
COMPUTED = r"'[\w.]+' was computed into '\w+'"
REFUSED = {"resnet18.dynamo": FOLDED_NORM, "mobilenet.dynamo": FOLDED_NORM, "shufflenet.dynamo": FOLDED_NORM, "vit.dynamo": COMPUTED, "gpt2.dynamo": COMPUTED, "bert.dynamo": COMPUTED,
           "distilbert.dynamo": COMPUTED, "swin.dynamo": COMPUTED, "t5.dynamo": COMPUTED, "wav2vec2.dynamo": COMPUTED, "gru_translator.dynamo": COMPUTED,
           "lstm_projected.dynamo": COMPUTED,
           "resnet18.legacy-eval": FOLDED_NORMS, "mobilenet.legacy-eval": FOLDED_NORMS, "shufflenet.legacy-eval": FOLDED_NORMS,
           "swin.legacy-eval": r"'onnx::Add_\d+' of Add '[\w/.]+' was computed at export from parameters or buffers of module '[\w.]+\.attn'"}


class Network:
    """One file: its graph with values, and what PyTorch knows of the network."""

    def __init__(self, name, variant):
        with open(os.path.join(INPUTS, name + ".json")) as file:
            facts = json.load(file)
        self.loss_option, self.batch, self.loss, self.aliases, self.unused = (facts[key] for key in ("loss_option", "batch", "loss", "aliases", "unused"))
        self.inputs, self.parameters = facts["inputs"], facts["parameters"]
        raw, self.model, self.rules = stripped.read(os.path.join(INPUTS, f"{name}.{variant}.onnx.xz"))
        self.targets = {match.decode() for match in re.findall(rb"PARAMETER target='([^']*)'", raw)}  # from the signature in the file's metadata

    def save(self, folder):
        onnx.save(self.model, f"{folder}/model.onnx")
        np.savez(f"{folder}/data.npz", **{name: stripped.values(rule, rule["shape"]) if isinstance(rule, dict) else np.array(rule, np.int64) for name, rule in self.inputs.items()})

    def original(self, exported):
        """Returns (the module's first name for a parameter of the file, whether the file holds its transpose). Files of the older exporter prefix the names
        with a wrapper's name, or have none of the module's names; then the rule of the values tells which parameter it is."""
        if exported.startswith("onnx::") and "seed" in self.rules.get(exported, {}):
            return self.rules[exported]["seed"], self.rules[exported].get("transposed", False)
        name = exported.removeprefix("module.")
        return self.aliases.get(name, name), False

    def gradients(self, traced):
        found = {}
        for key, value in traced.items():
            if key.startswith("grad/"):
                name, transposed = self.original(key[5:])
                found[name] = value.T if transposed else value
        return found


def options(network):
    return [network.loss_option, f"--batch={network.batch}"]


def checked(network, folder):
    """Returns what mpc says of the file as JSON, which includes its errors."""
    status, out, err = harness.run([OPTIONS.bin + "/mpc", "check", "model.onnx", "--json", *options(network)], cwd=folder)
    if status not in (0, 1):
        raise harness.Failure(f"status {status} of mpc check: {err[-1000:]}")
    return json.loads(out)


def expect_refusal(network, said, pattern):
    """Checks that the error names parameters of the module and says what to do."""
    problems = [p for p in said["problems"] if p["why"].startswith(ERROR)]
    if said["ok"] or len(problems) != 1 or not re.search(pattern, problems[0]["why"]) or "--accept-exported" not in problems[0]["hint"]:
        raise harness.Failure(f"not refused with '{pattern}': {said['problems'] or said['notes']}")
    for name in re.findall(r"'([\w.]+)' was computed", problems[0]["why"]) + [f"{norm}.weight" for norm in re.findall(r"batch norm '([\w.]+)'", problems[0]["why"])]:
        if network.targets and name not in network.targets:
            raise harness.Failure(f"the module has no parameter '{name}': {problems[0]['why']}")


def expect_parameters(network, said):
    """Checks that the trained parameters are PyTorch's, by name and shape."""
    if not said["ok"]:
        raise harness.Failure(f"refused: {said['problems']}")
    found = {}
    for tensor in said["tensors"]:
        if tensor["role"] == "parameter":
            shape = [int(d) for d in re.findall(r"(\d+)x", tensor["type"])]
            name, transposed = network.original(tensor["name"])
            if name in found:
                raise harness.Failure(f"two tensors are trained for {name}")
            found[name] = shape[::-1] if transposed else shape
    wanted = {name: row[0] for name, row in network.parameters.items()}
    if found != wanted:
        raise harness.Failure(f"trained, but not in PyTorch: {sorted(set(found) - set(wanted))}; not trained: {sorted(set(wanted) - set(found))}; "
                              f"of other shapes: {[n for n in wanted if n in found and found[n] != wanted[n]]}")
    if network.targets and {network.original(name)[0] for name in network.targets} - set(network.unused) != set(found):
        raise harness.Failure(f"the file's signature has other parameters: {sorted({network.original(name)[0] for name in network.targets} ^ set(found))}")
    if any(SHARED in note for note in said["notes"]):
        raise harness.Failure(f"tied, but not in PyTorch: {said['notes']}")


def step(network, folder, *precision):
    """Returns loss and gradients of a step of the compiled program."""
    harness.must([OPTIONS.bin + "/mpc", "compile", "model.onnx", "-o", "program", "-q", "--cpu=x86-64-v3", *options(network), *precision], cwd=folder)
    harness.must(["./program", "trace", "--data", "data.npz", "--steps", 1, "--threads", 1, "--out", "trace.npz"], cwd=folder)
    return dict(np.load(f"{folder}/trace.npz"))


def expect_step(network, traced):
    """Compares with PyTorch's loss and gradients. If two vectors are this close, so are their norms, and their products with a vector of length one."""
    if not abs(traced["loss"][0] / network.loss - 1) <= LOSS:
        raise harness.Failure(f"the loss is {traced['loss'][0]}, PyTorch's {network.loss}")
    gradients, wrong = network.gradients(traced), []
    for name, (shape, norm, product, bound) in network.parameters.items():
        gradient = gradients[name].astype(np.float64)
        direction = stripped.seeded(f"direction {name}", shape, 0.0, 1.0).astype(np.float64)
        found = (np.linalg.norm(gradient), np.sum(gradient * direction) / np.linalg.norm(direction))
        if not (abs(found[0] - norm) <= bound and abs(found[1] - product) <= bound):
            wrong.append(f"{name}: norm {found[0]:.7g} and product {found[1]:.7g}, PyTorch's {norm:.7g} and {product:.7g} (bound {bound})")
    if wrong:
        raise harness.Failure(f"{len(wrong)} of {len(network.parameters)} gradients differ: " + "; ".join(wrong[:3]))


def expect_step16(network, traced):
    if not abs(traced["loss"][0] / network.loss - 1) <= LOSS16:
        raise harness.Failure(f"the loss in fp16 is {traced['loss'][0]}, PyTorch's {network.loss}")
    gradients = network.gradients(traced)
    wrong = [name for name in network.parameters if name not in gradients or not np.isfinite(gradients[name]).all()]
    if wrong:
        raise harness.Failure(f"no finite gradient in fp16: {wrong}")


def exported(name, variant):
    def case():
        network = Network(name, variant)
        with harness.folder() as folder:
            network.save(folder)
            said = checked(network, folder)
            if f"{name}.{variant}" in REFUSED:
                return expect_refusal(network, said, REFUSED[f"{name}.{variant}"])
            expect_parameters(network, said)
            expect_step(network, step(network, folder, "--precision=fp32", "--opt-level=O0"))
            if variant == "tool":
                expect_step16(network, step(network, folder, "--precision=fp16", "--loss-scale=128"))
    return case


def cases():
    files = sorted(file for file in os.listdir(INPUTS) if file.endswith(".onnx.xz"))
    return [(f"exported/{name}/{variant}", exported(name, variant)) for name, variant in (file[:-len(".onnx.xz")].split(".") for file in files)]


if __name__ == "__main__":
    OPTIONS = harness.arguments(__doc__)
    harness.main(cases(), OPTIONS.only)
