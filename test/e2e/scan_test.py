#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recurrent networks as ONNX Scan, against the same networks written out iteration by iteration: their programs have the same losses, gradients and state over some steps, on the host
and on emulated GPUs, and the program of the Scan does not grow with the number of iterations.

The bounds: in fp32 the two differ by the order of sums, for a weight's gradient of all iterations is one product of the scan; in fp16 the written-out network rounds each iteration's gradient
of a weight, where the scan rounds their sum once.
"""
import itertools
import os
import sys

import numpy as np
from onnx import helper

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import harness  # noqa: E402
from models import FLOAT, INT64, Graph  # noqa: E402

BATCH, FEATURES, CLASSES = 4, 3, 3
STEPS = 5
BOUNDS = {"fp32": 2e-6, "fp16": 4e-3, "bf16": 3e-2}  # of the largest element; the first is some ten roundings of 6e-8, the others two to eight of 5e-4 and 4e-3
TARGETS = ["host", "sm_70", "sm_80", "sm_90a"]


def cell(make, x, h, prefix, hidden):
    """A gated cell. Returns (the next h, the output)."""
    def node(op, inputs, output, **attributes):
        return make(op, inputs, prefix + output, **attributes)
    gates = node("Add", [node("Add", [node("MatMul", [x, "cell.wx"], "gx"), node("MatMul", [h, "cell.wh"], "gh")], "sum"), "cell.bias"], "gates")
    z, c, o = make("Split", [gates, "sizes"], [prefix + "z", prefix + "c", prefix + "o"], axis=1)
    z, c, o = node("Sigmoid", [z], "z1"), node("Tanh", [c], "c1"), node("Sigmoid", [o], "o1")
    h = node("Add", [node("Mul", [z, h], "kept"), node("Mul", [node("Sub", ["one", z], "rest"), c], "new")], "h")
    return h, node("Mul", [h, o], "y")


def network(written_out, trips=6, hidden=5, reverse=False, time_axis=0):
    """x [BATCH, trips, FEATURES] -> logits [BATCH, CLASSES]; the cell's inputs are stacked along `time_axis`."""
    g = Graph(seed=3)
    x = g.input("x", [BATCH, trips, FEATURES])
    for name, shape in (("cell.wx", (FEATURES, 3 * hidden)), ("cell.wh", (hidden, 3 * hidden)), ("fc.weight", (CLASSES, hidden))):
        g.parameter(name, shape, fan_in=shape[0])
    g.parameter("cell.bias", (3 * hidden,), value=0.1)
    g.parameter("fc.bias", (CLASSES,))
    g.constant("h0", np.zeros((BATCH, hidden), np.float32))
    g.constant("sizes", np.array([hidden] * 3, np.int64))
    g.constant("one", np.float32(1))
    if time_axis == 0:
        x = g.node("Transpose", [x], "xt", perm=[1, 0, 2])
    if written_out:
        state, outputs = "h0", [None] * trips
        for t in reversed(range(trips)) if reverse else range(trips):
            step = g.node("Gather", [x, g.constant(f"i{t}", np.array(t, np.int64))], f"x{t}", axis=time_axis)

            def make(op, inputs, output, **attributes):
                g.node(op, inputs, output, **attributes)
                return output
            state, output = cell(make, step, state, f"t{t}.", hidden)
            outputs[t] = g.node("Unsqueeze", [output, g.constant(f"axis{t}", np.array([0], np.int64))], f"y{t}")
        stacked = g.node("Concat", outputs, "all", axis=0)
    else:
        nodes = []

        def make(op, inputs, output, **attributes):
            outputs = [output] if isinstance(output, str) else output
            nodes.append(helper.make_node(op, inputs, outputs, name=outputs[0], **attributes))
            return output
        state, output = cell(make, "xs", "hs", "", hidden)
        info = helper.make_tensor_value_info
        body = helper.make_graph(nodes, "body", [info("hs", FLOAT, [BATCH, hidden]), info("xs", FLOAT, [BATCH, FEATURES])],
                                 [info(state, FLOAT, [BATCH, hidden]), info(output, FLOAT, [BATCH, hidden])])
        options = {"scan_input_directions": [1], "scan_output_directions": [1]} if reverse else {}
        g.node("Scan", ["h0", x], ["last", "all"], body=body, num_scan_inputs=1, scan_input_axes=[time_axis], **options)
        state, stacked = "last", "all"
    mean = g.node("ReduceMean", [stacked], "mean", axes=[0], keepdims=0)
    g.node("Gemm", [g.node("Add", [mean, state], "features"), "fc.weight", "fc.bias"], "logits", transB=1)
    return g.output("logits", [BATCH, CLASSES])


