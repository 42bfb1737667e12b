//===- Accesses.cpp - loads, stores and atomics behind a check ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Before:  %v = llvm.load %p : !llvm.ptr<1> -> f32
// After:   %m = llvm.call @mpc_emu_global(%thread, %p, %bytes, %access, %site)
//          %v = llvm.load %m : !llvm.ptr -> f32
//
//===----------------------------------------------------------------------===//
#include "dialects/Support/Diagnostics.h"
#include "passes/Lowering/DeviceToEmulator/Rewriter.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::emulator;

/// The address space of a pointer to device memory; 0 for all other types.
static unsigned spaceOf(Type type) {
  auto pointer = dyn_cast<LLVM::LLVMPointerType>(type);
  unsigned space = pointer ? pointer.getAddressSpace() : 0;
  return space == kGlobalSpace || space == kSharedSpace ? space : 0;
}

/// Whether the address lies in a constant table of the module. Such a table is no buffer of a dispatch, so
/// there is nothing to check the address against.
static bool isInTable(Value address) {
  while (auto element = address.getDefiningOp<LLVM::GEPOp>())
    address = element.getBase();
  return isa_and_present<LLVM::AddressOfOp>(address.getDefiningOp());
}

LogicalResult KernelRewriter::verify(Operation *op) {
  if (isa<kernel::KernelDialect>(op->getDialect()))
    return success();
  if (isa<LLVM::InlineAsmOp>(op) || isa<NVVM::NVVMDialect>(op->getDialect()))
    return emitErrorWithHint(op->getLoc(), "'" + op->getName().getStringRef() + "' has no emulated form",
                             "say it with an op of dialects/Kernel/IR/DeviceOps.td");
  bool touches = llvm::any_of(op->getOperandTypes(), spaceOf);
  if (isa<LLVM::AddrSpaceCastOp>(op) && (touches || llvm::any_of(op->getResultTypes(), spaceOf)))
    return emitErrorWithHint(op->getLoc(), "generic pointers are not emulated",
                             "keep the address space of the pointer");
  // Allowed are arithmetic on addresses, control flow that carries them, and the accesses that rewriteAccess knows.
  bool known = !touches || isa<LLVM::LoadOp, LLVM::StoreOp, LLVM::AtomicRMWOp, LLVM::AtomicCmpXchgOp>(op) ||
               isMemoryEffectFree(op) || op->hasTrait<OpTrait::IsTerminator>() ||
               isa<LoopLikeOpInterface, RegionBranchOpInterface>(op);
  if (!known)
    return emitErrorWithHint(op->getLoc(),
                             "'" + op->getName().getStringRef() + "' on device memory has no emulated form",
                             "use loads, stores, atomics, or an op of dialects/Kernel/IR/DeviceOps.td");
  return success();
}

void KernelRewriter::check(Operation *op, OpOperand &address, Type type, std::optional<uint64_t> alignment,
                           unsigned kind) {
  unsigned space = spaceOf(address.get().getType());
  if (!space || (space == kGlobalSpace && isInTable(address.get())))
    return;
  DataLayout layout = DataLayout::closest(op);
  uint64_t bytes = layout.getTypeSize(type).getFixedValue();
  uint64_t align = alignment && *alignment ? *alignment : layout.getTypeABIAlignment(type);
  if (space == kSharedSpace)
    shareGranule(std::min(align, bytes & -bytes));
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  Value memory = call(space == kGlobalSpace ? "global" : "shared", pointer,
                      {address.get(), i32(bytes), i32(llvm::Log2_64(align) | kind << 8), site(op)});
  address.set(memory);
  ++numAccesses;
}

LogicalResult KernelRewriter::rewriteAccess(Operation *op) {
  if (auto load = dyn_cast<LLVM::LoadOp>(op))
    check(op, load.getAddrMutable(), load.getType(), load.getAlignment(), Read);
  else if (auto store = dyn_cast<LLVM::StoreOp>(op))
    check(op, store.getAddrMutable(), store.getValue().getType(), store.getAlignment(), Write);
  else if (auto rmw = dyn_cast<LLVM::AtomicRMWOp>(op))
    check(op, rmw.getPtrMutable(), rmw.getVal().getType(), rmw.getAlignment(), Atomic);
  else if (auto exchange = dyn_cast<LLVM::AtomicCmpXchgOp>(op))
    check(op, exchange.getPtrMutable(), exchange.getVal().getType(), exchange.getAlignment(), Atomic);
  return success();
}
