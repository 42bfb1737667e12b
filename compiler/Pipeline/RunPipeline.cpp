//===- RunPipeline.cpp - runs a pipeline with its observers ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Pipeline/Targets.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/CommandLine.h"

using namespace mlir;
using namespace mpc;

namespace {
/// Shows the module to an observer where a stage ends. Observers are no passes, because a crash reproducer has to hold
/// a pipeline that mpc-opt can read.
class StageInstrumentation : public PassInstrumentation {
public:
  explicit StageInstrumentation(const StageObserver &observer) : observer(observer) {}

  void endStage(const Pass &last, StringRef stage) { stages[&last] = stage.str(); }

  void runAfterPass(Pass *pass, Operation *op) override {
    if (auto stage = stages.find(pass); stage != stages.end())
      observer(stage->second, cast<ModuleOp>(op));
  }

private:
  const StageObserver &observer;
  llvm::DenseMap<const Pass *, std::string> stages; ///< by the last pass of each
};
} // namespace

/// Hands --mlir-print-ir-..., crash reproducers and the like to the pass manager, where a tool has registered them.
static LogicalResult applyMlirOptions(PassManager &manager) {
  return success(!llvm::cl::getRegisteredOptions().contains("mlir-pass-pipeline-crash-reproducer") ||
                 succeeded(applyPassManagerCLOptions(manager)));
}

LogicalResult mpc::runPipeline(ModuleOp module, StringRef name, const Watch &watch,
                               llvm::function_ref<void(OpPassManager &, StageMark)> build) {
  PassManager manager(module.getContext());
  if (failed(applyMlirOptions(manager)))
    return failure();
  StageInstrumentation *stages = nullptr;
  if (watch.stage) {
    auto instrumentation = std::make_unique<StageInstrumentation>(watch.stage);
    stages = instrumentation.get();
    manager.addInstrumentation(std::move(instrumentation));
  }
  TimingScope scope = watch.timing ? watch.timing->nest(name) : TimingScope();
  manager.enableTiming(scope);
  build(manager, [&](OpPassManager &passes, StringRef stage) {
    assert(!passes.empty() && "a stage has a pass");
    if (stages)
      stages->endStage(*std::prev(passes.end()), stage);
  });
  return manager.run(module);
}
