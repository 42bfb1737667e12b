#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Einsum, CumSum, TopK, Loop and If. Forward runs are compared with numpy; a training is compared with that of a network that computes the same from other ops: their losses, gradients and
parameters agree over some steps."""
import os
import sys

import numpy as np
from onnx import TensorProto, helper

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import harness  # noqa: E402
from models import FLOAT, INT64, Graph  # noqa: E402

BATCH, CLASSES, STEPS = 4, 3, 4
BOOL = TensorProto.BOOL
TYPES = {"float32": FLOAT, "float16": TensorProto.FLOAT16, "float64": TensorProto.DOUBLE, "int64": INT64, "int32": TensorProto.INT32, "uint8": TensorProto.UINT8, "uint64": TensorProto.UINT64,
         "int8": TensorProto.INT8, "bool": BOOL}
info = helper.make_tensor_value_info
# In fp32 the two networks differ by the order of sums: some roundings of 6e-8. In fp16 each op that one of them has and the other has not rounds its result by 5e-4.
BOUNDS = {"fp32": 5e-6, "fp16": 1e-2}


def check_outputs(graph, data, wanted, rtol, atol):
    """Runs the graph forward and compares with numpy's results."""
    for name, array in wanted.items():
        graph.output(name, None, TYPES[str(array.dtype)])
    with harness.folder() as folder:
        graph.save(f"{folder}/m.onnx")
        np.savez(f"{folder}/in.npz", **data)
        harness.must([OPTIONS.bin + "/mpc", "run", "m.onnx", "--data", "in.npz", "--out", "out.npz"], cwd=folder)
        got = np.load(f"{folder}/out.npz")
        for name, want in wanted.items():
            if got[name].dtype != want.dtype or got[name].shape != want.shape or not np.allclose(got[name], want, rtol, atol, equal_nan=True):
                raise harness.Failure(f"{name} is {got[name].dtype}{got[name].shape} {got[name]}, not {want.dtype}{want.shape} {want}")


EINSUMS = [("bhqd,bhkd->bhqk", (2, 3, 4, 5), (2, 3, 6, 5)), ("bqhd,bkhd->bhqk", (2, 4, 3, 5), (2, 6, 3, 5)), ("bhqk,bkhd->bqhd", (2, 3, 4, 6), (2, 6, 3, 5)), ("ij,jk", (2, 3), (3, 4)),
           ("ij,jk->ki", (2, 3), (3, 4)), ("ij,kj->ik", (2, 3), (4, 3)), ("ji,jk->ik", (3, 2), (3, 4)), ("...ii->...i", (2, 3, 3)), ("ii", (3, 3)), ("iji->ij", (3, 2, 3)),
           ("iii->i", (3, 3, 3)), ("i,j->ij", (2,), (3,)), ("i,i", (3,), (3,)), ("bij->b", (2, 3, 4)), ("...ij,...jk->...ik", (2, 1, 3, 4), (5, 4, 2)), ("ab,bc,cd->ad", (2, 3), (3, 4), (4, 5)),
           ("a,ab,b->", (2,), (2, 3), (3,)), (",ij->ij", (), (2, 3)), ("->", ()), ("ij->ji", (2, 3)), ("ba", (2, 3)), ("bij,bjk->bik", (2, 3, 4), (1, 4, 5)), ("hij,ijk->hk", (2, 3, 4), (3, 4, 5)),
           ("abc,cb->a", (2, 3, 4), (4, 3)), ("i...->...", (2, 3, 4)), ("ab...,b...->a...", (2, 3, 4), (3, 4)), ("bi,bi->b", (2, 3), (2, 3)), ("bi,i->b", (2, 3), (3,)), ("Zz,zA", (2, 3), (3, 4)),
           ("abcd,efcb,gd->aefg", (2, 3, 4, 2), (3, 2, 4, 3), (5, 2)), ("bhwi,hkc,wkc->bhwk", (2, 3, 4, 5), (3, 5, 2), (4, 5, 2)), (" i j , j k -> i k ", (2, 3), (3, 4)), ("bij,jk->bik", (2, 3, 4), (4, 5)),
           ("bij,jkl->bikl", (2, 3, 4), (4, 5, 2)), ("aij,bji->ab", (2, 3, 4), (5, 4, 3))]


