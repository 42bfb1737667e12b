//===- Random.cpp - random numbers, dropout, and the bits of numbers ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Evaluator/Ops/Models.h"
#include "compiler/Evaluator/Ops/Words.h"
#include "dialects/Graph/IR/Normal.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/APFloat.h"
#include <bit>
#include <cmath>

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

namespace {

/// The operations that the formulas of Normal.h use, on numbers.
struct Numbers {
  using Real = double;
  using Word = uint32_t;

  Word word(uint32_t n) { return n; }
  Real real(double x) { return x; }
  Word add(Word a, Word b) { return a + b; }
  Word sub(Word a, Word b) { return a - b; }
  Word shiftLeft(Word a, Word b) { return a << b; }
  Word shiftRight(Word a, Word b) { return a >> b; }
  Word bitAnd(Word a, Word b) { return a & b; }
  Real plus(Real a, Real b) { return a + b; }
  Real minus(Real a, Real b) { return a - b; }
  Real times(Real a, Real b) { return a * b; }
  Real over(Real a, Real b) { return a / b; }
  Real root(Real a) { return std::sqrt(a); }
  Real fromUnsigned(Word w) { return double(w); }
  Real fromSigned(Word w) { return double(int32_t(w)); }
  Word exponent(Real x) { return Word(std::bit_cast<uint64_t>(x) >> 52) - 1023; }
  Real mantissa(Real x) {
    return std::bit_cast<double>((std::bit_cast<uint64_t>(x) & ((uint64_t(1) << 52) - 1)) | uint64_t(1023) << 52);
  }
  bool isOver(Real x, Real y) { return x > y; }
  bool isZero(Word w) { return w == 0; }
  template <typename T>
  T choose(bool condition, T x, T y) {
    return condition ? x : y;
  }
};

struct RandomModel : EvalModel<RandomModel, RandomOp> {
  LogicalResult evaluate(Operation *operation, Evaluation &e) const {
    auto op = cast<RandomOp>(operation);
    Words words(e.operands[0], e.operands[1], op.getSalt());
    Type element = elementOf(op.getY());
    int digits = element.isF64() ? 32 : element.isF32() ? 24 : element.isF16() ? 11 : 8;
    std::vector<double> &y = e.results[0].values;
    Numbers numbers;
    for (int64_t i = 0; i < int64_t(y.size()); ++i)
      y[i] = op.getDistribution() == Distribution::uniform
                 ? std::ldexp(words[i] >> (32 - digits), -digits)
                 : standardNormal(numbers, words[i / 2 * 2], words[i / 2 * 2 + 1], uint32_t(i % 2));
    return success();
  }
};

struct DropoutModel : EvalModel<DropoutModel, DropoutOp> {
  LogicalResult evaluate(Operation *operation, Evaluation &e) const {
    auto op = cast<DropoutOp>(operation);
    Words words(e.operands[1], e.operands[2], op.getSalt());
    const double ratio = op.getRatio().convertToDouble();
    const std::vector<double> &x = e.operands[0].values;
    std::vector<double> &y = e.results[0].values;
    llvm::SmallVector<int64_t> strides = stridesOf(op.getMaskShape());
    for (int64_t axis : op.getShared())
      strides[axis] = 0;
    walkStrided(shapeOf(op.getX()), strides, 0, [&](int64_t i, int64_t inMask) {
      y[i] = double(words[inMask]) * 0x1p-32 >= ratio ? x[i] / (1 - ratio) : 0;
    });
    return success();
  }
};

/// The bits of a number of this type, as the lowest bits of the result.
uint64_t bitsOf(Type element, double x) {
  if (auto type = dyn_cast<FloatType>(element)) {
    bool inexact;
    llvm::APFloat number(x);
    number.convert(type.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &inexact);
    return number.bitcastToAPInt().getZExtValue();
  }
  return x < 0 ? uint64_t(int64_t(x)) : uint64_t(x);
}

struct BitcastModel : EvalModel<BitcastModel, BitcastOp> {
  LogicalResult evaluate(Operation *op, Evaluation &e) const {
    auto cast = mlir::cast<BitcastOp>(op);
    Type from = elementOf(cast.getX()), to = elementOf(cast.getY());
    unsigned width = to.getIntOrFloatBitWidth();
    if (width == 64 && from != to)
      return op->emitError("the reference evaluator holds integers to 2^53: it cannot tell the bits of 64");
    for (auto [x, y] : llvm::zip_equal(e.operands[0].values, e.results[0].values)) {
      if (from == to) {
        y = x;
        continue;
      }
      llvm::APInt bits(width, bitsOf(from, x), /*isSigned=*/false, /*implicitTrunc=*/true);
      if (auto type = dyn_cast<FloatType>(to))
        y = llvm::APFloat(type.getFloatSemantics(), bits).convertToDouble();
      else
        y = to.isUnsignedInteger() ? double(bits.getZExtValue()) : double(bits.getSExtValue());
    }
    return success();
  }
};
} // namespace

void mpc::attachRandomModels(MLIRContext &c) {
  RandomOp::attachInterface<RandomModel>(c);
  DropoutOp::attachInterface<DropoutModel>(c);
  BitcastOp::attachInterface<BitcastModel>(c);
}
