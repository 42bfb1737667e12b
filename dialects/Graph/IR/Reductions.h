//===- Reductions.h - what all reductions answer alike ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The base class of the reductions (ReduceOps.td) defines their methods with these functions.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_GRAPH_IR_REDUCTIONS_H
#define MPC_GRAPH_IR_REDUCTIONS_H
#include "dialects/Graph/IR/Graph.h"

namespace mpc::graph {

/// Returns x's type without the dimensions `axes`, or with one index in each of them with keepdims.
mlir::RankedTensorType reducedType(mlir::Value x, llvm::ArrayRef<int64_t> axes, bool keepdims);
/// Returns the place in the reduced tensor of dimension `dim` of the operand; nullopt if it is one of the axes.
std::optional<int64_t> keptDim(llvm::ArrayRef<int64_t> axes, bool keepdims, int64_t dim);

/// Fails with a diagnostic if the axes are not strictly increasing and within the operand's rank.
llvm::LogicalResult verifyReduction(ReductionOpInterface op);
/// Returns the operand if the reduction has no axes and leaves each element as it is.
mlir::OpFoldResult foldReduction(ReductionOpInterface op);
/// This is IndexingOpInterface::permuted of a reduction.
mlir::Operation *permutedReduction(ReductionOpInterface op, mlir::OpBuilder &b, llvm::ArrayRef<int64_t> order,
                                   mlir::ValueRange operands);

} // namespace mpc::graph
#endif
