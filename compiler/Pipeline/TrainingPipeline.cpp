//===- TrainingPipeline.cpp - from an imported network to target-free entries ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Pipeline/Targets.h"
#include "passes/Autodiff/Passes.h"
#include "passes/Optimizers/Passes.h"
#include "passes/Precision/Passes.h"
#include "passes/Simplify/Passes.h"
#include "passes/Training/Passes.h"

using namespace mlir;
using namespace mpc;

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
  scaling.returnNorm = options.gradNorm || options.clipNorm > 0;

  OptimizersPassOptions optimizers;
  optimizers.ema = options.ema;

  if (!options.carries.empty()) {
    CarryStatePassOptions carry;
    carry.carries.assign(options.carries.begin(), options.carries.end());
    manager.addPass(createCarryStatePass(carry));
  }
  manager.addPass(createSimplifyPass());
  manager.addPass(createRecognizePass());
  manager.addPass(createAttachLossPass(loss));
  mark(manager, "training");
  // Casts come before gradients: so saved activations are low precision, and the VJP of a cast is a cast. In
  // fp32 the pass only checks the user's lists.
  bool low = options.precision != "fp32" && options.optLevel != "O0";
  bool listed = !options.allow.empty() || !options.deny.empty() || !options.infer.empty();
  if (low || listed)
    manager.addPass(createAutocastPass(autocastOptions(options)));
  manager.addPass(createSimplifyPass());
  if (low || listed)
    mark(manager, "autocast");
  manager.addPass(createJoinProjectionsPass());
  manager.addPass(createAutodiffPass());
  mark(manager, "autodiff");
  manager.addPass(createLossScalingPass(scaling));
  mark(manager, "loss-scaling");
  manager.addPass(createOptimizersPass(optimizers));
  mark(manager, "optimizers");
  // This comes after the optimizers, which own the assignments that refresh the copies.
  manager.addPass(createSimplifyPass());
  manager.addPass(createMasterWeightsPass());
  manager.addPass(createSimplifyPass());
  mark(manager, "master-weights");
}

LogicalResult mpc::buildTraining(ModuleOp module, const TrainingOptions &options, const Watch &watch) {
  return runPipeline(module, "training", watch,
                     [&](OpPassManager &manager, StageMark mark) { buildTrainingPipeline(manager, options, mark); });
}

void mpc::buildInferencePipeline(OpPassManager &manager, StageMark mark) {
  manager.addPass(createPredictEntryPass());
  manager.addPass(createSimplifyPass());
  mark(manager, "simplify");
}

LogicalResult mpc::buildInference(ModuleOp module, const Watch &watch) {
  return runPipeline(module, "inference", watch, buildInferencePipeline);
}
