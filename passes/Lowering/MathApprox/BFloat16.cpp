//===- BFloat16.cpp - rounding to bf16 as integer arithmetic ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Kernel/IR/Kernel.h"
#include "passes/Lowering/MathApprox/FloatMath.h"
#include "passes/Lowering/MathApprox/MathApprox.h"

using namespace mlir;
using namespace mpc;

/// Adds half of the last place that is kept, minus one if that place is even, and cuts. The carry of a number that is
/// rounded up to the next power of two goes into the exponent, as it should.
static Value round(FloatMath &f, Value x) {
  Value bits = f.bits(x);
  Value even = f.bitAnd(f.shiftRight(bits, 16), 1);
  Value cut = f.bitAnd(f.add(bits, f.add(even, 0x7fff)), int32_t(0xffff0000));
  Value notANumber = f.i(0x7fff0000);
  return f.fromBits(f.select(f.isNaN(x), notANumber, cut));
}

void mpc::expandBFloat16(Operation *root) {
  root->walk([](kernel::RoundBF16Op op) {
    ImplicitLocOpBuilder b(op.getLoc(), op);
    FloatMath f(b, b.getF32Type());
    op.getY().replaceAllUsesWith(round(f, op.getX()));
    op.erase();
  });
}
