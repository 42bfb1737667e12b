//===- ConventionsTest.cpp - gradients at kinks and ties, and what has none -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "GradientCase.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::test;

namespace {
/// Returns the gradients of a case for cotangents of 1, in Exact mode by default.
std::vector<std::vector<double>> gradientsOf(const Case &c, FloatType element, EvalMode mode = EvalMode::Exact,
                                             double cotangent = 1) {
  auto built = buildCase(c, element, [](unsigned) { return true; });
  EXPECT_TRUE(succeeded(built));
  Evaluator evaluator(*built->module, mode);
  std::vector<HostTensor> arguments;
  for (const Input &input : c.inputs) {
    arguments.push_back(inputTensor(input, element));
    arguments.back().round();
  }
  for (RankedTensorType type : built->cotangents) {
    arguments.emplace_back(type);
    std::fill(arguments.back().values.begin(), arguments.back().values.end(), cotangent);
  }
  SmallVector<HostTensor> results;
  EXPECT_TRUE(succeeded(evaluator.run("vjp", arguments, results)));
  std::vector<std::vector<double>> values;
  for (const HostTensor &result : results)
    values.push_back(result.values);
  return values;
}
FloatType f64() { return Float64Type::get(&testContext()); }
FloatType f16() { return Float16Type::get(&testContext()); }
using Values = std::vector<double>;

TEST(GradientConventions, ReluIsZeroAtZero) {
  Case c{"relu", {numbers({3}, {-1, 0, 1})}, [](OpBuilder &b, Location loc, ValueRange v) {
           return ReluOp::create(b, loc, v[0]).getOperation();
         }};
  EXPECT_EQ(gradientsOf(c, f64())[0], (Values{0, 0, 1}));
}

TEST(GradientConventions, ClipIsZeroAtItsBounds) {
  Case c{
      "clip", {numbers({5}, {-1.5, -1, 0, 2, 2.5})}, [](OpBuilder &b, Location loc, ValueRange v) {
        return ClipOp::create(b, loc, v[0].getType(), v[0], b.getF64FloatAttr(-1), b.getF64FloatAttr(2)).getOperation();
      }};
  EXPECT_EQ(gradientsOf(c, f64())[0], (Values{0, 0, 1, 0, 0}));
}

TEST(GradientConventions, ClipIsConstantWhereItsBoundsCross) {
  for (auto [low, high] : {std::pair(2.0, -1.0), std::pair(0.0, -double(INFINITY)), std::pair(double(INFINITY), 1.0)}) {
    Case c{
        "clip", {numbers({4}, {-1.5, 0, 1, 2.5})}, [low = low, high = high](OpBuilder &b, Location loc, ValueRange v) {
          return ClipOp::create(b, loc, v[0].getType(), v[0], b.getF64FloatAttr(low), b.getF64FloatAttr(high))
              .getOperation();
        }};
    EXPECT_EQ(gradientsOf(c, f64())[0], (Values{0, 0, 0, 0})) << low << " " << high;
  }
}

TEST(GradientConventions, PReluTakesItsSlopeAtZero) {
  Case c{"prelu", {numbers({3}, {-2, 0, 2}), numbers({1}, {0.25})}, [](OpBuilder &b, Location loc, ValueRange v) {
           return PReluOp::create(b, loc, v[0], v[1]).getOperation();
         }};
  auto gradients = gradientsOf(c, f64());
  EXPECT_EQ(gradients[0], (Values{0.25, 0.25, 1}));
  EXPECT_EQ(gradients[1], (Values{-2}));
}

TEST(GradientConventions, NormsOfZerosHaveNoGradient) {
  Case c{"reduce_l2", {numbers({2, 2}, {0, 0, 3, 4})}, [](OpBuilder &b, Location loc, ValueRange v) {
           return ReduceL2Op::create(b, loc, v[0], Shape{1}, false).getOperation();
         }};
  EXPECT_EQ(gradientsOf(c, f64())[0], (Values{0, 0, 0.6000000000000001, 0.8}));
}

TEST(GradientConventions, AbsIsZeroAtZero) {
  Case c{"abs", {numbers({3}, {-2, 0, 2})}, [](OpBuilder &b, Location loc, ValueRange v) {
           return AbsOp::create(b, loc, v[0]).getOperation();
         }};
  EXPECT_EQ(gradientsOf(c, f64())[0], (Values{-1, 0, 1}));
}

TEST(GradientConventions, TiesOfMaxShareHalf) {
  Case c{"max", {numbers({3}, {1, 2, 3}), numbers({3}, {2, 2, 2})}, [](OpBuilder &b, Location loc, ValueRange v) {
           return MaxOp::create(b, loc, v[0], v[1]).getOperation();
         }};
  auto gradients = gradientsOf(c, f64());
  EXPECT_EQ(gradients[0], (Values{0, 0.5, 1}));
  EXPECT_EQ(gradients[1], (Values{1, 0.5, 0}));
}

TEST(GradientConventions, TiesOfReduceMaxShareEqually) {
  Case c{"reduce_max", {numbers({2, 4}, {1, 4, 4, 4, 7, 0, 0, 0})}, [](OpBuilder &b, Location loc, ValueRange v) {
           return ReduceMaxOp::create(b, loc, v[0], Shape{1}, false).getOperation();
         }};
  EXPECT_EQ(gradientsOf(c, f64())[0], (Values{0, 1 / 3.0, 1 / 3.0, 1 / 3.0, 1, 0, 0, 0}));
}

/// The gradient of a window goes to the first of equal maxima: max_pool does not divide it among them.
TEST(GradientConventions, TiesOfMaxPoolGoToTheFirst) {
  Case c{"max_pool", {numbers({1, 1, 4}, {2, 2, 5, 5})}, [](OpBuilder &b, Location loc, ValueRange v) {
           return MaxPoolOp::create(b, loc, v[0], Shape{2}, Shape{2}, Shape{1}, Shape{0}, Shape{0},
                                    Layout::ChannelsFirst)
               .getOperation();
         }};
  EXPECT_EQ(gradientsOf(c, f64())[0], (Values{1, 0, 1, 0}));
}

/// The gradient of a broadcast exponent is a sum. Elements that have no derivative with respect to it must not
/// make the sum NaN.
TEST(GradientConventions, PowDoesNotPoisonASharedExponent) {
  Case c{"pow", {numbers({4}, {-2, 0, 1, 2}), numbers({}, {2})}, [](OpBuilder &b, Location loc, ValueRange v) {
           return PowOp::create(b, loc, v[0], v[1]).getOperation();
         }};
  auto gradients = gradientsOf(c, f64());
  EXPECT_EQ(gradients[0], (Values{-4, 0, 2, 4}));
  EXPECT_DOUBLE_EQ(gradients[1][0], 4 * std::log(2.0));
}

/// If all samples are ignored, the mean is 0/0 = NaN in the forward pass (as in torch), but no gradient
/// reaches the logits.
TEST(GradientConventions, AllSamplesIgnoredGiveZeroGradient) {
  Case c{"softmax_cross_entropy",
         {uniform({2, 3}), integers({2}, {-100, -100})},
         [](OpBuilder &b, Location loc, ValueRange v) {
           return SoftmaxCrossEntropyOp::create(b, loc, v[0], v[1], Value(),
                                                LossReductionAttr::get(b.getContext(), LossReduction::mean),
                                                b.getI64IntegerAttr(-100))
               .getOperation();
         }};
  EXPECT_EQ(gradientsOf(c, f64())[0], Values(6, 0.0));
}

/// n = 131072 is beyond f16, and 1/n is one of its subnormals. dy/n must be rounded only once.
TEST(GradientLowPrecision, MeanOverMoreElementsThanF16CanCount) {
  Case c{"reduce_mean", {numbers({131072}, Values(131072, 1.0))}, [](OpBuilder &b, Location loc, ValueRange v) {
           return ReduceMeanOp::create(b, loc, v[0], Shape{0}, false).getOperation();
         }};
  EXPECT_EQ(gradientsOf(c, f16(), EvalMode::Rounded)[0][0], 0x1p-17);
}

/// The gradient of a broadcast bias is a sum of f16 cotangents, which is computed in fp32 and rounded once. A sum in
/// f16 would stop at 2048, since 2048 + 1 is no f16 number.
TEST(GradientLowPrecision, BroadcastSumsInFp32) {
  Case c{"add",
         {numbers({4096, 1}, Values(4096, 0.0)), numbers({1}, {0})},
         [](OpBuilder &b, Location loc, ValueRange v) { return AddOp::create(b, loc, v[0], v[1]).getOperation(); }};
  EXPECT_EQ(gradientsOf(c, f16(), EvalMode::Rounded)[1][0], 4096);
}

/// The gradient of a broadcast factor is a sum of products, each of which may lie outside f16: 300 * 300 is above its
/// largest number, 2^-13 * 2^-13 below its smallest. Rounded products would give infinity and 0.
TEST(GradientLowPrecision, BroadcastProductsInFp32) {
  for (auto [x, dy, sum] : {std::tuple(300.0, 300.0, 0.0), {0x1p-13, 0x1p-13, 0x1p-14}}) {
    Values signs(4096, x);
    if (sum == 0) // the products cancel in pairs
      for (size_t i = 1; i < signs.size(); i += 2)
        signs[i] = -x;
    Case c{"mul", {numbers({4096, 1}, signs), numbers({1}, {1})}, [](OpBuilder &b, Location loc, ValueRange v) {
             return MulOp::create(b, loc, v[0], v[1]).getOperation();
           }};
    EXPECT_EQ(gradientsOf(c, f16(), EvalMode::Rounded, dy)[1][0], sum) << x;
  }
}

/// The gradient of an operand that all matrices of a batch share is a sum of their products, each of which may lie
/// outside f16: these two are 120000 and -120000.
TEST(GradientLowPrecision, ProductsOfASharedMatrixInFp32) {
  Case c{"matmul",
         {numbers({1, 1}, {1}), numbers({2, 1, 2}, {60000, 60000, -60000, -60000})},
         [](OpBuilder &b, Location loc, ValueRange v) { return MatMulOp::create(b, loc, v[0], v[1]).getOperation(); }};
  EXPECT_EQ(gradientsOf(c, f16(), EvalMode::Rounded)[0], (Values{0}));
}

/// The gradient of what all iterations of a scan read is a sum, whose parts may lie outside f16, as 120000 does here.
TEST(GradientLowPrecision, SumsOfAScanInFp32) {
  Case c{"scan",
         {numbers({1}, {0}), numbers({4, 1}, {60000, 60000, -60000, -60000})},
         [](OpBuilder &b, Location loc, ValueRange v) {
           auto scan = ScanOp::create(b, loc, 4, false, ValueRange(), v[0], v[1], v[1].getType());
           OpBuilder inner = OpBuilder::atBlockEnd(&scan.getBlock());
           ValueRange arguments = scan.getBlock().getArguments();
           Value y = MulOp::create(inner, loc, arguments[0], arguments[1]);
           ScanYieldOp::create(inner, loc, y);
           return scan.getOperation();
         }};
  EXPECT_EQ(gradientsOf(c, f16(), EvalMode::Rounded)[0], (Values{0}));
}

/// Formulas of several steps round to f16 once: the result equals the f64 formula on the f16 input, rounded.
/// Rounding the steps in between to fp32 moves a result over a rounding boundary for about 2^-11 of the inputs, but
/// for none of these.
static void expectRoundsOnce(Case c) {
  Case exact = c;
  for (double &v : exact.inputs[0].values)
    v = roundTo(f16(), v);
  Values low = gradientsOf(c, f16(), EvalMode::Rounded)[0], high = gradientsOf(exact, f64())[0];
  for (size_t i = 0; i < low.size(); ++i)
    EXPECT_EQ(low[i], roundTo(f16(), high[i]));
}

TEST(GradientLowPrecision, GeluRoundsOnce) {
  expectRoundsOnce({"gelu", {uniform({64}, -3, 3)}, [](OpBuilder &b, Location loc, ValueRange v) {
                      return GeluOp::create(b, loc, v[0]).getOperation();
                    }});
}

TEST(GradientLowPrecision, SwishRoundsOnce) {
  expectRoundsOnce({"swish", {uniform({64}, -3, 3)}, [](OpBuilder &b, Location loc, ValueRange v) {
                      return SwishOp::create(b, loc, v[0].getType(), v[0], b.getF64FloatAttr(1)).getOperation();
                    }});
}

/// Only the result is saved for the backward pass, and the next op needs it anyway.
TEST(GradientLowPrecision, TanhAndSigmoidUseTheResult) {
  for (bool tanh : {false, true}) {
    Case c{"saved", {numbers({2}, {0.5, -1})}, [=](OpBuilder &b, Location loc, ValueRange v) {
             return tanh ? TanhOp::create(b, loc, v[0]).getOperation() : SigmoidOp::create(b, loc, v[0]).getOperation();
           }};
    auto built = buildCase(c, f16(), [](unsigned) { return true; });
    ASSERT_TRUE(succeeded(built));
    // The only use of the input is the op itself, so only the result is saved for the backward pass.
    EXPECT_TRUE(built->module->lookupSymbol<func::FuncOp>("vjp").getArgument(0).hasOneUse());
  }
}

TEST(NoGradient, BatchNormStatisticsReportWhatToDo) {
  Case c{"bn", {uniform({4, 2}), stat(uniform({2})), stat(uniform({2}))}, [](OpBuilder &b, Location loc, ValueRange v) {
           return BatchNormOp::create(b, loc, v[0], v[1], v[2], b.getF64FloatAttr(1e-5), b.getI64IntegerAttr(1))
               .getOperation();
         }};
  std::vector<std::string> messages;
  ScopedDiagnosticHandler handler(&testContext(), [&](Diagnostic &d) {
    messages.push_back(d.str());
    for (Diagnostic &note : d.getNotes())
      messages.push_back(note.str());
  });
  EXPECT_TRUE(failed(buildCase(c, f64(), [](unsigned) { return true; })));
  EXPECT_EQ(messages,
            (std::vector<std::string>{"'graph.batch_norm' has no gradient through its batch mean and variance",
                                      "hint: use its first output only on the path to the loss"}));
}

TEST(NoGradient, SecondDerivativesOfBatchNormStateAReason) {
  RegisteredOperationName name = *RegisteredOperationName::lookup("graph.batch_norm_grad", &testContext());
  ASSERT_TRUE(name.hasInterface<NoGradientOpInterface>());
  EXPECT_EQ(name.getInterface<NoGradientOpInterface>()->getNoGradientReason(),
            "second derivatives of batch normalisation are not supported");
}
} // namespace
