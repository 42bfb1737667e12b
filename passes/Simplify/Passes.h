//===- Passes.h - constants, common subexpressions, dead code ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_PASSES_SIMPLIFY_PASSES_H
#define MPC_PASSES_SIMPLIFY_PASSES_H
#include "dialects/Graph/IR/Graph.h"
#include "dialects/Train/IR/Train.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mpc {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Simplify/Passes.h.inc"
} // namespace mpc
#endif
