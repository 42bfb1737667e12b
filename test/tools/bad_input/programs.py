# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Wrong options, data and checkpoints that a compiled program must refuse (mlp.program: x float32 [8,4], label int64 [8], 3 classes, SGD with momentum)."""
import gzip
import io
import json
import os
import struct
import zipfile
import zlib

import numpy as np

from bad_input.row import Row

TRAIN = "mlp.program train --data bad.npz "
RESUME = "mlp.program train --data train.npz --epochs 9 --resume --checkpoint-dir ckpt "
EVAL = "mlp.program eval --data train.npz "
NOISE = struct.pack(">BBBBII", 0, 0, 0x0E, 2, 64, 4) + np.random.default_rng(0).bytes(2048)  # an IDX file that gzip cannot shrink


def cut(source, target, size):
    """Copies the first bytes of a file."""
    def make(folder):
        with open(f"{folder}/{source}", "rb") as file, open(f"{folder}/{target}", "wb") as out:
            out.write(file.read()[:size])
    return make


def data(edit):
    """Makes bad.npz from the training data; `change` gets it as a dictionary of arrays."""
    def make(folder):
        arrays = dict(np.load(f"{folder}/train.npz"))
        edit(arrays)
        np.savez(f"{folder}/bad.npz", **arrays)
    return make


def element(name, index, value):
    def edit(arrays):
        arrays[name][index] = value
    return data(edit)


def replaced(name, change):
    def edit(arrays):
        arrays[name] = change(arrays[name])
    return data(edit)


def raw(name, content):
    def make(folder):
        with open(f"{folder}/{name}", "wb") as file:
            file.write(content)
    return make


def npy(array):
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def idx(magic=0x0D, shape=(64, 4), missing=0):
    body = np.zeros(shape, ">f4").tobytes()
    return struct.pack(">BBBB", 0, 0, magic, len(shape)) + struct.pack(f">{len(shape)}I", *shape) + body[:len(body) - missing]


def header_checksum(header):
    """Returns the header's checksum as runtime/core/state/Safetensors.h defines it, so that an edited header does not count as damaged."""
    metadata = sorted((key, value) for key, value in header["__metadata__"].items() if key != "header_crc32")
    tensors = sorted((key, json.dumps(value, separators=(",", ":"))) for key, value in header.items() if key != "__metadata__")
    return f"{zlib.crc32(''.join(text + chr(0) for pair in metadata + tensors for text in pair).encode()):08x}"


def checkpoint(change=None, header=None, source="mlp.safetensors"):
    """Makes ckpt/step-00000008.safetensors from the checkpoint, with `change`d bytes or an edited `header`."""
    def make(folder):
        with open(f"{folder}/{source}", "rb") as file:
            content = bytearray(file.read())
        if header:
            length = struct.unpack("<Q", content[:8])[0]
            parsed = json.loads(content[8:8 + length])
            header(parsed)
            parsed["__metadata__"]["header_crc32"] = header_checksum(parsed)
            text = json.dumps(parsed).encode()
            content = struct.pack("<Q", len(text)) + text + content[8 + length:]
        os.makedirs(f"{folder}/ckpt")
        with open(f"{folder}/ckpt/step-00000008.safetensors", "wb") as file:
            file.write(change(content) if change else content)
    return make


CHECKPOINT = "mlp.program eval --data train.npz --checkpoint ckpt/step-00000008.safetensors"


def flip(position):
    def change(content):
        content[position] ^= 0x10
        return content
    return change


def program(change):
    """Makes bad.program from the bytes of the compiled program."""
    def make(folder):
        with open(f"{folder}/mlp.program", "rb") as file:
            content = bytearray(file.read())
        with open(f"{folder}/bad.program", "wb") as file:
            file.write(change(content))
        os.chmod(f"{folder}/bad.program", 0o755)
    return make


