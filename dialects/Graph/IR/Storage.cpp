//===- Storage.cpp - tensors in memory ----------------------------------------------===//
#include "dialects/Graph/IR/Storage.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mpc::graph;

int64_t mpc::graph::bytesOf(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.getNumElements() * llvm::divideCeil(tensor.getElementTypeBitWidth(), 8);
}

Value mpc::graph::storageOf(Value v) {
  while (auto view = v.getDefiningOp<ReshapeOp>())
    v = view.getX();
  return v;
}

void mpc::graph::usersThroughViews(Value v, SmallVectorImpl<Operation *> &users,
                                   SmallVectorImpl<ReshapeOp> *views) {
  for (Operation *user : v.getUsers())
    if (auto view = dyn_cast<ReshapeOp>(user)) {
      if (views)
        views->push_back(view);
      usersThroughViews(view, users, views);
    } else {
      users.push_back(user);
    }
}
