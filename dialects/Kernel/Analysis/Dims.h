//===- Dims.h - the dimensions of the space of a loop dispatch ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_KERNEL_ANALYSIS_DIMS_H
#define MPC_KERNEL_ANALYSIS_DIMS_H
#include "dialects/Kernel/Analysis/Index.h"
#include "dialects/Kernel/Analysis/Space.h"

namespace mpc::kernel {

/// A dimension of the space of a loop dispatch.
struct Dim {
  int64_t extent;
  bool reduced;
};

/// Returns the dimensions of a dispatch's space, outermost first; nullopt where it has no space. They are as fine as
/// any shape of the body that has the space's row-major order cuts it, so reshapes need no division, and each lies in
/// one run of the space. Those of a `transposed_copy` are (matrices, rows, columns) of the values before they are
/// transposed.
std::optional<llvm::SmallVector<Dim>> dimsOf(DispatchOp dispatch);

/// The row-major numbers of a point in the space and of its row among the kept points; symbol i is its index along
/// dimension i.
struct SpaceNumbers {
  explicit SpaceNumbers(llvm::ArrayRef<Dim> dims);
  Index point, row;
};

/// Returns how many neighbours along the innermost dimension share work, or after how many the work repeats: the
/// largest period of an op (IndexingOpInterface::getPeriod), or 1 where there are fewer points.
int64_t periodOf(DispatchOp dispatch);

} // namespace mpc::kernel
#endif
