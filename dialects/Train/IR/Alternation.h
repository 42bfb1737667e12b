//===- Alternation.h - steps that do not run on every batch ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program of several steps may run one of them on each K-th batch only. The generator of a Wasserstein GAN is such a
// step:
//   train.step @g() -> tensor<f32> attributes {train.every = 5, ...}
// The IR of the step is that of a step which always runs; manifests tell the runtime when to leave it out.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_TRAIN_IR_ALTERNATION_H
#define MPC_TRAIN_IR_ALTERNATION_H
#include "dialects/Train/IR/Train.h"

namespace mpc::train {

inline constexpr llvm::StringLiteral kEveryAttr = "train.every";

/// Returns K where the step runs on the batches K, 2K, ... of a training, counted from 1.
inline int64_t batchesPerRun(StepOp step) {
  auto every = step->getAttrOfType<mlir::IntegerAttr>(kEveryAttr);
  return every ? every.getInt() : 1;
}

inline void setBatchesPerRun(StepOp step, int64_t every) {
  if (every > 1)
    step->setAttr(kEveryAttr, mlir::IntegerAttr::get(mlir::IntegerType::get(step.getContext(), 64), every));
}

} // namespace mpc::train
#endif
