//===- Passes.h - loops of dispatches ------------------------------------===//
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
