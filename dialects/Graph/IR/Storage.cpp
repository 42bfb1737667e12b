//===- Storage.cpp - tensors in memory ----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Graph/IR/Storage.h"
#include "dialects/Graph/IR/Shapes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mpc::graph;

int64_t mpc::graph::bytesOf(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.getNumElements() * llvm::divideCeil(tensor.getElementTypeBitWidth(), 8);
}

bool mpc::graph::sameCells(Type a, Type b) {
  return cast<RankedTensorType>(a).getNumElements() == cast<RankedTensorType>(b).getNumElements() &&
         bytesOf(a) == bytesOf(b);
}

bool mpc::graph::isView(Operation *op) { return op && op->hasTrait<StorageView>(); }

bool mpc::graph::isSample(Operation *op) {
  auto slice = dyn_cast_or_null<SliceOp>(op);
  return slice && 8 * slice.getY().getType().getNumElements() <= slice.getX().getType().getNumElements();
}

bool mpc::graph::isPermanent(Value v) {
  Operation *op = v.getDefiningOp();
  return op && op->hasTrait<PermanentStorage>();
}

Value mpc::graph::storageOf(Value v) {
  while (isView(v.getDefiningOp()))
    v = v.getDefiningOp()->getOperand(0);
  return v;
}

bool mpc::graph::isWideningCast(Operation *op) {
  auto cast = dyn_cast<CastOp>(op);
  return cast && elementOf(cast.getX()).getIntOrFloatBitWidth() <= elementOf(cast.getY()).getIntOrFloatBitWidth();
}

void mpc::graph::usersThroughViews(Value v, SmallVectorImpl<Operation *> &users, SmallVectorImpl<Operation *> *views) {
  for (OpOperand &use : v.getUses()) {
    Operation *user = use.getOwner();
    if (!isView(user) || use.getOperandNumber() != 0) {
      users.push_back(user);
      continue;
    }
    if (views)
      views->push_back(user);
    usersThroughViews(user->getResult(0), users, views);
  }
}
