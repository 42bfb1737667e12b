//===- DeviceOps.cpp - verifiers of the ops inside GPU kernels ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Kernel/IR/Kernel.h"
#include "dialects/Kernel/Target/Blocks.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mpc::kernel;

/// PTX ISA, "bar, barrier": a is 0 to 15, b a multiple of the warp size.
LogicalResult BarrierOp::verify() {
  if (getId() > 15)
    return emitOpError("has id 0 to 15, not ") << int32_t(getId());
  if (std::optional<uint32_t> threads = getThreads(); threads && !isBlockSize(*threads))
    return emitOpError("counts ") << blockSizes() << ", not " << int32_t(*threads);
  return success();
}

LogicalResult SharedOp::verify() {
  if (int64_t(getBytes()) < 1)
    return emitOpError("allocates at least one byte, not ") << int64_t(getBytes());
  if (int64_t(getAlignment()) < 1 || !llvm::isPowerOf2_64(getAlignment()))
    return emitOpError("is aligned to a power of two, not to ") << int64_t(getAlignment());
  return success();
}

LogicalResult CopyAsyncOp::verify() {
  int32_t bytes = getBytes();
  if (bytes != 4 && bytes != 8 && bytes != 16)
    return emitOpError("copies 4, 8 or 16 bytes, not ") << bytes;
  return success();
}

LogicalResult LoadMatrixOp::verify() {
  size_t count = getRegisters().size();
  if (count != 1 && count != 2 && count != 4)
    return emitOpError("loads 1, 2 or 4 matrices, not ") << count;
  return success();
}

LogicalResult MmaOp::verify() {
  int32_t k = getK();
  bool tf32 = getElement() == MmaType::TF32, f16 = getElement() == MmaType::F16;
  bool known = getElement() == MmaType::BF16 ? k == 16 : tf32 ? k == 8 : f16 && (k == 8 || k == 16);
  if (!known)
    return emitOpError("has no form with k = ") << k << " for " << stringifyMmaType(getElement());
  size_t a = k == 16 || tf32 ? 4 : 2;
  if (getA().size() != a || getB().size() != a / 2 || getC().size() != 4)
    return emitOpError("takes ") << a << ", " << a / 2 << " and 4 registers";
  return success();
}
