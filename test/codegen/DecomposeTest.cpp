//===- DecomposeTest.cpp - composite ops mean what their decompositions compute --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "KernelHarness.h"
#include "compiler/Evaluator/Evaluator.h"
#include "passes/Decompose/Passes.h"
#include "passes/Fusion/Passes.h"
#include "passes/Target/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include <gtest/gtest.h>
#include <tuple>

using namespace mlir;
using namespace mpc;
using namespace mpc::test;

/// Evaluates @f before and after mpc-decompose, rounding after every op, and compares. With `split` the dispatches of
/// the host follow, and their reductions are split, at least one of them. `blockBytes` is that of
/// mpc-decompose-attention, and ops are decomposed for the GPU `gpu`.
static void check(const std::string &arguments, const std::string &body, const std::string &types, double ulps,
                  double absolute, std::vector<Draw> draws = {}, bool split = false, int64_t blockBytes = 0,
                  const std::string &gpu = "") {
  SCOPED_TRACE(body);
  auto context = makeContext();
  std::string names = "%r";
  size_t last = body.rfind('\n') == std::string::npos ? 0 : body.rfind('\n') + 1; // the line that gives the results
  if (types.find(", ") != std::string::npos && body.find("%r, ", last) == last)
    names = body.substr(last, body.find(" =", last) - last);
  auto module = parseSourceString<ModuleOp>("func.func @f(" + arguments + ") -> (" + types + ") {\n" + body +
                                                "\nreturn " + names + " : " + types + "\n}",
                                            context.get());
  ASSERT_TRUE(module);
  std::mt19937_64 random(3);
  llvm::SmallVector<HostTensor> inputs, expected, actual;
  auto function = *module->getOps<func::FuncOp>().begin();
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes()))
    inputs.push_back(
        draw(cast<RankedTensorType>(type), draws.empty() ? Draw() : draws[std::min(i, draws.size() - 1)], random));
  ASSERT_TRUE(succeeded(Evaluator(*module, EvalMode::Rounded).run("f", inputs, expected)));
  PassManager passes(context.get());
  if (!gpu.empty())
    passes.addPass(createSetTargetPass({.name = gpu}));
  passes.addPass(createDecomposeAttentionPass({.blockBytes = blockBytes}));
  passes.addPass(createDecomposePass());
  if (split)
    passes.addPass(fusion::createFormDispatchesPass());
  ASSERT_TRUE(succeeded(passes.run(*module)));
  if (split) {
    auto dispatches = [&] {
      return std::distance(function.getOps<kernel::DispatchOp>().begin(), function.getOps<kernel::DispatchOp>().end());
    };
    auto before = dispatches();
    PassManager splits(context.get());
    splits.addPass(fusion::createSplitReductionsPass());
    ASSERT_TRUE(succeeded(splits.run(*module)));
    EXPECT_GT(dispatches(), before);
  }
  module->walk(
      [](Operation *op) { EXPECT_FALSE(isOfKind(op, LoopKind::Composite)) << op->getName().getStringRef().str(); });
  ASSERT_TRUE(succeeded(Evaluator(*module, EvalMode::Rounded).run("f", inputs, actual)));
  for (size_t r = 0; r < expected.size(); ++r)
    for (size_t i = 0; i < expected[r].values.size(); ++i) {
      double got = actual[r].values[i], want = expected[r].values[i];
      ASSERT_TRUE(ulpDistance(expected[r].element, got, want) <= ulps || std::abs(got - want) <= absolute)
          << "result " << r << " element " << i << ": " << got << ", expected " << want;
    }
}

TEST(Decompose, Softmax) {
  for (std::string t : {"f32", "f16", "bf16", "f64"}) {
    std::string x = "tensor<5x40x3x" + t + ">";
    // exp magnifies the rounding error of x - max: where that is 8, half an ULP of it becomes 8/2 ULPs of the result.
    // Results of 16 bits are rounded once more.
    check("%x: " + x, "%r = graph.softmax %x {axis = 1 : i64} : " + x, x, 8, 0);
    check("%x: " + x, "%r = graph.log_softmax %x {axis = 2 : i64} : " + x, x, 2, 2e-6);
  }
}

