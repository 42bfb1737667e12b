//===- Targets.h - what the pipelines of all targets share -----------------------===//
#ifndef MPC_PIPELINE_TARGETS_H
#define MPC_PIPELINE_TARGETS_H
#include "compiler/Pipeline/Pipeline.h"
#include "mlir/Pass/PassManager.h"

namespace mpc {

/// Runs passes over the module and shows it to the observer.
template <typename... Passes>
mlir::LogicalResult runStage(mlir::ModuleOp module, const StageObserver &observe, llvm::StringRef stage, Passes &&...passes) {
  mlir::PassManager manager(module.getContext());
  (manager.addPass(std::forward<Passes>(passes)), ...);
  mlir::LogicalResult result = manager.run(module);
  if (succeeded(result) && observe)
    observe(stage, module);
  return result;
}

/// The figures of a planned module (mpc-plan-arena).
TargetSummary summarize(mlir::ModuleOp module, llvm::StringRef target);

/// Plans the module and makes its code: sections and a summary are added to the program.
mlir::FailureOr<TargetPlan> compileForHost(mlir::OwningOpRef<mlir::ModuleOp> module, const HostOptions &options, CompiledProgram &program,
                                           const StageObserver &observe);
mlir::FailureOr<TargetPlan> compileForGpu(mlir::OwningOpRef<mlir::ModuleOp> module, const GpuOptions &options, CompiledProgram &program,
                                          const StageObserver &observe);
/// The first stages of a GPU's plan: dispatches, one launch (or two, where sums are split) each.
mlir::LogicalResult formGpuDispatches(mlir::ModuleOp module, const GpuArch &arch, const StageObserver &observe);
/// The last of compileForGpu: the code of a planned module.
mlir::FailureOr<TargetPlan> emitPlannedForGpu(mlir::OwningOpRef<mlir::ModuleOp> module, const GpuOptions &options, CompiledProgram &program);

} // namespace mpc
#endif
