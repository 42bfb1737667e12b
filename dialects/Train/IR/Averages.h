//===- Averages.h - moving averages of parameters ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A moving average is a slot of its parameter. It starts as the parameter's copy, moves with every update, and takes
// the parameter's place in the entries that evaluate and predict:
//   train.variable @"w/ema" slot : tensor<4xf32> = #train.copy_of<@w> {of = @w, step = @main, train.average = 0.999}
// Manifests give such a variable the role "average". Checkpoints hold it, unlike other copies.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_TRAIN_IR_AVERAGES_H
#define MPC_TRAIN_IR_AVERAGES_H
#include "dialects/Train/IR/Train.h"

namespace mpc::train {

/// The attribute holds the decay of the average, an f64.
inline constexpr llvm::StringLiteral kAverageAttr = "train.average";

/// The role of a moving average in manifests and reports.
inline constexpr llvm::StringLiteral kAverageRole = "average";

/// Returns the decay of a moving average; null where the variable is none.
inline mlir::FloatAttr averageDecay(VariableOp variable) {
  return variable->getAttrOfType<mlir::FloatAttr>(kAverageAttr);
}

} // namespace mpc::train
#endif
