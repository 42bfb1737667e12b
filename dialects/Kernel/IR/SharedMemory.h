//===- SharedMemory.h - how a block's shared memory is divided ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_KERNEL_IR_SHAREDMEMORY_H
#define MPC_KERNEL_IR_SHAREDMEMORY_H
#include "dialects/Kernel/IR/Kernel.h"

namespace mpc::kernel {

/// Places the `kernel.shared` allocations of a kernel one behind the other.
struct SharedMemory {
  int64_t bytes = 0, alignment = 1;

  SharedMemory() = default;
  /// Places all allocations of the kernel.
  explicit SharedMemory(mlir::Operation *kernel);
  /// Places one more allocation and returns its offset.
  int64_t add(SharedOp piece);
};

} // namespace mpc::kernel
#endif
