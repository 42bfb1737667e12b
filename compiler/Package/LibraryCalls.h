//===- LibraryCalls.h - library dispatches in the terms of mpc/library.h -----------===//
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

/// Describes a dispatch marked `library`: a matmul or channels-last convolution, optionally followed by a
/// bias for each column and a relu. Fails with a diagnostic when the body is anything else.
mlir::FailureOr<LibraryCall> describeLibraryCall(kernel::DispatchOp dispatch);

} // namespace mpc
#endif
