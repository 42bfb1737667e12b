//===- DeviceToNvvm.cpp - device ops to PTX's dialect ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Before:  llvm.func @k(%x: !llvm.ptr<1>) attributes {kernel.entry = #kernel.entry<threads = 128>} {
//            %t = kernel.thread_id ...
//          }
// After:   llvm.func @k(%x: !llvm.ptr<1>) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128>} {
//            %t = nvvm.read.ptx.sreg.tid.x range <i32, 0, 128> : i32 ...
//          }
//
// Each device op becomes one op, since it already says what is to be done. scf, arith and math, and conversions
// of 8-bit floats that the architecture has no instructions for, are left to compiler/Codegen.
//
//===----------------------------------------------------------------------===//
#include "passes/Lowering/DeviceToNvvm/DeviceToNvvm.h"
#include "dialects/Support/Diagnostics.h"
#include "passes/Lowering/DeviceToNvvm/KernelLowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::kernel;

void KernelLowering::require(Operation *op, bool GpuArch::*instruction) {
  if (arch.*instruction)
    return;
  (void)emitErrorWithHint(op->getLoc(),
                          llvm::Twine("'") + op->getName().getStringRef() + "' op is an instruction of " +
                              gpuArchNamesWith(instruction) + ", and this kernel is for " + arch.name,
                          "emitters ask the architecture's row in dialects/Kernel/Target first");
  failed = true;
}

Value KernelLowering::lower(ImplicitLocOpBuilder &b, ThreadIdOp op) {
  // LLVM itself would take the range from reqntid only in the back end, after the optimiser has widened
  // numbers that it could have kept narrow.
  return NVVM::ThreadIdXOp::create(b, b.getI32Type(),
                                   LLVM::ConstantRangeAttr::get(b.getContext(), 32, 0, entry.getThreads()));
}

Value KernelLowering::lower(ImplicitLocOpBuilder &b, BlockIdOp op) {
  // Grid limits: 2^31 - 1 blocks along x, 65535 along the others.
  auto range = LLVM::ConstantRangeAttr::get(b.getContext(), 32, 0, op.getAxis() == Axis::X ? 0x7fffffff : 65535);
  switch (op.getAxis()) {
  case Axis::X:
    return NVVM::BlockIdXOp::create(b, b.getI32Type(), range);
  case Axis::Y:
    return NVVM::BlockIdYOp::create(b, b.getI32Type(), range);
  case Axis::Z:
    return NVVM::BlockIdZOp::create(b, b.getI32Type(), range);
  }
  llvm_unreachable("three axes");
}

Value KernelLowering::lower(ImplicitLocOpBuilder &b, GridSizeOp op) {
  return NVVM::GridDimXOp::create(b, b.getI32Type(), LLVM::ConstantRangeAttr::get(b.getContext(), 32, 1, 0x7fffffff));
}

Value KernelLowering::lower(ImplicitLocOpBuilder &b, ShuffleOp op) {
  NVVM::ShflKind kinds[] = {NVVM::ShflKind::bfly, NVVM::ShflKind::down, NVVM::ShflKind::up, NVVM::ShflKind::idx};
  // The clamp is the last lane that may be read, or for `up` the first one (PTX ISA 9.7.9.6, "c").
  Value clamp = i32(b, op.getMode() == ShuffleMode::Up ? 0 : 31);
  return NVVM::ShflOp::create(b, op.getType(), allLanes(b), op.getValue(), op.getOffset(), clamp,
                              kinds[int(op.getMode())], UnitAttr());
}

Value KernelLowering::lower(ImplicitLocOpBuilder &b, VoteOp op) {
  auto kind = op.getMode() == VoteMode::Any ? NVVM::VoteSyncKind::any : NVVM::VoteSyncKind::all;
  return NVVM::VoteSyncOp::create(b, b.getI1Type(), allLanes(b), op.getPredicate(), kind);
}

