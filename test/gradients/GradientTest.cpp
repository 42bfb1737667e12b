//===- GradientTest.cpp - VJPs against central differences, see README.md ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "GradientCase.h"
#include <cmath>
#include <gtest/gtest.h>
#include <set>

using namespace mlir;
using namespace mpc;
using namespace mpc::test;

namespace {
constexpr double kStep = 1e-5;
constexpr double kTolerance = 1e-7;

/// Returns the op of a case: the part of its name before the colon.
std::string opOf(const Case &c) { return c.name.substr(0, c.name.find(':')); }
std::vector<std::string> allOps() {
  std::set<std::string> ops;
  for (const Case &c : allCases())
    ops.insert(opOf(c));
  return {ops.begin(), ops.end()};
}
class GradientTest : public testing::TestWithParam<std::string> {
protected:
  /// Runs check on each case of the op and stops at the first that fails.
  void forEachCase(void (*check)(const Case &)) {
    for (const Case &c : allCases())
      if (opOf(c) == GetParam()) {
        SCOPED_TRACE(c.name);
        check(c);
        if (HasFatalFailure())
          return;
      }
  }
};

std::vector<HostTensor> tensorsOf(const Case &c, FloatType element) {
  std::vector<HostTensor> tensors;
  for (const Input &input : c.inputs)
    tensors.push_back(inputTensor(input, element));
  return tensors;
}

void checkDifferences(const Case &c) {
  auto f64 = Float64Type::get(&testContext());
  auto built = buildCase(c, f64, [](unsigned) { return true; });
  ASSERT_TRUE(succeeded(built)) << c.name;

  Evaluator evaluator(*built->module, EvalMode::Exact);
  std::vector<HostTensor> inputs = tensorsOf(c, f64), arguments = inputs;
  for (RankedTensorType type : built->cotangents) {
    HostTensor cotangent(type);
    for (double &v : cotangent.values)
      v = uniformNumber(-1, 1);
    arguments.push_back(cotangent);
  }
  SmallVector<HostTensor> gradients;
  ASSERT_TRUE(succeeded(evaluator.run("vjp", arguments, gradients)));

  // Every float input that is not frozen has a gradient of its type.
  size_t expected = llvm::count_if(c.inputs, [](const Input &input) {
    return !input.frozen && (input.kind == Input::Float || input.kind == Input::Stat);
  });
  ASSERT_EQ(gradients.size(), expected) << c.name;
  ASSERT_GT(expected, 0u);

  // Computes <cotangent, primal(x + h e) - primal(x - h e)> / 2h. The subtraction comes before the sum, which keeps the
  // rounding error small.
  auto difference = [&](unsigned input, size_t element) {
    double x = inputs[input].values[element], sum = 0;
    SmallVector<HostTensor> up, down;
    inputs[input].values[element] = x + kStep;
    EXPECT_TRUE(succeeded(evaluator.run("primal", inputs, up)));
    inputs[input].values[element] = x - kStep;
    EXPECT_TRUE(succeeded(evaluator.run("primal", inputs, down)));
    inputs[input].values[element] = x;
    size_t cotangent = inputs.size();
    for (size_t r = 0; r < up.size(); ++r) {
      if (!isa<FloatType>(up[r].element) || r >= c.firstResultsOnly)
        continue;
      const std::vector<double> &dy = arguments[cotangent++].values;
      for (size_t i = 0; i < dy.size(); ++i)
        sum += dy[i] * (up[r].values[i] - down[r].values[i]);
    }
    return sum / (2 * kStep);
  };
  for (auto [gradient, input] : llvm::zip_equal(gradients, built->gradientOf)) {
    ASSERT_EQ(gradient.type(), inputs[input].type());
    for (size_t i = 0; i < gradient.values.size(); ++i) {
      double want = difference(input, i);
      ASSERT_NEAR(gradient.values[i], want, kTolerance * std::max(1.0, std::abs(want)))
          << c.name << ": operand " << input << ", element " << i;
    }
  }

  // With one operand needed at a time, its gradient is the same and no other is built.
  for (auto [gradient, input] : llvm::zip_equal(gradients, built->gradientOf)) {
    auto alone = buildCase(c, f64, [&, only = input](unsigned i) { return i == only; });
    ASSERT_TRUE(succeeded(alone)) << c.name;
    ASSERT_EQ(alone->gradientOf, SmallVector<unsigned>{input}) << c.name;
    Evaluator one(*alone->module, EvalMode::Exact);
    SmallVector<HostTensor> again;
    ASSERT_TRUE(succeeded(one.run("vjp", arguments, again)));
    EXPECT_EQ(again[0].values, gradient.values) << c.name;
  }
}

/// In low precision the IR verifies, the gradients have the operands' types, and nothing overflows on the way.
void checkLowPrecision(const Case &c) {
  for (FloatType element :
       {FloatType(Float16Type::get(&testContext())), FloatType(BFloat16Type::get(&testContext()))}) {
    auto built = buildCase(c, element, [](unsigned) { return true; });
    ASSERT_TRUE(succeeded(built)) << c.name;
    auto vjp = built->module->lookupSymbol<func::FuncOp>("vjp");
    ASSERT_EQ(vjp.getNumResults(), built->gradientOf.size());
    for (auto [type, input] : llvm::zip_equal(vjp.getResultTypes(), built->gradientOf))
      EXPECT_EQ(type, vjp.getArgument(input).getType()) << c.name;

    Evaluator evaluator(*built->module, EvalMode::Rounded);
    std::vector<HostTensor> arguments = tensorsOf(c, element);
    for (HostTensor &argument : arguments)
      argument.round();
    for (RankedTensorType type : built->cotangents) {
      arguments.emplace_back(type);
      for (double &v : arguments.back().values)
        v = uniformNumber(-1, 1);
      arguments.back().round();
    }
    SmallVector<HostTensor> gradients;
    ASSERT_TRUE(succeeded(evaluator.run("vjp", arguments, gradients))) << c.name;
    for (const HostTensor &gradient : gradients)
      for (double v : gradient.values)
        ASSERT_TRUE(std::isfinite(v)) << c.name;
  }
}

TEST_P(GradientTest, EqualsCentralDifferences) { forEachCase(checkDifferences); }
TEST_P(GradientTest, LowPrecisionKeepsOperandTypes) { forEachCase(checkLowPrecision); }

INSTANTIATE_TEST_SUITE_P(Ops, GradientTest, testing::ValuesIn(allOps()),
                         [](const testing::TestParamInfo<std::string> &info) { return info.param; });

TEST(GradientCoverage, EveryDifferentiableOpHasACase) {
  std::set<std::string> covered;
  for (const Case &c : allCases()) {
    auto built = buildCase(c, Float64Type::get(&testContext()), [](unsigned) { return true; });
    ASSERT_TRUE(succeeded(built)) << c.name;
    covered.insert(built->primal->getName().getStringRef().str());
  }
  for (RegisteredOperationName name : testContext().getRegisteredOperationsByDialect("graph"))
    if (name.hasInterface<DifferentiableOpInterface>()) {
      EXPECT_TRUE(covered.count(name.getStringRef().str()))
          << name.getStringRef().str() << " is differentiable, but test/gradients has no case for it";
    }
}

/// An op makes exactly one of three statements: it has a VJP, its derivative is zero, or it has none, with the reason.
TEST(GradientCoverage, EveryOpStatesItsDerivative) {
  for (RegisteredOperationName name : testContext().getRegisteredOperationsByDialect("graph")) {
    if (name.hasTrait<OpTrait::IsTerminator>())
      continue;
    int statements = name.hasInterface<DifferentiableOpInterface>() + name.hasInterface<NoGradientOpInterface>() +
                     name.hasTrait<ZeroGradient>();
    EXPECT_EQ(statements, 1) << name.getStringRef().str();
    if (auto *reason = name.getInterface<NoGradientOpInterface>()) {
      EXPECT_FALSE(reason->getNoGradientReason().empty()) << name.getStringRef().str();
    }
  }
}
} // namespace
