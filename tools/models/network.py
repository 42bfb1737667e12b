# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds small ONNX networks, with parameters that have seeded initial values and nodes named after what they are."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


class Network:
    """Collects one graph. A node has the name of its first output."""

    def __init__(self, name="network", seed=1, opset=13, values=True):
        """values: whether random parameters get values; otherwise they are inputs (`mpc compile --params`) and the file stays small."""
        self.name, self.rng, self.opset, self.values = name, np.random.default_rng(seed), opset, values
        self.nodes, self.initializers, self.inputs, self.outputs, self.functions = [], [], [], [], []
        self.shared = {}  # Constant nodes by their values

    def input(self, name, shape, dtype=FLOAT):
        """Adds an input. shape: numbers, or strings for named dimensions."""
        self.inputs.append(helper.make_tensor_value_info(name, dtype, shape))
        return name

    def output(self, name, shape=None, dtype=FLOAT):
        self.outputs.append(helper.make_tensor_value_info(name, dtype, shape))
        return self

    def constant(self, name, array, dtype=None):
        """Adds an initializer of these values; dtype: a numpy type, if it differs from the array's own."""
        self.initializers.append(numpy_helper.from_array(np.asarray(array, dtype), name))
        return name

    def parameter(self, name, shape, fan_in=None, value=0.0):
        """Adds a float32 initializer: Kaiming-normal, N(0, 2 / fan_in), if fan_in is given, else filled with `value`."""
        if fan_in and not self.values:
            return self.input(name, list(shape))
        array = self.rng.normal(0, np.sqrt(2.0 / fan_in), shape) if fan_in else np.full(shape, value)
        return self.constant(name, array, np.float32)

    def node(self, op, inputs, output, **attributes):
        """Adds a node. output: the name of the only output, or the names of all. Returns the first."""
        outputs = [output] if isinstance(output, str) else output
        self.nodes.append(helper.make_node(op, inputs, outputs, name=outputs[0], **attributes))
        return outputs[0]

    def stop_gradient(self, x, name):
        """Adds an Identity that mpc passes no gradient through. Its mark is an entry of `metadata_props`, field 9 of a node, which the classes of onnx before 1.16 lack but keep."""
        self.node("Identity", [x], name)
        entry = b"".join(bytes([tag, len(text)]) + text for tag, text in ((0x0A, b"mpc.stop_gradient"), (0x12, b"True")))
        self.nodes[-1].MergeFromString(bytes([0x4A, len(entry)]) + entry)
        return name

    def conv(self, x, name, c_in, c_out, kernel, stride=1, pad=0, bias=True, dilation=1):
        inputs = [x, self.parameter(f"{name}.weight", (c_out, c_in, kernel, kernel), fan_in=c_in * kernel * kernel)]
        if bias:
            inputs.append(self.parameter(f"{name}.bias", (c_out,)))
        attributes = {"dilations": [dilation, dilation]} if dilation != 1 else {}
        return self.node("Conv", inputs, name, kernel_shape=[kernel, kernel], strides=[stride, stride], pads=[pad] * 4, **attributes)

    def batch_norm(self, x, name, channels):
        statistics = [self.parameter(f"{name}.{part}", (channels,), value=value)
                      for part, value in (("scale", 1), ("bias", 0), ("mean", 0), ("var", 1))]
        return self.node("BatchNormalization", [x] + statistics, name)

    def relu(self, x, name):
        return self.node("Relu", [x], name)

    def max_pool(self, x, name, size=2):
        return self.node("MaxPool", [x], name, kernel_shape=[size, size], strides=[size, size])

    def dropout(self, x, name, ratio):
        return self.node("Dropout", [x, self.constant(f"{name}.ratio", ratio, np.float32)], name)

    def linear(self, x, name, features_in, features_out):
        return self.node("Gemm", [x, self.parameter(f"{name}.weight", (features_in, features_out), fan_in=features_in),
                                  self.parameter(f"{name}.bias", (features_out,))], name)

    def proto(self):
        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, self.initializers)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], functions=self.functions,
                                 producer_name="mpc models")

    def save(self, path):
        model = self.proto()
        onnx.checker.check_model(model)
        onnx.save(model, path)
        return path