TEST(Decompose, MatricesThatRepeatInPart) {
  auto product = [](const std::string &a, const std::string &b, const std::string &y, const std::string &form = "") {
    check("%a: " + a + ", %b: " + b, "%r = graph.matmul %a, %b " + form + " : (" + a + ", " + b + ") -> " + y, y, 0, 0);
  };
  product("tensor<2x3x4x5xf32>", "tensor<3x5x6xf32>", "tensor<2x3x4x6xf32>");
  product("tensor<3x4x5xf16>", "tensor<2x3x6x5xf16>", "tensor<2x3x4x6xf16>", "{transpose_b}");
  product("tensor<2x1x4x5xf32>", "tensor<1x3x5x6xf32>", "tensor<2x3x4x6xf32>"); // both operands repeat in part
}

TEST(Decompose, Losses) {
  for (std::string t : {"f32", "f16"})
    for (std::string op : {"nll_loss", "softmax_cross_entropy"})
      for (std::string reduction : {"none", "sum", "mean"})
        for (std::string weights : {"", ", %w"})
          for (std::string ignore : {"", ", ignore_index = 3 : i64", ", ignore_index = -1 : i64"}) {
            std::string x = "tensor<6x7x4x" + t + ">", w = "tensor<7x" + t + ">", l = "tensor<6x4xi64>",
                        y = reduction == "none" ? "tensor<6x4x" + t + ">" : "tensor<" + t + ">";
            double low = ignore.find("-1") != std::string::npos ? -1 : 0;
            check("%x: " + x + ", %l: " + l + ", %w: " + w,
                  "%r = graph." + op + " %x, %l" + weights + " {reduction = #graph<reduction " + reduction + ">" +
                      ignore + "} : (" + x + ", " + l + (weights.empty() ? "" : ", " + w) + ") -> " + y,
                  y, 4, 2e-6, {{-4, 4}, {low, 6}, {0.1, 2}});
          }
}

/// On a GPU an argmax along a long axis becomes reductions. Numbers of i32 tie, and logarithms of negative ones are
/// NaN.
TEST(Decompose, ArgMaxOfLongAxes) {
  for (std::string t : {"f32", "f16", "i32", "ui8"})
    for (std::string flags : {"", ", min", ", last", ", min, last"})
      for (std::string axis : {"0", "1"}) {
        std::string x = "tensor<40x33x" + t + ">", y = axis == "0" ? "tensor<33xi64>" : "tensor<40x1xi64>";
        auto argmax = [&](const std::string &of) {
          return "%r = graph.argmax " + of + " {axis = " + axis +
                 " : i64, keepdims = " + (axis == "0" ? "false" : "true") + flags + "} : (" + x + ") -> " + y;
        };
        check("%x: " + x, argmax("%x"), y, 0, 0, {{t == "ui8" ? 0.0 : -3, 3}}, false, 0, "sm_80");
        if (t[0] == 'f')
          check("%x: " + x, "%n = graph.log %x : " + x + "\n" + argmax("%n"), y, 0, 0, {{-1, 30}}, false, 0, "sm_80");
      }
}

/// A batch without elements has no statistics, but the gradients of scale and bias are sums of nothing.
TEST(Decompose, BatchNormOfNothing) {
  std::string x = "tensor<3x8x0x8xf32>", v = "tensor<8xf32>", attrs = " {epsilon = 1.0e-5 : f64, axis = 1 : i64} : ";
  for (std::string names : {"%dx, %r, %db", "%dx, %ds, %r"})
    check("%x: " + x + ", %s: " + v + ", %b: " + v,
          "%y, %m, %v = graph.batch_norm %x, %s, %b" + attrs + "(" + x + ", " + v + ", " + v + ") -> (" + x + ", " + v +
              ", " + v + ")\n" + names + " = graph.batch_norm_grad %x, %s, %m, %v, %y" + attrs + "(" + x + ", " + v +
              ", " + v + ", " + v + ", " + x + ") -> (" + x + ", " + v + ", " + v + ")",
          v, 0, 0);
}

