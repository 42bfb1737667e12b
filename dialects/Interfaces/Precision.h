//===- Precision.h - numerical safety classes of ops ------------------------===//
#ifndef MPC_INTERFACES_PRECISION_H
#define MPC_INTERFACES_PRECISION_H
#include "mlir/IR/OpDefinition.h"

namespace mpc {

/// Numerical safety of an op under autocast (the categories of torch.amp on CUDA).
enum class PrecisionClass {
  /// Computes in the low precision: matrix products, convolutions, recurrent cells.
  Low,
  /// Needs the accuracy of fp32 inside: log, softmax, interpolation. Its results stay within the range of its operands' type.
  Fp32,
  /// Its results may leave the range of its operands' type: exp, pow, sums, log_softmax, losses. Where a model is cast as a whole they are fp32 too.
  Fp32Range,
  /// Takes the widest of its operands' types: concatenation, selection, arithmetic on two operands.
  Promote,
  /// Computes in the type it is given: relu, pooling, batch norm, data movement.
  Follow,
  /// Not about floats: constants, indices, comparisons' results.
  Neutral,
};

/// "low", "fp32" (of both such classes), "promote", "follow", "neutral".
llvm::StringRef stringify(PrecisionClass);

} // namespace mpc

#include "dialects/Interfaces/Precision.h.inc"
#endif
