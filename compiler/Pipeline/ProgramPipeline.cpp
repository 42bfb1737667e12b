//===- ProgramPipeline.cpp - one target-free module, a plan for each target -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Pipeline/Targets.h"
#include "dialects/Graph/IR/Graph.h"
#include "dialects/Kernel/IR/Kernel.h"
#include "dialects/Train/IR/Train.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mpc;

FailureOr<TargetSummary> mpc::summarize(ModuleOp module, StringRef target) {
  FailureOr<kernel::PlanAttr> plan = kernel::verifyPlanned(module);
  if (failed(plan))
    return failure();
  FailureOr<StepReport> step = reportStep(module);
  if (failed(step))
    return failure();
  TargetSummary summary;
  summary.target = target.str();
  summary.step = std::move(*step);
  module.walk([&](kernel::DispatchOp dispatch) {
    // A library's call is a launch of the host, perhaps with loops behind it; members of a batch are not launches.
    if (dispatch.isMember() || dispatch.computesNothing())
      return;
    auto scan = dyn_cast<mpc::graph::ScanOp>(dispatch->getParentOp());
    size_t calls = dispatch.isContraction() && !kernel::gpuOf(dispatch),
           kernels = dispatch.getLaunches() ? dispatch.getLaunches()->size() : 0;
    summary.launches += (calls + kernels) * (scan ? scan.getTrips() : 1);
  });
  for (ModuleOp kernels : kernel::kernelModules(module))
    summary.kernels += llvm::count_if(kernels.getOps<LLVM::LLVMFuncOp>(),
                                      [](LLVM::LLVMFuncOp function) { return !function.isExternal(); });
  summary.peakBytes = plan->getPeakBytes();
  summary.stateBytes = plan->getStateBytes();
  summary.savedBytes = plan->getSavedBytes();
  summary.temporaryBytes = plan->getTemporaryBytes();
  summary.constantBytes = plan->getConstantBytes();
  return summary;
}

static ProgramInfo describe(ModuleOp module, StringRef modelName, const TrainingOptions *training) {
  ProgramInfo info;
  info.model = modelName.str();
  if (training) {
    info.precision = training->precision;
    info.optLevel = training->precision == "fp32" ? "O0" : training->optLevel;
    info.loss = training->loss;
    for (const std::string &step : training->steps)
      info.loss += (info.loss.empty() ? "" : " ") + step;
  }
  for (auto entry : module.getOps<FunctionOpInterface>())
    for (unsigned i = 0, e = entry.getNumArguments(); i < e; ++i)
      if (entry.getArgAttr(i, train::kBatchedAttr) && info.batch == 0)
        info.batch = cast<RankedTensorType>(entry.getArgumentTypes()[i]).getDimSize(0);
  return info;
}

FailureOr<OwningOpRef<ModuleOp>> mpc::lowerClone(ModuleOp module, StringRef target, bool first, const Watch &watch,
                                                 llvm::function_ref<void(OpPassManager &, StageMark)> build) {
  Watch named{.stage = watch.stage, .timing = watch.timing};
  if (watch.stage && !first)
    named.stage = [&](StringRef stage, ModuleOp shown) { watch.stage((target + "." + stage).str(), shown); };
  OwningOpRef<ModuleOp> clone(module.clone());
  if (failed(runPipeline(*clone, target, named, build)))
    return failure();
  return clone;
}

FailureOr<CompiledProgram> mpc::compileProgram(ModuleOp module, const TargetOptions &targets, StringRef modelName,
                                               const TrainingOptions *training, const Watch &watch) {
  assert((targets.host || !targets.gpus.empty()) && "a program has a target");
  // All passes, then all code: the linker of host code forgets MLIR's options (LLD resets every llvm::cl option).
  std::vector<OwningOpRef<ModuleOp>> planned;
  auto lower = [&](StringRef target, llvm::function_ref<void(OpPassManager &, StageMark)> build) {
    FailureOr<OwningOpRef<ModuleOp>> lowered = lowerClone(module, target, /*first=*/planned.empty(), watch, build);
    if (succeeded(lowered))
      planned.push_back(std::move(*lowered));
    return success(succeeded(lowered));
  };
  // Lowers to one target, whose passes `add` adds: up to the plan, or all of them.
  std::vector<RecomputeChoice> recomputed;
  auto choose = [&](auto options, StringRef target, auto addPlan, auto add) -> LogicalResult {
    FailureOr<RecomputeChoice> choice =
        chooseRecompute(module, target, targets.recompute, [&](std::optional<int64_t> products) {
          auto tried = options;
          tried.recompute = products;
          return lowerClone(module, target, /*first=*/true, {.stage = {}, .timing = watch.timing},
                            [&](OpPassManager &manager, StageMark mark) { addPlan(manager, tried, mark); });
        });
    if (failed(choice))
      return failure();
    options.recompute = choice->products;
    recomputed.push_back(std::move(*choice));
    return lower(target, [&](OpPassManager &manager, StageMark mark) { add(manager, options, mark); });
  };
  if (targets.host && failed(choose(*targets.host, "host", buildHostPlanPipeline, buildHostPipeline)))
    return failure();
  for (const GpuOptions &gpu : targets.gpus)
    if (failed(choose(gpu, gpu.arch->name, buildGpuPlanPipeline, buildGpuPipeline)))
      return failure();

  CompiledProgram program;
  std::vector<TargetPlan> plans;
  for (auto [i, target] : llvm::enumerate(planned)) {
    size_t gpu = i - (targets.host ? 1 : 0);
    FailureOr<TargetPlan> plan = targets.host && i == 0
                                     ? packageForHost(std::move(target), *targets.host, program, watch)
                                     : packageForGpu(std::move(target), targets.gpus[gpu], program, watch);
    if (failed(plan))
      return failure();
    program.targets.back().recompute = recomputed[i].summary;
    plans.push_back(std::move(*plan));
  }
  FailureOr<Manifest> manifest = buildManifest(module, describe(module, modelName, training), plans);
  if (failed(manifest))
    return failure();
  program.sections["manifest.json"] = std::move(manifest->json);
  program.sections["data"] = std::move(manifest->data);
  return program;
}
