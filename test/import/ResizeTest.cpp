//===- ResizeTest.cpp - the elements that a nearest Resize reads, against exact arithmetic -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ModelBuilder.h"
#include "compiler/Evaluator/Evaluator.h"
#include "compiler/Import/Onnx/Ops/ResizeCoordinates.h"
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

using namespace mpc;
using namespace mpc::test;
using mpc::onnx_import::Coordinates;
using mpc::onnx_import::Fraction;
using mpc::onnx_import::fractionOf;
using mpc::onnx_import::Rounding;
using mpc::onnx_import::toDouble;

namespace {
const char *const kModes[] = {"half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners"};
const char *const kNearest[] = {"floor", "ceil", "round_prefer_floor", "round_prefer_ceil"};

int64_t floorOf(int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }
int64_t ceilOf(int64_t a, int64_t b) { return -floorOf(-a, b); }

/// Returns the index that ONNX's formulas give for `sizes`, in integers.
int64_t exactIndex(const std::string &mode, const std::string &nearest, int64_t in, int64_t out, int64_t i) {
  int64_t a = i * in, b = out; // the coordinate a / b
  if (mode == "half_pixel" || mode == "pytorch_half_pixel")
    a = (2 * i + 1) * in - out, b = 2 * out;
  else if (mode == "align_corners")
    a = i * (in - 1), b = std::max<int64_t>(out - 1, 1);
  if (mode == "pytorch_half_pixel" && out == 1)
    a = 0;
  int64_t index = nearest == "floor"                ? floorOf(a, b)
                  : nearest == "ceil"               ? ceilOf(a, b)
                  : nearest == "round_prefer_floor" ? ceilOf(2 * a - b, 2 * b)
                                                    : floorOf(2 * a + b, 2 * b);
  return std::clamp<int64_t>(index, 0, in - 1);
}

/// Returns the index that graph.resize reads, computed from the op's f64 as its lowering does.
int64_t readIndex(const Coordinates &at, const Rounding &rounding, int64_t in, int64_t i) {
  double biased = toDouble(at.scale) * double(i) + toDouble(at.offset) + toDouble(rounding.bias);
  double index = rounding.ceil ? std::ceil(biased) : std::floor(biased);
  return int64_t(std::clamp(index, 0.0, double(in - 1)));
}

void expectExact(const Fraction &scale, int64_t in, int64_t out, int64_t step = 1) {
  for (const char *mode : kModes)
    for (const char *nearest : kNearest) {
      Rounding rounding = *onnx_import::roundingOf(nearest);
      Coordinates at = onnx_import::awayFromTies(*onnx_import::coordinatesOf(mode, scale, in, out), rounding);
      for (int64_t i = 0; i < out; i += step)
        ASSERT_EQ(readIndex(at, rounding, in, i), exactIndex(mode, nearest, in, out, i))
            << mode << " " << nearest << ": element " << i << " of " << in << " -> " << out;
    }
}

TEST(Resize, ReadsTheElementsOfExactArithmetic) {
  for (int64_t in = 1; in <= 40; ++in)
    for (int64_t out = 1; out <= 40; ++out) {
      expectExact(Fraction(out, in), in, out);
      expectExact(fractionOf(float(out) / float(in)), in, out); // the same as `scales`
    }
  for (auto [in, out] : {std::pair(4099, 12297), {12297, 4099}, {65535, 65536}, {1 << 24, (1 << 24) - 1}})
    expectExact(Fraction(out, in), in, out, /*step=*/std::max(out / 5000, 1));
}

TEST(Resize, AScaleIsTheSimplestFractionThatRoundsToIt) {
  for (int64_t p = 1; p <= 60; ++p)
    for (int64_t q = 1; q <= 60; ++q)
      EXPECT_EQ(fractionOf(float(p) / float(q)), Fraction(p, q)) << p << "/" << q;
  EXPECT_EQ(fractionOf(0.7f), Fraction(7, 10));
  EXPECT_EQ(fractionOf(2.25f), Fraction(9, 4));
  EXPECT_EQ(fractionOf(16777216.0f), Fraction(16777216));
  for (float scale : {0.73123456f, 1.00000012f, 3.14159274f, 1e-9f, 8388607.5f, 1e-40f}) {
    Fraction fraction = fractionOf(scale);
    EXPECT_EQ(float(toDouble(fraction)), scale);
  }
}

/// Returns the indices that a nearest Resize by a scale reads, as the imported model computes them.
std::vector<double> readBy(float scale, int64_t in, const char *mode, const char *nearest) {
  ModelBuilder m(13);
  m.input("x", {int64_t(1), in}).floats("scales", {2}, {1, scale});
  m.node("Resize", {"x", "", "scales"}, {"y"},
         {{"coordinate_transformation_mode", std::string(mode)}, {"nearest_mode", std::string(nearest)}});
  m.output("y");
  mlir::DialectRegistry registry;
  registry.insert<graph::GraphDialect>();
  registerEvaluatorModels(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  ImportOptions options;
  options.forwardOnly = true;
  auto module = importOnnxBytes(context, m.bytes(), "model.onnx", "", options);
  if (!module)
    return {};
  HostTensor x(mlir::RankedTensorType::get({1, in}, mlir::Float32Type::get(&context)));
  for (int64_t i = 0; i < in; ++i)
    x.values[i] = double(i);
  llvm::SmallVector<HostTensor> results;
  Evaluator evaluator(*module, EvalMode::Rounded);
  return succeeded(evaluator.run("forward", {x}, results)) ? results[0].values : std::vector<double>();
}

TEST(Resize, ReadsTheElementWhereTheCoordinateIsAnInteger) {
  using Indices = std::vector<double>;
  // 9 elements * 1.5: the coordinates of results 1, 4, 7 and 10 are 0.5, 2.5, 4.5 and 6.5, the same far from both.
  EXPECT_EQ(readBy(1.5f, 9, "half_pixel", "round_prefer_ceil"), (Indices{0, 1, 1, 2, 3, 3, 4, 5, 5, 6, 7, 7, 8}));
  // The scales 1/3 and 0.7 are no exact floats, but coordinates are multiples of 3 and 10/7, and 10*0.7 is 7.
  EXPECT_EQ(readBy(1.0f / 3, 10, "asymmetric", "floor"), (Indices{0, 3, 6}));
  EXPECT_EQ(readBy(1.0f / 3, 10, "half_pixel", "ceil"), (Indices{1, 4, 7}));
  EXPECT_EQ(readBy(0.7f, 10, "asymmetric", "ceil"), (Indices{0, 2, 3, 5, 6, 8, 9}));
}
} // namespace