def compile_network(folder, name, graph, *options):
    graph.save(f"{folder}/{name}.onnx")
    harness.must([OPTIONS.bin + "/mpc", "compile", f"{name}.onnx", "-q", "--cpu=x86-64-v3", "--loss=softmax_cross_entropy:logits:label", "--trainable=cell|fc", "--optimizer=sgd", "--lr=0.5",
                  "-o", name, *options], cwd=folder)


def save_data(folder, trips, samples=24):
    rng = np.random.default_rng(1)
    label = rng.integers(0, CLASSES, samples)
    x = rng.normal(0, 1, (samples, trips, FEATURES)).astype(np.float32)
    x[np.arange(samples), :, label] += 1
    np.savez(f"{folder}/data.npz", x=x, label=label)


def traced(folder, name, device):
    harness.must([f"./{name}", "trace", "--data", "data.npz", "--steps", str(STEPS), "--out", f"{name}.npz", "--seed", "1", "--device", device], cwd=folder, seconds=300)
    return np.load(f"{folder}/{name}.npz")


def same(precision, target, **shape):
    """The two programs have the same losses, gradients and parameters."""
    def run():
        with harness.folder() as folder:
            save_data(folder, shape.get("trips", 6))
            options = ["--precision=" + precision, "--target=" + (target if target == "host" else target + ",emulator")]
            results = []
            for name, written_out in (("scan", False), ("plain", True)):
                compile_network(folder, name, network(written_out, **shape), *options)
                results.append(traced(folder, name, "host" if target == "host" else "emulator"))
            scan, plain = results
            compared = 0
            for key in scan.files:
                if key not in plain.files or not np.issubdtype(scan[key].dtype, np.floating):
                    continue
                got, want = scan[key].astype(np.float64), plain[key].astype(np.float64)
                error = np.abs(got - want).max() / max(np.abs(want).max(), 1e-30)
                if not error <= BOUNDS[precision]:
                    raise harness.Failure(f"{key} differs by {error:.2e} of its largest element, allowed {BOUNDS[precision]}")
                compared += 1
            if compared < 11:  # the loss, five gradients and five parameters
                raise harness.Failure(f"only {compared} tensors in common: {scan.files} and {plain.files}")
    return run


def does_not_grow():
    """The program of 200 iterations holds the same kernels as that of 20; only its list of launches says another number."""
    with harness.folder() as folder:
        sizes = []
        for trips in (20, 200):
            compile_network(folder, f"scan{trips}", network(False, trips=trips), "--emit=mlir", "--precision=fp32")
            compile_network(folder, f"program{trips}", network(False, trips=trips), "--precision=fp32")
            sizes.append(os.path.getsize(f"{folder}/program{trips}"))
        if abs(sizes[1] - sizes[0]) > 4096:
            raise harness.Failure(f"the program has {sizes[0]} bytes for 20 iterations and {sizes[1]} for 200")
        save_data(folder, 200)
        harness.must(["./program200", "train", "--data", "data.npz", "--epochs", "1"], cwd=folder)


