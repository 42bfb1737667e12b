#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a compiled program with --device=cuda on the fake driver and checks what it computes, that it does not wait, and what it says.

usage: cuda.py BUILD_DIR WORK_DIR
"""
import json
import os
import re
import subprocess
import sys
import time
import zlib

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "e2e"))
import programs  # noqa: E402

ARCHS = "sm_75,sm_80,sm_90a"
LOSS = "--loss=softmax_cross_entropy:logits:labels"
OPTIONS = ("--precision=fp16", "--opt-level=O2", "--optimizer=sgd", "--momentum=0.9", "--lr=0.05", "--init-scale=1024", "--growth-interval=6")


def sections(program):
    """Returns the sections of a program file by name (runtime/abi/README.md)."""
    raw = open(program, "rb").read()
    offset, size = (int.from_bytes(raw[at:at + 8], "little") for at in (len(raw) - 24, len(raw) - 16))
    return {s["name"]: raw[s["offset"]:s["offset"] + s["bytes"]] for s in json.loads(raw[offset:offset + size])["sections"]}


def patch(program, to, old, new):
    """Writes a copy of the program with other bytes in its manifest, which keeps its length."""
    raw = open(program, "rb").read()
    offset, size = (int.from_bytes(raw[at:at + 8], "little") for at in (len(raw) - 24, len(raw) - 16))
    table = json.loads(raw[offset:offset + size])
    section = next(s for s in table["sections"] if s["name"] == "manifest.json")
    begin, end = section["offset"], section["offset"] + section["bytes"]
    manifest = raw[begin:end].replace(old, new)
    assert manifest != raw[begin:end] and len(manifest) == end - begin, old
    section["crc32"] = zlib.crc32(manifest)
    text = json.dumps(table).encode()
    trailer = b"".join(number.to_bytes(8, "little") for number in (offset, len(text), zlib.crc32(text)))
    open(to, "wb").write(raw[:begin] + manifest + raw[end:offset] + text + b"MPCPROG1" + trailer)
    os.chmod(to, 0o755)


class Machine:
    """A program, and the drivers that it may find."""

    def __init__(self, build, work, program, data):
        self.work, self.program, self.data = work, program, data
        self.drivers = os.path.join(build, "test", "runtime", "cuda")
        for name, content in sections(program).items():
            if name.startswith("emulator"):
                open(os.path.join(work, name), "wb").write(content)

    def path(self, name):
        return os.path.join(self.work, name)

    def run(self, *arguments, driver="complete", arch="sm_80", **settings):
        """Returns status, standard output and error. The settings are MPC_FAKE_CUDA_*."""
        environment = dict(os.environ)
        if driver:
            environment["LD_LIBRARY_PATH"] = os.path.join(self.drivers, driver)
        settings = {"EMULATOR": self.path("emulator.so"), "OBJECT": self.path(f"emulator.{arch}.so"), **settings}
        environment.update({"MPC_FAKE_CUDA_" + name: str(value) for name, value in settings.items()})
        done = subprocess.run([self.program, *arguments], env=environment, capture_output=True, text=True, timeout=300)
        return done.returncode, done.stdout, done.stderr

    def good(self, *arguments, **settings):
        status, out, err = self.run(*arguments, **settings)
        assert status == 0, (arguments, settings, status, err)
        return out

    def error(self, *arguments, **settings):
        status, _, err = self.run(*arguments, **settings)
        assert status == 1, (arguments, settings, status, err)
        return err

    def train(self, name, steps, *arguments, device="cuda", fresh=True, **settings):
        """Trains; returns the log and the output, both without times, and the checkpoints byte by byte."""
        folder = self.path(name)
        if fresh:
            subprocess.run(["rm", "-rf", folder], check=True)
        os.makedirs(folder, exist_ok=True)
        log = os.path.join(folder, "log.jsonl")
        out = self.good("train", "--data", self.data, "--steps", str(steps), "--log", log, "--checkpoint-dir", os.path.join(folder, "saved"), "--keep", "0",
                        "--device", device, *(("--arch", "sm_80") if device == "emulator" else ()), *arguments, **settings)
        lines = [json.loads(line) for line in open(log)]
        for line in lines:
            for key in ("samples_per_s", "time", "at"):
                line.pop(key, None)
        saved = os.path.join(folder, "saved")
        return lines, re.sub(r"\d+ samples/s|\d+:\d\d", "", out), {f: open(os.path.join(saved, f), "rb").read() for f in sorted(os.listdir(saved))}

    def npz(self, command, name, *arguments, **settings):
        out = self.path(name)
        self.good(command, "--data", self.data, "--out", out, *arguments, **settings)
        return open(out, "rb").read()


EMULATOR = ("--device=emulator", "--arch=sm_80")
CUDA = ("--device=cuda",)


def check_bits(machine):
    """Checks that --device=cuda gives the emulator's results to the bit: with streams that work as late and as early as they may, and launch by launch."""
    options = ("--log-every=1", "--checkpoint-every=7", "--inject-inf=3,17", "--schedule=cosine", "--warmup=5", "--val", machine.data)
    expected = machine.train("emulator", 40, *options, device="emulator")
    assert sum(line.get("skipped", False) for line in expected[0]) == 2
    for name, more, settings in (("late", (), {}), ("early", (), {"EAGER": 1}), ("checked", ("--check-launches",), {})):
        assert machine.train(name, 40, *options, *more, **settings) == expected, name
    # Reports come late here: none is asked for before the ring is full, or before the tenth step.
    long = machine.train("emulator", 150, "--log-every=10", "--inject-inf=9,88", device="emulator")
    assert machine.train("late", 150, "--log-every=10", "--inject-inf=9,88") == long
    rare = machine.train("late", 150, "--log-every=1000", "--inject-inf=9,88")
    assert rare[2] == long[2] and rare[1].endswith(long[1][-60:]), (rare[1], long[1])
    for arguments in (("trace", "t.npz", "--steps=3"), ("predict", "p.npz")):
        assert machine.npz(*arguments, *CUDA) == machine.npz(*arguments, *EMULATOR), arguments
    evaluate = ("eval", "--json", "--data", machine.data)
    assert machine.good(*evaluate, *CUDA) == machine.good(*evaluate, *EMULATOR)
    ours, theirs = (json.loads(machine.good("bench", "--steps=5", "--profile", "--json", *device)) for device in (CUDA, EMULATOR))
    assert ours["loss"] == theirs["loss"] and {x["name"] for x in ours["launches"]} == {x["name"] for x in theirs["launches"]}
    assert all(x["ms"] > 0 for x in ours["launches"])
    # A checkpoint moves from the host to the GPU and back.
    machine.train("moved", 4, device="host")
    machine.train("moved", 6, "--resume", fresh=False)
    moved = machine.train("moved", 8, "--resume", device="host", fresh=False)[0]
    assert [line["step"] for line in moved if "loss" in line] == [4, 6, 8], moved


