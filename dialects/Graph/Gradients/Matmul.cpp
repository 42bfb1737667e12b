//===- Matmul.cpp - VJPs of matrix products and convolutions -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Graph/IR/GraphBuilder.h"
#include "dialects/Support/Diagnostics.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

/// Swaps the last two dimensions.
static Value transposed(const GraphBuilder &f, Value x) {
  Shape permutation;
  int64_t rank = typeOf(x).getRank();
  for (int64_t i = 0; i < rank - 2; ++i)
    permutation.push_back(i);
  permutation.append({rank - 1, rank - 2});
  return f.transpose(x, permutation);
}

/// Reshapes x: [batch..., rows, columns] to [batch*rows, columns].
static Value flattened(const GraphBuilder &f, Value x) {
  ArrayRef<int64_t> shape = shapeOf(x);
  return f.reshape(x, {llvm::product_of(shape.drop_back()), shape.back()});
}

/// With A = op(a): [..., m, k], B = op(b): [..., k, n] and C = A B: dA = dC B^T, dB = A^T dC. The gradient of an
/// operand that is stored transposed is computed as the transposed product, so that nothing is moved. Where an operand
/// was broadcast over the batch its gradient is a sum over the batch: for a shared b (a linear layer on [N, S, k]) it
/// is one product over N*S rows; in other cases the products stay in fp32 until they are summed.
LogicalResult MatMulOp::buildVjp(VjpContext &ctx) {
  if (isFloat8(elementOf(getA())))
    return emitErrorWithHint(getLoc(), "'graph.matmul' of 8-bit floats has no gradient of its own",
                             "its factors are copies with scales; make the three products of the copies");
  GraphBuilder f(ctx);
  Value a = getA(), b = getB(), dc = ctx.cotangent();
  bool ta = getTransposeA(), tb = getTransposeB();
  ArrayRef<int64_t> batch = shapeOf(dc).drop_back(2), batchA = shapeOf(a).drop_back(2),
                    batchB = shapeOf(b).drop_back(2);
  int64_t matrices = llvm::product_of(batch), ofA = llvm::product_of(batchA), ofB = llvm::product_of(batchB);
  bool sharedB = matrices != 1 && ofB == 1 && ofA == matrices;
  auto wide = [&](Value x, int64_t own) { return own == matrices ? x : f.up(x); };

  if (ctx.needs(0)) {
    Value g = wide(dc, ofA), other = wide(b, ofA);
    // a: [m,k] = dC B^T; a: [k,m] = B dC^T
    ctx.set(0, ta ? f.matmul(other, g, tb, true) : f.matmul(g, other, false, !tb));
  }
  if (!ctx.needs(1))
    return success();
  if (sharedB) {
    Value rows = flattened(f, ta ? transposed(f, a) : a), g = flattened(f, dc);
    Value db = tb ? f.matmul(g, rows, true, false) : f.matmul(rows, g, true, false);
    ctx.set(1, f.reshape(db, shapeOf(b)));
    return success();
  }
  Value g = wide(dc, ofB), other = wide(a, ofB);
  // b: [k,n] = A^T dC; b: [n,k] = dC^T A
  ctx.set(1, tb ? f.matmul(g, other, true, ta) : f.matmul(other, g, !ta, false));
  return success();
}

//===-- Convolutions: a closed family --------------------------------------------===//
// <conv(x, w), dy> = <x, conv_input_grad(dy, w)> = <w, conv_weight_grad(x, dy)> for all x, w, dy. This is one trilinear
// form, and each op is its derivative with respect to one argument. So the VJP of each op is made of the other two.

template <typename OpT>
static Value conv(VjpContext &ctx, OpT op, Value x, Value w) {
  return GraphBuilder(ctx).create<ConvOp>(x, w, op.getStridesAttr(), op.getDilationsAttr(), op.getPadLowAttr(),
                                          op.getPadHighAttr(), op.getGroupsAttr(), op.getLayoutAttr());
}
template <typename OpT>
static Value convInputGrad(VjpContext &ctx, OpT op, Value x, Value dy, Value w) {
  return GraphBuilder(ctx).create<ConvInputGradOp>(x.getType(), dy, w, op.getStridesAttr(), op.getDilationsAttr(),
                                                   op.getPadLowAttr(), op.getPadHighAttr(), op.getGroupsAttr(),
                                                   op.getLayoutAttr());
}
template <typename OpT>
static Value convWeightGrad(VjpContext &ctx, OpT op, Value w, Value x, Value dy) {
  return GraphBuilder(ctx).create<ConvWeightGradOp>(w.getType(), x, dy, op.getStridesAttr(), op.getDilationsAttr(),
                                                    op.getPadLowAttr(), op.getPadHighAttr(), op.getGroupsAttr(),
                                                    op.getLayoutAttr());
}

LogicalResult ConvOp::buildVjp(VjpContext &ctx) {
  if (ctx.needs(0))
    ctx.set(0, convInputGrad(ctx, *this, getX(), ctx.cotangent(), getW()));
  if (ctx.needs(1))
    ctx.set(1, convWeightGrad(ctx, *this, getW(), getX(), ctx.cotangent()));
  return success();
}
/// In the trilinear form, the cotangent of dx takes the place of x.
LogicalResult ConvInputGradOp::buildVjp(VjpContext &ctx) {
  if (ctx.needs(0))
    ctx.set(0, conv(ctx, *this, ctx.cotangent(), getW()));
  if (ctx.needs(1))
    ctx.set(1, convWeightGrad(ctx, *this, getW(), ctx.cotangent(), getDy()));
  return success();
}
/// In the trilinear form, the cotangent of dw takes the place of w.
LogicalResult ConvWeightGradOp::buildVjp(VjpContext &ctx) {
  if (ctx.needs(0))
    ctx.set(0, convInputGrad(ctx, *this, getX(), getDy(), ctx.cotangent()));
  if (ctx.needs(1))
    ctx.set(1, conv(ctx, *this, getX(), ctx.cotangent()));
  return success();
}
