//===- EvaluatorTest.cpp - rounding, state, coverage and inner kernels of the evaluator ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Evaluator/Evaluator.h"
#include "compiler/Evaluator/Ops/Models.h"
#include "compiler/Evaluator/Philox.h"
#include "dialects/Kernel/IR/Kernel.h"
#include "dialects/Train/IR/Train.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/APFloat.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace mpc;

namespace {
class EvaluatorTest : public testing::Test {
protected:
  EvaluatorTest() : context(makeRegistry()) {
    context.loadDialect<graph::GraphDialect, kernel::KernelDialect, train::TrainDialect, func::FuncDialect>();
  }
  static DialectRegistry makeRegistry() {
    DialectRegistry registry;
    registry.insert<func::FuncDialect, graph::GraphDialect, train::TrainDialect, kernel::KernelDialect>();
    registerEvaluatorModels(registry);
    return registry;
  }
  OwningOpRef<ModuleOp> parse(StringRef text) { return parseSourceString<ModuleOp>(text, &context); }

  MLIRContext context;
};

TEST_F(EvaluatorTest, EveryGraphOpHasAModel) {
  unsigned count = 0;
  for (RegisteredOperationName name : context.getRegisteredOperationsByDialect("graph")) {
    if (name.hasTrait<OpTrait::IsTerminator>())
      continue;
    EXPECT_TRUE(name.hasInterface<EvaluableOpInterface>()) << name.getStringRef().str();
    ++count;
  }
  EXPECT_GT(count, 80u);
}

/// Compares roundTo with APFloat's conversion on random bit patterns of doubles near each format's range
/// and on midpoints.
TEST_F(EvaluatorTest, FloatRoundingEqualsAPFloat) {
  std::mt19937_64 random(1);
  for (FloatType type : {FloatType(Float16Type::get(&context)), FloatType(BFloat16Type::get(&context)),
                         FloatType(Float32Type::get(&context))}) {
    const llvm::fltSemantics &semantics = type.getFloatSemantics();
    int low = llvm::APFloat::semanticsMinExponent(semantics) - int(llvm::APFloat::semanticsPrecision(semantics)) - 3;
    int high = llvm::APFloat::semanticsMaxExponent(semantics) + 3;
    auto check = [&](double v) {
      llvm::APFloat expected(v);
      bool losesInfo;
      expected.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &losesInfo);
      double want = expected.convertToDouble(), got = roundTo(type, v);
      EXPECT_EQ(std::signbit(want), std::signbit(got)) << v;
      EXPECT_EQ(want, got) << v;
    };
    for (int i = 0; i < 20000; ++i) {
      int exponent = low + int(random() % uint64_t(high - low + 1));
      double v = std::ldexp(1.0 + double(random() >> 11) * 0x1p-53, exponent) * (random() & 1 ? 1 : -1);
      check(v);
      // This is the midpoint between two neighbours of the format; the doubles next to it are tested too.
      int ulp = std::max(exponent, int(llvm::APFloat::semanticsMinExponent(semantics))) -
                int(llvm::APFloat::semanticsPrecision(semantics)) + 1;
      double midpoint = std::ldexp(std::floor(std::ldexp(v, -ulp)) + 0.5, ulp);
      check(midpoint);
      check(std::nextafter(midpoint, INFINITY));
      check(std::nextafter(midpoint, -INFINITY));
    }
    EXPECT_TRUE(std::isnan(roundTo(type, NAN)));
    EXPECT_EQ(roundTo(type, INFINITY), INFINITY);
    EXPECT_TRUE(std::signbit(roundTo(type, -0.0)));
  }
}

TEST_F(EvaluatorTest, IntegersTruncateAndWrap) {
  auto type = [&](unsigned width, auto sign) { return IntegerType::get(&context, width, sign); };
  EXPECT_EQ(roundTo(type(8, IntegerType::Signless), -1.9), -1);
  EXPECT_EQ(roundTo(type(8, IntegerType::Signless), 128), -128);
  EXPECT_EQ(roundTo(type(8, IntegerType::Signless), -129), 127);
  EXPECT_EQ(roundTo(type(8, IntegerType::Unsigned), 255), 255);
  EXPECT_EQ(roundTo(type(8, IntegerType::Unsigned), 257), 1);
  EXPECT_EQ(roundTo(type(8, IntegerType::Unsigned), -1), 255);
  EXPECT_EQ(roundTo(type(64, IntegerType::Signless), 1e30), 0x1p63);
  EXPECT_EQ(roundTo(type(32, IntegerType::Signless), NAN), 0);
  EXPECT_EQ(roundTo(type(1, IntegerType::Signless), 0.25), 1);
}

