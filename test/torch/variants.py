# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The ways to write a module to an ONNX file that are compared: PyTorch's two exporters as users call them, and tools/torch/export.py."""
import contextlib
import copy
import io
import os
import sys

import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "torch"))
import export as training_export  # noqa: E402


def dynamo(optimize, train):
    def write(case, module, path):
        torch.onnx.export(module.train(train), (), path, kwargs=case.inputs, dynamo=True, optimize=optimize, verbose=False, external_data=False,
                          input_names=list(case.inputs), output_names=case.outputs)
        return []
    return write


class Plain(torch.nn.Module):
    """Wraps a module for the legacy exporter, which traces: it takes tensors in their order and returns tensors."""

    def __init__(self, case, module):
        super().__init__()
        self.inputs, self.outputs, self.module = list(case.inputs), case.outputs, module

    def forward(self, *values):
        result = self.module(**dict(zip(self.inputs, values)))
        return result if isinstance(result, torch.Tensor) else tuple(result[name] for name in self.outputs)


def legacy(train):
    def write(case, module, path):
        images = list(case.inputs) == ["x"]
        mode = torch.onnx.TrainingMode.TRAINING if train else torch.onnx.TrainingMode.EVAL
        torch.onnx.export(module.train(train) if images else Plain(case, module).train(train), tuple(case.inputs.values()), path, dynamo=False, training=mode,
                          do_constant_folding=not train, input_names=list(case.inputs), output_names=case.outputs)
        return [] if images else ["module."]  # prefixes to remove from the names of parameters
    return write


def tool(case, module, path):
    training_export.export(module, case.inputs, path, outputs=case.outputs)
    return []


VARIANTS = {
    "export.py": tool,
    "dynamo optimize=False train": dynamo(False, True),
    "dynamo optimize=False eval": dynamo(False, False),
    "dynamo train": dynamo(True, True),
    "dynamo eval": dynamo(True, False),
    "legacy TRAINING": legacy(True),
    "legacy EVAL": legacy(False),
}


def write(variant, case, module, path):
    """Writes a copy of the module, because exporters change what they get. Returns prefixes of the parameters' names in the file. What the exporters print is
    discarded."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        return VARIANTS[variant](case, copy.deepcopy(module), path)
