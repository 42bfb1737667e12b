//===- Passes.h - decomposition of composite ops -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_DECOMPOSE_PASSES_H
#define MPC_DECOMPOSE_PASSES_H
#include "dialects/Graph/IR/Graph.h"
#include "dialects/Kernel/IR/Kernel.h"
#include "mlir/Pass/Pass.h"

namespace mpc {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Decompose/Passes.h.inc"
} // namespace mpc
#endif