def check_lost(machine, infinite="1,2,3,4,5,6,7,8,9,10,11,12", step=10):
    """Checks that a training that loses its steps ends and names the dispatch and what it read, early and when the reports come late."""
    def said(*arguments):
        err = machine.error("train", "--data", machine.data, "--steps=12", f"--inject-inf={infinite}", *arguments)
        return [line for line in err.splitlines() if not line.startswith("note")]
    expected = said("--log-every=1", *EMULATOR)
    assert f"error: step {step}: the last 10 steps" in expected[0] and "; the first result that is not finite is that of 'x" in expected[0], expected
    assert "f32 'x' from " in expected[0] and " with 1 infinite; there is no checkpoint" in expected[0] and expected[1].startswith("hint: "), expected
    for more in ("--log-every=1", "--log-every=1000", "--check-launches"):
        assert said(more, *CUDA) == expected, (more, said(more, *CUDA), expected)
    skips = machine.good("train", "--data", machine.data, "--steps=12", f"--inject-inf={infinite}", "--nan=skip", *CUDA)
    assert "done: 12 steps, 12 skipped, " in skips, skips


def check_waits(machine):
    """Checks that steps in which nobody asks for a report wait for nothing and copy inputs once."""
    def calls(steps):
        path = machine.path("calls")
        machine.good("train", "--data", machine.data, "--steps", str(steps), "--log-every=1000", *CUDA, CALLS=path)
        return {name: int(count) for name, count in map(str.split, open(path))}
    some, more = calls(10), calls(50)
    differences = {name: more[name] - some.get(name, 0) for name in more}
    assert differences["cuGraphLaunch"] == 40 and differences["cuMemcpyHtoDAsync_v2"] == 40, differences
    assert differences["cuStreamSynchronize"] == 0 and differences["cuLaunchKernel"] == 0 and differences["cuMemsetD32Async"] == 0, differences
    # Each step waits once for its report's slot and once for the pinned memory of the inputs.
    assert differences["cuEventSynchronize"] <= 40 * 5, differences
    for name in ("cuMemAlloc_v2", "cuMemAllocHost_v2", "cuEventCreate", "cuStreamCreate"):
        assert differences[name] == 0, differences


