//===- Countable.h - whether a GPU's threads can count what a dispatch computes --===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_KERNEL_ANALYSIS_COUNTABLE_H
#define MPC_KERNEL_ANALYSIS_COUNTABLE_H
#include "dialects/Kernel/IR/Kernel.h"

namespace mpc::kernel {

/// Verifies that the threads of a GPU, which count in i32, can count what the kernel of a loop dispatch goes through:
/// the points of its space or, for a scatter, the indices, rows and columns. A loop in a thread (`scf.for` over i32)
/// compares numbers with their sign and steps by up to mostBlockThreads behind the last one, so sums and scatters have
/// so many fewer than 2^31. The number of elements of a tensor does not matter, because addresses have 64 bits. Fails
/// with a located error.
llvm::LogicalResult verifyCountable(DispatchOp dispatch);

} // namespace mpc::kernel
#endif
