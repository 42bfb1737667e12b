//===- HostCodegen.cpp - collects kernels, compiles them on several threads ------------===//
#include "compiler/Codegen/HostCodegen.h"
#include "compiler/Codegen/HostLowering.h"
#include "compiler/Codegen/LinkShared.h"
#include "compiler/Codegen/Parallel.h"
#include "compiler/Codegen/Structure.h"
#include "dialects/Graph/IR/Graph.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "passes/Lowering/Elemental/ElementEmitter.h"
#include "passes/Lowering/KernelToHost/KernelToHost.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace mlir;
using namespace mpc;

struct HostCodegen::Impl {
  MLIRContext *context;
  size_t moduleCount;
  std::vector<OwningOpRef<ModuleOp>> modules;
  llvm::StringMap<HostKernel> known; ///< by the body's text
};

HostCodegen::HostCodegen(MLIRContext *context, size_t modules) : impl(std::make_unique<Impl>()) {
  impl->context = context;
  impl->moduleCount = modules;
  DialectRegistry registry;
  registerDialects(registry);
  context->appendDialectRegistry(registry);
  context->loadDialect<arith::ArithDialect, cf::ControlFlowDialect, graph::GraphDialect, kernel::KernelDialect, LLVM::LLVMDialect,
                       math::MathDialect, scf::SCFDialect>();
}
HostCodegen::~HostCodegen() = default;

void HostCodegen::registerDialects(DialectRegistry &registry) {
  registry.insert<arith::ArithDialect, cf::ControlFlowDialect, graph::GraphDialect, kernel::KernelDialect, LLVM::LLVMDialect,
                  math::MathDialect, scf::SCFDialect>();
  registerElementalModels(registry);
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
}

FailureOr<HostKernel> HostCodegen::add(kernel::DispatchOp dispatch) {
  auto [entry, isNew] = impl->known.try_emplace(structureOf(dispatch));
  if (!isNew)
    return entry->second;
  size_t number = impl->known.size() - 1;
  if (impl->modules.size() < impl->moduleCount)
    impl->modules.push_back(ModuleOp::create(UnknownLoc::get(impl->context)));
  HostKernel kernel;
  kernel.symbol = ("k" + llvm::Twine(number)).str();
  auto launch = emitHostKernel(dispatch, *impl->modules[number % impl->moduleCount], kernel.symbol);
  if (failed(launch)) {
    impl->known.erase(entry);
    return failure();
  }
  kernel.grid = launch->grid, kernel.grain = launch->grain;
  return entry->second = kernel;
}

size_t HostCodegen::size() const { return impl->known.size(); }

/// Lowers a copy of the module and hands LLVM IR for each CPU to `done`. Messages go to the diagnostics engine, or into `error`.
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
    std::unique_ptr<llvm::Module> copy = i + 1 == cpus.size() ? std::move(ir) : llvm::CloneModule(*ir);
    optimize(*copy, *machine);
    done(i, *copy, *machine);
  }
  return true;
}

FailureOr<std::vector<HostObject>> HostCodegen::emit(ArrayRef<HostCpu> cpus, unsigned threads, bool relocatable) {
  size_t count = impl->modules.size();
  std::vector<std::vector<std::string>> objects(cpus.size(), std::vector<std::string>(count));
  std::vector<std::string> errors(count);
  onThreads(impl->context, count, threads, [&](size_t m) {
    compileModule(*impl->modules[m], cpus, errors[m], [&](size_t cpu, llvm::Module &module, llvm::TargetMachine &machine) {
      objects[cpu][m] = emitObject(module, machine);
    });
  });

  Location loc = UnknownLoc::get(impl->context);
  for (const std::string &error : errors)
    if (!error.empty())
      return emitError(loc, error), failure();
  std::vector<HostObject> result;
  for (auto [cpu, bytes] : llvm::zip_equal(cpus, objects)) {
    auto linked = relocatable ? linkRelocatable(loc, bytes) : linkShared(loc, bytes, ("model." + llvm::Twine(cpu.name) + ".so").str());
    if (failed(linked))
      return failure();
    result.push_back({cpu, std::move(*linked)});
  }
  return result;
}

FailureOr<std::string> HostCodegen::llvmIR(const HostCpu &cpu) {
  assert(impl->moduleCount == 1 && "several modules do not make one text");
  std::string text, error;
  llvm::raw_string_ostream stream(text);
  for (auto &module : impl->modules)
    if (!compileModule(*module, cpu, error, [&](size_t, llvm::Module &ir, llvm::TargetMachine &) { stream << ir; }))
      return emitError(UnknownLoc::get(impl->context), error), failure();
  return text;
}
