//===- GpuPipeline.cpp - from target-free entries to a plan for a GPU --------------------===//
#include "compiler/Codegen/EmulatorCodegen.h"
#include "compiler/Codegen/GpuCodegen.h"
#include "compiler/Pipeline/Targets.h"
#include "passes/Fusion/Passes.h"
#include "passes/Layout/Passes.h"
#include "passes/Decompose/Passes.h"
#include "passes/Lowering/KernelToGpu/KernelToGpu.h"
#include "passes/Memory/Passes.h"
#include "passes/Simplify/Passes.h"

using namespace mlir;
using namespace mpc;

static const hero::Tuning *tuningOf(const GpuOptions &options) { return options.tuning ? &*options.tuning : nullptr; }

LogicalResult mpc::formGpuDispatches(ModuleOp module, const GpuArch &arch, const StageObserver &observe) {
  auto run = [&](StringRef stage, auto &&...passes) { return runStage(module, observe, stage, std::move(passes)...); };
  if (failed(run("layout", layout::createChannelsLastPass({.weights = true}))) ||
      (arch.hasMmaF16K8 && failed(run("layout", layout::createPadChannelsPass()))) ||
      failed(run("layout", createSimplifyPass())) ||
      failed(run("decompose", createDecomposePass({.gpu = true}), createSimplifyPass())) ||
      failed(run("fusion", fusion::createFormDispatchesPass({.epilogues = fusion::Epilogues::Pointwise}))))
    return failure();
  return success();
}

LogicalResult mpc::planForGpu(ModuleOp module, const GpuOptions &options, const StageObserver &observe) {
  if (failed(formGpuDispatches(module, *options.arch, observe)))
    return failure();
  // Before the memory plan, which has to know the scratch that schedules take.
  hero::assignSchedules(module, *options.arch, tuningOf(options));
  return runStage(module, observe, "memory", memory::createSinkDispatchesPass(), fusion::createBatchDispatchesPass(),
                  memory::createPlanArenaPass(mayShareBufferOnGpu), memory::createVerifyArenaPass());
}

/// PTX and, with ptxas, cubins: the sections and what the manifest says of them. `reports`: the position of a kernel's report in the summary.
static LogicalResult addModules(GpuCodegen &codegen, const GpuOptions &options, const llvm::StringMap<size_t> &reports,
                                CompiledProgram &program, TargetPlan &plan, TargetSummary &summary) {
  NvptxOptions nvptx{.arch = options.arch, .threads = options.threads, .ptxas = options.ptxas};
  if (options.kernels != GpuKernelForm::Program)
    nvptx.modules = 1;
  FailureOr<std::vector<NvptxModule>> modules = compileNvptx(codegen.module(), nvptx);
  if (failed(modules))
    return failure();
  if (options.kernels != GpuKernelForm::Program && !modules->empty())
    program.kernelFiles[plan.target] = options.kernels == GpuKernelForm::Ptx ? modules->front().ptx : modules->front().cubin;
  for (auto [i, module] : llvm::enumerate(*modules)) {
    TargetPlan::Module names{.ptx = plan.target + "." + std::to_string(i) + ".ptx"};
    program.sections[names.ptx] = std::move(module.ptx);
    if (!module.cubin.empty()) {
      names.cubin = plan.target + "." + std::to_string(i) + ".cubin";
      program.sections[names.cubin] = std::move(module.cubin);
    }
    plan.modules.push_back(std::move(names));
    for (NvptxKernel &kernel : module.kernels) {
      PlannedKernel &planned = plan.kernels.emplace_back(PlannedKernel{kernel.symbol, i, kernel.threads, kernel.dynamicSharedBytes, kernel.resident, kernel.cluster});
      if (kernel.tensorMaps)
        llvm::append_range(planned.tensorMaps, kernel.tensorMaps.getAsRange<kernel::TensorMapAttr>());
      summary.kernelReports[reports.lookup(kernel.symbol)].kernel = std::move(kernel);
    }
  }
  return success();
}

static std::string scheduleOf(kernel::DispatchOp dispatch) {
  auto schedule = dispatch->getAttrOfType<StringAttr>(hero::scheduleAttr);
  return schedule ? schedule.str() : "";
}

static void addHero(kernel::DispatchOp dispatch, const GpuOptions &options, TargetSummary &summary) {
  hero::PlannedHero plan = hero::planOf(dispatch, *options.arch, tuningOf(options));
  auto report = llvm::find_if(summary.heroReports, [&](const auto &known) {
    return known.plan.problem == plan.problem && known.plan.schedule == plan.schedule;
  });
  if (report == summary.heroReports.end()) {
    double seconds = plan.estimate.seconds(*options.arch);
    summary.heroReports.push_back({.plan = std::move(plan), .dispatch = dispatch.getName().str(), .seconds = seconds});
    report = std::prev(summary.heroReports.end());
  }
  ++report->dispatches;
}

FailureOr<TargetPlan> mpc::compileForGpu(OwningOpRef<ModuleOp> module, const GpuOptions &options, CompiledProgram &program,
                                         const StageObserver &observe) {
  if (failed(planForGpu(*module, options, observe)))
    return failure();
  return emitPlannedForGpu(std::move(module), options, program);
}

FailureOr<TargetPlan> mpc::emitPlannedForGpu(OwningOpRef<ModuleOp> module, const GpuOptions &options, CompiledProgram &program) {
  TargetPlan plan;
  plan.target = options.arch->name.str();
  TargetSummary summary = summarize(*module, plan.target);
  GpuCodegen codegen(module->getContext(), *options.arch);
  llvm::StringMap<size_t> reports;
  WalkResult added = module->walk<WalkOrder::PreOrder>([&](kernel::DispatchOp dispatch) {
    if (computesNothing(dispatch))
      return WalkResult::skip();
    auto kernels = codegen.add(dispatch);
    if (failed(kernels))
      return WalkResult::interrupt();
    for (const GpuKernel &kernel : *kernels) {
      plan.launches[dispatch].push_back({.symbol = kernel.symbol, .grid = kernel.launch.grid, .args = kernel.args});
      auto [report, isNew] = reports.try_emplace(kernel.symbol, summary.kernelReports.size());
      if (isNew)
        summary.kernelReports.push_back({.kernel = {}, .dispatch = dispatch.getName().str(), .schedule = scheduleOf(dispatch)});
      ++summary.kernelReports[report->second].launches;
    }
    summary.launches += kernels->size();
    if (dispatch.getLibrary() && !kernels->empty())
      addHero(dispatch, options, summary);
    return WalkResult::skip(); // members of a batch are part of it
  });
  if (added.wasInterrupted() || failed(addModules(codegen, options, reports, program, plan, summary)))
    return failure();
  if (options.emulator) {
    FailureOr<std::string> object = emitEmulatorObject(codegen.module(), HostCpu::v3(), HostCodegen::defaultModules, options.threads);
    if (failed(object))
      return failure();
    program.sections["emulator." + plan.target + ".so"] = std::move(*object);
  }
  summary.kernels = plan.kernels.size();
  program.targets.push_back(std::move(summary));
  plan.module = std::move(module);
  return plan;
}