def einsum(dtype):
    def run():
        rng, g, data, wanted = np.random.default_rng(0), Graph(), {}, {}
        for i, (equation, *shapes) in enumerate(EINSUMS):
            arrays = [rng.normal(size=shape) if np.dtype(dtype).kind == "f" else rng.integers(-5, 6, shape) for shape in shapes]
            names = [f"x{i}.{j}" for j in range(len(arrays))]
            for name, array in zip(names, arrays):
                data[name] = np.asarray(array, dtype)
                g.input(name, list(array.shape), TYPES[dtype])
            g.node("Einsum", names, f"y{i}", equation=equation)
            wanted[f"y{i}"] = np.asarray(np.einsum(equation.replace(" ", ""), *[data[name] for name in names]), dtype)
        check_outputs(g, data, wanted, 1e-5, 1e-5)
    return run


def refused(equation, shapes, said, **attributes):
    def run():
        g = Graph()
        for i, shape in enumerate(shapes):
            g.input(f"x{i}", list(shape))
        g.node("Einsum", [f"x{i}" for i in range(len(shapes))], "product", equation=equation)
        g.output("product")
        with harness.folder() as folder:
            g.save(f"{folder}/m.onnx")
            status, _, error = harness.run([OPTIONS.bin + "/mpc", "check", "m.onnx"], cwd=folder)
            if status != 1 or "product" not in error or said not in error or "hint: " not in error:
                raise harness.Failure(f"status {status}: {error}")
    return run


def cumsum(dtype):
    """Lengths of one block, of some, and of blocks of blocks; the middle dimension and the last."""
    def run():
        rng, g, data, wanted = np.random.default_rng(0), Graph(), {}, {}
        for length in (1, 128, 129, 5000, 20000):
            for axis, shape in ((1, (2, length)), (-2, (2, length, 3))):
                x = rng.integers(-3, 4, shape) if np.dtype(dtype).kind == "i" else rng.normal(size=shape)
                name = f"x{length}.{axis}"
                data[name] = x.astype(dtype)
                g.input(name, list(shape), TYPES[dtype])
                for exclusive in (0, 1):
                    for reverse in (0, 1):
                        y = f"y{length}.{axis}.{exclusive}{reverse}"
                        g.node("CumSum", [name, g.constant(y + ".axis", np.int64(axis))], y, exclusive=exclusive, reverse=reverse)
                        wide = data[name].astype(np.float64 if np.dtype(dtype).kind == "f" else np.int64)
                        wide = np.flip(wide, axis) if reverse else wide
                        total = np.cumsum(wide, axis) - (wide if exclusive else 0)
                        wanted[y] = (np.flip(total, axis) if reverse else total).astype(dtype)
        # Sums of 20000 numbers of about 1 in fp32: at most some 200 roundings of 6e-8 of partial sums up to 400. The result in fp16 is rounded once, by 5e-4.
        check_outputs(g, data, wanted, 1e-3 if dtype == "float16" else 1e-5, 1e-3 if dtype == "float16" else 2e-3 if dtype == "float32" else 0)
    return run


