//===- HostTarget.cpp - LLVM's optimiser and code generator for x86-64 ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Codegen/HostLowering.h"
#include "compiler/Codegen/NativeCpu.h"
#include "compiler/Codegen/OptPipeline.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include <mutex>

using namespace llvm;

/// The CPU that code for this machine starts from. The machine's features are added by name, so that programs can
/// record them.
static constexpr StringLiteral kBaseline = "x86-64";

std::unique_ptr<TargetMachine> mpc::createTargetMachine(const HostCpu &cpu, std::string &error) {
  static std::once_flag initialized;
  std::call_once(initialized, [] {
    InitializeNativeTarget();
    InitializeNativeTargetAsmPrinter();
  });
  Triple triple("x86_64-unknown-linux-gnu");
  const Target *target = TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return nullptr;
  std::string name = cpu.name, features;
  if (name == MPC_CPU_NATIVE) {
    name = kBaseline.str();
    for (const std::string &feature : nativeFeatures())
      features += (features.empty() ? "+" : ",+") + feature;
  }
  TargetOptions options;
  std::unique_ptr<TargetMachine> machine(target->createTargetMachine(triple, name, features, options, Reloc::PIC_,
                                                                     std::nullopt, CodeGenOptLevel::Default));
  if (!machine || !machine->getMCSubtargetInfo()->isCPUStringValid(name)) {
    error = ("unknown CPU '" + Twine(name) + "'").str();
    return nullptr;
  }
  return machine;
}

/// Kernels are nests of plain loops: there are no calls to inline, and no memory to promote but the
/// accumulators. LLVM's default pipeline spends most of its time on code that kernels do not have, and
/// unrolls short loops before the vectoriser sees them. Measured over 51 kernels of
/// test/codegen/KernelBenchmark.cpp: 389 ms instead of 574 ms with O3, and equal speed of the code, except
/// for sums over rows, where O3 vectorised the wrong loop (8 times slower).
static constexpr const char *scalarPipeline =
    "function<eager-inv>("
    "early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,"
    "loop-mssa(loop-rotate,licm<allowspeculation>,simple-loop-unswitch<nontrivial;trivial>),"
    "simplifycfg,instcombine<no-verify-fixpoint>,loop(indvars))";
static constexpr const char *vectorPipeline =
    "function<eager-inv>("
    "loop-vectorize,"
    "early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,"
    "loop-unroll<O3>,sroa<preserve-cfg>,early-cse<memssa>,instcombine<no-verify-fixpoint>,"
    "loop-mssa(licm<allowspeculation>),simplifycfg)";

static void run(Module &module, TargetMachine &machine, const char *pipeline) {
  PipelineTuningOptions tuning;
  tuning.LoopVectorization = tuning.SLPVectorization = tuning.LoopInterleaving = tuning.LoopUnrolling = true;
  mpc::runPipeline(module, machine, tuning, [pipeline](PassBuilder &builder) {
    ModulePassManager passes;
    cantFail(builder.parsePassPipeline(passes, pipeline));
    return passes;
  });
}

void mpc::optimizeLoops(Module &module, TargetMachine &machine) { run(module, machine, scalarPipeline); }

void mpc::vectorizeLoops(Module &module, TargetMachine &machine) {
  for (Function &f : module) {
    if (f.isDeclaration())
      continue;
    f.addFnAttr("target-cpu", machine.getTargetCPU());
    if (!machine.getTargetFeatureString().empty())
      f.addFnAttr("target-features", machine.getTargetFeatureString());
    if (machine.getTargetCPU() == kBaseline)
      f.addFnAttr("tune-cpu", sys::getHostCPUName());
    // 512-bit registers are used where they exist: the kernels stream memory, and CPUs since Ice Lake and Zen
    // 4 do not slow down for them.
    f.addFnAttr("prefer-vector-width", "512");
  }
  run(module, machine, vectorPipeline);
}

std::string mpc::emitObject(Module &module, TargetMachine &machine) {
  return emitFile(module, machine, CodeGenFileType::ObjectFile);
}
