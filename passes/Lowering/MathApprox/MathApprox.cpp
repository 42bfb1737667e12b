//===- MathApprox.cpp - f32 math functions as arithmetic ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The range reductions are the classical ones (Cody and Waite, "Software Manual for the Elementary
// Functions", 1980; Muller, "Elementary Functions", 3rd ed. 2016, ch. 9 and 11); the polynomials are minimax
// fits made for this file by the Remez algorithm in 40 digits. The code has no branches, and fused
// multiply-adds are explicit.
//
//===----------------------------------------------------------------------===//
#include "passes/Lowering/MathApprox/MathApprox.h"
#include "dialects/Kernel/IR/Kernel.h"
#include "passes/Lowering/MathApprox/FloatMath.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/StringMap.h"
#include <limits>

using namespace mlir;
using namespace mpc;

static constexpr double inf = std::numeric_limits<double>::infinity(),
                        notANumber = std::numeric_limits<double>::quiet_NaN();

namespace {

/// For x = n ln2 + r, where |r| is at most ln2/2 (and a little more): an integer whose low nine bits hold n + 254, r,
/// and q in e^r = 1 + r + r^2 q.
struct ExpParts {
  Value bits, r, q;
};

} // namespace

/// Twice the bias of an exponent.
static constexpr int64_t kTwoBiases = 254;
/// The bits of 1.5*2^23.
static constexpr int64_t kMagicBits = 0x4B400000;

/// Adding 1.5*2^23 rounds to an integer and leaves that in the low bits; unlike a conversion, it is defined for NaN.
static ExpParts reduceExp(FloatMath &f, Value x) {
  constexpr double magic = 12582912.0 + kTwoBiases, log2e = 1.4426950408889634;
  constexpr double ln2High = 0.693359375, ln2Low = -2.12194440054690583e-4; // high has 9 bits, so that n*high is exact
  Value shifted = f.fma(x, log2e, magic);
  Value n = f.sub(shifted, magic);
  Value r = f.fma(n, -ln2High, x);
  r = f.fma(n, -ln2Low, r);
  Value q =
      f.polynomial(r, {0.5000000049, 0.1666666683, 0.04166634228, 0.008333270649, 0.001394203395, 0.000199156083});
  return {f.bits(shifted), r, q};
}

/// e^r - 1
static Value expm1Of(FloatMath &f, const ExpParts &parts) { return f.fma(f.mul(parts.r, parts.r), parts.q, parts.r); }

/// e^(x + low), where |low| is at most a unit in x's last place.
static Value expandExp(FloatMath &f, Value x, Value low = {}) {
  // Beyond these bounds the scaling below gives 0 and infinity without further code.
  ExpParts parts = reduceExp(f, f.clamp(x, -105, 90));
  // The power of two is applied in two steps: n reaches from denormals to overflow, and only the last
  // multiplication rounds. Half of n + 254 is an exponent with its bias; so is the other half.
  Value half = f.shiftRight(parts.bits, 1);
  Value rest = f.sub(parts.bits, half);
  Value first = f.fromBits(f.shiftLeft(half, 23)), second = f.fromBits(f.shiftLeft(rest, 23));
  if (!low) {
    Value scaled = f.mul(parts.r, first);
    return f.mul(f.fma(scaled, f.fma(parts.r, parts.q, 1), first), second);
  }
  Value expm1 = expm1Of(f, parts);
  expm1 = f.add(expm1, f.fma(expm1, low, low));
  return f.mul(f.fma(expm1, first, first), second);
}

static Value expandExpM1(FloatMath &f, Value x) {
  // 2^n (1 + p) - 1 = 2 (2^(n-1) p + (2^(n-1) - 1/2)) is exact but for the roundings of p and of the sum.
  ExpParts parts = reduceExp(f, f.clamp(x, -25, 89));
  Value scale = f.powerOfTwo(f.sub(parts.bits, f.i(kMagicBits + kTwoBiases + 1)));
  Value y = f.mul(f.fma(scale, expm1Of(f, parts), f.sub(scale, 0.5)), 2);
  return f.select(f.equal(x, 0), x, y); // keeps the sign of -0
}

