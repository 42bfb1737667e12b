//===- MathApprox.h - f32 math functions as arithmetic ---------------------------===//
#ifndef MPC_LOWERING_MATHAPPROX_MATHAPPROX_H
#define MPC_LOWERING_MATHAPPROX_MATHAPPROX_H
#include "mlir/IR/Operation.h"

namespace mpc {

/// Replaces scalar f32 math.exp, log, log1p, expm1, tanh, erf, erfc, sin, cos under `root` by straight-line arith ops that LLVM can
/// vectorise. Maximal errors, against the exact value over all of f32 (test/codegen/MathApproxTest.cpp):
///   exp 1, log 1, log1p 2, expm1 2, tanh 3, erf 2, erfc 4, sin and cos (|x| < 2^48) 2 ULP.
void expandF32Math(mlir::Operation *root);

/// Replaces what is left of math ops that have no instruction or LLVM intrinsic by calls to libm (f32 and f64). `root` is a module.
void callLibm(mlir::Operation *root);

} // namespace mpc
#endif
