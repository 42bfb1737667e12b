//===- TrustRatio.h - steps as long as their parameters are large ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LARS and LAMB multiply the step of each parameter by a ratio of two norms, over all elements of the parameter.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_TRAIN_OPTIMIZERS_TRUSTRATIO_H
#define MPC_TRAIN_OPTIMIZERS_TRUSTRATIO_H
#include "dialects/Train/Optimizers/Registry.h"

namespace mpc::optimizers {

/// Norms and biases get steps of the usual length in timm and Apex, which know them by their weight
/// decay of 0. Where a bias starts at zero, its ratio would keep it there for long.
inline constexpr Hyperparameter alwaysAdapt{"always_adapt", 0, 0, 2,
                                            "choice of a trust ratio also where a parameter group sets weight_decay=0"};

/// Returns whether the parameter's steps are multiplied by a trust ratio.
inline bool hasTrustRatio(const UpdateContext &u) { return !u.exempt || u.hyper[alwaysAdapt] != 0; }

/// Returns dividend / divisor, or 1 where one of the two norms is 0, all tensor<f32>.
inline mlir::Value trustRatio(const UpdateContext &u, mlir::Value parameterNorm, mlir::Value stepNorm,
                              mlir::Value dividend, mlir::Value divisor) {
  mlir::Value grown = u.b.compare(graph::Predicate::gt, parameterNorm, 0.0);
  mlir::Value moved = u.b.compare(graph::Predicate::gt, stepNorm, 0.0);
  mlir::Value ratio = u.b.div(dividend, divisor);
  return u.b.select(u.b.both(grown, moved), ratio, 1.0);
}

} // namespace mpc::optimizers
#endif