Value KernelLowering::lower(ImplicitLocOpBuilder &b, ApproxOp op) {
  StringRef names[] = {"llvm.nvvm.ex2.approx.ftz", "llvm.nvvm.lg2.approx.ftz.f", "llvm.nvvm.rcp.approx.ftz.f",
                       "llvm.nvvm.rsqrt.approx.ftz.f"};
  return LLVM::CallIntrinsicOp::create(b, b.getF32Type(), b.getStringAttr(names[int(op.getFunction())]),
                                       ValueRange{op.getX()})
      .getResult(0);
}

Value KernelLowering::lower(ImplicitLocOpBuilder &b, RoundBF16Op op) {
  // The instruction gives the same NaN for all; LLVM would fold the conversion to one that keeps bits of its operand.
  if (APFloat x(0.0f); matchPattern(op.getX(), m_ConstantFloat(&x)) && x.isNaN()) {
    APFloat notANumber(APFloat::IEEEsingle(), APInt(32, 0x7fff0000));
    return LLVM::ConstantOp::create(b, b.getF32Type(), b.getFloatAttr(b.getF32Type(), notANumber));
  }
  // An op that narrows the number again rounds it by itself, and LLVM may make one instruction of two of them.
  for (Operation *user : llvm::make_early_inc_range(op->getUsers()))
    if (isa<arith::TruncFOp>(user) && user->getResult(0).getType().isBF16())
      user->setOperand(0, op.getX());
  // LLVM makes one instruction of two neighbours that are stored together.
  Value narrow = LLVM::FPTruncOp::create(b, b.getBF16Type(), op.getX());
  Value code = LLVM::ZExtOp::create(b, b.getI32Type(), LLVM::BitcastOp::create(b, b.getI16Type(), narrow));
  return LLVM::BitcastOp::create(b, b.getF32Type(), LLVM::ShlOp::create(b, code, i32(b, 16)));
}

void KernelLowering::lower(ImplicitLocOpBuilder &b, BarrierOp op) {
  if (op.getId() == 0 && !op.getThreads()) {
    NVVM::BarrierOp::create(b);
    return;
  }
  Value count = op.getThreads() ? i32(b, *op.getThreads()) : Value();
  NVVM::BarrierOp::create(b, TypeRange{}, i32(b, op.getId()), count, NVVM::BarrierReductionAttr(), Value());
}

void KernelLowering::lower(ImplicitLocOpBuilder &b, CopyAsyncOp op) {
  require(op, &GpuArch::hasCopyAsync);
  // Copies that bypass L1 (.cg) exist for 16 bytes only.
  auto cache = op.getBytes() == 16 ? NVVM::LoadCacheModifierKind::CG : NVVM::LoadCacheModifierKind::CA;
  NVVM::CpAsyncOp::create(b, op.getTo(), op.getFrom(), b.getI32IntegerAttr(op.getBytes()),
                          NVVM::LoadCacheModifierKindAttr::get(b.getContext(), cache), op.getValid());
}

void KernelLowering::lower(ImplicitLocOpBuilder &b, LoadMatrixOp op) {
  require(op, &GpuArch::hasLoadMatrix);
  size_t count = op.getRegisters().size();
  Type i32 = b.getI32Type();
  Type type = count == 1 ? i32 : LLVM::LLVMStructType::getLiteral(b.getContext(), llvm::SmallVector<Type>(count, i32));
  auto layout = op.getTranspose() ? NVVM::MMALayout::col : NVVM::MMALayout::row;
  Value all =
      NVVM::LdMatrixOp::create(b, type, op.getRow(), count, layout,
                               NVVM::LdStMatrixShapeAttr::get(b.getContext(), 8, 8), NVVM::LdStMatrixEltType::B16);
  for (auto [i, result] : llvm::enumerate(op.getRegisters()))
    result.replaceAllUsesWith(count == 1 ? all : Value(LLVM::ExtractValueOp::create(b, all, i)));
}

