//===- HostKernelTest.cpp - every form of loop nest, against the evaluator -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "KernelHarness.h"
#include "dialects/Kernel/Analysis/Reuse.h"
#include <gtest/gtest.h>

using namespace mpc;
using namespace mpc::test;

TEST(HostKernel, Pointwise) {
  Batch batch;
  for (std::string t : {"f32", "f16", "bf16", "f64"}) {
    for (std::string shape : {"", "1x", "7x", "1000x", "5000x", "3x5x7x", "64x64x", "4x1x300x"}) {
      std::string type = "tensor<" + shape + t + ">";
      batch.add(
          {.name = "add-relu " + type,
           .inputs = {type, type},
           .body = "%a = graph.add %0, %1 : (" + type + ", " + type + ") -> " + type + "\n%b = graph.relu %a : " + type,
           .yields = {"%b : " + type},
           .draws = {{.specials = true}},
           .form = kernel::Form::Pointwise});
    }
    std::string big = "tensor<6x10x33x" + t + ">", column = "tensor<10x1x" + t + ">", row = "tensor<33x" + t + ">",
                one = "tensor<" + t + ">";
    batch.add({.name = "broadcast " + t,
               .inputs = {big, column, row, one},
               .body = "%a = graph.mul %0, %1 : (" + big + ", " + column + ") -> " + big +
                       "\n%b = graph.sub %a, %2 : (" + big + ", " + row + ") -> " + big +
                       "\n%c = graph.div %b, %3 : (" + big + ", " + one + ") -> " + big,
               .yields = {"%c : " + big, "%a : " + big},
               .form = kernel::Form::Pointwise});
    batch.add({.name = "in place " + t,
               .inputs = {big, row},
               .body = "%a = graph.add %0, %1 : (" + big + ", " + row + ") -> " + big,
               .yields = {"%a : " + big},
               .inPlace = {0}});
  }
  batch.run();
}

/// A transpose computes the arithmetic in front of it, in the tiles in which it walks the elements.
TEST(HostKernel, TransposedArithmetic) {
  Batch batch;
  for (std::string t : {"f32", "f16", "bf16", "f64"})
    for (auto [rows, columns] : {std::pair{"3", "5"}, {"48", "64"}, {"50", "77"}}) {
      std::string prefix = "tensor<2x", x = prefix + rows + "x" + columns + "x" + t + ">",
                  y = prefix + columns + "x" + rows + "x" + t + ">",
                  row = std::string("tensor<") + columns + "x" + t + ">";
      batch.add({.name = "transposed arithmetic " + x,
                 .inputs = {x, row, x},
                 .body = "%a = graph.add %0, %1 : (" + x + ", " + row + ") -> " + x + "\n%b = graph.max %a, %2 : (" +
                         x + ", " + x + ") -> " + x +
                         "\n%c = graph.transpose %b {permutation = array<i64: 0, 2, 1>} : (" + x + ") -> " + y,
                 .yields = {"%c : " + y},
                 .form = kernel::Form::Pointwise});
    }
  batch.run();
}

TEST(HostKernel, ReductionRows) {
  Batch batch;
  for (std::string t : {"f32", "f16", "bf16", "f64", "i32"})
    for (int64_t rows : {1, 5, 100})
      for (int64_t cols : {1, 3, 64, 1000, 4099}) {
        std::string x = "tensor<" + std::to_string(rows) + "x" + std::to_string(cols) + "x" + t + ">",
                    y = "tensor<" + std::to_string(rows) + "x" + t + ">";
        std::string to = " : (" + x + ") -> " + y;
        // Each addition may round by half an ULP of the largest partial sum, which is below 4 * cols here. In practice
        // the error grows like sqrt(cols).
        batch.add({.name = "rows " + x,
                   .inputs = {x},
                   .body = "%s = graph.reduce_sum %0 {axes = array<i64: 1>, keepdims = false}" + to +
                           "\n%m = graph.reduce_max %0 {axes = array<i64: 1>, keepdims = false}" + to,
                   .yields = {"%s : " + y, "%m : " + y},
                   .ulps = 1,
                   .absolute = t == "i32" ? 0 : 4 * cols * 6e-8,
                   .form = cols == 1 ? kernel::Form::Pointwise : kernel::Form::Reduction});
      }
  batch.run();
}

