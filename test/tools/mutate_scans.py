# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mutants of models with a Scan: what a hand-edited file or a broken exporter may hold.

A mutant is a function of its seed. It is one of the base models after one to three changes to its protobuf: names, ops, attributes, shapes and types of the Scan and of its body, values
that are captured, missing, repeated or made twice, and bodies in bodies.
"""
import random

import numpy as np
from onnx import TensorProto, helper

from models import FLOAT, INT64, Graph


def cell():
    """A recurrent cell that is scanned along the second dimension; its weights are captured."""
    g = Graph(seed=1)
    g.input("x", [2, 4, 3])
    for name, shape in (("wx", (3, 5)), ("wh", (5, 5)), ("fc", (4, 5))):
        g.parameter(name, shape, fan_in=shape[0])
    g.constant("h0", np.zeros((2, 5), np.float32))
    node = [("MatMul", ["e", "wx"], "gx"), ("MatMul", ["s", "wh"], "gh"), ("Add", ["gx", "gh"], "sum"), ("Tanh", ["sum"], "h"), ("Mul", ["h", "gx"], "o")]
    g.node("Scan", ["h0", "x"], ["last", "all"], body=body(node, [("s", [2, 5]), ("e", [2, 3])], [("h", [2, 5]), ("o", [2, 5])]), num_scan_inputs=1, scan_input_axes=[1],
           scan_input_directions=[0], scan_output_axes=[1], scan_output_directions=[1])
    g.node("ReduceMean", ["all"], "mean", axes=[1], keepdims=0)
    g.node("Gemm", [g.node("Add", ["mean", "last"], "features"), "fc"], "logits", transB=1)
    return g.output("logits", [2, 4])


def accumulator():
    """Two states, of which one stays as it is, two scanned tensors, of which one is unused, constants in the body, and two equal stacks."""
    g = Graph(seed=2)
    g.input("x", [2, 3])
    g.parameter("w", (5, 2, 3), fan_in=3)
    g.parameter("v", (2, 3), fan_in=3)
    g.constant("axes", np.array([0], np.int64))
    node = [("Add", ["s", "e"], "n"), ("Mul", ["n", "half"], "m"), ("Identity", ["k"], "kept"), ("ReduceSum", ["m", "axes"], "r"), ("Add", ["m", "v"], "q"), ("Identity", ["q"], "p")]
    inner = body(node, [("s", [2, 3]), ("k", [2, 3]), ("e", [2, 3]), ("u", [2, 3])], [("m", [2, 3]), ("kept", [2, 3]), ("q", [2, 3]), ("p", [2, 3]), ("r", [1, 3])])
    inner.initializer.append(helper.make_tensor("half", FLOAT, [], [0.5]))
    g.node("Scan", ["x", "v", "w", "w"], ["a", "b", "c", "d", "f"], body=inner, num_scan_inputs=2)
    for name in "abcdf":
        g.node("ReduceMean", [name], f"{name}.mean", keepdims=0)
    g.node("Sum", [f"{name}.mean" for name in "abcdf"], "logits")
    return g.output("logits", [])


def words():
    """A table in which the body looks words up; no state."""
    g = Graph(seed=3)
    g.input("x", [4, 2], INT64)
    g.parameter("table", (7, 3), fan_in=3)
    g.node("Scan", ["x"], ["all"], body=body([("Gather", ["table", "e"], "word"), ("Relu", ["word"], "o")], [("e", [2])], [("o", [2, 3])], INT64), num_scan_inputs=1)
    g.node("ReduceMean", ["all"], "logits", keepdims=0)
    return g.output("logits", [])


def body(nodes, inputs, outputs, element=FLOAT):
    info = helper.make_tensor_value_info
    return helper.make_graph([helper.make_node(op, names, [output], name=output) for op, names, output in nodes], "body",
                             [info(name, element, shape) for name, shape in inputs], [info(name, FLOAT, shape) for name, shape in outputs])


BASES = [cell, accumulator, words]
OPS = ["Add", "MatMul", "Identity", "Relu", "Softmax", "Concat", "Transpose", "Reshape", "ReduceSum", "Gather", "Split", "Einsum", "TopK", "Frobnicate", "Dropout", "RandomNormalLike",
       "BatchNormalization", "Constant", "If", "Loop", "Scan", "Shape", "Cast", "SequenceConstruct", "SoftmaxCrossEntropyLoss", "Where", "CumSum", "Resize"]
NUMBERS = [-2**63, -2**31, -3, -2, -1, 0, 1, 2, 3, 4, 7, 2**31, 2**62]


class Mutant:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.proto = self.random.choice(BASES)().proto()
        self.scan = next(node for node in self.proto.graph.node if node.op_type == "Scan")
        self.body = next(a.g for a in self.scan.attribute if a.name == "body")
        for _ in range(self.random.choice([1, 1, 2, 3])):
            try:
                self.random.choice(CHANGES)(self)
            except (IndexError, ValueError):  # nothing of this kind is left
                pass

    def bytes(self):
        return self.proto.SerializeToString()

    def graph(self):
        return self.body if self.random.random() < 0.7 else self.proto.graph

    def node(self):
        return self.random.choice(list(self.graph().node))

    def name(self):
        """Any name of the model, or one that nothing has."""
        names = [n for graph in (self.body, self.proto.graph) for node in graph.node for n in list(node.input) + list(node.output)]
        names += [i.name for graph in (self.body, self.proto.graph) for i in list(graph.input) + list(graph.initializer)]
        return self.random.choice(names + ["", "nowhere"])

    def rename_use(self):
        node = self.node()
        node.input[self.random.randrange(len(node.input))] = self.name()

    def rename_result(self):
        node = self.node()
        node.output[self.random.randrange(len(node.output))] = self.name()

    def rename_end(self):
        self.random.choice(list(self.random.choice([self.body.input, self.body.output, self.proto.graph.output, self.proto.graph.input]))).name = self.name()

    def other_op(self):
        self.node().op_type = self.random.choice(OPS)

    def drop_node(self):
        nodes = self.graph().node
        del nodes[self.random.randrange(len(nodes))]

    def repeat_node(self):
        nodes = self.graph().node
        nodes.add().CopyFrom(self.random.choice(list(nodes)))

    def drop_input(self):
        node = self.node()
        del node.input[self.random.randrange(len(node.input))]

    def add_input(self):
        self.node().input.append(self.name())

    def drop_output(self):
        del self.scan.output[self.random.randrange(len(self.scan.output))]

    def drop_end(self):
        ends = self.random.choice([self.body.input, self.body.output])
        del ends[self.random.randrange(len(ends))]

    def repeat_end(self):
        ends = self.random.choice([self.body.input, self.body.output])
        ends.add().CopyFrom(self.random.choice(list(ends)))

    def scan_number(self):
        lists = [a for a in self.scan.attribute if a.type == a.INTS]
        if lists and self.random.random() < 0.7:
            a = self.random.choice(lists)
            a.ints[self.random.randrange(len(a.ints))] = self.random.choice(NUMBERS)
        else:
            next(a for a in self.scan.attribute if a.name == "num_scan_inputs").i = self.random.choice(NUMBERS)

    def scan_list(self):
        name = self.random.choice(["scan_input_axes", "scan_input_directions", "scan_output_axes", "scan_output_directions"])
        for a in list(self.scan.attribute):
            if a.name == name:
                self.scan.attribute.remove(a)
        self.scan.attribute.append(helper.make_attribute(name, [self.random.choice([0, 0, 1, -1, 2]) for _ in range(self.random.randint(1, 4))]))

    def drop_attribute(self):
        attributes = self.node().attribute
        del attributes[self.random.randrange(len(attributes))]

    def extent(self):
        tensors = [t.dims for t in self.proto.graph.initializer]
        infos = [i.type.tensor_type.shape.dim for i in self.proto.graph.input]
        if self.random.random() < 0.5:
            dims = self.random.choice(infos)
            at = dims[self.random.randrange(len(dims))]
            if self.random.random() < 0.3:
                at.dim_param = "open"
            else:
                at.dim_value = self.random.choice([0, 1, 2, 3, 5, -1, 2**40])
        else:
            dims = self.random.choice(tensors)
            dims[self.random.randrange(len(dims))] = self.random.choice([0, 1, 2, 3, 5, -1])

    def element(self):
        self.random.choice(list(self.proto.graph.input)).type.tensor_type.elem_type = self.random.choice([0, 1, 6, 7, 8, 9, 10, 11, 16, 99])

    def permute_tensor(self):
        """Gives an initializer another shape with as many elements."""
        tensor = self.random.choice(list(self.proto.graph.initializer))
        dims = list(tensor.dims)
        self.random.shuffle(dims)
        del tensor.dims[:]
        tensor.dims.extend(dims if self.random.random() < 0.5 else [int(np.prod(dims))])

    def body_in_body(self):
        inner = self.body.node.add()
        inner.CopyFrom(self.scan)
        for i in range(len(inner.output)):
            inner.output[i] = f"inner{i}"
        if self.random.random() < 0.7:  # names of a graph in a graph differ from those around it
            graph = next(a.g for a in inner.attribute if a.name == "body")
            names = {n for node in graph.node for n in node.output} | {i.name for i in graph.input} | {t.name for t in graph.initializer}
            for node in graph.node:
                for names_of in (node.input, node.output):
                    for i, name in enumerate(names_of):
                        names_of[i] = name + "2" if name in names else name
            for thing in list(graph.input) + list(graph.output) + list(graph.initializer):
                thing.name += "2"
        if self.random.random() < 0.5:
            self.body.output[self.random.randrange(len(self.body.output))].name = "inner0"

    def branch(self):
        """Puts a node of the body into the branches of an If."""
        node = self.random.choice(list(self.body.node))
        branches = [helper.make_graph([helper.make_node(op, list(node.input)[:1], [f"{op}.b"])], op, [], [helper.make_tensor_value_info(f"{op}.b", FLOAT, None)])
                    for op in (self.random.choice(OPS[:5]), self.random.choice(OPS))]
        replaced = helper.make_node("If", [self.name()], list(node.output), then_branch=branches[0], else_branch=branches[1])
        node.CopyFrom(replaced)

    def norm(self):
        """Makes a node of the body a batch norm with statistics of the graph or the body."""
        node = self.random.choice(list(self.body.node))
        place = self.random.choice([self.body, self.proto.graph])
        for part, value in (("scale", 1.0), ("bias", 0.0), ("mean", 0.0), ("var", 1.0)):
            place.initializer.append(helper.make_tensor(f"bn.{part}", TensorProto.FLOAT, [3], [value] * 3))
        node.CopyFrom(helper.make_node("BatchNormalization", list(node.input)[:1] + ["bn.scale", "bn.bias", "bn.mean", "bn.var"], list(node.output), training_mode=self.random.randint(0, 1)))

    def flip(self):
        """Flips a bit of the structure."""
        data = bytearray(self.proto.SerializeToString())
        data[self.random.randrange(len(data))] ^= 1 << self.random.randrange(8)
        self.bytes = lambda: bytes(data)


CHANGES = [Mutant.rename_use] * 4 + [Mutant.rename_end] * 3 + [Mutant.other_op] * 3 + [Mutant.scan_number, Mutant.scan_list, Mutant.extent] * 2 + [
    Mutant.rename_result, Mutant.drop_node, Mutant.repeat_node, Mutant.drop_input, Mutant.add_input, Mutant.drop_output, Mutant.drop_end, Mutant.repeat_end, Mutant.drop_attribute,
    Mutant.element, Mutant.permute_tensor, Mutant.body_in_body, Mutant.branch, Mutant.norm, Mutant.flip]
