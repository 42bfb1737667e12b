//===- HostKernelTest.cpp - every form of loop nest, against the evaluator -----------===//
#include "KernelHarness.h"
#include <gtest/gtest.h>

using namespace mpc;
using namespace mpc::test;

TEST(HostKernel, Pointwise) {
  Batch batch;
  for (std::string t : {"f32", "f16", "bf16", "f64"}) {
    for (std::string shape : {"", "1x", "7x", "1000x", "5000x", "3x5x7x", "64x64x", "4x1x300x"}) {
      std::string type = "tensor<" + shape + t + ">";
      batch.add({.name = "add-relu " + type,
                 .inputs = {type, type},
                 .body = "%a = graph.add %0, %1 : (" + type + ", " + type + ") -> " + type + "\n%b = graph.relu %a : " + type,
                 .yields = {"%b : " + type},
                 .draws = {{.specials = true}},
                 .form = LoopForm::Pointwise});
    }
    std::string big = "tensor<6x10x33x" + t + ">", column = "tensor<10x1x" + t + ">", row = "tensor<33x" + t + ">", one = "tensor<" + t + ">";
    batch.add({.name = "broadcast " + t,
               .inputs = {big, column, row, one},
               .body = "%a = graph.mul %0, %1 : (" + big + ", " + column + ") -> " + big + "\n%b = graph.sub %a, %2 : (" + big + ", " + row +
                       ") -> " + big + "\n%c = graph.div %b, %3 : (" + big + ", " + one + ") -> " + big,
               .yields = {"%c : " + big, "%a : " + big},
               .form = LoopForm::Pointwise});
    batch.add({.name = "in place " + t,
               .inputs = {big, row},
               .body = "%a = graph.add %0, %1 : (" + big + ", " + row + ") -> " + big,
               .yields = {"%a : " + big},
               .inPlace = {0}});
  }
  batch.run();
}

TEST(HostKernel, ReductionRows) {
  Batch batch;
  for (std::string t : {"f32", "f16", "bf16", "f64", "i32"})
    for (int64_t rows : {1, 5, 100})
      for (int64_t cols : {1, 3, 64, 1000, 4099}) {
        std::string x = "tensor<" + std::to_string(rows) + "x" + std::to_string(cols) + "x" + t + ">", y = "tensor<" + std::to_string(rows) + "x" + t + ">";
        std::string to = " : (" + x + ") -> " + y;
        // Error of a sum: half an ulp per addition of the largest partial sum, here below 4 * cols; sqrt(cols) of them in practice.
        batch.add({.name = "rows " + x,
                   .inputs = {x},
                   .body = "%s = graph.reduce_sum %0 {axes = array<i64: 1>, keepdims = false}" + to +
                           "\n%m = graph.reduce_max %0 {axes = array<i64: 1>, keepdims = false}" + to,
                   .yields = {"%s : " + y, "%m : " + y},
                   .ulps = 1,
                   .absolute = t == "i32" ? 0 : 4 * cols * 6e-8,
                   .form = cols == 1 ? LoopForm::Pointwise : LoopForm::Reduction});
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
                   .form = LoopForm::Reduction});
      }
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
                       "\n%e = graph.exp %d : " + x + "\n%s = graph.reduce_sum %e" + attrs + "\n%y = graph.div %e, %s : (" + x + ", " + r + ") -> " + x,
               .yields = {"%y : " + x},
               .ulps = 8, // exp 1, division 1/2, and the sum of a thousand exponentials some more
               .form = LoopForm::Row});
  }
  batch.run();
}
