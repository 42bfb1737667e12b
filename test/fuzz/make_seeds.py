#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the seeds of the fuzz targets: small files of each format, both valid and unusual ones. usage: test/fuzz/make_seeds.py [FOLDER]

FOLDER is test/fuzz/seeds unless another one is named; this script wrote the files there. All checksums are 0, since the targets compute no others
(runtime/Input.cpp); the gzip trailers, which zlib checks itself, and those of pictures and archives are right.
"""
import gzip
import io
import json
import os
import re
import struct
import sys
import zlib

import numpy as np

from model_seeds import model_seeds
from picture_seeds import PICTURES

HERE = os.path.dirname(os.path.abspath(__file__))


def npy(array):
    out = io.BytesIO()
    np.lib.format.write_array(out, array, version=(1, 0))
    return out.getvalue()


def npy_with_header(text, data=b"", version=1):
    header = text.encode()
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(header)) + header + data


def npy_seeds():
    for name in ("f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1"):
        yield name, npy(np.arange(6).astype(name).reshape(2, 3))
    yield "scalar", npy(np.float32(1.5))
    yield "empty", npy(np.zeros((0, 3), "f4"))
    yield "fortran", npy(np.asfortranarray(np.arange(24, dtype="i2").reshape(2, 3, 4)))
    yield "special", npy(np.array([np.nan, np.inf, -0.0, 1e-45], "f4"))
    yield "version2", npy_with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }\n", b"abcd", 2)
    yield "version3", npy_with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }\n", b"abcd", 3)
    yield "python2", npy_with_header("{'descr': '<i8', 'fortran_order': False, 'shape': (1L, 1L)}", b"12345678")
    yield "structured", npy_with_header("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", b"abcd")
    yield "big-endian", npy(np.arange(2, dtype=">f4"))
    yield "zero-times-huge", npy_with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 4611686018427387904, 4)}")
    yield "huge", npy_with_header("{'descr': '<f8', 'fortran_order': True, 'shape': (4294967296, 4294967296)}")


def archive(members, zip64=False, deflated=False):
    """Makes a zip archive of members (name, bytes)."""
    local, central = b"", b""
    for name, data in members:
        packer = zlib.compressobj(9, zlib.DEFLATED, -15)
        packed = packer.compress(data) + packer.flush() if deflated else data
        method, most = 8 if deflated else 0, 0xffffffff
        sizes = (most, most) if zip64 else (len(packed), len(data))
        extra = struct.pack("<HHQQ", 1, 16, len(data), len(packed)) if zip64 else b""
        extra_central = struct.pack("<HHQQQ", 1, 24, len(data), len(packed), len(local)) if zip64 else b""
        encoded = name.encode()
        common = struct.pack("<HHHHIIIH", 0, method, 0, 0x21, 0, *sizes, len(encoded))
        central += (struct.pack("<IHH", 0x02014b50, 45, 45) + common + struct.pack("<HHHHII", len(extra_central), 0, 0, 0, 0, most if zip64 else len(local)) +
                    encoded + extra_central)
        local += struct.pack("<IH", 0x04034b50, 45) + common + struct.pack("<H", len(extra)) + encoded + extra + packed
    end = b""
    if zip64:
        at = len(local) + len(central)
        end = struct.pack("<IQHHIIQQQQ", 0x06064b50, 44, 45, 45, 0, 0, len(members), len(members), len(central), len(local))
        end += struct.pack("<IIQI", 0x07064b50, 0, at, 1)
    end += struct.pack("<IHHHHIIH", 0x06054b50, 0, 0, len(members), len(members), len(central), len(local), 0)
    return local + central + end


def npz_seeds():
    # The members are the inputs of the runtime's test program, with 5 samples.
    members = [("x.npy", npy(np.arange(30, dtype="f4").reshape(5, 3, 2))), ("target.npy", npy(np.arange(5, dtype="i8") % 2))]
    yield "stored", archive(members)
    yield "deflated", archive(members, deflated=True)
    yield "zip64", archive(members, zip64=True)
    yield "zip64-deflated", archive(members, zip64=True, deflated=True)
    yield "empty", archive([])
    yield "no-elements", archive([("x.npy", npy(np.zeros((0, 3, 2), "f4"))), members[1]])
    yield "converted", archive([("x.npy", npy(np.asfortranarray(np.arange(30, dtype="u1").reshape(5, 6)))), ("target.npy", npy(np.ones((5, 1), "f8")))])
    yield "zero-times-huge", archive([("x.npy", npy_with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 3037000500, 3037000500)}")), members[1]])
    yield "other-member", archive([("readme.txt", b"text")] + members[:1])
    yield "comment", archive(members[:1])[:-2] + struct.pack("<H", 4) + b"note"
    yield "bomb", archive([("x.npy", npy(np.zeros(20000, "u1")))], deflated=True)


def idx(kind, shape, data):
    return bytes([0, 0, kind, len(shape)]) + b"".join(struct.pack(">I", extent) for extent in shape) + data


def idx_seeds():
    for kind, name in ((8, "u1"), (9, "i1"), (11, ">i2"), (12, ">i4"), (13, ">f4"), (14, ">f8")):
        plain = idx(kind, (2, 3), np.arange(6).astype(name).tobytes())
        yield name.strip(">"), plain
        yield name.strip(">") + "-gz", gzip.compress(plain, mtime=0)
    yield "scalar", idx(8, (), b"a")
    yield "no-elements", idx(13, (0, 5), b"")
    yield "zero-times-huge", idx(14, (0, 0xffffffff, 0xffffffff, 0xffffffff), b"")
    yield "two-members-gz", gzip.compress(idx(8, (4,), b"ab"), mtime=0) + gzip.compress(b"cd", mtime=0)
    yield "bomb-gz", gzip.compress(idx(8, (3,), b"abc" + bytes(100000)), mtime=0)
    yield "cut-gz", gzip.compress(idx(8, (4,), b"abcd"), mtime=0)[:-5]


def safetensors(tensors, metadata=None):
    """Makes a safetensors file of tensors: name -> (type, shape, bytes)."""
    header, data = {}, b""
    if metadata is not None:
        header["__metadata__"] = metadata
    for name, (kind, shape, raw) in tensors.items():
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    return struct.pack("<Q", len(text)) + text + data


def safetensors_seeds():
    for kind, width in (("F16", 2), ("BF16", 2), ("F32", 4), ("F64", 8), ("I8", 1), ("I16", 2), ("I32", 4), ("I64", 8), ("U8", 1), ("U16", 2), ("U32", 4),
                        ("U64", 8), ("BOOL", 1)):
        yield kind.lower(), safetensors({"w": (kind, [3, 2], bytes(6 * width))}, {"header_crc32": "00000000", "data_crc32": "00000000"})
    weights = np.arange(6, dtype="f4").tobytes()
    state = {"w": ("F32", [3, 2], weights), "w/momentum": ("F32", [3, 2], weights), "main/scale": ("F32", [], b"\0\0\x80G"),
             "main/tracker": ("I32", [], bytes(4)), "main/skipped": ("I32", [], bytes(4))}
    yield "checkpoint", safetensors(state, {
        "format": "mpc-checkpoint-2", "model": "logistic", "variables": "0", "network": "w\tw\t\t-1\n", "step": "3", "epoch": "0", "batch": "3",
        "samples": "40", "batch_size": "4", "accumulate": "1", "seed": "7", "shuffle": "1", "header_crc32": "00000000", "data_crc32": "00000000"})
    yield "first-checkpoint", safetensors(state, {"format": "mpc-checkpoint-1", "step": "3", "header_crc32": "00000000", "data_crc32": "00000000"})
    yield "no-metadata", safetensors({"w": ("F32", [3, 2], weights)})
    yield "no-elements", safetensors({"e": ("F32", [0, 5], b""), "w": ("F32", [3, 2], weights)}, {"header_crc32": "00000000", "data_crc32": "00000000"})
    yield "empty", safetensors({})


def log_seeds():
    steps = [{"step": i, "epoch": 0, "loss": 0.5, "lr": 0.1, "scale": 65536.0, "skipped": False, "samples_per_s": 10.0} for i in range(1, 9)]
    lines = "".join(json.dumps(step, separators=(",", ":")) + "\n" for step in steps)
    yield "steps", lines.encode()
    yield "cut", lines[:-7].encode()
    yield "no-end", lines[:-1].encode()
    yield "note", (lines + '{"step":9,"note":"a checkpoint was skipped"}\n').encode()
    yield "evaluation", b'{"step":4,"epoch":0,"val_loss":null,"accuracy":0.5,"correct":1,"counted":2,"val_samples":2}\n{"step":5,"epoch":1}\n'
    yield "not-a-number", b'{"step":"many"}\n{"step":1e300}\n{"step":-1}\n{"step":18446744073709551615}\n{"step":6.0}\n'
    yield "deep", b'{"step":1,"x":' + b"[" * 500 + b"\n"
    yield "empty", b""


def logistic_manifest():
    """Returns the manifest of the runtime's test program."""
    source = open(os.path.join(HERE, "..", "runtime", "LogisticProgram.cpp"), encoding="utf-8").read()
    return json.loads(re.search(r'R"\((.*?)\)"', source, re.S).group(1))


