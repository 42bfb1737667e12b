//===- NvptxCodegen.cpp - splits, lowers and compiles kernels on several threads -----===//
#include "compiler/Codegen/NvptxCodegen.h"
#include "compiler/Codegen/HostLowering.h"
#include "compiler/Codegen/NvptxTarget.h"
#include "compiler/Codegen/Parallel.h"
#include "compiler/Codegen/Ptxas.h"
#include "dialects/Kernel/IR/SharedMemory.h"
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
#include "passes/Lowering/DeviceToEmulator/DeviceToEmulator.h"
#include "passes/Lowering/DeviceToNvvm/DeviceToNvvm.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;
using namespace mpc;

void mpc::registerNvptxDialects(DialectRegistry &registry) {
  registry.insert<arith::ArithDialect, cf::ControlFlowDialect, kernel::KernelDialect, LLVM::LLVMDialect, math::MathDialect, NVVM::NVVMDialect, scf::SCFDialect>();
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
}

static int numberOf(Operation &op, StringRef attribute, int otherwise) {
  auto number = op.getAttrOfType<IntegerAttr>(attribute);
  return number ? int(number.getInt()) : otherwise;
}

/// Lowers `module` in place and translates it. Returns null after an error, for which there is a diagnostic
/// or the text in `error`.
static std::unique_ptr<llvm::Module> lowerAndTranslate(ModuleOp module, const GpuArch &arch, llvm::LLVMContext &context, std::vector<NvptxKernel> &kernels, std::string &error) {
  for (Operation &op : module.getOps())
    if (isDeviceKernel(&op))
      kernels.push_back({.symbol = cast<LLVM::LLVMFuncOp>(op).getName().str(), .threads = numberOf(op, "kernel.threads", 0), .resident = numberOf(op, "kernel.resident", 0), .cluster = numberOf(op, "kernel.cluster", 1), .tensorMaps = op.getAttrOfType<ArrayAttr>("kernel.tensor_maps"), .report = {}, .instructions = {}, .sharedBytes = kernel::SharedMemory(&op).bytes});
  if (failed(lowerDeviceOps(module, arch)))
    return nullptr;
  for (NvptxKernel &kernel : kernels)
    kernel.dynamicSharedBytes = dynamicSharedBytes(module.lookupSymbol(kernel.symbol));
  lowerDeviceArithmetic(module);
  if (failed(convertToLLVMDialect(module)))
    return nullptr;
  std::unique_ptr<llvm::Module> ir = translateModuleToLLVMIR(module, context, "kernels");
  if (!ir)
    error = "internal error: kernels do not translate to LLVM IR";
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

static void compilePart(Part &part, const NvptxOptions &options) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> ir = lowerAndTranslate(*part.source, *options.arch, context, part.result.kernels, part.error);
  part.failed = true;
  if (!ir)
    return;
  std::unique_ptr<llvm::TargetMachine> machine = createNvptxMachine(*options.arch);
  optimizeForNvptx(*ir, *machine);
  part.result.ptx = emitPtx(*ir, *machine, part.error);
  if (!part.error.empty())
    return;
  llvm::StringMap<PtxInstructions> instructions = countPtxInstructions(part.result.ptx);
  for (NvptxKernel &kernel : part.result.kernels)
    kernel.instructions = instructions.lookup(kernel.symbol);
  if (!options.ptxas.empty() && options.arch->ptxasKnows) {
    PtxasResult assembled = runPtxas(options.ptxas, part.result.ptx, *options.arch);
    if (assembled.error.empty() && forgoOccupancy(part.result.ptx, assembled.reports))
      assembled = runPtxas(options.ptxas, part.result.ptx, *options.arch);
    part.error = assembled.error;
    if (!part.error.empty())
      return;
    part.result.cubin = std::move(assembled.cubin);
    for (NvptxKernel &kernel : part.result.kernels)
      kernel.report = assembled.reports.lookup(kernel.symbol);
  }
  part.failed = false;
}

FailureOr<std::vector<NvptxModule>> mpc::compileNvptx(ModuleOp kernels, const NvptxOptions &options) {
  std::vector<Part> parts;
  for (OwningOpRef<ModuleOp> &source : dealKernels(kernels, options.modules))
    parts.push_back({std::move(source), {}, {}});
  onThreads(kernels.getContext(), parts.size(), options.threads, [&](size_t i) { compilePart(parts[i], options); });

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

FailureOr<std::string> mpc::nvptxLLVMIR(ModuleOp kernels, const GpuArch &arch, bool optimized) {
  OwningOpRef<ModuleOp> copy(kernels.clone());
  llvm::LLVMContext context;
  std::vector<NvptxKernel> names;
  std::string error, text;
  std::unique_ptr<llvm::Module> ir = lowerAndTranslate(*copy, arch, context, names, error);
  if (!ir) {
    if (!error.empty())
      emitError(kernels.getLoc(), error);
    return failure();
  }
  std::unique_ptr<llvm::TargetMachine> machine = createNvptxMachine(arch);
  if (optimized)
    optimizeForNvptx(*ir, *machine);
  llvm::raw_string_ostream(text) << *ir;
  return text;
}
