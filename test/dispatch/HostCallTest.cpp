//===- HostCallTest.cpp - contractions with loops behind the library's call ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Kernel/Analysis/HostCall.h"
#include "DispatchCheck.h"
#include "test/codegen/KernelHarness.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace mpc;
using namespace mpc::test;

// A convolution with its bias, as the batch norm behind it wants it: the result, and its sums over all but the
// channels. The bias is the library's, the sums are loops.
static const char statistics[] = R"(
func.func @f(%x: tensor<3x9x7x8xf16>, %w: tensor<24x8x3x3xf16>, %b: tensor<24xf16>) -> (tensor<24xf32>, tensor<3x9x7x24xf16>, tensor<24xf32>) {
  %0:3 = kernel.dispatch contraction "conv" (%x, %w, %b) : (tensor<3x9x7x8xf16>, tensor<24x8x3x3xf16>, tensor<24xf16>) -> (tensor<24xf32>, tensor<3x9x7x24xf16>, tensor<24xf32>) {
  ^bb0(%0: tensor<3x9x7x8xf16>, %1: tensor<24x8x3x3xf16>, %2: tensor<24xf16>):
    %c = graph.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, groups = 1 : i64, layout = #graph<layout channels_last>}
      : (tensor<3x9x7x8xf16>, tensor<24x8x3x3xf16>) -> tensor<3x9x7x24xf16>
    %y = graph.add %c, %2 : (tensor<3x9x7x24xf16>, tensor<24xf16>) -> tensor<3x9x7x24xf16>
    %f = graph.cast %y : tensor<3x9x7x24xf16> to tensor<3x9x7x24xf32>
    %q = graph.mul %f, %f : (tensor<3x9x7x24xf32>, tensor<3x9x7x24xf32>) -> tensor<3x9x7x24xf32>
    %s = graph.reduce_sum %f {axes = array<i64: 0, 1, 2>, keepdims = false} : (tensor<3x9x7x24xf32>) -> tensor<24xf32>
    %t = graph.reduce_sum %q {axes = array<i64: 0, 1, 2>, keepdims = false} : (tensor<3x9x7x24xf32>) -> tensor<24xf32>
    kernel.yield %s, %y, %t : tensor<24xf32>, tensor<3x9x7x24xf16>, tensor<24xf32>
  }
  return %0#0, %0#1, %0#2 : tensor<24xf32>, tensor<3x9x7x24xf16>, tensor<24xf32>
}
)";

// What is added to the product is no bias: it has a number for each element, so it is left to the
// loops, as is the relu.
static const char residual[] = R"(
func.func @f(%x: tensor<70x24xf32>, %w: tensor<24x36xf32>, %r: tensor<70x36xf32>) -> (tensor<70x36xf32>, tensor<70x36xf32>) {
  %0:2 = kernel.dispatch contraction "fc" (%x, %w, %r) : (tensor<70x24xf32>, tensor<24x36xf32>, tensor<70x36xf32>) -> (tensor<70x36xf32>, tensor<70x36xf32>) {
  ^bb0(%0: tensor<70x24xf32>, %1: tensor<24x36xf32>, %2: tensor<70x36xf32>):
    %p = graph.matmul %0, %1 : (tensor<70x24xf32>, tensor<24x36xf32>) -> tensor<70x36xf32>
    %s = graph.add %2, %p : (tensor<70x36xf32>, tensor<70x36xf32>) -> tensor<70x36xf32>
    %y = graph.relu %s : tensor<70x36xf32>
    kernel.yield %p, %y : tensor<70x36xf32>, tensor<70x36xf32>
  }
  return %0#0, %0#1 : tensor<70x36xf32>, tensor<70x36xf32>
}
)";

static void check(const char *text, bool hasBias, unsigned result) {
  auto context = makeContext();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, context.get());
  ASSERT_TRUE(module);
  kernel::DispatchOp dispatch = dispatchOf(*module);
  FailureOr<kernel::HostCall> call = kernel::HostCall::of(dispatch);
  ASSERT_TRUE(succeeded(call));
  EXPECT_EQ(bool(call->bias), hasBias);
  EXPECT_EQ(call->result, result);
  EXPECT_TRUE(call->hasLoops());

  std::mt19937_64 random{7};
  std::vector<HostTensor> inputs;
  for (Type type : dispatch.getOperandTypes())
    inputs.push_back(draw(cast<RankedTensorType>(type), Draw{-1, 1}, random));
  std::unique_ptr<Executor> executor = makeHostExecutor(context.get());
  DispatchCheck run(*executor, *module, {"f"});
  run.compare("f", inputs);
  run.expectAll();
}

TEST(HostCall, StatisticsOfAConvolution) { check(statistics, /*hasBias=*/true, /*result=*/1); }
TEST(HostCall, AnAddendForEachElementIsNoBias) { check(residual, /*hasBias=*/false, /*result=*/0); }
