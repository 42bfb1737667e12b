//===- Activation.cpp - elements of activation functions ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Lowering/Elemental/Ops/Models.h"

using namespace mlir;
using namespace mpc;

/// y = f(x), computed in the register type and rounded once.
template <typename OpT, typename F>
static Value activation(OpT op, ArrayRef<Index> index, ElementEmitter &e, F f) {
  Value x = e.operand(op, 0, index);
  return e.round(f(x), graph::elementOf(op.getResult()));
}

static Value whereNotNegative(ElementEmitter &e, Value x, Value then, Value otherwise) {
  return e.select(e.compare(arith::CmpFPredicate::OGE, x, e.constant(x.getType(), 0)), then, otherwise);
}

static Value emit(graph::SigmoidOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  // With t = e^-|x|, which cannot overflow, this is 1/(1+t), or t/(1+t) for negative x. It is accurate down
  // to denormals.
  return activation(op, index, e, [&](Value x) {
    Value t = e.create<math::ExpOp>(e.neg(e.abs(x))), one = e.constant(x.getType(), 1), divisor = e.add(one, t);
    return e.div(whereNotNegative(e, x, one, t), divisor);
  });
}
static Value emit(graph::SwishOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  double alpha = op.getAlpha().convertToDouble();
  return activation(op, index, e, [&](Value x) { return e.div(x, e.add(1, e.create<math::ExpOp>(e.mul(x, -alpha)))); });
}
static Value emit(graph::SoftplusOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  // max(x, 0) + log1p(e^-|x|)
  return activation(op, index, e, [&](Value x) {
    Value tail = e.create<math::Log1pOp>(e.create<math::ExpOp>(e.neg(e.abs(x))));
    return e.add(e.max(x, 0), tail);
  });
}
static Value emit(graph::SoftsignOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  return activation(op, index, e, [&](Value x) { return e.div(x, e.add(1, e.abs(x))); });
}
static Value emit(graph::HardSwishOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  return activation(op, index, e, [&](Value x) {
    Value gate = e.add(e.mul(x, 1.0 / 6), 0.5);
    return e.mul(x, e.max(e.min(gate, 1), 0));
  });
}
static Value emit(graph::HardSigmoidOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  double alpha = op.getAlpha().convertToDouble(), beta = op.getBeta().convertToDouble();
  return activation(op, index, e, [&](Value x) { return e.max(e.min(e.add(e.mul(x, alpha), beta), 1), 0); });
}
static Value emit(graph::LeakyReluOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  double alpha = op.getAlpha().convertToDouble();
  return activation(op, index, e, [&](Value x) { return whereNotNegative(e, x, x, e.mul(x, alpha)); });
}
static Value emit(graph::EluOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  double alpha = op.getAlpha().convertToDouble();
  return activation(op, index, e,
                    [&](Value x) { return whereNotNegative(e, x, x, e.mul(alpha, e.create<math::ExpM1Op>(x))); });
}
static Value emit(graph::GeluOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  return activation(op, index, e, [&](Value x) {
    if (op.getApproximate()) {
      // x/2 (1 + tanh(u)) = x / (1 + e^-2u) with u = sqrt(2/pi) (x + 0.044715 x^3): nothing cancels for
      // negative x.
      Value scaled = e.mul(x, 0.044715), cubic = e.mul(e.mul(x, x), scaled);
      Value u2 = e.mul(-2 * 0.7978845608028654, e.add(x, cubic));
      return e.div(x, e.add(1, e.create<math::ExpOp>(u2)));
    }
    // x/2 erfc(-x/sqrt 2) is accurate in the tail, where 1 + erf cancels.
    Value tail = e.create<math::ErfcOp>(e.mul(x, -0.7071067811865476));
    return e.mul(e.mul(x, 0.5), tail);
  });
}

#define ATTACH(OP) MPC_ATTACH_ELEMENTAL(context, graph::OP)
void mpc::attachActivationModels(MLIRContext *context) {
  ATTACH(SigmoidOp), ATTACH(SoftplusOp), ATTACH(SoftsignOp), ATTACH(HardSwishOp), ATTACH(HardSigmoidOp);
  ATTACH(LeakyReluOp), ATTACH(EluOp), ATTACH(GeluOp), ATTACH(SwishOp);
}
