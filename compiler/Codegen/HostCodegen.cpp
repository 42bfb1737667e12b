//===- HostCodegen.cpp - compiles modules of host kernels on several threads -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Codegen/HostCodegen.h"
#include "compiler/Codegen/HostLowering.h"
#include "compiler/Codegen/LinkShared.h"
#include "compiler/Codegen/Parallel.h"
#include "dialects/Graph/IR/Graph.h"
#include "dialects/Kernel/IR/Kernel.h"
#include "passes/Lowering/Elemental/ElementEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace mlir;
using namespace mpc;

void mpc::registerHostDialects(DialectRegistry &registry) {
  registry.insert<arith::ArithDialect, cf::ControlFlowDialect, graph::GraphDialect, kernel::KernelDialect,
                  LLVM::LLVMDialect, math::MathDialect, scf::SCFDialect>();
  registerElementalModels(registry);
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
}

/// Lowers a copy of the module and passes the LLVM IR for each CPU to `done`. Messages go to the diagnostics
/// engine, or into `error`.
static bool compileModule(ModuleOp source, ArrayRef<HostCpu> cpus, std::string &error,
                          llvm::function_ref<void(size_t cpu, llvm::Module &, llvm::TargetMachine &)> done) {
  OwningOpRef<ModuleOp> module(source.clone());
  llvm::LLVMContext context;
  if (failed(lowerToLLVMDialect(*module))) {
    error = "internal error: a kernel does not lower to LLVM";
    return false;
  }
  std::unique_ptr<llvm::Module> ir = translateModuleToLLVMIR(*module, context);
  if (!ir) {
    error = "internal error: a kernel does not translate to LLVM IR";
    return false;
  }
  for (auto [i, cpu] : llvm::enumerate(cpus)) {
    std::unique_ptr<llvm::TargetMachine> machine = createTargetMachine(cpu, error);
    if (!machine)
      return false;
    if (i == 0)
      optimizeLoops(*ir, *machine);
    std::unique_ptr<llvm::Module> copy = i + 1 == cpus.size() ? std::move(ir) : llvm::CloneModule(*ir);
    vectorizeLoops(*copy, *machine);
    done(i, *copy, *machine);
  }
  return true;
}

FailureOr<std::vector<HostObject>> mpc::compileHostKernels(ArrayRef<ModuleOp> modules, ArrayRef<HostCpu> cpus,
                                                           unsigned threads, bool relocatable) {
  assert(!modules.empty() && "there is something to compile");
  MLIRContext *context = modules.front()->getContext();
  size_t count = modules.size();
  std::vector<std::vector<std::string>> objects(cpus.size(), std::vector<std::string>(count));
  std::vector<std::string> errors(count);
  onThreads(context, count, threads, [&](size_t m) {
    compileModule(modules[m], cpus, errors[m], [&](size_t cpu, llvm::Module &module, llvm::TargetMachine &machine) {
      objects[cpu][m] = emitObject(module, machine);
    });
  });

  Location loc = UnknownLoc::get(context);
  for (const std::string &error : errors)
    if (!error.empty())
      return emitError(loc, error), failure();
  std::vector<HostObject> result;
  for (auto [cpu, bytes] : llvm::zip_equal(cpus, objects)) {
    auto linked = relocatable ? linkRelocatable(loc, bytes)
                              : linkShared(loc, bytes, ("model." + llvm::Twine(cpu.name) + ".so").str());
    if (failed(linked))
      return failure();
    result.push_back({cpu, std::move(*linked)});
  }
  return result;
}

FailureOr<std::string> mpc::hostLLVMIR(ModuleOp module, const HostCpu &cpu) {
  std::string text, error;
  llvm::raw_string_ostream stream(text);
  if (!compileModule(module, cpu, error, [&](size_t, llvm::Module &ir, llvm::TargetMachine &) { stream << ir; }))
    return emitError(module.getLoc(), error), failure();
  return text;
}
