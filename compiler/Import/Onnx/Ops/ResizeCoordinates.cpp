// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Import/Onnx/Ops/ResizeCoordinates.h"
#include <cmath>

using namespace mpc;
using namespace mpc::onnx_import;
using llvm::DynamicAPInt;

static const Fraction kHalf(1, 2);

/// Returns a float as the fraction that it is.
static Fraction exactly(double value) {
  DynamicAPInt denominator(1);
  for (; value != std::floor(value); value *= 2)
    denominator *= DynamicAPInt(2);
  DynamicAPInt factor(1);
  for (; std::fabs(value) >= 0x1p62; value /= 2)
    factor *= DynamicAPInt(2);
  return {DynamicAPInt(int64_t(value)) * factor, denominator};
}

/// Returns the fraction of the smallest denominator in [low, high], where 0 < low < high: its continued fraction goes
/// with those of both ends as far as they are equal.
static Fraction simplestIn(const Fraction &low, const Fraction &high) {
  Fraction whole(ceil(low));
  if (whole <= high)
    return whole;
  Fraction below(floor(low));
  return below + Fraction(1) / simplestIn(Fraction(1) / (high - below), Fraction(1) / (low - below));
}

Fraction onnx_import::fractionOf(float scale) {
  assert(scale > 0 && std::isfinite(scale));
  if (scale == std::floor(scale))
    return exactly(scale);
  // These are the ends of the interval that rounds to the scale: no f32 lies between the scale and its neighbours.
  auto half = [&](float neighbour) { return exactly((double(scale) + double(neighbour)) / 2); };
  return simplestIn(half(std::nextafter(scale, 0.0f)), half(std::nextafter(scale, INFINITY)));
}

std::optional<Coordinates> onnx_import::coordinatesOf(llvm::StringRef mode, const Fraction &scale, int64_t in,
                                                      int64_t out) {
  if (in == out && scale == Fraction(1) && mode != "tf_half_pixel_for_nn")
    return Coordinates{1, 0};
  const Fraction step = Fraction(1) / scale;
  if (mode == "half_pixel" || (mode == "pytorch_half_pixel" && out > 1))
    return Coordinates{step, kHalf * step - kHalf};
  if (mode == "pytorch_half_pixel")
    return Coordinates{0, 0};
  if (mode == "align_corners") {
    // The specification's length is in*scale before it is rounded down; where that is nearly a whole number, the scale
    // was rounded.
    Fraction length = scale * Fraction(in);
    if (abs(length - Fraction(out)) < Fraction(1, 10000))
      length = Fraction(out);
    // One result reads coordinate 0, also where the length before rounding is below 1.
    return Coordinates{out > 1 && length != Fraction(1) ? Fraction(in - 1) / (length - Fraction(1)) : Fraction(0), 0};
  }
  if (mode == "asymmetric")
    return Coordinates{step, 0};
  if (mode == "tf_half_pixel_for_nn")
    return Coordinates{step, kHalf * step};
  if (mode == "half_pixel_symmetric") {
    Fraction adjustment = Fraction(out) / (scale * Fraction(in)); // what rounding the length has removed
    return Coordinates{step, kHalf * step - kHalf + Fraction(in, 2) * (Fraction(1) - adjustment)};
  }
  return std::nullopt;
}

std::optional<Rounding> onnx_import::roundingOf(llvm::StringRef nearestMode) {
  if (nearestMode == "round_prefer_floor")
    return Rounding{-kHalf, true};
  if (nearestMode == "round_prefer_ceil")
    return Rounding{kHalf, false};
  if (nearestMode == "ceil")
    return Rounding{0, true};
  if (nearestMode == "floor")
    return Rounding{0, false};
  return std::nullopt;
}

/// The value that is rounded is (a*i + b) / d with integers a, b, d and i. It is an integer, or at least 1/d away from
/// the next one. Half of that, added for floor and subtracted for ceil, changes no index, and leaves 1/(2d)
/// on both sides for the errors of f64. Those are less than 2^-51 of the operand's length, hence too small as long as
/// the product of both lengths is below 2^49.
Coordinates onnx_import::awayFromTies(const Coordinates &exact, const Rounding &rounding) {
  if (exact.scale == Fraction(1) && exact.offset == Fraction(0))
    return exact; // f64 has no error here, and the op knows by these numbers that it leaves the dimension unchanged
  Fraction biased = exact.offset + rounding.bias;
  DynamicAPInt common = lcm(exact.scale.den, biased.den);
  Fraction away(DynamicAPInt(rounding.ceil ? -1 : 1), DynamicAPInt(2) * common);
  return {exact.scale, exact.offset + away};
}

double onnx_import::toDouble(Fraction f) {
  f = reduce(f);
  const DynamicAPInt most(int64_t(1) << 62), two(2);
  int exponent = 0;
  for (; abs(f.num) >= most; ++exponent)
    f.num = f.num / two;
  for (; f.den >= most; --exponent)
    f.den = f.den / two;
  return std::ldexp(double(int64_t(f.num)) / double(int64_t(f.den)), exponent);
}
