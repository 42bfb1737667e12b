// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// These tests count what dispatches read, and what their launches move and multiply.
#include "dialects/Kernel/Analysis/LaunchCosts.h"
#include "dialects/Graph/IR/Graph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FormatVariadic.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace mpc;

namespace {

using Counts = SmallVector<int64_t>;

/// A module with one dispatch.
struct Parsed {
  explicit Parsed(const std::string &text) {
    context.loadDialect<func::FuncDialect, graph::GraphDialect, kernel::KernelDialect, LLVM::LLVMDialect>();
    module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module) << text;
    if (module)
      module->walk<WalkOrder::PreOrder>([&](kernel::DispatchOp found) {
        dispatch = found;
        return WalkResult::interrupt();
      });
  }
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  kernel::DispatchOp dispatch;
};

TEST(LaunchCosts, ElementwiseOpsReadEachElementOnce) {
  Parsed p(R"(func.func @f(%x: tensor<4x8xf32>, %b: tensor<8xf32>) -> tensor<4x8xf32> {
    %r = kernel.dispatch pointwise "d" (%x, %b) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32> {
    ^bb0(%a: tensor<4x8xf32>, %c: tensor<8xf32>):
      %s = graph.mul %a, %a : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
      %t = graph.add %s, %c : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
      kernel.yield %t : tensor<4x8xf32>
    }
    return %r : tensor<4x8xf32>
  })");
  EXPECT_EQ(kernel::elementsRead(p.dispatch), (Counts{32, 8}));
}

TEST(LaunchCosts, ReductionsReadAllElementsOfTheirOperands) {
  Parsed p(R"(func.func @f(%x: tensor<4x8xf32>) -> tensor<4xf32> {
    %r = kernel.dispatch reduction "d" (%x) : (tensor<4x8xf32>) -> tensor<4xf32> {
    ^bb0(%a: tensor<4x8xf32>):
      %e = graph.exp %a : tensor<4x8xf32>
      %s = graph.reduce_sum %e {axes = array<i64: 1>, keepdims = false} : (tensor<4x8xf32>) -> tensor<4xf32>
      kernel.yield %s : tensor<4xf32>
    }
    return %r : tensor<4xf32>
  })");
  EXPECT_EQ(kernel::elementsRead(p.dispatch), (Counts{32}));
}

TEST(LaunchCosts, SlicesAndGathersReadWhatTheyReturn) {
  Parsed p(R"(func.func @f(%x: tensor<100x8xf32>, %t: tensor<50x8xf32>, %i: tensor<2xi64>) -> tensor<2x8xf32> {
    %r = kernel.dispatch pointwise "d" (%x, %t, %i) : (tensor<100x8xf32>, tensor<50x8xf32>, tensor<2xi64>) -> tensor<2x8xf32> {
    ^bb0(%a: tensor<100x8xf32>, %b: tensor<50x8xf32>, %j: tensor<2xi64>):
      %s = graph.slice %a {starts = array<i64: 5, 0>, sizes = array<i64: 2, 8>, strides = array<i64: 1, 1>} : (tensor<100x8xf32>) -> tensor<2x8xf32>
      %u = graph.slice %a {starts = array<i64: 9, 0>, sizes = array<i64: 2, 8>, strides = array<i64: 1, 1>} : (tensor<100x8xf32>) -> tensor<2x8xf32>
      %g = graph.gather %b, %j {axis = 0 : i64} : (tensor<50x8xf32>, tensor<2xi64>) -> tensor<2x8xf32>
      %v = graph.add %s, %u : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
      %w = graph.add %v, %g : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
      kernel.yield %w : tensor<2x8xf32>
    }
    return %r : tensor<2x8xf32>
  })");
  // There are 2 indices, so no more than 2 of them can be read; they name 2 rows of 8 elements, and two slices of x
  // read 32.
  EXPECT_EQ(kernel::elementsRead(p.dispatch), (Counts{32, 16, 2}));
}

TEST(LaunchCosts, ValuesThatNoResultNeedsAreNotRead) {
  Parsed p(R"(func.func @f(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %r = kernel.dispatch pointwise "d" (%x, %y) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32> {
    ^bb0(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>):
      %e = graph.exp %a : tensor<4x8xf32>
      kernel.yield %e : tensor<4x8xf32>
    }
    return %r : tensor<4x8xf32>
  })");
  EXPECT_EQ(kernel::elementsRead(p.dispatch), (Counts{32, 0}));
}

TEST(LaunchCosts, SharesOfLargeTensorsDoNotOverflow) {
  Parsed p(R"(func.func @f(%x: tensor<1x1x17179869184xf32>) -> tensor<1x1x4294967296xf32> {
    %r = kernel.dispatch pointwise "d" (%x) : (tensor<1x1x17179869184xf32>) -> tensor<1x1x4294967296xf32> {
    ^bb0(%a: tensor<1x1x17179869184xf32>):
      %y, %i = graph.max_pool %a {kernel = array<i64: 2>, strides = array<i64: 2>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>}
          : (tensor<1x1x17179869184xf32>) -> (tensor<1x1x8589934592xf32>, tensor<1x1x8589934592xi16>)
      %s = graph.slice %y {starts = array<i64: 0, 0, 0>, sizes = array<i64: 1, 1, 4294967296>, strides = array<i64: 1, 1, 1>}
          : (tensor<1x1x8589934592xf32>) -> tensor<1x1x4294967296xf32>
      kernel.yield %s : tensor<1x1x4294967296xf32>
    }
    return %r : tensor<1x1x4294967296xf32>
  })");
  EXPECT_EQ(kernel::elementsRead(p.dispatch), (Counts{int64_t(1) << 33})); // half of 2^34
}

