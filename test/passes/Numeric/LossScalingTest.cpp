//===- LossScalingTest.cpp - the scaler against torch's rules -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/passes/Numeric/PassRun.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace mpc;
using namespace mpc::test;

namespace {

constexpr double kInf = INFINITY;
constexpr const char *kPasses = "mpc-autodiff,mpc-loss-scaling,mpc-optimizers,mpc-simplify";

/// torch.amp.GradScaler.update, extended by the bounds and the hysteresis of mpc's scaler.
struct ReferenceScaler {
  float scale;
  double growth = 2, backoff = 0.5;
  int interval = 2000;
  float minScale = 0, maxScale = INFINITY;
  int hysteresis = 1;
  int tracker = 0, skipped = 0, units = hysteresis;

  void update(bool overflow) {
    if (overflow) {
      ++skipped;
      tracker = 0;
      units = std::max(units - 1, 0);
      if (units == 0)
        scale = std::max(float(scale * backoff), minScale);
      if (hysteresis == 1)
        units = 1;
    } else if (++tracker >= interval) {
      float grown = std::min(float(scale * growth), maxScale);
      if (std::isfinite(grown))
        scale = grown;
      tracker = 0;
      units = hysteresis;
    }
  }
};

/// Returns a number as text with a decimal point, which MLIR needs.
std::string number(double v) {
  char text[64];
  std::snprintf(text, sizeof text, "%.17e", v);
  return text;
}

std::string scalerAttributes(const ReferenceScaler &r) {
  std::string text =
      "optimizer = #train.optimizer<sgd, lr = 0.125>, scaler = #train.scaler<dynamic, init_scale = " + number(r.scale) +
      ", growth_factor = " + number(r.growth) + ", backoff_factor = " + number(r.backoff) +
      ", growth_interval = " + std::to_string(r.interval) + ", hysteresis = " + std::to_string(r.hysteresis);
  if (r.minScale > 0)
    text += ", min_scale = " + number(r.minScale);
  if (std::isfinite(r.maxScale))
    text += ", max_scale = " + number(r.maxScale);
  return text + ">";
}

/// Runs the pattern (true means overflow) and compares the whole state after every step.
void check(ReferenceScaler reference, const std::vector<bool> &pattern) {
  PassRun run(linearStep(scalerAttributes(reference)), kPasses);
  double w = 1;
  int updates = 0;
  for (size_t i = 0; i < pattern.size(); ++i) {
    run.step({pattern[i] ? kInf : 0.5, 0.5});
    reference.update(pattern[i]);
    if (!pattern[i]) {
      w -= 0.125 * 0.5;
      ++updates;
    }
    ASSERT_EQ(run["main/scale"][0], double(reference.scale)) << "after step " << i;
    ASSERT_EQ(run["main/growth_tracker"][0], reference.tracker) << "after step " << i;
    ASSERT_EQ(run["main/skipped"][0], reference.skipped) << "after step " << i;
    ASSERT_EQ(run["main/step"][0], updates) << "after step " << i;
    // The updates are exact for scales that are powers of two. Otherwise there are three roundings in each step
    // (inverse, product, update).
    int exponent;
    bool exact = std::frexp(reference.growth, &exponent) == 0.5 && std::frexp(reference.backoff, &exponent) == 0.5;
    ASSERT_NEAR(run["w"][0], w, exact ? 0 : updates * 3 * 0x1p-24) << "after step " << i;
    if (reference.hysteresis > 1) {
      ASSERT_EQ(run["main/hysteresis"][0], reference.units) << "after step " << i;
    }
  }
}

TEST(LossScaling, TorchUnitTest) {
  // With scale 4, growth 2, backoff 0.25 and interval 2, the scale is 4, then 8 after two clean steps,
  // and 2 after an Inf.
  PassRun run(linearStep(scalerAttributes({.scale = 4, .growth = 2, .backoff = 0.25, .interval = 2})), kPasses);
  run.step({1, 1});
  EXPECT_EQ(run["main/scale"][0], 4);
  run.step({1, 1});
  EXPECT_EQ(run["main/scale"][0], 8);
  run.step({kInf, 1});
  EXPECT_EQ(run["main/scale"][0], 2);
}

TEST(LossScaling, OverflowPatterns) {
  std::vector<std::vector<bool>> patterns = {{0, 0, 0, 0, 0, 0},
                                             {1, 1, 1, 1},
                                             {0, 1, 0, 1, 0, 1, 0},
                                             {0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0},
                                             {1, 0, 0, 0, 0, 0, 0, 1}};
  for (int interval : {1, 2, 3})
    for (const std::vector<bool> &pattern : patterns)
      check({.scale = 65536, .interval = interval}, pattern);
}

TEST(LossScaling, RandomPatterns) {
  std::mt19937 random(1);
  for (int i = 0; i < 8; ++i) {
    std::vector<bool> pattern, often; // the second drives the scale below its least value
    for (int n = 0; n < 40; ++n) {
      pattern.push_back(random() % 5 == 0);
      often.push_back(random() % 3 != 0);
    }
    check({.scale = 1024, .minScale = 256}, often);
    check({.scale = 1024, .growth = 1.5, .backoff = 0.3, .interval = 3}, pattern);
    check(
        {.scale = 1024, .interval = 2, .minScale = 256, .maxScale = 4096, .hysteresis = 1 + i % 4, .units = 1 + i % 4},
        pattern);
  }
}

TEST(LossScaling, GrowthStaysFinite) { check({.scale = 0x1p126f, .interval = 1}, {0, 0, 0}); }

TEST(LossScaling, NaNCountsAsOverflow) {
  PassRun run(linearStep("optimizer = #train.optimizer<sgd>, scaler = #train.scaler<dynamic>"), kPasses);
  run.step({NAN, 1});
  EXPECT_EQ(run["main/scale"][0], 32768);
  EXPECT_EQ(run["w"][0], 1);
}

/// The gradient of each parameter is one element of the input, so that each of them can be the only one that overflows.
TEST(LossScaling, AnOverflowInAnyParameterSkipsTheStep) {
  std::string variables, reads, terms;
  for (std::string i : {"0", "1", "2"}) {
    variables += "train.variable @w" + i + " parameter : tensor<1xf32> = #train.fill<1.0>\n";
    reads += "%w" + i + " = train.read @w" + i + " : tensor<1xf32>\n%x" + i +
             " = graph.slice %x {starts = array<i64: " + i +
             ">, sizes = array<i64: 1>, strides = array<i64: 1>} : (tensor<3xf32>) -> tensor<1xf32>\n%p" + i +
             " = graph.mul %w" + i + ", %x" + i + " : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>\n";
  }
  PassRun run(variables + R"(
    train.step @main(%x: tensor<3xf32>) -> tensor<f32>
        attributes {parameters = [@w0, @w1, @w2], optimizer = #train.optimizer<sgd, lr = 0.5>, scaler = #train.scaler<dynamic>} {
      )" + reads + R"(
      %a = graph.add %p0, %p1 : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
      %b = graph.add %a, %p2 : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
      %l = graph.reduce_sum %b {axes = array<i64: 0>, keepdims = false} : (tensor<1xf32>) -> tensor<f32>
      train.yield %l : tensor<f32>
    })",
              kPasses);
  for (int overflowed = 0; overflowed < 3; ++overflowed) {
    std::vector<double> x(3, 1);
    x[size_t(overflowed)] = kInf;
    run.step(x);
    EXPECT_EQ(run["main/skipped"][0], overflowed + 1);
    for (const char *w : {"w0", "w1", "w2"})
      EXPECT_EQ(run[w][0], 1) << w << " was updated though the gradient of parameter " << overflowed << " overflowed";
  }
}

