//===- KernelDialect.cpp - the kernel dialect, and the attributes that other ops carry ----===//
#include "dialects/Kernel/IR/Kernel.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mpc::kernel;

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
    if (auto target = op->getAttrOfType<TargetAttr>(attributeName))
      return target;
  return {};
}

const mpc::GpuArch *mpc::kernel::gpuOf(Operation *op) {
  TargetAttr target = TargetAttr::of(op);
  return target ? target.getGpu() : nullptr;
}

//===-- How kernels are launched -----------------------------------------------------------===//

LogicalResult LaunchAttr::verify(function_ref<InFlightDiagnostic()> emitError, SymbolRefAttr, ArrayRef<int64_t> grid, int64_t grain, ArrayRef<int64_t> args) {
  if (grid.empty() || grid.size() > 3 || llvm::any_of(grid, [](int64_t extent) { return extent < 0; }))
    return emitError() << "the grid has one to three extents, none of them negative";
  if (grain < 1 || llvm::any_of(args, [](int64_t position) { return position < -1; }))
    return emitError() << "grain is at least 1, and args are positions or -1";
  return success();
}

/// Verifies that the attribute is an i32 within these bounds.
static LogicalResult verifyNumber(Operation *op, NamedAttribute attribute, int64_t least, int64_t most, int64_t step = 1) {
  auto number = dyn_cast<IntegerAttr>(attribute.getValue());
  if (number && number.getType().isInteger(32) && number.getInt() >= least && number.getInt() <= most && number.getInt() % step == 0)
    return success();
  InFlightDiagnostic error = op->emitOpError() << attribute.getName().strref() << " is an i32 from " << least << " to " << most;
  if (step > 1)
    error << ", a multiple of " << step;
  return error << ", not " << attribute.getValue();
}

static LogicalResult verifyTensorMaps(LLVM::LLVMFuncOp kernel, NamedAttribute attribute) {
  auto maps = dyn_cast<ArrayAttr>(attribute.getValue());
  if (!maps)
    return kernel->emitOpError() << attribute.getName().strref() << " is an array of #kernel.tensor_map";
  for (Attribute element : maps) {
    auto map = dyn_cast<TensorMapAttr>(element);
    if (!map)
      return kernel->emitOpError() << attribute.getName().strref() << " has #kernel.tensor_map, not " << element;
    if (map.getParameter() >= kernel.getNumArguments())
      return kernel->emitOpError() << "a tensor map names parameter " << map.getParameter() << " of " << kernel.getNumArguments();
  }
  return success();
}

LogicalResult KernelDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  StringRef name = attribute.getName().strref();
  if (name == TargetAttr::attributeName) {
    if (!isa<ModuleOp>(op) || !isa<TargetAttr>(attribute.getValue()))
      return op->emitOpError() << name << " is a #kernel.target of a module";
    return success();
  }
  // A block has at most 1024 threads, a multiprocessor at most 32 blocks, and a cluster at most 16 blocks on
  // any GPU.
  if (name == "kernel.threads")
    return verifyNumber(op, attribute, 32, 1024, 32);
  if (name == "kernel.resident" || name == "kernel.min_blocks")
    return verifyNumber(op, attribute, 1, 32);
  if (name == "kernel.cluster")
    return verifyNumber(op, attribute, 1, 16);
  if (name == "kernel.tensor_maps") {
    if (auto kernel = dyn_cast<LLVM::LLVMFuncOp>(op))
      return verifyTensorMaps(kernel, attribute);
    return op->emitOpError() << name << " stands on a kernel, which is an llvm.func";
  }
  return success();
}