def topk(dtype):
    """The first k by value, and by index where values are equal; NaN is above all numbers."""
    def run():
        rng, g, data, wanted = np.random.default_rng(0), Graph(opset=17), {}, {}
        x = rng.integers(0, 4, (2, 9, 4)).astype(dtype)  # there are ties
        if np.dtype(dtype).kind == "f":
            x = np.where(rng.random(x.shape) < 0.3, rng.choice([np.nan, np.inf, -np.inf, -0.0, 0.0, -1.5], x.shape), x).astype(dtype)
            x[0, :, 0] = -np.inf
            x[0, :, 1] = np.nan
        data["x"] = x
        g.input("x", list(x.shape), TYPES[dtype])
        for largest in (0, 1):
            for axis in (1, 2):
                for k in (0, 1, 3, x.shape[axis]):
                    name = f"{largest}.{axis}.{k}"
                    g.node("TopK", ["x", g.constant(f"k{name}", np.int64([k]))], [f"v{name}", f"i{name}"], axis=axis, largest=largest)
                    rank = np.where(np.isnan(x), np.inf, x) if x.dtype.kind == "f" else x.astype(np.float64)
                    above = np.isnan(x) if x.dtype.kind == "f" else np.zeros(x.shape)
                    keys = (rank, above) if not largest else (-rank, -1.0 * above)
                    order = np.take(np.lexsort((np.broadcast_to(np.arange(x.shape[axis]).reshape([-1 if d == axis else 1 for d in range(3)]), x.shape), *keys), axis), np.arange(k), axis)
                    wanted[f"i{name}"], wanted[f"v{name}"] = order, np.take_along_axis(x, order, axis)
        check_outputs(g, data, wanted, 0, 0)
    return run


def body_of(nodes, inputs, outputs):
    return helper.make_graph([helper.make_node(op, ins, [outs] if isinstance(outs, str) else outs, name=outs if isinstance(outs, str) else outs[0], **attributes)
                              for op, ins, outs, *rest in nodes for attributes in [rest[0] if rest else {}]], "body", inputs, outputs)


