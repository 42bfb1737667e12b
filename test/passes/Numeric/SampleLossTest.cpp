//===- SampleLossTest.cpp - sums of sample losses against the loss of the batch -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/passes/Numeric/PassRun.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace mpc;
using namespace mpc::test;

namespace {

/// Returns a network that multiplies its input by a parameter of ones, which gives %z; `body` computes its
/// outputs from %z.
std::string forward(const std::string &zType, const std::string &labelsType, const std::string &body,
                    const std::string &resultType, const std::string &name) {
  return "train.variable @w parameter : tensor<1xf32> = #train.fill<1.0>\n"
         "func.func @forward(%x: " +
         zType + R"( {train.name = "x", train.batched}, %y: )" + labelsType +
         R"( {train.name = "y", train.batched}) -> ()" + resultType + " {train.name = \"" + name + R"("}) {
           %w = train.read @w : tensor<1xf32>
           %z = graph.mul %x, %w : ()" +
         zType + ", tensor<1xf32>) -> " + zType + body + "}";
}

/// Checks that the loss of @main is sum(sample_loss) / sum(sample_weight) of @eval on the same inputs.
void check(const std::string &ir, const std::string &loss, std::vector<double> labels) {
  PassRun run(ir, "mpc-attach-loss{" + loss + "}", EvalMode::Exact);
  auto main = llvm::cast<mlir::FunctionOpInterface>(run.module->lookupSymbol("main"));
  std::vector<HostTensor> inputs;
  for (mlir::Type type : main.getArgumentTypes())
    inputs.emplace_back(llvm::cast<mlir::RankedTensorType>(type));
  for (size_t i = 0; i < inputs[0].values.size(); ++i)
    inputs[0].values[i] = std::sin(3.0 * double(i));
  if (inputs.size() > 1)
    for (size_t i = 0; i < inputs[1].values.size(); ++i)
      inputs[1].values[i] = labels[i % labels.size()];
  llvm::SmallVector<HostTensor> trained, evaluated;
  ASSERT_TRUE(succeeded(run.evaluator->run("main", inputs, trained)));
  ASSERT_TRUE(succeeded(run.evaluator->run("eval", inputs, evaluated)));
  ASSERT_GE(evaluated.size(), 2u) << "the loss was not recognised as one over samples";
  ASSERT_EQ(evaluated[0].shape, llvm::ArrayRef<int64_t>{inputs[0].shape[0]});
  double losses = 0, weights = 0;
  for (size_t i = 0; i < evaluated[0].values.size(); ++i) {
    losses += evaluated[0].values[i];
    weights += evaluated[1].values[i];
  }
  // Only the order of the sums differs.
  EXPECT_NEAR(losses / weights, trained[0].values[0], 64 * 0x1p-53 * std::abs(trained[0].values[0]));
}

TEST(SampleLoss, AttachedForms) {
  std::string network =
      forward("tensor<4x3xf32>", "tensor<4xi64>", "return %z : tensor<4x3xf32>", "tensor<4x3xf32>", "z");
  check(network, "loss=softmax_cross_entropy:z:y", {0, 2, 1, 1});
  for (const char *form : {"mse", "l1", "smooth_l1", "bce_with_logits"})
    check(network, std::string("loss=") + form + ":z:t", {0.25, 1, -0.5});
}

TEST(SampleLoss, DenseLabels) {
  check(forward("tensor<2x3x5xf32>", "tensor<2x5xi64>", "return %z : tensor<2x3x5xf32>", "tensor<2x3x5xf32>", "z"),
        "loss=softmax_cross_entropy:z:y", {0, 2, 1});
}

TEST(SampleLoss, Options) {
  std::string tokens =
      forward("tensor<2x3x4xf32>", "tensor<2x3xi64>", "return %z : tensor<2x3x4xf32>", "tensor<2x3x4xf32>", "z");
  std::vector<double> labels = {0, 3, -100, 1, 2};
  check(tokens, "loss=softmax_cross_entropy:z:y", labels);
  check(tokens, "loss=softmax_cross_entropy:z:y,weight=1/2/0.5/3", labels);
  check(tokens, "loss=softmax_cross_entropy:z:y,label_smoothing=0.1", labels);
  check(tokens, "loss=softmax_cross_entropy:z:y,label_smoothing=0.1,weight=1/2/0.5/3,ignore_index=3", {0, 3, 2, 1});
  check(tokens, "loss=softmax_cross_entropy:z:y,label_smoothing=0.1,reduction=sum", labels);
}

TEST(SampleLoss, MeanOverAMask) {
  // This loss is computed by the network itself: sum(loss * mask) / sum(mask).
  check(forward("tensor<4x3xf32>", "tensor<4xi64>", R"(
           %l = graph.softmax_cross_entropy %z, %y {reduction = #graph<reduction none>} : (tensor<4x3xf32>, tensor<4xi64>) -> tensor<4xf32>
           %m = graph.cast %y : tensor<4xi64> to tensor<4xf32>
           %p = graph.mul %l, %m : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
           %a = graph.reduce_sum %p {axes = array<i64: 0>, keepdims = false} : (tensor<4xf32>) -> tensor<f32>
           %b = graph.reduce_sum %m {axes = array<i64: 0>, keepdims = false} : (tensor<4xf32>) -> tensor<f32>
           %q = graph.div %a, %b : (tensor<f32>, tensor<f32>) -> tensor<f32>
           return %q : tensor<f32>)",
                "tensor<f32>", "loss"),
        "", {0, 2, 1, 1});
}

TEST(SampleLoss, WeightsAndIgnoredLabels) {
  check(forward("tensor<4x3xf32>", "tensor<4xi64>", R"(
           %c = graph.constant dense<[1.0, 2.0, 5.0]> : tensor<3xf32>
           %l = graph.softmax_cross_entropy %z, %y, %c {reduction = #graph<reduction mean>, ignore_index = -100 : i64}
             : (tensor<4x3xf32>, tensor<4xi64>, tensor<3xf32>) -> tensor<f32>
           return %l : tensor<f32>)",
                "tensor<f32>", "loss"),
        "loss=output:loss", {0, -100, 2, 1});
}

TEST(SampleLoss, FlattenedSequences) {
  check(forward("tensor<2x3x4xf32>", "tensor<2x3xi64>", R"(
           %f = graph.reshape %z : tensor<2x3x4xf32> to tensor<6x4xf32>
           %g = graph.reshape %y : tensor<2x3xi64> to tensor<6xi64>
           %l = graph.softmax_cross_entropy %f, %g {reduction = #graph<reduction mean>} : (tensor<6x4xf32>, tensor<6xi64>) -> tensor<f32>
           return %l : tensor<f32>)",
                "tensor<f32>", "loss"),
        "", {0, 3, 2, 1});
}

TEST(SampleLoss, SumOfABatch) {
  // A summed loss is averaged over batches: each sample has a weight of 1/N, so that one batch gives the batch's sum.
  check(forward("tensor<4x3xf32>", "tensor<4xi64>", R"(
           %l = graph.softmax_cross_entropy %z, %y {reduction = #graph<reduction sum>} : (tensor<4x3xf32>, tensor<4xi64>) -> tensor<f32>
           return %l : tensor<f32>)",
                "tensor<f32>", "loss"),
        "", {0, 2, 1, 1});
}

} // namespace