TEST(Decompose, BatchNorm) {
  for (std::string t : {"f32", "f16", "bf16", "f64"})
    for (auto [shape, axis] :
         {std::pair<std::string, std::string>{"6x5x4x3", "1"}, {"6x5x4x3", "3"}, {"40x7", "1"}, {"4x64x64x8", "3"}}) {
      std::string s = t == "f64" ? "f64" : "f32",
                  c = axis == "1" ? (shape == "40x7" ? "7" : "5") : shape.substr(shape.rfind('x') + 1);
      std::string x = "tensor<" + shape + "x" + t + ">", v = "tensor<" + c + "x" + s + ">",
                  attrs = " {epsilon = 1.0e-5 : f64, axis = " + axis + " : i64} : ";
      // The statistics are of numbers around 10, whose rounding is relative to 10 while the deviation is 2. The bound
      // allows a handful of such roundings.
      std::vector<Draw> draws = {{6, 14}, {0.5, 2}, {0.5, 2}, {0.5, 2}};
      check("%x: " + x + ", %s: " + v + ", %b: " + v,
            "%r, %m, %v = graph.batch_norm %x, %s, %b" + attrs + "(" + x + ", " + v + ", " + v + ") -> (" + x + ", " +
                v + ", " + v + ")",
            x + ", " + v + ", " + v, 16, 3e-6, draws);
      check("%x: " + x + ", %s: " + v + ", %b: " + v + ", %m: " + v + ", %v: " + v,
            "%r = graph.batch_norm_inference %x, %s, %b, %m, %v" + attrs + "(" + x + ", " + v + ", " + v + ", " + v +
                ", " + v + ") -> " + x,
            x, 16, 3e-6, draws);
      check("%x: " + x + ", %s: " + v + ", %m: " + v + ", %v: " + v + ", %dy: " + x,
            "%r, %ds, %db = graph.batch_norm_grad %x, %s, %m, %v, %dy" + attrs + "(" + x + ", " + v + ", " + v + ", " +
                v + ", " + x + ") -> (" + x + ", " + v + ", " + v + ")",
            x + ", " + v + ", " + v, 16, t == "f64" ? 1e-9 : 2e-2, {{-2, 2}, {0.5, 2}, {-0.5, 0.5}, {0.5, 2}, {-1, 1}});
    }
}

/// The statistics lose nothing where the mean is 1e4 and the deviation 0.1: sums of squares would be 1e8, which f32
/// holds to 8.
TEST(Decompose, BatchNormFarFromZero) {
  for (auto [shape, axis, c] : {std::tuple<std::string, std::string, std::string>{"8x5x16x16", "1", "5"},
                                {"8x16x16x5", "3", "5"},
                                {"64x7", "1", "7"}}) {
    std::string x = "tensor<" + shape + "xf32>", v = "tensor<" + c + "xf32>";
    check("%x: " + x + ", %s: " + v + ", %b: " + v,
          "%r, %m, %v = graph.batch_norm %x, %s, %b {epsilon = 1.0e-5 : f64, axis = " + axis + " : i64} : (" + x +
              ", " + v + ", " + v + ") -> (" + x + ", " + v + ", " + v + ")",
          x + ", " + v + ", " + v, 16, 6e-6, {{9999.83, 10000.17}, {0.5, 2}, {0.5, 2}});
  }
}

/// In bf16 a GPU sums the elements themselves: where the mean is a hundred times the deviation, the variance is right
/// to a unit in the last place of bf16, and so are the results.
TEST(Decompose, BatchNormOfBFloatsFarFromZero) {
  for (auto [shape, axis, c] : {std::tuple<std::string, std::string, std::string>{"8x5x16x16", "1", "5"},
                                {"8x16x16x5", "3", "5"},
                                {"64x7", "1", "7"}}) {
    std::string x = "tensor<" + shape + "xbf16>", v = "tensor<" + c + "xf32>";
    auto norm = [&](const std::string &results) {
      return results + " = graph.batch_norm %x, %s, %b {epsilon = 1.0e-5 : f64, axis = " + axis + " : i64} : (" + x +
             ", " + v + ", " + v + ") -> (" + x + ", " + v + ", " + v + ")";
    };
    std::string arguments = "%x: " + x + ", %s: " + v + ", %b: " + v;
    std::vector<Draw> draws = {{126, 130}, {0.5, 2}, {0.5, 2}};
    check(arguments, norm("%r, %m, %v"), x, 2, 0.01, draws, false, 0, "sm_80");
    check(arguments, norm("%y, %r, %v"), v, 4, 0, draws, false, 0, "sm_80");
    check(arguments, norm("%y, %m, %r"), v, 0, 0.004, draws, false, 0, "sm_80");
  }
}

