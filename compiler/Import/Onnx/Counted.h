//===- Counted.h - tensors whose number of rows the data say ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NonZero, Compress and NonMaxSuppression have as many results as the data say, and shapes are static here. So such a
// value is as long as it can become, and Entry::counted says how many of its rows are there. The rows behind them
// repeat a row that is there, so that they hold nothing worse than the rows that are meant (a logarithm of x[x > 0] is
// finite in all rows). Whatever combines the rows leaves them out: sums mask them, losses ignore their labels, scatters
// drop them.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_IMPORT_ONNX_COUNTED_H
#define MPC_IMPORT_ONNX_COUNTED_H
#include "compiler/Import/Onnx/Node.h"

namespace mpc::onnx_import {

/// Converts a node that has a counted input. Throws where the op's results would depend on the rows that are not there.
void convertCounted(Node &, const OpRow &);

/// These are the positions of the elements that are true in a mask of rank 1, in order, and how many there are.
struct Positions {
  mlir::Value positions; // i64 [elements of the mask]
  mlir::Value count;     // i64 []
};
Positions positionsOf(Node &, mlir::Value mask);

/// Returns, as i1 of `type`'s shape, whether the row along the dimension is one of the first `count`.
mlir::Value rowsThere(Node &, mlir::RankedTensorType type, const Counted &);

/// Fails if a value that leaves a branch or a loop's body has a number of rows that the data say.
void refuseCounted(Node &, llvm::ArrayRef<Entry>);

/// Returns the running sums of x [outer, length, inner] along the middle dimension. Long rows are divided into blocks,
/// whose sums have running sums of their own: the work is that of 64 additions for each element, whatever the length.
mlir::Value runningSums(Node &, mlir::Value x, bool exclusive, bool reverse);

} // namespace mpc::onnx_import
#endif