void KernelLowering::lower(ImplicitLocOpBuilder &b, MmaOp op) {
  bool smallest = op.getElement() == MmaType::F16 && op.getK() == 8;
  require(op, smallest ? &GpuArch::hasMmaF16K8 : &GpuArch::hasMmaK16);
  llvm::SmallVector<Value> a(op.getA()), bFragment(op.getB()), c(op.getC());
  NVVM::MMATypes type = NVVM::MMATypes::f16;
  if (op.getElement() == MmaType::F16) {
    Type pair = VectorType::get(2, b.getF16Type());
    for (auto *fragment : {&a, &bFragment})
      for (Value &v : *fragment)
        v = LLVM::BitcastOp::create(b, pair, v);
  } else {
    type = op.getElement() == MmaType::BF16 ? NVVM::MMATypes::bf16 : NVVM::MMATypes::tf32;
  }
  Type f32 = b.getF32Type();
  Type result = LLVM::LLVMStructType::getLiteral(b.getContext(), {f32, f32, f32, f32});
  Value d = NVVM::MmaOp::create(b, result, a, bFragment, c, ArrayRef<int64_t>{16, 8, op.getK()}, std::nullopt,
                                std::nullopt, std::array<NVVM::MMATypes, 2>{type, type},
                                std::array<NVVM::MMALayout, 2>{NVVM::MMALayout::row, NVVM::MMALayout::col});
  for (auto [i, value] : llvm::enumerate(op->getResults()))
    value.replaceAllUsesWith(LLVM::ExtractValueOp::create(b, d, i));
}

static LLVM::GlobalOp createShared(OpBuilder &b, Location loc, Twine name, int64_t bytes, int64_t alignment,
                                   bool dynamic) {
  auto type = LLVM::LLVMArrayType::get(b.getI8Type(), dynamic ? 0 : bytes);
  auto linkage = dynamic ? LLVM::Linkage::External : LLVM::Linkage::Internal;
  auto global = LLVM::GlobalOp::create(b, loc, type, /*isConstant=*/false, linkage, name.str(), Attribute(), alignment,
                                       /*addrSpace=*/3);
  if (!dynamic) { // shared memory has no initial value, but LLVM requires one
    OpBuilder body(b.getContext());
    body.createBlock(&global.getInitializer());
    LLVM::ReturnOp::create(body, loc, LLVM::UndefOp::create(body, loc, type).getResult());
  }
  return global;
}

/// Decides between static and dynamic shared memory.
bool KernelLowering::lowerShared() {
  SharedMemory all(function);
  if (all.bytes > arch.sharedBytesPerBlock) {
    (void)emitErrorWithHint(function.getLoc(),
                            llvm::Twine("kernel '") + function.getName() + "' needs " + llvm::Twine(all.bytes) +
                                " bytes of shared memory, a block of " + arch.name + " has " +
                                llvm::Twine(arch.sharedBytesPerBlock),
                            "take smaller tiles or fewer stages");
    return false;
  }
  if (all.bytes <= staticSharedBytes)
    return true;
  OpBuilder b(function);
  dynamicShared = createShared(b, function.getLoc(), function.getName() + "_shared", 0,
                               std::max(all.alignment, sharedAlignment), /*dynamic=*/true);
  function->setAttr(kDynamicSharedAttr, b.getI64IntegerAttr(all.bytes));
  return true;
}

Value KernelLowering::lower(ImplicitLocOpBuilder &b, SharedOp op) {
  if (dynamicShared) {
    Value base = LLVM::AddressOfOp::create(b, cast<LLVM::GlobalOp>(dynamicShared));
    Value piece =
        LLVM::GEPOp::create(b, op.getType(), b.getI8Type(), base, ArrayRef<LLVM::GEPArg>{int32_t(placed.add(op))},
                            LLVM::GEPNoWrapFlags::inbounds | LLVM::GEPNoWrapFlags::nuw);
    return piece;
  }
  OpBuilder outside(function);
  auto global = createShared(outside, op.getLoc(), function.getName() + "_shared" + Twine(sharedPieces++),
                             op.getBytes(), op.getAlignment(), /*dynamic=*/false);
  return LLVM::AddressOfOp::create(b, global);
}

