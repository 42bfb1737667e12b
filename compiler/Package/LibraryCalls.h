//===- LibraryCalls.h - contractions in the terms of mpc/library.h -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_PACKAGE_LIBRARYCALLS_H
#define MPC_PACKAGE_LIBRARYCALLS_H
#include "dialects/Kernel/IR/Kernel.h"
#include "mpc/library.h"

namespace mpc {

/// A library call: its description, and the operands that it takes, in the order of the description.
struct LibraryCall {
  mpc_library_desc desc = {};
  /// For each buffer of the call, the number of the dispatch's argument (inputs, then results).
  llvm::SmallVector<unsigned> args;
};

/// Describes what a host library computes of a contraction (kernel::HostCall): a matmul or channels-last convolution,
/// with or without a bias for each column. Fails with a located error where no library computes it.
mlir::FailureOr<LibraryCall> describeLibraryCall(kernel::DispatchOp dispatch);

} // namespace mpc
#endif
