//===- Accesses.h - with which strides a dispatch reads and writes ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_KERNEL_ANALYSIS_ACCESSES_H
#define MPC_KERNEL_ANALYSIS_ACCESSES_H
#include "dialects/Kernel/Analysis/Dims.h"
#include "dialects/Kernel/Analysis/Index.h"

namespace mpc::kernel {

/// Where a kernel reads or writes a tensor at a point of the space: elements from the tensor's start. Symbol i is
/// dimension i of the space, so the coefficients are the strides. A symbol behind the dimensions is a number that is no
/// linear function of the point: the value of an index, a quotient, a place that is kept inside of a tensor.
struct Access {
  Index place;
  unsigned bytes; ///< of an element
  bool isStore;
};

/// A value of a dimension at which a kernel begins to read another operand of a concatenation.
struct Cut {
  SymbolId dim;
  int64_t at;
};

struct Accesses {
  llvm::SmallVector<Access> accesses;
  llvm::SmallVector<Index> indices; ///< the numbers that the kernel computes from the point: the places of accesses,
                                    ///< and what it compares, divides or counts
  llvm::SmallVector<Cut> cuts;
};

/// Finds the accesses of a dispatch whose space has these dimensions, by what its ops say about their operands
/// (IndexingOpInterface::readRange). The time is linear in the ops. With `together` the kernel computes all points
/// along the innermost dimension in one iteration, so the dimension is no variable.
Accesses accessesOf(DispatchOp dispatch, llvm::ArrayRef<Dim> dims, bool together);

} // namespace mpc::kernel
#endif
