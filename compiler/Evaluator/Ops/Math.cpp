//===- Math.cpp - elementwise models of one operand -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Evaluator/Ops/Models.h"
#include <cmath>

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

namespace {
using Function = double (*)(double);

/// y = F(x), element by element.
template <typename OpT, Function F>
struct Unary : EvalModel<Unary<OpT, F>, OpT> {
  LogicalResult evaluate(Operation *, Evaluation &e) const {
    for (auto [x, y] : llvm::zip_equal(e.operands[0].values, e.results[0].values))
      y = F(x);
    return success();
  }
};

/// Does the same for ops with attributes: F(op) returns the function.
template <typename OpT, auto F>
struct UnaryWith : EvalModel<UnaryWith<OpT, F>, OpT> {
  LogicalResult evaluate(Operation *op, Evaluation &e) const {
    auto function = F(cast<OpT>(op));
    for (auto [x, y] : llvm::zip_equal(e.operands[0].values, e.results[0].values))
      y = function(x);
    return success();
  }
};
} // namespace

static double sign(double x) { return double(x > 0) - double(x < 0); }
static double rsqrt(double x) { return 1 / std::sqrt(x); }
static double reciprocal(double x) { return 1 / x; }
static double negate(double x) { return -x; }
/// Both branches exponentiate a number <= 0, so they cannot overflow.
static double sigmoid(double x) { return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); }
static double normalCdf(double x) { return 0.5 * std::erfc(-x * M_SQRT1_2); } // 1 + erf(t) = erfc(-t) does not cancel
static double softsign(double x) { return x / (1 + std::abs(x)); }
static double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }
/// NaN stays NaN.
static double clamp(double x, double low, double high) { return x < low ? low : x > high ? high : x; }
static double relu(double x) { return x <= 0 ? 0 : x; }
static double hardSwish(double x) { return x * clamp(x / 6 + 0.5, 0, 1); }
static double identity(double x) { return x; }
static double isNonFinite(double x) { return !std::isfinite(x); }
static double isNaN(double x) { return std::isnan(x); }
static double logicalNot(double x) { return x == 0; }

static auto leakyRelu(LeakyReluOp op) {
  return [alpha = op.getAlpha().convertToDouble()](double x) { return x >= 0 ? x : alpha * x; };
}
static auto elu(EluOp op) {
  return [alpha = op.getAlpha().convertToDouble()](double x) { return x >= 0 ? x : alpha * std::expm1(x); };
}
static auto hardSigmoid(HardSigmoidOp op) {
  return [alpha = op.getAlpha().convertToDouble(), beta = op.getBeta().convertToDouble()](double x) {
    return clamp(alpha * x + beta, 0, 1);
  };
}
static auto clip(ClipOp op) {
  double low = op.getMin().convertToDouble(), high = op.getMax().convertToDouble();
  if (auto integer = dyn_cast<IntegerType>(elementOf(op.getX()))) {
    // The bounds are integers of the type: the outermost ones that lie within the given bounds.
    unsigned bits = integer.getWidth() - !integer.isUnsigned();
    double least = integer.isUnsigned() ? 0 : -std::ldexp(1.0, bits),
           greatest = std::floor(std::nextafter(std::ldexp(1.0, bits), 0));
    low = clamp(std::ceil(low), least, greatest);
    high = clamp(std::floor(high), least, greatest);
  }
  return [low, high](double x) {
    // This is min(max(x, min), max): where the bounds cross, max wins.
    x = x < low ? low : x;
    return x > high ? high : x;
  };
}
static auto gelu(GeluOp op) {
  return [approximate = op.getApproximate()](double x) {
    if (!approximate)
      return x * normalCdf(x);
    return x * sigmoid(2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)); // (1 + tanh u)/2 = sigmoid(2u)
  };
}
static auto swish(SwishOp op) {
  return [alpha = op.getAlpha().convertToDouble()](double x) { return x * sigmoid(alpha * x); };
}
/// Conversions to integers and i1 are roundings, which the evaluator does afterwards.
static auto convert(CastOp) { return identity; }

void mpc::attachMathModels(MLIRContext &c) {
  AbsOp::attachInterface<Unary<AbsOp, std::abs>>(c);
  NegOp::attachInterface<Unary<NegOp, negate>>(c);
  SignOp::attachInterface<Unary<SignOp, sign>>(c);
  FloorOp::attachInterface<Unary<FloorOp, std::floor>>(c);
  CeilOp::attachInterface<Unary<CeilOp, std::ceil>>(c);
  RoundOp::attachInterface<Unary<RoundOp, std::nearbyint>>(c);
  ExpOp::attachInterface<Unary<ExpOp, std::exp>>(c);
  LogOp::attachInterface<Unary<LogOp, std::log>>(c);
  SqrtOp::attachInterface<Unary<SqrtOp, std::sqrt>>(c);
  RsqrtOp::attachInterface<Unary<RsqrtOp, rsqrt>>(c);
  ReciprocalOp::attachInterface<Unary<ReciprocalOp, reciprocal>>(c);
  SinOp::attachInterface<Unary<SinOp, std::sin>>(c);
  CosOp::attachInterface<Unary<CosOp, std::cos>>(c);
  TanOp::attachInterface<Unary<TanOp, std::tan>>(c);
  AsinOp::attachInterface<Unary<AsinOp, std::asin>>(c);
  AcosOp::attachInterface<Unary<AcosOp, std::acos>>(c);
  AtanOp::attachInterface<Unary<AtanOp, std::atan>>(c);
  SinhOp::attachInterface<Unary<SinhOp, std::sinh>>(c);
  CoshOp::attachInterface<Unary<CoshOp, std::cosh>>(c);
  AsinhOp::attachInterface<Unary<AsinhOp, std::asinh>>(c);
  AcoshOp::attachInterface<Unary<AcoshOp, std::acosh>>(c);
  AtanhOp::attachInterface<Unary<AtanhOp, std::atanh>>(c);
  ErfOp::attachInterface<Unary<ErfOp, std::erf>>(c);
  NormalCdfOp::attachInterface<Unary<NormalCdfOp, normalCdf>>(c);
  TanhOp::attachInterface<Unary<TanhOp, std::tanh>>(c);
  SigmoidOp::attachInterface<Unary<SigmoidOp, sigmoid>>(c);
  ReluOp::attachInterface<Unary<ReluOp, relu>>(c);
  SoftplusOp::attachInterface<Unary<SoftplusOp, softplus>>(c);
  SoftsignOp::attachInterface<Unary<SoftsignOp, softsign>>(c);
  HardSwishOp::attachInterface<Unary<HardSwishOp, hardSwish>>(c);
  StopGradientOp::attachInterface<Unary<StopGradientOp, identity>>(c);
  LeakyReluOp::attachInterface<UnaryWith<LeakyReluOp, leakyRelu>>(c);
  EluOp::attachInterface<UnaryWith<EluOp, elu>>(c);
  HardSigmoidOp::attachInterface<UnaryWith<HardSigmoidOp, hardSigmoid>>(c);
  GeluOp::attachInterface<UnaryWith<GeluOp, gelu>>(c);
  SwishOp::attachInterface<UnaryWith<SwishOp, swish>>(c);
  ClipOp::attachInterface<UnaryWith<ClipOp, clip>>(c);
  NotOp::attachInterface<Unary<NotOp, logicalNot>>(c);
  CastOp::attachInterface<UnaryWith<CastOp, convert>>(c);
  IsNonFiniteOp::attachInterface<Unary<IsNonFiniteOp, isNonFinite>>(c);
  IsNaNOp::attachInterface<Unary<IsNaNOp, isNaN>>(c);
}
