//===- DoubleMath.h - f64 math functions as arithmetic -----------------------------===//
#ifndef MPC_LOWERING_MATHAPPROX_DOUBLEMATH_H
#define MPC_LOWERING_MATHAPPROX_DOUBLEMATH_H
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mpc {

/// Emits the function of a math op over f64 operands; returns null where the op needs no code (sqrt, fma,
/// rounding) or is unknown.
mlir::Value expandF64(mlir::ImplicitLocOpBuilder &b, mlir::Operation *op, mlir::ValueRange operands);

} // namespace mpc
#endif
