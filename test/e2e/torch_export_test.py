#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Takes a network that torch's exporter changed for inference from its file to training and back: equal tensors were merged, a zero bias was dropped, and a
weight was transposed. The metadata that the exporter writes tells what the module was. Here it is written by hand as torch 2.15 does; test/torch has real
files."""
import os
import sys

import numpy as np
import onnx
from onnx import numpy_helper

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import harness  # noqa: E402
from models import Graph  # noqa: E402
from programs import checkpoint  # noqa: E402

NODE, GRAPH, VALUE = 9, 16, 4  # field numbers of metadata_props, which the installed onnx may not know


def describe(message, field, key, value):
    """Adds an entry to metadata_props."""
    entry = onnx.StringStringEntryProto(key=key, value=value).SerializeToString()
    size, length = len(entry), b""
    while size >= 0x80:
        length, size = length + bytes([size & 0x7f | 0x80]), size >> 7
    tag = field << 3 | 2
    message.MergeFromString((bytes([tag]) if tag < 0x80 else bytes([tag & 0x7f | 0x80, tag >> 7])) + length + bytes([size]) + entry)


class Exported(Graph):
    """A graph whose nodes carry the calls of torch that they come from."""

    def __init__(self):
        super().__init__(opset=17)
        self.signature, self.calls, self.folded = "", {}, {}

    def call(self, op, inputs, output, target, args, **attributes):
        self.calls[output] = f"%{output} : [num_users=1] = call_function[target=torch.ops.aten.{target}.default](args = ({args}), kwargs = {{}})"
        return self.node(op, inputs, output, **attributes)

    def module(self, *names):
        for name in names:
            self.signature += f"p_{name.replace('.', '_')}: PARAMETER target='{name}'\n"

    def proto(self):
        model = super().proto()
        model.producer_name = "pytorch"
        describe(model.graph, GRAPH, "pkg.torch.export.ExportedProgram.graph_signature", f"\n# inputs\n{self.signature}x: USER_INPUT\n\n# outputs\ny: USER_OUTPUT\n")
        for node in model.graph.node:
            describe(node, NODE, "pkg.torch.onnx.fx_node", self.calls[node.output[0]])
        for name, origin in self.folded.items():
            describe(model.graph.value_info.add(name=name), VALUE, "pkg.onnxscript.optimizer.folded_from", f"['{origin}']")
        return model


def network():
    """Makes x [4, 6] -> norm, dense (with a zero bias) -> norm -> dense whose weight is transposed -> y [4, 3]."""
    g = Exported()
    g.module("ln1.weight", "ln1.bias", "fc.weight", "fc.bias", "ln2.weight", "ln2.bias", "head.weight", "head.bias")
    g.input("x", [4, 6])
    g.constant("ln1.weight", np.ones(6, np.float32))
    g.constant("ln1.bias", np.zeros(6, np.float32))
    g.weight("fc.weight", (6, 6))
    g.constant("val_2", np.random.default_rng(3).normal(0, 0.4, (6, 3)).astype(np.float32))
    g.constant("head.bias", np.float32([0.1, 0.2, 0.3]))
    g.folded["val_2"] = "head.weight"
    g.call("LayerNormalization", ["x", "ln1.weight", "ln1.bias"], "layer_norm", "layer_norm", "%x, [6], %p_ln1_weight, %p_ln1_bias, 1e-05, False")
    g.call("Gemm", ["layer_norm", "fc.weight"], "linear", "linear", "%layer_norm, %p_fc_weight, %p_fc_bias", transB=1)
    g.call("LayerNormalization", ["linear", "ln1.weight", "ln1.bias"], "layer_norm_1", "layer_norm", "%linear, [6], %p_ln2_weight, %p_ln2_bias, 1e-05, False")
    g.call("MatMul", ["layer_norm_1", "val_2"], "val_3", "linear", "%layer_norm_1, %p_head_weight, %p_head_bias")
    g.call("Add", ["val_3", "head.bias"], "y", "linear", "%layer_norm_1, %p_head_weight, %p_head_bias")
    return g.output("y", [4, 3])


def there_and_back():
    with harness.folder() as folder:
        network().save(f"{folder}/net.onnx")
        mpc = OPTIONS.bin + "/mpc"
        said = harness.must([mpc, "check", "net.onnx", "--loss=mse:y:target"], cwd=folder)
        for text in ("note: 2 tensors that the exporter had merged", "note: a bias that is zero is back", "note: a parameter that was computed into another form",
                     "parameter  head.weight: tensor<3x6xf32> (parameter of the torch module, operand of MatMul"):
            if text not in said:
                raise harness.Failure(f"not said: {text}\n{said}")
        harness.must([mpc, "compile", "net.onnx", "-o", "net", "-q", "--precision=fp32", "--loss=mse:y:target", "--lr=0.1", "--cpu=x86-64-v3"], cwd=folder)
        rng = np.random.default_rng(5)
        np.savez(f"{folder}/data.npz", x=rng.normal(0, 1, (16, 6)).astype(np.float32), target=rng.normal(0, 1, (16, 3)).astype(np.float32))
        harness.must(["./net", "train", "--data", "data.npz", "--steps", 8, "--checkpoint-dir", "saved"], cwd=folder)
        trained = checkpoint(f"{folder}/saved/step-00000008.safetensors")
        for one, other in (("ln1.weight", "ln2.weight"), ("ln1.bias", "fc.bias"), ("ln2.bias", "fc.bias")):
            if np.abs(trained[one] - trained[other]).max() < 1e-3:
                raise harness.Failure(f"{one} and {other} train as one")
        harness.must([mpc, "export", "net.onnx", "--checkpoint", "saved/step-00000008.safetensors", "-o", "trained.onnx"], cwd=folder)
        tensors = {t.name: numpy_helper.to_array(t) for t in onnx.load(f"{folder}/trained.onnx").graph.initializer}
        for name in ("ln1.weight", "ln1.bias", "fc.weight", "fc.bias", "ln2.weight", "ln2.bias", "head.weight", "head.bias"):
            if name not in tensors or not np.array_equal(tensors[name], trained[name]):
                raise harness.Failure(f"{name} is not exported as it was trained: {sorted(tensors)}")
        np.savez(f"{folder}/few.npz", x=rng.normal(0, 1, (4, 6)).astype(np.float32))  # mpc run takes one batch
        harness.must(["./net", "predict", "--data", "few.npz", "--checkpoint", "saved/step-00000008.safetensors", "--out", "program.npz"], cwd=folder)
        harness.must([mpc, "run", "trained.onnx", "--data", "few.npz", "--out", "run.npz"], cwd=folder)
        difference = np.abs(np.load(f"{folder}/program.npz")["y"] - np.load(f"{folder}/run.npz")["y"]).max()
        if not difference < 1e-5:
            raise harness.Failure(f"the export differs from the program by {difference}")


def untied_export():
    """Each use of a shared tensor is trained by itself, and the export holds all of them."""
    with harness.folder() as folder:
        g = Graph()
        one = g.constant("one", np.ones(3, np.float32))
        y = g.node("Mul", [g.input("x", [4, 3]), one], "first")
        y = g.node("MatMul", [y, g.constant("w", np.eye(3, dtype=np.float32))], "dense")
        g.node("Mul", [y, one], "y")
        g.output("y", [4, 3]).save(f"{folder}/net.onnx")
        mpc = OPTIONS.bin + "/mpc"
        harness.must([mpc, "compile", "net.onnx", "-o", "net", "-q", "--precision=fp32", "--loss=mse:y:target", "--untie=^one$", "--lr=0.1", "--cpu=x86-64-v3"], cwd=folder)
        np.savez(f"{folder}/data.npz", x=np.random.default_rng(1).normal(0, 1, (8, 3)).astype(np.float32), target=np.ones((8, 3), np.float32))
        harness.must(["./net", "train", "--data", "data.npz", "--steps", 4, "--checkpoint-dir", "saved"], cwd=folder)
        harness.must([mpc, "export", "net.onnx", "--checkpoint", "saved/step-00000004.safetensors", "-o", "trained.onnx"], cwd=folder)
        trained = checkpoint(f"{folder}/saved/step-00000004.safetensors")
        tensors = {t.name: numpy_helper.to_array(t) for t in onnx.load(f"{folder}/trained.onnx").graph.initializer}
        if not {"one", "one@y", "w"} <= set(tensors) or any(not np.array_equal(tensors[n], trained[n]) for n in ("one", "one@y")):
            raise harness.Failure(f"exported: {sorted(tensors)}; trained: {sorted(trained)}")


if __name__ == "__main__":
    OPTIONS = harness.arguments(__doc__)
    harness.main([("torch-export/there-and-back", there_and_back), ("torch-export/untied", untied_export)], OPTIONS.only)
