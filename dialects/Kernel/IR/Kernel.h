//===- Kernel.h - the kernel dialect ------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_KERNEL_IR_KERNEL_H
#define MPC_KERNEL_IR_KERNEL_H
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Interfaces/Contraction.h"
#include "dialects/Kernel/IR/Contraction.h"
#include "dialects/Kernel/IR/Loop.h"
#include "dialects/Kernel/Target/Blocks.h"
#include "dialects/Kernel/Target/GpuArch.h"
#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"

namespace mpc::kernel {
/// The memory of a program, in which the memory plan gives every tensor its place.
struct ArenaResource : mlir::SideEffects::Resource::Base<ArenaResource> {
  llvm::StringRef getName() final { return "Arena"; }
};
} // namespace mpc::kernel

#include "dialects/Kernel/IR/KernelDialect.h.inc"
#include "dialects/Kernel/IR/KernelEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Kernel/IR/KernelAttrs.h.inc"
#define GET_OP_CLASSES
#include "dialects/Kernel/IR/KernelOps.h.inc"

namespace mpc::kernel {
/// The GPU that the op's module is compiled for; null where it is the host.
const GpuArch *gpuOf(mlir::Operation *op);
/// The GPU that a module of kernels is compiled for; null after a located error where it is for none.
const GpuArch *requireGpu(mlir::ModuleOp kernels);
/// The modules of kernels in a module, in their order. These are the nested modules that have a target of their own.
llvm::SmallVector<mlir::ModuleOp> kernelModules(mlir::ModuleOp module);

/// Whether the op is a GPU kernel (DeviceOps.td).
inline bool isDeviceKernel(mlir::Operation *op) { return bool(EntryAttr::of(op)); }
/// The attribute that has the bytes of dynamic shared memory that a launch of a lowered kernel must ask for: an i64.
/// Kernels without it need none.
inline constexpr llvm::StringLiteral kDynamicSharedAttr = "kernel.dynamic_shared";

/// The attribute that has the offset of a tensor in the arena, in bytes: an i64 on variables, constants,
/// train.all_reduce, and arguments and results of entries.
inline constexpr llvm::StringLiteral kOffsetAttr = "kernel.offset";

/// Returns the memory plan of a module. Fails with a located error where it has none, or where a variable, an argument,
/// a result or a dispatch has no place: whoever has the plan may read the places without asking again.
mlir::FailureOr<PlanAttr> verifyPlanned(mlir::ModuleOp module);

/// Fails with a located error where the memory of the module is planned. Passes that move or make
/// dispatches call it first.
mlir::LogicalResult verifyNotPlanned(mlir::ModuleOp module, llvm::StringRef pass);
} // namespace mpc::kernel
#endif
