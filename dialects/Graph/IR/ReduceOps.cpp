//===- ReduceOps.cpp - reductions: shapes, checks, folds ---------------------===//
#include "dialects/Graph/IR/Shapes.h"

using namespace mlir;
using namespace mpc::graph;

#define REDUCTION(OP)                                                                                                  \
  LogicalResult OP::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,                          \
                                     SmallVectorImpl<Type> &types) {                                                   \
    RankedTensorType x = typeOf(adaptor.getX());                                                                       \
    types.push_back(x.clone(reducedShape(x.getShape(), adaptor.getAxes(), adaptor.getKeepdims())));                    \
    return success();                                                                                                  \
  }                                                                                                                    \
  LogicalResult OP::verify() {                                                                                         \
    return verifyAxes(getAxes(), typeOf(getX()).getRank(), [&] { return emitOpError(); });                             \
  }                                                                                                                    \
  OpFoldResult OP::fold(FoldAdaptor) {                                                                                 \
    bool isIdentity = getAxes().empty() && getX().getType() == getType() && !std::is_same_v<OP, ReduceL2Op>;           \
    return isIdentity ? OpFoldResult(getX()) : OpFoldResult();                                                         \
  }
REDUCTION(ReduceSumOp)
REDUCTION(ReduceMeanOp)
REDUCTION(ReduceMaxOp)
REDUCTION(ReduceMinOp)
REDUCTION(ReduceProdOp)
REDUCTION(ReduceL2Op)
REDUCTION(ReduceAnyOp)
#undef REDUCTION

LogicalResult ArgMaxOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc, Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  int64_t axis = adaptor.getAxis(), rank = typeOf(adaptor.getX()).getRank();
  if (axis < 0 || axis >= rank)
    return emitOptionalError(loc, "axis ", axis, " is out of range for rank ", rank);
  if (shapeOf(adaptor.getX())[axis] == 0)
    return emitOptionalError(loc, "axis ", axis, " has no elements, so none is the largest or smallest");
  types.push_back(RankedTensorType::get(reducedShape(shapeOf(adaptor.getX()), {axis}, adaptor.getKeepdims()),
                                        IntegerType::get(context, 64)));
  return success();
}
