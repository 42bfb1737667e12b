//===- Passes.h - the target that a module is compiled for ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_PASSES_TARGET_PASSES_H
#define MPC_PASSES_TARGET_PASSES_H
#include "dialects/Kernel/IR/Kernel.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mpc {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Target/Passes.h.inc"
} // namespace mpc
#endif
