//===- TrainingPipeline.cpp - from an imported network to target-free entries ------------===//
#include "compiler/Pipeline/Pipeline.h"
#include "dialects/Graph/IR/Graph.h"
#include "dialects/Support/Diagnostics.h"
#include "dialects/Train/IR/Train.h"
#include "passes/Autodiff/Passes.h"
#include "passes/Optimizers/Passes.h"
#include "passes/Precision/Passes.h"
#include "passes/Simplify/Passes.h"
#include "passes/Training/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace mpc;

/// Runs passes as one stage and shows the result to the observer.
template <typename... Passes>
static LogicalResult runStage(ModuleOp module, const StageObserver &observe, StringRef stage, Passes &&...passes) {
  PassManager manager(module.getContext());
  (manager.addPass(std::move(passes)), ...);
  if (failed(manager.run(module)))
    return failure();
  if (observe)
    observe(stage, module);
  return success();
}

std::string mpc::defaultScaler(const TrainingOptions &options) {
  // fp16 gradients need a scale, bf16 has the range of fp32; O3 is Apex's pure fp16 with scale 1.
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

LogicalResult mpc::buildTraining(ModuleOp module, const TrainingOptions &options, const StageObserver &observe) {
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

  if (failed(runStage(module, observe, "training", createSimplifyPass(), createRecognizePass(), createAttachLossPass(loss))))
    return failure();
  // Casts before gradients: saved activations are low precision and the VJP of a cast is a cast.
  // In fp32 it only looks at the user's lists.
  bool low = options.precision != "fp32" && options.optLevel != "O0";
  bool listed = !options.allow.empty() || !options.deny.empty() || !options.infer.empty();
  if ((low || listed) && failed(runStage(module, observe, "autocast",
                                         createAutocastPass(autocastOptions(options)), createSimplifyPass())))
    return failure();
  if (failed(runStage(module, observe, "autodiff", createAutodiffPass())) ||
      failed(runStage(module, observe, "loss-scaling", createLossScalingPass(scaling))) ||
      failed(runStage(module, observe, "optimizers", createOptimizersPass())))
    return failure();
  // After the optimizers, which own the assignments that refresh the copies.
  return runStage(module, observe, "master-weights", createSimplifyPass(), createMasterWeightsPass(), createSimplifyPass());
}

LogicalResult mpc::buildInference(ModuleOp module, const StageObserver &observe) {
  auto forward = module.lookupSymbol<func::FuncOp>("forward");
  if (!forward)
    return module.emitError("no @forward to compile");
  forward.setName("predict");
  return runStage(module, observe, "simplify", createSimplifyPass());
}

void mpc::registerAllDialects(DialectRegistry &registry) {
  registry.insert<func::FuncDialect, graph::GraphDialect, train::TrainDialect, kernel::KernelDialect>();
  HostCodegen::registerDialects(registry);
}
