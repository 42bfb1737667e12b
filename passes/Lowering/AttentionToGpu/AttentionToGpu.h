//===- AttentionToGpu.h - attention and its gradient as GPU kernels -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_LOWERING_ATTENTIONTOGPU_ATTENTIONTOGPU_H
#define MPC_LOWERING_ATTENTIONTOGPU_ATTENTIONTOGPU_H
#include "dialects/Kernel/IR/Kernel.h"

namespace mpc {

/// Appends the kernels of a dispatch whose form is `attention` to the module, which is for a GPU: `symbol` for an
/// attention; `symbol` + "_dq" and `symbol` + "_dkv" for a gradient, as far as the dispatch has these results. The
/// dispatch carries its schedule (mpc-schedule). The kernels are deterministic; scores and their sums are in f32, and p
/// and ds are rounded once to the element type before they are multiplied. Returns the launches in order. Fails with a
/// diagnostic.
mlir::FailureOr<llvm::SmallVector<kernel::LaunchAttr>> emitGpuAttention(kernel::DispatchOp dispatch,
                                                                        mlir::ModuleOp module, llvm::StringRef symbol);

} // namespace mpc
#endif
