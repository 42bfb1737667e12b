# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Says which files may include which; docs/architecture.md and the folders' READMEs say why.

    tools -> compiler -> passes -> dialects; passes only their own area; compiler -> runtime/abi;
    runtime -> runtime, without LLVM; nothing outside test/ includes test/; within a folder as ROOMS says
"""
import os
import re

FOLDERS = ("dialects", "passes", "compiler", "runtime", "tools", "benchmarks", "test")
SUFFIXES = (".h", ".hpp", ".inc", ".c", ".cpp", ".td", ".in")
INCLUDE = re.compile(r'\s*#?\s*include\s+["<]([^">]+)[">]')

# Maps a top folder to the entries of FOLDERS that its files may include; an entry stands for a folder with all below it.
ALLOWED = {
    "dialects": ("dialects",),
    "passes": ("dialects", "passes"),
    "compiler": ("dialects", "passes", "compiler", "runtime/abi"),
    "runtime": ("runtime",),
    "tools": ("dialects", "passes", "compiler", "runtime", "tools"),
    "benchmarks": ("dialects", "passes", "compiler", "runtime", "tools", "benchmarks"),
    "test": FOLDERS,
}
# Maps the folders of a folder to the others of them that each may include besides itself. A folder that is not listed may include none of them.
ROOMS = {
    "dialects": {
        "Support": (),
        "Interfaces": ("Support",),
        "Graph": ("Interfaces", "Support"),
        "Train": ("Graph", "Interfaces", "Support"),
        "Kernel": ("Graph", "Interfaces", "Support", "Train"),
    },
    "passes/Lowering": {
        "Scalar": (),
        "MathApprox": ("Scalar",),
        "Elemental": ("Scalar",),
        "LoopPlan": ("Elemental",),
        "KernelToHost": ("Elemental", "LoopPlan"),
        "KernelToGpu": ("Elemental", "LoopPlan"),
        "Schedule": (),
        "HeroToGpu": ("Elemental", "KernelToGpu", "LoopPlan", "Scalar", "Schedule"),
        "AttentionToGpu": ("Elemental", "HeroToGpu", "Scalar", "Schedule"),
        "EmitKernels": ("AttentionToGpu", "HeroToGpu", "KernelToGpu", "KernelToHost", "LoopPlan"),
        "DeviceToNvvm": (),
        "DeviceToEmulator": (),
    },
    "compiler": {
        "Evaluator": (),
        "Import": (),
        "Export": ("Import",),
        "Codegen": (),
        "Package": (),
        "Pipeline": ("Codegen", "Import", "Package", "Report"),
        "Report": ("Codegen",),
    },
    "runtime": {
        "abi": (),
        "support": (),
        "host": ("abi", "support"),
        "onednn": ("abi", "host", "support"),
        "images": ("abi", "support"),
        "cuda": ("abi", "host", "support"),
        "emulator": ("abi", "host", "support"),
        "core": ("abi", "host", "support"),
        "devices": ("abi", "core", "cuda", "host", "support"),
        "embed": ("abi", "core", "support"),
        "runner": ("abi", "core", "host", "support"),
        "tuner": ("abi", "core", "devices", "support"),
    },
}
# The runtime builds alone, so it must not name these foreign libraries.
FOREIGN_TO_RUNTIME = ("mlir", "llvm", "lld", "onnx", "google")


def is_allowed(path, included):
    """Returns whether the file `path` (relative to the source root) may include `included`, as written in it."""
    parts = path.split("/")
    if included.startswith("."):  # relative to the file
        included = os.path.normpath(os.path.join(os.path.dirname(path), included))
    target = included.split("/")
    if target[0] not in FOLDERS:
        return parts[0] != "runtime" or target[0] not in FOREIGN_TO_RUNTIME
    if not any(included.startswith(folder + "/") for folder in ALLOWED[parts[0]]):
        return False
    # Areas of passes never include each other.
    between_areas = parts[0] == target[0] == "passes" and len(parts) > 2 and len(target) > 2
    if between_areas and parts[1] != target[1]:
        return False
    for folder, rooms in ROOMS.items():
        depth = folder.count("/") + 1
        if path.startswith(folder + "/") and included.startswith(folder + "/") and len(parts) > depth + 1 and len(target) > depth + 1:
            own, other = parts[depth], target[depth]
            if own != other and other not in rooms.get(own, ()):
                return False
    return True


def violations(source):
    """Returns "FILE:LINE: includes INCLUDED" for each include below `source` that breaks the rules."""
    found = []
    for top in FOLDERS:
        for folder, _, files in os.walk(os.path.join(source, top)):
            for name in sorted(files):
                if not name.endswith(SUFFIXES):
                    continue
                path = os.path.relpath(os.path.join(folder, name), source)
                with open(os.path.join(folder, name), encoding="utf-8") as lines:
                    for number, line in enumerate(lines, 1):
                        match = INCLUDE.match(line)
                        if match and not is_allowed(path, match.group(1)):
                            found.append(f"{path}:{number}: includes {match.group(1)}")
    return found
