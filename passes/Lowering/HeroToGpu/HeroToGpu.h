//===- HeroToGpu.h - matrix products and convolutions as GPU kernels ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_LOWERING_HEROTOGPU_HEROTOGPU_H
#define MPC_LOWERING_HEROTOGPU_HEROTOGPU_H
#include "dialects/Kernel/IR/Kernel.h"

namespace mpc {

/// Appends the kernels of a contraction to the module, which is for a GPU: `symbol` and, where its sums are split,
/// `symbol` + "_reduce". The dispatch holds one hero (a graph.matmul, conv, conv_input_grad or conv_weight_grad of
/// inputs of the dispatch) and the pointwise ops that follow it; every result of the dispatch has as many elements as
/// the hero's. The kernels have the form that dialects/Kernel/IR/DeviceOps.td describes and are deterministic. Returns
/// their launches in order; each starts after the one before it is complete. There are none where there is nothing to
/// compute. Fails with a diagnostic.
///
/// The dispatch carries its schedule (mpc-schedule). Products are exact (f32 products enter the sum by fma),
/// sums are in f32 (in f64 for f64), the sum is rounded once to the hero's type, and then the ops behind the
/// hero follow.
mlir::FailureOr<llvm::SmallVector<kernel::LaunchAttr>> emitGpuHero(kernel::DispatchOp dispatch, mlir::ModuleOp module,
                                                                   llvm::StringRef symbol);

} // namespace mpc
#endif
