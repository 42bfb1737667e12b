//===- LoopsFit.h - whether #kernel.loops fits a dispatch and its target ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_KERNEL_ANALYSIS_LOOPSFIT_H
#define MPC_KERNEL_ANALYSIS_LOOPSFIT_H
#include "dialects/Kernel/IR/Kernel.h"

namespace mpc::kernel {

/// Verifies the `loops` of a dispatch, if it has any, whose form is right: against its form, the dimensions of its
/// space and what emission can make of a walk on the target (null for the host). Those of a contraction are verified
/// against the loops behind the host library's call. Emitters rely on this and check nothing again. Fails with a
/// located error.
llvm::LogicalResult verifyLoops(DispatchOp dispatch, const GpuArch *gpu);

} // namespace mpc::kernel
#endif