static Value expandLog(FloatMath &f, Value x) {
  constexpr double ln2High = 0.693359375, ln2Low = -2.12194440054690583e-4;
  Value tiny = f.less(x, 1.17549435e-38);
  Value normal = f.select(tiny, f.mul(x, 8388608.0), x); // denormals times 2^23
  // x = 2^e m with m in [sqrt(1/2), sqrt(2)).
  Value bits = f.bits(normal);
  Value e = f.shiftRightSigned(f.sub(bits, f.i(0x3F3504F3)), 23);
  Value m = f.fromBits(f.sub(bits, f.shiftLeft(e, 23)));
  Value exponent = f.toFloat(f.type, e);
  exponent = f.sub(exponent, f.select(tiny, 23, 0));
  // log(1+t) = t - t^2/2 + t^3 p(t)
  Value t = f.sub(m, 1), square = f.mul(t, t);
  Value p = f.polynomial(t, {0.3333331045, -0.2499998658, 0.2000222623, -0.1666925178, 0.1421866536, -0.1238433627,
                             0.1187291654, -0.1178985671, 0.06915551525});
  Value tail = f.fma(exponent, ln2Low, f.mul(f.mul(t, square), p));
  tail = f.fma(square, -0.5, tail);
  Value y = f.fma(exponent, ln2High, f.add(t, tail));
  y = f.select(f.less(x, 0), notANumber, y);
  y = f.select(f.equal(x, 0), -inf, y);
  // infinity and NaN are their own logarithms
  Value finite = f.less(x, inf);
  return f.select(finite, y, x);
}

static Value expandLog1p(FloatMath &f, Value x) {
  // log(1 + x) = log(u) + (x - (u - 1))/u, where u is 1 + x, rounded: the correction restores what the sum lost.
  Value u = f.add(x, 1);
  Value correction = f.div(f.sub(x, f.sub(u, 1)), u);
  Value y = f.add(expandLog(f, u), correction);
  // The selects replace y where the correction is not a number (u = 0, infinity), and where y has lost the
  // sign of -0.
  y = f.select(f.equal(u, 0), -inf, y);
  y = f.select(f.equal(x, inf), x, y);
  return f.select(f.equal(x, 0), x, y);
}

static Value expandTanh(FloatMath &f, Value x) {
  // tanh a = -t/(2 + t) with t = e^-2a - 1: nothing cancels.
  Value t = expandExpM1(f, f.mul(f.abs(x), -2)), divisor = f.add(t, 2);
  return f.withSignOf(f.div(f.neg(t), divisor), x);
}

/// erfc a for a >= 0: e^(-a^2) p(t)/(1 + a/2), where t = 1/(1 + a/2). The square is split in two, since an
/// error in it is magnified by its size.
static Value erfcOfMagnitude(FloatMath &f, Value a) {
  a = f.clamp(a, 0, 10.5); // erfc is 0 in f32 from 10.06 on
  Value d = f.fma(a, 0.5, 1), t = f.div(1, d);
  Value p =
      f.polynomial(f.sub(t, 0.5), {0.5107913545, 0.6871606942, 0.5589435027, 0.1457674851, -0.172044055, -0.1036261208,
                                   0.09798407984, 0.05340960912, -0.07586540009, -0.0127080673, 0.03631752239});
  Value square = f.mul(a, a), low = f.fma(a, a, f.neg(square));
  Value factor = f.div(p, d), minusLow = f.neg(low);
  return f.mul(expandExp(f, f.neg(square), minusLow), factor);
}
/// erf x for |x| < 1: x + x p(x^2) with p = erf(x)/x - 1, so the leading x is exact.
static Value erfOfSmall(FloatMath &f, Value x) {
  return f.fma(x,
               f.polynomial(f.mul(x, x), {0.1283791671, -0.3761263848, 0.1128378275, -0.02686544583, 0.005221074889,
                                          -0.0008484711611, 0.0001127054568, -9.680139791e-6}),
               x);
}
static Value expandErfc(FloatMath &f, Value x) {
  Value a = f.abs(x), tail = erfcOfMagnitude(f, a), reflected = f.sub(2, tail);
  Value large = f.select(f.less(x, 0), reflected, tail), small = f.sub(1, erfOfSmall(f, x));
  return f.select(f.less(a, 0.5), small, large);
}
static Value expandErf(FloatMath &f, Value x) {
  Value a = f.abs(x);
  Value large = f.withSignOf(f.sub(1, erfcOfMagnitude(f, a)), x), small = erfOfSmall(f, x);
  return f.select(f.less(a, 1), small, large);
}

/// Returns e^x = 2^n 2^r with n = round(x log2 e), where a GPU has an instruction for 2^r and |r| is at most 1/2 (and a
/// little more). Where x is so large or small that n is clamped, r is what is left of the exponent: 2^r overflows, or
/// the last multiplication rounds to a denormal or zero.
static Value expByInstruction(FloatMath &f, Value x) {
  constexpr double magic = 12582912.0 + 127; // 1.5*2^23 as in reduceExp, and the bias of an exponent
  constexpr double log2eHigh = 1.4426950216293335, log2eLow = 1.9259629911266175e-8;
  // These take the bound in place of a NaN, and r carries the NaN on.
  Value bounded = f.create<arith::MaxNumFOp>(x, f.c(-126 / log2eHigh));
  bounded = f.create<arith::MinNumFOp>(bounded, f.c(127 / log2eHigh));
  Value shifted = f.fma(bounded, log2eHigh, magic);
  Value n = f.sub(shifted, magic);
  Value r = f.fma(x, log2eHigh, f.neg(n));
  r = f.fma(x, log2eLow, r);
  Value y = kernel::ApproxOp::create(f.b, f.type, kernel::Approx::Exp2, r);
  return f.mul(y, f.fromBits(f.shiftLeft(f.bits(shifted), 23)));
}

