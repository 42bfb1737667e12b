//===- Storage.h - tensors in memory ----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In memory, ops with the trait StorageView (graph.reshape, graph.barrier, train.all_reduce) are views:
// they cost nothing.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_GRAPH_IR_STORAGE_H
#define MPC_GRAPH_IR_STORAGE_H
#include "dialects/Graph/IR/Graph.h"

namespace mpc::graph {

/// The alignment in bytes of every tensor that a launch reads or writes: one cache line, one AVX-512 vector.
/// Kernels rely on it.
inline constexpr int64_t kTensorAlignment = 64;

/// Returns the bytes of a tensor in memory (an i1 takes a byte).
int64_t bytesOf(mlir::Type tensor);
/// Returns whether two tensors have as many elements, of as many bytes: whether one can take the place of the other
/// element by element.
bool sameCells(mlir::Type a, mlir::Type b);
/// Returns the value whose memory v is a view of, or v itself if it is no view.
mlir::Value storageOf(mlir::Value v);

/// Returns whether the op is a view of its first operand.
bool isView(mlir::Operation *op);
/// Returns whether the op is a sample of its operand: a slice of at most an eighth of the elements. Where the operand
/// is in memory, whoever reads the sample may as well read those elements there, so the sample need not be stored.
bool isSample(mlir::Operation *op);
/// Returns whether v lies in memory all the time, as constants and the values of variables do
/// (PermanentStorage). v is no view.
bool isPermanent(mlir::Value v);

/// Returns whether the op is a cast to a type that is no narrower. Reading its operand again costs no more than reading
/// its result would.
bool isWideningCast(mlir::Operation *op);
/// Returns whether each user of an elementwise value computes the value itself where it has several users, rather than
/// reads it from memory: it takes at most two tensors of its shape (`loads`) and six ops, itself included. The limits
/// are estimates.
constexpr bool isCheapToRepeat(int64_t loads, int64_t ops) { return loads <= 2 && ops <= 6; }

/// Appends the ops that use v, directly or through views, in no particular order; the views themselves go to `views`,
/// parents before their children. A barrier that waits for v is a user.
void usersThroughViews(mlir::Value v, llvm::SmallVectorImpl<mlir::Operation *> &users,
                       llvm::SmallVectorImpl<mlir::Operation *> *views = nullptr);

} // namespace mpc::graph
#endif