/// These are the known answers of Random123 (examples/kat_vectors, philox4x32 with 10 rounds).
TEST_F(EvaluatorTest, PhiloxKnownAnswers) {
  auto expect = [](Philox4x32 p, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
    EXPECT_EQ(p[0], a);
    EXPECT_EQ(p[1], b);
    EXPECT_EQ(p[2], c);
    EXPECT_EQ(p[3], d);
  };
  expect(Philox4x32({0, 0, 0, 0}, 0, 0), 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8);
  const uint32_t f = 0xffffffff;
  expect(Philox4x32({f, f, f, f}, f, f), 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd);
  expect(Philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0xa4093822, 0x299f31d0), 0xd16cfe09, 0x94fdcceb,
         0x5001e420, 0x24126ea1);
}

/// Compares the blocked GEMM with three loops for sizes around its block sizes. The numbers are integers, so that sums
/// are exact in any order.
TEST_F(EvaluatorTest, GemmEqualsThreeLoops) {
  std::mt19937 random(2);
  for (int64_t m : {1, 3, 4, 9})
    for (int64_t n : {1, 15, 16, 33})
      for (int64_t k : {0, 1, 7}) {
        std::vector<double> a(m * k), b(k * n), c(m * n, 1), want(m * n, 1);
        for (std::vector<double> *v : {&a, &b})
          for (double &x : *v)
            x = double(int(random() % 19) - 9);
        gemmAdd(m, n, k, a.data(), k, b.data(), n, c.data(), n);
        for (int64_t i = 0; i < m; ++i)
          for (int64_t j = 0; j < n; ++j)
            for (int64_t p = 0; p < k; ++p)
              want[i * n + j] += a[i * k + p] * b[p * n + j];
        EXPECT_EQ(c, want);
      }
}

/// Reads see the state from before the entry, and assignments take effect together. An entry that fails
/// changes nothing.
TEST_F(EvaluatorTest, StateIsFunctionalWithinAnEntry) {
  auto module = parse(R"(
    train.variable @a parameter : tensor<f32> = dense<1.0> : tensor<f32>
    train.variable @b parameter : tensor<f32> = #train.fill<2.0>
    train.variable @half copy : tensor<f16> = #train.copy_of<@third>
    train.variable @third parameter : tensor<f32> = dense<0.333333343> : tensor<f32>
    func.func @swap() -> tensor<f32> {
      %a = train.read @a : tensor<f32>
      train.assign @b, %a : tensor<f32>
      %b = train.read @b : tensor<f32>
      train.assign @a, %b : tensor<f32>
      return %b : tensor<f32>
    }
    func.func @fails(%i: tensor<1xi64>) -> tensor<1xf32> {
      %a = train.read @a : tensor<f32>
      %sum = graph.add %a, %a : (tensor<f32>, tensor<f32>) -> tensor<f32>
      train.assign @a, %sum : tensor<f32>
      %x = graph.constant dense<0.0> : tensor<2xf32>
      %y = graph.gather %x, %i {axis = 0 : i64} : (tensor<2xf32>, tensor<1xi64>) -> tensor<1xf32>
      return %y : tensor<1xf32>
    })");
  ASSERT_TRUE(module);
  Evaluator evaluator(*module, EvalMode::Rounded);
  EXPECT_EQ(evaluator.variable("half").values[0], roundTo(Float16Type::get(&context), 0.333333343));
  SmallVector<HostTensor> results;
  ASSERT_TRUE(succeeded(evaluator.run("swap", {}, results)));
  EXPECT_EQ(results[0].values[0], 2);
  EXPECT_EQ(evaluator.variable("a").values[0], 2);
  EXPECT_EQ(evaluator.variable("b").values[0], 1);

  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &d) { message += d.str(); });
  HostTensor index(RankedTensorType::get({1}, IntegerType::get(&context, 64)), {5});
  EXPECT_TRUE(failed(evaluator.run("fails", index, results)));
  EXPECT_EQ(message, "'graph.gather' op index 5 is out of range for 2 elements");
  EXPECT_EQ(evaluator.variable("a").values[0], 2);

  message.clear();
  EXPECT_TRUE(failed(evaluator.run("missing", {}, results)));
  EXPECT_EQ(message, "no entry @missing");
  message.clear();
  EXPECT_TRUE(failed(evaluator.run("fails", {}, results)));
  EXPECT_EQ(message, "entry @fails takes 1 inputs, not 0");
}

