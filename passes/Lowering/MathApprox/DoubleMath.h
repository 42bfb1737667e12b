//===- DoubleMath.h - f64 math functions as arithmetic -----------------------------===//
#ifndef MPC_LOWERING_MATHAPPROX_DOUBLEMATH_H
#define MPC_LOWERING_MATHAPPROX_DOUBLEMATH_H
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mpc {

/// Code for the function of a math op over f64 operands; null where the op needs none (sqrt, fma, rounding) or is unknown.
mlir::Value expandF64(mlir::ImplicitLocOpBuilder &b, mlir::Operation *op, mlir::ValueRange operands);

} // namespace mpc
#endif