def program(manifest, sections=()):
    """Makes a file as `mpc compile` writes it, with a few bytes in place of the runner."""
    parts = [("manifest.json", manifest), ("data", np.arange(6, dtype="f4").tobytes()), *sections]
    out, toc = b"\x7fELF....", []
    for name, data in parts:
        toc.append({"name": name, "offset": len(out), "bytes": len(data), "crc32": 0})
        out += data
    table = json.dumps({"sections": toc}, separators=(",", ":")).encode()
    return out + table + b"MPCPROG1" + struct.pack("<QQQ", len(out), len(table), 0)


def manifest_variants():
    whole = logistic_manifest()
    yield "logistic", whole
    inits = json.loads(json.dumps(whole))
    slots = [v for v in inits["variables"] if v["role"] == "slot"]
    slots[0]["init"] = {"kind": "normal", "mean": 0, "stddev": 1}
    inits["variables"][3]["init"] = {"kind": "uniform", "low": -1, "high": 1}
    inits["variables"].append({"name": "seed", "role": "rng", "dtype": "u64", "shape": [], "init": {"kind": "seed"}})
    inits["plans"][0]["storage"].append({"variable": "seed", "offset": 216, "bytes": 8})
    inits["variables"][0]["onnx"] = {"name": "fc.weight", "node": "fc", "input": 1}
    inits["steps"][0]["nan_guard"] = "seed"
    yield "inits", inits
    parts = json.loads(json.dumps(whole))
    port = parts["plans"][0]["entries"][0]["inputs"][1]
    port.update({"labels_ignore": -100, "parts": [{"indices_below": 5, "from": [], "to": []}]})
    parts["plans"][0]["constants"] = [{"offset": 800, "bytes": 8, "data_offset": 0}]
    parts["steps"][0]["scaler"].update({"kind": "dynamic", "value": 2, "hysteresis": 2, "lower": {"bound": 1, "factor": 0.5}, "upper": {"bound": 65536, "factor": 2}})
    yield "parts", parts
    library = json.loads(json.dumps(whole))
    library["plans"][0]["entries"][2]["launches"] = [{"name": "product", "library": {
        "op": "matmul", "type_a": "f32", "type_b": "f32", "type_out": "f32", "batch": 1, "m": 4, "n": 2, "k": 6}, "args": [256, 0, 576], "arg_bytes": [96, 24, 32],
        "writes": [2], "scratch": 0, "scratch_bytes": 0}]
    yield "library", library
    gpu = json.loads(json.dumps(whole))
    plan = json.loads(json.dumps(whole["plans"][0]))
    plan.update({"target": "sm_90a", "modules": [{"ptx": "a.ptx", "cubin": "a.cubin"}], "kernels": [
        {"symbol": f"logistic_{name}", "module": 0, "threads": 128, "shared": 0, "tensor_maps": [
            {"arg": 0, "dtype": "f16", "sizes": [2, 3], "strides": [4], "box": [2, 1], "steps": [1, 1], "swizzle": 0}]}
        for name in ("forward", "loss", "gradient", "update")]})
    for entry in plan["entries"]:
        for launch in entry["launches"]:
            launch["grid"] = [launch["grid"], 1, 1]
            launch["arg_bytes"] = [12] * len(launch["args"])
    gpu["plans"].append(plan)
    gpu["architectures"] = [{"name": "sm_80", "compute": 80}, {"name": "sm_90a", "compute": 90, "exact": True}]
    yield "gpu", gpu
    yield "empty", {"format": 1, "variables": [], "plans": [{"target": "host", "arena_bytes": 0, "storage": [], "entries": []}]}


def manifest_seeds():
    for name, manifest in manifest_variants():
        yield name, json.dumps(manifest, separators=(",", ":")).encode()


def program_seeds():
    for name, manifest in manifest_seeds():
        yield name, program(manifest, [("host.native.cpu", b"avx2 fma")] if name == "gpu" else [])
    yield "no-manifest", program(b"")
    yield "not-a-program", b"\x7fELF" + bytes(60)


SEEDS = {"npy": npy_seeds, "npz": npz_seeds, "idx": idx_seeds, "safetensors": safetensors_seeds, "log": log_seeds, "manifest": manifest_seeds,
         "program": program_seeds, "import": model_seeds, **PICTURES}


def main():
    target = sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "seeds")
    for kind, seeds in SEEDS.items():
        folder = os.path.join(target, kind)
        os.makedirs(folder, exist_ok=True)
        for name, data in seeds():
            with open(os.path.join(folder, name), "wb") as file:
                file.write(data)


if __name__ == "__main__":
    main()
