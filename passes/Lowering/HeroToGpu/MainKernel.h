//===- MainKernel.h - what a mainloop is given to emit its code -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_LOWERING_HEROTOGPU_MAINKERNEL_H
#define MPC_LOWERING_HEROTOGPU_MAINKERNEL_H
#include "passes/Lowering/HeroToGpu/Raster.h"
#include "passes/Lowering/HeroToGpu/Sink.h"

namespace mpc::hero {

/// The kernel that computes a hero's sums, or parts of them, while it is emitted.
struct MainKernel {
  Code c;
  const Problem &problem;
  const Schedule &schedule;
  const GpuArch &arch;
  const Raster &raster;
  mlir::BlockArgument a, b; ///< the kernel's parameters that hold the operands
  /// Makes the sink of a work item (Raster.h), which gets so many sums at once.
  llvm::function_ref<std::unique_ptr<Sink>(const BlockPlace &, int neighbours)> sink;
  /// Makes the epilogue of a work item whose sums come in pairs; used where they are not partial sums.
  llvm::function_ref<Epilogue(const BlockPlace &)> pairs;
  llvm::SmallVector<mlir::BlockArgument>
      results; ///< the parameters that hold the results; empty where sums are partial
};

/// Emits the code of one thread and returns the tensor maps that the kernel needs.
using MainloopEmitter = llvm::SmallVector<kernel::TensorMapAttr> (*)(const MainKernel &);
/// The emitter of a mainloop. What else is known of a mainloop is in passes/Lowering/Schedule/Mainloop.h.
MainloopEmitter emitterOf(Mainloop mainloop);

} // namespace mpc::hero
#endif
