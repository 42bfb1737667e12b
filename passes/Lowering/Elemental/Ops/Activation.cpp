//===- Activation.cpp - elements of activation functions ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Kernel/IR/Kernel.h"
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

/// Phi(x), without cancellation in the lower tail. In f32, Phi(-a) = e^(-a^2/2) t p(1 - t) for a >= 0, with t = 1/(1 +
/// 0.34 a): t p is the Mills ratio over sqrt(2 pi), and the polynomial is a fit made for this file, within 2^-25 for a
/// up to 13.5; behind that Phi(-a) is a denormal of few bits. 1 - t = 0.34 a t is exact to its own last digits for
/// small a, where the rounding of t would be magnified. The exponential is that of the density (GeluOp::buildVjp).
static Value normalCdf(ElementEmitter &e, Value x) {
  if (!x.getType().isF32())
    return e.mul(0.5, e.create<math::ErfcOp>(e.mul(x, -0.7071067811865476)));
  constexpr double coefficients[] = {0.5000000132,   -0.6733604221,  0.3159085684,  0.08467561615, -0.07706075419,
                                     -0.02933862349, -0.02912470037, 0.07028988138, -0.026370234};
  Value bell = e.create<math::ExpOp>(e.mul(e.mul(x, x), -0.5)), scaled = e.mul(e.abs(x), 0.34);
  // Behind this bound the exponential is 0, or NaN for NaN; infinity times t would be NaN.
  scaled = e.select(e.less(scaled, 5), scaled, 5);
  Value d = e.add(scaled, 1.0), t = kernel::ApproxOp::create(e.b, d.getType(), kernel::Approx::Reciprocal, d);
  Value u = e.mul(scaled, t), p = e.constant(x.getType(), coefficients[8]);
  for (double coefficient : llvm::reverse(ArrayRef(coefficients).drop_back()))
    p = e.fma(p, u, coefficient);
  Value tail = e.mul(bell, e.mul(t, p)), reflected = e.sub(1, tail);
  return e.select(e.less(x, 0), tail, reflected);
}

static Value emit(graph::NormalCdfOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  return activation(op, index, e, [&](Value x) { return normalCdf(e, x); });
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
    return e.mul(x, normalCdf(e, x));
  });
}

#define ATTACH(OP) MPC_ATTACH_ELEMENTAL(context, graph::OP)
void mpc::attachActivationModels(MLIRContext *context) {
  ATTACH(SigmoidOp), ATTACH(SoftplusOp), ATTACH(SoftsignOp), ATTACH(HardSwishOp), ATTACH(HardSigmoidOp);
  ATTACH(LeakyReluOp), ATTACH(EluOp), ATTACH(GeluOp), ATTACH(SwishOp), ATTACH(NormalCdfOp);
}
