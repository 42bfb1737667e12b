#include "dialects/Interfaces/Indexing.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
#include "dialects/Interfaces/Indexing.cpp.inc"

std::optional<int64_t> mpc::alignedDim(OpOperand &operand, OpResult result, int64_t dim) {
  auto from = cast<RankedTensorType>(operand.get().getType()), to = cast<RankedTensorType>(result.getType());
  int64_t there = dim + to.getRank() - from.getRank();
  return there >= 0 && from.getDimSize(dim) == to.getDimSize(there) ? std::optional(there) : std::nullopt;
}