def loops():
    """Loops that become scans, and loops that are written out since a shape, the condition or a sequence depends on the iteration."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(5, 3)).astype(np.float32)
    g = Graph(opset=17)
    g.input("x", [5, 3])
    g.constant("five", np.int64(5)), g.constant("yes", np.bool_(True)), g.constant("no", np.bool_(False)), g.constant("one", np.int64(1)), g.constant("start", np.zeros(3, np.float32))
    g.constant("lots", np.int64(2**63 - 1)), g.constant("three", np.int64(3)), g.constant("axis", np.int64([0])), g.constant("row", np.zeros((1, 3), np.float32))
    head = [info("t", INT64, []), info("go", BOOL, [])]
    step = [("Gather", ["x", "t"], "xt"), ("Cast", ["t"], "tf", {"to": FLOAT}), ("Mul", ["xt", "tf"], "scaled"), ("Add", ["s", "scaled"], "s1"), ("Identity", ["s1"], "y"), ("Identity", ["go"], "go1")]
    state, rows = np.zeros(3, np.float32), []
    for t in range(5):
        state = state + x[t] * np.float32(t)
        rows.append(state)
    wanted = {}
    for name, count, condition in (("counted", "five", ""), ("true", "five", "yes"), ("none", "five", "no")):
        g.node("Loop", [count, condition, "start"], [name, name + ".all"],
               body=body_of(step, head + [info("s", FLOAT, [3])], [info("go1", BOOL, []), info("s1", FLOAT, [3]), info("y", FLOAT, [3])]))
        wanted[name], wanted[name + ".all"] = (np.zeros(3, np.float32), np.zeros((0, 3), np.float32)) if name == "none" else (state, np.stack(rows))
    # The slice has its bounds from the iteration.
    sliced = [("Unsqueeze", ["t", "axis"], "from"), ("Add", ["t", "one"], "t1"), ("Unsqueeze", ["t1", "axis"], "to"), ("Slice", ["x", "from", "to", "axis"], "xt"), ("Add", ["s", "xt"], "s1"),
              ("Mul", ["s1", "s1"], "y"), ("Identity", ["go"], "go1")]
    g.node("Loop", ["three", "yes", "row"], ["sliced", "sliced.all"], body=body_of(sliced, head + [info("s", FLOAT, [1, 3])], [info("go1", BOOL, []), info("s1", FLOAT, [1, 3]), info("y", FLOAT, [1, 3])]))
    sums = np.cumsum(x[:3], 0)[:, None]
    wanted["sliced"], wanted["sliced.all"] = sums[-1], np.square(sums)
    # A counter, which the loop carries, ends it.
    counter = [("Add", ["c", "one"], "c1"), ("Less", ["c1", "three"], "go1"), ("Add", ["s", "s"], "twice"), ("Add", ["twice", "row"], "s1")]
    g.node("Identity", ["x"], "x1")
    g.node("Loop", ["lots", "", "one", "x1"], ["count", "doubled"], body=body_of(counter, head + [info("c", INT64, []), info("s", FLOAT, [5, 3])], [info("go1", BOOL, []), info("c1", INT64, []), info("s1", FLOAT, [5, 3])]))
    wanted["doubled"] = 4 * x
    # A loop in a loop: sum over t of sum over u of (t + u) x.
    inner = [("Add", ["t", "u"], "tu"), ("Cast", ["tu"], "tuf", {"to": FLOAT}), ("Mul", ["x1", "tuf"], "part"), ("Add", ["r", "part"], "r1"), ("Identity", ["go2"], "go3")]
    nest = body_of(inner, [info("u", INT64, []), info("go2", BOOL, []), info("r", FLOAT, [5, 3])], [info("go3", BOOL, []), info("r1", FLOAT, [5, 3])])
    outer = [("Loop", ["three", "", "s"], "s1", {"body": nest}), ("Identity", ["go"], "go1")]
    g.node("Loop", ["three", "", "x1"], "nested", body=body_of(outer, head + [info("s", FLOAT, [5, 3])], [info("go1", BOOL, []), info("s1", FLOAT, [5, 3])]))
    wanted["nested"] = x + sum(t + u for t in range(3) for u in range(3)) * x
    check_outputs(g, {"x": x}, wanted, 1e-5, 1e-5)


def branches():
    """A condition that is computed from data, with values of the graph around it, results of several types, and a nested If."""
    for sign in (1, -1):
        x = (sign * np.abs(np.random.default_rng(0).normal(size=(2, 3)))).astype(np.float32)
        g = Graph(opset=17)
        g.input("x", [2, 3])
        g.constant("zero", np.float32(0)), g.constant("two", np.float32(2))
        g.node("ReduceSum", ["x"], "sum", keepdims=0)
        g.node("Greater", ["sum", "zero"], "positive")
        g.node("Less", ["sum", "two"], "small")
        inner = {name: body_of([(op, ["x"], name + "r")], [], [info(name + "r", FLOAT, [2, 3])]) for name, op in (("then_branch", "Exp"), ("else_branch", "Neg"))}
        then = body_of([("If", ["small"], "u", inner), ("ArgMax", ["x"], "a", {"axis": 1})], [], [info("u", FLOAT, [2, 3]), info("a", INT64, [2, 1])])
        other = body_of([("Abs", ["x"], "v"), ("ArgMin", ["x"], "b", {"axis": 1})], [], [info("v", FLOAT, [2, 3]), info("b", INT64, [2, 1])])
        g.node("If", ["positive"], ["y", "index"], then_branch=then, else_branch=other)
        want = (np.exp(x) if x.sum() < 2 else -x) if sign > 0 else np.abs(x)
        check_outputs(g, {"x": x}, {"y": want, "index": np.argmax(x, 1)[:, None] if sign > 0 else np.argmin(x, 1)[:, None]}, 1e-5, 1e-6)


#===-- Training ------------------------------------------------------------------------------------------


def classifier(g, features, width):
    g.node("Gemm", [features, g.parameter("fc.weight", (CLASSES, width), fan_in=width), g.parameter("fc.bias", (CLASSES,))], "logits", transB=1)
    return g.output("logits", [BATCH, CLASSES])


def hidden(g, width):
    x = g.input("x", [BATCH, 6])
    return g.node("MatMul", [x, g.parameter("first.weight", (6, width), fan_in=6)], "hidden")


def attention(composed):
    g = Graph(seed=3)
    x, heads, d = g.input("x", [BATCH, 6]), 2, 3
    x = g.node("Mul", [g.node("Unsqueeze", [x, g.constant("last", np.int64([2]))], "wide"), g.parameter("embed.weight", (1, 6, 4), fan_in=4)], "tokens")
    parts = {}
    for part in "qkv":
        w = g.parameter(f"w{part}.weight", (heads, 4, d), fan_in=4)
        if composed:
            parts[part] = g.node("Einsum", [x, w], part, equation="bsf,hfd->bshd")
        else:
            flat = g.node("Reshape", [g.node("Transpose", [w], f"{part}t", perm=[1, 0, 2]), g.constant(f"{part}s", np.int64([4, heads * d]))], f"{part}w")
            parts[part] = g.node("Reshape", [g.node("MatMul", [x, flat], f"{part}p"), g.constant(f"{part}r", np.int64([BATCH, 6, heads, d]))], part)
    out = g.parameter("wo.weight", (heads, d, 4), fan_in=6)
    if composed:
        scores = g.node("Einsum", [parts["q"], parts["k"]], "scores", equation="bqhd,bkhd->bhqk")
        mixed = g.node("Einsum", [g.node("Softmax", [scores], "p", axis=-1), parts["v"]], "mixed", equation="bhqk,bkhd->bqhd")
        y = g.node("Einsum", [mixed, out], "y", equation="bqhd,hdc->bc")
    else:
        q, v = (g.node("Transpose", [parts[part]], f"{part}h", perm=[0, 2, 1, 3]) for part in "qv")
        k = g.node("Transpose", [parts["k"]], "kh", perm=[0, 2, 3, 1])
        mixed = g.node("MatMul", [g.node("Softmax", [g.node("MatMul", [q, k], "scores")], "p", axis=-1), v], "mixed")
        joined = g.node("Reshape", [g.node("Transpose", [mixed], "back", perm=[0, 2, 1, 3]), g.constant("js", np.int64([BATCH, 6, heads * d]))], "joined")
        flat = g.node("Reshape", [out, g.constant("os", np.int64([heads * d, 4]))], "of")
        y = g.node("ReduceSum", [g.node("MatMul", [joined, flat], "each"), g.constant("ax", np.int64([1]))], "y", keepdims=0)
    return classifier(g, y, 4)


def running(composed):
    width = 200
    g = Graph(seed=3)
    h = hidden(g, width)
    y = g.node("CumSum", [h, g.constant("axis", np.int64(1))], "sums") if composed else g.node("MatMul", [h, g.constant("triangle", np.triu(np.ones((width, width), np.float32)))], "sums")
    return classifier(g, g.node("Tanh", [y], "t"), width)


def largest(composed, k=6):
    """The k largest of 12, against ranks by comparing all pairs."""
    g = Graph(seed=3)
    h = hidden(g, 12)
    if composed:
        y = g.node("TopK", [h, g.constant("k", np.int64([k]))], ["y", "index"])
    else:
        row, column = g.node("Unsqueeze", [h, g.constant("a1", np.int64([1]))], "row"), g.node("Unsqueeze", [h, g.constant("a2", np.int64([2]))], "column")
        above = g.node("Cast", [g.node("Greater", [row, column], "above")], "abovei", to=INT64)
        rank = g.node("ReduceSum", [above, g.constant("a3", np.int64([2]))], "rank", keepdims=0)
        hot = g.node("Cast", [g.node("Equal", [g.node("Unsqueeze", [rank, "a1"], "rank1"), g.constant("places", np.arange(k).reshape(1, k, 1))], "equal")], "hot", to=FLOAT)
        y = g.node("ReduceSum", [g.node("Mul", [hot, row], "picked"), "a3"], "y", keepdims=0)
    return classifier(g, g.node("Mul", [y, g.parameter("scale.weight", (k,), value=0.7)], "scaled"), k)


def recurrent(composed, trips=5):
    """h = tanh(h w + u[t] + t b), with the mean over t of a stacked output."""
    g = Graph(seed=3)
    h = hidden(g, 4)
    for name, shape in (("cell.weight", (4, 4)), ("table.weight", (trips, 4)), ("cell.bias", (4,))):
        g.parameter(name, shape, fan_in=4)

    def steps(h, t, prefix=""):
        return [("Gather", ["table.weight", t], prefix + "u"), ("MatMul", [h, "cell.weight"], prefix + "hw"), ("Cast", [t], prefix + "tf", {"to": FLOAT}), ("Mul", [prefix + "tf", "cell.bias"], prefix + "tb"),
                ("Add", [prefix + "hw", prefix + "u"], prefix + "a"), ("Add", [prefix + "a", prefix + "tb"], prefix + "c"), ("Tanh", [prefix + "c"], prefix + "h")]
    if composed:
        body = body_of(steps("s", "t") + [("Identity", ["h"], "out"), ("Identity", ["go"], "go1")], [info("t", INT64, []), info("go", BOOL, []), info("s", FLOAT, [BATCH, 4])],
                       [info("go1", BOOL, []), info("h", FLOAT, [BATCH, 4]), info("out", FLOAT, [BATCH, 4])])
        g.node("Loop", [g.constant("trips", np.int64(trips)), g.constant("yes", np.bool_(True)), h], ["last", "all"], body=body)
        mean = g.node("ReduceMean", ["all"], "mean", axes=[0], keepdims=0)
        return classifier(g, g.node("Add", ["last", mean], "y"), 4)
    outputs = []
    for t in range(trips):
        for op, inputs, output, *rest in steps(h, g.constant(f"t{t}", np.int64(t)), f"s{t}."):
            g.node(op, inputs, output, **(rest[0] if rest else {}))
        h = f"s{t}.h"
        outputs.append(h)
    mean = g.node("Mean", outputs, "mean")
    return classifier(g, g.node("Add", [h, mean], "y"), 4)


def chosen(composed):
    """A branch whose gradient is infinite at the parameter's value stands beside the one that is chosen; its 0 * inf may not reach the parameter."""
    g = Graph(seed=3)
    h = hidden(g, 4)
    p = g.parameter("p.weight", (4,), value=0.5)
    g.constant("half", np.float32(0.5)), g.constant("low", np.float32(-1e30))
    then = [("Mul", [h, p], "m")]
    if not composed:
        g.node(*then[0])
        return classifier(g, "m", 4)
    condition = g.node("Greater", [g.node("ReduceMax", ["x"], "top", keepdims=0), "low"], "c")
    other = [("Sub", [p, "half"], "nil"), ("Log", ["nil"], "log"), ("Add", [h, "log"], "n")]
    g.node("If", [condition], "y", then_branch=body_of(then, [], [info("m", FLOAT, [BATCH, 4])]), else_branch=body_of(other, [], [info("n", FLOAT, [BATCH, 4])]))
    return classifier(g, "y", 4)


