//===- TrainingPipeline.cpp - from an imported network to target-free entries ------------===//
#include "compiler/Pipeline/Targets.h"
#include "dialects/Graph/IR/Graph.h"
#include "dialects/Kernel/IR/Kernel.h"
#include "dialects/Support/Diagnostics.h"
#include "dialects/Train/IR/Train.h"
#include "passes/Autodiff/Passes.h"
#include "passes/Optimizers/Passes.h"
#include "passes/Precision/Passes.h"
#include "passes/Simplify/Passes.h"
#include "passes/Training/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace mpc;

std::string mpc::defaultScaler(const TrainingOptions &options) {
  // fp16 gradients need a scale; bf16 has the range of fp32; O3 is Apex's pure fp16 with scale 1.
  if (options.precision != "fp16" || options.optLevel == "O0" || options.optLevel == "O3")
    return "none";
  return options.optLevel == "O2" ? std::string("dynamic") + kApexCap : "dynamic";
}

static AutocastPassOptions autocastOptions(const TrainingOptions &options) {
  AutocastPassOptions result;
  result.type = options.precision;
  result.optLevel = options.optLevel;
  auto text = [](std::optional<bool> choice) { return !choice ? "auto" : *choice ? "true" : "false"; };
  result.keepBatchnormFp32 = text(options.keepBatchnormFp32);
  result.masterWeights = text(options.masterWeights);
  result.castCache = options.castCache;
  result.allow.assign(options.allow.begin(), options.allow.end());
  result.deny.assign(options.deny.begin(), options.deny.end());
  result.infer.assign(options.infer.begin(), options.infer.end());
  return result;
}

void mpc::buildTrainingPipeline(OpPassManager &manager, const TrainingOptions &options, StageMark mark) {
  AttachLossPassOptions loss;
  loss.loss = options.loss;
  loss.steps.assign(options.steps.begin(), options.steps.end());
  loss.parameters = options.parameters;
  loss.optimizer = options.optimizer;
  loss.scaler = options.scaler.empty() ? defaultScaler(options) : options.scaler;
  loss.groups.assign(options.groups.begin(), options.groups.end());
  loss.clipNorm = options.clipNorm;
  loss.clipValue = options.clipValue;
  loss.accumulate = options.accumulate;
  loss.outputs.assign(options.outputs.begin(), options.outputs.end());
  loss.metrics.assign(options.metrics.begin(), options.metrics.end());
  LossScalingPassOptions scaling;
  scaling.keepGradients = options.keepGradients;
  scaling.guardLoss = true;

  manager.addPass(createSimplifyPass());
  manager.addPass(createRecognizePass());
  manager.addPass(createAttachLossPass(loss));
  mark(manager, "training");
  // Casts come before gradients: so saved activations are low precision, and the VJP of a cast is a cast. In
  // fp32 the pass only checks the user's lists.
  bool low = options.precision != "fp32" && options.optLevel != "O0";
  bool listed = !options.allow.empty() || !options.deny.empty() || !options.infer.empty();
  if (low || listed) {
    manager.addPass(createAutocastPass(autocastOptions(options)));
    manager.addPass(createSimplifyPass());
    mark(manager, "autocast");
  }
  manager.addPass(createAutodiffPass());
  mark(manager, "autodiff");
  manager.addPass(createLossScalingPass(scaling));
  mark(manager, "loss-scaling");
  manager.addPass(createOptimizersPass());
  mark(manager, "optimizers");
  // This comes after the optimizers, which own the assignments that refresh the copies.
  manager.addPass(createSimplifyPass());
  manager.addPass(createMasterWeightsPass());
  manager.addPass(createSimplifyPass());
  mark(manager, "master-weights");
}

LogicalResult mpc::buildTraining(ModuleOp module, const TrainingOptions &options, const Watch &watch) {
  return runPipeline(module, "training", watch, [&](OpPassManager &manager, StageMark mark) { buildTrainingPipeline(manager, options, mark); });
}

LogicalResult mpc::buildInference(ModuleOp module, const Watch &watch) {
  auto forward = module.lookupSymbol<func::FuncOp>("forward");
  if (!forward)
    return module.emitError("no @forward to compile");
  forward.setName("predict");
  return runPipeline(module, "inference", watch, [](OpPassManager &manager, StageMark mark) {
    manager.addPass(createSimplifyPass());
    mark(manager, "simplify");
  });
}

void mpc::registerAllDialects(DialectRegistry &registry) {
  registry.insert<func::FuncDialect, graph::GraphDialect, train::TrainDialect, kernel::KernelDialect>();
  registerHostDialects(registry);
  registerNvptxDialects(registry);
}
