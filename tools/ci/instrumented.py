#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds parts of mpc with clang's sanitizers, each kind in its own folder: BUILD/instrumented/KIND.

asan      the runtime alone with its tests and fuzz targets (test/fuzz/runtime), under AddressSanitizer and UndefinedBehaviorSanitizer
tsan      the runtime alone with its tests, under ThreadSanitizer
compiler  the fuzz targets of the compiler (test/fuzz/compiler), under AddressSanitizer and UndefinedBehaviorSanitizer

usage: tools/ci/instrumented.py BUILD KIND...    prints the folders
"""
import fcntl
import os
import shutil
import subprocess
import sys
import tempfile

CLANG = "clang-22"  # tools/setup.sh installs it; nothing else is compiled with it
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")

ADDRESS = "-fsanitize=address,undefined -fno-sanitize-recover=undefined"
KINDS = {
    "asan": ("runtime", ADDRESS, ["mpc-runtime-tests", "mpc_library_test", "mpc-images-tests", "mpc-program", "mpc-fuzz"]),
    "tsan": ("runtime", "-fsanitize=thread", ["mpc-runtime-tests", "mpc_library_test", "mpc-images-tests", "mpc-program"]),
    "compiler": (".", ADDRESS, ["mpc-fuzz"]),
}


def missing(kind="asan"):
    """Says why nothing can be built, or why such builds cannot run here (some containers forbid what the sanitizers ask of the system); "" if both work."""
    if not shutil.which(CLANG):
        return f"no {CLANG} (tools/setup.sh installs it)"
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "empty")
        subprocess.run([CLANG, *KINDS[kind][1].split(), "-xc", "-", "-o", program], input=b"int main(void) { return 0; }", check=True)
        done = subprocess.run([program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return "" if done.returncode == 0 else f"an empty program does not run with {KINDS[kind][1].split()[0]}: {done.stdout.strip()[-300:]}"


def configure(kind, folder):
    source, sanitizers, _ = KINDS[kind]
    fuzzed = kind != "tsan"
    # The standard library of GCC 12 uses functions that it declares deprecated.
    # Optimised, the runtime's tests run twice and the fuzz targets three to five times as fast, which saves more than it costs to build them. ThreadSanitizer's build has no fuzz targets, and
    # files that run for long are optimised all the same (MPC_FAST in runtime/CMakeLists.txt).
    flags = f"{'-O0' if kind == 'tsan' else '-O1'} -gline-tables-only -fno-omit-frame-pointer -Wno-deprecated-declarations {sanitizers}"
    options = {
        "CMAKE_BUILD_TYPE": "Sanitize",  # not one of CMake's types, so the flags here are the only ones
        "CMAKE_C_COMPILER": CLANG, "CMAKE_CXX_COMPILER": CLANG.replace("clang", "clang++"),
        "CMAKE_CXX_FLAGS": flags + (" -fsanitize=fuzzer-no-link" if fuzzed else ""),
        "CMAKE_EXE_LINKER_FLAGS": f"-fuse-ld=lld {sanitizers}",
        "CMAKE_SHARED_LINKER_FLAGS": f"-fuse-ld=lld {sanitizers}", "CMAKE_MODULE_LINKER_FLAGS": f"-fuse-ld=lld {sanitizers}",
        "MPC_NO_UNDEFINED": "",  # the program, not a library, brings the sanitizer
        "CMAKE_DISABLE_FIND_PACKAGE_OpenMP": "ON",  # leaves out oneDNN, which is not instrumented
        "MPC_FUZZ": "ON" if fuzzed else "OFF",
    }
    if shutil.which("ccache"):
        options["CMAKE_CXX_COMPILER_LAUNCHER"] = "ccache"
    subprocess.run(["cmake", "-S", os.path.join(SOURCE, source), "-B", folder, "-G", "Ninja"] + [f"-D{key}={value}" for key, value in options.items()],
                   check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def build(build_folder, kind, targets=None):
    """Configures and builds a kind; returns its folder. Raises CalledProcessError, whose output says what failed.

    Two ninjas in one folder build everything twice, so a second caller waits, and then finds everything built."""
    folder = os.path.join(os.path.abspath(build_folder), "instrumented", kind)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(os.path.join(folder, "build.ninja")):
            configure(kind, folder)
        subprocess.run(["ninja", "-C", folder] + (targets or KINDS[kind][2]), check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return folder


def main():
    if len(sys.argv) < 3 or any(kind not in KINDS for kind in sys.argv[2:]):
        sys.exit(__doc__)
    if missing():
        sys.exit(f"error: {missing()}")
    for kind in sys.argv[2:]:
        try:
            print(build(sys.argv[1], kind))
        except subprocess.CalledProcessError as error:
            sys.exit(f"{error.output[-8000:]}error: {kind} cannot be built")


if __name__ == "__main__":
    main()
