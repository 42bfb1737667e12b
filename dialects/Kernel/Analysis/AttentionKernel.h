//===- AttentionKernel.h - which attention a GPU computes in one kernel ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_KERNEL_ANALYSIS_ATTENTIONKERNEL_H
#define MPC_KERNEL_ANALYSIS_ATTENTIONKERNEL_H
#include "dialects/Kernel/IR/Kernel.h"
#include <array>

namespace mpc::kernel {

/// Returns whether the op is a graph.attention or graph.attention_grad.
bool isAttention(mlir::Operation *op);

/// Returns the op of a dispatch whose form is `attention`; its verifier sees to it that there is one.
mlir::Operation *attentionOf(DispatchOp dispatch);

/// Where the element [b, h, m, i] of an operand or result of an attention lies in a buffer: offset + strides * index,
/// in elements.
struct HeadAccess {
  mlir::Value buffer; ///< an argument of the dispatch, or what it yields
  int64_t offset = 0;
  std::array<int64_t, 4> strides{};
};
/// Returns whether the op only moves rows of heads, so that a kernel reads or writes them where they lie: a
/// graph.transpose that keeps the last dimension, or a graph.slice without steps, of four dimensions.
bool movesRows(mlir::Operation *op);
/// Returns where an operand of an attention lies: the buffer is what ops that move rows read.
HeadAccess accessOfOperand(mlir::Value operand);
/// Returns where a result lies in what the dispatch yields: the result, a transpose of it, or a concatenation of such.
/// Nullopt where the dispatch does not yield it.
std::optional<HeadAccess> accessOfResult(DispatchOp dispatch, mlir::Value result);
/// Returns whether a kernel reads an operand of an attention where it lies: no op moves its rows; or they can be copied
/// in pieces of 16 bytes (q, k, v and dy), or are single numbers (delta).
bool readsInPlace(mlir::OpOperand &operand);
/// Returns whether the op is a transpose of an attention's result that the kernel writes where it lies, or a
/// concatenation of the heads of several results of one attention, as they are or transposed.
bool writesInPlace(mlir::Operation *op);
/// Returns the results of an attention that a value is made of: itself, or what an op that writes in place reads.
llvm::SmallVector<mlir::Value, 3> resultsIn(mlir::Value yielded);

/// Returns why a GPU has no kernel for this attention or its gradient (passes/Lowering/AttentionToGpu); empty where it
/// has one.
llvm::StringRef whyNoAttentionKernel(mlir::Operation *op, const GpuArch &gpu);

/// The operations of the products of an attention's kernels, two for each multiply-add. Keys that `before` and `after`
/// hide do not count.
struct AttentionCost {
  double flops = 0;   ///< of all kernels
  double dqFlops = 0; ///< of a gradient: of the kernel of dq
};
AttentionCost costOfAttention(mlir::Operation *op);

} // namespace mpc::kernel
#endif
