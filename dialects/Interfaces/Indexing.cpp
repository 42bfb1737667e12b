#include "dialects/Interfaces/Indexing.h"
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
