//===- Enclosure.h - every value that a dispatch may compute ----------------------------===//
//
// Interval arithmetic over the body of a kernel.dispatch: for each element of each result, the lowest and highest value that code can give
// which computes every op within its stated error (StatedErrors.h) and rounds it to its IR type. The reference value (the evaluator in
// Rounded mode, which is exact but for those roundings) lies inside.
//
//     value, operands exact     low = round(f - error), high = round(f + error), f unrounded
//     monotone ops              f at the lows and at the highs
//     products, quotients       f at the corners
//     sums                      error = length * 2^-24 * sum of magnitudes
//
// A library call may keep its epilogue in f32 (one rounding at its end): there the inner values may also be unrounded. So what a kernel does
// that computes 16-bit ops in f32 without rounding lies outside.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_TEST_DISPATCH_ENCLOSURE_H
#define MPC_TEST_DISPATCH_ENCLOSURE_H
#include "compiler/Evaluator/HostTensor.h"
#include "dialects/Kernel/IR/Kernel.h"

namespace mpc::test {

struct Enclosure {
  HostTensor value;     ///< the evaluator's
  HostTensor low, high; ///< both NaN where the value is
  /// One value only (NaN counts as one).
  bool exact() const;
};

/// The results of a dispatch on exact inputs. Fails with a diagnostic at an op without a rule.
llvm::FailureOr<std::vector<Enclosure>> enclose(kernel::DispatchOp dispatch, llvm::ArrayRef<HostTensor> inputs);

/// How a computed tensor lies in its enclosure.
struct Comparison {
  int64_t elements = 0, different = 0; ///< different: not the evaluator's value
  int64_t outside = 0;                 ///< beyond low or high, or NaN for a number or the reverse
  int64_t unbounded = 0;               ///< enclosures without an end: nothing is asserted of these
  /// Largest distance to the evaluator's value, in units of the last place of that value or of the root mean square of all, whichever is larger.
  double maxUlps = 0;
  double allowedUlps = 0;              ///< what the enclosure allows that element
  /// Root mean squares of the distances and of those that are allowed, relative to that of the values.
  double rms = 0, allowedRms = 0;
  int64_t firstOutside = -1;
};
Comparison compare(const Enclosure &expected, const HostTensor &actual);

} // namespace mpc::test
#endif