TEST(Decompose, LayerNorm) {
  struct Form {
    std::string x, axes, scale, statistics;
  };
  const Form forms[] = {{"40x24", "1", "24", "40x1"},
                        {"3x5x7", "1, 2", "5x7", "3x1x1"},
                        {"4x6x5x3", "1", "6x1x1", "4x1x5x3"},
                        {"2x3x4", "0, 2", "1x3x1", "1x3x1"}};
  for (std::string t : {"f32", "f16", "bf16", "f64"})
    for (std::string kind : {"layer", "rms", "l2"})
      for (const Form &form : forms) {
        std::string s = t == "f64" ? "f64" : "f32", x = "tensor<" + form.x + "x" + t + ">",
                    v = "tensor<" + form.scale + "x" + s + ">", m = "tensor<" + form.statistics + "x" + s + ">";
        std::string attrs =
            " {axes = array<i64: " + form.axes + ">, epsilon = 1.0e-5 : f64, kind = #graph<norm " + kind + ">} : ";
        // The numbers are around 10, as for batch norms. Nothing cancels in their rms and l2 norms.
        check("%x: " + x + ", %s: " + v + ", %b: " + v,
              "%r, %m, %i = graph.layer_norm %x, %s, %b" + attrs + "(" + x + ", " + v + ", " + v + ") -> (" + x + ", " +
                  m + ", " + m + ")",
              x + ", " + m + ", " + m, 16, 3e-6, {{6, 14}, {0.5, 2}, {0.5, 2}});
        check("%x: " + x + ", %s: " + v + ", %b: " + v + ", %m: " + m + ", %i: " + m + ", %dy: " + x,
              "%r, %ds, %db = graph.layer_norm_grad %x, %s, %b, %m, %i, %dy" + attrs + "(" + x + ", " + v + ", " + v +
                  ", " + m + ", " + m + ", " + x + ") -> (" + x + ", " + v + ", " + v + ")",
              x + ", " + v + ", " + v, 16, t == "f64" ? 1e-9 : 2e-2,
              {{-2, 2}, {0.5, 2}, {0.5, 2}, {-0.5, 0.5}, {0.5, 2}, {-1, 1}});
      }
}

TEST(Decompose, GroupNorm) {
  for (std::string t : {"f32", "f16", "bf16", "f64"})
    for (auto [shape, axis, channels, groups] :
         {std::tuple<std::string, std::string, std::string, std::string>{"3x6x5x4", "1", "6", "2"},
          {"3x5x4x6", "3", "6", "3"},
          {"3x6x20", "1", "6", "6"},
          {"2x8", "1", "8", "4"},
          {"2x3x3x3x4", "4", "4", "1"}}) {
      std::string s = t == "f64" ? "f64" : "f32", x = "tensor<" + shape + "x" + t + ">",
                  v = "tensor<" + channels + "x" + s + ">",
                  m = "tensor<" + shape.substr(0, 1) + "x" + groups + "x" + s + ">";
      std::string attrs = " {epsilon = 1.0e-5 : f64, axis = " + axis + " : i64, groups = " + groups + " : i64} : ";
      check("%x: " + x + ", %s: " + v + ", %b: " + v,
            "%r, %m, %i = graph.group_norm %x, %s, %b" + attrs + "(" + x + ", " + v + ", " + v + ") -> (" + x + ", " +
                m + ", " + m + ")",
            x + ", " + m + ", " + m, 16, 3e-6, {{6, 14}, {0.5, 2}, {0.5, 2}});
      check("%x: " + x + ", %s: " + v + ", %m: " + m + ", %i: " + m + ", %dy: " + x,
            "%r, %ds, %db = graph.group_norm_grad %x, %s, %m, %i, %dy" + attrs + "(" + x + ", " + v + ", " + m + ", " +
                m + ", " + x + ") -> (" + x + ", " + v + ", " + v + ")",
            x + ", " + v + ", " + v, 16, t == "f64" ? 1e-9 : 2e-2, {{-2, 2}, {0.5, 2}, {-0.5, 0.5}, {0.5, 2}, {-1, 1}});
    }
}

