//===- StepReportTest.cpp - the bytes that an entry moves, and those that it needs ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Pipeline/Pipeline.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace mpc;

namespace {

// Looks up 8 of 1000 rows, and computes tanh(rows w + b).
constexpr const char *predict = R"(
  train.variable @w parameter : tensor<64x32xf32> = #train.fill<0.5>
  train.variable @b parameter : tensor<32xf32> = #train.fill<0.5>
  train.variable @table parameter : tensor<1000x64xf32> = #train.fill<0.5>
  func.func @predict(%i: tensor<8xi64> {train.batched, train.name = "i"}) -> (tensor<8x32xf32> {train.name = "y"}) attributes {train.kind = "predict"} {
    %table = train.read @table : tensor<1000x64xf32>
    %w = train.read @w : tensor<64x32xf32>
    %b = train.read @b : tensor<32xf32>
    %x = graph.gather %table, %i {axis = 0 : i64} : (tensor<1000x64xf32>, tensor<8xi64>) -> tensor<8x64xf32>
    %p = graph.matmul %x, %w : (tensor<8x64xf32>, tensor<64x32xf32>) -> tensor<8x32xf32>
    %q = graph.add %p, %b : (tensor<8x32xf32>, tensor<32xf32>) -> tensor<8x32xf32>
    %y = graph.tanh %q : tensor<8x32xf32>
    return %y : tensor<8x32xf32>
  })";

class StepReportTest : public testing::Test {
protected:
  StepReportTest() {
    DialectRegistry registry;
    registerAllDialects(registry);
    context.appendDialectRegistry(registry);
  }

  StepReport reportOf(llvm::function_ref<void(OpPassManager &)> build) {
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(predict, &context);
    PassManager manager(&context, ModuleOp::getOperationName());
    build(manager);
    if (!module || failed(manager.run(*module)))
      return {};
    FailureOr<StepReport> report = reportStep(*module);
    return succeeded(report) ? *report : StepReport();
  }

  MLIRContext context;
};

constexpr int64_t rows = 4 * 8 * 64, indices = 8 * 8, w = 4 * 64 * 32, b = 4 * 32, y = 4 * 8 * 32;
// A product reads w, which counts once; b and the rows of the table that are looked up are read besides.
constexpr int64_t needed = (rows + w + y) + b + rows;

TEST_F(StepReportTest, PredictReadsWeightsOnceOnTheHost) {
  StepReport report = reportOf(
      [](OpPassManager &manager) { buildHostPipeline(manager, HostOptions(), [](OpPassManager &, StringRef) {}); });
  EXPECT_FALSE(report.trains);
  EXPECT_EQ(report.entries, std::vector<std::string>{"predict"});
  ASSERT_EQ(report.launches.size(), 3u); // the gather, the library's product with its bias, tanh
  EXPECT_EQ(report.bytes(), (rows + indices + rows) + (rows + w + b + y) + (y + y));
  EXPECT_EQ(report.idealBytes, needed);
}

TEST_F(StepReportTest, PredictReadsWeightsOnceOnAGpu) {
  StepReport report = reportOf([](OpPassManager &manager) {
    buildGpuPipeline(manager, {.arch = findGpuArch("sm_80"), .ptxas = {}}, [](OpPassManager &, StringRef) {});
  });
  ASSERT_EQ(report.launches.size(), 2u); // the product's kernel adds b and computes tanh
  EXPECT_EQ(report.bytes(), (rows + indices + rows) + (rows + w + b + y));
  EXPECT_EQ(report.idealBytes, needed);
}

} // namespace
