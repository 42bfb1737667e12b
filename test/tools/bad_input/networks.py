# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models that cannot be compiled, each for one reason. All have input x and output y unless they say otherwise."""
import os

import numpy as np
import onnx
from onnx import TensorProto, helper

from bad_input.row import Row
from models import FLOAT, INT64, Graph, lenet, mlp

COMPILE = "mpc compile bad.onnx -o out --loss output:loss"


def write(data):
    def make(folder):
        with open(f"{folder}/bad.onnx", "wb") as file:
            file.write(data() if callable(data) else data)
    return make


def graph(build, opset=17):
    """Makes a model [2, 3] -> loss, where build(graph, x) returns the value that is averaged."""
    def make(folder):
        g = Graph(opset=opset)
        y = build(g, g.input("x", [2, 3]))
        g.node("ReduceMean", [y], "loss", keepdims=0)
        g.output("loss", [])
        g.save(f"{folder}/bad.onnx")
    return make


def plain(build, shape):
    """Makes a model [2, 3] -> the result of build(graph, x), which has this shape."""
    def make(folder):
        g = Graph()
        g.output(build(g, g.input("x", [2, 3])), shape).save(f"{folder}/bad.onnx")
    return make


def two_outputs_of_open_length(proto):
    proto.graph.input[0].type.tensor_type.shape.dim[1].dim_param = "length"
    proto.graph.output.append(helper.make_tensor_value_info("relu1", FLOAT, ["N", 8]))


def edited(edit, base=lambda: mlp(batch=8)):
    """Makes a valid model and changes its protobuf."""
    def make(folder):
        proto = base().proto()
        edit(proto)
        with open(f"{folder}/bad.onnx", "wb") as file:
            file.write(proto.SerializeToString())
    return make


def dense(g, x):
    return g.node("MatMul", [x, g.weight("w", (3, 3))], "dense")


def external(location, offset=None):
    """Moves a weight to another file."""
    def edit(proto):
        tensor = proto.graph.initializer[0]
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in (("location", location), ("offset", offset)):
            if value is not None:
                tensor.external_data.add(key=key, value=value)
    return edit


def linked(folder):
    os.symlink("/etc/passwd", f"{folder}/link.bin")
    edited(external("link.bin"))(folder)


def pipe(folder):
    os.mkfifo(f"{folder}/pipe")


def piped(folder):
    pipe(folder)
    edited(external("pipe"))(folder)


def short(folder):
    with open(f"{folder}/short.bin", "wb") as file:
        file.write(b"1234567")
    edited(external("short.bin"))(folder)


def cycle(g, x):
    g.node("Add", [x, "b"], "a")
    return g.node("Relu", ["a"], "b")


def recursive(folder):
    g = Graph()
    g.input("x", [2, 3])
    g.nodes.append(helper.make_node("F", ["x"], ["y"], name="call", domain="mine"))
    body = [helper.make_node("F", ["in"], ["out"], domain="mine")]
    g.functions.append(helper.make_function("mine", "F", ["in"], ["out"], body, [helper.make_opsetid("mine", 1), helper.make_opsetid("", 17)]))
    g.output("y", [2, 3]).save(f"{folder}/bad.onnx")


def branch_on_data(g, x):
    bodies = [helper.make_graph([helper.make_node(op, ["x"], [op])], op, [], [helper.make_tensor_value_info(op, FLOAT, [2, 3])]) for op in ("Relu", "Transpose")]
    condition = g.node("Cast", [g.node("ReduceMax", [x], "largest", keepdims=0)], "positive", to=TensorProto.BOOL)
    return g.node("If", [condition], "either", then_branch=bodies[0], else_branch=bodies[1])


