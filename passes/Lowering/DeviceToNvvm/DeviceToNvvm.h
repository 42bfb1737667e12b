//===- DeviceToNvvm.h - device ops to PTX's dialect -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_LOWERING_DEVICETONVVM_DEVICETONVVM_H
#define MPC_LOWERING_DEVICETONVVM_DEVICETONVVM_H
#include "mlir/IR/BuiltinOps.h"

namespace mpc {

/// Lowers the kernels (`llvm.func` with `kernel.entry`) of a module for the GPU of its `kernel.target`. Fails with a
/// located diagnostic where that is none, or where a kernel uses an instruction that the GPU does not have, or more
/// shared memory than a block can have there.
///
/// A kernel with more than 48 KB of shared memory takes all of it as dynamic shared memory, whose size
/// `dynamicSharedBytes` returns and a launch must give.
mlir::LogicalResult lowerDeviceOps(mlir::ModuleOp module);

/// The bytes of dynamic shared memory that a launch of this lowered kernel must ask for; most kernels have 0.
int64_t dynamicSharedBytes(mlir::Operation *kernel);

} // namespace mpc
#endif
