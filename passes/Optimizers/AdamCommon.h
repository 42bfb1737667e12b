//===- AdamCommon.h - what Adam and AdamW share -------------------------------------------===//
#ifndef MPC_PASSES_OPTIMIZERS_ADAMCOMMON_H
#define MPC_PASSES_OPTIMIZERS_ADAMCOMMON_H
#include "passes/Optimizers/Registry.h"

namespace mpc::optimizers {

llvm::SmallVector<llvm::StringRef> adamSlots(const llvm::StringMap<double> &hyper);

/// Returns {1 - beta1^t, sqrt(1 - beta2^t)} of this update in f64, because near t = 1 the difference 1 - beta2^t has few correct bits in fp32.
llvm::SmallVector<mlir::Value> adamShared(StepContext &context);

/// Updates m and v with `gradient` and returns parameter - lr/(1 - beta1^t) * m / (sqrt(v)/sqrt(1 - beta2^t) + eps).
mlir::Value adamStep(UpdateContext &u, mlir::Value parameter, mlir::Value gradient);

} // namespace mpc::optimizers
#endif
