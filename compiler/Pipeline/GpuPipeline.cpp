//===- GpuPipeline.cpp - from target-free entries to a program for a GPU -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Codegen/EmulatorCodegen.h"
#include "compiler/Pipeline/Targets.h"
#include "passes/Decompose/Passes.h"
#include "passes/Fusion/Passes.h"
#include "passes/Layout/Passes.h"
#include "passes/Lowering/EmitKernels/Passes.h"
#include "passes/Lowering/LoopPlan/Passes.h"
#include "passes/Lowering/Schedule/Passes.h"
#include "passes/Lowering/Schedule/TuningFile.h"
#include "passes/Memory/Passes.h"
#include "passes/Simplify/Passes.h"
#include "passes/Target/Passes.h"

using namespace mlir;
using namespace mpc;

void mpc::buildGpuDispatchPipeline(OpPassManager &manager, const GpuOptions &options, StageMark mark) {
  manager.addPass(createSetTargetPass({.name = options.arch->name.str()}));
  manager.addPass(createDecomposeAttentionPass());
  manager.addPass(layout::createAssignOrdersPass());
  manager.addPass(layout::createPadChannelsPass());
  manager.addPass(layout::createPadColumnsPass());
  manager.addPass(createSimplifyPass());
  mark(manager, "layout");
  manager.addPass(createDecomposePass());
  manager.addPass(createSimplifyPass());
  mark(manager, "decompose");
  if (options.recompute) {
    manager.addPass(memory::createRecomputePass({.products = *options.recompute}));
    mark(manager, "recompute");
  }
  manager.addPass(fusion::createFormDispatchesPass());
  manager.addPass(fusion::createSplitReductionsPass());
  mark(manager, "fusion");
}

void mpc::buildGpuPlanPipeline(OpPassManager &manager, const GpuOptions &options, StageMark mark) {
  buildGpuDispatchPipeline(manager, options, mark);
  manager.addPass(memory::createSinkDispatchesPass());
  manager.addPass(fusion::createBatchDispatchesPass());
  // This comes before the memory plan, which must know the scratch that schedules take.
  manager.addPass(createSchedulePass({.tune = options.tune}));
  manager.addPass(memory::createFindReusePass());
  manager.addPass(memory::createPlanArenaPass());
  manager.addPass(memory::createVerifyArenaPass());
  manager.addPass(createPlanLoopsPass());
  mark(manager, "memory");
}

void mpc::buildGpuPipeline(OpPassManager &manager, const GpuOptions &options, StageMark mark) {
  buildGpuPlanPipeline(manager, options, mark);
  manager.addPass(createEmitKernelsPass());
  mark(manager, "kernels");
}

LogicalResult mpc::planForGpu(ModuleOp module, const GpuOptions &options, const Watch &watch) {
  return runPipeline(module, options.arch->name, watch,
                     [&](OpPassManager &manager, StageMark mark) { buildGpuPlanPipeline(manager, options, mark); });
}

/// Adds PTX and, with ptxas, cubins: their sections, and what the manifest records about them. `reports` has
/// the position of each kernel's report in the summary.
static LogicalResult addModules(ModuleOp kernels, const GpuOptions &options, const llvm::StringMap<size_t> &reports,
                                CompiledProgram &program, TargetPlan &plan, TargetSummary &summary) {
  NvptxOptions nvptx{.threads = options.threads, .ptxas = options.ptxas};
  if (options.kernels != GpuKernelForm::Program)
    nvptx.modules = 1;
  FailureOr<std::vector<NvptxModule>> modules = compileNvptx(kernels, nvptx);
  if (failed(modules))
    return failure();
  if (options.kernels != GpuKernelForm::Program && !modules->empty())
    program.kernelFiles[plan.target] =
        options.kernels == GpuKernelForm::Ptx ? modules->front().ptx : modules->front().cubin;
  for (auto [i, module] : llvm::enumerate(*modules)) {
    TargetPlan::Module names{.ptx = plan.target + "." + std::to_string(i) + ".ptx"};
    program.sections[names.ptx] = std::move(module.ptx);
    if (!module.cubin.empty()) {
      names.cubin = plan.target + "." + std::to_string(i) + ".cubin";
      program.sections[names.cubin] = std::move(module.cubin);
    }
    plan.modules.push_back(std::move(names));
    for (NvptxKernel &kernel : module.kernels) {
      plan.kernels.push_back({kernel.symbol, i, kernel.entry, kernel.dynamicSharedBytes});
      summary.kernelReports[reports.lookup(kernel.symbol)].kernel = std::move(kernel);
    }
  }
  return success();
}

