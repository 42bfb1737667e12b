//===- DeviceToNvvm.h - device ops to PTX's dialect -----------------------------===//
#ifndef MPC_LOWERING_DEVICETONVVM_DEVICETONVVM_H
#define MPC_LOWERING_DEVICETONVVM_DEVICETONVVM_H
#include "mlir/IR/BuiltinOps.h"

namespace mpc {
struct GpuArch;

/// Lowers the kernels (`llvm.func` with `kernel.threads`) of a module. Fails with a located diagnostic where
/// a kernel uses an instruction that `arch` does not have, or more shared memory than a block of `arch` can
/// have.
///
/// A kernel with more than 48 KB of shared memory takes all of it as dynamic shared memory, whose size
/// `dynamicSharedBytes` returns and a launch must give.
mlir::LogicalResult lowerDeviceOps(mlir::ModuleOp module, const GpuArch &arch);

/// The bytes of dynamic shared memory that a launch of this lowered kernel must ask for; most kernels have 0.
int64_t dynamicSharedBytes(mlir::Operation *kernel);

} // namespace mpc
#endif
