//===- LaunchCosts.h - what the launches of a dispatch move and multiply ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_KERNEL_ANALYSIS_LAUNCHCOSTS_H
#define MPC_KERNEL_ANALYSIS_LAUNCHCOSTS_H
#include "dialects/Interfaces/Contraction.h"
#include "dialects/Kernel/IR/Kernel.h"
#include <string>

namespace mpc::kernel {

/// The work of one launch, from the plan alone. Whatever it reads or writes counts once, as if caches held it from then
/// on. Pools with strides, and gathers with equal indices, may read less.
struct LaunchCost {
  /// Names the launch, for sums over launches of one kind: the form of a loop dispatch ("pointwise", "row"), the op
  /// of a contraction ("conv", "matmul"), "sums" for a kernel that adds up what a contraction's blocks have left in its
  /// scratch, or "behind a call" for the loops behind a library's call.
  std::string kind;
  int64_t readBytes = 0, writtenBytes = 0;
  double flops = 0; ///< of products: two for each multiply-add; taps that fall on padding count too
};

/// Returns how many elements of each input the body of a dispatch reads, at most. A slice or gather reads no more
/// than it returns; two readers of one input are taken to read different elements as long as it has so many.
llvm::SmallVector<int64_t> elementsRead(DispatchOp dispatch);

/// Returns the bytes of so many elements of a tensor in memory.
int64_t bytesOfElements(mlir::Value tensor, int64_t elements);

/// Returns what a product or convolution costs that reads what it needs of its operands and writes its result.
LaunchCost costOfProduct(ContractionOpInterface contraction);

/// Returns the costs of the launches of a dispatch whose kernels are emitted, in the order of the launches. On the host
/// the call of a library comes first, and then the loops behind it. A launch that has the scratch is taken to move all
/// of it.
llvm::SmallVector<LaunchCost> launchCostsOf(DispatchOp dispatch);

} // namespace mpc::kernel
#endif
