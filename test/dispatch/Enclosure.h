//===- Enclosure.h - every value that a dispatch may compute ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This is interval arithmetic over the body of a kernel.dispatch. For each element of each result it finds the lowest
// and highest value that code can compute if it evaluates every op within its stated error (StatedErrors.h) and rounds
// the result to its IR type. The reference value, which the evaluator computes in Rounded mode, exactly but for those
// roundings, is between the two.
//
//     value, operands exact     low = round(f - error), high = round(f + error), f unrounded
//     monotone ops              f at the lows and at the highs
//     products, quotients       f at the corners
//     sums                      error = length * 2^-24 * sum of magnitudes
//
// A library call may keep its epilogue in f32 and round once at its end, so there the inner values may also be
// unrounded. A loop kernel that computes 16-bit ops in f32 without rounding in between is outside the enclosure.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_TEST_DISPATCH_ENCLOSURE_H
#define MPC_TEST_DISPATCH_ENCLOSURE_H
#include "compiler/Evaluator/HostTensor.h"
#include "dialects/Kernel/IR/Kernel.h"

namespace mpc::test {

struct Enclosure {
  HostTensor value;     ///< the value that the evaluator computes
  HostTensor low, high; ///< both are NaN where the value is
  /// Returns whether low and high are one value (NaN counts as one).
  bool exact() const;
};

/// Returns the enclosures of a dispatch's results on exact inputs. Fails with a diagnostic at an op without a rule.
llvm::FailureOr<std::vector<Enclosure>> enclose(kernel::DispatchOp dispatch, llvm::ArrayRef<HostTensor> inputs);

/// Returns whether it is stated how the op's results move with its operands. The rules of arithmetic are stated by
/// mnemonic, those of other ops follow from their loop kinds.
bool hasRule(mlir::OperationName name);

/// How a computed tensor compares with its enclosure.
struct Comparison {
  int64_t elements = 0, different = 0; ///< `different` counts values other than the evaluator's
  int64_t outside = 0;                 ///< beyond low or high, or only one of the two is NaN
  int64_t unbounded = 0;               ///< elements without bounds, of which nothing is asserted
  /// Largest distance to the evaluator's value, in units in the last place of that value or of the root mean square of
  /// all, whichever is larger.
  double maxUlps = 0;
  double allowedUlps = 0; ///< what the enclosure allows this element
  /// Root mean squares of the distances and of the allowed distances, relative to the root mean square of the values.
  double rms = 0, allowedRms = 0;
  int64_t firstOutside = -1;
};
Comparison compare(const Enclosure &expected, const HostTensor &actual);

} // namespace mpc::test
#endif