def learns():
    """Training from a checkpoint, evaluation and prediction of samples that fill no whole batch."""
    with harness.folder() as folder:
        save_data(folder, 6, samples=210)
        compile_network(folder, "scan", network(False), "--precision=fp16")
        harness.must(["./scan", "train", "--data", "data.npz", "--epochs", "4", "--checkpoint-dir", "ckpt"], cwd=folder)
        harness.must(["./scan", "train", "--data", "data.npz", "--epochs", "12", "--checkpoint-dir", "ckpt", "--resume"], cwd=folder)
        newest = "ckpt/" + max(os.listdir(f"{folder}/ckpt"))
        harness.must(["./scan", "predict", "--data", "data.npz", "--checkpoint", newest, "--out", "p.npz"], cwd=folder)
        logits, label = np.load(f"{folder}/p.npz")["logits"], np.load(f"{folder}/data.npz")["label"]
        accuracy = (logits.argmax(1) == label).mean()
        if logits.shape != (210, CLASSES) or accuracy < 0.9:
            raise harness.Failure(f"logits {logits.shape}, accuracy {accuracy}")
        harness.must([OPTIONS.bin + "/mpc", "export", "scan.onnx", "--checkpoint", newest, "-o", "trained.onnx"], cwd=folder)
        np.savez(f"{folder}/batch.npz", x=np.load(f"{folder}/data.npz")["x"][:BATCH])
        harness.must([OPTIONS.bin + "/mpc", "run", "trained.onnx", "--data", "batch.npz", "--out", "r.npz"], cwd=folder)
        difference = np.abs(np.load(f"{folder}/r.npz")["logits"] - logits[:BATCH]).max()
        if not difference < 2e-2:  # fp32 against fp16
            raise harness.Failure(f"the exported model's logits differ by {difference}")


def directions_and_axes():
    """Each combination of directions and axes, against the loop that ONNX describes: s' = (s + x) * y + c, with s' - x and the old s stacked."""
    rng, info = np.random.default_rng(0), helper.make_tensor_value_info
    trips, width = 4, 3
    for x_back, y_back, out_back, x_axis, out_axis in itertools.product((0, 1), (0, 1), (0, 1), (0, 1), (0, -1)):
        nodes = [helper.make_node(op, inputs, [output], name=output) for op, inputs, output in
                 (("Add", ["s", "x"], "sum"), ("Mul", ["sum", "y"], "product"), ("Add", ["product", "c"], "next"), ("Sub", ["next", "x"], "o"), ("Identity", ["s"], "old"))]
        body = helper.make_graph(nodes, "body", [info(name, FLOAT, [width]) for name in ("s", "x", "y")], [info(name, FLOAT, [width]) for name in ("next", "o", "old")])
        data = {"s0": rng.normal(size=width), "X": rng.normal(size=(trips, width)), "Y": rng.normal(size=(trips, width))}
        data = {name: array.astype(np.float32) for name, array in data.items()}
        c = rng.normal(size=width).astype(np.float32)
        g = Graph()
        for name, array in data.items():
            g.input(name, list(array.T.shape if name == "X" and x_axis else array.shape))
        g.constant("c", c)
        g.node("Scan", ["s0", "X", "Y"], ["last", "O", "P"], body=body, num_scan_inputs=2, scan_input_directions=[x_back, y_back], scan_input_axes=[x_axis, 0],
               scan_output_directions=[out_back, 0], scan_output_axes=[out_axis, 0])
        for name in ("last", "O", "P"):
            g.output(name)
        with harness.folder() as folder:
            g.save(f"{folder}/m.onnx")
            np.savez(f"{folder}/in.npz", **{name: array.T if name == "X" and x_axis else array for name, array in data.items()})
            harness.must([OPTIONS.bin + "/mpc", "run", "m.onnx", "--data", "in.npz", "--out", "out.npz"], cwd=folder)
            got = np.load(f"{folder}/out.npz")
            state, stacked, old = data["s0"], [], []
            for t in range(trips):
                x, y = data["X"][trips - 1 - t if x_back else t], data["Y"][trips - 1 - t if y_back else t]
                old.append(state)
                state = (state + x) * y + c
                stacked.append(state - x)
            stacked = np.stack(stacked[::-1] if out_back else stacked)
            for name, want in (("last", state), ("O", stacked.T if out_axis else stacked), ("P", np.stack(old))):
                if got[name].shape != want.shape or not np.allclose(got[name], want, rtol=1e-5, atol=1e-5):
                    raise harness.Failure(f"{name} differs for {(x_back, y_back, out_back, x_axis, out_axis)}: {got[name]}, expected {want}")


