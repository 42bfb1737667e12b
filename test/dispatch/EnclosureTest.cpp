//===- EnclosureTest.cpp - the check must notice what it is for -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Enclosure.h"
#include "StatedErrors.h"
#include "compiler/Evaluator/Evaluator.h"
#include "test/codegen/KernelHarness.h"
#include <gtest/gtest.h>

using namespace mpc;
using namespace mpc::test;

namespace {

/// A dispatch with random inputs, together with its enclosures.
struct Enclosed {
  Enclosed(const Case &c, kernel::Form form = kernel::Form::Pointwise)
      : context(makeContext()), module(parseCase(context.get(), c)) {
    kernel::DispatchOp dispatch = dispatchOf(*module);
    dispatch.setForm(form);
    std::mt19937_64 random(1);
    for (mlir::Value v : dispatch.getInputs())
      inputs.push_back(draw(llvm::cast<mlir::RankedTensorType>(v.getType()), Draw(), random));
    auto result = enclose(dispatch, inputs);
    EXPECT_TRUE(succeeded(result));
    results = std::move(*result);
  }
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<HostTensor> inputs;
  std::vector<Enclosure> results;
};

const Case sumOfProducts = {.name = "a*b+c",
                            .inputs = {"tensor<1000xf16>", "tensor<1000xf16>", "tensor<1000xf16>"},
                            .body = "%m = graph.mul %0, %1 : (tensor<1000xf16>, tensor<1000xf16>) -> tensor<1000xf16>\n"
                                    "%s = graph.add %m, %2 : (tensor<1000xf16>, tensor<1000xf16>) -> tensor<1000xf16>",
                            .yields = {"%s : tensor<1000xf16>"}};

/// Computes in f32 and rounds only the result.
HostTensor withoutInnerRounding(const Enclosed &e) {
  HostTensor result = e.results[0].value;
  for (size_t i = 0; i < result.values.size(); ++i)
    result.values[i] = roundTo(result.element, e.inputs[0].values[i] * e.inputs[1].values[i] + e.inputs[2].values[i]);
  return result;
}

/// The check would compare the results of an op that is stated nowhere with bounds that are not its own.
TEST(Enclosure, EveryOpHasARuleAndAnError) {
  int ops = 0;
  auto context = makeContext();
  for (mlir::RegisteredOperationName name : context->getRegisteredOperationsByDialect("graph")) {
    if (name.hasTrait<mlir::OpTrait::IsTerminator>())
      continue;
    std::string op = name.getStringRef().str();
    EXPECT_TRUE(hasRule(name)) << "state how the results of " << op << " move with its operands: functionRule in "
                               << "test/dispatch/Enclosure.cpp";
    EXPECT_TRUE(statedError(name).has_value())
        << "state the error of " << op << ": functionError in test/dispatch/StatedErrors.cpp";
    ++ops;
  }
  EXPECT_GT(ops, 70);
}

TEST(Enclosure, ComputingInF32IsOutside) {
  Enclosed e(sumOfProducts);
  EXPECT_TRUE(e.results[0].exact()) << "products and sums of f16 are correctly rounded";
  EXPECT_EQ(compare(e.results[0], e.results[0].value).outside, 0);
  Comparison c = compare(e.results[0], withoutInnerRounding(e));
  EXPECT_GT(c.outside, 100);
  EXPECT_EQ(c.outside, c.different);
}

TEST(Enclosure, ALibraryCallMayKeepItsEpilogueInF32) {
  Enclosed e(sumOfProducts, kernel::Form::Contraction);
  Comparison c = compare(e.results[0], withoutInnerRounding(e));
  EXPECT_GT(c.different, 100);
  EXPECT_EQ(c.outside, 0);
}

TEST(Enclosure, OneUlpOfAnExactOpIsOutside) {
  for (std::string type : {"f32", "f16", "bf16"}) {
    std::string t = "tensor<64x" + type + ">";
    Enclosed e({.name = "add",
                .inputs = {t, t},
                .body = "%s = graph.add %0, %1 : (" + t + ", " + t + ") -> " + t,
                .yields = {"%s : " + t}});
    HostTensor wrong = e.results[0].value;
    double &v = wrong.values[17];
    v = roundTo(wrong.element, v * (1 + (type == "f32" ? 0x1p-23 : type == "f16" ? 0x1p-10 : 0x1p-7)));
    Comparison c = compare(e.results[0], wrong);
    EXPECT_EQ(c.outside, 1);
    EXPECT_EQ(c.firstOutside, 17);
    EXPECT_LE(c.maxUlps, 1);
    EXPECT_GT(c.maxUlps, 0);
  }
}

TEST(Enclosure, SumsAreBoundedByLengthAndMagnitude) {
  Enclosed e(
      {.name = "sum",
       .inputs = {"tensor<4x1000xf32>"},
       .body =
           "%s = graph.reduce_sum %0 {axes = array<i64: 1>, keepdims = false} : (tensor<4x1000xf32>) -> tensor<4xf32>",
       .yields = {"%s : tensor<4xf32>"}});
  for (int row = 0; row < 4; ++row) {
    double magnitude = 0;
    float sum = 0; // adding in order makes the longest chain of roundings
    for (int i = 0; i < 1000; ++i) {
      magnitude += std::abs(e.inputs[0].values[row * 1000 + i]);
      sum += float(e.inputs[0].values[row * 1000 + i]);
    }
    EXPECT_LE(e.results[0].low.values[row], sum);
    EXPECT_GE(e.results[0].high.values[row], sum);
    EXPECT_NEAR(e.results[0].high.values[row] - e.results[0].value.values[row], 1000 * 0x1p-24 * magnitude,
                0x1p-20 * magnitude);
  }
}

/// Returns what the enclosure says of a computation whose element i is computed(i).
Comparison compareWith(const Enclosed &e, llvm::function_ref<float(size_t)> computed) {
  HostTensor actual = e.results[0].value;
  for (size_t i = 0; i < actual.values.size(); ++i)
    actual.values[i] = computed(i);
  return compare(e.results[0], actual);
}

/// Code rounds after each factor, so it differs from the correctly rounded product, within the stated error.
TEST(Enclosure, ProductsRoundAtEachFactor) {
  Enclosed e({.name = "product",
              .inputs = {"tensor<200x8xf32>"},
              .body = "%p = graph.reduce_prod %0 {axes = array<i64: 1>, keepdims = false} : (tensor<200x8xf32>) -> "
                      "tensor<200xf32>",
              .yields = {"%p : tensor<200xf32>"}});
  Comparison c = compareWith(e, [&](size_t row) {
    float product = 1;
    for (size_t i = 0; i < 8; ++i)
      product *= float(e.inputs[0].values[row * 8 + i]);
    return product;
  });
  EXPECT_GT(c.different, 0);
  EXPECT_EQ(c.outside, 0);
  EXPECT_EQ(c.unbounded, 0);
}

/// The divisor of a softsign is rounded before the quotient is.
TEST(Enclosure, SoftsignRoundsTwice) {
  Enclosed e({.name = "softsign",
              .inputs = {"tensor<1000xf32>"},
              .body = "%s = graph.softsign %0 : tensor<1000xf32>",
              .yields = {"%s : tensor<1000xf32>"}});
  Comparison c = compareWith(e, [&](size_t i) {
    float x = float(e.inputs[0].values[i]), divisor = 1 + std::abs(x);
    return x / divisor;
  });
  EXPECT_GT(c.different, 0);
  EXPECT_EQ(c.outside, 0);
  EXPECT_EQ(c.unbounded, 0);
}

/// Errors of inner values reach the result and are magnified where terms cancel.
TEST(Enclosure, CancellationMagnifies) {
  std::string t = "tensor<100xf32>", one = "tensor<f32>";
  Enclosed e({.name = "centred",
              .inputs = {t},
              .body = "%s = graph.reduce_mean %0 {axes = array<i64: 0>, keepdims = true} : (" + t +
                      ") -> tensor<1xf32>\n"
                      "%d = graph.sub %0, %s : (" +
                      t + ", tensor<1xf32>) -> " + t,
              .yields = {"%d : " + t}});
  for (size_t i = 0; i < 100; ++i) {
    double width = e.results[0].high.values[i] - e.results[0].low.values[i];
    EXPECT_GT(width, 0);
    EXPECT_LT(width, 100 * 0x1p-22 * 4);
  }
}

TEST(Enclosure, OpenConditionsAllowBothBranches) {
  std::string t = "tensor<2xf32>", b = "tensor<2xi1>";
  Enclosed e({.name = "select",
              .inputs = {t},
              .body = "%x = graph.exp %0 : " + t + "\n%c = graph.compare gt %x, %x : (" + t + ", " + t + ") -> " + b +
                      "\n%z = graph.constant dense<7.0> : " + t + "\n%s = graph.select %c, %z, %0 : (" + b + ", " + t +
                      ", " + t + ") -> " + t,
              .yields = {"%s : " + t}});
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(e.results[0].low.values[i], e.inputs[0].values[i]);
    EXPECT_EQ(e.results[0].high.values[i], 7);
  }
}

TEST(Enclosure, NaNMustBeNaN) {
  Enclosed e(
      {.name = "sqrt",
       .inputs = {"tensor<8xf32>"},
       .body =
           "%a = graph.abs %0 : tensor<8xf32>\n%n = graph.neg %a : tensor<8xf32>\n%s = graph.sqrt %n : tensor<8xf32>",
       .yields = {"%s : tensor<8xf32>"}});
  EXPECT_EQ(compare(e.results[0], e.results[0].value).outside, 0);
  HostTensor zeros = e.results[0].value;
  zeros.values.assign(8, 0.0);
  EXPECT_EQ(compare(e.results[0], zeros).outside, 8);
}

} // namespace