void KernelLowering::lower(Operation *operation) {
  ImplicitLocOpBuilder b(operation->getLoc(), operation);
  bool known = true;
  if (lowerHopper(operation))
    return;
  Value result = llvm::TypeSwitch<Operation *, Value>(operation)
                     .Case<ThreadIdOp, BlockIdOp, GridSizeOp, ShuffleOp, VoteOp, ApproxOp, SharedOp, RoundBF16Op>(
                         [&](auto op) { return lower(b, op); })
                     .Case<BarrierOp, CopyAsyncOp, LoadMatrixOp, MmaOp>([&](auto op) { return lower(b, op), Value(); })
                     .Case([&](WarpSyncOp) { return NVVM::SyncWarpOp::create(b, allLanes(b)), Value(); })
                     .Case([&](CopyAsyncCommitOp op) {
                       require(op, &GpuArch::hasCopyAsync);
                       return NVVM::CpAsyncCommitGroupOp::create(b), Value();
                     })
                     .Case([&](CopyAsyncWaitOp op) {
                       require(op, &GpuArch::hasCopyAsync);
                       return NVVM::CpAsyncWaitGroupOp::create(b, op.getPending()), Value();
                     })
                     .Default([&](Operation *) { return known = false, Value(); });
  if (!known) {
    if (isa_and_nonnull<KernelDialect>(operation->getDialect())) {
      (void)emitErrorWithHint(operation->getLoc(),
                              llvm::Twine("'") + operation->getName().getStringRef() + "' op has no PTX form",
                              "give it one in passes/Lowering/DeviceToNvvm");
      failed = true;
    }
    return;
  }
  if (result)
    operation->getResult(0).replaceAllUsesWith(result);
  operation->erase();
}

LogicalResult mpc::lowerDeviceOps(ModuleOp module) {
  const GpuArch *arch = requireGpu(module);
  bool ok = arch;
  for (auto function : llvm::make_early_inc_range(module.getOps<LLVM::LLVMFuncOp>())) {
    EntryAttr entry = EntryAttr::of(function);
    if (!entry || !arch)
      continue;
    if (function.isExternal() || !isa<LLVM::LLVMVoidType>(function.getFunctionType().getReturnType())) {
      function.emitOpError("is not a kernel: it has no body, or returns a value");
      ok = false;
      continue;
    }
    OpBuilder b(function);
    KernelLowering lowering{function, module, *arch, entry};
    if (!lowering.lowerShared()) {
      ok = false;
      continue;
    }
    lowering.addTensorMaps();
    lowering.lowerFloat8();
    // Conversions without an instruction become arithmetic later (MathApprox).
    llvm::SmallVector<Operation *> ops;
    function.walk([&](Operation *op) {
      bool expands = isa<EncodeFloat8Op, DecodeFloat8Op>(op) || (isa<RoundBF16Op>(op) && !arch->hasBF16Conversion);
      if (op != function && !expands)
        ops.push_back(op);
    });
    for (Operation *op : ops)
      lowering.lower(op);
    ok &= !lowering.failed;
    function->removeAttr(EntryAttr::name);
    function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), b.getUnitAttr());
    // The number is exact, not only a bound: a launch of another shape is refused instead of computing
    // something else.
    function->setAttr(NVVM::NVVMDialect::getReqntidAttrName(), b.getDenseI32ArrayAttr({int32_t(entry.getThreads())}));
    if (entry.getCluster() > 1)
      function->setAttr(NVVM::NVVMDialect::getClusterDimAttrName(),
                        b.getDenseI32ArrayAttr({int32_t(entry.getCluster()), 1, 1}));
    if (entry.getMinBlocks() > 0)
      function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(), b.getI32IntegerAttr(int32_t(entry.getMinBlocks())));
  }
  return success(ok);
}

int64_t mpc::dynamicSharedBytes(Operation *kernel) {
  auto bytes = kernel->getAttrOfType<IntegerAttr>(kDynamicSharedAttr);
  return bytes ? bytes.getInt() : 0;
}