TEST(HostKernel, ReductionColumns) {
  Batch batch;
  for (std::string t : {"f32", "f16", "f64"})
    for (int64_t rows : {5, 100, 3000})
      for (int64_t cols : {1, 3, 16, 64, 100, 997}) {
        std::string r = std::to_string(rows), n = std::to_string(cols);
        std::string x = "tensor<2x" + r + "x" + n + "x" + t + ">", y = "tensor<" + n + "x" + t + ">";
        batch.add({.name = "columns " + x,
                   .inputs = {x},
                   .body = "%s = graph.reduce_sum %0 {axes = array<i64: 0, 1>, keepdims = false} : (" + x + ") -> " + y,
                   .yields = {"%s : " + y},
                   .ulps = 1,
                   .absolute = 8 * rows * 6e-8,
                   .form = kernel::Form::Reduction});
      }
  batch.run();
}

TEST(HostKernel, LongColumnSums) {
  Batch batch;
  // Sums of 1024 numbers in [0, 1] have an error of 4.1e-5 (root mean square of 20000 random sums) where they are 32
  // sums of 32 numbers, and of 2.2e-4 where all numbers are added one after the other. The bound is four times the
  // former. Of these 32 columns the worst is off by 9.2e-5; in one chain it is off by 4.9e-4.
  batch.add({.name = "long columns",
             .inputs = {"tensor<4x256x32xf32>"},
             .body = "%s = graph.reduce_sum %0 {axes = array<i64: 0, 1>, keepdims = false} : (tensor<4x256x32xf32>) -> "
                     "tensor<32xf32>",
             .yields = {"%s : tensor<32xf32>"},
             .absolute = 1.6e-4,
             .draws = {{.low = 0, .high = 1}},
             .form = kernel::Form::Reduction});
  batch.run();
}

TEST(HostKernel, Softmax) {
  Batch batch;
  for (std::string shape : {"4x10", "100x1000", "3x5x17"}) {
    std::string x = "tensor<" + shape + "xf32>", r = "tensor<" + shape.substr(0, shape.rfind('x')) + "x1xf32>";
    std::string axis = std::to_string(std::count(shape.begin(), shape.end(), 'x'));
    std::string attrs = " {axes = array<i64: " + axis + ">, keepdims = true} : (" + x + ") -> " + r;
    batch.add({.name = "softmax " + x,
               .inputs = {x},
               .body = "%m = graph.reduce_max %0" + attrs + "\n%d = graph.sub %0, %m : (" + x + ", " + r + ") -> " + x +
                       "\n%e = graph.exp %d : " + x + "\n%s = graph.reduce_sum %e" + attrs +
                       "\n%y = graph.div %e, %s : (" + x + ", " + r + ") -> " + x,
               .yields = {"%y : " + x},
               .ulps = 8, // 1 from exp, 1/2 from the division, and more from the sum of a thousand exponentials
               .form = kernel::Form::Row});
  }
  batch.run();
}