void mpc::approximateExp(Operation *root) {
  llvm::SmallVector<math::ExpOp> ops;
  root->walk([&](math::ExpOp op) {
    if (op.getType().isF32())
      ops.push_back(op);
  });
  for (math::ExpOp op : ops) {
    ImplicitLocOpBuilder b(op->getLoc(), op);
    FloatMath f(b, b.getF32Type());
    op.replaceAllUsesWith(expByInstruction(f, op.getOperand()));
    op->erase();
  }
}

void mpc::expandReciprocal(Operation *root) {
  root->walk([](kernel::ApproxOp op) {
    assert(op.getFunction() == kernel::Approx::Reciprocal && "no other one is in kernels of the host");
    ImplicitLocOpBuilder b(op->getLoc(), op);
    FloatMath f(b, b.getF32Type());
    op.replaceAllUsesWith(f.div(1, op.getX()));
    op->erase();
  });
}

/// sin(x + quadrant*pi/2). The reduction is done in f64: x is exact there, and the product with pi/2 in two
/// parts has an error of 2^-50.
static Value expandSinCos(FloatMath &f, Value x, int64_t quadrant) {
  FloatMath d(f.b, f.b.getF64Type());
  constexpr double magic = 6755399441055744.0; // 1.5*2^52: as in reduceExp
  Value wide = d.extend(d.type, x);
  Value shifted = d.fma(wide, 0.6366197723675814, magic);
  Value k = d.sub(shifted, magic);
  Value r = d.fma(k, -1.5707963267948966, wide);
  r = d.fma(k, -6.123233995736766e-17, r);
  Value bits = d.truncate(f.integer, d.bits(shifted));
  bits = f.add(bits, f.i(quadrant));

  Value t = f.truncate(f.type, r), z = f.mul(t, t);
  Value ofSine = f.polynomial(z, {-0.1666666664, 0.008333329386, -0.0001983933486, 2.718311692e-6});
  Value sine = f.fma(f.mul(t, z), ofSine, t);
  Value lead = f.fma(z, -0.5, 1),
        ofCosine = f.polynomial(z, {0.04166666662, -0.001388888375, 2.479952004e-5, -2.721023979e-7});
  Value cosine = f.fma(f.mul(z, z), ofCosine, lead);
  Value y = f.select(f.anyBit(bits, 1), cosine, sine), negated = f.neg(y);
  y = f.select(f.anyBit(bits, 2), negated, y);
  if (quadrant == 0)
    y = f.select(f.equal(x, 0), x, y);
  // Infinity minus infinity is NaN, the result that is wanted.
  Value finite = f.less(f.abs(x), inf);
  return f.select(finite, y, f.sub(x, x));
}

void mpc::expandF32Math(Operation *root) {
  using Expansion = Value (*)(FloatMath &, Value);
  static const llvm::StringMap<Expansion> expansions = {
      {math::ExpOp::getOperationName(), [](FloatMath &f, Value x) { return expandExp(f, x); }},
      {math::LogOp::getOperationName(), [](FloatMath &f, Value x) { return expandLog(f, x); }},
      {math::Log1pOp::getOperationName(), [](FloatMath &f, Value x) { return expandLog1p(f, x); }},
      {math::ExpM1Op::getOperationName(), [](FloatMath &f, Value x) { return expandExpM1(f, x); }},
      {math::TanhOp::getOperationName(), [](FloatMath &f, Value x) { return expandTanh(f, x); }},
      {math::ErfOp::getOperationName(), [](FloatMath &f, Value x) { return expandErf(f, x); }},
      {math::ErfcOp::getOperationName(), [](FloatMath &f, Value x) { return expandErfc(f, x); }},
      {math::SinOp::getOperationName(), [](FloatMath &f, Value x) { return expandSinCos(f, x, 0); }},
      {math::CosOp::getOperationName(), [](FloatMath &f, Value x) { return expandSinCos(f, x, 1); }},
  };
  llvm::SmallVector<Operation *> ops;
  root->walk([&](Operation *op) {
    if (expansions.contains(op->getName().getStringRef()) && op->getResult(0).getType().isF32())
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    ImplicitLocOpBuilder b(op->getLoc(), op);
    FloatMath f(b, b.getF32Type());
    op->getResult(0).replaceAllUsesWith(expansions.lookup(op->getName().getStringRef())(f, op->getOperand(0)));
    op->erase();
  }
}
