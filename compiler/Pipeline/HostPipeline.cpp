//===- HostPipeline.cpp - from target-free entries to a host program --------------------===//
#include "compiler/Codegen/NativeCpu.h"
#include "compiler/Package/LibraryCalls.h"
#include "compiler/Pipeline/Targets.h"
#include "passes/Fusion/Passes.h"
#include "passes/Layout/Passes.h"
#include "passes/Decompose/Passes.h"
#include "passes/Lowering/LoopPlan/LoopForm.h"
#include "passes/Memory/Passes.h"
#include "passes/Simplify/Passes.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mpc;

/// Records on every library dispatch how much scratch its primitive needs: the memory plan has to know.
static LogicalResult annotateScratch(ModuleOp module, const HostOptions &options) {
  WalkResult result = module.walk([&](kernel::DispatchOp dispatch) {
    if (!dispatch.getLibrary())
      return WalkResult::advance();
    FailureOr<LibraryCall> call = describeLibraryCall(dispatch);
    if (failed(call))
      return WalkResult::interrupt();
    int64_t bytes = 0;
    std::string error;
    if (options.libraryScratch && !options.libraryScratch(call->desc, bytes, error)) {
      dispatch.emitError("no library provider computes this: ") << error;
      return WalkResult::interrupt();
    }
    if (bytes)
      dispatch.setScratchBytes(bytes);
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

static LogicalResult addKernels(HostCodegen &codegen, const HostOptions &options, CompiledProgram &program) {
  if (options.kernels == KernelForm::LlvmIR) {
    for (const HostCpu &cpu : options.cpus) {
      FailureOr<std::string> text = codegen.llvmIR(cpu);
      if (failed(text))
        return failure();
      program.kernelFiles[cpu.name] = std::move(*text);
    }
    return success();
  }
  bool relocatable = options.kernels == KernelForm::Relocatable;
  FailureOr<std::vector<HostObject>> objects = codegen.emit(options.cpus, options.threads, relocatable);
  if (failed(objects))
    return failure();
  for (HostObject &object : *objects)
    (relocatable ? program.kernelFiles[object.cpu.name] : program.sections["host." + object.cpu.name + ".so"]) = std::move(object.bytes);
  // What the CPU must have, so that the program can refuse another one.
  if (std::string native = HostCpu::native().name; program.sections.count("host." + native + ".so"))
    program.sections["host." + native + ".cpu"] = llvm::join(nativeFeatures(), " ");
  return success();
}

LogicalResult mpc::planForHost(ModuleOp module, const HostOptions &options, const StageObserver &observe) {
  auto run = [&](StringRef stage, auto &&...passes) { return runStage(module, observe, stage, std::move(passes)...); };
  // Layout first: it speaks of whole ops (convolutions, batch norms), which decomposition takes apart.
  return success(succeeded(run("layout", layout::createChannelsLastPass(), createSimplifyPass())) &&
                 succeeded(run("decompose", createDecomposePass(), createSimplifyPass())) &&
                 succeeded(run("fusion", fusion::createFormDispatchesPass())) && succeeded(annotateScratch(module, options)) &&
                 succeeded(run("memory", memory::createSinkDispatchesPass(), memory::createPlanArenaPass(mayShareBuffer), memory::createVerifyArenaPass())));
}

FailureOr<TargetPlan> mpc::compileForHost(OwningOpRef<ModuleOp> module, const HostOptions &options, CompiledProgram &program,
                                          const StageObserver &observe) {
  if (failed(planForHost(*module, options, observe)))
    return failure();
  TargetPlan plan;
  plan.target = "host";
  HostCodegen codegen(module->getContext(), options.kernels == KernelForm::LlvmIR ? 1 : HostCodegen::defaultModules);
  TargetSummary summary = summarize(*module, plan.target);
  WalkResult added = module->walk([&](kernel::DispatchOp dispatch) {
    if (computesNothing(dispatch))
      return WalkResult::advance();
    ++summary.launches;
    if (dispatch.getLibrary())
      return WalkResult::advance();
    FailureOr<HostKernel> kernel = codegen.add(dispatch);
    if (failed(kernel))
      return WalkResult::interrupt();
    plan.launches[dispatch] = {KernelLaunch{.symbol = kernel->symbol, .grid = {kernel->grid, 1, 1}, .grain = kernel->grain}};
    return WalkResult::advance();
  });
  // A network of library calls alone has no kernels.
  if (added.wasInterrupted() || (codegen.size() > 0 && failed(addKernels(codegen, options, program))))
    return failure();
  summary.kernels = codegen.size();
  program.targets.push_back(std::move(summary));
  plan.module = std::move(module);
  return plan;
}
