//===- DoubleMath.h - f64 math functions as arithmetic -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_LOWERING_MATHAPPROX_DOUBLEMATH_H
#define MPC_LOWERING_MATHAPPROX_DOUBLEMATH_H
#include "mlir/IR/Operation.h"

namespace mpc {

/// Returns whether the op is a math function that has arithmetic of f64: it is none that has instructions everywhere
/// (sqrt, fma, rounding).
bool expandsF64(mlir::Operation *op);
/// Emits the arithmetic of such an op, before it, over f64 operands.
mlir::Value expandF64(mlir::Operation *op, mlir::ValueRange operands);

} // namespace mpc
#endif
