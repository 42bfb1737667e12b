#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs `mpc verify` as a user does, on networks that are exported well and on files that were spoiled on purpose, and prints a table.

usage: verified.py --build BUILD [--only TEXT] [--markdown FILE]      (by hand, with what requirements.txt lists)
The networks are those of networks.py and forms.py, exported by tools/torch/export.py with --reference; each must be verified in fp32, some also in fp16 and bf16, and on the emulator.
Each spoiled file is one that an exporter writes, or the tool's without one of its marks; verify, or the compiler before it, must refuse it.
Exits with status 1 where a verdict is not the expected one.
"""
import argparse
import copy
import os
import re
import subprocess
import sys
import tempfile

import onnx
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tools", "torch"))
import export as tool  # noqa: E402
import forms  # noqa: E402
import networks  # noqa: E402

FX_NODE, SIGNATURE, STOP = "pkg.torch.onnx.fx_node", "pkg.torch.export.ExportedProgram.graph_signature", "mpc.stop_gradient"


class Exported:
    """A network's file and its reference in a folder."""

    def __init__(self, name, folder):
        self.model, self.reference = os.path.join(folder, name + ".onnx"), os.path.join(folder, name + ".npz")
        if name in forms.FORMS:
            torch.manual_seed(3)
            make, self.inputs, labels = forms.FORMS[name]()
            self.module, self.outputs = make().train(), ["logits"] if labels else ["loss"]
            self.loss = "softmax_cross_entropy:logits:labels" if labels else "output:loss"
        else:
            case, self.module = networks.case(name)
            self.inputs, labels, self.outputs = case.inputs, {} if case.labels is None else {"labels": case.labels}, case.outputs
            self.loss = case.mpc_loss().removeprefix("--loss=")
        tool.export(copy.deepcopy(self.module), self.inputs, self.model, outputs=self.outputs, reference=self.reference, loss=self.loss, labels=labels)

    def by_torch(self, **options):
        """Replaces the file by the one that torch's exporter writes."""
        torch.onnx.export(copy.deepcopy(self.module), (), self.model, kwargs=self.inputs, dynamo=True, verbose=False, external_data=False, input_names=list(self.inputs),
                          output_names=self.outputs, **options)

    def change(self, edit):
        model = onnx.load(self.model)
        edit(model)
        onnx.save(model, self.model)


def drop(keys, op=""):
    """Returns an edit that drops metadata of the nodes of an op."""
    def edit(model):
        for node in model.graph.node:
            if op in ("", node.op_type):
                kept = [onnx.StringStringEntryProto(key=entry.key, value=entry.value) for entry in node.metadata_props if entry.key not in keys]
                del node.metadata_props[:]
                node.metadata_props.extend(kept)
    return edit


def drop_mutations(model):
    for entry in model.graph.metadata_props:
        if entry.key == SIGNATURE:
            entry.value = re.sub(r".*BUFFER_MUTATION.*\n", "", entry.value)


def change_weight(model):
    """Multiplies one weight by 1.001."""
    tensor = next(t for t in model.graph.initializer if t.name.endswith("weight") and len(t.dims) > 1)
    tensor.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(tensor) * 1.001, tensor.name))


def change_node(old, new):
    def edit(model):
        next(node for node in model.graph.node if node.op_type == old).op_type = new
    return edit


# What is spoiled: (network, how, what makes it so)
SPOILED = [
    ("detached", "detach without its metadata", lambda e: e.change(drop([FX_NODE, STOP], "Identity"))),
    ("teacher", "torch's file, which has no trace of no_grad", lambda e: e.by_torch(optimize=False)),
    ("straight_through", "detach without its metadata", lambda e: e.change(drop([FX_NODE, STOP], "Identity"))),
    ("average", "without the lines of updated buffers", lambda e: e.change(drop_mutations)),
    ("smoothed", "label smoothing without the recorded call", lambda e: e.change(drop([FX_NODE]))),
    ("resnet18", "torch's optimizer (the default): batch norms folded", lambda e: e.by_torch()),
    ("swin", "torch's optimizer (the default): parameters computed", lambda e: e.by_torch()),
    ("codebook", "torch's file, which drops new values of buffers", lambda e: e.by_torch(optimize=False)),
    ("gpt2", "a weight 1.001 times as large", lambda e: e.change(change_weight)),
    ("mobilenet", "HardSwish replaced by Relu", lambda e: e.change(change_node("HardSwish", "Relu"))),
]
RIGHT = [*networks.NETWORKS, *forms.FORMS]
# Further runs of some networks.
OPTIONS = {"resnet18": [["--precision=fp16"], ["--precision=bf16"]], "vit": [["--precision=fp16"], ["--precision=bf16", "--opt-level=O2"]], "gpt2": [["--precision=fp16", "--opt-level=O2"]],
           "spectral": [["--precision=fp16"], ["--target=sm_80,emulator", "--device=emulator"]], "detached": [["--target=sm_80,emulator", "--device=emulator"]]}


def verify(mpc, exported, options=()):
    """Returns (status, the verdict and the first difference)."""
    done = subprocess.run([mpc, "verify", exported.model, "--reference", exported.reference, *options], capture_output=True, text=True)
    said = (done.stdout + done.stderr).strip().splitlines()
    verdicts = [line for line in said if line.startswith(("ok:", "error:"))]
    first = [line for line in said if line.startswith("first difference")]
    return done.returncode, " ".join((verdicts or said[-1:]) + first).replace(os.path.dirname(exported.model) + "/", "")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--markdown")
    arguments = parser.parse_args()
    mpc, rows, wrong = os.path.join(arguments.build, "bin", "mpc"), [], 0

    def row(name, what, status, expected, said):
        nonlocal wrong
        wrong += status != expected
        rows.append(f"| {name} | {what} | {status} | {said} |")
        print(("" if status == expected else "WRONG ") + f"{name}: {what}: status {status}: {said}", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        for name in RIGHT:
            if arguments.only in name:
                exported = Exported(name, folder)
                for options in [[], *OPTIONS.get(name, [])]:
                    status, said = verify(mpc, exported, options)
                    row(name, " ".join(options) or "--precision=fp32", status, 0, said)
        for name, what, spoil in SPOILED:
            if arguments.only in name:
                exported = Exported(name, folder)
                spoil(exported)
                status, said = verify(mpc, exported)
                row(name, what, status, 1, said)
    if arguments.markdown:
        with open(arguments.markdown, "w") as out:
            out.write("| network | run, or what was spoiled | status | what `mpc verify` says |\n|---|---|---|---|\n" + "\n".join(rows) + "\n")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
