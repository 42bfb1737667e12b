//===- HopperOps.cpp - verifiers of the ops of sm_90a's asynchronous units ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Kernel/IR/Kernel.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace mpc::kernel;

static int64_t bytesOf(Swizzle swizzle) { return swizzle == Swizzle::None ? 0 : 16ll << int64_t(swizzle); }

LogicalResult TensorMapAttr::verify(llvm::function_ref<InFlightDiagnostic()> error, unsigned, Type element,
                                    ArrayRef<int64_t> sizes, ArrayRef<int64_t> strides, ArrayRef<int64_t> box,
                                    ArrayRef<int64_t> steps, Swizzle swizzle, int64_t pixels, ArrayRef<int64_t> lower,
                                    ArrayRef<int64_t> upper) {
  size_t rank = sizes.size(), spatial = rank < 2 ? 0 : rank - 2;
  if (!element.isIntOrFloat() || element.getIntOrFloatBitWidth() % 8 != 0)
    return error() << "a tensor map has elements of whole bytes, not " << element;
  if (rank < 1 || rank > 5 || strides.size() != rank - 1 || steps.size() != rank)
    return error() << "a tensor map of " << rank << " dimensions (1 to 5) has one stride less and as many steps";
  if (llvm::any_of(strides, [](int64_t stride) { return stride % 16 != 0; }))
    return error() << "a tensor map's strides are multiples of 16 bytes";
  if (steps[0] != 1 || llvm::any_of(steps, [](int64_t step) { return step < 1 || step > 8; }))
    return error() << "a tensor map's steps are 1 to 8, the innermost 1";
  if (pixels == 0 ? box.size() != rank
                  : rank < 3 || box.size() != 1 || lower.size() != spatial || upper.size() != spatial)
    return error() << "a tensor map's box has as many dimensions as the tensor; with im2col it is the number "
                      "of channels, "
                      "and each spatial dimension (at least one) has bounds";
  if (pixels > 1024 || llvm::any_of(box, [](int64_t extent) { return extent < 1 || extent > 256; }))
    return error() << "a tensor map's box has 1 to 256 elements a dimension, and at most 1024 pixels";
  int64_t inner = box[0] * element.getIntOrFloatBitWidth() / 8;
  if (inner % 16 != 0 || (swizzle != Swizzle::None && inner != bytesOf(swizzle)))
    return error() << "rows of a box of " << inner << " bytes do not go with swizzle " << stringifySwizzle(swizzle);
  return success();
}

/// The most arrivals, and the most bytes, that a phase counts (PTX ISA, "Contents of the mbarrier object").
static constexpr uint32_t kMaxCount = (1u << 20) - 1;

LogicalResult MbarrierInitOp::verify() {
  if (getCount() >= 1 && getCount() <= kMaxCount)
    return success();
  return emitOpError("counts 1 to ") << kMaxCount << " arrivals, not " << int32_t(getCount());
}

LogicalResult MbarrierExpectOp::verify() {
  if (getBytes() <= kMaxCount)
    return success();
  return emitOpError("expects 0 to ") << kMaxCount << " bytes, not " << int32_t(getBytes());
}

/// The tensor map with this number of the kernel that the op is in; null where it has none.
static TensorMapAttr mapOf(Operation *op, uint32_t map) {
  auto function = op->getParentOfType<LLVM::LLVMFuncOp>();
  EntryAttr entry = function ? EntryAttr::of(function) : EntryAttr();
  return entry && map < entry.getMaps().size() ? entry.getMaps()[map] : TensorMapAttr();
}

static LogicalResult hasNoMap(Operation *op, uint32_t map) {
  return op->emitOpError("names tensor map ") << map << ", which the kernel does not have";
}

static LogicalResult verifyMap(Operation *op, uint32_t map, size_t coordinates, size_t offsets, bool load) {
  TensorMapAttr about = mapOf(op, map);
  if (!about)
    return hasNoMap(op, map);
  size_t rank = about.getSizes().size();
  if (coordinates != rank)
    return op->emitOpError("has ") << coordinates << " coordinates in a tensor of " << rank << " dimensions";
  if (load && offsets != (about.getPixels() > 0 ? rank - 2 : 0))
    return op->emitOpError("has an offset for each spatial dimension in im2col mode, and none otherwise");
  return success();
}

LogicalResult TensorPrefetchOp::verify() { return mapOf(*this, getMap()) ? success() : hasNoMap(*this, getMap()); }
LogicalResult TensorLoadOp::verify() {
  return verifyMap(*this, getMap(), getCoordinates().size(), getOffsets().size(), /*load=*/true);
}
LogicalResult TensorStoreOp::verify() { return verifyMap(*this, getMap(), getCoordinates().size(), 0, /*load=*/false); }

LogicalResult WgmmaOp::verify() {
  size_t n = getD().size() * 2;
  auto isHalf = [](MmaType type) { return type == MmaType::F16 || type == MmaType::BF16; };
  if (getElement() == MmaType::TF32)
    return emitOpError("is of f16, bf16, e4m3 or e5m2");
  if (typeOfB() != getElement() && (!isFloat8() || isHalf(typeOfB()) || typeOfB() == MmaType::TF32))
    return emitOpError("multiplies ") << stringifyMmaType(getElement()) << " by " << stringifyMmaType(typeOfB())
                                      << "; only e4m3 and e5m2 go together";
  bool hasLayout = getA() && getAOffset() && getALayout();
  bool hasSome = getA() || getAOffset() || getALayout();
  if (hasLayout ? !getARegisters().empty() : hasSome || getARegisters().size() != 4)
    return emitOpError("takes A from shared memory, with an offset and a layout, or from 4 registers");
  if (!hasLayout && isFloat8())
    return emitOpError("takes A of f16 or bf16 from registers, not ") << stringifyMmaType(getElement());
  if (isFloat8())
    for (auto [name, layout] : {std::pair("A", *getALayout()), std::pair("B", getBLayout())})
      if (layout.getTransposed())
        return emitOpError("reads ") << name << " transposed; 8-bit floats must have k contiguous in shared memory";
  if (n == 0 || n > 256 || n % 8 != 0 || (!getC().empty() && getD().size() != getC().size()))
    return emitOpError("gives n / 2 sums, n a multiple of 8 up to 256, and takes as many or none; there are ")
           << getD().size() << " and " << getC().size();
  return success();
}

LogicalResult WgmmaWaitOp::verify() {
  if (getSums().size() != getResults().size())
    return emitOpError("passes through as many sums as it gets");
  return success();
}

LogicalResult SetRegistersOp::verify() {
  if (getCount() < 24 || getCount() > 240 || getCount() % 8 != 0)
    return emitOpError("takes 24 to 240 registers, a multiple of 8, not ") << getCount();
  return success();
}

LogicalResult StoreMatrixOp::verify() {
  size_t count = getRegisters().size();
  if (count != 1 && count != 2 && count != 4)
    return emitOpError("stores 1, 2 or 4 matrices, not ") << count;
  return success();
}
