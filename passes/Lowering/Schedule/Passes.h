//===- Passes.h - schedules of contractions ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_LOWERING_SCHEDULE_PASSES_H
#define MPC_LOWERING_SCHEDULE_PASSES_H
#include "dialects/Kernel/IR/Kernel.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include <memory>

namespace mpc {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Lowering/Schedule/Passes.h.inc"
} // namespace mpc
#endif
