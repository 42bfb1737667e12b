//===- JoinProjectionsTest.cpp - joined products train as those that they replace -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/passes/Numeric/PassRun.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace mpc;
using namespace mpc::test;

namespace {

/// Returns the heads of x w + bias as an attention reads them. `w` is @NAME, or with `transposed` the transpose of it.
std::string heads(const std::string &name, int64_t count, bool transposed) {
  std::string width = std::to_string(4 * count), n = "%" + name, heads = std::to_string(count);
  std::string weight = transposed ? "tensor<" + width + "x8xf32>" : "tensor<8x" + width + "xf32>";
  std::string ir = n + "_s = train.read @" + name + " : " + weight + "\n";
  if (transposed)
    ir += n + "_w = graph.transpose " + n + "_s {permutation = array<i64: 1, 0>} : (" + weight + ") -> tensor<8x" +
          width + "xf32>\n";
  return ir + n + "_p = graph.matmul %x, " + n + (transposed ? "_w" : "_s") + " : (tensor<2x5x8xf32>, tensor<8x" +
         width + "xf32>) -> tensor<2x5x" + width + "xf32>\n" + n + "_b = train.read @" + name + "_bias : tensor<" +
         width + "xf32>\n" + n + "_a = graph.add " + n + "_p, " + n + "_b : (tensor<2x5x" + width + "xf32>, tensor<" +
         width + "xf32>) -> tensor<2x5x" + width + "xf32>\n" + n + "_r = graph.reshape " + n + "_a : tensor<2x5x" +
         width + "xf32> to tensor<2x5x" + heads + "x4xf32>\n" + n + " = graph.transpose " + n +
         "_r {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x5x" + heads + "x4xf32>) -> tensor<2x" + heads +
         "x5x4xf32>\n";
}

std::string variables(const std::string &name, int64_t count, bool transposed) {
  std::string width = std::to_string(4 * count);
  return "train.variable @" + name + " parameter : tensor<" + (transposed ? width + "x8" : "8x" + width) +
         "xf32> = #train.fill<0.0>\ntrain.variable @" + name + "_bias parameter : tensor<" + width +
         "xf32> = #train.fill<0.0>\n";
}

/// Makes loss = sum(attention(q, k, v)^2) of two samples with five tokens; q has four heads, k and v have `few`.
std::string attention(int64_t few, bool transposed) {
  std::string keys = "tensor<2x" + std::to_string(few) + "x5x4xf32>";
  return variables("q", 4, transposed) + variables("k", few, transposed) + variables("v", few, transposed) + R"(
    train.step @main(%x: tensor<2x5x8xf32>) -> tensor<f32> attributes {
        parameters = [@q, @q_bias, @k, @k_bias, @v, @v_bias], optimizer = #train.optimizer<sgd, lr = 0.5>,
        scaler = #train.scaler<none>} {
    )" + heads("q", 4, transposed) +
         heads("k", few, transposed) + heads("v", few, transposed) +
         "%y, %largest, %log_sum = graph.attention %q, %k, %v {scale = 5.0e-1 : f64} : (tensor<2x4x5x4xf32>, " + keys +
         ", " + keys + R"() -> (tensor<2x4x5x4xf32>, tensor<2x4x5x1xf32>, tensor<2x4x5x1xf32>)
      %s = graph.mul %y, %y : (tensor<2x4x5x4xf32>, tensor<2x4x5x4xf32>) -> tensor<2x4x5x4xf32>
      %l = graph.reduce_sum %s {axes = array<i64: 0, 1, 2, 3>, keepdims = false} : (tensor<2x4x5x4xf32>) -> tensor<f32>
      train.yield %l : tensor<f32>
    })";
}

TEST(JoinProjections, TrainsAsBefore) {
  for (int64_t few : {4, 2, 1})
    for (bool transposed : {false, true}) {
      const std::string train = "mpc-autodiff,mpc-loss-scaling,mpc-optimizers,mpc-simplify";
      PassRun apart(attention(few, transposed), train);
      PassRun joined(attention(few, transposed), "mpc-join-projections," + train);
      std::mt19937 random(7);
      std::normal_distribution<double> normal;
      std::vector<double> x(2 * 5 * 8);
      for (double &element : x)
        element = float(normal(random));
      for (auto &[name, values] : apart.stateWithoutScaler())
        for (size_t i = 0; i < values.size(); ++i)
          apart[name][i] = joined[name][i] = float(0.3 * normal(random));
      EXPECT_NEAR(joined.step(x), apart.step(x), 1e-5);
      for (auto &[name, values] : apart.stateWithoutScaler())
        for (size_t i = 0; i < values.size(); ++i)
          EXPECT_NEAR(joined[name][i], values[i], 1e-5) << name << " " << i << ", " << few << " heads of keys";
      unsigned products = 0;
      joined.module->walk([&](mlir::Operation *op) { products += op->getName().getStringRef() == "graph.matmul"; });
      EXPECT_EQ(products, 2u); // forward, and the gradient of the weights; nothing asks for that of x
    }
}

} // namespace
