//===- Structure.h - when two dispatches share one kernel -------------------------===//
#ifndef MPC_LOWERING_EMITKERNELS_STRUCTURE_H
#define MPC_LOWERING_EMITKERNELS_STRUCTURE_H
#include "dialects/Kernel/IR/Kernel.h"
#include "llvm/ADT/DenseMapInfo.h"

namespace mpc {

/// Keys of maps: two dispatches are equal if one kernel computes both. Their bodies, types, schedules and in-place results count; names, locations and places in memory do not.
struct SameCode {
  static kernel::DispatchOp getEmptyKey() { return kernel::DispatchOp::getFromOpaquePointer(llvm::DenseMapInfo<void *>::getEmptyKey()); }
  static kernel::DispatchOp getTombstoneKey() { return kernel::DispatchOp::getFromOpaquePointer(llvm::DenseMapInfo<void *>::getTombstoneKey()); }
  static unsigned getHashValue(kernel::DispatchOp dispatch);
  static bool isEqual(kernel::DispatchOp a, kernel::DispatchOp b);
};

} // namespace mpc
#endif
