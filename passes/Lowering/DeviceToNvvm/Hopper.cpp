//===- Hopper.cpp - PTX of sm_90a's asynchronous units --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An op becomes an nvvm op where LLVM has an intrinsic, else the text of the instruction (PTX ISA 8.0).
//
// wgmma's sums are registers that the tensor cores write while the threads go on. LLVM does not know that: it
// takes a wgmma for complete when it is issued. So behind wgmma_wait the sums pass through an empty
// instruction that "changes" them, and no use can move before it.
//
//===----------------------------------------------------------------------===//
#include "dialects/Support/Diagnostics.h"
#include "passes/Lowering/DeviceToNvvm/KernelLowering.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::kernel;

/// An instruction as text, in which $0, $1, ... are its results, then its operands.
static Value assembly(ImplicitLocOpBuilder &b, Type result, ValueRange operands, const Twine &text,
                      const Twine &constraints) {
  auto op = LLVM::InlineAsmOp::create(
      b, result ? TypeRange(result) : TypeRange(), operands, text.str(), constraints.str(), /*has_side_effects=*/true,
      /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
  return result ? op.getResult(0) : Value();
}

/// An address of shared memory has 32 bits.
static Value addressOf(ImplicitLocOpBuilder &b, Value shared) {
  return LLVM::PtrToIntOp::create(b, b.getI32Type(), shared);
}

/// Constraints: "=f,=f,..." for results, and "0,1,..." for operands in the registers of results; "$0,$1,..."
/// names registers in the text.
static std::string results(size_t count, StringRef constraint = "=f") {
  SmallVector<StringRef> each(count, constraint);
  return llvm::join(each, ",");
}
static std::string numbers(size_t count, StringRef before) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::interleave(llvm::seq(count), stream, [&](size_t i) { stream << before << i; }, ",");
  return text;
}

//===-- Tensor maps ---------------------------------------------------------------===//

void KernelLowering::addTensorMaps() {
  size_t maps = entry.getMaps().size();
  if (maps == 0)
    return;
  OpBuilder b(function);
  firstTensorMap = function.getNumArguments();
  // A grid constant is read from where it lies among the parameters, since the accelerator needs an address.
  // A CUtensorMap has 128 bytes, aligned to 64.
  DictionaryAttr about =
      b.getDictionaryAttr({b.getNamedAttr(LLVM::LLVMDialect::getByValAttrName(),
                                          TypeAttr::get(LLVM::LLVMArrayType::get(b.getI8Type(), 128))),
                           b.getNamedAttr(LLVM::LLVMDialect::getAlignAttrName(), b.getI64IntegerAttr(64)),
                           b.getNamedAttr(NVVM::NVVMDialect::getGridConstantAttrName(), b.getUnitAttr())});
  LLVM::LLVMFunctionType type = function.getFunctionType();
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  SmallVector<Type> parameters(type.getParams());
  SmallVector<DictionaryAttr> attributes;
  for (unsigned i = 0; i < firstTensorMap; ++i)
    attributes.push_back(function.getArgAttrDict(i));
  parameters.append(maps, pointer);
  attributes.append(maps, about);
  for (size_t i = 0; i < maps; ++i)
    function.getBody().addArgument(pointer, function.getLoc());
  function.setFunctionType(LLVM::LLVMFunctionType::get(type.getReturnType(), parameters));
  function.setAllArgAttrs(attributes);
}

static void lowerOp(ImplicitLocOpBuilder &b, TensorLoadOp op, Value map) {
  Value to = LLVM::AddrSpaceCastOp::create(
      b, LLVM::LLVMPointerType::get(b.getContext(), unsigned(NVVM::NVVMMemorySpace::SharedCluster)), op.getTo());
  auto mode = op.getOffsets().empty() ? NVVM::TMALoadMode::TILE : NVVM::TMALoadMode::IM2COL;
  NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(
      b, to, map, op.getCoordinates(), op.getBarrier(), op.getOffsets(), op.getBlocks(),
      /*l2CacheHint=*/Value(), mode,
      /*isCTAOnly=*/false, NVVM::CTAGroupKindAttr(), /*predicate=*/Value());
}

static void lowerOp(ImplicitLocOpBuilder &b, TensorStoreOp op, Value map) {
  NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp::create(b, map, op.getFrom(), op.getCoordinates(),
                                                     /*l2CacheHint=*/Value(), NVVM::TMAStoreMode::TILE,
                                                     /*predicate=*/Value());
}

//===-- Barriers -------------------------------------------------------------------===//

static void lowerOp(ImplicitLocOpBuilder &b, MbarrierArriveOp op) {
  if (!op.getBlock()) {
    assembly(b, {}, addressOf(b, op.getBarrier()), "mbarrier.arrive.release.cta.shared::cta.b64 _, [$0];",
             "r,~{memory}");
    return;
  }
  // The release has block scope only: cluster scope would cost a fence of all memory, and the other block
  // only waits until wgmma has read.
  assembly(b, {}, {addressOf(b, op.getBarrier()), op.getBlock()},
           "{\n.reg .b32 remote;\nmapa.shared::cluster.u32 remote, $0, "
           "$1;\nmbarrier.arrive.release.cta.shared::cluster.b64 _, [remote];\n}",
           "r,r,~{memory}");
}