def tokens():
    """A table that the body looks words up in: indices beyond it are found in the data before they are used. `mpc explain` lists the casts of the body."""
    trips, words, hidden = 5, 7, 4
    g = Graph(seed=2)
    info = helper.make_tensor_value_info
    x = g.node("Transpose", [g.input("x", [BATCH, trips], INT64)], "xt", perm=[1, 0])
    g.parameter("table", (words, hidden), fan_in=hidden)
    g.parameter("cell.wh", (hidden, hidden), fan_in=hidden)
    g.parameter("fc.weight", (CLASSES, hidden), fan_in=hidden)
    g.constant("h0", np.zeros((BATCH, hidden), np.float32))
    nodes = [helper.make_node(op, inputs, [output], name=output) for op, inputs, output in
             (("Gather", ["table", "xs"], "word"), ("MatMul", ["hs", "cell.wh"], "gh"), ("Add", ["gh", "word"], "sum"), ("Tanh", ["sum"], "h"))]
    body = helper.make_graph(nodes, "body", [info("hs", FLOAT, [BATCH, hidden]), info("xs", INT64, [BATCH])], [info("h", FLOAT, [BATCH, hidden])])
    g.node("Scan", ["h0", x], ["last"], body=body, num_scan_inputs=1)
    g.node("Gemm", ["last", "fc.weight"], "logits", transB=1)
    g.output("logits", [BATCH, CLASSES])
    with harness.folder() as folder:
        g.save(f"{folder}/m.onnx")
        harness.must([OPTIONS.bin + "/mpc", "compile", "m.onnx", "-q", "--cpu=x86-64-v3", "--loss=softmax_cross_entropy:logits:label", "-o", "m"], cwd=folder)
        rng = np.random.default_rng(3)
        data = {"x": rng.integers(0, words, (8, trips)), "label": rng.integers(0, CLASSES, 8)}
        np.savez(f"{folder}/data.npz", **data)
        harness.must(["./m", "train", "--data", "data.npz", "--epochs", "2"], cwd=folder)
        data["x"][3, 2] = words
        np.savez(f"{folder}/data.npz", **data)
        status, _, error = harness.run(["./m", "train", "--data", "data.npz", "--epochs", "2"], cwd=folder)
        if status != 1 or "sample 3" not in error or "7" not in error:
            raise harness.Failure(f"status {status}: {error}")
        said = harness.must([OPTIONS.bin + "/mpc", "explain", "m.onnx", "--loss=softmax_cross_entropy:logits:label"], cwd=folder)
        if "matmul computes in f16" not in said or "cell.wh" not in said:
            raise harness.Failure(said)


def refused():
    """What a body may not hold is an error that names the node."""
    with harness.folder() as folder:
        graph = network(False)
        scan = next(node for node in graph.nodes if node.op_type == "Scan")
        body = next(a for a in scan.attribute if a.name == "body").g
        body.node.insert(0, helper.make_node("RandomNormalLike", ["hs"], ["noise"], name="noise"))
        body.node.append(helper.make_node("Add", [body.output[0].name, "noise"], ["noisy"], name="noisy"))
        body.output[0].name = "noisy"
        graph.save(f"{folder}/noise.onnx")
        status, _, error = harness.run([OPTIONS.bin + "/mpc", "check", "noise.onnx"], cwd=folder)
        if status != 1 or "last" not in error or "draws random numbers" not in error or "hint: " not in error:
            raise harness.Failure(f"status {status}: {error}")


def main():
    cases = [(f"{precision} {target}", same(precision, target)) for precision in ("fp32", "fp16") for target in TARGETS]
    cases += [("bf16 host", same("bf16", "host")), ("bf16 sm_90a", same("bf16", "sm_90a"))]
    cases += [(f"reverse {precision} {target}", same(precision, target, reverse=True)) for precision in ("fp32", "fp16") for target in ("host", "sm_80")]
    cases += [(f"slices of whole lines {target}", same("fp32", target, hidden=16)) for target in ("host", "sm_80")]
    cases += [(f"{trips} iterations {target}", same("fp32", target, trips=trips)) for trips in (1, 2) for target in ("host", "sm_80")]
    cases += [("scanned along the second dimension", same("fp32", "host", time_axis=1))]
    cases += [("the program does not grow with the iterations", does_not_grow), ("directions and axes", directions_and_axes), ("words looked up in the body", tokens), ("trains, resumes, predicts, exports", learns), ("random numbers in the body", refused)]
    harness.main(cases, OPTIONS.only)


OPTIONS = harness.arguments(__doc__)
if __name__ == "__main__":
    main()
