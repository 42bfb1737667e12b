# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that tools/ci/license_headers.py finds files without the licence line and inserts it in the right place."""
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools/ci"))
import harness
import license_headers
from license_headers import LICENSE

# Maps a file to its text before and after --fix.
FILES = {
    "CMakeLists.txt": ("project(x)\n", f"# {LICENSE}\nproject(x)\n"),
    "compiler/Title.cpp": ("//===- Title.cpp - what it is ---===//\n// More.\n", f"//===- Title.cpp - what it is ---===//\n// {LICENSE}\n// More.\n"),
    "dialects/Graph/Title.td": ("//===- Title.td - ops ---//\n", f"//===- Title.td - ops ---//\n// {LICENSE}\n"),
    "runtime/core/Comment.h": ("// A tensor.\n#pragma once\n", f"// {LICENSE}\n// A tensor.\n#pragma once\n"),
    "runtime/abi/mpc/c.h": ("/* The interface.\n */\n", f"/* {LICENSE} */\n/* The interface.\n */\n"),
    "tools/script.py": ('#!/usr/bin/env python3\n# -*- coding: utf-8 -*-\n"""Text."""\n', f'#!/usr/bin/env python3\n# -*- coding: utf-8 -*-\n# {LICENSE}\n"""Text."""\n'),
    "tools/module.py": ('"""Text."""\n', f'# {LICENSE}\n"""Text."""\n'),
    "tools/script.sh": ("#!/usr/bin/env bash\nset -e\n", f"#!/usr/bin/env bash\n# {LICENSE}\nset -e\n"),
    "tools/cmake/Rules.cmake": ("", f"# {LICENSE}\n"),
    "passes/Licensed.cpp": (f"// A title.\n//\n//\n//\n// {LICENSE}\n", f"// A title.\n//\n//\n//\n// {LICENSE}\n"),
}
IGNORED = {"test/e2e/Inputs/data.py": "x = 1\n", "test/passes/pass.mlir": "// RUN: true\n", "docs/make.py": "x = 1\n"}


def write(source, files):
    for path, text in files.items():
        os.makedirs(os.path.dirname(os.path.join(source, path)) or source, exist_ok=True)
        with open(os.path.join(source, path), "w", encoding="utf-8") as file:
            file.write(text)


def finds():
    with tempfile.TemporaryDirectory() as source:
        write(source, {**{path: before for path, (before, _) in FILES.items()}, **IGNORED, "passes/Late.cpp": f"//\n//\n//\n//\n//\n// {LICENSE}\n"})
        expected = sorted({*FILES, "passes/Late.cpp"} - {"passes/Licensed.cpp"})
        found = [violation.split(": ")[0] for violation in license_headers.violations(source)]
        if found != expected:
            raise harness.Failure(f"found {found}")


def fixes():
    with tempfile.TemporaryDirectory() as source:
        write(source, {**{path: before for path, (before, _) in FILES.items()}, **IGNORED})
        for _ in range(2):  # the second time there is nothing to do
            license_headers.fix(source)
            for path, text in {**{path: after for path, (_, after) in FILES.items()}, **IGNORED}.items():
                with open(os.path.join(source, path), encoding="utf-8") as file:
                    found = file.read()
                if found != text:
                    raise harness.Failure(f"{path}: {found}")
        if license_headers.violations(source):
            raise harness.Failure(f"still found {license_headers.violations(source)}")


harness.arguments(__doc__)
harness.main([("license headers: finds", finds), ("license headers: fixes", fixes)])