TEST(HostKernel, SharedBuffers) {
  auto context = makeContext();
  auto may = [&](const Case &c, unsigned result, unsigned input) {
    auto module = parseCase(context.get(), c);
    return llvm::is_contained(kernel::reusableInputs(dispatchOf(*module))[result], int64_t(input));
  };
  std::string x = "tensor<6x10xf32>", t = "tensor<10x6xf32>", h = "tensor<6x10xf16>", r = "tensor<6x1xf32>";
  Case add{.name = "add",
           .inputs = {x, x},
           .body = "%a = graph.add %0, %1 : (" + x + ", " + x + ") -> " + x,
           .yields = {"%a : " + x}};
  EXPECT_TRUE(may(add, 0, 0));
  EXPECT_TRUE(may(add, 0, 1));
  EXPECT_FALSE(may({.name = "transposed",
                    .inputs = {x},
                    .body = "%a = graph.transpose %0 {permutation = array<i64: 1, 0>} : (" + x + ") -> " + t,
                    .yields = {"%a : " + t}},
                   0, 0));
  EXPECT_FALSE(may({.name = "transposed arithmetic",
                    .inputs = {x, x},
                    .body = "%a = graph.add %0, %1 : (" + x + ", " + x + ") -> " + x +
                            "\n%b = graph.transpose %a {permutation = array<i64: 1, 0>} : (" + x + ") -> " + t,
                    .yields = {"%b : " + t}},
                   0, 1));
  EXPECT_FALSE(may({.name = "reversed",
                    .inputs = {x},
                    .body = "%a = graph.slice %0 {starts = array<i64: 0, 9>, sizes = array<i64: 6, 10>, strides = "
                            "array<i64: 1, -1>} : (" +
                            x + ") -> " + x,
                    .yields = {"%a : " + x}},
                   0, 0));
  // f16 elements are narrower: a slice of the grid would overwrite elements that other slices have yet to read.
  EXPECT_FALSE(may(
      {.name = "narrowed", .inputs = {x}, .body = "%a = graph.cast %0 : " + x + " to " + h, .yields = {"%a : " + h}}, 0,
      0));
  // Softmax reads its row three times and writes it last, so that its result may overwrite the row.
  std::string attrs = " {axes = array<i64: 1>, keepdims = true} : (" + x + ") -> " + r;
  Case softmax{.name = "softmax",
               .inputs = {x},
               .body = "%m = graph.reduce_max %0" + attrs + "\n%d = graph.sub %0, %m : (" + x + ", " + r + ") -> " + x +
                       "\n%e = graph.exp %d : " + x + "\n%s = graph.reduce_sum %e" + attrs +
                       "\n%y = graph.div %e, %s : (" + x + ", " + r + ") -> " + x,
               .yields = {"%y : " + x},
               .ulps = 8};
  EXPECT_TRUE(may(softmax, 0, 0));
  softmax.inPlace = {0};
  Batch batch;
  batch.add(softmax);
  batch.run();
}

TEST(HostKernel, EqualBodiesShareAKernel) {
  auto context = makeContext();
  Kernels codegen(context.get());
  auto add = [&](const Case &c) {
    auto module = parseCase(context.get(), c);
    return symbolOf(*codegen.add(dispatchOf(*module)));
  };
  std::string x = "tensor<6x10xf32>", y = "tensor<7xf32>", z = "tensor<60xf64>";
  auto scale = [](std::string name, std::string type, std::string alpha) {
    return Case{.name = name,
                .inputs = {type},
                .body = "%a = graph.leaky_relu %0 {alpha = " + alpha + " : f64} : " + type,
                .yields = {"%a : " + type}};
  };
  std::string first = add(scale("one", x, "0.1"));
  EXPECT_EQ(add(scale("two", x, "0.1")), first);
  EXPECT_NE(add(scale("one", x, "0.2")), first);
  EXPECT_EQ(add(scale("one", y, "0.1")), first) << "the number of elements is no part of the code";
  EXPECT_NE(add(scale("one", z, "0.1")), first);
  EXPECT_EQ(codegen.size(), 3u);
}

TEST(HostKernel, UnknownCpu) {
  auto context = makeContext();
  Kernels codegen(context.get());
  auto module = parseCase(context.get(), {.name = "one",
                                          .inputs = {"tensor<3xf32>"},
                                          .body = "%a = graph.relu %0 : tensor<3xf32>",
                                          .yields = {"%a : tensor<3xf32>"}});
  ASSERT_TRUE(succeeded(codegen.add(dispatchOf(*module))));
  std::string message;
  mlir::ScopedDiagnosticHandler handler(context.get(),
                                        [&](mlir::Diagnostic &d) { return message = d.str(), mlir::success(); });
  EXPECT_TRUE(failed(codegen.compile(HostCpu{"pentium-9"})));
  EXPECT_NE(message.find("pentium-9"), std::string::npos) << message;
}

TEST(HostKernel, ResultDoesNotDependOnThreads) {
  auto context = makeContext();
  auto build = [&](unsigned threads) {
    Kernels codegen(context.get());
    for (int i = 1; i < 40; ++i) {
      std::string x = "tensor<" + std::to_string(i) + "x7xf16>";
      auto module = parseCase(
          context.get(), {.name = "k", .inputs = {x}, .body = "%a = graph.tanh %0 : " + x, .yields = {"%a : " + x}});
      EXPECT_TRUE(succeeded(codegen.add(dispatchOf(*module))));
    }
    return codegen.compile(HostCpu::oldest(), threads)->front().bytes;
  };
  EXPECT_EQ(build(1), build(3));
}
