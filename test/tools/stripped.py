# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ONNX graphs without their weights. Each large tensor says in its doc_string how its values are made, the same on every machine.

test/torch/strip.py writes such files, together with PyTorch's loss and gradients for these values; test/e2e/exported_graphs_test.py fills in the values again.
A doc_string is JSON: {"fill": 1.0}, or {"seed": "fc.weight", "shape": [10, 64], "mean": 0.0, "std": 0.1}, with "transposed" where the file holds the transpose.
"""
import json
import lzma
import zlib

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper


def seeded(seed, shape, mean, std):
    """Returns uniform float32 numbers of this mean and standard deviation. NumPy keeps the numbers of its bit generators from version to version, but not those
    of its distributions."""
    raw = np.random.PCG64(zlib.crc32(seed.encode())).random_raw(int(np.prod(shape)))
    unit = (raw >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return (mean + std * 12**0.5 * (unit - 0.5)).astype(np.float32).reshape(shape)


def values(rule, shape):
    """Returns the array that a doc_string stands for; `shape` is that of the file's tensor."""
    if "fill" in rule:
        return np.full(shape, rule["fill"], np.float32)
    made = seeded(rule["seed"], rule["shape"], rule["mean"], rule["std"])
    return np.ascontiguousarray(made.T if rule.get("transposed") else made).reshape(shape)


def read(path):
    """Returns (the bytes of a stripped file, its model with values, the rules of its tensors by name)."""
    with lzma.open(path) as file:
        raw = file.read()
    model = onnx.ModelProto.FromString(raw)
    rules = {}
    for tensor in model.graph.initializer:
        if tensor.doc_string:
            rules[tensor.name] = json.loads(tensor.doc_string)
            tensor.raw_data = values(rules[tensor.name], list(tensor.dims)).tobytes()
            tensor.ClearField("doc_string")
    return raw, model, rules


def describe(tensor, known, own=()):
    """Replaces the values of a float32 tensor by a rule that makes them again. Returns False where it knows no rule; the values stay then.

    `known` is {name: (array, its rule)} of values that the file's tensors may hold. `own` has the names of the module's tensors. Statistics that the exporter has moved are not
    in `known`; their mean is enough.
    """
    if tensor.data_type != TensorProto.FLOAT:
        return True
    array = numpy_helper.to_array(tensor)
    if array.size > 1 and np.all(array == array.flat[0]):
        return _say(tensor, {"fill": float(array.flat[0])})
    for original, rule in known.values():
        if original.size == array.size and np.array_equal(original.ravel(), array.ravel()):
            return _say(tensor, rule)
        if original.ndim == 2 and original.shape == array.shape[::-1] and np.array_equal(original.T, array):
            return _say(tensor, {**rule, "transposed": True})
    if tensor.name in own and tensor.name.endswith((".running_mean", ".running_var")):
        return _say(tensor, {"fill": float(array.mean())})
    return array.size == 1


def make_up(tensor):
    """Replaces the values by others of the same size, where only the graph matters."""
    array = numpy_helper.to_array(tensor)
    _say(tensor, {"seed": tensor.name, "shape": list(array.shape), "mean": float(f"{array.mean():.4g}"), "std": float(f"{array.std():.4g}")})


def _say(tensor, rule):
    kept = TensorProto(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims, doc_string=json.dumps(rule))
    kept.MergeFrom(_metadata(tensor))
    tensor.CopyFrom(kept)
    return True


def _metadata(tensor):
    """Returns what a tensor has besides its values, including fields that the installed onnx does not know."""
    rest = TensorProto()
    rest.CopyFrom(tensor)
    for field, _ in tensor.ListFields():
        if field.name != "metadata_props":
            rest.ClearField(field.name)
    return rest
