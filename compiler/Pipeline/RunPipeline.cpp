//===- RunPipeline.cpp - runs a pipeline with its observers ---------------------------===//
#include "compiler/Pipeline/Targets.h"

using namespace mlir;
using namespace mpc;

namespace {
/// Shows the module to an observer, between the passes of a pipeline.
struct ShowStage : PassWrapper<ShowStage, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ShowStage)
  ShowStage(const StageObserver &observer, StringRef stage) : observer(observer), stage(stage) {}
  StringRef getName() const override { return "ShowStage"; }
  void runOnOperation() override {
    observer(stage, getOperation());
    markAllAnalysesPreserved();
  }

  const StageObserver &observer;
  std::string stage;
};
} // namespace

LogicalResult mpc::runPipeline(ModuleOp module, StringRef name, const Watch &watch, llvm::function_ref<void(OpPassManager &, StageMark)> build) {
  PassManager manager(module.getContext());
  // These are --mlir-print-ir-..., crash reproducers and the like, where a tool has registered MLIR's
  // options.
  (void)applyPassManagerCLOptions(manager);
  TimingScope scope = watch.timing ? watch.timing->nest(name) : TimingScope();
  manager.enableTiming(scope);
  build(manager, [&](OpPassManager &passes, StringRef stage) {
    if (watch.stage)
      passes.addPass(std::make_unique<ShowStage>(watch.stage, stage));
  });
  return manager.run(module);
}
