//===- StatedErrors.h - how far each op's compiled code may be from its definition --------===//
//
// The one place that states it. An op of f16, bf16 or f32 values is carried out in f32 and rounded once to its type; here stands what the f32
// part may lose. Ops that are not named (addition, products, quotients, roots, comparisons, casts, whatever moves elements) are correctly
// rounded: they lose nothing.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_TEST_DISPATCH_STATEDERRORS_H
#define MPC_TEST_DISPATCH_STATEDERRORS_H
#include "mlir/IR/Operation.h"

namespace mpc::test {

/// Error of one element before it is rounded to its type.
struct StatedError {
  /// In units in the last place of the f32 result (f64 ops: of the f64 result).
  double ulps = 0;
  /// Added to that: what is lost where the function's own terms cancel, in units of 2^-24 (f64: 2^-53).
  double absolute = 0;
};
/// By mnemonic ("exp").
StatedError statedError(llvm::StringRef mnemonic);

/// Terms that are added, in f32 and in any order, to give one element of the op's result; 0 for ops that add nothing up. Its error is at most
/// length * 2^-24 * (sum of the terms' magnitudes): Higham, Accuracy and Stability of Numerical Algorithms, section 4.2.
int64_t accumulationLength(mlir::Operation *op);

/// What an op's sum may lose besides that, relative to the sum of the terms' magnitudes: of products of 8-bit
/// floats, which the tensor cores sum with few bits.
double accumulatorLoss(mlir::Operation *op);

} // namespace mpc::test
#endif
