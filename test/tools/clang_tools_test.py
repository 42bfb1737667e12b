# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that tools/ci/clang_format.py and tools/ci/clang_tidy.py, with this project's settings, find what they look for and pass the rest."""
import json
import os
import shutil
import subprocess
import sys

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
sys.path.insert(0, os.path.join(SOURCE, "tools/ci"))
import clang_format
import clang_tidy
import harness

FORMATTED = "int twice(int x) { return 2 * x; }\n"
UNFORMATTED = FORMATTED + "\nint thrice(int x) { return 3*x; }\n"


def write(source, path, text):
    os.makedirs(os.path.dirname(os.path.join(source, path)), exist_ok=True)
    with open(os.path.join(source, path), "w", encoding="utf-8") as file:
        file.write(text)


def expect(got, expected):
    if got != expected:
        raise harness.Failure(f"got {got}, expected {expected}")


def formats():
    with harness.folder() as source:
        shutil.copy(os.path.join(SOURCE, ".clang-format"), source)
        write(source, "runtime/A.cpp", FORMATTED)
        write(source, "passes/B.h", UNFORMATTED)
        expect(clang_format.unformatted(source), ["passes/B.h:3: is not formatted; run `make format`"])
        clang_format.run(source, ["-i"])
        expect(clang_format.unformatted(source), [])


def tidies():
    with harness.folder() as source:
        shutil.copy(os.path.join(SOURCE, ".clang-tidy"), source)
        write(source, "runtime/Clean.cpp", FORMATTED)
        write(source, "runtime/Misnamed.cpp", '#include "Misnamed.h"\nint *none = 0;\n')
        write(source, "runtime/Misnamed.h", "struct misnamed {};\n")
        build = os.path.join(source, "build")
        write(build, "compile_commands.json", json.dumps([{"directory": source, "file": os.path.join(source, path), "command": f"c++ -c {source}/{path}"}
                                                          for path in ("runtime/Misnamed.cpp", "runtime/Clean.cpp", "build/Generated.cpp")]))
        files = clang_tidy.compiled_files(source, build)
        expect(files, ["runtime/Clean.cpp", "runtime/Misnamed.cpp"])
        clean, output, _ = clang_tidy.tidy(source, build, "runtime/Clean.cpp")
        expect((clean, output), (True, ""))
        clean, output, _ = clang_tidy.tidy(source, build, "runtime/Misnamed.cpp")
        expect((clean, "modernize-use-nullptr" in output, "invalid case style for struct 'misnamed'" in output), (False, True, True))


def selects():
    with harness.folder() as source:
        write(source, "runtime/A.cpp", '#include "runtime/B.h"\n')
        write(source, "runtime/B.cpp", '#include "runtime/B.h"\n')
        write(source, "runtime/B.h", FORMATTED)
        write(source, "runtime/C.h", FORMATTED)
        git = ["git", "-c", "user.name=test", "-c", "user.email=test@localhost"]
        for command in (["init", "-q"], ["add", "runtime/A.cpp", "runtime/B.cpp", "runtime/B.h"], ["commit", "-q", "-m", "test"]):
            subprocess.check_call([*git, *command], cwd=source)
        write(source, "runtime/B.h", UNFORMATTED)
        expect(clang_tidy.changed_files(source, "HEAD"), {"runtime/B.h", "runtime/C.h"})
        files = ["runtime/A.cpp", "runtime/B.cpp"]
        expect([clang_tidy.includer(source, header, files) for header in ("runtime/B.h", "runtime/C.h")], ["runtime/B.cpp", None])


harness.arguments(__doc__)
harness.main([("clang-format: finds and formats", formats), ("clang-tidy: finds", tidies), ("clang-tidy: selects changed files", selects)])
