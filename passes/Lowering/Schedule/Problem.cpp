//===- Problem.cpp - heroes as implicit matrix products ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Lowering/Schedule/Problem.h"
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Support/Diagnostics.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::hero;
using namespace mpc::graph;

int64_t Problem::extent(Axis axis) const { return llvm::product_of(digits[unsigned(axis)]); }
Type Problem::element() const { return elementOf(hero->getResult(0)); }
Type Problem::factor() const { return elementOf(a.tensor); }
bool Problem::hasFloat8() const { return isFloat8(factor()); }
Type Problem::accumulator() const { return computeType(element()); }

int Problem::storeVector(int most) const {
  const Digits &n = digits[unsigned(Axis::N)];
  int64_t last = n.back();
  int v = most;
  while (v > 1 && last % v != 0)
    v /= 2;
  return v;
}

//===-- Ranges, vectors, merging -----------------------------------------------------------===//

/// Whether some digits lead outside of [0, extent), or leave a remainder of the division.
static bool needsCheck(const MatrixProduct::Coordinate &c, const std::array<Digits, axisCount> &digits) {
  int64_t low = c.constant, high = c.constant;
  bool divides = c.constant % c.divisor == 0;
  for (const Term &t : c.terms) {
    int64_t reach = t.coefficient * (digits[unsigned(t.axis)][t.digit] - 1);
    (reach < 0 ? low : high) += reach;
    divides &= t.coefficient % c.divisor == 0;
  }
  return !divides || low < 0 || high / c.divisor >= c.extent;
}

std::optional<int64_t> mpc::hero::linearStride(const Operand &operand, Axis axis, unsigned digit) {
  int64_t stride = 0;
  for (const Coordinate &c : operand.coordinates)
    for (const Term &t : c.terms)
      if (t.axis == axis && t.digit == digit) {
        if (c.checked || c.divisor != 1)
          return std::nullopt;
        stride += t.coefficient * c.stride;
      }
  return stride;
}

/// Adjacent digits through which memory is walked in one stride become one digit; digits of extent 1 vanish.
static void mergeDigits(Operand &operand) {
  for (unsigned a = 0; a < axisCount; ++a) {
    Axis axis = Axis(a);
    Digits &digits = operand.digits[a];
    auto removeTerms = [&](unsigned digit) { // and renumbers the others
      for (Coordinate &c : operand.coordinates) {
        llvm::erase_if(c.terms, [&](const Term &t) { return t.axis == axis && t.digit == digit; });
        for (Term &t : c.terms)
          if (t.axis == axis && t.digit > digit)
            --t.digit;
      }
      digits.erase(digits.begin() + digit);
    };
    for (unsigned d = digits.size(); d-- > 0;)
      if (digits[d] == 1 && digits.size() > 1)
        removeTerms(d);
    for (unsigned d = digits.size() - 1; d-- > 0;) {
      std::optional<int64_t> outer = linearStride(operand, axis, d), inner = linearStride(operand, axis, d + 1);
      if (!outer || !inner || *outer != *inner * digits[d + 1])
        continue;
      digits[d + 1] *= digits[d];
      removeTerms(d);
    }
  }
}

static void chooseVector(Operand &operand) {
  // The contiguous axis is the one of the tile's two axes whose last digit has stride 1.
  operand.contiguous = Axis::K;
  operand.vector = 1;
  for (Axis axis : {Axis::K, operand.outer}) {
    const Digits &digits = operand.digits[unsigned(axis)];
    if (linearStride(operand, axis, digits.size() - 1) != 1)
      continue;
    operand.contiguous = axis;
    int bytes = elementOf(operand.tensor).getIntOrFloatBitWidth() / 8, v = 16 / bytes;
    auto aligned = [&](int v) {
      if (digits.back() % v != 0)
        return false;
      for (const Coordinate &c : operand.coordinates) {
        if (c.checked || c.divisor != 1) {
          if (c.stride % v != 0)
            return false;
          continue;
        }
        if (c.constant * c.stride % v != 0)
          return false;
        for (const Term &t : c.terms)
          if ((t.axis != axis || t.digit + 1 != digits.size()) && t.coefficient * c.stride % v != 0)
            return false;
      }
      return true;
    };
    while (v > 1 && !aligned(v))
      v /= 2;
    operand.vector = v;
    return;
  }
}

/// The coordinates in a tensor that lies in memory in row-major order.
static SmallVector<Coordinate, 5> located(ArrayRef<MatrixProduct::Coordinate> coordinates,
                                          const std::array<Digits, axisCount> &digits) {
  SmallVector<Coordinate, 5> result;
  int64_t stride = 1;
  for (const MatrixProduct::Coordinate &c : llvm::reverse(coordinates)) {
    result.push_back({c, stride, needsCheck(c, digits)});
    stride *= c.extent;
  }
  std::reverse(result.begin(), result.end());
  return result;
}

static Operand describe(Value tensor, ArrayRef<MatrixProduct::Coordinate> coordinates, Axis outer,
                        const std::array<Digits, axisCount> &digits) {
  Operand operand{.tensor = tensor,
                  .outer = outer,
                  .digits = digits,
                  .coordinates = located(coordinates, digits),
                  .contiguous = Axis::K,
                  .vector = 1};
  mergeDigits(operand);
  chooseVector(operand);
  return operand;
}

Operand Problem::result() const {
  Operand result{.tensor = hero->getResult(0),
                 .outer = Axis::M,
                 .digits = digits,
                 .coordinates = c,
                 .contiguous = Axis::N,
                 .vector = 1};
  mergeDigits(result);
  return result;
}

//===-- Dispatches -------------------------------------------------------------------------------===//

FailureOr<Problem> mpc::hero::describeHero(kernel::DispatchOp dispatch) {
  // The verifier of contractions sees to it that its operands are inputs of the dispatch.
  ContractionOpInterface hero = dispatch.getContraction();
  MatrixProduct product = hero.getProduct();
  for (const Digits &digits : product.digits)
    if (llvm::product_of(digits) > INT32_MAX / 2)
      return emitErrorWithHint(hero.getLoc(),
                               "'" + hero->getName().getStringRef() + "' op has an axis of " +
                                   Twine(llvm::product_of(digits)) + " elements, more than " + Twine(INT32_MAX / 2) +
                                   ": kernels count them in 32 bits",
                               "make the batch smaller, or compile for the host");
  FailureOr<kernel::ProductResults> results = kernel::ProductResults::of(dispatch);
  if (failed(results))
    return failure();
  Problem p{.dispatch = dispatch,
            .hero = hero,
            .digits = product.digits,
            .a = describe(product.a, product.atA, Axis::M, product.digits),
            .b = describe(product.b, product.atB, Axis::N, product.digits),
            .c = located(product.atC, product.digits),
            .fullResults = std::move(results->full),
            .columnSums = std::move(results->columnSums)};
  return p;
}
