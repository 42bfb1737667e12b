//===- ComposedGelu.cpp - GELU that is written out -------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// x/2 (1 + erf(x/sqrt 2)) and x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) (Hendrycks and Gimpel 2016), which
// exporters write as products in any order. As one op it saves x alone for the backward pass, in the type of x, and not
// what erf and tanh gave.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/GraphBuilder.h"
#include "passes/Simplify/Recognizers.h"
#include <cmath>

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

/// Returns whether a number is `wanted` as fp32 holds it, give or take its last digits.
static bool isNumber(std::optional<double> number, double wanted) {
  return number && std::abs(*number - wanted) <= 1e-6 * std::abs(wanted);
}

/// Calls fn with both orders of the operands, until it gives something.
template <typename Fn>
static auto eitherOrder(Operation *op, Fn fn) {
  auto result = fn(op->getOperand(0), op->getOperand(1));
  return result ? result : fn(op->getOperand(1), op->getOperand(0));
}

/// Returns x where v is x times this number, or x divided by its reciprocal; null otherwise.
static Value multiplied(Value v, double by) {
  if (auto mul = v.getDefiningOp<MulOp>())
    return eitherOrder(mul, [&](Value x, Value number) { return isNumber(splatNumber(number), by) ? x : Value(); });
  if (auto div = v.getDefiningOp<DivOp>(); div && isNumber(splatNumber(div.getRhs()), 1 / by))
    return div.getLhs();
  return {};
}

/// Returns x where v is x^exponent, as a power or as products; null otherwise.
static Value powerOf(Value v, int exponent) {
  if (exponent == 1)
    return v;
  if (auto pow = v.getDefiningOp<PowOp>())
    return isNumber(splatNumber(pow.getRhs()), exponent) ? pow.getLhs() : Value();
  auto mul = v.getDefiningOp<MulOp>();
  if (!mul)
    return {};
  return eitherOrder(mul, [&](Value less, Value x) { return powerOf(less, exponent - 1) == x ? x : Value(); });
}

namespace {

/// 1 + erf(...) or 1 + tanh(...), which multiplies x/2.
struct Gate {
  Value x;
  bool approximate;
};

std::optional<Gate> gateOf(Value v) {
  auto add = v.getDefiningOp<AddOp>();
  if (!add)
    return std::nullopt;
  return eitherOrder(add, [](Value bent, Value one) -> std::optional<Gate> {
    if (!isNumber(splatNumber(one), 1))
      return std::nullopt;
    if (auto erf = bent.getDefiningOp<ErfOp>()) {
      Value x = multiplied(erf.getX(), std::sqrt(0.5));
      return x ? std::optional(Gate{x, false}) : std::nullopt;
    }
    auto tanh = bent.getDefiningOp<TanhOp>();
    Value sum = tanh ? multiplied(tanh.getX(), std::sqrt(2 / 3.14159265358979323846)) : Value();
    auto terms = sum ? sum.getDefiningOp<AddOp>() : AddOp();
    if (!terms)
      return std::nullopt;
    return eitherOrder(terms, [](Value x, Value cubic) -> std::optional<Gate> {
      Value cube = multiplied(cubic, 0.044715);
      return cube && powerOf(cube, 3) == x ? std::optional(Gate{x, true}) : std::nullopt;
    });
  });
}

/// The factors of a product of x, numbers and gates.
struct Factors {
  double number = 1;
  int times = 0; ///< how often x is a factor
  int gates = 0;

  /// Returns whether v has no other factors.
  bool add(Value v, Value gate, Value x, bool isRoot = false) {
    if (v == gate)
      return ++gates == 1;
    if (v == x)
      return ++times == 1;
    if (std::optional<double> factor = splatNumber(v)) {
      number *= *factor;
      return true;
    }
    if (auto mul = v.getDefiningOp<MulOp>(); mul && (isRoot || v.hasOneUse()))
      return add(mul.getLhs(), gate, x) && add(mul.getRhs(), gate, x);
    if (auto div = v.getDefiningOp<DivOp>(); div && (isRoot || v.hasOneUse()))
      if (std::optional<double> divisor = splatNumber(div.getRhs())) {
        number /= *divisor;
        return add(div.getLhs(), gate, x);
      }
    return false;
  }
};

/// Finds the gate in a product of a few factors.
Value findGate(Value v, int depth) {
  if (gateOf(v))
    return v;
  Operation *op = v.getDefiningOp();
  if (depth == 0 || !isa_and_nonnull<MulOp, DivOp>(op))
    return {};
  Value gate = findGate(op->getOperand(0), depth - 1);
  return gate || isa<DivOp>(op) ? gate : findGate(op->getOperand(1), depth - 1);
}

template <typename OpT>
struct ComposedGelu : OpRewritePattern<OpT> {
  using OpRewritePattern<OpT>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpT op, PatternRewriter &rewriter) const override {
    constexpr int deepest = 3; // x/2 and the gate are a product, and another one divides or multiplies by two
    Value result = op.getResult(), gate = findGate(result, deepest);
    std::optional<Gate> found = gate ? gateOf(gate) : std::nullopt;
    if (!found || found->x.getType() != result.getType() || !gate.hasOneUse())
      return failure();
    Factors factors;
    if (!factors.add(result, gate, found->x, /*isRoot=*/true) || factors.gates != 1 || factors.times != 1 ||
        !isNumber(factors.number, 0.5))
      return failure();
    rewriter.replaceOpWithNewOp<GeluOp>(op, result.getType(), found->x,
                                        found->approximate ? rewriter.getUnitAttr() : UnitAttr());
    return success();
  }
};

} // namespace

void simplify::populateComposedGelu(RewritePatternSet &patterns) {
  patterns.add<ComposedGelu<MulOp>, ComposedGelu<DivOp>>(patterns.getContext());
}
