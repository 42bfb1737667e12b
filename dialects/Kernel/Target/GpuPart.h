//===- GpuPart.h - the parts of an architecture, which differ in size and memory --===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_KERNEL_TARGET_GPUPART_H
#define MPC_KERNEL_TARGET_GPUPART_H
#include "dialects/Kernel/Target/GpuArch.h"
#include "llvm/ADT/SmallVector.h"

namespace mpc {

/// A GPU that NVIDIA sells. Code is made for an architecture; what a step takes depends on the part.
struct GpuPart {
  llvm::StringRef name; ///< "H200"
  llvm::StringRef arch; ///< the row of GpuArch: "sm_90a"
  int multiprocessors;
  int clockMHz;  ///< boost
  int globalGBs; ///< bandwidth of memory, 10^9 bytes a second
  int l2MiB;

  /// Returns the architecture with this part's numbers.
  GpuArch of(GpuArch arch) const {
    arch.part = name;
    arch.multiprocessors = multiprocessors;
    arch.clockMHz = clockMHz;
    arch.globalGBs = globalGBs;
    arch.l2MiB = l2MiB;
    return arch;
  }
};

/// Returns the parts of an architecture. The first is the one whose numbers GpuArch has.
llvm::SmallVector<GpuPart> partsOf(const GpuArch &arch);

/// The share of a part's bandwidth that good kernels reach, and what starting one costs. Estimates of whole steps use
/// them (compiler/Report), beside each product's own estimate (passes/Lowering/Schedule/Model.h). These numbers are
/// assumptions, from a reading of the kernels of networks for sm_90a, and not measurements: a GPU's own copies and
/// empty launches are to replace them.
struct AchievedShares {
  double memory = 0.9;         ///< copies at 4.3 of the 4.8 TB/s that an H200's data sheet says
  double launchSeconds = 3e-6; ///< from one launch to the next in a graph of launches
  double issue = 0.8;          ///< of the warp instructions that a multiprocessor can issue; an estimate
};

} // namespace mpc
#endif
