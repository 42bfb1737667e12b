//===- ProgramPipeline.cpp - one target-free module, a plan for each target -----------===//
#include "compiler/Pipeline/Targets.h"
#include "dialects/Train/IR/Train.h"
#include "passes/Lowering/EmitKernels/KernelEmitter.h"
#include "passes/Memory/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mpc;

TargetSummary mpc::summarize(ModuleOp module, StringRef target) {
  TargetSummary summary;
  summary.target = target.str();
  module.walk([&](kernel::DispatchOp dispatch) {
    // A dispatch without kernels of its own is a library call; members of a batch are not launches.
    if (isa<kernel::DispatchOp>(dispatch->getParentOp()) || dispatch.computesNothing())
      return;
    summary.launches += dispatch.getLaunches() ? dispatch.getLaunches()->size() : 1;
  });
  for (ModuleOp kernels : kernelModules(module))
    summary.kernels += llvm::count_if(kernels.getOps<LLVM::LLVMFuncOp>(), [](LLVM::LLVMFuncOp function) { return !function.isExternal(); });
  auto plan = module->getAttrOfType<DictionaryAttr>(memory::kPlanAttr);
  for (auto [name, field] : {std::pair("peak_bytes", &summary.peakBytes), std::pair("state_bytes", &summary.stateBytes),
                             std::pair("saved_bytes", &summary.savedBytes), std::pair("temporary_bytes", &summary.temporaryBytes),
                             std::pair("constant_bytes", &summary.constantBytes)})
    *field = plan.getAs<IntegerAttr>(name).getInt();
  return summary;
}

static ProgramInfo describe(ModuleOp module, StringRef modelName, const TrainingOptions *training) {
  ProgramInfo info;
  info.model = modelName.str();
  if (training) {
    info.precision = training->precision;
    info.optLevel = training->precision == "fp32" ? "O0" : training->optLevel;
  }
  for (auto entry : module.getOps<FunctionOpInterface>())
    for (unsigned i = 0, e = entry.getNumArguments(); i < e; ++i)
      if (entry.getArgAttr(i, train::kBatchedAttr) && info.batch == 0)
        info.batch = cast<RankedTensorType>(entry.getArgumentTypes()[i]).getDimSize(0);
  return info;
}

FailureOr<CompiledProgram> mpc::compileProgram(ModuleOp module, const TargetOptions &targets, StringRef modelName,
                                               const TrainingOptions *training, const Watch &watch) {
  assert((targets.host || !targets.gpus.empty()) && "a program has a target");
  CompiledProgram program;
  std::vector<TargetPlan> plans;
  auto add = [&](StringRef target, auto &&compile) {
    Watch named{.timing = watch.timing};
    if (watch.stage)
      named.stage = [&](StringRef stage, ModuleOp planned) { watch.stage(plans.empty() ? stage.str() : (target + "." + stage).str(), planned); };
    FailureOr<TargetPlan> plan = compile(OwningOpRef<ModuleOp>(module.clone()), named);
    if (succeeded(plan))
      plans.push_back(std::move(*plan));
    return LogicalResult(plan);
  };
  if (targets.host && failed(add("host", [&](OwningOpRef<ModuleOp> clone, const Watch &named) {
        return compileForHost(std::move(clone), *targets.host, program, named);
      })))
    return failure();
  for (const GpuOptions &gpu : targets.gpus)
    if (failed(add(gpu.arch->name, [&](OwningOpRef<ModuleOp> clone, const Watch &named) {
          return compileForGpu(std::move(clone), gpu, program, named);
        })))
      return failure();
  FailureOr<Manifest> manifest = buildManifest(module, describe(module, modelName, training), plans);
  if (failed(manifest))
    return failure();
  program.sections["manifest.json"] = std::move(manifest->json);
  program.sections["data"] = std::move(manifest->data);
  return program;
}
