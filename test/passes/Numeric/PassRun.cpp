// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/passes/Numeric/PassRun.h"
#include "dialects/Graph/IR/Graph.h"
#include "dialects/Kernel/IR/Kernel.h"
#include "dialects/Train/IR/Train.h"
#include "passes/Autodiff/Passes.h"
#include "passes/Optimizers/Passes.h"
#include "passes/Precision/Passes.h"
#include "passes/Simplify/Passes.h"
#include "passes/Training/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace mpc;
using namespace mpc::test;

static DialectRegistry makeRegistry() {
  static bool registered = [] {
    registerAutodiffPasses();
    registerOptimizersPasses();
    registerPrecisionPasses();
    registerSimplifyPasses();
    registerTrainingPasses();
    return true;
  }();
  (void)registered;
  DialectRegistry registry;
  registry.insert<func::FuncDialect, graph::GraphDialect, train::TrainDialect, kernel::KernelDialect>();
  registerEvaluatorModels(registry);
  return registry;
}

PassRun::PassRun(StringRef ir, StringRef passes, EvalMode mode) : context(makeRegistry()) {
  module = parseSourceString<ModuleOp>(ir, &context);
  if (!module) {
    ADD_FAILURE() << "the module does not parse:\n" << ir.str();
    std::abort();
  }
  PassManager manager(&context);
  if (failed(parsePassPipeline(passes, manager)) || failed(manager.run(*module))) {
    ADD_FAILURE() << "the passes failed: " << passes.str();
    std::abort();
  }
  evaluator = std::make_unique<Evaluator>(*module, mode);
}

double PassRun::step(std::vector<double> input) {
  auto main = module->lookupSymbol<train::StepOp>("main");
  HostTensor x(cast<RankedTensorType>(main.getArgumentTypes()[0]), std::move(input));
  SmallVector<HostTensor> results;
  EXPECT_TRUE(succeeded(evaluator->run("main", {x}, results)));
  return results.empty() ? NAN : results[0].values[0];
}

std::vector<std::pair<std::string, std::vector<double>>> PassRun::stateWithoutScaler() {
  std::vector<std::pair<std::string, std::vector<double>>> state;
  for (train::VariableOp variable : module->getOps<train::VariableOp>())
    if (variable.getRole() != train::Role::scaler)
      state.emplace_back(variable.getSymName().str(), (*this)[variable.getSymName()]);
  return state;
}

std::string test::linearStep(StringRef attributes) {
  return (R"(
    train.variable @w parameter : tensor<2xf32> = dense<[1.0, -2.0]> : tensor<2xf32>
    train.step @main(%x: tensor<2xf32>) -> tensor<f32> attributes {parameters = [@w], )" +
          attributes + R"(} {
      %w = train.read @w : tensor<2xf32>
      %p = graph.mul %w, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      %l = graph.reduce_sum %p {axes = array<i64: 0>, keepdims = false} : (tensor<2xf32>) -> tensor<f32>
      train.yield %l : tensor<f32>
    })")
      .str();
}
