//===- MixedPrecisionTest.cpp - what masters and loss scaling are for --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/passes/Numeric/PassRun.h"
#include <gtest/gtest.h>

using namespace mpc;
using namespace mpc::test;

namespace {

std::string passes(const std::string &level, const std::string &type = "fp16") {
  return "mpc-autocast{type=" + type + " opt-level=" + level +
         "},mpc-autodiff,mpc-loss-scaling,mpc-optimizers,mpc-master-weights,mpc-simplify";
}

/// Makes loss = factor * x @ w with w = 1: the gradient of w is factor * x.
std::string product(const std::string &factor, const std::string &attributes) {
  return R"(
    train.variable @w parameter : tensor<1x1xf32> = #train.fill<1.0>
    train.step @main(%x: tensor<1x1xf32>) -> tensor<f32> attributes {parameters = [@w], )" +
         attributes + R"(} {
      %w = train.read @w : tensor<1x1xf32>
      %y = graph.matmul %x, %w : (tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>
      %s = graph.reduce_sum %y {axes = array<i64: 0, 1>, keepdims = false} : (tensor<1x1xf32>) -> tensor<f32>
      %f = graph.constant dense<)" +
         factor + R"(> : tensor<f32>
      %l = graph.mul %s, %f : (tensor<f32>, tensor<f32>) -> tensor<f32>
      train.yield %l : tensor<f32>
    })";
}

// The update is lr = 2^-12, which is half an f16 ULP of w = 1. The sum rounds to even, which is 1 again.
const std::string kTinyUpdate = "optimizer = #train.optimizer<sgd, lr = 2.44140625e-4>, scaler = #train.scaler<none>";

TEST(MasterWeights, TinyUpdateIsLostWithoutMasters) {
  PassRun run(product("1.0", kTinyUpdate), passes("O3"));
  for (int i = 0; i < 16; ++i)
    run.step({1});
  EXPECT_EQ(run["w"][0], 1);
  EXPECT_FALSE(run.evaluator->hasVariable("w/f16"));
}

TEST(MasterWeights, TinyUpdateIsKeptWithMasters) {
  for (const char *level : {"O1", "O2"}) {
    PassRun run(product("1.0", kTinyUpdate), passes(level));
    for (int i = 1; i <= 16; ++i) {
      run.step({1});
      EXPECT_EQ(run["w"][0], 1 - i * 0x1p-12);
      EXPECT_EQ(run["w/f16"][0], roundTo(mlir::Float16Type::get(&run.context), 1 - i * 0x1p-12));
    }
    // The next forward pass reads the copy.
    EXPECT_EQ(run.step({1}), 1 - 16 * 0x1p-12);
  }
}

TEST(LossScaling, SmallGradientsVanishWithoutScale) {
  // d loss/d y = 2^-26 is below half of f16's smallest subnormal, 2^-24.
  PassRun run(
      product("1.4901161193847656e-8", "optimizer = #train.optimizer<sgd, lr = 1.0>, scaler = #train.scaler<none>"),
      passes("O2"));
  run.step({1});
  EXPECT_EQ(run["w"][0], 1);
}

TEST(LossScaling, SmallGradientsSurviveWithScale) {
  // With lr = 2^20 the update is 2^-6.
  const std::string optimizer = "optimizer = #train.optimizer<sgd, lr = 1048576.0>, scaler = ";
  for (const char *scaler : {"#train.scaler<static, init_scale = 1024>", "#train.scaler<dynamic>"}) {
    PassRun run(product("1.4901161193847656e-8", optimizer + scaler), passes("O2"));
    run.step({1});
    EXPECT_EQ(run["w"][0], 1 - 0x1p-6);
  }
  PassRun bf16(product("1.4901161193847656e-8", optimizer + "#train.scaler<none>"), passes("O2", "bf16"));
  bf16.step({1});
  EXPECT_EQ(bf16["w"][0], 1 - 0x1p-6) << "bf16 has fp32's range";
}

TEST(LossScaling, TooLargeAScaleIsFound) {
  // 65536 * 1 is infinite in f16, so the first update is skipped; the second, at 32768, is not.
  PassRun run(product("1.0", "optimizer = #train.optimizer<sgd, lr = 0.5>, scaler = #train.scaler<dynamic>"),
              passes("O2"));
  run.step({1});
  EXPECT_EQ(run["w"][0], 1);
  EXPECT_EQ(run["main/scale"][0], 32768);
  run.step({1});
  EXPECT_EQ(run["w"][0], 0.5);
  EXPECT_EQ(run["w/f16"][0], 0.5);
  EXPECT_EQ(run["main/skipped"][0], 1);
}

} // namespace
