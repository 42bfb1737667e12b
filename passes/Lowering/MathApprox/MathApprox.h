//===- MathApprox.h - f32 math functions as arithmetic ---------------------------===//
#ifndef MPC_LOWERING_MATHAPPROX_MATHAPPROX_H
#define MPC_LOWERING_MATHAPPROX_MATHAPPROX_H
#include "mlir/IR/Operation.h"

namespace mpc {

/// Replaces scalar f32 math.exp, log, log1p, expm1, tanh, erf, erfc, sin, cos under `root` by straight-line arith ops that LLVM can
/// vectorise. Maximal errors, against the exact value over all of f32 (test/codegen/MathApproxTest.cpp):
///   exp 1, log 1, log1p 2, expm1 2, tanh 3, erf 2, erfc 4, sin and cos (|x| < 2^48) 2 ULP.
void expandF32Math(mlir::Operation *root);

/// For targets without a libm: replaces every math function, of f32 (as above, the rest through f64), f64 and vectors of them, and arith.remf, so that nothing is left but
/// what has instructions everywhere (sqrt, fma, floor, ceil, roundeven, trunc, abs, copysign). arith.remf becomes a loop of scf ops and is exact. Maximal errors
/// (test/codegen/AllMathTest.cpp):
///   f32: as above; tan, asin, acos, atan, sinh, cosh, asinh, acosh, atanh, pow 1 ULP
///   f64: exp, log, sin, cos (|x| < 2^30), pow 1, expm1, log1p, atan, cosh, sinh, erf 2, tan, tanh, asin, acos, asinh, acosh, atanh 4, erfc 8 ULP
/// Powers of integers are exact where the result fits into 53 bits.
void expandAllMath(mlir::Operation *root);

/// Replaces kernel.encode_f8 and decode_f8 by integer arithmetic without branches, to the same bits as the
/// instructions.
void expandFloat8(mlir::Operation *root);

/// Replaces what is left of math ops that have no instruction or LLVM intrinsic by calls to libm (f32 and f64). `root` is a module.
void callLibm(mlir::Operation *root);

} // namespace mpc
#endif
