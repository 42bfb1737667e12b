#include "dialects/Kernel/IR/Kernel.h"
#include "mlir/IR/Builders.h"
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

LogicalResult DispatchOp::verify() {
  Block &block = getBody().front();
  if (block.getArgumentTypes() != getInputs().getTypes())
    return emitOpError("block arguments differ from the inputs");
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield || yield.getOperandTypes() != getResultTypes())
    return emitOpError("results differ from what is yielded");
  return success();
}
