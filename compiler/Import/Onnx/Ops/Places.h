//===- Places.h - which elements indices name ------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_IMPORT_ONNX_OPS_PLACES_H
#define MPC_IMPORT_ONNX_OPS_PLACES_H
#include "compiler/Import/Onnx/Node.h"

namespace mpc::onnx_import {

/// Returns the indices as i64, with negative ones replaced by positions counted from the start.
mlir::Value resolved(Node &, mlir::Value indices, int64_t extent);

/// Returns whether a constant holds 0, 1, 2, ...: what is looked up there is a length (tools/torch/export.py writes
/// masks of padded sequences like that), and a negative one is no place from the end.
bool countsUp(const Entry &table);

/// Returns the row-major positions, in a tensor of `shape`, of the elements that GatherElements and ScatterElements
/// address: each has its own coordinates, but the index along the axis.
mlir::Value elementPositions(Node &, mlir::Value indices, llvm::ArrayRef<int64_t> shape, int64_t axis);
/// Fails unless the node's indices (input 1) lie within its data (input 0) in the other dimensions.
void checkElementIndices(Node &, int64_t axis);

/// Returns the positions of the slices that GatherND and ScatterND address, in data whose first `batch + k`
/// dimensions are merged into one.
mlir::Value slicePositions(Node &, size_t input, int64_t batch, llvm::ArrayRef<int64_t> data);
/// Returns the shape of data whose first `count` dimensions are merged into one.
graph::Shape joined(llvm::ArrayRef<int64_t> data, int64_t count);

/// Builds a value [rows, ...] in parts along its first dimension, each of at most 2^30 points of work, which is what
/// the threads of a GPU count. `build(from, count)` builds the part of these rows.
mlir::Value inParts(Node &, int64_t rows, int64_t pointsPerRow,
                    llvm::function_ref<mlir::Value(int64_t from, int64_t count)> build);
/// Returns the rows of x that belong to a part.
mlir::Value rowsOf(Node &, mlir::Value x, int64_t from, int64_t count);

} // namespace mpc::onnx_import
#endif