def expect(machine, texts, *arguments, **settings):
    error = machine.error(*arguments, **settings)
    for text in texts:
        assert re.search(text, error), (text, error)


def check_messages(machine):
    train = ("train", "--data", machine.data, "--steps=2", "--device=cuda")
    expect(machine, [r"error: cuda: this machine has no NVIDIA driver \(the system's loader says: libcuda.so.1: .*; it is not in /usr/local/nvidia/lib64, /usr/lib/x86_64-linux-gnu, ",
                     r"hint: install the driver of its GPU, or, if `find / -name libcuda.so.1` finds one, put its folder into LD_LIBRARY_PATH, or run with --device=host"], *train, driver=None)
    expect(machine, ["there is a driver, but no GPU that it knows", "hint: check nvidia-smi and CUDA_VISIBLE_DEVICES, or run with --device=host"], *train, FAIL="no-device")
    expect(machine, ["the NVIDIA driver is too old: it is of CUDA 11.2; programs need 11.4", "install a newer driver"], *train, VERSION=11020)
    expect(machine, ["too old: it is of CUDA 11.2 and lacks cuGraphInstantiateWithFlags; programs need 11.4"], *train, driver="old", VERSION=11020)
    expect(machine, ["driver is too old: it is of CUDA 11.8, and PTX 8.0 of sm_90a needs 12.0", "install a newer driver, or compile the model for an older --target too"], *train,
           FAIL="cubin", COMPUTE=90, VERSION=11080, arch="sm_90a")
    expect(machine, [r"has no plan for the GPU 'Fake GPU' of compute capability 7.0; it has: sm_75, sm_80, sm_90a", "compile the model with --target=sm_70"], *train, COMPUTE=70)
    expect(machine, [r"has no plan for the GPU 'Fake GPU' of compute capability 5.0; it has: ", "GPUs of compute capability 6.0 and newer are supported"], *train, COMPUTE=50)
    expect(machine, [r"the GPU 'Fake GPU' has no room for the program's memory of \d+ bytes \(.* KiB\): 1000 bytes \(1000 bytes\) of 1000 bytes are free",
                     "compile the model with a smaller --batch"], *train, MEMORY=1000)
    expect(machine, [r"sm_80.0.ptx: the driver cannot load the kernels: CUDA_ERROR_INVALID_PTX: a PTX JIT compilation failed; it says: ptxas application ptx input, line 7; fatal : Unexpected instruction\n"],
           *train, FAIL="jit", COMPUTE=120)
    expect(machine, ["error: cuda: the driver cannot compile PTX of sm_80: CUDA_ERROR_JIT_COMPILER_NOT_FOUND: PTX JIT compiler library not found\n",
                     "hint: put the folder of libnvidia-ptxjitcompiler.so.1, a part of the driver, into LD_LIBRARY_PATH, or compile the model where ptxas is"], *train, FAIL="compiler", COMPUTE=120)
    # A fault is seen late, unless each launch is waited for.
    fault = "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered"
    expect(machine, ["cuda: the GPU stopped: " + fault, "run again with --check-launches to learn in which launch"], *train, FAIL="launch:7")
    expect(machine, [r"cuda: launch '[^']+' \([^)]+\), kernel k\d+, grid \d+ x \d+ x \d+ of \d+ threads, of entry 'main': " + fault], *train, "--check-launches", FAIL="launch:7")
    assert "fake driver" not in machine.error(*train, FAIL="launch:20")
    # A launch that never ends is named in time, and the process ends without a call that would wait for it.
    begin = time.monotonic()
    expect(machine, [r"error: cuda: launch '[^']+' \([^)]+\), kernel k\d+, grid \d+ x \d+ x \d+ of \d+ threads, of entry 'main': has not ended after 0.5 s\n",
                     "hint: run again with a larger --launch-timeout; .*compute-sanitizer --tool=synccheck"], *train, "--check-launches", "--launch-timeout=0.5", FAIL="hang:7")
    assert 0.5 <= time.monotonic() - begin < 20
    expect(machine, ["--launch-timeout requires --check-launches"], *train, "--launch-timeout=5")
    machine.good(*train, "--check-launches", "--launch-timeout=0")


