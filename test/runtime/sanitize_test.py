#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the runtime under AddressSanitizer with UndefinedBehaviorSanitizer, and under ThreadSanitizer: its own tests, the library of loops, the plugin for pictures,
a compiled program through training, resuming, evaluation and prediction, and a compiled library in a C program (embed/Inputs).

Only the runtime is built with sanitizers (tools/ci/instrumented.py); mpc packs it with a network as it packs the usual one. Kernels are not instrumented. Threads are
those of the runtime's own pool, since ThreadSanitizer does not understand libgomp's barriers. Nothing is suppressed.
"""
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "tools"), os.path.join(HERE, "..", "..", "tools", "ci")]
import harness  # noqa: E402
import instrumented  # noqa: E402
import models  # noqa: E402

SOURCE = os.path.join(HERE, "..", "..")
ENVIRONMENT = {"asan": {"ASAN_OPTIONS": "detect_leaks=1:exitcode=99", "UBSAN_OPTIONS": "print_stacktrace=1"},
               "tsan": {"TSAN_OPTIONS": "halt_on_error=1:exitcode=99", "MPC_NO_LIBGOMP": "1"}}
# The library's tests run each loop in three threads. The many random shapes take long and share their loops with the others, so ThreadSanitizer leaves them out.
LIBRARY_FILTER = {"asan": "*", "tsan": "*-*Random*"}
# libgomp's barriers are unknown to ThreadSanitizer, and what reads damaged files in one thread takes it long.
RUNTIME_FILTER = {"asan": "*", "tsan": "*-*WithLibgomp:PackedProgram.DamageIsALocatedError:Readers.*:Checkpoint.AFlippedBit*"}


class Kind:
    """One sanitizer, with the folder it is built in and an mpc that packs its runtime."""

    def __init__(self, name):
        self.name = name
        self.folder = instrumented.build(OPTIONS.build, name)
        self.bin = os.path.join(self.folder, "mpc")
        os.makedirs(self.bin, exist_ok=True)
        for file in ("mpc", "mpc-runner", "libmpc-program.so"):
            target = os.path.join(self.bin, file)
            shutil.copy2(os.path.join(OPTIONS.bin if file == "mpc" else f"{self.folder}/bin", file), target)

    def run(self, command, cwd=None):
        """Returns stdout of a command in which no sanitizer found anything. There is no memory limit, because sanitizers reserve more address space than any
        limit allows."""
        status, out, err = harness.run(command, cwd=cwd, seconds=900, memory_bytes=None, environment=dict(os.environ, **ENVIRONMENT[self.name]))
        if status != 0 or re.search(r"Sanitizer|runtime error:", err):
            # Lines about epochs are left out, because they would hide what failed.
            out = "\n".join(line for line in out.splitlines() if not line.startswith("epoch "))
            raise harness.Failure(f"status {status} from {' '.join(map(str, command))}\n{out[-4000:]}{err[-5000:]}")
        return out

    def compile(self, folder, *options):
        harness.must([f"{self.bin}/mpc", "compile", *options, "--quiet", "--cpu", "x86-64-v3"], cwd=folder)


def runtime_tests(kind):
    out = kind.run([f"{kind.folder}/bin/mpc-runtime-tests", "--gtest_brief=1", f"--gtest_filter={RUNTIME_FILTER[kind.name]}"])
    if not re.search(r"\[  PASSED  \] [1-9]\d* tests", out):
        raise harness.Failure(out[-1000:])


def library_tests(kind):
    out = kind.run([f"{kind.folder}/bin/mpc_library_test", "--gtest_brief=1", f"--gtest_filter={LIBRARY_FILTER[kind.name]}"])
    if not re.search(r"\[  PASSED  \] [1-9]\d* tests", out):
        raise harness.Failure(out[-1000:])


def picture_tests(kind):
    if not os.path.exists(f"{kind.folder}/bin/mpc-images-tests"):
        raise harness.Skip("no libjpeg-turbo or libspng")
    # What reads damaged files in one thread has nothing for ThreadSanitizer.
    out = kind.run([f"{kind.folder}/bin/mpc-images-tests", "--gtest_brief=1", f"--gtest_filter={'Readers.*:Folders.*' if kind.name == 'tsan' else '*'}"])
    if not re.search(r"\[  PASSED  \] [1-9]\d* tests", out):
        raise harness.Failure(out[-1000:])


def program(kind):
    """Trains in fp16 with a dynamic scale, dropout, two threads, batches prepared ahead, and checkpoints; then resumes, evaluates and uses the program."""
    with harness.folder() as folder:
        models.mlp(features=16, hidden=64, classes=4, dropout=0.25).save(f"{folder}/net.onnx")
        models.labelled(f"{folder}/data.npz", 400, features=16, classes=4)
        kind.compile(folder, "net.onnx", "-o", "net", "--batch", "16", "--loss", "softmax_cross_entropy:logits:label", "--precision", "fp16", "--opt-level", "O2",
                     "--optimizer", "adam")
        data = ["--data", "data.npz", "--threads", "2", "--readers", "3"]
        train = ["./net", "train", *data, "--val", "data.npz", "--checkpoint-dir", "checkpoints", "--checkpoint-every", "7", "--log", "log.jsonl", "--resume"]
        kind.run([*train, "--epochs", "1"], cwd=folder)
        if "done: 50 steps" not in kind.run([*train, "--epochs", "2"], cwd=folder):
            raise harness.Failure("the training did not resume")
        newest = "checkpoints/step-00000050.safetensors"
        if "samples: 400" not in kind.run(["./net", "eval", *data, "--checkpoint", newest], cwd=folder):
            raise harness.Failure("the evaluation says nothing")
        kind.run(["./net", "predict", *data, "--checkpoint", newest, "--out", "out.npz"], cwd=folder)
        kind.run(["./net", "trace", "--data", "data.npz", "--steps", "2", "--out", "trace.npz"], cwd=folder)
        kind.run(["./net", "bench", "--steps", "5", "--threads", "2"], cwd=folder)
        status, _, err = harness.run(["./net", "eval", "--data", "net.onnx", "--checkpoint", newest], cwd=folder, memory_bytes=None,
                                     environment=dict(os.environ, **ENVIRONMENT[kind.name]))
        if status != 1 or "hint:" not in err or "Sanitizer" in err:
            raise harness.Failure(f"an error: status {status}\n{err}")


def embedding(kind):
    with harness.folder() as folder:
        make = ["/usr/bin/python3", os.path.join(SOURCE, "tools/models/make_model.py")]
        harness.must([*make, "regressor", f"{folder}/regressor.onnx"])
        harness.must([*make, "lenet", f"{folder}/lenet.onnx"])
        kind.compile(folder, "regressor.onnx", "-o", "libregressor.so", "--emit=lib", "--batch=32", "--precision=fp16", "--opt-level=O2", "--loss=mse:y:target")
        kind.compile(folder, "lenet.onnx", "-o", "liblenet.so", "--emit=lib", "--batch=4", "--precision=bf16", "--opt-level=O1",
                     "--loss=softmax_cross_entropy:logits:label")
        # The C program is linked with the sanitizer, which the libraries it loads then use.
        sanitizers = instrumented.KINDS[kind.name][1].split()
        for name, libraries in (("embed", [f"-L{folder}", "-lregressor", "-lm", f"-Wl,-rpath,{folder}"]), ("plugin", ["-ldl"])):
            harness.must([instrumented.CLANG, "-std=c99", "-g1", *sanitizers, "-o", f"{folder}/{name}", f"{HERE}/embed/Inputs/{name}.c", f"-I{folder}", *libraries,
                          "-Wl,--unresolved-symbols=ignore-in-shared-libs,--no-as-needed", "-lstdc++"], memory_bytes=None)
        kind.run([f"{folder}/embed", folder], cwd=folder)
        if "one step, loss" not in kind.run([f"{folder}/plugin", "./libregressor.so", "./liblenet.so"], cwd=folder):
            raise harness.Failure("no step was made")


def cases():
    for name in ENVIRONMENT:
        if why := instrumented.missing(name):
            def skipped(why=why):
                raise harness.Skip(why)
            yield f"sanitize/{name}", skipped
            continue
        try:
            kind = Kind(name)
        except subprocess.CalledProcessError as error:
            def failed(said=error.output):
                raise harness.Failure(f"it cannot be built: {said[-4000:]}")
            yield f"sanitize/{name}", failed
            continue
        for case in (runtime_tests, library_tests, picture_tests, program, embedding):
            yield f"sanitize/{name}-{case.__name__.replace('_', '-')}", lambda case=case, kind=kind: case(kind)


if __name__ == "__main__":
    OPTIONS = harness.arguments(__doc__)
    harness.main(list(cases()), OPTIONS.only)