/// Checks attention and its gradient, with what stands behind v in the op. Scores are rounded to t, as the op says,
/// which moves their exponentials by as much as the largest score.
static void checkAttention(const std::string &t, const std::string &operands, const std::string &arguments,
                           const std::string &types, const std::string &attributes, int64_t keyHeads,
                           int64_t blockBytes, const std::string &before = "") {
  std::string heads = std::to_string(keyHeads), s = t == "f64" ? "f64" : "f32";
  std::string q = "tensor<2x4x16x8x" + t + ">", k = "tensor<2x" + heads + "x24x8x" + t + ">",
              v = "tensor<2x" + heads + "x24x4x" + t + ">", y = "tensor<2x4x16x4x" + t + ">",
              ofQuery = "tensor<2x4x16x1x" + s + ">", attrs = " {scale = 0.25 : f64" + attributes + "} : ";
  double absolute = t == "f64" ? 1e-12 : t == "f32" ? 4e-6 : t == "f16" ? 4e-3 : 3e-2;
  std::string shared = "%q: " + q + ", %k: " + k + ", %v: " + v + arguments;
  check(shared,
        before + "%r, %l, %u = graph.attention %q, %k, %v" + operands + attrs + "(" + q + ", " + k + ", " + v + types +
            ") -> (" + y + ", " + ofQuery + ", " + ofQuery + ")",
        y + ", " + ofQuery + ", " + ofQuery, 2, absolute, {{-1, 1}, {-1, 1}, {-1, 1}, {0, 1}}, false, blockBytes);
  check("%l: " + ofQuery + ", %u: " + ofQuery + ", %d: " + ofQuery + ", %dy: " + y + ", " + shared,
        before + "%r, %dk, %dv = graph.attention_grad %q, %k, %v" + operands + " from %l, %u, %d, %dy" + attrs + "(" +
            q + ", " + k + ", " + v + types + ", " + ofQuery + ", " + ofQuery + ", " + ofQuery + ", " + y + ") -> (" +
            q + ", " + k + ", " + v + ")",
        q + ", " + k + ", " + v, 2, absolute, {{1, 2}, {1, 2}, {-1, 1}, {-1, 1}, {-1, 1}, {-1, 1}, {-1, 1}, {0, 1}},
        false, blockBytes);
}

/// Blocks of 512 and 768 bytes divide the scores of 12 KB into trips of one or two heads and blocks of a few queries.
/// Whole attentions have 0.
TEST(Decompose, Attention) {
  for (std::string t : {"f32", "f16", "bf16", "f64"})
    for (int64_t blockBytes : {0, 512, 768}) {
      std::string s = t == "f64" ? "f64" : "f32";
      checkAttention(t, "", "", "", "", 4, blockBytes);
      checkAttention(t, "", "", "", "", 2, blockBytes);
      auto masked = [&](const std::string &mask, int64_t keyHeads, const std::string &attributes = "") {
        std::string m = "tensor<" + mask + "xi1>";
        checkAttention(t, " mask %m", ", %m: " + m, ", " + m, attributes, keyHeads, blockBytes);
      };
      masked("1x1x16x24", 4, ", zero_rows");
      masked("2x1x1x24", 2, ", fill = -3.0 : f64");
      masked("2x1x16x24", 2, ", zero_rows");
      masked("1x4x16x1", 1, ", fill = -1.0e4 : f64");
      masked("2x4x16x24", 2, ", zero_rows");
      for (std::string bias : {"1x1x16x24", "2x1x16x24", "1x4x1x24"}) {
        std::string b = "tensor<" + bias + "x" + s + ">";
        checkAttention(t, " bias %b", ", %b: " + b, ", " + b, "", 2, blockBytes);
      }
    }
}

/// A causal mask that follows from constants: blocks leave keys out, and the cotangents of keys are sums of parts.
TEST(Decompose, CausalAttention) {
  std::string iotas =
      "%row = graph.iota {axis = 0 : i64} : tensor<16x24xi64>\n"
      "%column = graph.iota {axis = 1 : i64} : tensor<16x24xi64>\n"
      "%sees = graph.compare le %column, %row : (tensor<16x24xi64>, tensor<16x24xi64>) -> tensor<16x24xi1>\n"
      "%m = graph.reshape %sees : tensor<16x24xi1> to tensor<1x1x16x24xi1>\n";
  for (std::string t : {"f32", "f16", "bf16"})
    for (int64_t blockBytes : {0, 512, 768})
      checkAttention(t, " mask %m", "", ", tensor<1x1x16x24xi1>", "", 4, blockBytes, iotas);
}

