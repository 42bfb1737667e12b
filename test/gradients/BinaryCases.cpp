// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "GradientCase.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::test;

namespace {
template <typename OpT>
Case binary(std::string name, Input a, Input b) {
  return {std::move(name), {std::move(a), std::move(b)}, [](OpBuilder &b, Location loc, ValueRange v) {
            return OpT::create(b, loc, v[0], v[1]).getOperation();
          }};
}
} // namespace

void test::addBinaryCases(std::vector<Case> &cases) {
  // The shapes are equal, or one is broadcast in leading, inner or all dimensions, or each is broadcast in a
  // different dimension.
  const std::pair<Shape, Shape> shapes[] = {{{2, 3}, {2, 3}}, {{2, 3}, {3}},       {{1, 3}, {2, 1}},
                                            {{}, {2, 2}},     {{2, 1, 3}, {4, 1}}, {{2, 3}, {1, 1, 1}}};
  for (const auto &[a, b] : shapes) {
    cases.push_back(binary<AddOp>("add", uniform(a), uniform(b)));
    cases.push_back(binary<SubOp>("sub", uniform(a), uniform(b)));
    cases.push_back(binary<MulOp>("mul", uniform(a), uniform(b)));
    cases.push_back(binary<DivOp>("div", uniform(a), uniform(b, -2, 2, {0}, 0.4)));
    cases.push_back(binary<PowOp>("pow", uniform(a, 0.4, 2), uniform(b, -2, 3)));
    cases.push_back(binary<MinOp>("min", distinct(a), distinct(b, 0.03)));
    cases.push_back(binary<MaxOp>("max", distinct(a), distinct(b, 0.03)));
    // a is at least 0.02 away from multiples of b, where mod jumps.
    for (bool fmod : {false, true})
      cases.push_back({fmod ? "mod: fmod" : "mod",
                       {distinct(a, 0.02), numbers({}, {fmod ? 0.1 : -0.1})},
                       [=](OpBuilder &b, Location loc, ValueRange v) {
                         return ModOp::create(b, loc, v[0], v[1], fmod).getOperation();
                       }});
  }
  cases.push_back(binary<PowOp>("pow: negative base", uniform({4}, -2, -0.5), frozen(numbers({4}, {2, 3, 0, -1}))));
  cases.push_back(binary<PowOp>("pow: zero base", numbers({3}, {0, 0, 0}), frozen(numbers({3}, {2, 0, 3}))));
  cases.push_back(binary<PowOp>("pow: exponents of zero", frozen(numbers({3}, {0, 0, 0})), uniform({3}, 1, 3)));
  for (double exponent : {2.0, 3.0, 0.5, -1.0, 1.0, 0.0, 4.0})
    cases.push_back({"pow: constant " + std::to_string(exponent),
                     {uniform({2, 3}, 0.4, 2)},
                     [=](OpBuilder &b, Location loc, ValueRange v) {
                       return PowOp::create(b, loc, v[0], scalar(b, loc, elementOf(v[0]), exponent)).getOperation();
                     }});
  cases.push_back({"mul: by a constant", {uniform({3})}, [](OpBuilder &b, Location loc, ValueRange v) {
                     Value two = splat(b, loc, typeOf(v[0]), 2);
                     return MulOp::create(b, loc, two, v[0]).getOperation();
                   }});

  for (const auto &[x, slope] : {std::pair<Shape, Shape>{{2, 3}, {2, 3}}, {{2, 3, 2}, {3, 1}}, {{4}, {}}})
    cases.push_back(binary<PReluOp>("prelu", uniform(x, -2, 2, {0}), uniform(slope, -1, 1)));

  const std::tuple<Shape, Shape, Shape> selects[] = {
      {{2, 3}, {2, 3}, {2, 3}}, {{3}, {2, 3}, {2, 1}}, {{2, 3}, {}, {3}}, {{1}, {2}, {2}}};
  for (const auto &[c, x, y] : selects) {
    Input condition = uniform(c);
    condition.kind = Input::I1;
    for (double &v : condition.values)
      v = v > 0;
    cases.push_back({"select", {condition, uniform(x), uniform(y)}, [](OpBuilder &b, Location loc, ValueRange v) {
                       return SelectOp::create(b, loc, v[0], v[1], v[2]).getOperation();
                     }});
  }
}
