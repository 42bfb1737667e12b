//===- LoopsBehind.h - what follows a host library's call ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_KERNEL_ANALYSIS_LOOPSBEHIND_H
#define MPC_KERNEL_ANALYSIS_LOOPSBEHIND_H
#include "dialects/Kernel/Analysis/HostCall.h"
#include <memory>

namespace mpc::kernel {

/// The loop dispatch that reads the result of a host library's call and computes all other results of the call's
/// dispatch. It is in no module.
struct LoopsBehind {
  /// Makes the dispatch of what follows `call`, the call of `contraction`; something does (HostCall::hasLoops). Fails
  /// with a located error where no one loop nest computes it.
  static mlir::FailureOr<LoopsBehind> of(const HostCall &call, DispatchOp contraction);

  DispatchOp dispatch;
  llvm::SmallVector<int64_t>
      args; ///< the positions of its inputs and then results among the inputs and then results of the call's dispatch

private:
  std::unique_ptr<mlir::Block> holder; ///< what the dispatch reads comes from outside of it
};

} // namespace mpc::kernel
#endif