def scan(*nodes, again=False, **attributes):
    """Scans the parameter w [4, 2, 3] with x as the state: the body's nodes (op, inputs, output, attributes) make o, the next state, and p from s and e. With `again`
    the parameter u, which only the body has read so far, is read behind the Scan as well."""
    def build(g, x):
        info = helper.make_tensor_value_info
        made = [helper.make_node(op, inputs, [output], name=output, **dict(*more)) for op, inputs, output, *more in nodes]
        body = helper.make_graph(made, "body", [info(name, FLOAT, [2, 3]) for name in "se"], [info(name, FLOAT, [2, 3]) for name in "op"])
        g.weight("u", (2, 3))
        last = g.node("Scan", [x, g.weight("w", (4, 2, 3))], ["last", "all"], body=body, num_scan_inputs=1, **attributes)
        return g.node("Mul", [last, g.node("Tanh", ["u"], "bent")], "product") if again else last
    return build


SCAN_SUM = ("Add", ["s", "e"], "o"), ("Mul", ["o", "e"], "p")


def cut_off(folder):
    """Writes a network of which everything before an unsupported op is lost: its two results are stated, but not that op's."""
    g = Graph()
    x = g.node("Frobnicate", [g.node("Gemm", [g.input("x", [2, 3]), g.weight("a", (3, 3)), g.weight("b", (3,))], "front")], "strange")
    g.node("ReduceMean", [g.node("MatMul", [x, g.weight("w", (3, 3))], "back")], "loss", keepdims=0)
    g.output("back", [2, 3]).output("loss", []).save(f"{folder}/bad.onnx")


def branch_in_body(g, x):
    branches = {f"{name}_branch": helper.make_graph([helper.make_node(op, ["s", "e"], [op])], op, [], [helper.make_tensor_value_info(op, FLOAT, [2, 3])])
                for name, op in (("then", "Add"), ("else", "Less"))}
    return scan(("ReduceSum", ["s"], "sum", {"keepdims": 0}), ("Cast", ["sum"], "positive", {"to": TensorProto.BOOL}), ("If", ["positive"], "o", branches),
                ("Mul", ["o", "e"], "p"))(g, x)


def failed_capture(g, x):
    g.node("Frobnicate", [x], "strange")
    return scan(("Add", ["s", "strange"], "o"), ("Mul", ["o", "e"], "p"))(g, x)


def norm_in_body(g, x):
    statistics = [g.constant(f"norm.{part}", np.full(3, value, np.float32)) for part, value in (("scale", 1), ("bias", 0), ("mean", 0), ("var", 1))]
    return scan(("BatchNormalization", ["s"] + statistics, "o"), ("Mul", ["o", "e"], "p"))(g, x)


def conv(shape, **attributes):
    def build(g, x):
        image = g.node("Reshape", [g.node("Concat", [x] * 24, "many", axis=1), g.constant("shape", np.array([1, 4, 6, 6]))], "image")
        return g.node("Conv", [image, g.weight("w", shape)], "conv", **attributes)
    return build


def statistics_as_result(g, x):
    """Uses the batch mean of a training-mode BatchNormalization as a value; nothing can differentiate it."""
    names = [g.constant(n, np.ones(3, np.float32)) for n in ("scale", "bias", "mean", "var")]
    y, mean, _ = (g.node("BatchNormalization", [dense(g, x)] + names, ["norm", "norm.mean", "norm.var"], training_mode=1), "norm.mean", "norm.var")
    return g.node("Add", [y, mean], "sum")


def sequence(proto):
    tensor = proto.graph.input[0].type.tensor_type
    proto.graph.input[0].type.sequence_type.elem_type.tensor_type.CopyFrom(tensor)


def set_dims(*dims):
    def edit(proto):
        del proto.graph.initializer[0].dims[:]
        proto.graph.initializer[0].dims.extend(dims)
    return edit


