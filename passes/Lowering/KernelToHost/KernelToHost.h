//===- KernelToHost.h - one loop dispatch becomes one host kernel ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_LOWERING_KERNELTOHOST_KERNELTOHOST_H
#define MPC_LOWERING_KERNELTOHOST_KERNELTOHOST_H
#include "dialects/Kernel/IR/Kernel.h"
#include "mlir/IR/BuiltinOps.h"

namespace mpc {

/// Appends `llvm.func @symbol(%buffers: !llvm.ptr, %begin: i64, %end: i64)` to the module (contract:
/// runtime/abi/mpc/kernel.h). The buffers are those of the inputs, then of the results; `in_place`
/// makes a result use its input's buffer. The body has scf, arith, math and llvm ops.
/// Returns the launch; its grain is the smallest slice of the grid that is worth a thread (runtime/abi/README.md), at
/// most the grid, except for flat kernels (kernel::isFlat), whose grids differ.
/// Fails with a diagnostic at an op that has no elemental model.
mlir::FailureOr<kernel::LaunchAttr> emitHostKernel(kernel::DispatchOp dispatch, mlir::ModuleOp module,
                                                   llvm::StringRef symbol);

} // namespace mpc
#endif
