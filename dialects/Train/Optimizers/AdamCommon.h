//===- AdamCommon.h - what Adam, AdamW, NAdam and LAMB share ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_TRAIN_OPTIMIZERS_ADAMCOMMON_H
#define MPC_TRAIN_OPTIMIZERS_ADAMCOMMON_H
#include "dialects/Train/Optimizers/Registry.h"
#include <cmath>

namespace mpc::optimizers {

inline constexpr Hyperparameter adamLr{"lr", 1e-3, 0, INFINITY, "learning rate"},
    beta1{"beta1", 0.9, 0, 1, "decay of the first moment"}, beta2{"beta2", 0.999, 0, 1, "decay of the second moment"},
    eps{"eps", 1e-8, 0, INFINITY, "added to the corrected square root"};

llvm::SmallVector<Slot> adamSlots(const Hyperparameters &hyper, llvm::ArrayRef<int64_t> shape);

/// Returns sqrt(1 - beta2^t) of this update in f64, because near t = 1 the difference has few correct bits in fp32.
mlir::Value secondCorrection(StepContext &context);

/// Returns {1 - beta1^t, sqrt(1 - beta2^t)} of this update in f64.
llvm::SmallVector<mlir::Value> adamShared(StepContext &context);

/// Updates m and v with `gradient` and returns sqrt(v)/correction + eps. The correction is an f32 scalar.
mlir::Value adamMoments(UpdateContext &u, mlir::Value gradient, mlir::Value correction, double eps);

/// Updates m and v with `gradient` and returns parameter - lr/(1 - beta1^t) * m / (sqrt(v)/sqrt(1 - beta2^t) + eps).
mlir::Value adamStep(UpdateContext &u, mlir::Value parameter, mlir::Value gradient);

} // namespace mpc::optimizers
#endif