def damage(section):
    """Flips a bit in the middle of the program's sections whose names start like this."""
    def change(content):
        offset, length, _ = struct.unpack("<QQQ", content[-24:])
        toc = json.loads(content[offset:offset + length])["sections"]
        for entry in toc:
            if entry["name"].startswith(section):
                content[entry["offset"] + entry["bytes"] // 2] ^= 1
        return content
    return program(change)


def labels_apart(folder):
    """Writes x.npy and label.npy."""
    for name, array in np.load(f"{folder}/train.npz").items():
        np.save(f"{folder}/{name}.npy", array)


def folder_named(name):
    return lambda folder: os.mkdir(f"{folder}/{name}")


def folder_with(name, *files):
    def make(folder):
        os.mkdir(f"{folder}/{name}")
        for file in files:
            open(f"{folder}/{name}/{file}", "wb").close()
    return make


def zipped(name, member):
    def make(folder):
        with zipfile.ZipFile(f"{folder}/{name}", "w") as archive:
            archive.writestr(member, b"no array")
    return make


ROWS = [
    # The command line
    Row("unknown-command", "mlp.program juggle", ["unknown command 'juggle'"]),
    Row("no-command", "mlp.program", ["subcommand"]),
    Row("no-data-option", "mlp.program train", ["--data"]),
    Row("unknown-option", "mlp.program train --data train.npz --speed 3", ["--speed"]),
    Row("lr-nan", "mlp.program train --data train.npz --lr nan", ["--lr", "nan"]),
    Row("lr-negative", "mlp.program train --data train.npz --lr -1", ["--lr"]),
    Row("lr-text", "mlp.program train --data train.npz --lr fast", ["--lr", "fast"]),
    Row("lr-beyond-float", "mlp.program train --data train.npz --lr 1e300", ["--lr: 1e+300 is no value of type f32"]),
    Row("step-gamma-beyond-float", "mlp.program train --data train.npz --schedule step --step-size 1 --step-gamma 1e300", ["lr: 1e+298 is no value of type f32"]),
    Row("min-lr-nan", "mlp.program train --data train.npz --min-lr nan", ["--min-lr"]),
    Row("step-gamma-negative", "mlp.program train --data train.npz --schedule step --step-gamma -2", ["--step-gamma"]),
    Row("hyper-fixed-by-the-compiler", "mlp.program train --data train.npz --momentum 0.5", ["--momentum"]),
    Row("lr-of-another-step", "mlp.program train --data train.npz --generator.lr 0.5", ["--generator.lr"]),
    Row("epochs-0", "mlp.program train --data train.npz --epochs 0", ["--epochs", "positive"]),
    Row("steps-negative", "mlp.program train --data train.npz --steps -1", ["--steps", "positive"]),
    Row("epochs-and-steps", "mlp.program train --data train.npz --steps 1 --epochs 1", ["--epochs", "--steps"]),
    Row("epochs-overflow", "mlp.program train --data train.npz --epochs 9223372036854775807", ["--epochs"]),
    Row("unknown-schedule", "mlp.program train --data train.npz --schedule zigzag", ["zigzag"]),
    Row("schedule-without-its-milestones", "mlp.program train --data train.npz --schedule multi-step", ["--schedule multi-step: does not say when the rate falls"]),
    Row("schedule-without-its-cycle", "mlp.program train --data train.npz --schedule cosine-restarts", ["--schedule cosine-restarts: does not say how long its first cycle is"]),
    Row("milestones-wrong", "mlp.program train --data train.npz --schedule multi-step --milestones 30e,60x", ["--milestones: must be steps or epochs such as 500,800 or 30e,60e, not '30e,60x'"]),
    Row("option-of-another-schedule", "mlp.program train --data train.npz --schedule cosine --milestones 5", ["--milestones: is an option of --schedule multi-step, not of cosine"]),
    Row("option-of-a-schedule-without-it", "mlp.program train --data train.npz --power 2", ["--power: is an option of --schedule polynomial, not of constant"]),
    Row("pct-start-above-1", "mlp.program train --data train.npz --schedule one-cycle --pct-start 1.5", ["--pct-start", "1.5"]),
    Row("plateau-factor-above-1", "mlp.program train --data train.npz --val train.npz --schedule plateau --plateau-factor 2", ["--plateau-factor", "2"]),
    Row("plateau-without-val", "mlp.program train --data train.npz --schedule plateau", ["--schedule plateau: there is nothing to evaluate", "--val"]),
    Row("plateau-of-no-metric", "mlp.program train --data train.npz --val train.npz --schedule plateau --plateau-metric top9", ["--schedule plateau: the program's evaluation has no number 'top9'", "loss"]),
    Row("save-best-without-val", "mlp.program train --data train.npz --save-best --checkpoint-dir new", ["--save-best: there is nothing to evaluate", "--val"]),
    Row("save-best-without-folder", "mlp.program train --data train.npz --val train.npz --save-best", ["--save-best: there is no folder", "--checkpoint-dir"]),
    Row("save-best-of-no-metric", "mlp.program train --data train.npz --val train.npz --checkpoint-dir new --save-best=speed", ["--save-best: the program's evaluation has no number 'speed'", "it has: loss"]),
    Row("early-stop-without-val", "mlp.program train --data train.npz --early-stop 3", ["--early-stop: there is nothing to evaluate", "--val"]),
    Row("early-stop-0", "mlp.program train --data train.npz --val train.npz --early-stop 0", ["--early-stop", "positive"]),
    Row("early-stop-of-no-metric", "mlp.program train --data train.npz --val train.npz --early-stop 3:speed", ["--early-stop: the program's evaluation has no number 'speed'"]),
    Row("val-every-0", "mlp.program train --data train.npz --val train.npz --val-every 0", ["--val-every: must be steps or epochs", "not '0'"]),
    Row("min-score-above-1", "mlp.program predict --data train.npz --boxes found --min-score 1.5", ["--min-score: must be a number from 0 to 1, not '1.5'"]),
    Row("min-score-negative", "mlp.program predict --data train.npz --boxes found --min-score=-0.1", ["--min-score: must be a number from 0 to 1, not '-0.1'"]),
    Row("min-score-nan", "mlp.program predict --data train.npz --boxes found --min-score nan", ["--min-score: must be a number from 0 to 1, not 'nan'"]),
    Row("class-names-alone", EVAL + "--class-names names.txt", ["--class-names", "--per-class"]),
    Row("class-names-missing", EVAL + "--per-class --class-names nowhere.txt", ["nowhere.txt"]),
    Row("class-names-too-few", EVAL + "--per-class --class-names names.txt", ["names.txt: names 2 classes; the program has 3"], raw("names.txt", b"cat\ndog\n\n")),
    Row("class-names-none", EVAL + "--per-class --class-names names.txt", ["names.txt: holds no names of classes"], raw("names.txt", b"\n\n")),
    Row("unknown-nan", "mlp.program train --data train.npz --nan never", ["must be one of stop,skip,ignore, not 'never'"]),
    Row("warmup-negative", "mlp.program train --data train.npz --warmup -3", ["--warmup"]),
    Row("threads-negative", EVAL + "--threads -1", ["--threads"]),
    Row("threads-beyond-reason", EVAL + "--threads 1000000", ["--threads"]),
    Row("readers-beyond-reason", EVAL + "--readers 257", ["--readers", "a number of threads from 0 to 256"]),
    Row("unknown-library", EVAL + "--library abacus", ["abacus"]),
    Row("trace-without-steps", "mlp.program trace --data train.npz --out t.npz", ["--steps"]),
    Row("trace-steps-overflow", "mlp.program trace --data train.npz --out t.npz --steps 9223372036854775807", ["--steps"]),
    Row("scale-without-value", EVAL + "--scale x", ["--scale", "has no '='"]),
    Row("scale-nan", EVAL + "--scale x=nan", ["--scale", "'nan' is no number"]),
    Row("scale-beyond-float", EVAL + "--scale x=1e39", ["train.npz: x: sample 0, element 0 holds", "by --scale and --normalize", "f32 cannot represent"]),
    Row("scale-of-labels", EVAL + "--scale label=2", ["cannot be scaled"]),
    Row("scale-of-nothing", EVAL + "--scale y=2", ["there is no input 'y'"]),
    Row("normalize-by-zero", EVAL + "--normalize x=0,0", ["divides by zero"]),
    Row("normalize-channels", EVAL + "--normalize x=0:0:0,1:1:1", ["--normalize", "3 channels for input 'x'"]),
    Row("normalize-channels-that-divide", EVAL + "--normalize x=0:0,1", ["--normalize", "2 channels for input 'x'"]),
    # Data files
    Row("data-missing", "mlp.program train --data nowhere.npz", ["nowhere.npz", "No such file"]),
    Row("data-is-a-folder", "mlp.program train --data bad.npz", ["bad.npz: holds no picture", "name a folder with JPEG or PNG files"], folder_named("bad.npz")),
    Row("data-is-a-folder-with-data", "mlp.program train --data bad", ["bad: is a folder", "name a file in it, such as bad/a.npz"], folder_with("bad", "b.npz", "a.npz", "readme.txt")),
    Row("data-is-a-picture", "mlp.program train --data bad.jpg", ["bad.jpg: is a JPEG picture, not an array", "name the folder that holds the pictures of all classes"], raw("bad.jpg", b"\xff\xd8\xff\xe0\0\x10JFIF")),
    Row("data-is-an-archive", "mlp.program train --data bad.tar.xz", ["bad.tar.xz: is an xz archive, not an array", "unpack it first"], raw("bad.tar.xz", b"\xfd7zXZ\0\0\4")),
    Row("data-is-a-packed-tar", "mlp.program train --data bad.tar.gz", ["bad.tar.gz: is a packed archive, in which pictures cannot be found by their place", "unpack it with gunzip"], raw("bad.tar.gz", gzip.compress(b"name" + bytes(1020)))),
    Row("data-is-a-zip", "mlp.program train --data bad.zip", ["bad.zip: is a zip archive without .npy arrays", "unpack it first"], zipped("bad.zip", "a.png")),
    Row("data-empty-file", TRAIN, ["bad.npz", "empty"], raw("bad.npz", b"")),
    Row("data-text", TRAIN, ["bad.npz: is text, not an array", "numpy.loadtxt"], raw("bad.npz", b"x,label\n1,2\n")),
    Row("data-truncated", TRAIN, ["bad.npz"], cut("train.npz", "bad.npz", 700)),
    Row("data-truncated-in-directory", TRAIN, ["bad.npz"], lambda f: cut("train.npz", "bad.npz", os.path.getsize(f"{f}/train.npz") - 30)(f)),
    Row("data-array-missing", TRAIN, ["no data for input 'label'", "x"], data(lambda a: a.pop("label"))),
    Row("data-shape", TRAIN, ["bad.npz: x", "[64,5]", "[samples,4]"], replaced("x", lambda x: np.concatenate([x, x[:, :1]], 1))),
    Row("data-scalar", TRAIN, ["bad.npz: x"], replaced("x", lambda x: np.float32(3))),
    Row("data-strings", TRAIN, ["bad.npz", "element type"], replaced("x", lambda x: x.astype("U8"))),
    Row("data-complex", TRAIN, ["bad.npz", "element type"], replaced("x", lambda x: x.astype(np.complex64))),
    Row("data-objects", TRAIN, ["bad.npz"], replaced("x", lambda x: np.array([None] * 64, dtype=object))),
    Row("data-big-endian", TRAIN, ["bad.npz", "big-endian"], replaced("x", lambda x: x.astype(">f4"))),
    Row("data-counts-differ", TRAIN, ["samples, but another input has"], replaced("label", lambda y: y[:60])),
    Row("data-no-samples", TRAIN, ["holds no samples"], data(lambda a: a.update(x=a["x"][:0], label=a["label"][:0]))),
    Row("data-less-than-a-batch", TRAIN, ["less than one batch"], data(lambda a: a.update(x=a["x"][:5], label=a["label"][:5]))),
    Row("trace-less-than-a-batch", "mlp.program trace --data bad.npz --steps 2 --out t.npz", ["less than one batch"], data(lambda a: a.update(x=a["x"][:5], label=a["label"][:5]))),
    Row("data-nan", TRAIN, ["bad.npz: x", "sample 17, element 2 holds NaN"], element("x", (17, 2), np.nan)),
    Row("data-infinity", TRAIN, ["bad.npz: x", "sample 63, element 3 holds an infinity"], element("x", (63, 3), -np.inf)),
    Row("data-beyond-float", TRAIN, ["bad.npz: x", "cannot represent"], replaced("x", lambda x: x.astype(np.float64) * 1e300)),
    Row("label-too-large", TRAIN, ["bad.npz: label", "sample 5 has label 3, not in [0, 3)"], element("label", 5, 3)),
    Row("label-negative", TRAIN, ["sample 0 has label -1, not in [0, 3)"], element("label", 0, -1)),
    Row("label-fraction", TRAIN, ["takes integers"], replaced("label", lambda y: y + 0.5)),
    Row("label-one-hot", TRAIN, ["bad.npz: label", "[64,3]"], replaced("label", lambda y: np.eye(3)[y])),
    Row("eval-label-too-large", "mlp.program eval --data bad.npz", ["has label 9"], element("label", 5, 9)),
    Row("val-nan", "mlp.program train --data train.npz --val bad.npz", ["bad.npz: x", "NaN"], element("x", (1, 1), np.nan)),
    Row("predict-nan", "mlp.program predict --data bad.npz --out out.npz", ["NaN"], element("x", (17, 2), np.nan)),
    Row("npy-truncated", "mlp.program eval --data x=bad.npy --data label=train.npz", ["bad.npy"], raw("bad.npy", npy(np.zeros((64, 4), np.float32))[:-9])),
    Row("npy-header", "mlp.program eval --data x=bad.npy --data label=train.npz", ["bad.npy"], raw("bad.npy", b"\x93NUMPY\1\0\x20\0{'descr': '<f4', 'shape':        ")),
    Row("npy-huge-shape", "mlp.program eval --data x=bad.npy --data label=train.npz", ["bad.npy"], raw("bad.npy", npy(np.zeros((64, 4), np.float32)).replace(b"(64, 4), }  " + b" " * 10, b"(4611686018427387904, 4)"[:22]))),
    Row("idx-magic", "mlp.program eval --data x=bad.idx --data label=train.npz", ["bad.idx"], raw("bad.idx", idx(magic=0x77))),
    Row("idx-truncated", "mlp.program eval --data x=bad.idx --data label=train.npz", ["bad.idx", "truncated"], raw("bad.idx", idx(missing=5))),
    Row("idx-huge-shape", "mlp.program eval --data x=bad.idx --data label=train.npz", ["bad.idx"], raw("bad.idx", b"\0\0\x0d\4" + b"\xff" * 16)),
    Row("gz-truncated", "mlp.program eval --data x=bad.gz --data label=train.npz", ["bad.gz", "truncated"], raw("bad.gz", gzip.compress(NOISE)[:1500])),
    Row("gz-damaged", "mlp.program eval --data x=bad.gz --data label=train.npz", ["bad.gz", "damaged"], raw("bad.gz", bytes(flip(60)(bytearray(gzip.compress(NOISE)))))),
    Row("gz-of-something-else", "mlp.program eval --data x=bad.gz --data label=train.npz", ["bad.gz", "IDX"], raw("bad.gz", gzip.compress(b"a story about digits"))),
    Row("array-of-npz-missing", "mlp.program eval --data x=train.npz:pixels --data label=train.npz", ["has no array 'pixels'"]),
    Row("one-array-for-two-inputs", "mlp.program eval --data bad.npy", ["several inputs"], raw("bad.npy", npy(np.zeros((64, 4), np.float32)))),
    # Checkpoints
    Row("checkpoint-missing", EVAL + "--checkpoint nowhere.safetensors", ["nowhere.safetensors", "No such file"]),
    Row("checkpoint-is-a-folder", EVAL + "--checkpoint ckpt", ["ckpt"], folder_named("ckpt")),
    Row("checkpoint-is-data", EVAL + "--checkpoint train.npz", ["no safetensors file"]),
    Row("checkpoint-empty", CHECKPOINT, ["empty"], checkpoint(lambda c: b"")),
    Row("checkpoint-truncated-header", CHECKPOINT, ["truncated"], checkpoint(lambda c: c[:40])),
    Row("checkpoint-truncated-data", CHECKPOINT, ["truncated"], checkpoint(lambda c: c[:-7])),
    Row("checkpoint-damaged-data", CHECKPOINT, ["checksum"], checkpoint(flip(-3))),
    Row("checkpoint-huge-header", CHECKPOINT, ["no safetensors file"], checkpoint(lambda c: b"\xff" * 8 + c[8:])),
    Row("checkpoint-of-another-model", EVAL + "--checkpoint other.safetensors", ["fc1.weight", "[8,5]"]),
    Row("checkpoint-parameter-missing", CHECKPOINT, ["fc2.bias"], checkpoint(header=lambda h: h.__setitem__("stranger", h.pop("fc2.bias")))),
    Row("checkpoint-dtype", CHECKPOINT, ["fc1.bias"], checkpoint(header=lambda h: h["fc1.bias"].__setitem__("dtype", "I32"))),
    Row("checkpoint-shape", CHECKPOINT, ["fc1.weight"], checkpoint(header=lambda h: h["fc1.weight"].__setitem__("shape", [2**62, 4]))),
    Row("checkpoint-overlap", CHECKPOINT, ["overlap"], checkpoint(header=lambda h: h["fc1.bias"].__setitem__("data_offsets", h["fc2.weight"]["data_offsets"][:1] + [h["fc2.weight"]["data_offsets"][0] + 32]))),
    Row("init-of-another-model", "mlp.program train --data train.npz --init other.safetensors", ["fc1.weight"]),
    Row("resume-another-model", RESUME, ["fc1.weight"], checkpoint(source="other.safetensors")),
    Row("resume-without-folder", "mlp.program train --data train.npz --resume", ["--checkpoint-dir"]),
    Row("resume-other-data", "mlp.program train --data bad.npz --epochs 9 --resume --checkpoint-dir ckpt", ["40 samples", "64"],
        lambda f: (data(lambda a: a.update(x=a["x"][:40], label=a["label"][:40]))(f), checkpoint()(f))),
    Row("resume-other-batch", RESUME, ["comes from training with a batch of 32; this program's is 8", "--init"], checkpoint(header=lambda h: h["__metadata__"].update(batch_size="32"))),
    Row("resume-other-accumulation", RESUME, ["an accumulation of 4; this program's is 1"], checkpoint(header=lambda h: h["__metadata__"].update(accumulate="4"))),
    Row("checkpoint-damaged-header", CHECKPOINT, ["header has a wrong checksum"], checkpoint(lambda c: bytes(c).replace(b'"epoch":"', b'"epocH":"'))),
    Row("resume-cursor-out-of-range", RESUME, ["step-00000008"], checkpoint(header=lambda h: h["__metadata__"].update({k: "99999999999999999999" for k in h["__metadata__"] if k in ("batch", "epoch", "iteration")}))),
    # Where results go
    Row("predict-to-a-full-disk", "mlp.program predict --data train.npz --out full", ["full", "No space left"]),
    Row("predict-to-a-folder", "mlp.program predict --data train.npz --out out", ["out", "folder"], folder_named("out")),
    Row("predict-to-nowhere", "mlp.program predict --data train.npz --out nowhere/out.npz", ["nowhere/out.npz"]),
    Row("trace-to-a-full-disk", "mlp.program trace --data train.npz --steps 1 --out full", ["full", "No space left"]),
    Row("predict-over-its-data", "mlp.program predict --data train.npz --out train.npz", ["train.npz: is read, so it cannot be written"]),
    Row("predict-over-a-link-to-its-data", "mlp.program predict --data x=train.npz:x --out out.npz", ["out.npz: is the same file as train.npz"], lambda f: os.link(f"{f}/train.npz", f"{f}/out.npz")),
    Row("predict-over-labels-that-it-does-not-read", "mlp.program predict --data x=x.npy,label=label.npy --out label.npy", ["label.npy: is read"], labels_apart),
    Row("predict-over-its-checkpoint", "mlp.program predict --data train.npz --checkpoint mlp.safetensors --out mlp.safetensors", ["mlp.safetensors: is read"]),
    Row("predict-over-the-program", "mlp.program predict --data train.npz --out mlp.program", ["mlp.program: is the same file as", "which is read"]),
    Row("trace-over-its-data", "mlp.program trace --data train.npz --steps 1 --out train.npz", ["train.npz: is read"]),
    Row("log-over-the-data", "mlp.program train --data train.npz --log train.npz", ["train.npz: is read"]),
    Row("log-over-the-validation-data", "mlp.program train --data train.npz --val label=label.npy,x=x.npy --log x.npy", ["x.npy: is read"], labels_apart),
    Row("log-over-the-first-weights", "mlp.program train --data train.npz --init mlp.safetensors --log mlp.safetensors", ["mlp.safetensors: is read"]),
    Row("log-over-another-file", "mlp.program train --data train.npz --log train5.npz", ["train5.npz: exists and is no log of a training"]),
    Row("log-over-another-file-resumed", "mlp.program train --data train.npz --log notes --resume --checkpoint-dir ckpt", ["notes: exists and is no log of a training"],
        lambda f: (checkpoint()(f), raw("notes", b"a\n")(f))),
    Row("log-to-a-full-disk", "mlp.program train --data train.npz --log full", ["full", "No space left"]),
    Row("log-to-nowhere", "mlp.program train --data train.npz --log nowhere/run.jsonl", ["nowhere/run.jsonl"]),
    Row("checkpoint-dir-of-another-run", "mlp.program train --data train.npz --checkpoint-dir ckpt", ["ckpt: holds the checkpoints of another run"], checkpoint()),
    Row("checkpoint-dir-is-a-file", "mlp.program train --data train.npz --checkpoint-dir mlp.onnx", ["mlp.onnx", "checkpoint folder"]),
    Row("checkpoint-dir-cannot-be-made", "mlp.program train --data train.npz --checkpoint-dir /proc/ckpt", ["/proc/ckpt"]),
    Row("predict-to-an-empty-name", "mlp.program predict --data train.npz --out ''", ["error: command line: --out: is empty", "hint: give it a value, or leave it out; run '"]),
    Row("pictures-to-an-empty-name", "mlp.program predict --data train.npz --images ''", ["error: command line: --images: is empty"]),
    Row("boxes-to-an-empty-name", "mlp.program predict --data train.npz --boxes ''", ["error: command line: --boxes: is empty"]),
    Row("trace-to-an-empty-name", "mlp.program trace --data train.npz --steps 1 --out ''", ["error: command line: --out: is empty", "hint: give it a value; run '"]),
    Row("log-to-an-empty-name", "mlp.program train --data train.npz --log ''", ["error: command line: --log: is empty"]),
    Row("events-to-an-empty-name", "mlp.program train --data train.npz --tensorboard ''", ["error: command line: --tensorboard: is empty"]),
    Row("checkpoints-to-an-empty-name", "mlp.program train --data train.npz --checkpoint-dir ''", ["error: command line: --checkpoint-dir: is empty"]),
    Row("plot-to-an-empty-name", "mlp.program plot run.jsonl -o ''", ["error: command line: --out: is empty"]),
    Row("checkpoint-of-an-empty-name", EVAL + "--checkpoint ''", ["error: command line: --checkpoint: is empty"]),
    Row("init-of-an-empty-name", "mlp.program train --data train.npz --init ''", ["error: command line: --init: is empty"]),
    # The program itself
    Row("program-truncated", "bad.program info", ["bad.program", "carries no model"], program(lambda c: c[:-100])),
    Row("program-damaged-manifest", "bad.program info", ["checksum"], damage("manifest.json")),
    Row("program-damaged-data", "bad.program eval --data train.npz", ["checksum"], damage("data")),
    Row("program-damaged-kernels", "bad.program eval --data train.npz", ["checksum"], damage("host")),
    Row("program-damaged-contents", "bad.program info", ["table of contents"], program(lambda c: flip(len(c) - 60)(c))),
]
