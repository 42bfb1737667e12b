//===- Precision.h - numerical safety classes of ops ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_INTERFACES_PRECISION_H
#define MPC_INTERFACES_PRECISION_H
#include "mlir/IR/OpDefinition.h"

namespace mpc {

/// The classes say how safe an op is numerically under autocast; they are the categories of torch.amp on CUDA.
enum class PrecisionClass {
  /// The op computes in the low precision: matrix products, convolutions, prelu.
  Low,
  /// The op needs the accuracy of fp32 inside: log, softmax, interpolation. Its results stay within the range of
  /// its operands' type.
  Fp32,
  /// The op's results may leave the range of its operands' type: exp, pow, sums,
  /// log_softmax, losses. Where a model is cast as a whole its results are fp32 too.
  Fp32Range,
  /// The op takes the widest of its operands' types: concatenation, selection, arithmetic on two operands.
  Promote,
  /// The op computes in the type it is given: relu, pooling, batch norm, data movement.
  Follow,
  /// The op does not compute with floats: constants, indices, comparisons' results.
  Neutral,
  /// The op repeats a body, whose ops have classes of their own.
  Body,
};

/// Returns "low", "fp32" (for both fp32 classes), "promote", "follow", "neutral" or "body".
llvm::StringRef stringify(PrecisionClass);

} // namespace mpc

#include "dialects/Interfaces/Precision.h.inc"
#endif
