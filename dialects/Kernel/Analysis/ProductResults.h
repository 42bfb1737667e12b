//===- ProductResults.h - what a GPU's contraction returns ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_KERNEL_ANALYSIS_PRODUCTRESULTS_H
#define MPC_KERNEL_ANALYSIS_PRODUCTRESULTS_H
#include "dialects/Interfaces/Contraction.h"
#include "dialects/Kernel/IR/Kernel.h"

namespace mpc::kernel {

/// A result that sums a value over all rows of a product, with one number for each column.
struct ColumnSum {
  mlir::Operation *op; ///< graph.reduce_sum over all dimensions but the last, of a value of the product's shape
  unsigned result;     ///< the number of the dispatch's result
};

/// Returns whether a GPU's launch of a contraction may also return `sum`, whose operand is a value that the launch
/// computes.
bool sumsColumns(ContractionOpInterface contraction, mlir::Operation *sum);

/// The results of a contraction on a GPU, whose kernels compute what follows the product where its sums are. HostCall.h
/// has the same for the host.
struct ProductResults {
  llvm::SmallVector<unsigned> full; ///< the numbers of the results that have an element for each of the product's
  llvm::SmallVector<ColumnSum> columnSums; ///< the other results

  /// Fails with a located error where a result is neither.
  static mlir::FailureOr<ProductResults> of(DispatchOp dispatch);
};

} // namespace mpc::kernel
#endif
