#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiling needs no compiler and no linker of the system. A bundled program needs only libc and libstdc++."""
import os
import re
import shutil

import harness
import models

# These are the C library (with its loader and libm) and the C++ runtime (with libgcc_s).
SYSTEM = re.compile(r"(ld-linux-x86-64|libc|libm|libstdc\+\+|libgcc_s)\.so")
NO_CHROOT = 77  # an exit status that no program of ours has
LOSS = ["--batch", "8", "--loss", "softmax_cross_entropy:logits:label"]


def compile_without_path(folder, output, *more):
    """Runs `mpc compile` with an empty environment, except for a PATH on which there is nothing."""
    models.mlp().save(f"{folder}/mlp.onnx")
    models.labelled(f"{folder}/train.npz", 64)
    harness.must([OPTIONS.bin + "/mpc", "compile", "mlp.onnx", "-o", output, *LOSS, *more], cwd=folder, environment={"PATH": "/nonexistent"})


def no_system_compiler():
    with harness.folder() as folder:
        compile_without_path(folder, "mlp")
        said = harness.must(["./mlp", "train", "--data", "train.npz", "--epochs", "2"], cwd=folder, environment={"PATH": "/nonexistent"})
        if "done: 16 steps" not in said:
            raise harness.Failure(said)


def starts_no_other_program():
    """Checks that mpc executes no other program, not even one that it would find."""
    if not shutil.which("strace"):
        raise harness.Skip("no strace")
    with harness.folder() as folder:
        models.mlp().save(f"{folder}/mlp.onnx")
        status, _, err = harness.run(["strace", "-f", "-e", "trace=execve,execveat", "-o", "trace", OPTIONS.bin + "/mpc", "compile", "mlp.onnx", "-o", "mlp", *LOSS], cwd=folder)
        with open(f"{folder}/trace") as trace:
            started = [line for line in trace if "exec" in line]
        if status != 0 and not started:
            raise harness.Skip("strace may not trace here")
        if status != 0 or len(started) != 1:
            raise harness.Failure(f"status {status}\n{''.join(started)}{err[-500:]}")


def system_libraries(path):
    """Returns the files of the C and C++ libraries that a program needs, as the loader finds them."""
    lines = harness.must(["ldd", path]).splitlines()
    return [match.group(1) for line in lines if (match := re.search(r"(/\S+)", line)) and SYSTEM.match(os.path.basename(match.group(1)))]


def bundle_in_an_empty_root():
    """Trains, evaluates and predicts in a root that holds only the bundle, its data, libc and libstdc++: there is no /proc, /tmp or /dev."""
    if os.geteuid() != 0:
        raise harness.Skip("chroot needs root")
    with harness.folder() as folder:
        root = f"{folder}/root"
        os.makedirs(f"{root}/model")
        compile_without_path(folder, "root/model/mlp", "--bundle")
        if not os.path.exists(f"{root}/model/libmpc_onednn.so"):
            raise harness.Failure("the bundle has no oneDNN plugin")
        for library in system_libraries(f"{root}/model/mlp"):
            target = root + library
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copyfile(library, target)
            os.chmod(target, 0o755)
        shutil.move(f"{folder}/train.npz", f"{root}/model/train.npz")

        def enter():
            try:
                os.chroot(root)
            except PermissionError:
                os._exit(NO_CHROOT)
            os.chdir("/model")

        def inside(*arguments):
            status, out, err = harness.run(["/model/mlp", *arguments], environment={}, enter=enter)
            if status == NO_CHROOT:
                raise harness.Skip("chroot is not allowed here")
            if status != 0:
                raise harness.Failure(f"{' '.join(arguments)}: status {status}\n{out[-500:]}{err[-1500:]}")
            return out

        # With --library onednn, a plugin that does not load is an error; the program does not fall back to slower loops.
        said = inside("train", "--data", "train.npz", "--epochs", "3", "--checkpoint-dir", "ckpt", "--library", "onednn")
        if "done: 24 steps" not in said:
            raise harness.Failure(said)
        said = inside("eval", "--data", "train.npz", "--checkpoint", "ckpt/step-00000024.safetensors", "--library", "onednn")
        if "samples: 64" not in said or "accuracy" not in said:
            raise harness.Failure(said)
        inside("predict", "--data", "train.npz", "--out", "out.npz", "--library", "onednn")
        inside("info")
        left = sorted(os.listdir(f"{root}/model"))
        expected = sorted({"ckpt", "mlp", "out.npz", "train.npz"} | {name for name in left if ".so" in name})
        if left != expected:
            raise harness.Failure(f"left behind: {left}")


def bundle_is_complete_and_small():
    """Checks that each library of a bundle finds what it needs in the bundle or in the system, and that some library needs each of them."""
    if not shutil.which("readelf"):
        raise harness.Skip("no readelf")
    with harness.folder() as folder:
        os.mkdir(f"{folder}/bundle")
        compile_without_path(folder, "bundle/mlp", "--bundle")
        files = set(os.listdir(f"{folder}/bundle")) - {"mlp"}
        plugins = {name for name in ("libmpc_onednn.so", "libmpc_images.so") if os.path.exists(f"{OPTIONS.bin}/{name}")}
        if not plugins <= files:
            raise harness.Failure(f"only {sorted(files)}")
        needed = {name for file in files for name in re.findall(r"\(NEEDED\).*\[(.*)\]", harness.must(["readelf", "-d", f"{folder}/bundle/{file}"]))}
        missing, idle = {name for name in needed - files if not SYSTEM.match(name)}, files - needed - plugins
        if missing or idle:
            raise harness.Failure(f"missing: {sorted(missing)}; not needed: {sorted(idle)}")


if __name__ == "__main__":
    OPTIONS = harness.arguments(__doc__)
    harness.main([("standalone/no-system-compiler", no_system_compiler), ("standalone/starts-no-other-program", starts_no_other_program),
                  ("standalone/bundle-in-an-empty-root", bundle_in_an_empty_root),
                  ("standalone/bundle-is-complete-and-small", bundle_is_complete_and_small)], OPTIONS.only)