TEST(LossScaling, SkippedStepLeavesEverythingButTheScaler) {
  for (const char *scaler : {"#train.scaler<dynamic>", "#train.scaler<static, init_scale = 8>"}) {
    PassRun run(
        linearStep(std::string("optimizer = #train.optimizer<adam, weight_decay = 0.1>, clip_norm = 1.0, scaler = ") +
                   scaler),
        kPasses);
    run.step({1, 2});
    run.step({3, -1});
    auto before = run.stateWithoutScaler();
    run.step({1, kInf});
    EXPECT_EQ(run.stateWithoutScaler(), before);
    EXPECT_EQ(run["main/skipped"][0], 1);
    run.step({1, 2});
    EXPECT_NE(run.stateWithoutScaler(), before);
  }
}

TEST(LossScaling, UnscaledGradientIsExactForPowersOfTwo) {
  PassRun scaled(linearStep("optimizer = #train.optimizer<sgd, lr = 0.1>, scaler = #train.scaler<dynamic>"), kPasses);
  PassRun plain(linearStep("optimizer = #train.optimizer<sgd, lr = 0.1>, scaler = #train.scaler<none>"), kPasses);
  for (int i = 0; i < 5; ++i) {
    scaled.step({0.3 * i, -0.7});
    plain.step({0.3 * i, -0.7});
    EXPECT_EQ(scaled["w"], plain["w"]);
  }
}

