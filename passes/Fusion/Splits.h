//===- Splits.h - which reductions take two launches, and into how many pieces ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_PASSES_FUSION_SPLITS_H
#define MPC_PASSES_FUSION_SPLITS_H
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Kernel/Target/GpuArch.h"

namespace mpc::fusion {

/// How a long reduction to few values is divided into pieces. The outermost run of reduced dimensions, [begin, end),
/// either keeps its first dimensions at first, or becomes the two dimensions (outer, inner), of which the outer one is
/// kept at first; both may be possible.
struct Split {
  int64_t rank = 0; ///< of the operand
  int64_t begin = 0, end = 0;
  int64_t whole = 0;            ///< the dimensions [begin, whole) make enough pieces; 0 where none do
  int64_t other = 0;            ///< the same where these are more or fewer pieces than is good; 0 where there is none
  int64_t outer = 1, inner = 1; ///< outer is 1 where the run has no divisor of the right size
  bool prefersWhole = false;    ///< reshaping gains nothing, or would change the order of a sum

  /// Returns numbers for the dimensions of the operand in split shape: `first` and `second` in place of the run's.
  graph::Shape replaced(llvm::ArrayRef<int64_t> numbers, int64_t first, int64_t second) const;
  /// Returns the operand's shape with the run as (outer, inner).
  graph::Shape apply(llvm::ArrayRef<int64_t> shape) const { return replaced(shape, outer, inner); }
};

/// Returns how to split a reduction of a tensor of this shape over these axes; nullopt where it has enough results to
/// keep the target busy, or too few elements to be worth a second launch. `gpu` is null for the host.
std::optional<Split> splitOf(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> axes, const GpuArch *gpu);

} // namespace mpc::fusion
#endif