static std::string scheduleOf(kernel::DispatchOp dispatch) {
  kernel::ContractionAttr schedule = dispatch.getScheduleAttr();
  return schedule ? schedule.getSchedule().text() : "";
}

static void addHero(kernel::DispatchOp dispatch, const GpuArch &arch, const hero::Tuning *tuning,
                    TargetSummary &summary) {
  hero::PlannedHero plan = hero::planOf(dispatch, arch, tuning);
  auto report = llvm::find_if(summary.heroReports, [&](const auto &known) {
    return known.plan.problem == plan.problem && known.plan.schedule == plan.schedule;
  });
  if (report == summary.heroReports.end()) {
    double seconds = plan.estimate.seconds(arch);
    summary.heroReports.push_back({.plan = std::move(plan), .dispatch = dispatch.getName().str(), .seconds = seconds});
    report = std::prev(summary.heroReports.end());
  }
  ++report->dispatches;
}

FailureOr<TargetPlan> mpc::packageForGpu(OwningOpRef<ModuleOp> module, const GpuOptions &options,
                                         CompiledProgram &program, const Watch &watch) {
  TargetPlan plan{.target = options.arch->name.str(), .module = {}, .kernels = {}, .modules = {}};
  FailureOr<TargetSummary> summarized = summarize(*module, plan.target);
  if (failed(summarized))
    return failure();
  TargetSummary &summary = *summarized;
  std::optional<hero::Tuning> tuning; // the report says which schedules were measured
  if (!options.tune.empty()) {
    FailureOr<hero::Tuning> read = hero::readTuningFile(module->getContext(), options.tune);
    if (failed(read))
      return failure();
    tuning = std::move(*read);
  }
  llvm::StringMap<size_t> reports;
  module->walk([&](kernel::DispatchOp dispatch) {
    if (!dispatch.getLaunches())
      return;
    for (auto launch : dispatch.getLaunches()->getAsRange<kernel::LaunchAttr>()) {
      auto [report, isNew] = reports.try_emplace(launch.getKernel().getLeafReference(), summary.kernelReports.size());
      if (isNew)
        summary.kernelReports.push_back(
            {.kernel = {}, .dispatch = dispatch.getName().str(), .schedule = scheduleOf(dispatch)});
      ++summary.kernelReports[report->second].launches;
    }
    if (dispatch.isContraction() && dispatch.getSchedule() && !dispatch.getLaunches()->empty())
      addHero(dispatch, *options.arch, tuning ? &*tuning : nullptr, summary);
  });
  // A network that computes nothing has no kernels, but the code below still needs a module.
  OwningOpRef<ModuleOp> none = ModuleOp::create(module->getLoc());
  (*none)->setAttr(kernel::TargetAttr::name, kernel::TargetAttr::of(*module));
  FailureOr<ModuleOp> emitted = gpuKernels(*module);
  if (failed(emitted))
    return failure();
  ModuleOp kernels = *emitted ? *emitted : *none;
  TimingScope scope = watch.timing ? watch.timing->nest(plan.target + " code") : TimingScope();
  if (failed(addModules(kernels, options, reports, program, plan, summary)))
    return failure();
  if (options.emulator) {
    FailureOr<std::string> object = emitEmulatorObject(kernels, HostCpu::oldest(), hostUnits, options.threads);
    if (failed(object))
      return failure();
    program.sections["emulator." + plan.target + ".so"] = std::move(*object);
  }
  summary.kernels = plan.kernels.size();
  program.targets.push_back(std::move(summary));
  plan.module = std::move(module);
  return plan;
}
