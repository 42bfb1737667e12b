//===- KernelToGpu.h - one loop dispatch becomes one GPU kernel ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_LOWERING_KERNELTOGPU_KERNELTOGPU_H
#define MPC_LOWERING_KERNELTOGPU_KERNELTOGPU_H
#include "dialects/Kernel/IR/Kernel.h"
#include "mlir/IR/BuiltinOps.h"

namespace mpc {

/// Appends `llvm.func @symbol` to the module, which is for a GPU, with one `!llvm.ptr<1>` for each input and then for
/// each result of the dispatch, which is no contraction. The kernel has the form that dialects/Kernel/IR/DeviceOps.td
/// describes. `in_place` makes a result use its input's pointer. Returns the launch. Fails with a diagnostic at an op
/// that has no elemental model.
mlir::FailureOr<kernel::LaunchAttr> emitGpuKernel(kernel::DispatchOp dispatch, mlir::ModuleOp module,
                                                  llvm::StringRef symbol);

} // namespace mpc
#endif