def check_choice(machine):
    predict = ("predict", "--data", machine.data, "--out", machine.path("p.npz"))
    def note(**settings):
        status, _, err = machine.run(*predict, **settings)
        assert status == 0, err
        return [line for line in err.splitlines() if "runs on" in line]
    assert note() == ["note: runs on the GPU: Fake GPU, sm_80"]
    assert note(COMPUTE=75, arch="sm_75") == ["note: runs on the GPU: Fake GPU, sm_75"]
    assert note(COMPUTE=89) == ["note: runs on the GPU: Fake GPU, sm_80"]
    assert note(COMPUTE=90, arch="sm_90a") == ["note: runs on the GPU: Fake GPU, sm_90a"]
    assert note(COMPUTE=100) == ["note: runs on the GPU: Fake GPU, sm_80"]  # sm_90a code runs on 9.0 only
    assert note(FAIL="cubin") == ["note: runs on the GPU: Fake GPU, sm_80"]  # takes PTX where the driver refuses cubins
    assert len(note(driver=None)) == 1 and note(driver=None)[0].startswith("note: runs on the host: cuda: this machine has no NVIDIA driver")
    assert note(FAIL="no-device")[0].startswith("note: runs on the host: cuda: there is a driver, but no GPU")
    # A GPU that is there and does not work is an error, not a reason to use the host.
    expect(machine, ["has no room"], *predict, MEMORY=1000)
    check_code(machine, predict)
    assert json.loads(machine.good("info", "--json"))["gpu"].startswith("Fake GPU")
    assert "gpu " not in machine.good("info", driver=None)


def check_code(machine, predict):
    """Checks that the program says whether it runs its machine code or PTX that the driver compiles. It has machine code where ptxas was found when it was compiled."""
    cubins = sum(name.startswith("sm_80.") and name.endswith(".cubin") for name in sections(machine.program))
    refusal = "because it refuses {} machine code: CUDA_ERROR_INVALID_IMAGE: device kernel image is invalid"
    none = "because the program has no machine code for this GPU"
    def gpu(**settings):
        return next(line for line in machine.good("info", **settings).splitlines() if line.startswith("gpu "))
    def notes(**settings):
        status, _, err = machine.run(*predict, **settings)
        assert status == 0, err
        return [line for line in err.splitlines() if "PTX" in line]
    about = "gpu         Fake GPU, compute capability 8.0, 1024.0 MiB, driver of CUDA 13.0; plan sm_80, "
    assert gpu() == about + ("machine code" if cubins else "PTX that the driver compiles, " + none), gpu()
    assert notes() == []
    # The driver compiles PTX where it refuses machine code; where there is none for the GPU's generation, nothing is refused.
    assert gpu(FAIL="cubin") == about + "PTX that the driver compiles, " + (refusal.format("the") if cubins else none), gpu(FAIL="cubin")
    own = refusal.format("the program's")
    assert notes(FAIL="cubin") == ([f"note: the driver compiles PTX of sm_80, {own}; a newer driver may take it"] if cubins else [])
    assert gpu(COMPUTE=120).endswith("plan sm_80, PTX that the driver compiles, " + none) and notes(COMPUTE=120) == []
    # Whoever only asks makes the driver compile nothing.
    path = machine.path("calls")
    machine.good("info", FAIL="jit", CALLS=path)
    assert int(dict(map(str.split, open(path))).get("cuModuleLoadDataEx", 0)) == cubins


def check_tensor_maps(build, work):
    """Checks that kernels of sm_90a get the tensor maps that they expect."""
    n = programs.Network()
    n.input("x", [1024, 256])
    n.linear(n.relu(n.linear("x", "wide", 256, 256), "relu"), "logits", 256, 8)
    n.output("logits", [1024, 8])
    rng = np.random.default_rng(2)
    data = os.path.join(work, "wide.npz")
    np.savez(data, x=rng.normal(0, 1, (1024, 256)).astype(np.float32), labels=rng.integers(0, 8, 1024))
    program = programs.compile(n.save(os.path.join(work, "wide.onnx")), os.path.join(work, "wide"), "--target=sm_90a,emulator", LOSS, *OPTIONS)
    machine = Machine(build, work, program, data)
    hopper = {"arch": "sm_90a", "COMPUTE": 90, "SHARED": 227 << 10}
    for arguments in (("trace", "t.npz", "--steps=2"), ("predict", "p.npz")):
        path = machine.path("calls")
        assert machine.npz(*arguments, *CUDA, CALLS=path, **hopper) == machine.npz(*arguments, "--device=emulator", "--arch=sm_90a"), arguments
        assert dict(map(str.split, open(path))).get("cuTensorMapEncodeTiled"), arguments
    expect(machine, ["the NVIDIA driver is too old: it lacks tensor maps, which came with CUDA 12.0"], "predict", "--data", data, "--out", machine.path("p.npz"), *CUDA, driver="mapless", **hopper)
    # The tensor is not within its argument.
    machine.program = machine.path("patched")
    patch(program, machine.program, b'"sizes":[256,1024]', b'"sizes":[256,9024]')
    expect(machine, [r"broken manifest: kernel 'k\d+' of sm_90a has an impossible tensor map"], "predict", "--data", data, "--out", machine.path("p.npz"), *CUDA, **hopper)


