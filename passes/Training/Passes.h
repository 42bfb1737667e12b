//===- Passes.h - from a network to training entries --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_PASSES_TRAINING_PASSES_H
#define MPC_PASSES_TRAINING_PASSES_H
#include "dialects/Graph/IR/Graph.h"
#include "dialects/Train/IR/Train.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace mpc {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Training/Passes.h.inc"
} // namespace mpc
#endif