/// This is a step before the optimizer passes: gradients are handed out, and the seed is 1. An observer sees a
/// dispatch as one op.
TEST_F(EvaluatorTest, StepsDispatchesAndObservers) {
  auto module = parse(R"(
    train.variable @w parameter : tensor<2xf32> = dense<[3.0, 4.0]> : tensor<2xf32>
    train.step @main(%x: tensor<2xf32>) -> tensor<f32> attributes {parameters = [@w], optimizer = #train.optimizer<sgd>, scaler = #train.scaler<none>} {
      %w = train.read @w : tensor<2xf32>
      %loss = kernel.dispatch reduction "dot" (%x, %w) : (tensor<2xf32>, tensor<2xf32>) -> tensor<f32> {
      ^bb0(%a: tensor<2xf32>, %b: tensor<2xf32>):
        %0 = graph.mul %a, %b : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
        %1 = graph.reduce_sum %0 {axes = array<i64: 0>, keepdims = false} : (tensor<2xf32>) -> tensor<f32>
        kernel.yield %1 : tensor<f32>
      }
      %seed = train.seed : tensor<f32>
      %g = graph.mul %x, %seed : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
      train.update @w, %g : tensor<2xf32>
      train.yield %loss : tensor<f32>
    })");
  ASSERT_TRUE(module);
  Evaluator evaluator(*module, EvalMode::Exact);
  std::vector<std::string> seen;
  evaluator.observer = [&](Operation *op, ArrayRef<HostTensor> operands, ArrayRef<HostTensor> results) {
    seen.push_back(op->getName().getStringRef().str());
    EXPECT_EQ(operands.size(), op->getNumOperands());
    EXPECT_EQ(results.size(), op->getNumResults());
  };
  SmallVector<HostTensor> results;
  HostTensor x(RankedTensorType::get({2}, Float32Type::get(&context)), {1, 2});
  ASSERT_TRUE(succeeded(evaluator.run("main", x, results)));
  EXPECT_EQ(results[0].values[0], 11);
  EXPECT_EQ(evaluator.gradients().lookup("w").values, (std::vector<double>{1, 2}));
  EXPECT_EQ(seen,
            (std::vector<std::string>{"train.read", "kernel.dispatch", "train.seed", "graph.mul", "train.update"}));
}

/// Exact mode does not round: 1 + 2^-40 survives a cast through f16.
TEST_F(EvaluatorTest, ExactModeDoesNotRound) {
  auto module = parse(R"(
    func.func @f(%x: tensor<f64>) -> tensor<f64> {
      %0 = graph.cast %x : tensor<f64> to tensor<f16>
      %1 = graph.cast %0 : tensor<f16> to tensor<f64>
      return %1 : tensor<f64>
    })");
  ASSERT_TRUE(module);
  HostTensor x = HostTensor::scalar(Float64Type::get(&context), 1 + 0x1p-40);
  SmallVector<HostTensor> results;
  Evaluator exact(*module, EvalMode::Exact);
  ASSERT_TRUE(succeeded(exact.run("f", x, results)));
  EXPECT_EQ(results[0].values[0], 1 + 0x1p-40);
  Evaluator rounded(*module, EvalMode::Rounded);
  ASSERT_TRUE(succeeded(rounded.run("f", x, results)));
  EXPECT_EQ(results[0].values[0], 1);
}

TEST_F(EvaluatorTest, ReadsAllElementTypes) {
  auto check = [&](StringRef text, std::vector<double> want) {
    auto module = parse(("func.func @f() { %0 = graph.constant " + text + " return }").str());
    ASSERT_TRUE(module) << text.str();
    auto constant = *module->lookupSymbol<func::FuncOp>("f").getOps<graph::ConstantOp>().begin();
    auto value = HostTensor::fromAttr(constant.getValue());
    ASSERT_TRUE(succeeded(value)) << text.str();
    EXPECT_EQ(value->values, want) << text.str();
  };
  check("dense<[1.5, -2.0]> : tensor<2xf16>", {1.5, -2});
  check("dense<[1.5, -2.0]> : tensor<2xbf16>", {1.5, -2});
  check("dense<[1.5, -2.0]> : tensor<2xf64>", {1.5, -2});
  check("dense<-7> : tensor<2xi8>", {-7, -7});
  check("dense<[250, 1]> : tensor<2xui8>", {250, 1});
  check("dense<[-3, 1]> : tensor<2xi16>", {-3, 1});
  check("dense<[true, false, true]> : tensor<3xi1>", {1, 0, 1});
  check("dense<true> : tensor<2xi1>", {1, 1});
  check("dense<[-9000000000, 5]> : tensor<2xi64>", {-9e9, 5});
}

TEST_F(EvaluatorTest, RandomInitialValuesHaveTheirMoments) {
  auto module = parse(R"(
    train.variable @n parameter : tensor<100x100xf32> = #train.normal<1.0, 2.0>
    train.variable @u parameter : tensor<100x100xf32> = #train.uniform<-1.0, 3.0>)");
  ASSERT_TRUE(module);
  Evaluator evaluator(*module, EvalMode::Rounded);
  for (auto [name, mean, deviation] : {std::tuple("n", 1.0, 2.0), std::tuple("u", 1.0, 4 / std::sqrt(12.0))}) {
    const std::vector<double> &values = evaluator.variable(name).values;
    double sum = 0, squares = 0;
    for (double v : values)
      sum += v;
    for (double v : values)
      squares += (v - sum / values.size()) * (v - sum / values.size());
    // The bounds are five standard errors of 10,000 samples: sigma/100 for the mean, about sigma/141 for the deviation
    // (less for the uniform).
    EXPECT_NEAR(sum / values.size(), mean, 5 * deviation / 100);
    EXPECT_NEAR(std::sqrt(squares / values.size()), deviation, 5 * deviation / 141);
  }
}
} // namespace