/// Returns a function with one dispatch of one convolution, `op` of %a and %b.
std::string convolution(StringRef op, StringRef a, StringRef b, StringRef result, int stride, int pad) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::formatv(
      R"(func.func @f(%x: {1}, %y: {2}) -> {3} {{
        %r = kernel.dispatch contraction "d" (%x, %y) : ({1}, {2}) -> {3} {{
        ^bb0(%a: {1}, %b: {2}):
          %c = graph.{0} %a, %b {{strides = array<i64: {4}, {4}>, dilations = array<i64: 1, 1>, pad_low = array<i64: {5}, {5}>,
              pad_high = array<i64: {5}, {5}>, groups = 1 : i64} : ({1}, {2}) -> {3}
          kernel.yield %c : {3}
        }
        return %r : {3}
      })",
      op, a, b, result, stride, pad);
  return text;
}

// A 1x1 kernel with stride 2 reads every second row and column; windows of three rows meet each other.
TEST(LaunchCosts, WindowsThatLieApartLeaveElementsUnread) {
  const char *x = "tensor<2x8x56x56xf32>", *y = "tensor<2x16x28x28xf32>", *one = "tensor<16x8x1x1xf32>",
             *three = "tensor<16x8x3x3xf32>";
  constexpr int64_t all = 2 * 8 * 56 * 56, apart = 2 * 8 * 28 * 28, results = 2 * 16 * 28 * 28;
  Parsed conv(convolution("conv", x, one, y, 2, 0));
  EXPECT_EQ(kernel::elementsRead(conv.dispatch), (Counts{apart, 16 * 8}));
  Parsed weights(convolution("conv_weight_grad", x, y, one, 2, 0));
  EXPECT_EQ(kernel::elementsRead(weights.dispatch), (Counts{apart, results}));
  Parsed inputs(convolution("conv_input_grad", y, one, x, 2, 0));
  EXPECT_EQ(kernel::elementsRead(inputs.dispatch), (Counts{results, 16 * 8}));
  Parsed larger(convolution("conv", x, three, y, 2, 1));
  EXPECT_EQ(kernel::elementsRead(larger.dispatch), (Counts{all, 16 * 8 * 9}));

  // The call of a host's library moves as much.
  SmallVector<kernel::LaunchCost> costs = kernel::launchCostsOf(conv.dispatch);
  ASSERT_EQ(costs.size(), 1u);
  EXPECT_EQ(costs[0].readBytes, 4 * (apart + 16 * 8));
  EXPECT_EQ(costs[0].writtenBytes, 4 * results);
}

TEST(LaunchCosts, AProductOfATensorWithItselfReadsItOnce) {
  Parsed p(R"(func.func @f(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
    %r = kernel.dispatch contraction "d" (%x) : (tensor<8x8xf32>) -> tensor<8x8xf32> {
    ^bb0(%a: tensor<8x8xf32>):
      %y = graph.matmul %a, %a : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
      kernel.yield %y : tensor<8x8xf32>
    }
    return %r : tensor<8x8xf32>
  })");
  EXPECT_EQ(kernel::costOfProduct(p.dispatch.getContraction()).readBytes, 4 * 64);
}

// The first kernel multiplies and leaves partial sums in the scratch; the second one adds them up.
TEST(LaunchCosts, ASplitProductWritesItsScratchAndReadsIt) {
  Parsed p(R"(module attributes {kernel.target = #kernel.target<"sm_80">} {
    module @kernels {
      llvm.func @k0(%a: !llvm.ptr<1>, %b: !llvm.ptr<1>, %s: !llvm.ptr<1>) attributes {kernel.entry = #kernel.entry<threads = 128>} { llvm.return }
      llvm.func @k1(%s: !llvm.ptr<1>, %r: !llvm.ptr<1>) attributes {kernel.entry = #kernel.entry<threads = 128>} { llvm.return }
    }
    func.func @f(%x: tensor<8x64xf16>, %w: tensor<64x16xf16>) -> tensor<8x16xf16> {
      %r = kernel.dispatch contraction "d" (%x, %w) {args = array<i64: 0, 1024, 4096>, scratch_bytes = 1024 : i64, scratch_offset = 8192 : i64,
          launches = [#kernel.launch<@kernels::@k0 grid = 2, 1, 1 args = 0, 1, -1>, #kernel.launch<@kernels::@k1 grid = 1, 1, 1 args = -1, 2>]}
          : (tensor<8x64xf16>, tensor<64x16xf16>) -> tensor<8x16xf16> {
      ^bb0(%a: tensor<8x64xf16>, %b: tensor<64x16xf16>):
        %y = graph.matmul %a, %b : (tensor<8x64xf16>, tensor<64x16xf16>) -> tensor<8x16xf16>
        kernel.yield %y : tensor<8x16xf16>
      }
      return %r : tensor<8x16xf16>
    }
  })");
  ASSERT_TRUE(p.dispatch);
  SmallVector<kernel::LaunchCost> costs = kernel::launchCostsOf(p.dispatch);
  ASSERT_EQ(costs.size(), 2u);
  EXPECT_EQ(costs[0].kind, "matmul");
  EXPECT_EQ(costs[0].readBytes, 2 * (8 * 64 + 64 * 16));
  EXPECT_EQ(costs[0].writtenBytes, 1024);
  EXPECT_EQ(costs[0].flops, 2.0 * 8 * 16 * 64);
  EXPECT_EQ(costs[1].kind, "sums");
  EXPECT_EQ(costs[1].readBytes, 1024);
  EXPECT_EQ(costs[1].writtenBytes, 2 * 8 * 16);
  EXPECT_EQ(costs[1].flops, 0);
}

} // namespace
