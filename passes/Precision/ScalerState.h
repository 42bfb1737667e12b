//===- ScalerState.h - the loss scale as a state machine on the device ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_PASSES_PRECISION_SCALERSTATE_H
#define MPC_PASSES_PRECISION_SCALERSTATE_H
#include "dialects/Graph/IR/GraphBuilder.h"
#include "dialects/Train/IR/Train.h"

namespace mpc::precision {

/// Returns the current loss scale, a tensor<f32>: it is a constant, or the value of the state variable.
mlir::Value currentScale(const graph::GraphBuilder &b, train::StepOp step, const train::Scaler &options);

/// Returns float(1 / (double(scale) * divisor)), a tensor<f32>; GradScaler inverts its scale in the same way.
mlir::Value inverseScale(const graph::GraphBuilder &b, mlir::Value scale, const train::Scaler &options,
                         int64_t divisor);

/// These signals are what one call of a step found out.
struct ScalerSignals {
  mlir::Value overflow; ///< tensor<i1>: this update is skipped for a non-finite gradient
  mlir::Value due; ///< tensor<i1>: this call updates, because it ends an accumulation window; null without accumulation
  mlir::Value largest; ///< tensor<f32>, calibration only: the largest scaled magnitude of this call's cotangents
};
/// Assigns the scaler's state for the next step.
void advanceScaler(const graph::GraphBuilder &b, train::StepOp step, const train::Scaler &options, mlir::Value scale,
                   const ScalerSignals &signals);

} // namespace mpc::precision
#endif
