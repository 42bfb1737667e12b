//===- Targets.h - what the pipelines of all targets share -----------------------===//
#ifndef MPC_PIPELINE_TARGETS_H
#define MPC_PIPELINE_TARGETS_H
#include "compiler/Pipeline/Pipeline.h"

namespace mpc {

/// Runs a pipeline over the module. Its times are reported under `name`.
mlir::LogicalResult runPipeline(mlir::ModuleOp module, llvm::StringRef name, const Watch &watch, llvm::function_ref<void(mlir::OpPassManager &, StageMark)> build);

/// The numbers of a planned module (mpc-plan-arena).
TargetSummary summarize(mlir::ModuleOp module, llvm::StringRef target);

/// Plans the module and compiles its code. Sections and a summary are added to the program.
mlir::FailureOr<TargetPlan> compileForHost(mlir::OwningOpRef<mlir::ModuleOp> module, const HostOptions &options, CompiledProgram &program, const Watch &watch);
mlir::FailureOr<TargetPlan> compileForGpu(mlir::OwningOpRef<mlir::ModuleOp> module, const GpuOptions &options, CompiledProgram &program, const Watch &watch);
/// The first passes of a GPU's plan, which form dispatches: each has one launch (or two, where sums are
/// split).
void buildGpuDispatchPipeline(mlir::OpPassManager &manager, const GpuOptions &options, StageMark mark);
/// The last part of compileForGpu: compiles a module whose kernels have been emitted.
mlir::FailureOr<TargetPlan> packageForGpu(mlir::OwningOpRef<mlir::ModuleOp> module, const GpuOptions &options, CompiledProgram &program, const Watch &watch);

} // namespace mpc
#endif