def switched(composed):
    """The condition changes from batch to batch."""
    g = Graph(seed=3)
    h = hidden(g, 4)
    p = g.parameter("p.weight", (4,), value=0.5)
    g.constant("zero", np.float32(0))
    condition = g.node("Greater", [g.node("ReduceSum", ["x"], "total", keepdims=0), "zero"], "c")
    then, other = [("Mul", [h, p], "m"), ("Tanh", ["m"], "m1")], [("Add", [h, p], "n"), ("Sigmoid", ["n"], "n1")]
    if composed:
        g.node("If", [condition], "y", then_branch=body_of(then, [], [info("m1", FLOAT, [BATCH, 4])]), else_branch=body_of(other, [], [info("n1", FLOAT, [BATCH, 4])]))
    else:
        for node in then + other:
            g.node(*node)
        g.node("Where", [condition, "m1", "n1"], "y")
    return classifier(g, "y", 4)


def same(make, precision, target, **options):
    """The two programs have the same losses, gradients and parameters."""
    def run():
        with harness.folder() as folder:
            rng = np.random.default_rng(1)
            np.savez(f"{folder}/data.npz", x=rng.normal(0, 1, (24, 6)).astype(np.float32), label=rng.integers(0, CLASSES, 24))
            results = []
            for name, composed in (("composed", True), ("plain", False)):
                make(composed, **options).save(f"{folder}/{name}.onnx")
                harness.must([OPTIONS.bin + "/mpc", "compile", f"{name}.onnx", "-q", "--cpu=x86-64-v3", "--loss=softmax_cross_entropy:logits:label", "--trainable=weight|fc|cell", "--optimizer=sgd", "--lr=0.1", "-o", name,
                              "--precision=" + precision, *(["--loss-scale=256"] if precision == "fp16" else []), "--target=" + (target if target == "host" else target + ",emulator")], cwd=folder)
                harness.must([f"./{name}", "trace", "--data", "data.npz", "--steps", str(STEPS), "--out", f"{name}.npz", "--seed", "1", "--device", "host" if target == "host" else "emulator"],
                             cwd=folder, seconds=300)
                results.append(np.load(f"{folder}/{name}.npz"))
            composed, plain = results
            compared = [key for key in composed.files if key in plain.files and np.issubdtype(composed[key].dtype, np.floating)]
            for key in compared:
                got, want = composed[key].astype(np.float64), plain[key].astype(np.float64)
                error = np.abs(got - want).max() / max(np.abs(want).max(), 1e-30)
                if not error <= BOUNDS[precision]:
                    raise harness.Failure(f"{key} differs by {error:.2e} of its largest element, allowed {BOUNDS[precision]}")
            if len(compared) < 7:  # the loss, three gradients and three parameters
                raise harness.Failure(f"only {compared} in common: {composed.files} and {plain.files}")
    return run