ROWS = [
    # Files
    Row("missing-file", "mpc compile nowhere.onnx -o out $LOSS", ["nowhere.onnx", "No such file"]),
    Row("folder-as-model", "mpc compile . -o out $LOSS", ["cannot read the model"]),
    Row("pipe-as-model", "mpc compile pipe -o out $LOSS", ["pipe", "is a pipe, not a regular file"], pipe),
    Row("empty-file", COMPILE, ["bad.onnx", "the file is empty"], write(b"")),
    Row("text-file", COMPILE, ["bad.onnx", "not an ONNX model"], write(b"hello, this is no network\n")),
    Row("zip-file", COMPILE, ["not an ONNX model"], write(b"PK\3\4" + bytes(200))),
    Row("half-a-file", COMPILE, ["bad.onnx"], write(lambda: lenet().bytes()[:30000])),
    Row("no-graph", COMPILE, ["the model has no graph"], edited(lambda m: m.ClearField("graph"))),
    Row("no-opset", COMPILE, ["which opset"], edited(lambda m: m.ClearField("opset_import"))),
    Row("opset-too-new", COMPILE, ["opset 99 is not supported"], edited(lambda m: setattr(m.opset_import[0], "version", 99))),
    # Ops
    Row("unknown-op", COMPILE, ["'Frobnicate' (opset 17): is not supported", "strange"], graph(lambda g, x: g.node("Frobnicate", [dense(g, x)], "strange"))),
    Row("consequences-are-counted", COMPILE, ["'Frobnicate' (opset 17): is not supported", "2 warnings about the rest of the network follow from these errors"], cut_off),
    Row("op-with-an-alternative", COMPILE, ["'Unique' (opset 17): is not supported", "choose between them with Where or a mask"],
        graph(lambda g, x: g.node("Unique", [dense(g, x)], "once"))),
    Row("soft-targets", COMPILE, ["labels must be int32 or int64", "in the scores' shape", "give a probability for each score"],
        graph(lambda g, x: g.node("SoftmaxCrossEntropyLoss", [dense(g, x), g.node("ReduceMax", [x], "labels", axes=[1], keepdims=0)], "entropy"))),
    Row("unknown-domain", COMPILE, ["domain 'com.example' is not supported"], edited(lambda m: setattr(m.graph.node[1], "domain", "com.example"))),
    Row("unsupported-attribute-value", COMPILE, ["grown", "mode 'sinc'", "nearest, linear or cubic"],
        graph(lambda g, x: g.node("Resize", [g.node("Reshape", [dense(g, x), g.constant("s", np.array([1, 1, 2, 3]))], "image"), "", g.constant("scales", np.float32([1, 1, 2, 2]))], "grown", mode="sinc"))),
    Row("unknown-attribute", COMPILE, ["relu1", "attribute 'slope' is not supported"], edited(lambda m: m.graph.node[1].attribute.append(helper.make_attribute("slope", 1.0)))),
    Row("wrong-attribute-type", COMPILE, ["attribute 'transB' has the wrong type"], edited(lambda m: m.graph.node[0].attribute[0].CopyFrom(helper.make_attribute("transB", 1.0)))),
    Row("loop", COMPILE, ["looped", "'Loop'", "the body has 0 inputs and 0 outputs"], graph(lambda g, x: g.node("Loop", ["", "", dense(g, x)], "looped", body=helper.make_graph([], "body", [], [])))),
    Row("branch-on-data", COMPILE, ["either", "'If'", "not known at compile time", "give both branches results of one shape"], graph(branch_on_data)),
    Row("scan-with-unknown-op", COMPILE, ["o", "'Frobnicate' (opset 17): is not supported"], graph(scan(("Frobnicate", ["s", "e"], "o"), ("Mul", ["o", "e"], "p")))),
    Row("scan-with-unknown-op-and-reads", COMPILE, ["o", "'Frobnicate' (opset 17): is not supported"],
        graph(scan(("Mul", ["s", "u"], "m"), ("Frobnicate", ["m"], "o"), ("Mul", ["o", "e"], "p"), again=True))),
    Row("scan-with-shapes-that-clash", COMPILE, ["o", "'MatMul'", "3 vs 2"], graph(scan(("MatMul", ["s", "e"], "o"), ("Mul", ["o", "e"], "p")))),
    Row("scan-with-branch-on-state", COMPILE, ["o", "'If'", "not known at compile time"], graph(branch_in_body)),
    Row("scan-with-failed-capture", COMPILE, ["strange", "'Frobnicate' (opset 17): is not supported"], graph(failed_capture)),
    Row("scan-with-cycle", COMPILE, ["last", "'Scan'", "cycle"], graph(scan(("Add", ["s", "p"], "o"), ("Mul", ["o", "e"], "p")))),
    Row("scan-with-value-of-outside", COMPILE, ["last", "'Scan'", "value 'x', which the graph around it has"], graph(scan(("Add", ["s", "e"], "x"), ("Add", ["x", "e"], "o"), ("Mul", ["o", "e"], "p")))),
    Row("scan-with-state-that-grows", COMPILE, ["last", "'Scan'", "state variable 0 changes its shape"], graph(scan(("Concat", ["s", "e"], "o", {"axis": 0}), ("Exp", ["e"], "p")))),
    Row("scan-with-norm", COMPILE, ["last", "'Scan'", "updates its running statistics", "--mode=as-exported"], graph(norm_in_body)),
    Row("scan-direction-2", COMPILE, ["last", "scan_input_directions has 2; a direction is 0 (forward) or 1 (backward)"], graph(scan(*SCAN_SUM, scan_input_directions=[2]))),
    Row("scan-direction-minus-1", COMPILE, ["last", "scan_output_directions has -1; a direction is"], graph(scan(*SCAN_SUM, scan_output_directions=[-1]))),
    Row("recursive-function", COMPILE, ["function 'F' calls itself"], recursive),
    Row("too-few-inputs", COMPILE, ["fc1", "input 1"], edited(lambda m: m.graph.node[0].input.__delitem__(slice(1, 3)))),
    Row("no-gradient-on-path", COMPILE, ["has no gradient through its batch mean", "@w"], graph(statistics_as_result)),
    # Shapes and types
    Row("open-dimension", COMPILE, ["'length'", "--dim"], edited(lambda m: setattr(m.graph.input[0].type.tensor_type.shape.dim[1], "dim_param", "length"))),
    Row("open-dimension-and-loss", "mpc compile bad.onnx -o out --loss mse:scores:t", ["'length'", "--dim", "no output 'scores'"],
        edited(lambda m: setattr(m.graph.input[0].type.tensor_type.shape.dim[1], "dim_param", "length"))),
    Row("shapes-clash", COMPILE, ["clash", "'Add'", "[2, 3]", "[4]"], graph(lambda g, x: g.node("Add", [x, g.weight("w", (4,))], "clash"))),
    Row("types-clash", COMPILE, ["mixed", "'Add'"], graph(lambda g, x: g.node("Add", [dense(g, x), g.constant("i", np.ones((2, 3), np.int64))], "mixed"))),
    Row("matmul-dimensions", COMPILE, ["product", "'MatMul'"], graph(lambda g, x: g.node("MatMul", [x, g.weight("w", (4, 2))], "product"))),
    Row("impossible-reshape", COMPILE, ["odd", "'Reshape'"], graph(lambda g, x: g.node("Reshape", [dense(g, x), g.constant("s", np.array([4, 4]))], "odd"))),
    Row("transpose-permutation", COMPILE, ["turned", "'Transpose'"], graph(lambda g, x: g.node("Transpose", [dense(g, x)], "turned", perm=[0, 0]))),
    Row("axis-out-of-range", COMPILE, ["soft", "'Softmax'", "axis"], graph(lambda g, x: g.node("Softmax", [dense(g, x)], "soft", axis=7))),
    Row("concat-axis", COMPILE, ["joined", "'Concat'"], graph(lambda g, x: g.node("Concat", [dense(g, x), x], "joined", axis=-5))),
    Row("conv-channels", COMPILE, ["conv", "channels"], graph(conv((2, 3, 3, 3)))),
    Row("conv-groups", COMPILE, ["conv", "group"], graph(conv((3, 2, 3, 3), group=2))),
    Row("conv-group-zero", COMPILE, ["conv", "group"], graph(conv((2, 4, 3, 3), group=0))),
    Row("conv-stride-zero", COMPILE, ["conv", "stride"], graph(conv((2, 4, 3, 3), strides=[0, 1]))),
    Row("conv-window-too-large", COMPILE, ["conv", "'Conv'"], graph(conv((2, 4, 9, 9)))),
    Row("conv-huge-padding", COMPILE, ["conv", "'Conv'"], graph(conv((2, 4, 3, 3), pads=[2**40, 2**40, 2**40, 2**40]))),
    Row("batchnorm-statistics", COMPILE, ["norm", "'BatchNormalization'"],
        graph(lambda g, x: g.node("BatchNormalization", [dense(g, x)] + [g.constant(n, np.ones(5, np.float32)) for n in ("scale", "bias", "mean", "var")], "norm"))),
    Row("split-sizes", COMPILE, ["'Split'"], graph(lambda g, x: g.node("Split", [dense(g, x), g.constant("sizes", np.array([1, 9]))], ["one", "two"], axis=1))),
    Row("gather-out-of-range", COMPILE, ["picked", "'Gather'"], graph(lambda g, x: g.node("Gather", [g.weight("w", (4, 3)), g.constant("i", np.array([0, 9]))], "picked"))),
    Row("string-input", COMPILE, ["x", "element type STRING is not supported"], edited(lambda m: setattr(m.graph.input[0].type.tensor_type, "elem_type", TensorProto.STRING))),
    Row("sequence-input", COMPILE, ["x", "no tensor"], edited(sequence)),
    Row("huge-input", COMPILE, ["x", "2^33 elements"], graph(lambda g, x: g.input("y", [2**40, 2**40]))),
    Row("huge-expansion", COMPILE, ["'Expand'", "2^33 elements"], graph(lambda g, x: g.node("Expand", [dense(g, x), g.constant("s", np.array([2**30, 2**30, 2, 3]))], "vast"))),
    # Graphs
    Row("cycle", COMPILE, ["depends on its own result", "cycle"], graph(cycle)),
    Row("input-that-the-op-lacks", COMPILE, ["'Relu' (opset 17): is given 3 inputs; at this opset it has at most 1"], graph(lambda g, x: g.node("Relu", [dense(g, x), x, x], "relu"))),
    Row("value-made-twice", COMPILE, ["'relu1' is made twice"], edited(lambda m: m.graph.node.append(helper.make_node("Tanh", ["x"], ["relu1"], name="again")))),
    Row("input-made-by-nobody", COMPILE, ["'nowhere' is made by no node"], edited(lambda m: m.graph.node[1].input.__setitem__(0, "nowhere"))),
    Row("output-made-by-nobody", COMPILE, ["nothing", "made by no node"], edited(lambda m: m.graph.output.append(helper.make_tensor_value_info("nothing", FLOAT, [1])))),
    Row("no-outputs", COMPILE, ["no outputs"], edited(lambda m: m.graph.ClearField("output"))),
    Row("input-named-twice", COMPILE, ["x", "twice"], edited(lambda m: m.graph.input.append(helper.make_tensor_value_info("x", FLOAT, [8, 4])))),
    Row("initializer-named-twice", COMPILE, ["fc1.weight", "twice"], edited(lambda m: m.graph.initializer.append(m.graph.initializer[0]))),
    Row("output-named-twice", COMPILE, ["logits", "twice"], edited(lambda m: m.graph.output.append(m.graph.output[0]))),
    # Tensors
    Row("initializer-too-short", COMPILE, ["fc1.weight", "bytes of data"], edited(lambda m: setattr(m.graph.initializer[0], "raw_data", m.graph.initializer[0].raw_data[:-3]))),
    Row("negative-dimension", COMPILE, ["fc1.weight", "negative dimension"], edited(set_dims(-8, 4))),
    Row("huge-tensor", COMPILE, ["fc1.weight", "2^33 elements"], edited(set_dims(2**40, 2**40))),
    Row("external-data-missing", COMPILE, ["fc1.weight", "external data file 'gone.bin'", "No such file"], edited(external("gone.bin"))),
    Row("external-data-outside", COMPILE, ["lies outside the model's folder"], edited(external("../../etc/passwd"))),
    Row("external-data-absolute", COMPILE, ["is not a relative path"], edited(external("/etc/passwd"))),
    Row("external-data-pipe", COMPILE, ["external data file 'pipe'", "is a pipe, not a regular file"], piped),
    Row("external-data-link", COMPILE, ["leads outside the model's folder"], linked),
    Row("external-data-short", COMPILE, ["fc1.weight", "7 bytes"], short),
    Row("external-data-offset", COMPILE, ["offset 'minus one', not a number"], edited(external("mlp.onnx", "minus one"))),
    # Training
    Row("no-parameters", COMPILE, ["nothing to train"], graph(lambda g, x: g.node("Relu", [x], "y"))),
    Row("no-loss", "mpc compile bad.onnx -o out", ["none can be inferred: output 'relu' is made by Relu", "--loss=softmax_cross_entropy:LOGITS:LABELS, ", "mse:", "bce_with_logits:", "or output:NAME"],
        plain(lambda g, x: g.node("Relu", [dense(g, x)], "relu"), [2, 3])),
    Row("no-loss-behind-views", "mpc compile bad.onnx -o out", ["output 'flat' is made by Sigmoid"],
        plain(lambda g, x: g.node("Flatten", [g.node("Sigmoid", [dense(g, x)], "chances")], "flat"), [2, 3])),
    Row("no-loss-of-one-class", "mpc compile bad.onnx -o out", ["output 'y' has fewer than two classes"], plain(lambda g, x: g.node("MatMul", [x, g.weight("w", (3, 1))], "y"), [2, 1])),
    Row("no-loss-of-pictures", "mpc compile bad.onnx -o out", ["output 'y' is of rank 4"],
        plain(lambda g, x: g.node("Reshape", [dense(g, x), g.constant("s", np.array([2, 3, 1, 1]))], "y"), [2, 3, 1, 1])),
    Row("no-loss-without-batch", "mpc compile bad.onnx -o out", ["the leading dimension of output 'y' does not count the samples"],
        plain(lambda g, x: g.node("Transpose", [dense(g, x)], "y", perm=[1, 0]), [3, 2])),
    Row("no-loss-of-two-outputs", "mpc compile bad.onnx -o out", ["none can be inferred: 2 outputs are float tensors"], edited(lambda m: m.graph.output.append(helper.make_tensor_value_info("relu1", FLOAT, ["N", 8])))),
    Row("no-loss-and-open-dimension", "mpc compile bad.onnx -o out", ["'length'", "none can be inferred: 2 outputs"], edited(two_outputs_of_open_length)),
    # The other commands
    Row("check", "mpc check bad.onnx", ["'Frobnicate' (opset 17): is not supported"], graph(lambda g, x: g.node("Frobnicate", [dense(g, x)], "strange"))),
    Row("explain", "mpc explain bad.onnx", ["'Frobnicate' (opset 17): is not supported"], graph(lambda g, x: g.node("Frobnicate", [dense(g, x)], "strange"))),
    Row("run", "mpc run bad.onnx --data train.npz --out out.npz", ["'Frobnicate' (opset 17): is not supported"], graph(lambda g, x: g.node("Frobnicate", [dense(g, x)], "strange"))),
    Row("export", "mpc export bad.onnx --checkpoint mlp.safetensors -o out.onnx", ["bad.onnx", "not an ONNX model"], write(b"no model")),
]
