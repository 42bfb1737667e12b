# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the checks of tools/torch/export.py share: exporting into a folder, what mpc says of the file, and the gradients of a step."""
import json
import os
import re
import sys

import numpy as np
import onnx
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
TOOL = os.path.join(HERE, "..", "..", "tools", "torch", "export.py")
sys.path[:0] = [os.path.join(HERE, "..", "tools"), os.path.dirname(TOOL)]
import harness  # noqa: E402
from export import ExportError, export  # noqa: E402

LOGITS = "--loss=softmax_cross_entropy:logits:labels"
bin_folder = ""  # of mpc; export_checks.py sets it


def expect(condition, why):
    if not condition:
        raise harness.Failure(why)


def written(module, inputs, folder, **options):
    """Returns the graph that the tool writes, and checks that the module is as it was before."""
    before = {name: value.clone() for name, value in module.state_dict().items()}, [part.training for part in module.modules()], "forward" in vars(module)
    path = f"{folder}/model.onnx"
    notes = export(module, inputs, path, **options)
    after = module.state_dict()
    expect(all(torch.equal(value, after[name]) for name, value in before[0].items()), "the export changes values of the module")
    expect([part.training for part in module.modules()] == before[1] and ("forward" in vars(module)) == before[2], "the export leaves the module in another state")
    return onnx.load(path).graph, notes


def expect_parameters(graph, module):
    """Checks that each parameter is an initializer with its values and name, or with the first of its names."""
    tensors = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer}
    for name, parameter in module.named_parameters():
        expect(name in tensors, f"{name} is missing; there are {sorted(tensors)}")
        expect(np.array_equal(tensors[name], parameter.detach().numpy()), f"{name} has other values or another shape")
    for name, _ in module.named_parameters(remove_duplicate=False):
        expect(name in dict(module.named_parameters()) or name not in tensors, f"{name} is there beside what it is tied to")


def check(folder, *options):
    """Returns what mpc check says, as JSON."""
    status, out, err = harness.run([bin_folder + "/mpc", "check", "model.onnx", "--json", *options], cwd=folder)
    expect(status == 0, f"mpc check refuses the file: {out[-1500:]}{err[-500:]}")
    return json.loads(out)


def roles(folder, *options):
    return {tensor["name"]: tensor["role"] for tensor in check(folder, *options)["tensors"]}


def gradients(folder, data, *options):
    """Returns the gradients of a step of the fp32 program, and its loss under ""."""
    np.savez(f"{folder}/data.npz", **{name: np.asarray(value) for name, value in data.items()})
    harness.must([bin_folder + "/mpc", "compile", "model.onnx", "-o", "program", "-q", "--precision=fp32", "--opt-level=O0", *options], cwd=folder)
    harness.must(["./program", "trace", "--data", "data.npz", "--steps", 1, "--threads", 1, "--out", "trace.npz"], cwd=folder)
    traced = np.load(f"{folder}/trace.npz")
    return {"": float(traced["loss"][0]), **{key[5:]: traced[key] for key in traced if key.startswith("grad/")}}


def expect_verified(folder, *options):
    """Checks that mpc verify finds model.onnx equal to reference.npz of the folder."""
    status, out, err = harness.run([bin_folder + "/mpc", "verify", "model.onnx", "--reference", "reference.npz", *options], cwd=folder)
    expect(status == 0, f"mpc verify: {out[-1500:]}{err[-500:]}")


def expect_gradients(found, module, loss):
    """Compares with PyTorch's gradients, within the error of float32 sums of some hundred numbers."""
    module.zero_grad()
    loss.backward()
    expect(abs(found[""] - loss.item()) <= 1e-5 * abs(loss.item()), f"the loss is {found['']}, PyTorch's {loss.item()}")
    wanted = {name: parameter.grad.numpy() for name, parameter in module.named_parameters() if parameter.grad is not None}
    expect(set(found) - {""} == set(wanted), f"gradients of {sorted(found)}, PyTorch's of {sorted(wanted)}")
    limit = 1e-5 * max(np.abs(value).max() for value in wanted.values())
    for name, value in wanted.items():
        expect(np.allclose(found[name], value, rtol=1e-4, atol=limit), f"{name}: {found[name]}, PyTorch's {value}")


def refused(said, module, inputs, **options):
    """Makes the case of an ExportError of two lines: what is wrong, and what to do. Nothing is written, and the module is as it was."""
    def case():
        made = module()
        with harness.folder() as folder:
            try:
                written(made, inputs(), folder, **options)
            except ExportError as error:
                text = str(error)
            else:
                raise harness.Failure("not refused")
            expect(re.search(said, text) and "\nhint: " in text, f"not '{said}' with a hint: {text}")
            expect(not os.listdir(folder), f"left behind: {os.listdir(folder)}")
            expect("forward" not in vars(made), "forward is replaced")
    return case