static void lowerOp(ImplicitLocOpBuilder &b, MbarrierWaitOp op) {
  // try_wait suspends the thread for a time that the hardware chooses.
  assembly(b, {}, {addressOf(b, op.getBarrier()), op.getParity()},
           "{\n.reg .pred done;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 done, [$0], $1;\n@!done "
           "bra again;\n}",
           "r,r,~{memory}");
}

//===-- wgmma ------------------------------------------------------------------------===//

/// The 64-bit matrix descriptor (PTX ISA, "Matrix Descriptor Format"). In units of 16 bytes it has the
/// address in bits 0 to 13, leading from bit 16 and stride from bit 32; the swizzle is in bits 62 and 63,
/// where 1 is 128 bytes, 2 is 64 and 3 is 32. Only the address is computed at run time, once for all offsets.
static Value descriptor(ImplicitLocOpBuilder &b, KernelLowering &lowering, Value pointer, int64_t offset,
                        MatrixLayoutAttr layout) {
  constexpr int64_t modes[] = {0, 3, 2, 1}; // indexed by Swizzle
  auto field = [](int64_t bytes) { return (bytes >> 4) & 0x3fff; };
  Value mask = lowering.i32(b, 0x3fff), shift = lowering.i32(b, 4);
  Value units = LLVM::AndOp::create(b, LLVM::LShrOp::create(b, addressOf(b, pointer), shift), mask);
  // No address of a block's shared memory reaches bit 18, so the sum stays in its field.
  Value low = LLVM::AddOp::create(b, units, lowering.i32(b, field(offset) | field(layout.getLeading()) << 16),
                                  LLVM::IntegerOverflowFlags::nuw);
  int64_t high = field(layout.getStride()) | modes[int(layout.getSwizzle())] << 30;
  Value upper = lowering.i64(b, high << 32);
  return LLVM::OrOp::create(b, LLVM::ZExtOp::create(b, b.getI64Type(), low), upper);
}

static void lowerOp(ImplicitLocOpBuilder &b, KernelLowering &lowering, WgmmaOp op) {
  size_t sums = op.getD().size();
  bool add = !op.getC().empty();
  SmallVector<Value> operands(op.getC());
  if (op.getA())
    operands.push_back(descriptor(b, lowering, op.getA(), *op.getAOffset(), *op.getALayout()));
  llvm::append_range(operands, op.getARegisters());
  operands.push_back(descriptor(b, lowering, op.getB(), op.getBOffset(), op.getBLayout()));
  std::string registers = numbers(sums, "$");
  // The text says D = A B + D, or A B; then factors of 1; then for 16-bit types whether B, and A in memory, are
  // transposed. The sums' operands, $sums to $(2 sums - 1), are the registers of the results.
  size_t factors = add ? 2 * sums : sums;
  std::string a = "$" + std::to_string(factors);
  size_t factorB = factors + 1;
  if (!op.getA()) {
    a = llvm::formatv("{{${0},${1},${2},${3}}", factors, factors + 1, factors + 2, factors + 3).str();
    factorB = factors + 4;
  }
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << "{\n.reg .pred add;\nsetp." << (add ? "eq" : "ne") << ".u32 add, 0, 0;\nwgmma.mma_async.sync.aligned.m64n"
         << 2 * sums << "k" << (op.isFloat8() ? 32 : 16) << ".f32." << stringifyMmaType(op.getElement()) << "."
         << stringifyMmaType(op.typeOfB()) << " {" << registers << "}, " << a << ", $" << factorB << ", add, 1, 1";
  if (!op.isFloat8() && op.getA())
    stream << ", " << int(op.getALayout()->getTransposed());
  if (!op.isFloat8())
    stream << ", " << int(op.getBLayout().getTransposed());
  stream << ";\n}";
  // Sums that start at 0 may not take A's registers, which are read while they are written.
  std::string constraints = results(sums, add || op.getA() ? "=f" : "=&f") + ",";
  if (add)
    constraints += numbers(sums, "") + ",";
  constraints += op.getA() ? "l,l,~{memory}" : "r,r,r,r,l,~{memory}";
  Type result = LLVM::LLVMStructType::getLiteral(b.getContext(), SmallVector<Type>(sums, b.getF32Type()));
  Value all = assembly(b, result, operands, text, constraints);
  for (auto [i, sum] : llvm::enumerate(op.getD()))
    sum.replaceAllUsesWith(LLVM::ExtractValueOp::create(b, all, i));
}

