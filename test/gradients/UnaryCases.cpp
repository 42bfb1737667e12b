// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "GradientCase.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::test;

namespace {
/// Makes the case of an op of one operand without attributes.
template <typename OpT>
Case unary(std::string name, Input x) {
  return {std::move(name), {std::move(x)}, [](OpBuilder &b, Location loc, ValueRange v) {
            return OpT::create(b, loc, v[0]).getOperation();
          }};
}
/// Makes the case of an op with attributes, which are given as doubles.
template <typename OpT, typename... Attrs>
Case unaryWith(std::string name, Input x, Attrs... attrs) {
  return {std::move(name), {std::move(x)}, [=](OpBuilder &b, Location loc, ValueRange v) {
            return OpT::create(b, loc, v[0].getType(), v[0], b.getF64FloatAttr(attrs)...).getOperation();
          }};
}
} // namespace

void test::addUnaryCases(std::vector<Case> &cases) {
  Shape s{3, 5};
  cases.push_back(unary<AbsOp>("abs", uniform(s, -2, 2, {0})));
  cases.push_back(unary<NegOp>("neg", uniform(s)));
  cases.push_back(unary<ExpOp>("exp", uniform(s)));
  cases.push_back(unary<LogOp>("log", uniform(s, 0.2, 4)));
  cases.push_back(unary<SqrtOp>("sqrt", uniform(s, 0.2, 4)));
  cases.push_back(unary<RsqrtOp>("rsqrt", uniform(s, 0.3, 4)));
  cases.push_back(unary<ReciprocalOp>("reciprocal", uniform(s, -3, 3, {0}, 0.4)));
  cases.push_back(unary<SinOp>("sin", uniform(s, -4, 4)));
  cases.push_back(unary<CosOp>("cos", uniform(s, -4, 4)));
  cases.push_back(unary<TanOp>("tan", uniform(s, -1.2, 1.2)));
  cases.push_back(unary<AsinOp>("asin", uniform(s, -0.9, 0.9)));
  cases.push_back(unary<AcosOp>("acos", uniform(s, -0.9, 0.9)));
  cases.push_back(unary<AtanOp>("atan", uniform(s, -4, 4)));
  cases.push_back(unary<SinhOp>("sinh", uniform(s)));
  cases.push_back(unary<CoshOp>("cosh", uniform(s)));
  cases.push_back(unary<AsinhOp>("asinh", uniform(s, -4, 4)));
  cases.push_back(unary<AcoshOp>("acosh", uniform(s, 1.2, 4)));
  cases.push_back(unary<AtanhOp>("atanh", uniform(s, -0.9, 0.9)));
  cases.push_back(unary<ErfOp>("erf", uniform(s, -2, 2)));
  cases.push_back(unary<TanhOp>("tanh", uniform(s, -3, 3)));
  cases.push_back(unary<SigmoidOp>("sigmoid", uniform(s, -6, 6)));
  cases.push_back(unary<NormalCdfOp>("normal_cdf", uniform(s, -4, 4)));
  cases.push_back(unary<ReluOp>("relu", uniform(s, -2, 2, {0})));
  cases.push_back(unary<ReluOp>("relu: scalar", uniform({}, 1, 2)));
  cases.push_back(unary<SoftsignOp>("softsign", uniform(s, -6, 6)));
  cases.push_back(unary<SoftplusOp>("softplus", uniform(s, -6, 6)));
  cases.push_back(unary<SoftplusOp>("softplus: large", uniform(s, 700, 900)));
  cases.push_back(unary<HardSwishOp>("hard_swish", uniform(s, -5, 5, {-3, 3})));
  for (double alpha : {0.01, 0.0, -0.3, 2.0})
    cases.push_back(
        unaryWith<LeakyReluOp>("leaky_relu: alpha " + std::to_string(alpha), uniform(s, -2, 2, {0}), alpha));
  for (double alpha : {1.0, 0.5, -0.3})
    cases.push_back(unaryWith<EluOp>("elu: alpha " + std::to_string(alpha), uniform(s, -2, 2, {0}), alpha));
  cases.push_back(unaryWith<HardSigmoidOp>("hard_sigmoid", uniform(s, -4, 4, {-2.5, 2.5}), 0.2, 0.5));
  cases.push_back(unaryWith<HardSigmoidOp>("hard_sigmoid: negative alpha", uniform(s, -4, 4, {-1, 1.5}), -0.4, 0.6));
  cases.push_back(unaryWith<ClipOp>("clip", uniform(s, -2, 2, {-1, 1.5}), -1.0, 1.5));
  cases.push_back(unaryWith<ClipOp>("clip: min only", uniform(s, -2, 2, {0}), 0.0, double(INFINITY)));
  cases.push_back(unaryWith<ClipOp>("clip: max only", uniform(s, -2, 2, {0.5}), double(-INFINITY), 0.5));
  for (bool approximate : {false, true})
    cases.push_back(
        {approximate ? "gelu: tanh" : "gelu", {uniform({4, 6}, -4, 4)}, [=](OpBuilder &b, Location loc, ValueRange v) {
           return GeluOp::create(b, loc, v[0], approximate).getOperation();
         }});
  for (double alpha : {1.0, 1.702, -0.5})
    cases.push_back({"swish: alpha " + std::to_string(alpha),
                     {uniform({4, 6}, -4, 4)},
                     [=](OpBuilder &b, Location loc, ValueRange v) {
                       return SwishOp::create(b, loc, v[0].getType(), v[0], b.getF64FloatAttr(alpha)).getOperation();
                     }});
  cases.push_back({"cast", {uniform(s)}, [](OpBuilder &b, Location loc, ValueRange v) {
                     return CastOp::create(b, loc, typeOf(v[0]).clone(b.getF32Type()), v[0]).getOperation();
                   }});
  for (double ratio : {0.0, 0.3, 0.75})
    cases.push_back({"dropout: ratio " + std::to_string(ratio),
                     {uniform({3, 7}), integers({}, {12345}), integers({}, {3})},
                     [=](OpBuilder &b, Location loc, ValueRange v) {
                       return DropoutOp::create(b, loc, v[0].getType(), v[0], v[1], v[2], b.getF64FloatAttr(ratio),
                                                b.getI64IntegerAttr(5))
                           .getOperation();
                     }});
  for (Shape shared : {Shape{1, 2}, Shape{0}, Shape{0, 1, 2}})
    cases.push_back({"dropout: " + std::to_string(shared.size()) + " shared dimensions",
                     {uniform({3, 2, 7}), integers({}, {12345}), integers({}, {3})},
                     [=](OpBuilder &b, Location loc, ValueRange v) {
                       return DropoutOp::create(b, loc, v[0].getType(), v[0], v[1], v[2], b.getF64FloatAttr(0.4),
                                                b.getI64IntegerAttr(5), b.getDenseI64ArrayAttr(shared))
                           .getOperation();
                     }});
}