def main():
    cases = [(f"einsum {dtype}", einsum(dtype)) for dtype in ("float32", "float64", "int64", "int32")]
    cases += [("einsum refused: " + said, refused(equation, shapes, said)) for equation, shapes, said in (
        ("ij,jk->i%", [(2, 3), (3, 4)], "'%'"), ("ij->ij", [(2, 3), (3, 4)], "1 terms for 2 inputs"), ("ij->k", [(2, 3)], "'k' behind"), ("ij->ii", [(2, 3)], "'i' twice"),
        ("ijk->i", [(2, 3)], "names 3 dimensions of input 0, which has 2"), ("ij,jk", [(2, 3), (4, 5)], "3 and of 4 elements"), ("ii->i", [(1, 3)], "repeats 'i'"),
        ("......->", [(2, 3)], "two ellipses"), ("...i->i", [(2, 3)], "an ellipsis before"), ("i-j->i", [(2,)], "'-'"))]
    cases += [(f"cumsum {dtype}", cumsum(dtype)) for dtype in ("float32", "float16", "int64")]
    cases += [(f"topk {dtype}", topk(dtype)) for dtype in ("float32", "float16", "float64", "int64", "int32", "uint8", "uint64", "int8")]
    cases += [("loops", loops), ("branches", branches)]
    for make in (attention, running, largest, recurrent, chosen, switched):
        cases += [(f"training: {make.__name__} {precision} {target}", same(make, precision, target)) for precision, target in (("fp32", "host"), ("fp16", "host"), ("fp32", "sm_80"))]
    cases += [("training: largest three, written out", same(largest, "fp32", "host", k=3))]
    harness.main(cases, OPTIONS.only)


OPTIONS = harness.arguments(__doc__)
if __name__ == "__main__":
    main()