def check_tuner(build, work):
    """Checks that a tuner times graphs that go through sets of buffers, and that its candidates agree."""
    n = programs.Network()
    n.input("x", [64, 64])
    n.output(n.linear("x", "logits", 64, 64), [64, 64])
    tuner = programs.compile(n.save(os.path.join(work, "one.onnx")), os.path.join(work, "one-tuner"), "--target=sm_90a,emulator", "--emit=tuner", LOSS, "--precision=fp16")
    machine = Machine(build, work, tuner, None)
    out, calls = machine.path("tune.json"), machine.path("calls")
    table = machine.good("--only=matmul f16 nn", "--iterations=1", "--seconds=0", "--out", out, arch="sm_90a", COMPUTE=90, SHARED=227 << 10, CALLS=calls)
    assert "differs" not in table, table
    tuning = json.load(open(out))
    assert tuning["format"] == "mpc-tuning" and tuning["arch"] == "sm_90a" and len(tuning["problems"]) == 1
    times = [candidate["us"] for candidate in tuning["problems"][0]["candidates"]]
    assert len(times) > 1 and min(times) > 0
    # Each candidate runs once to compare, four times to warm up, and once to be timed.
    assert int(dict(map(str.split, open(calls)))["cuGraphLaunch"]) == 6 * len(times)
    expect(machine, ["--arch: is for the emulator"], "--arch=sm_90a")
    expect(machine, ["this machine has no NVIDIA driver"], driver=None)


def main():
    build, work = sys.argv[1:]
    os.makedirs(work, exist_ok=True)
    model, data = programs.convnet(os.path.join(work, "convnet.onnx")), programs.convnet_data(os.path.join(work, "data.npz"))

    def machine(name, target, *options):
        folder = os.path.join(work, name)
        os.makedirs(folder, exist_ok=True)
        return Machine(build, folder, programs.compile(model, os.path.join(folder, "program"), "--target=" + target, *options), data)

    both = machine("both", f"host,{ARCHS},emulator", LOSS, *OPTIONS)
    check_bits(both)
    check_lost(both)
    check_waits(both)
    check_messages(both)
    check_choice(both)
    # Each of two optimizers has its own reports.
    two = machine("two", "sm_80,emulator", "--precision=fp16", "--opt-level=O2", "--init-scale=1024", "--step=body:loss=softmax_cross_entropy:logits:labels:params=conv|bn:optimizer=sgd,lr=0.05",
                  "--step=head:loss=softmax_cross_entropy:logits:labels:params=logits:optimizer=adam,lr=0.01")
    expected = two.train("emulator", 20, "--log-every=5", "--inject-inf=4", device="emulator")
    assert {"body", "head"} == set(expected[0][0]["steps"]) and two.train("cuda", 20, "--log-every=5", "--inject-inf=4") == expected
    # The program has no plan for the host, or none for a GPU.
    expect(two, ["this machine has no NVIDIA driver", "put its folder into LD_LIBRARY_PATH, run slowly with --device=emulator, or compile with --target=host too"],
           "predict", "--data", data, "--out", two.path("p.npz"), driver=None)
    alone = machine("alone", "sm_80", LOSS, *OPTIONS)
    expect(alone, ["or compile with --target=sm_80,emulator and run slowly with --device=emulator, or compile with --target=host too"],
           "predict", "--data", data, "--out", alone.path("p.npz"), driver=None)
    expect(alone, ["carries no emulator\nhint: compile the model with --target=sm_80,emulator"], "predict", "--data", data, "--out", alone.path("p.npz"), "--device=emulator")
    host = machine("host", "host", LOSS, *OPTIONS)
    expect(host, [r"has no plan for a GPU \(it has: host\)", "hint: compile the model with a GPU's --target too, or run with --device=host"],
           "predict", "--data", data, "--out", host.path("p.npz"), "--device=cuda")
    assert host.run("predict", "--data", data, "--out", host.path("p.npz"))[2].count("runs on") == 0
    folder = os.path.join(work, "maps")
    os.makedirs(folder, exist_ok=True)
    check_tensor_maps(build, folder)
    check_tuner(build, folder)
    print("ok")


if __name__ == "__main__":
    main()