TEST(Clipping, GlobalNormAndValue) {
  // The gradient is (3, 4), so its norm is 5 and the step is lr * g / 5 (torch divides by norm + 1e-6).
  PassRun norm(
      linearStep("optimizer = #train.optimizer<sgd, lr = 1.0>, scaler = #train.scaler<dynamic>, clip_norm = 1.0"),
      kPasses);
  norm.step({3, 4});
  EXPECT_NEAR(norm["w"][0], 1 - 3 / 5.000001, 4 * 0x1p-24);
  EXPECT_NEAR(norm["w"][1], -2 - 4 / 5.000001, 8 * 0x1p-24);
  // A gradient below the bound is not changed.
  PassRun small(
      linearStep("optimizer = #train.optimizer<sgd, lr = 1.0>, scaler = #train.scaler<none>, clip_norm = 100.0"),
      kPasses);
  small.step({3, 4});
  EXPECT_EQ(small["w"], (std::vector<double>{-2, -6}));
  PassRun value(
      linearStep("optimizer = #train.optimizer<sgd, lr = 1.0>, scaler = #train.scaler<dynamic>, clip_value = 0.5"),
      kPasses);
  value.step({3, -0.25});
  EXPECT_EQ(value["w"], (std::vector<double>{0.5, -1.75}));
}

TEST(Accumulation, EqualsTheLargeBatch) {
  for (const char *scaler : {"none", "dynamic", "static, init_scale = 8.0"}) {
    std::string optimizer =
        std::string("optimizer = #train.optimizer<sgd, lr = 0.5, momentum = 0.5>, scaler = #train.scaler<") + scaler +
        ">";
    PassRun micro(linearStep(optimizer + ", accumulate = 4 : i64"), kPasses);
    PassRun large(linearStep(optimizer), kPasses);
    for (int window = 0; window < 3; ++window) {
      double sum[2] = {};
      for (int i = 0; i < 4; ++i) {
        std::vector<double> before = micro["w"];
        std::vector<double> x = {double(i - window), 0.25 * (i + 1)};
        sum[0] += x[0];
        sum[1] += x[1];
        micro.step(x);
        if (i < 3) {
          EXPECT_EQ(micro["w"], before);
        }
      }
      large.step({sum[0] / 4, sum[1] / 4}); // the gradient of a mean over the large batch
      EXPECT_EQ(micro["w"], large["w"]);    // exact, since only powers of two divide
      EXPECT_EQ(micro["w/accumulator"], (std::vector<double>{0, 0}));
    }
    EXPECT_EQ(micro["main/step"][0], 3);
  }
}

TEST(Accumulation, OneOverflowSkipsTheWindowOnce) {
  PassRun run(linearStep("optimizer = #train.optimizer<sgd, lr = 0.5>, scaler = #train.scaler<dynamic, "
                         "growth_interval = 1>, accumulate = 3 : i64"),
              kPasses);
  for (double x : {1.0, kInf, 1.0}) {
    EXPECT_EQ(run["main/scale"][0], 65536) << "the scale is constant within a window";
    run.step({x, 1});
  }
  EXPECT_EQ(run["w"], (std::vector<double>{1, -2}));
  EXPECT_EQ(run["main/scale"][0], 32768);
  EXPECT_EQ(run["main/skipped"][0], 1);
  for (int i = 0; i < 3; ++i)
    run.step({3, 3});
  EXPECT_EQ(run["w"], (std::vector<double>{-0.5, -3.5}));
  EXPECT_EQ(run["main/scale"][0], 65536);
}

