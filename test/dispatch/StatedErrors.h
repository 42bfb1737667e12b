//===- StatedErrors.h - how far each op's compiled code may be from its definition --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This is the only place that states these errors. An op on f16, bf16 or f32 values is carried out in f32 and rounded
// once to its type; the table says how much the f32 part may lose. It names every elementwise op and every window,
// those that are correctly rounded too; the others move elements or add them, and lose nothing besides.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_TEST_DISPATCH_STATEDERRORS_H
#define MPC_TEST_DISPATCH_STATEDERRORS_H
#include "mlir/IR/Operation.h"
#include <optional>

namespace mpc::test {

/// The error of one element before it is rounded to its type.
struct StatedError {
  /// Error in units in the last place of the f32 result (for f64 ops, of the f64 result).
  double ulps = 0;
  /// Error that is added where the function's own terms cancel, in units of 2^-24 (for f64, 2^-53).
  double absolute = 0;
};
/// Returns the stated error of an op, or nullopt if none is stated.
std::optional<StatedError> statedError(mlir::OperationName name);

/// Returns how many terms are added, or factors multiplied, in f32 and in any order, to give one element of the op's
/// result; 0 for ops that do neither, and nullopt for a window or a scatter for which it is not stated. With
/// u = length * 2^-24, the error of a sum is at most u / (1 - u) * (sum of the terms' magnitudes), and that of a
/// product in which nothing under- or overflows at most u / (1 - u) * (its magnitude): Higham, Accuracy and Stability
/// of Numerical Algorithms, section 4.2 and lemma 3.1.
std::optional<int64_t> accumulationLength(mlir::Operation *op);

/// Returns what the sum may lose besides, relative to the sum of the terms' magnitudes. This applies to products of
/// 8-bit floats, which the tensor cores sum with few bits.
double accumulatorLoss(mlir::Operation *op);

} // namespace mpc::test
#endif
