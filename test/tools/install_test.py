#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Installs mpc into a folder and uses it from there, as a CMake project outside of mpc does (install/outside.cmake)."""
import os
import shutil

import harness

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, "..", "..")
MAKE_MODEL = os.path.join(SOURCE, "tools", "models", "make_model.py")
EXPECTED = ["bin/mpc", "bin/mpc-opt", "include/mpc/cpu.h", "include/mpc/emulator.h", "include/mpc/kernel.h", "include/mpc/library.h", "include/mpc/program.h", "lib/cmake/mpc/mpc-config-version.cmake",
            "lib/cmake/mpc/mpc-config.cmake", "lib/mpc/libmpc-emulator.so", "lib/mpc/libmpc-program.so", "lib/mpc/mpc", "lib/mpc/mpc-opt", "lib/mpc/mpc-runner", "lib/mpc/mpc-tuner"]
DOCUMENTS = ["CHANGELOG.md", "CITATION.cff", "LICENSE", "NOTICE", "README.md", "SECURITY.md"]
# Maps a folder of the source to the folder in the prefix, and says which of its files are installed.
FOLDERS = [("docs", "share/doc/mpc/docs", ".md"), ("tools/torch", "share/mpc/torch", ".py")]


def below(folder, end=""):
    """Returns the paths of the files below a folder whose names have this end, relative to the folder."""
    return [os.path.relpath(os.path.join(parent, name), folder) for parent, _, names in os.walk(folder) for name in names if name.endswith(end)]


def installed(folder):
    harness.must(["cmake", "--install", OPTIONS.build, "--prefix", folder])
    return sorted(below(folder))


def files():
    with harness.folder() as folder:
        found = installed(folder)
        expected = EXPECTED + [f"share/doc/mpc/{name}" for name in DOCUMENTS]
        expected += [f"{prefix}/{path}" for source, prefix, end in FOLDERS for path in below(f"{SOURCE}/{source}", end)]
        if [path for path in found if "onednn" not in path] != sorted(expected):
            raise harness.Failure("\n".join(sorted({*found} ^ {*expected})))
        if not os.access(f"{folder}/share/mpc/torch/export.py", os.X_OK):
            raise harness.Failure("export.py is not executable")
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
