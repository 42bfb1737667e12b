//===- HostCall.h - what a host library computes of a dispatch -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_KERNEL_ANALYSIS_HOSTCALL_H
#define MPC_KERNEL_ANALYSIS_HOSTCALL_H
#include "dialects/Graph/IR/Graph.h"
#include "dialects/Kernel/IR/Kernel.h"

namespace mpc::kernel {

/// The part of a contraction that a host library computes in one call: the product or convolution and a bias. Loops
/// compute the rest from the call's result.
struct HostCall {
  ContractionOpInterface contraction;
  graph::AddOp bias;   ///< adds a number for each column; null without one
  mlir::Value addend;  ///< that number's tensor, an argument of the body; null without one
  unsigned result = 0; ///< which result of the dispatch the call writes

  /// Returns the last value that the call computes.
  mlir::Value value() const { return bias ? mlir::Value(bias->getResult(0)) : contraction->getResult(0); }
  /// Returns whether loops have something to compute behind the call.
  bool hasLoops() const { return contraction->getParentOfType<DispatchOp>().yielded().size() > 1; }

  /// Fails with a located error where the dispatch has no memory for the call's result, that is, does not return it.
  static mlir::FailureOr<HostCall> of(DispatchOp dispatch);
};

/// An addition of one number for each column, and the tensor of these numbers.
struct Bias {
  graph::AddOp add;
  mlir::Value addend;
};

/// Returns the bias that a host library can add in its call: the only user of the product adds a tensor all of whose
/// dimensions but the last are 1, and the last dimension is the contraction's column. Libraries add no bias to f64.
/// Nullopt where there is none.
std::optional<Bias> biasOf(ContractionOpInterface contraction);

} // namespace mpc::kernel
#endif
