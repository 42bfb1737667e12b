//===- ReduceOps.cpp - reductions: shapes, checks, folds ---------------------===//
#include "dialects/Graph/IR/Shapes.h"

using namespace mlir;
using namespace mpc::graph;

static LogicalResult checkAxes(ArrayRef<int64_t> axes, int64_t rank, function_ref<InFlightDiagnostic()> error) {
  for (auto [i, axis] : llvm::enumerate(axes)) {
    if (axis < 0 || axis >= rank)
      return error() << "axis " << axis << " is out of range for rank " << rank;
    if (i > 0 && axes[i - 1] >= axis)
      return error() << "axes must be strictly increasing, got [" << axes << "]";
  }
  return success();
}

#define REDUCTION(OP)                                                                                              \
  LogicalResult OP::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,                    \
                                     SmallVectorImpl<Type> &types) {                                               \
    RankedTensorType x = typeOf(adaptor.getX());                                                                   \
    types.push_back(x.clone(reducedShape(x.getShape(), adaptor.getAxes(), adaptor.getKeepdims())));               \
    return success();                                                                                              \
  }                                                                                                                \
  LogicalResult OP::verify() {                                                                                     \
    return checkAxes(getAxes(), typeOf(getX()).getRank(), [&] { return emitOpError(); });                         \
  }                                                                                                                \
  OpFoldResult OP::fold(FoldAdaptor) {                                                                             \
    return getAxes().empty() && getX().getType() == getType() ? OpFoldResult(getX()) : OpFoldResult();            \
  }
REDUCTION(ReduceSumOp)
REDUCTION(ReduceMeanOp)
REDUCTION(ReduceMaxOp)
REDUCTION(ReduceMinOp)
REDUCTION(ReduceProdOp)
REDUCTION(ReduceAnyOp)
#undef REDUCTION

LogicalResult ArgMaxOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc, Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  int64_t axis = adaptor.getAxis(), rank = typeOf(adaptor.getX()).getRank();
  if (axis < 0 || axis >= rank)
    return emitOptionalError(loc, "axis ", axis, " is out of range for rank ", rank);
  types.push_back(RankedTensorType::get(reducedShape(shapeOf(adaptor.getX()), {axis}, adaptor.getKeepdims()),
                                        IntegerType::get(context, 64)));
  return success();
}
