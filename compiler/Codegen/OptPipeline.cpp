//===- OptPipeline.cpp - runs LLVM's optimiser and code generator ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Codegen/OptPipeline.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

void mpc::runPipeline(Module &module, TargetMachine &machine, const PipelineTuningOptions &tuning,
                      function_ref<ModulePassManager(PassBuilder &)> build) {
  module.setTargetTriple(machine.getTargetTriple());
  module.setDataLayout(machine.createDataLayout());
  PassBuilder builder(&machine, tuning);
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager components;
  ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  build(builder).run(module, modules);
}

std::string mpc::emitFile(Module &module, TargetMachine &machine, CodeGenFileType type) {
  SmallVector<char, 0> bytes;
  raw_svector_ostream stream(bytes);
  legacy::PassManager passes;
  bool unsupported = machine.addPassesToEmitFile(passes, stream, nullptr, type);
  assert(!unsupported && "the target has files of this type");
  (void)unsupported;
  passes.run(module);
  return std::string(bytes.begin(), bytes.end());
}
