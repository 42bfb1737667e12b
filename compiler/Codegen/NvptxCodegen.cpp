//===- NvptxCodegen.cpp - splits, lowers and compiles kernels on several threads -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Codegen/NvptxCodegen.h"
#include "compiler/Codegen/HostLowering.h"
#include "compiler/Codegen/NvptxTarget.h"
#include "compiler/Codegen/Parallel.h"
#include "compiler/Codegen/Ptxas.h"
#include "dialects/Kernel/IR/SharedMemory.h"
#include "dialects/Support/Diagnostics.h"
#include "passes/Lowering/DeviceToNvvm/DeviceToNvvm.h"
#include "passes/Lowering/MathApprox/MathApprox.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;
using namespace mpc;

void mpc::registerNvptxDialects(DialectRegistry &registry) {
  registry.insert<arith::ArithDialect, cf::ControlFlowDialect, kernel::KernelDialect, LLVM::LLVMDialect,
                  math::MathDialect, NVVM::NVVMDialect, scf::SCFDialect>();
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
}

/// Marks the instructions that are written as assembly (wgmma, barriers), which the threads of a warp execute together.
/// `convergent` forbids LLVM to make a call depend on a condition on which it did not depend before: it may not move
/// the call into a branch, nor copy it into the branches of a condition (LLVM, "Convergent Operation Semantics"). It
/// does not forbid other copies, as an unrolled loop has them, nor says it that all threads arrive, which is up to the
/// kernel; and ptxas does not see it. The llvm dialect cannot say so of assembly.
static void keepTogether(llvm::Module &ir) {
  for (llvm::Function &function : ir)
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction); call && call->isInlineAsm())
        call->setConvergent();
}

/// Lowers `module` in place and translates it. Returns null after an error, for which there is a diagnostic
/// or the text in `error`.
static std::unique_ptr<llvm::Module> lowerAndTranslate(ModuleOp module, llvm::LLVMContext &context,
                                                       std::vector<NvptxKernel> &kernels, std::string &error) {
  for (auto function : module.getOps<LLVM::LLVMFuncOp>())
    if (kernel::EntryAttr entry = kernel::EntryAttr::of(function))
      kernels.push_back({.symbol = function.getName().str(),
                         .entry = entry,
                         .report = {},
                         .instructions = {},
                         .sharedBytes = kernel::SharedMemory(function).bytes});
  approximateExp(module);
  if (failed(lowerDeviceOps(module)))
    return nullptr;
  for (NvptxKernel &kernel : kernels)
    kernel.dynamicSharedBytes = dynamicSharedBytes(module.lookupSymbol(kernel.symbol));
  lowerDeviceArithmetic(module);
  if (failed(convertToLLVMDialect(module)))
    return nullptr;
  std::unique_ptr<llvm::Module> ir = translateModuleToLLVMIR(module, context, "kernels");
  if (!ir) {
    error = "internal error: kernels do not translate to LLVM IR";
    return nullptr;
  }
  keepTogether(*ir);
  return ir;
}

namespace {
struct Part {
  OwningOpRef<ModuleOp> source;
  NvptxModule result;
  std::string error;
  bool failed = false;
};
} // namespace

/// Where the PTX says nothing about registers, ptxas limits them so that many blocks can run at once, and
/// spills some values rather than use a few more. This function tells ptxas, for the kernels that it spilled
/// in, that one block is enough. Returns whether there are such kernels.
static bool forgoOccupancy(std::string &ptx, const llvm::StringMap<PtxasReport> &reports) {
  bool changed = false;
  for (const auto &report : reports) {
    if (report.second.spillStoreBytes + report.second.spillLoadBytes == 0)
      continue;
    size_t entry = ptx.find((".entry " + report.first() + "(").str());
    if (entry == std::string::npos)
      continue;
    size_t body = ptx.find("\n{", entry), said = ptx.find(".minnctapersm", entry);
    if (body == std::string::npos || said < body)
      continue;
    ptx.insert(body, "\n.minnctapersm 1");
    changed = true;
  }
  return changed;
}

static void compilePart(Part &part, const GpuArch &arch, const NvptxOptions &options) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> ir = lowerAndTranslate(*part.source, context, part.result.kernels, part.error);
  part.failed = true;
  if (!ir)
    return;
  std::unique_ptr<llvm::TargetMachine> machine = createNvptxMachine(arch);
  optimizeForNvptx(*ir, *machine);
  part.result.ptx = emitPtx(*ir, *machine, part.error);
  if (!part.error.empty())
    return;
  llvm::StringMap<PtxInstructions> instructions = countPtxInstructions(part.result.ptx);
  for (NvptxKernel &kernel : part.result.kernels)
    kernel.instructions = instructions.lookup(kernel.symbol);
  if (!options.ptxas.empty() && arch.ptxasKnows) {
    PtxasResult assembled = runPtxas(options.ptxas, part.result.ptx, arch);
    if (assembled.error.empty() && forgoOccupancy(part.result.ptx, assembled.reports))
      assembled = runPtxas(options.ptxas, part.result.ptx, arch);
    part.error = assembled.error;
    if (!part.error.empty())
      return;
    part.result.cubin = std::move(assembled.cubin);
    for (NvptxKernel &kernel : part.result.kernels)
      kernel.report = assembled.reports.lookup(kernel.symbol);
  }
  part.failed = false;
}

FailureOr<ModuleOp> mpc::gpuKernels(ModuleOp module) {
  SmallVector<ModuleOp> all = kernel::kernelModules(module);
  if (all.size() > 1)
    return emitErrorWithHint(all[1].getLoc(),
                             "'" + all[1].getName().value_or("") +
                                 "' is a second module of kernels; a program for a GPU has one",
                             "run mpc-emit-kernels with units=1");
  return all.empty() ? ModuleOp() : all.front();
}

FailureOr<std::vector<NvptxModule>> mpc::compileNvptx(ModuleOp kernels, const NvptxOptions &options) {
  const GpuArch *arch = kernel::requireGpu(kernels);
  if (!arch)
    return failure();
  std::vector<Part> parts;
  for (OwningOpRef<ModuleOp> &source : dealKernels(kernels, options.modules))
    parts.push_back({std::move(source), {}, {}});
  onThreads(kernels.getContext(), parts.size(), options.threads,
            [&](size_t i) { compilePart(parts[i], *arch, options); });

  std::vector<NvptxModule> result;
  bool failed = false;
  for (Part &part : parts) {
    if (!part.error.empty())
      emitError(kernels.getLoc(), part.error);
    failed |= part.failed;
    result.push_back(std::move(part.result));
  }
  if (failed)
    return failure();
  return result;
}

FailureOr<std::string> mpc::nvptxLLVMIR(ModuleOp kernels, bool optimized) {
  const GpuArch *arch = kernel::requireGpu(kernels);
  if (!arch)
    return failure();
  OwningOpRef<ModuleOp> copy(kernels.clone());
  (*copy)->setAttr(kernel::TargetAttr::name, kernel::TargetAttr::of(kernels));
  llvm::LLVMContext context;
  std::vector<NvptxKernel> names;
  std::string error, text;
  std::unique_ptr<llvm::Module> ir = lowerAndTranslate(*copy, context, names, error);
  if (!ir) {
    if (!error.empty())
      emitError(kernels.getLoc(), error);
    return failure();
  }
  std::unique_ptr<llvm::TargetMachine> machine = createNvptxMachine(*arch);
  if (optimized)
    optimizeForNvptx(*ir, *machine);
  llvm::raw_string_ostream(text) << *ir;
  return text;
}
