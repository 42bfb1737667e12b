//===- ReduceOps.cpp - reductions: shapes, checks, folds ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Graph/IR/Reductions.h"
#include "dialects/Graph/IR/Shapes.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

RankedTensorType mpc::graph::reducedType(Value x, ArrayRef<int64_t> axes, bool keepdims) {
  return typeOf(x).clone(reducedShape(shapeOf(x), axes, keepdims));
}

LogicalResult mpc::graph::verifyReduction(ReductionOpInterface op) {
  return verifyAxes(op.getAxes(), typeOf(op->getOperand(0)).getRank(), [&] { return op->emitOpError(); });
}

OpFoldResult mpc::graph::foldReduction(ReductionOpInterface op) {
  Value x = op->getOperand(0);
  // The norm of a single number is its magnitude.
  bool isIdentity =
      op.getAxes().empty() && x.getType() == op->getResult(0).getType() && op.getCombiner() != Combiner::Hypot;
  return isIdentity ? OpFoldResult(x) : OpFoldResult();
}

LogicalResult ArgMaxOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc, Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  int64_t axis = adaptor.getAxis(), rank = typeOf(adaptor.getX()).getRank();
  if (axis < 0 || axis >= rank)
    return emitOptionalError(loc, "axis ", axis, " is out of range for rank ", rank);
  if (shapeOf(adaptor.getX())[axis] == 0)
    return emitOptionalError(loc, "axis ", axis, " has no elements, so none is the largest or smallest");
  types.push_back(reducedType(adaptor.getX(), {axis}, adaptor.getKeepdims()).clone(IntegerType::get(context, 64)));
  return success();
}
