//===- Passes.h - layout passes -------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_PASSES_LAYOUT_PASSES_H
#define MPC_PASSES_LAYOUT_PASSES_H
#include "dialects/Graph/IR/Graph.h"
#include "dialects/Kernel/IR/Kernel.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mpc::layout {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Layout/Passes.h.inc"
} // namespace mpc::layout
#endif
