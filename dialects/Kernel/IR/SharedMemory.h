//===- SharedMemory.h - how a block's shared memory is divided ------------------===//
#ifndef MPC_KERNEL_IR_SHAREDMEMORY_H
#define MPC_KERNEL_IR_SHAREDMEMORY_H
#include "dialects/Kernel/IR/Kernel.h"

namespace mpc::kernel {

/// The `kernel.shared` pieces of a kernel, one behind the other.
struct SharedMemory {
  int64_t bytes = 0, alignment = 1;

  SharedMemory() = default;
  /// All pieces of the kernel.
  explicit SharedMemory(mlir::Operation *kernel);
  /// The offset of one more piece.
  int64_t add(SharedOp piece);
};

} // namespace mpc::kernel
#endif
