#!/usr/bin/python3
"""Installs mpc into a folder and uses it from there, as a CMake project outside of mpc does (install/outside.cmake)."""
import os
import shutil

import harness

HERE = os.path.dirname(os.path.abspath(__file__))
MAKE_MODEL = os.path.join(HERE, "..", "..", "tools", "models", "make_model.py")
EXPECTED = ["bin/mpc", "bin/mpc-opt", "include/mpc/cpu.h", "include/mpc/emulator.h", "include/mpc/kernel.h", "include/mpc/library.h", "include/mpc/program.h", "lib/cmake/mpc/mpc-config-version.cmake",
            "lib/cmake/mpc/mpc-config.cmake", "lib/mpc/libmpc-emulator.so", "lib/mpc/libmpc-program.so", "lib/mpc/mpc", "lib/mpc/mpc-opt", "lib/mpc/mpc-runner", "lib/mpc/mpc-tuner"]


def installed(folder):
    harness.must(["cmake", "--install", OPTIONS.build, "--prefix", folder])
    return sorted(os.path.relpath(os.path.join(parent, name), folder) for parent, _, names in os.walk(folder) for name in names)


def files():
    with harness.folder() as folder:
        found = installed(folder)
        if [path for path in found if "onednn" not in path] != EXPECTED:
            raise harness.Failure("\n".join(found))
        for tool in ("mpc", "mpc-opt"):
            harness.must([f"{folder}/bin/{tool}", "--version"], environment={"PATH": "/nonexistent"})


def project():
    with harness.folder() as folder:
        installed(f"{folder}/mpc")
        os.mkdir(f"{folder}/project")
        shutil.copy(f"{HERE}/install/outside.cmake", f"{folder}/project/CMakeLists.txt")
        shutil.copy(f"{HERE}/install/step.c", f"{folder}/project")
        harness.must(["/usr/bin/python3", MAKE_MODEL, "regressor", "regressor.onnx"], cwd=f"{folder}/project")
        harness.must(["cmake", "-S", "project", "-B", "build", f"-DCMAKE_PREFIX_PATH={folder}/mpc"], cwd=folder)
        harness.must(["cmake", "--build", "build"], cwd=folder)
        said = harness.must([f"{folder}/build/step"], environment={})
        if not said.startswith("loss "):
            raise harness.Failure(said)
        if f"{folder}/mpc/lib/mpc" not in str(open(f"{folder}/build/train", "rb").read()[-65536:]):
            raise harness.Failure("the program does not name the installation that made it")
        harness.must([f"{folder}/build/train", "info"])


if __name__ == "__main__":
    OPTIONS = harness.arguments(__doc__)
    harness.main([("install/files", files), ("install/project", project)], OPTIONS.only)
