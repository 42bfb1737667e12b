//===- Activation.cpp - elements of activation functions ----------------------===//
#include "passes/Lowering/Elemental/Ops/Models.h"

using namespace mlir;
using namespace mpc;

namespace {
/// Arithmetic on registers, short enough to read as the formula.
struct Formula {
  ElementEmitter &e;
  Type type;

  Value c(double v) { return e.constant(type, v); }
  Value add(Value x, Value y) { return arith::AddFOp::create(e.b, x, y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(e.b, x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(e.b, x, y); }
  Value div(Value x, Value y) { return arith::DivFOp::create(e.b, x, y); }
  Value neg(Value x) { return arith::NegFOp::create(e.b, x); }
  Value exp(Value x) { return math::ExpOp::create(e.b, x); }
  Value max(Value x, Value y) { return arith::MaximumFOp::create(e.b, x, y, arith::FastMathFlags::nsz); }
  Value min(Value x, Value y) { return arith::MinimumFOp::create(e.b, x, y, arith::FastMathFlags::nsz); }
  Value atLeastZero(Value x, Value then, Value otherwise) {
    Value condition = arith::CmpFOp::create(e.b, arith::CmpFPredicate::OGE, x, c(0));
    return arith::SelectOp::create(e.b, condition, then, otherwise);
  }
};
} // namespace

/// y = f(x), computed in the register type and rounded once.
template <typename OpT, typename F>
static Value activation(OpT op, ArrayRef<Index> index, ElementEmitter &e, F f) {
  Value x = e.operand(op, 0, index);
  return e.round(f(Formula{e, x.getType()}, x), graph::elementOf(op.getResult()));
}

static Value emit(graph::SigmoidOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  // With t = e^-|x|, which cannot overflow, this is 1/(1+t), or t/(1+t) for negative x. It is accurate down
  // to denormals.
  return activation(op, index, e, [](Formula f, Value x) {
    Value t = f.exp(f.neg(math::AbsFOp::create(f.e.b, x)));
    return f.div(f.atLeastZero(x, f.c(1), t), f.add(f.c(1), t));
  });
}
static Value emit(graph::SoftplusOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  // max(x, 0) + log1p(e^-|x|)
  return activation(op, index, e, [](Formula f, Value x) {
    Value tail = math::Log1pOp::create(f.e.b, f.exp(f.neg(math::AbsFOp::create(f.e.b, x))));
    return f.add(f.max(x, f.c(0)), tail);
  });
}
static Value emit(graph::SoftsignOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  return activation(op, index, e, [](Formula f, Value x) { return f.div(x, f.add(f.c(1), math::AbsFOp::create(f.e.b, x))); });
}
static Value emit(graph::HardSwishOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  return activation(op, index, e, [](Formula f, Value x) {
    Value gate = f.add(f.mul(x, f.c(1.0 / 6)), f.c(0.5));
    return f.mul(x, f.max(f.min(gate, f.c(1)), f.c(0)));
  });
}
static Value emit(graph::HardSigmoidOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  double alpha = op.getAlpha().convertToDouble(), beta = op.getBeta().convertToDouble();
  return activation(op, index, e, [&](Formula f, Value x) {
    return f.max(f.min(f.add(f.mul(x, f.c(alpha)), f.c(beta)), f.c(1)), f.c(0));
  });
}
static Value emit(graph::LeakyReluOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  double alpha = op.getAlpha().convertToDouble();
  return activation(op, index, e, [&](Formula f, Value x) { return f.atLeastZero(x, x, f.mul(x, f.c(alpha))); });
}
static Value emit(graph::EluOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  double alpha = op.getAlpha().convertToDouble();
  return activation(op, index, e, [&](Formula f, Value x) {
    return f.atLeastZero(x, x, f.mul(f.c(alpha), math::ExpM1Op::create(f.e.b, x)));
  });
}
static Value emit(graph::GeluOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  return activation(op, index, e, [&](Formula f, Value x) {
    if (op.getApproximate()) {
      // x/2 (1 + tanh(u)) = x / (1 + e^-2u) with u = sqrt(2/pi) (x + 0.044715 x^3): nothing cancels for
      // negative x.
      Value cubic = f.mul(f.mul(x, x), f.mul(x, f.c(0.044715)));
      Value u2 = f.mul(f.c(-2 * 0.7978845608028654), f.add(x, cubic));
      return f.div(x, f.add(f.c(1), f.exp(u2)));
    }
    // x/2 erfc(-x/sqrt 2) is accurate in the tail, where 1 + erf cancels.
    Value tail = math::ErfcOp::create(f.e.b, f.mul(x, f.c(-0.7071067811865476)));
    return f.mul(f.mul(x, f.c(0.5)), tail);
  });
}

#define ATTACH(OP) MPC_ATTACH_ELEMENTAL(context, graph::OP)
void mpc::attachActivationModels(MLIRContext *context) {
  ATTACH(SigmoidOp), ATTACH(SoftplusOp), ATTACH(SoftsignOp), ATTACH(HardSwishOp), ATTACH(HardSigmoidOp);
  ATTACH(LeakyReluOp), ATTACH(EluOp), ATTACH(GeluOp);
}
