// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Kernel/Analysis/BlockMemory.h"
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Graph/IR/Storage.h"
#include "dialects/Kernel/Analysis/Form.h"
#include "dialects/Kernel/Analysis/Space.h"
#include "dialects/Kernel/Target/Blocks.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::kernel;

Type kernel::accumulatorType(Operation *reduction) {
  Type element = graph::elementOf(reduction->getOperand(0));
  auto integer = dyn_cast<IntegerType>(element);
  if (!integer)
    return graph::computeType(element);
  bool isBoolean = integer.getWidth() == 1, isMean = cast<ReductionOpInterface>(reduction).isMean();
  return IntegerType::get(element.getContext(), isBoolean ? 8 : isMean ? 64 : integer.getWidth());
}

RankedTensorType kernel::tileOf(Value result, int64_t side) {
  return RankedTensorType::get({side * tilePitch(side)}, graph::elementOf(result));
}

RankedTensorType kernel::exchangedSums(Operation *reduction, int64_t threads, int64_t columns, int64_t vector) {
  int64_t warps = threads / warpThreads; // This is 0 where a part of a warp computes a row.
  return RankedTensorType::get({warps <= 1 ? 0 : warps * columns * vector}, accumulatorType(reduction));
}

/// Returns the bytes of tensors one behind the other, each in a `kernel.shared` of its own.
static int64_t bytesOfAll(ArrayRef<RankedTensorType> tensors) {
  int64_t bytes = 0;
  for (RankedTensorType tensor : tensors)
    if (int64_t own = graph::bytesOf(tensor))
      bytes = llvm::alignTo(bytes, sharedAlignment) + own;
  return bytes;
}

int64_t kernel::tileBytes(DispatchOp dispatch, int64_t side) {
  return bytesOfAll(llvm::map_to_vector(dispatch.yielded(), [&](Value v) { return tileOf(v, side); }));
}

int64_t kernel::exchangedBytes(DispatchOp dispatch, int64_t threads, int64_t columns, int64_t vector) {
  SmallVector<RankedTensorType> exchanged;
  for (Operation &op : dispatch.getBody().front())
    if (combinesElements(&op))
      exchanged.push_back(exchangedSums(&op, threads, columns, vector));
  return bytesOfAll(exchanged);
}

int64_t kernel::sharedBytes(DispatchOp dispatch, LoopsAttr loops) {
  int64_t rows = loops.getThreads()[0], columns = loops.getThreads()[1];
  switch (loops.getWalk()) {
  case Walk::Points:
    return 0;
  case Walk::Tiles:
    return tileBytes(dispatch, loops.getOrder().back().tile);
  case Walk::Copies:
    return TransposedCopy::of(dispatch)->tileBytes;
  case Walk::Rows: // a row belongs to a row of threads, all of which share one sum
    return exchangedBytes(dispatch, columns, /*columns=*/1, /*vector=*/1);
  case Walk::Columns:
    return exchangedBytes(dispatch, rows * columns, columns, loops.getVector());
  }
  llvm_unreachable("every walk has blocks");
}
