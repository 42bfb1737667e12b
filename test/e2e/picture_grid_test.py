#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`predict --images`: the pictures of an output side by side in a PNG file, compared byte by byte with numpy, and everything that it refuses."""
import os
import struct
import subprocess
import sys
import zlib

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import harness  # noqa: E402
from models import Graph  # noqa: E402

BATCH, SAMPLES, HEIGHT, WIDTH, GAP = 4, 10, 5, 7, 2
OUTPUTS = {"colour": [0, 1, 2, 3], "grey": None, "last": [0, 2, 3, 1]}  # with the order of their dimensions


def check(true, *what):
    if not true:
        raise harness.Failure(" ".join(map(str, what)))


def read_png(path):
    """Returns the bytes [height, width, channels] of a PNG with 8 bits that is not interlaced (PNG specification, sections 7 and 9)."""
    raw = open(path, "rb").read()
    check(raw[:8] == b"\x89PNG\r\n\x1a\n", "no PNG")
    at, packed, kinds = 8, b"", []
    while at < len(raw):
        size, kind = struct.unpack(">I4s", raw[at:at + 8])
        body = raw[at + 8:at + 8 + size]
        check(zlib.crc32(kind + body) == struct.unpack(">I", raw[at + 8 + size:at + 12 + size])[0], "checksum of", kind)
        kinds.append(kind)
        if kind == b"IHDR":
            width, height, depth, colour, *rest = struct.unpack(">IIBBBBB", body)
            check((depth, rest) == (8, [0, 0, 0]) and colour in (0, 2), "header", depth, colour, rest)
        packed += body if kind == b"IDAT" else b""
        at += 12 + size
    check(kinds[0] == b"IHDR" and kinds[-1] == b"IEND", kinds)
    n = 1 if colour == 0 else 3
    lines = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, 1 + n * width).astype(int)
    pixels = np.zeros((height + 1, n * width + n), int)  # the line above the first and what is left of the first pixel are 0
    for y, (kind, *line) in enumerate(lines.tolist()):
        for x, value in enumerate(line):
            a, b, c = pixels[y + 1, x], pixels[y, x + n], pixels[y, x]
            p = a + b - c
            paeth = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
            pixels[y + 1, x + n] = (value + (0, a, b, (a + b) // 2, paeth)[kind]) % 256
    return pixels[1:, n:].reshape(height, width, n).astype(np.uint8)


def grid(pictures, low, high, columns=8):
    """pictures: [n,h,w,c]."""
    scaled = np.clip((pictures.astype(np.float64) - low) * (255 / (high - low)), 0, 255)
    n, h, w, c = pictures.shape
    columns = min(n, columns)
    rows = -(-n // columns)
    out = np.zeros((rows * (h + GAP) - GAP, columns * (w + GAP) - GAP, c), np.uint8)
    for i, picture in enumerate(np.where(np.isfinite(pictures), np.floor(scaled + 0.5), 0)):
        y, x = i // columns * (h + GAP), i % columns * (w + GAP)
        out[y:y + h, x:x + w] = picture
    return out


def program(folder, outputs=",".join(OUTPUTS), weight=1):
    """Compiles x [N,3,h,w] -> colour = x * weight, grey = its first channel, last = colour [N,h,w,3], flat [N,3hw], and writes data.npz. Returns x."""
    g = Graph()
    g.input("x", ["N", 3, HEIGHT, WIDTH])
    g.node("Mul", ["x", g.parameter("weight", (3, 1, 1), value=weight)], "colour")
    g.node("Slice", ["colour", g.constant("begin", [0]), g.constant("end", [1]), g.constant("axis", [1])], "grey")
    g.node("Transpose", ["colour"], "last", perm=[0, 2, 3, 1])
    g.node("Flatten", ["colour"], "flat")
    g.output("colour", ["N", 3, HEIGHT, WIDTH]).output("grey", ["N", 1, HEIGHT, WIDTH]).output("last", ["N", HEIGHT, WIDTH, 3])
    g.output("flat", ["N", 3 * HEIGHT * WIDTH]).save(f"{folder}/model.onnx")
    harness.must([OPTIONS.bin + "/mpc", "compile", "model.onnx", "-o", "program", "-q", "--cpu=x86-64-v3", "--precision=fp32", "--loss=mse:colour:t", f"--batch={BATCH}",
                  f"--outputs={outputs}"], cwd=folder)
    x = np.random.default_rng(1).normal(0, 1, (SAMPLES, 3, HEIGHT, WIDTH)).astype(np.float32)
    np.savez(f"{folder}/data.npz", x=x)
    return x


def predict(folder, *options):
    return harness.run([f"{folder}/program", "predict", "--data", "data.npz", *options], cwd=folder)


def written(folder, pictures, *options, low, high, columns=8):
    status, _, err = predict(folder, "--images", "grid.png", *options)
    check(status == 0, err)
    found, wanted = read_png(f"{folder}/grid.png"), grid(pictures, low, high, columns)
    check(found.shape == wanted.shape and (found == wanted).all(), options, found.shape, wanted.shape)
    return err


def layouts():
    """Pictures with one and three channels, channels first and last; the range is given."""
    with harness.folder() as folder:
        x = program(folder).transpose(0, 2, 3, 1)
        for name, pictures in (("colour", x), ("grey", x[..., :1]), ("last", x)):
            err = written(folder, pictures, "--images-of", name, "--images-range=-1:2", low=-1, high=2)
            check("black is" not in err, err)
        written(folder, x[:7, ..., :1], "--images-of=grey", "--images-count=7", "--images-columns=3", "--images-range=0:1", low=0, high=1, columns=3)


def automatic():
    """Without a range the least and the largest value are black and white, which a note says; --out is written too."""
    with harness.folder() as folder:
        x = program(folder, "colour")
        pictures = x.transpose(0, 2, 3, 1)
        err = written(folder, pictures, "--out=out.npz", low=x.min(), high=x.max())
        check("note: grid.png: black is" in err and "--images-range" in err, err)
        check((np.load(f"{folder}/out.npz")["colour"] == x).all(), "--out differs")
        os.remove(f"{folder}/out.npz")
        written(folder, pictures, low=x.min(), high=x.max())
        check(not os.path.exists(f"{folder}/out.npz"), "out.npz was written")
        np.savez(f"{folder}/data.npz", x=np.full_like(x, 3))
        written(folder, np.full_like(pictures, 3), low=3, high=4)


def not_finite():
    """What overflows in the network is black and counted, and does not decide about the range."""
    with harness.folder() as folder:
        x = program(folder, "colour", weight=2.0**100)
        x[1, 2, 3, 4], x[2, 0, 0, 1] = 2.0**100, -2.0**100
        np.savez(f"{folder}/data.npz", x=x)
        with np.errstate(over="ignore"):
            y = (x * np.float32(2.0**100)).transpose(0, 2, 3, 1)
        finite = y[np.isfinite(y)]
        check(finite.size == y.size - 2, "the test has no infinities")
        err = written(folder, y, low=float(finite.min()), high=float(finite.max()))
        check("2 values are not finite, and black" in err, err)


def pipe():
    """A pipe gets the file while a program reads it, and the reader does not see it end before."""
    with harness.folder() as folder:
        x = program(folder, "grey").transpose(0, 2, 3, 1)[..., :1]
        os.mkfifo(f"{folder}/pipe")
        with open(f"{folder}/copy.png", "wb") as copy:
            reader = subprocess.Popen(["cat", "pipe"], cwd=folder, stdout=copy)
            status, _, err = predict(folder, "--images", "pipe", "--images-range=0:1")
        check(status == 0 and reader.wait(60) == 0, err)
        check((read_png(f"{folder}/copy.png") == grid(x, 0, 1)).all(), "other pixels")


def refused(said, *options, outputs=",".join(OUTPUTS), samples=None):
    def case():
        with harness.folder() as folder:
            x = program(folder, outputs)
            if samples is not None:
                np.savez(f"{folder}/data.npz", x=np.resize(x, (samples, *x.shape[1:])))
            before = sorted(os.listdir(folder))
            status, _, err = predict(folder, *options)
            check(status == 1 and said in err and "hint:" in err, status, err)
            check(sorted(os.listdir(folder)) == before, "left", os.listdir(folder))
    return case


CASES = {
    "picture-grid/layouts": layouts,
    "picture-grid/automatic-range": automatic,
    "picture-grid/not-finite": not_finite,
    "picture-grid/pipe": pipe,
    "picture-grid/too-large": refused("more than readers of PNG files take", "--images", "g.png", "--out", "o.npz", "--images-of", "grey", "--images-columns", "999999999",
                                      "--images-count", "999999999", outputs="grey", samples=9500),
    "picture-grid/several-outputs": refused("several outputs may be pictures: colour, grey, last", "--images", "g.png"),
    "picture-grid/no-such-output": refused("no output 'gray'", "--images", "g.png", "--images-of", "gray"),
    "picture-grid/no-picture": refused("is not that of pictures", "--images", "g.png", "--images-of", "flat", outputs="flat,grey"),
    "picture-grid/no-pictures": refused("no output is made of pictures", "--images", "g.png", outputs="flat"),
    "picture-grid/neither": refused("--out, --images or --boxes is required"),
    "picture-grid/without-a-file": refused("--images-range requires --images", "--out", "o.npz", "--images-range", "0:1"),
    "picture-grid/range-upside-down": refused("must be two numbers such as -1:1", "--images", "g.png", "--images-range", "1:0"),
    "picture-grid/range-infinite": refused("must be two numbers such as -1:1", "--images", "g.png", "--images-range", "0:inf"),
    "picture-grid/range-of-one": refused("must be two numbers such as -1:1", "--images", "g.png", "--images-range", "1"),
    "picture-grid/nowhere": refused("nowhere/g.png", "--images", "nowhere/g.png", "--images-of", "grey"),
    "picture-grid/over-the-data": refused("data.npz: is read, so it cannot be written", "--images", "data.npz", "--images-of", "grey"),
    "picture-grid/one-file-twice": refused("--out and --images name one file", "--images", "o", "--out", "o", "--images-of", "grey"),
}

if __name__ == "__main__":
    OPTIONS = harness.arguments(__doc__)
    harness.main(list(CASES.items()), OPTIONS.only)
