// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Interfaces/Indexing.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
#include "dialects/Interfaces/Indexing.cpp.inc"

std::optional<int64_t> mpc::alignedDim(OpOperand &operand, OpResult result, int64_t dim) {
  auto from = cast<RankedTensorType>(operand.get().getType()), to = cast<RankedTensorType>(result.getType());
  int64_t there = dim + to.getRank() - from.getRank();
  return there >= 0 && from.getDimSize(dim) == to.getDimSize(there) ? std::optional(there) : std::nullopt;
}

bool mpc::keepsNumbers(OpOperand &operand, OpResult result) {
  auto op = cast<IndexingOpInterface>(operand.getOwner());
  auto from = cast<RankedTensorType>(operand.get().getType()), to = cast<RankedTensorType>(result.getType());
  if (from.getNumElements() != to.getNumElements())
    return false;
  if (op.getLoopKind() == LoopKind::View)
    return true;
  // The counts are equal, so the dimensions that follow none have one index. The others must keep their order.
  int64_t last = -1;
  for (auto [dim, extent] : llvm::enumerate(from.getShape())) {
    if (extent == 1)
      continue;
    std::optional<int64_t> there = op.followingDim(operand, result, int64_t(dim));
    if (!there || *there <= last)
      return false;
    last = *there;
  }
  return true;
}

TypedAttr mpc::identityOf(Combiner combiner, Type element) {
  bool isMax = combiner == Combiner::Max;
  if (isMax || combiner == Combiner::Min) {
    if (auto type = dyn_cast<FloatType>(element))
      return FloatAttr::get(type, APFloat::getInf(type.getFloatSemantics(), /*Negative=*/isMax));
    auto type = cast<IntegerType>(element);
    unsigned width = type.getWidth();
    APInt bound = type.isUnsigned() ? (isMax ? APInt::getMinValue(width) : APInt::getMaxValue(width))
                                    : (isMax ? APInt::getSignedMinValue(width) : APInt::getSignedMaxValue(width));
    return IntegerAttr::get(type, bound);
  }
  bool one = combiner == Combiner::Multiply;
  return isa<FloatType>(element) ? TypedAttr(FloatAttr::get(element, double(one)))
                                 : IntegerAttr::get(element, int64_t(one));
}

Operation *mpc::rebuildPermuted(OpBuilder &builder, Operation *op, ArrayRef<int64_t> permutation, ValueRange operands) {
  Operation *made = builder.clone(*op);
  made->setOperands(operands);
  for (Value v : made->getResults())
    if (auto type = cast<RankedTensorType>(v.getType()); type.getRank() == int64_t(permutation.size()))
      v.setType(type.clone(llvm::map_to_vector(permutation, [&](int64_t dim) { return type.getDimSize(dim); })));
  return made;
}
