//===- SameCode.h - when two dispatches share one kernel -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_KERNEL_ANALYSIS_SAMECODE_H
#define MPC_KERNEL_ANALYSIS_SAMECODE_H
#include "dialects/Kernel/IR/Kernel.h"
#include "llvm/ADT/DenseMapInfo.h"

namespace mpc::kernel {

/// Keys of maps: two dispatches are equal if one kernel computes both. Their forms, bodies, types, schedules,
/// loops and in-place results count; names, locations and places in memory do not.
struct SameCode {
  static DispatchOp getEmptyKey() {
    return DispatchOp::getFromOpaquePointer(llvm::DenseMapInfo<void *>::getEmptyKey());
  }
  static DispatchOp getTombstoneKey() {
    return DispatchOp::getFromOpaquePointer(llvm::DenseMapInfo<void *>::getTombstoneKey());
  }
  static unsigned getHashValue(DispatchOp dispatch);
  static bool isEqual(DispatchOp a, DispatchOp b);
};

/// Returns whether the dispatch computes each element of its results from the operands' elements at the same place and
/// from single numbers, as the update of a parameter does. One host kernel computes any number of such elements.
bool isFlat(DispatchOp dispatch);

/// Keys of maps of flat dispatches, whose numbers of elements do not count.
struct SameFlatCode {
  static DispatchOp getEmptyKey() { return SameCode::getEmptyKey(); }
  static DispatchOp getTombstoneKey() { return SameCode::getTombstoneKey(); }
  static unsigned getHashValue(DispatchOp dispatch);
  static bool isEqual(DispatchOp a, DispatchOp b);
};

} // namespace mpc::kernel
#endif