/// Two attentions of other lengths share a bias that hides one key, and one whose mask has a finite fill has a bias
/// that does not count where the mask hides.
TEST(Decompose, AttentionsThatShareABias) {
  std::string q = "tensor<2x4x16x8xf32>", k = "tensor<2x4x24x8xf32>", l = "tensor<2x4x16x1xf32>";
  std::string constants = "%h = graph.constant dense<-1.0e38> : tensor<1x1x1x1xf32>\n"
                          "%z = graph.constant dense<0.0> : tensor<1x1x1x1xf32>\n"
                          "%none = graph.constant dense<false> : tensor<1x1x1x1xi1>\n";
  auto attention = [&](std::string names, std::string keys, std::string keyType, std::string extra, std::string types,
                       std::string attributes) {
    return names + " = graph.attention %q, " + keys + ", " + keys + extra + " {scale = 0.5 : f64" + attributes +
           "} : (" + q + ", " + keyType + ", " + keyType + types + ") -> (" + q + ", " + l + ", " + l + ")\n";
  };
  std::string bias = ", tensor<1x1x1x1xf32>", mask = ", tensor<1x1x1x1xi1>";
  for (int64_t blockBytes : {0, 512}) {
    check("%q: " + q + ", %k: " + k,
          constants + attention("%a, %la, %ua", "%q", q, " bias %z", bias, "") +
              attention("%r, %lr, %ur", "%k", k, " bias %z", bias, ""),
          q, 2, 4e-6, {{-1, 1}}, false, blockBytes);
    check("%q: " + q + ", %k: " + k,
          constants + attention("%r, %lr, %ur", "%k", k, " mask %none bias %h", mask + bias, ", fill = -1.0e4 : f64"),
          q, 2, 4e-6, {{-1, 1}}, false, blockBytes);
  }
}

/// The sum of 2,048 values of 40, which are divided by their number, is beyond f16.
TEST(Decompose, AttentionToManyEqualKeys) {
  std::string q = "tensor<1x2x4x4xf16>", k = "tensor<1x2x2048x4xf16>", l = "tensor<1x2x4x1xf32>";
  for (int64_t blockBytes : {0, 1024})
    check("%q: " + q + ", %k: " + k,
          "%v = graph.constant dense<40.0> : " + k +
              "\n%r, %l, %u = graph.attention %q, %k, %v {scale = 0.5 : f64} : (" + q + ", " + k + ", " + k + ") -> (" +
              q + ", " + l + ", " + l + ")",
          q, 2, 0.1, {{-0.1, 0.1}}, false, blockBytes);
}

TEST(Decompose, ReduceL2) {
  for (std::string t : {"f32", "f16", "bf16", "f64"})
    for (std::string axes : {"1", "0, 1"}) {
      std::string x = "tensor<30x40x" + t + ">", y = "tensor<" + std::string(axes == "1" ? "30x" : "") + t + ">";
      // The squares of these numbers are beyond f16, so they are summed in f32.
      check("%x: " + x,
            "%r = graph.reduce_l2 %x {axes = array<i64: " + axes + ">, keepdims = false} : (" + x + ") -> " + y, y, 8,
            0, {{-600, 600}});
    }
}

// Each product rounds once more than the power.
TEST(Decompose, SmallWholePowers) {
  for (std::string t : {"f32", "f16", "bf16", "f64"})
    for (std::string exponent : {"2.0", "3.0", "4.0"}) {
      std::string x = "tensor<7x11x" + t + ">";
      check("%x: " + x,
            "%n = graph.constant dense<" + exponent + "> : " + x + "\n%r = graph.pow %x, %n : (" + x + ", " + x +
                ") -> " + x,
            x, 3, 0, {{-15, 15}});
    }
}

TEST(Decompose, ScatterOfNarrowFloats) {
  check("%dy: tensor<300x8xf16>, %i: tensor<300xi64>",
        "%r = graph.scatter %dy, %i {axis = 0 : i64} : (tensor<300x8xf16>, tensor<300xi64>) -> tensor<4x8xf16>",
        "tensor<4x8xf16>", 1, 0, {{-4, 4}, {0, 3}});
}

TEST(Decompose, SplitReductions) {
  for (std::string op : {"sum", "mean", "max", "min"})
    for (std::string t : {"f32", "f16", "i32"}) {
      if (op == "mean" && t == "i32")
        continue;
      auto reduce = [&](std::string shape, std::string axes, std::string keepdims, std::string result) {
        std::string x = "tensor<" + shape + t + ">", y = "tensor<" + result + t + ">";
        check("%x: " + x,
              "%a = graph.add %x, %x : (" + x + ", " + x + ") -> " + x + "\n%r = graph.reduce_" + op +
                  " %a {axes = array<i64: " + axes + ">, keepdims = " + keepdims + "} : (" + x + ") -> " + y,
              y, 1, t == "f32" ? 0.1 : 0, {}, /*split=*/true);
      };
      reduce("100000x", "0", "false", "");
      reduce("16x64x96x", "0, 1", "true", "1x1x96x");
      reduce("2x50000x", "1", "false", "2x");
      reduce("8x3x64x64x", "0, 2, 3", "false", "3x");
    }
}
