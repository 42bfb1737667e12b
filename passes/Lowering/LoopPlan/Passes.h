//===- Passes.h - loops of dispatches ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_LOWERING_LOOPPLAN_PASSES_H
#define MPC_LOWERING_LOOPPLAN_PASSES_H
#include "dialects/Kernel/IR/Kernel.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mpc {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Lowering/LoopPlan/Passes.h.inc"
} // namespace mpc
#endif
