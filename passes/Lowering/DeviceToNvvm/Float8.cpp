//===- Float8.cpp - the instructions that convert 8-bit floats --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The instructions take and return pairs (PTX ISA, cvt). Two neighbouring encode_f8 of a block become one
// instruction; a decode_f8, whose result is used as soon as its code is there, has an instruction of its own.
//
//===----------------------------------------------------------------------===//
#include "passes/Lowering/DeviceToNvvm/KernelLowering.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::kernel;

/// Emits the codes of two values, or of one, at the later of the two ops.
static void encode(EncodeFloat8Op low, EncodeFloat8Op high) {
  EncodeFloat8Op last = high ? high : low;
  ImplicitLocOpBuilder b(last.getLoc(), last);
  Type i16 = b.getI16Type(), i8 = b.getI8Type();
  Value second = high ? Value(high.getX()) : LLVM::ConstantOp::create(b, b.getF32Type(), b.getF32FloatAttr(0));
  // In `.e4m3x2 d, a, b`, a goes into the upper half.
  Value pair = NVVM::ConvertF32x2ToF8x2Op::create(b, i16, second, low.getX(), NVVM::FPRoundingMode::RN,
                                                  NVVM::SaturationMode::SATFINITE, /*relu=*/false, low.getFormat());
  low.getCode().replaceAllUsesWith(LLVM::TruncOp::create(b, i8, pair));
  if (high) {
    Value shifted = LLVM::LShrOp::create(b, pair, LLVM::ConstantOp::create(b, i16, b.getI16IntegerAttr(8)));
    high.getCode().replaceAllUsesWith(LLVM::TruncOp::create(b, i8, shifted));
    high.erase();
  }
  low.erase();
}

static void decode(DecodeFloat8Op op) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  auto index = [&](int64_t i) { return LLVM::ConstantOp::create(b, b.getI32Type(), b.getI32IntegerAttr(int32_t(i))); };
  Value pair = LLVM::ZeroOp::create(b, VectorType::get({2}, b.getI8Type()));
  pair = LLVM::InsertElementOp::create(b, pair, op.getCode(), index(0));
  Value halves = NVVM::ConvertF8x2ToF16x2Op::create(b, VectorType::get({2}, b.getF16Type()), pair,
                                                    /*relu=*/false, op.getFormat());
  Value half = LLVM::ExtractElementOp::create(b, halves, index(0));
  op.getX().replaceAllUsesWith(LLVM::FPExtOp::create(b, b.getF32Type(), half));
  op.erase();
}

/// Whether all uses of the code come after `later`, which is an op behind this one in its block.
static bool usedBehind(EncodeFloat8Op op, Operation *later) {
  return llvm::all_of(op->getUsers(), [&](Operation *user) {
    Operation *inBlock = later->getBlock()->findAncestorOpInBlock(*user);
    return inBlock && later->isBeforeInBlock(inBlock);
  });
}

void KernelLowering::lowerFloat8() {
  if (!arch.hasFloat8)
    return;
  llvm::SmallVector<DecodeFloat8Op> decodes;
  llvm::SmallVector<std::pair<EncodeFloat8Op, EncodeFloat8Op>> pairs;
  function.walk([&](Block *block) {
    EncodeFloat8Op waiting;
    for (Operation &op : *block) {
      if (auto decoded = dyn_cast<DecodeFloat8Op>(op))
        decodes.push_back(decoded);
      auto encoded = dyn_cast<EncodeFloat8Op>(op);
      if (!encoded)
        continue;
      if (waiting && waiting.getFormat() == encoded.getFormat() && usedBehind(waiting, encoded)) {
        pairs.push_back({waiting, encoded});
        waiting = {};
        continue;
      }
      if (waiting)
        pairs.push_back({waiting, {}});
      waiting = encoded;
    }
    if (waiting)
      pairs.push_back({waiting, {}});
  });
  for (auto [low, high] : pairs)
    encode(low, high);
  for (DecodeFloat8Op op : decodes)
    decode(op);
}
