//===- Targets.h - what the pipelines of all targets share -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_PIPELINE_TARGETS_H
#define MPC_PIPELINE_TARGETS_H
#include "compiler/Pipeline/Pipeline.h"

namespace mpc {

/// Runs a pipeline over the module. Its times are reported under `name`.
mlir::LogicalResult runPipeline(mlir::ModuleOp module, llvm::StringRef name, const Watch &watch,
                                llvm::function_ref<void(mlir::OpPassManager &, StageMark)> build);

/// Runs a target's pipeline over a clone of the module. The stages of a target that is not the program's first are
/// observed as "sm_80.layout" and so on.
mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>>
lowerClone(mlir::ModuleOp module, llvm::StringRef target, bool first, const Watch &watch,
           llvm::function_ref<void(mlir::OpPassManager &, StageMark)> build);

/// The numbers of a planned module. Fails with a located error where it is not planned (mpc-plan-arena).
mlir::FailureOr<TargetSummary> summarize(mlir::ModuleOp module, llvm::StringRef target);

/// Runs the passes of a plan over a clone of the module. It returns the clone, or failure after an error.
using PlanFn = llvm::function_ref<mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>>(std::optional<int64_t> recompute)>;
/// This says what a target's plan computes again.
struct RecomputeChoice {
  std::optional<int64_t> products; ///< as of HostOptions::recompute
  std::optional<TargetSummary::Recompute> summary = {};
};
/// Chooses what a target's plan computes again, the least that fits. Fails with an error where no choice does.
mlir::FailureOr<RecomputeChoice> chooseRecompute(mlir::ModuleOp module, llvm::StringRef target,
                                                 const RecomputeOptions &options, PlanFn plan);

/// The first passes of a GPU's plan, which form dispatches: each has one launch (or two, where sums are split).
void buildGpuDispatchPipeline(mlir::OpPassManager &manager, const GpuOptions &options, StageMark mark);
/// Compiles a module whose kernels have been emitted (the module that mpc-host, mpc-gpu or mpc-tuner returns). Sections
/// and a summary are added to the program.
mlir::FailureOr<TargetPlan> packageForHost(mlir::OwningOpRef<mlir::ModuleOp> module, const HostOptions &options,
                                           CompiledProgram &program, const Watch &watch);
mlir::FailureOr<TargetPlan> packageForGpu(mlir::OwningOpRef<mlir::ModuleOp> module, const GpuOptions &options,
                                          CompiledProgram &program, const Watch &watch);

} // namespace mpc
#endif
