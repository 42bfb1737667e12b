# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that tools/ci/include_rules.py finds what it forbids and passes what it allows."""
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools/ci"))
import harness
import include_rules

FORBIDDEN = [
    ("compiler/Package/Manifest.cpp", "runtime/core/Session.h"),
    ("compiler/Pipeline/Check.h", "tools/mpc/Common.h"),
    ("passes/Fusion/Grouping.cpp", "passes/Memory/Passes.h"),
    ("passes/Fusion/Grouping.cpp", "compiler/Pipeline/Pipeline.h"),
    ("passes/Lowering/LoopPlan/Plan.cpp", "passes/Lowering/KernelToHost/Nest.h"),
    ("passes/Lowering/Elemental/Symbols.cpp", "../KernelToHost/Nest.h"),
    ("passes/Lowering/Schedule/Model.cpp", "passes/Lowering/HeroToGpu/Wgmma.h"),
    ("passes/Lowering/Schedule/Model.cpp", "passes/Lowering/Elemental/ElementEmitter.h"),
    ("passes/Lowering/Scalar/ScalarBuilder.cpp", "passes/Lowering/Elemental/ElementEmitter.h"),
    ("passes/Lowering/NewRoom/New.cpp", "passes/Lowering/Elemental/ElementEmitter.h"),
    ("dialects/Graph/IR/Graph.h", "dialects/Train/IR/Train.h"),
    ("compiler/Codegen/HostCodegen.cpp", "compiler/Package/Manifest.h"),
    ("runtime/core/Session.cpp", "runtime/devices/HostDevice.h"),
    ("passes/Fusion/Grouping.cpp", "runtime/abi/mpc/kernel.h"),
    ("dialects/Graph/IR/Graph.h", "passes/Fusion/Passes.h"),
    ("runtime/core/Session.h", "compiler/Package/Manifest.h"),
    ("runtime/core/Session.h", "passes/Memory/Offsets.h"),
    ("runtime/core/Session.h", "dialects/Graph/IR/Graph.h"),
    ("runtime/runner/Main.cpp", "tools/mpc/Common.h"),
    ("runtime/core/Session.cpp", "test/runtime/LogisticProgram.h"),
    ("runtime/core/Session.cpp", "../../test/runtime/LogisticProgram.h"),
    ("runtime/core/Session.cpp", "llvm/ADT/DenseMap.h"),
    ("runtime/core/Session.cpp", "mlir/IR/BuiltinOps.h"),
    ("runtime/core/data/Npz.cpp", "onnx/onnx_pb.h"),
    ("tools/mpc/Main.cpp", "test/codegen/KernelHarness.h"),
    ("benchmarks/Kernels.cpp", "test/codegen/KernelHarness.h"),
]
ALLOWED = [
    ("compiler/Codegen/EmulatorCodegen.cpp", "runtime/abi/mpc/emulator.h"),
    ("compiler/Package/Elements.h", "mpc/kernel.h"),
    ("compiler/Pipeline/Check.h", "passes/Fusion/Passes.h"),
    ("passes/Lowering/KernelToHost/Nest.cpp", "passes/Lowering/LoopPlan/Plan.h"),
    ("passes/Lowering/KernelToHost/Nest.cpp", "../Elemental/ElementEmitter.h"),
    ("passes/Lowering/HeroToGpu/Wgmma.cpp", "passes/Lowering/Schedule/Feed.h"),
    ("compiler/Export/Onnx/Exporter.cpp", "compiler/Import/Onnx/Model.h"),
    ("runtime/core/Session.h", "runtime/core/Arena.h"),
    ("runtime/core/Info.cpp", "nlohmann/json.hpp"),
    ("tools/mpc/RunCommand.cpp", "runtime/core/Session.h"),
    ("test/dispatch/NetworkTest.cpp", "test/codegen/KernelHarness.h"),
    ("test/runtime/DataTest.cpp", "runtime/core/data/Batches.h"),
]


def finds():
    for path, included in FORBIDDEN + ALLOWED:
        expected = (path, included) in ALLOWED
        if include_rules.is_allowed(path, included) != expected:
            raise harness.Failure(f"{path} -> {included}: not {'allowed' if expected else 'forbidden'}")


def reads_files():
    with tempfile.TemporaryDirectory() as source:
        for path, text in (("runtime/core/A.h", '#pragma once\n  # include <mpc/kernel.h>\n#include "tools/mpc/Common.h"\n'),
                           ("dialects/Graph/B.td", 'include "mlir/IR/OpBase.td"\ninclude "passes/Fusion/Passes.td"\n'),
                           ("runtime/generic/C.inc", '// #include "passes/x.h"\n#include "compiler/x.h"\n')):
            os.makedirs(os.path.dirname(os.path.join(source, path)), exist_ok=True)
            with open(os.path.join(source, path), "w", encoding="utf-8") as file:
                file.write(text)
        expected = ["dialects/Graph/B.td:2: includes passes/Fusion/Passes.td",
                    "runtime/core/A.h:3: includes tools/mpc/Common.h",
                    "runtime/generic/C.inc:2: includes compiler/x.h"]
        if sorted(include_rules.violations(source)) != expected:
            raise harness.Failure(f"found {include_rules.violations(source)}")


harness.arguments(__doc__)
harness.main([("include rules: each rule", finds), ("include rules: files", reads_files)])
