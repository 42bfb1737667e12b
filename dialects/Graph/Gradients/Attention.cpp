//===- Attention.cpp - VJP of attention --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Graph/IR/AttentionForm.h"
#include "dialects/Support/Diagnostics.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

/// One op computes all cotangents, because all need p. Its description has the formulas.
LogicalResult AttentionOp::buildVjp(VjpContext &ctx) {
  if (ctx.cotangent(1) || ctx.cotangent(2))
    return emitErrorWithHint(getLoc(), "'graph.attention' has no gradient through its largest scores and their sums",
                             "use its first output only on the path to the loss");
  unsigned bias = getMask() ? 4 : 3;
  bool trainsBias = getBias() && ctx.needs(bias);
  SmallVector<Type> types{getQ().getType(), getK().getType(), getV().getType()};
  if (trainsBias)
    types.push_back(getBias().getType());
  GraphBuilder b(ctx);
  Value dy = ctx.cotangent(0), delta = AttentionForm::deltaOf(b, getY(), dy);
  auto grad = b.create<AttentionGradOp>(
      types, getQ(), getK(), getV(), getMask(), getBias(), getSeed(), getStep(), getLargest(), getLogSum(), delta, dy,
      getScaleAttr(), getFillAttr(), getBeforeAttr(), getAfterAttr(), getZeroRowsAttr(), getRatioAttr(), getSaltAttr());
  ctx.set(0, grad.getDq());
  ctx.set(1, grad.getDk());
  ctx.set(2, grad.getDv());
  if (trainsBias)
    ctx.set(bias, grad.getDbias());
  return success();
}
