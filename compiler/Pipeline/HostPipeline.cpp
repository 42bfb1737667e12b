//===- HostPipeline.cpp - from target-free entries to a host program --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Codegen/NativeCpu.h"
#include "compiler/Pipeline/Targets.h"
#include "passes/Decompose/Passes.h"
#include "passes/Fusion/Passes.h"
#include "passes/Layout/Passes.h"
#include "passes/Lowering/EmitKernels/Passes.h"
#include "passes/Lowering/LoopPlan/Passes.h"
#include "passes/Memory/Passes.h"
#include "passes/Simplify/Passes.h"
#include "passes/Target/Passes.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mpc;

/// The scores of a block of attention, in fp32: with what is computed from them they lie in the caches of two cores.
static constexpr int64_t attentionBlockBytes = int64_t(1) << 20;

void mpc::buildHostPlanPipeline(OpPassManager &manager, const HostOptions &options, StageMark mark) {
  manager.addPass(createSetTargetPass({.name = "host"}));
  manager.addPass(createDecomposeAttentionPass({.blockBytes = attentionBlockBytes}));
  // Layout comes before decomposition, because it handles whole ops (convolutions, batch norms), which decomposition
  // takes apart. It comes behind the training pipeline, because forward and backward pass are one graph there, with
  // their casts, and an activation that both read is stored in one order.
  manager.addPass(layout::createAssignOrdersPass());
  manager.addPass(layout::createTransposeInvariantsPass());
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
  manager.addPass(createLibraryScratchPass(options.scratch, options.builtInLibrary));
  manager.addPass(memory::createSinkDispatchesPass());
  manager.addPass(memory::createFindReusePass());
  manager.addPass(memory::createPlanArenaPass());
  manager.addPass(memory::createVerifyArenaPass());
  // This comes behind the memory plan, which makes the last dispatches: copies of what cannot be assigned in place.
  manager.addPass(createPlanLoopsPass());
  mark(manager, "memory");
}

void mpc::buildHostPipeline(OpPassManager &manager, const HostOptions &options, StageMark mark) {
  buildHostPlanPipeline(manager, options, mark);
  manager.addPass(createEmitKernelsPass({.units = options.kernels == KernelForm::LlvmIR ? 1 : hostUnits}));
  mark(manager, "kernels");
}

LogicalResult mpc::planForHost(ModuleOp module, const HostOptions &options, const Watch &watch) {
  return runPipeline(module, "host", watch,
                     [&](OpPassManager &manager, StageMark mark) { buildHostPlanPipeline(manager, options, mark); });
}

static LogicalResult addKernels(ArrayRef<ModuleOp> modules, const HostOptions &options, CompiledProgram &program) {
  if (options.kernels == KernelForm::LlvmIR) {
    for (const HostCpu &cpu : options.cpus) {
      FailureOr<std::string> text = hostLLVMIR(modules.front(), cpu);
      if (failed(text))
        return failure();
      program.kernelFiles[cpu.name] = std::move(*text);
    }
    return success();
  }
  bool relocatable = options.kernels == KernelForm::Relocatable;
  FailureOr<std::vector<HostObject>> objects = compileHostKernels(modules, options.cpus, options.threads, relocatable);
  if (failed(objects))
    return failure();
  for (HostObject &object : *objects)
    (relocatable ? program.kernelFiles[object.cpu.name] : program.sections["host." + object.cpu.name + ".so"]) =
        std::move(object.bytes);
  // The features that the CPU must have are recorded, so that the program can refuse to run on another one.
  if (std::string native = HostCpu::native().name; program.sections.count("host." + native + ".so"))
    program.sections["host." + native + ".cpu"] = llvm::join(nativeFeatures(), " ");
  return success();
}

FailureOr<TargetPlan> mpc::packageForHost(OwningOpRef<ModuleOp> module, const HostOptions &options,
                                          CompiledProgram &program, const Watch &watch) {
  FailureOr<TargetSummary> summary = summarize(*module, "host");
  if (failed(summary))
    return failure();
  SmallVector<ModuleOp> modules = kernel::kernelModules(*module);
  // A network that consists only of library calls has no kernels.
  TimingScope scope = watch.timing ? watch.timing->nest("host code") : TimingScope();
  if (!modules.empty() && failed(addKernels(modules, options, program)))
    return failure();
  program.targets.push_back(std::move(*summary));
  return TargetPlan{.target = "host", .module = std::move(module), .kernels = {}, .modules = {}};
}
