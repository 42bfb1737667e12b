"""Builds small ONNX networks: parameters with seeded initial values, nodes named after what they are."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 13


class Network:
    """Collects the nodes and initializers of one graph. Node names are the names of their first output."""

    def __init__(self, name, seed=1):
        self.name, self.rng = name, np.random.default_rng(seed)
        self.nodes, self.initializers = [], []

    def parameter(self, name, shape, fan_in=None, value=0.0):
        """An initializer: Kaiming-normal, N(0, 2 / fan_in), where fan_in is given, else filled with `value`."""
        array = self.rng.normal(0, np.sqrt(2.0 / fan_in), shape) if fan_in else np.full(shape, value)
        self.initializers.append(numpy_helper.from_array(array.astype(np.float32), name))
        return name

    def node(self, op, inputs, output, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [output], name=output, **attributes))
        return output

    def conv(self, x, name, c_in, c_out, kernel, stride=1, pad=0, bias=True):
        inputs = [x, self.parameter(f"{name}.weight", (c_out, c_in, kernel, kernel), fan_in=c_in * kernel * kernel)]
        if bias:
            inputs.append(self.parameter(f"{name}.bias", (c_out,)))
        return self.node("Conv", inputs, name, kernel_shape=[kernel, kernel], strides=[stride, stride], pads=[pad] * 4)

    def batch_norm(self, x, name, channels):
        statistics = [self.parameter(f"{name}.{part}", (channels,), value=value)
                      for part, value in (("scale", 1), ("bias", 0), ("mean", 0), ("var", 1))]
        return self.node("BatchNormalization", [x] + statistics, name)

    def relu(self, x, name):
        return self.node("Relu", [x], name)

    def max_pool(self, x, name, size=2):
        return self.node("MaxPool", [x], name, kernel_shape=[size, size], strides=[size, size])

    def dropout(self, x, name, ratio):
        self.initializers.append(numpy_helper.from_array(np.float32(ratio), f"{name}.ratio"))
        return self.node("Dropout", [x, f"{name}.ratio"], name)

    def linear(self, x, name, features_in, features_out):
        return self.node("Gemm", [x, self.parameter(f"{name}.weight", (features_in, features_out), fan_in=features_in),
                                  self.parameter(f"{name}.bias", (features_out,))], name)

    def save(self, path, inputs, outputs):
        """inputs, outputs: name -> shape (a string is a named dimension); all float32."""
        def infos(ports):
            return [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in ports.items()]

        graph = helper.make_graph(self.nodes, self.name, infos(inputs), infos(outputs), self.initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="mpc models")
        onnx.checker.check_model(model)
        onnx.save(model, path)
