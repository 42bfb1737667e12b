//===- LibraryCalls.h - library dispatches in the terms of mpc/library.h -----------===//
#ifndef MPC_PACKAGE_LIBRARYCALLS_H
#define MPC_PACKAGE_LIBRARYCALLS_H
#include "dialects/Kernel/IR/Kernel.h"
#include "mpc/library.h"

namespace mpc {

/// A library call: what it computes and which operands it takes, in the order of the description.
struct LibraryCall {
  mpc_library_desc desc = {};
  /// Per buffer: the dispatch's argument (inputs, then results).
  llvm::SmallVector<unsigned> args;
};

/// Describes a dispatch marked `library`: a matmul or channels-last convolution, optionally + bias per column, then relu. Fails with
/// a diagnostic when the body is something else.
mlir::FailureOr<LibraryCall> describeLibraryCall(kernel::DispatchOp dispatch);

} // namespace mpc
#endif
