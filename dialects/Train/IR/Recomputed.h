//===- Recomputed.h - what a plan computes again to save memory -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pass mpc-recompute notes on the module of a target what it did in the steps, those that only trace apart:
//   module attributes {train.recomputed = {flops = 2.0e9, flops_again = 4.0e8, repeated = 3, segments = 15}}
//
//===----------------------------------------------------------------------===//
#ifndef MPC_TRAIN_IR_RECOMPUTED_H
#define MPC_TRAIN_IR_RECOMPUTED_H
#include "mlir/IR/BuiltinOps.h"

namespace mpc::train {

struct Recomputed {
  int64_t segments = 0;             ///< of the forward passes whose products could be computed again
  int64_t repeated = 0;             ///< of these, the ones whose products are
  double flops = 0, flopsAgain = 0; ///< of the products of steps, and of those among them that are computed again
};

inline constexpr llvm::StringLiteral kRecomputedAttr = "train.recomputed";

/// Returns nullopt where the pass did not run.
std::optional<Recomputed> recomputedOf(mlir::ModuleOp module);
void setRecomputed(mlir::ModuleOp module, const Recomputed &report);

} // namespace mpc::train
#endif