static void lowerOp(ImplicitLocOpBuilder &b, WgmmaWaitOp op) {
  NVVM::WgmmaWaitGroupSyncOp::create(b, op.getPending());
  size_t sums = op.getSums().size();
  if (op.getPending() != 0 || sums == 0) {
    // The products are still under way, and nothing may happen to the registers between one wgmma and the next.
    op.getResults().replaceAllUsesWith(op.getSums());
    return;
  }
  std::string constraints = results(sums) + "," + numbers(sums, "");
  Type f32 = b.getF32Type(),
       result = sums == 1 ? f32 : LLVM::LLVMStructType::getLiteral(b.getContext(), SmallVector<Type>(sums, f32));
  Value all = assembly(b, result, op.getSums(), "", constraints);
  for (auto [i, sum] : llvm::enumerate(op.getResults()))
    sum.replaceAllUsesWith(sums == 1 ? all : Value(LLVM::ExtractValueOp::create(b, all, i)));
}

//===-- All ops -------------------------------------------------------------------------===//

static void lowerOp(ImplicitLocOpBuilder &b, StoreMatrixOp op) {
  NVVM::StMatrixOp::create(b, op.getRow(), op.getRegisters(),
                           op.getTranspose() ? NVVM::MMALayout::col : NVVM::MMALayout::row,
                           NVVM::LdStMatrixShapeAttr::get(b.getContext(), 8, 8), NVVM::LdStMatrixEltType::B16);
}

/// The fact that an architecture's row must state for the op.
static bool GpuArch::*factOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, bool GpuArch::*>(op)
      .Case<WgmmaFenceOp, WgmmaCommitOp, WgmmaWaitOp, SetRegistersOp>([](auto) { return &GpuArch::hasWgmma; })
      .Case([](WgmmaOp op) { return op.isFloat8() ? &GpuArch::hasFloat8Products : &GpuArch::hasWgmma; })
      .Case<ClusterRankOp, ClusterBarrierOp>([](auto) { return &GpuArch::hasClusters; })
      .Case([](MbarrierArriveOp op) { return op.getBlock() ? &GpuArch::hasClusters : &GpuArch::hasTensorMaps; })
      .Case([](TensorLoadOp op) { return op.getBlocks() ? &GpuArch::hasClusters : &GpuArch::hasTensorMaps; })
      .Default([](Operation *) { return &GpuArch::hasTensorMaps; });
}

bool KernelLowering::lowerHopper(Operation *operation) {
  ImplicitLocOpBuilder b(operation->getLoc(), operation);
  auto map = [&](uint32_t number) -> Value { return function.getArgument(firstTensorMap + number); };
  bool known = true;
  llvm::TypeSwitch<Operation *>(operation)
      .Case([&](MbarrierInitOp op) {
        assembly(b, {}, {addressOf(b, op.getBarrier()), i32(b, op.getCount())},
                 "mbarrier.init.shared::cta.b64 [$0], $1;", "r,n,~{memory}");
      })
      .Case([&](MbarrierFenceOp) { NVVM::FenceMbarrierInitOp::create(b); })
      .Case<MbarrierArriveOp, MbarrierWaitOp, WgmmaWaitOp, StoreMatrixOp>([&](auto op) { lowerOp(b, op); })
      .Case([&](MbarrierExpectOp op) {
        assembly(b, {}, {addressOf(b, op.getBarrier()), i32(b, op.getBytes())},
                 "mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [$0], $1;", "r,n,~{memory}");
      })
      .Case([&](AsyncFenceOp) { assembly(b, {}, {}, "fence.proxy.async.shared::cta;", "~{memory}"); })
      .Case<TensorLoadOp, TensorStoreOp>([&](auto op) { lowerOp(b, op, map(op.getMap())); })
      .Case([&](TensorPrefetchOp op) { assembly(b, {}, map(op.getMap()), "prefetch.tensormap [$0];", "l"); })
      .Case([&](TensorStoreCommitOp) { NVVM::CpAsyncBulkCommitGroupOp::create(b); })
      .Case([&](TensorStoreWaitOp op) {
        NVVM::CpAsyncBulkWaitGroupOp::create(b, op.getPending(), op.getRead() ? b.getUnitAttr() : UnitAttr());
      })
      .Case([&](WgmmaFenceOp) { NVVM::WgmmaFenceAlignedOp::create(b); })
      .Case([&](WgmmaOp op) { lowerOp(b, *this, op); })
      .Case([&](WgmmaCommitOp) { NVVM::WgmmaGroupSyncAlignedOp::create(b); })
      .Case([&](SetRegistersOp op) {
        NVVM::SetMaxRegisterOp::create(b, op.getCount(),
                                       op.getIncrease() ? NVVM::SetMaxRegisterAction::increase
                                                        : NVVM::SetMaxRegisterAction::decrease);
      })
      .Case([&](ClusterRankOp op) { op.replaceAllUsesWith(Value(NVVM::ClusterId::create(b, b.getI32Type()))); })
      .Case([&](ClusterBarrierOp) {
        NVVM::ClusterArriveOp::create(b, b.getUnitAttr());
        NVVM::ClusterWaitOp::create(b, b.getUnitAttr());
      })
      .Default([&](Operation *) { known = false; });
  if (!known)
    return false;
  require(operation, factOf(operation));
  operation->erase();
  return true;
}
