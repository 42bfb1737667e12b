//===- TunerPipeline.cpp - a model's products and convolutions, each by several schedules ---//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tuner is a program whose entries are candidates (mpc-tuner-candidates).
//
//===----------------------------------------------------------------------===//
#include "compiler/Package/TunerSection.h"
#include "compiler/Pipeline/Targets.h"
#include "passes/Lowering/EmitKernels/Passes.h"
#include "passes/Lowering/LoopPlan/Passes.h"
#include "passes/Lowering/Schedule/Passes.h"
#include "passes/Memory/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace mpc;

void mpc::buildTunerPipeline(OpPassManager &manager, const GpuOptions &options, StageMark mark) {
  buildGpuDispatchPipeline(manager, options, mark);
  manager.addPass(createTunerCandidatesPass());
  mark(manager, "candidates");
  manager.addPass(createSchedulePass()); // finds the scratch of the candidates' schedules
  manager.addPass(memory::createPlanArenaPass());
  manager.addPass(memory::createVerifyArenaPass());
  manager.addPass(createPlanLoopsPass());
  mark(manager, "memory");
  manager.addPass(createEmitKernelsPass());
  mark(manager, "kernels");
}

/// Describes the candidates of a module, whose entries are in the order of their problems.
static std::vector<TunedProblem> problemsOf(ModuleOp module, const GpuArch &arch) {
  std::vector<TunedProblem> problems;
  for (auto entry : module.getOps<func::FuncOp>()) {
    auto dispatches = entry.getOps<kernel::DispatchOp>();
    kernel::DispatchOp dispatch = *llvm::find_if(dispatches, [](kernel::DispatchOp op) { return op.isContraction(); });
    hero::PlannedHero plan = hero::planOf(dispatch, arch, /*tuning=*/nullptr);
    if (problems.empty() || problems.back().problem != plan.problem)
      problems.push_back({plan.problem, dispatch.getName().str(), plan.roofline.flops, plan.roofline.seconds()});
    problems.back().candidates.push_back({entry.getName().str(), plan.schedule, plan.estimate.seconds(arch)});
  }
  return problems;
}

FailureOr<CompiledProgram> mpc::compileTuner(ModuleOp module, ArrayRef<GpuOptions> gpus, StringRef modelName,
                                             const Watch &watch) {
  // All passes, then all code, as in compileProgram.
  std::vector<OwningOpRef<ModuleOp>> planned;
  for (const GpuOptions &gpu : gpus) {
    FailureOr<OwningOpRef<ModuleOp>> candidates =
        lowerClone(module, gpu.arch->name, /*first=*/planned.empty(), watch,
                   [&](OpPassManager &manager, StageMark mark) { buildTunerPipeline(manager, gpu, mark); });
    if (failed(candidates))
      return failure();
    planned.push_back(std::move(*candidates));
  }
  CompiledProgram program;
  std::vector<TargetPlan> plans;
  std::map<std::string, std::vector<TunedProblem>> problems;
  for (auto [gpu, candidates] : llvm::zip(gpus, planned)) {
    problems[gpu.arch->name.str()] = problemsOf(*candidates, *gpu.arch);
    FailureOr<TargetPlan> plan = packageForGpu(std::move(candidates), gpu, program, watch);
    if (failed(plan))
      return failure();
    plans.push_back(std::move(*plan));
  }
  // The module has no variables and no steps.
  OwningOpRef<ModuleOp> empty = ModuleOp::create(module.getLoc());
  FailureOr<Manifest> manifest = buildManifest(*empty, {.model = modelName.str()}, plans);
  if (failed(manifest))
    return failure();
  program.sections["manifest.json"] = std::move(manifest->json);
  program.sections["data"] = std::move(manifest->data);
  program.sections["tuner.json"] = tunerSection(problems);
  return program;
}
