# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Typed graphs as the fuzzer makes, shrinks and saves them, and their form as ONNX models and data files.

A graph is plain data: nodes in order, tensors with NumPy values, the opset, and how it is trained. Float tensors are held in float64 with values that their
type can represent, so that the references compute on exactly what the model says.
"""
import json

import numpy as np
from onnx import TensorProto, helper

FLOATS = ("f32", "f16", "bf16", "f64")
INTS = ("i64", "i32", "i16", "i8", "u8")
ONNX_TYPES = {"f32": TensorProto.FLOAT, "f16": TensorProto.FLOAT16, "bf16": TensorProto.BFLOAT16, "f64": TensorProto.DOUBLE, "i64": TensorProto.INT64,
              "i32": TensorProto.INT32, "i16": TensorProto.INT16, "i8": TensorProto.INT8, "u8": TensorProto.UINT8, "bool": TensorProto.BOOL}
NUMPY_TYPES = {"f32": np.float32, "f16": np.float16, "bf16": np.float32, "f64": np.float64, "i64": np.int64, "i32": np.int32, "i16": np.int16, "i8": np.int8,
               "u8": np.uint8, "bool": np.bool_}


def round_to(dtype, values):
    """Returns float values rounded to the type, in float64; integers in int64; booleans as they are."""
    with np.errstate(over="ignore"):
        if dtype == "bf16":
            bits = np.ascontiguousarray(np.asarray(values, np.float64).astype(np.float32)).view(np.uint32)
            return (((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16 << 16).astype(np.uint32)).view(np.float32).astype(np.float64)
        if dtype in FLOATS:
            return np.asarray(values, np.float64).astype(NUMPY_TYPES[dtype]).astype(np.float64)
    return np.asarray(values).astype(np.bool_ if dtype == "bool" else np.int64)


def shortest(number, dtype):
    """Returns the shortest number that the type reads back as this one."""
    return float(number) if dtype == "f64" or dtype not in FLOATS else float(str(np.float32(number)))


def is_float(dtype):
    return dtype in FLOATS


class Node:
    def __init__(self, op, inputs, outputs, attributes=None):
        self.op, self.inputs, self.outputs, self.attributes = op, list(inputs), list(outputs), dict(attributes or {})

    def to_json(self):
        return [self.op, self.inputs, self.outputs, self.attributes]


class Graph:
    def __init__(self, opset):
        self.opset = opset
        self.nodes = []
        self.types = {}  # name of a tensor: its element type
        self.inputs = {}  # name: values
        self.initializers = {}  # name: values; those called p... are trained
        self.declared = {}  # name of a computed tensor: its shape, where an output declares one
        self.outputs = []
        self.loss = ""  # as for --loss; empty where the first output is the loss
        self.targets = {}  # name: values that the loss compares with; their type is in types
        self.extreme = False

    def parameters(self):
        return [name for name in self.initializers if name.startswith("p")]

    def loss_option(self):
        """Returns the value of --loss. Other outputs may be numbers, too, and mpc does not guess between them."""
        return self.loss or f"output:{self.outputs[0]}"

    # -- files ------------------------------------------------------------------------------------------
    def tensor(self, name, values, dtype):
        """Makes a tensor from its bytes, because NumPy does not know bfloat16."""
        stored = np.asarray(values)
        if dtype == "bf16":
            stored = (np.ascontiguousarray(stored.astype(np.float32)).view(np.uint32) >> 16).astype(np.uint16)
        else:
            stored = stored.astype(NUMPY_TYPES[dtype])
        proto = TensorProto(name=name, data_type=ONNX_TYPES[dtype], raw_data=np.ascontiguousarray(stored).tobytes())
        proto.dims.extend(np.shape(values))
        return proto

    def to_onnx(self):
        def value(name, shape):
            return helper.make_tensor_value_info(name, ONNX_TYPES[self.types[name]], list(shape))

        nodes = []
        for i, node in enumerate(self.nodes):
            nodes.append(self.to_proto(node, f"n{i}_{node.op}"))
        inputs = [value(n, np.shape(v)) for n, v in self.inputs.items()]
        if self.opset < 4:
            inputs += [value(n, np.shape(v)) for n, v in self.initializers.items()]
        graph = helper.make_graph(nodes, "g", inputs, [value(n, self.declared[n]) for n in self.outputs],
                                  [self.tensor(n, v, self.types[n]) for n, v in self.initializers.items()])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)])
        model.ir_version = 8 if self.opset < 19 else 9 if self.opset < 21 else 10
        return model.SerializeToString()

    def to_proto(self, node, name):
        inputs, attributes = node.inputs, dict(node.attributes)
        for key, value in attributes.items():
            if key == "body":
                inputs, attributes[key] = self.body(node)
            elif isinstance(value, dict):
                attributes[key] = self.attribute_tensor(value)
        return helper.make_node(node.op, inputs, node.outputs, name=name, **attributes)

    def body(self, scan):
        """Returns the inputs of a Scan and its body. The last inputs of the node are tensors that the body captures, which have no place among ONNX's inputs."""
        body = scan.attributes["body"]
        given = len(scan.inputs) - len(body["captured"])
        names = dict(zip(body["captured"], scan.inputs[given:]))
        nodes = [Node(op, [names.get(n, n) for n in inputs], outputs, attributes) for op, inputs, outputs, attributes in body["nodes"]]
        value = lambda name: helper.make_tensor_value_info(name, ONNX_TYPES[self.types[name]], None)
        protos = [self.to_proto(node, f"{scan.outputs[0]}_{i}_{node.op}") for i, node in enumerate(nodes)]
        return scan.inputs[:given], helper.make_graph(protos, "body", [value(n) for n in body["arguments"]], [value(n) for n in body["outputs"]])

    def attribute_tensor(self, described):
        return self.tensor("value", np.asarray(described["values"]).reshape(described["shape"]), described["dtype"])

    def save(self, model, data):
        with open(model, "wb") as file:
            file.write(self.to_onnx())
        arrays = {**self.inputs, **self.targets}
        np.savez(data, **{n: np.asarray(v).astype(NUMPY_TYPES[self.types[n]]) for n, v in arrays.items()})

    # -- JSON, for shrinking by hand and for reports ------------------------------------------------------
    def to_json(self):
        def pack(values):
            return {n: {"shape": list(np.shape(v)), "values": [shortest(x, self.types[n]) for x in np.ravel(v)]} for n, v in values.items()}

        return json.dumps({"opset": self.opset, "nodes": [n.to_json() for n in self.nodes], "types": self.types, "inputs": pack(self.inputs),
                           "initializers": pack(self.initializers), "declared": {n: list(s) for n, s in self.declared.items()}, "outputs": self.outputs,
                           "loss": self.loss, "targets": pack(self.targets), "extreme": self.extreme})

    @staticmethod
    def from_json(text):
        def unpack(values):
            return {n: round_to(graph.types[n], np.array(v["values"], np.float64).reshape(v["shape"])) for n, v in values.items()}

        raw = json.loads(text)
        graph = Graph(raw["opset"])
        graph.nodes = [Node(*n) for n in raw["nodes"]]
        graph.types, graph.declared, graph.outputs = raw["types"], raw["declared"], raw["outputs"]
        graph.inputs, graph.initializers, graph.targets = (unpack(raw[k]) for k in ("inputs", "initializers", "targets"))
        graph.loss, graph.extreme = raw["loss"], raw["extreme"]
        return graph

    def copy(self):
        return Graph.from_json(self.to_json())
