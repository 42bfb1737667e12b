//===- KernelDialect.cpp - the kernel dialect and its attributes --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Kernel/IR/Kernel.h"
#include "dialects/Kernel/Target/Blocks.h"
#include "dialects/Support/Diagnostics.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mpc::kernel;

static FailureOr<SmallVector<TensorMapAttr>> parseTensorMaps(AsmParser &parser) {
  SmallVector<TensorMapAttr> maps;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                     [&] { return parser.parseAttribute(maps.emplace_back()); }))
    return failure();
  return maps;
}
static void printTensorMaps(AsmPrinter &printer, ArrayRef<TensorMapAttr> maps) {
  printer << '[';
  llvm::interleaveComma(maps, printer);
  printer << ']';
}

/// Parses the word before the name of a dispatch.
static ParseResult parseForm(OpAsmParser &parser, FormAttr &form) {
  SMLoc place = parser.getCurrentLocation();
  StringRef word;
  std::optional<Form> known;
  if (succeeded(parser.parseOptionalKeyword(&word)))
    known = symbolizeForm(word);
  if (!known) {
    SmallVector<StringRef> names;
    for (uint32_t i = 0; i <= getMaxEnumValForForm(); ++i)
      names.push_back(stringifyForm(Form(i)));
    return parser.emitError(place, "a dispatch states its form before its name, one of ") << llvm::join(names, ", ");
  }
  form = FormAttr::get(parser.getContext(), *known);
  return success();
}

static void printForm(OpAsmPrinter &printer, DispatchOp, FormAttr form) { printer << stringifyForm(form.getValue()); }

#include "dialects/Kernel/IR/KernelDialect.cpp.inc"
#include "dialects/Kernel/IR/KernelEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Kernel/IR/KernelAttrs.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/Kernel/IR/KernelOps.cpp.inc"

void KernelDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Kernel/IR/KernelAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Kernel/IR/KernelOps.cpp.inc"
      >();
}

//===-- What a module is compiled for ------------------------------------------------------===//

LogicalResult TargetAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringRef name) {
  if (name == "host" || findGpuArch(name))
    return success();
  return emitError() << "unknown target '" << name << "'; known are host, " << gpuArchNames();
}

TargetAttr TargetAttr::of(Operation *op) {
  for (; op; op = op->getParentOp())
    if (auto target = op->getAttrOfType<TargetAttr>(TargetAttr::name))
      return target;
  return {};
}

const mpc::GpuArch *mpc::kernel::gpuOf(Operation *op) {
  TargetAttr target = TargetAttr::of(op);
  return target ? target.getGpu() : nullptr;
}

const mpc::GpuArch *mpc::kernel::requireGpu(ModuleOp kernels) {
  const GpuArch *gpu = gpuOf(kernels);
  if (!gpu)
    (void)emitErrorWithHint(kernels.getLoc(),
                            "these kernels are for no GPU: their module has no " + TargetAttr::name +
                                ", or that of the host",
                            "set one first, as mpc-set-target=name=sm_80 does");
  return gpu;
}

SmallVector<ModuleOp> mpc::kernel::kernelModules(ModuleOp module) {
  return llvm::filter_to_vector(module.getOps<ModuleOp>(),
                                [](ModuleOp nested) { return nested->hasAttr(TargetAttr::name); });
}

//===-- How kernels are launched -----------------------------------------------------------===//

LogicalResult LaunchAttr::verify(function_ref<InFlightDiagnostic()> emitError, SymbolRefAttr, ArrayRef<int64_t> grid,
                                 int64_t grain, ArrayRef<int64_t> args) {
  if (grid.empty() || grid.size() > 3 || llvm::any_of(grid, [](int64_t extent) { return extent < 0; }))
    return emitError() << "the grid has one to three extents, none of them negative";
  if (grain < 1 || llvm::any_of(args, [](int64_t position) { return position < -1; }))
    return emitError() << "grain is at least 1, and args are positions or -1";
  return success();
}

LaunchAttr LaunchAttr::of(Operation *kernel, int64_t blocks, int64_t grain, ArrayRef<int64_t> args) {
  MLIRContext *context = kernel->getContext();
  auto symbol = FlatSymbolRefAttr::get(SymbolTable::getSymbolName(kernel));
  StringAttr module = cast<ModuleOp>(kernel->getParentOp()).getSymNameAttr();
  return get(context, module ? SymbolRefAttr::get(module, symbol) : SymbolRefAttr(symbol), {blocks, 1, 1}, grain, args);
}

// A multiprocessor has at most 32 blocks, and a cluster at most 16 blocks, on any GPU.
LogicalResult EntryAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t threads, int64_t resident,
                                int64_t cluster, int64_t minBlocks, ArrayRef<TensorMapAttr>) {
  if (!isBlockSize(threads))
    return emitError() << "a block has " << blockSizes() << ", not " << threads;
  for (auto [name, blocks] : {std::pair("resident", resident), std::pair("min_blocks", minBlocks)})
    if (blocks < 0 || blocks > 32)
      return emitError() << name << " is a number of blocks on a multiprocessor, at most 32, not " << blocks;
  if (cluster < 1 || cluster > 16)
    return emitError() << "a cluster has 1 to 16 blocks, not " << cluster;
  return success();
}
