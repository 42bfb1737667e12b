//===- Kernel.h - the kernel dialect ------------------------------------------===//
#ifndef MPC_KERNEL_IR_KERNEL_H
#define MPC_KERNEL_IR_KERNEL_H
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Kernel/IR/Contraction.h"
#include "dialects/Kernel/Target/GpuArch.h"
#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"

#include "dialects/Kernel/IR/KernelDialect.h.inc"
#include "dialects/Kernel/IR/KernelEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Kernel/IR/KernelAttrs.h.inc"
#define GET_OP_CLASSES
#include "dialects/Kernel/IR/KernelOps.h.inc"

namespace mpc::kernel {
/// The GPU that the op's module is compiled for; null where it is the host.
const GpuArch *gpuOf(mlir::Operation *op);
} // namespace mpc::kernel
#endif