/// The magnitudes are powers of two and numbers around the bound: S is the largest power of two with M *
/// headroom * S < 65504.
TEST(Calibration, PicksTheLargestPowerOfTwo) {
  for (double headroom : {1.0, 4.0})
    for (double largest : {1.0, 65504.0 / 1024, 65503.0 / 1024, 63.9, 64.0, 3e-8, 0x1p-40, 1e-20, 12345.0}) {
      PassRun run(linearStep("optimizer = #train.optimizer<sgd>, scaler = #train.scaler<calibrate, init_scale = 1, "
                             "steps = 2, headroom = " +
                             number(headroom) + ">"),
                  kPasses);
      run.step({largest / 2, -0.25 * largest});
      EXPECT_EQ(run["main/scale"][0], 1);
      run.step({0, -largest});
      double m = double(float(largest)), scale = run["main/scale"][0];
      int exponent;
      EXPECT_EQ(run["main/gradient_max"][0], m);
      EXPECT_EQ(std::frexp(scale, &exponent), 0.5);
      EXPECT_LT(m * headroom * scale, 65504) << largest;
      EXPECT_GE(m * headroom * scale * 2, 65504) << largest;
      // The scale stays after that.
      run.step({largest * 100, 0});
      EXPECT_EQ(run["main/scale"][0], scale);
      EXPECT_EQ(run["main/gradient_max"][0], m);
    }
}

TEST(Calibration, OverflowsShrinkTheScaleAndDoNotCount) {
  PassRun run(
      linearStep(
          "optimizer = #train.optimizer<sgd, lr = 0.5>, scaler = #train.scaler<calibrate, steps = 3, headroom = 1.0>"),
      kPasses);
  run.step({kInf, 1});
  EXPECT_EQ(run["w"], (std::vector<double>{1, -2}));
  EXPECT_EQ(run["main/scale"][0], 512);
  EXPECT_EQ(run["main/calibrated"][0], 0);
  run.step({0.5, 1});
  run.step({NAN, 1});
  EXPECT_EQ(run["main/scale"][0], 256);
  EXPECT_EQ(run["main/gradient_max"][0], 1);
  run.step({0.5, 2});
  EXPECT_EQ(run["main/scale"][0], 256);
  run.step({0.5, 1});
  EXPECT_EQ(run["main/scale"][0], 16384); // 2 * 32768 = 65536 is too large
  run.step({kInf, 1});
  EXPECT_EQ(run["main/scale"][0], 16384);
  EXPECT_EQ(run["main/skipped"][0], 3);
  EXPECT_EQ(run["main/step"][0], 3);
}

TEST(Calibration, BoundsHold) {
  for (auto [least, most, want] : {std::tuple(1.0, 4096.0, 4096.0), {131072.0, 1048576.0, 131072.0}}) {
    PassRun run(
        linearStep("optimizer = #train.optimizer<sgd>, scaler = #train.scaler<calibrate, steps = 1, init_scale = " +
                   number(least) + ", min_scale = " + number(least) + ", max_scale = " + number(most) + ">"),
        kPasses);
    run.step({1, 1}); // would give 8192 without bounds
    EXPECT_EQ(run["main/scale"][0], want);
  }
}

TEST(Calibration, ZeroGradientsSayNothing) {
  PassRun run(
      linearStep("optimizer = #train.optimizer<sgd>, scaler = #train.scaler<calibrate, steps = 1, headroom = 1.0>"),
      kPasses);
  run.step({0, 0});
  EXPECT_EQ(run["main/scale"][0], 1024);
  EXPECT_EQ(run["main/calibrated"][0], 0);
  // The calibration goes on until it has seen a gradient from which to pick a scale.
  run.step({1, -2});
  EXPECT_EQ(run["main/scale"][0], 16384);
  EXPECT_EQ(run["main/calibrated"][0], 1);
}

