//===- MathApprox.h - f32 math functions as arithmetic ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_LOWERING_MATHAPPROX_MATHAPPROX_H
#define MPC_LOWERING_MATHAPPROX_MATHAPPROX_H
#include "mlir/IR/Operation.h"

namespace mpc {

/// Replaces scalar f32 math.exp, log, log1p, expm1, tanh, erf, erfc, sin and cos under `root` by straight-line arith
/// ops that LLVM can vectorise. The maximal errors, compared with the exact value over all of f32
/// (test/codegen/MathApproxTest.cpp), are in ULP:
///   exp 1, log 1, log1p 2, expm1 2, tanh 3, erf 2, erfc 4, sin and cos (|x| < 2^48) 2
void expandF32Math(mlir::Operation *root);

/// For targets without a libm: replaces every math function of f32 (as above; other functions through f64), of f64
/// and of vectors of them, and arith.remf, so that only ops are left that have instructions everywhere (sqrt, fma,
/// floor, ceil, roundeven, trunc, abs, copysign). arith.remf becomes a loop of scf ops and is exact. The maximal
/// errors (test/codegen/AllMathTest.cpp) are in ULP:
///   f32: as above; tan, asin, acos, atan, sinh, cosh, asinh, acosh, atanh, pow 1
///   f64: exp, log, sin, cos (|x| < 2^30), pow 1; expm1, log1p, atan, cosh, sinh, erf 2;
///        tan, tanh, asin, acos, asinh, acosh, atanh 4; erfc 8
/// Powers of integers are exact where the result fits into 53 bits.
void expandAllMath(mlir::Operation *root);

/// Replaces scalar f32 math.exp in kernels of GPUs by a few ops around kernel.approx. Over all of f32 an H200 was
/// within 2.1 ULP of the exact value; the emulated form is within 1 ULP.
void approximateExp(mlir::Operation *root);

/// Replaces kernel.approx reciprocal, the only one that kernels for the host have, by a division.
void expandReciprocal(mlir::Operation *root);

/// Replaces kernel.round_bf16 by integer arithmetic without branches, which gives the same bits as the instruction.
void expandBFloat16(mlir::Operation *root);

/// Replaces kernel.encode_f8 and decode_f8 by integer arithmetic without branches, which gives the same bits
/// as the instructions.
void expandFloat8(mlir::Operation *root);

/// Replaces the remaining math ops that have no instruction or LLVM intrinsic by calls to libm (f32 and f64).
/// `root` is a module.
void callLibm(mlir::Operation *root);

} // namespace mpc
#endif