TEST(Calibration, EveryMicroBatchIsWatched) {
  PassRun run(linearStep("optimizer = #train.optimizer<sgd>, scaler = #train.scaler<calibrate, steps = 1, headroom = "
                         "1.0>, accumulate = 3 : i64"),
              kPasses);
  for (double x : {1.0, 100.0, 2.0}) {
    EXPECT_EQ(run["main/scale"][0], 1024) << "constant within a window";
    run.step({x, -x});
  }
  EXPECT_EQ(run["main/gradient_max"][0], 100);
  EXPECT_EQ(run["main/scale"][0], 512);
}

TEST(LossScaling, BuffersStayOnOverflow) {
  PassRun run(R"(
    train.variable @w parameter : tensor<2xf32> = #train.fill<1.0>
    train.variable @stat buffer : tensor<2xf32> = #train.fill<7.0>
    train.variable @square buffer : tensor<2xf32> = #train.fill<9.0>
    train.variable @"rng.step" counter : tensor<i64> = #train.fill<0.0>
    train.step @main(%x: tensor<2xf32>) -> tensor<f32>
        attributes {parameters = [@w], optimizer = #train.optimizer<sgd>, scaler = #train.scaler<dynamic>} {
      %w = train.read @w : tensor<2xf32>
      train.assign @stat, %x : tensor<2xf32>
      %xx = graph.mul %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      train.assign @square, %xx : tensor<2xf32>
      %c = train.read @"rng.step" : tensor<i64>
      %one = graph.constant dense<1> : tensor<i64>
      %d = graph.add %c, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
      train.assign @"rng.step", %d : tensor<i64>
      %p = graph.mul %w, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      %l = graph.reduce_sum %p {axes = array<i64: 0>, keepdims = false} : (tensor<2xf32>) -> tensor<f32>
      train.yield %l : tensor<f32>
    })",
              kPasses);
  run.step({kInf, 1});
  EXPECT_EQ(run["stat"], (std::vector<double>{7, 7}));
  EXPECT_EQ(run["square"], (std::vector<double>{9, 9}));
  EXPECT_EQ(run["rng.step"][0], 1);
  run.step({5, 1});
  EXPECT_EQ(run["stat"], (std::vector<double>{5, 1}));
  EXPECT_EQ(run["square"], (std::vector<double>{25, 1}));
  EXPECT_EQ(run["rng.step"][0], 2);
}

/// x * x overflows in the loss alone: the gradient is x, and x times the scale is finite.
TEST(LossScaling, BuffersStayWhereOnlyTheLossIsInfinite) {
  for (const char *scaler : {"none", "dynamic"}) {
    PassRun run(std::string(R"(
    train.variable @w parameter : tensor<2xf32> = #train.fill<1.0>
    train.variable @stat buffer : tensor<2xf32> = #train.fill<7.0>
    train.step @main(%x: tensor<2xf32>) -> tensor<f32>
        attributes {parameters = [@w], optimizer = #train.optimizer<sgd>, scaler = #train.scaler<)") +
                    scaler + R"(>} {
      %w = train.read @w : tensor<2xf32>
      train.assign @stat, %x : tensor<2xf32>
      %p = graph.mul %w, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      %xx = graph.mul %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      %s = graph.add %p, %xx : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      %l = graph.reduce_sum %s {axes = array<i64: 0>, keepdims = false} : (tensor<2xf32>) -> tensor<f32>
      train.yield %l : tensor<f32>
    })",
                "mpc-autodiff,mpc-loss-scaling{guard-loss=true},mpc-optimizers,mpc-simplify");
    EXPECT_EQ(run.step({1e20, 1}), kInf);
    EXPECT_EQ(run["w"], (std::vector<double>{1, 1})) << scaler;
    EXPECT_EQ(run["stat"], (std::vector<double>{7, 7})) << scaler;
    run["main/nan_guard"][0] = 0;
    run.step({1e20, 1});
    EXPECT_EQ(run["stat"], (std::vector<double>{double(1e20f), 1})) << scaler;
  }
}

} // namespace
