// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The accumulator of 8-bit floats on Hopper has fewer bits than f32. One wgmma (32 of k) computes:
//
//   E    = the largest exponent among the products, as the sum of their factors' exponents, and C
//   unit = 2^(E - 13)
//   sum  = (truncate(C / unit) + sum over k of truncate(a b / unit)) unit, then cut to 13 bits behind the
//   leading one
//
// DeepSeek-V3 Technical Report (arXiv 2412.19437), 3.5.2, says: products are aligned to the largest exponent, 14 bits
// are kept and the others cut, and sums are cut in the same way. Xie et al., "MMA-Sim: Bit-Accurate Reference Model of
// Tensor Cores and Matrix Cores" (arXiv 2511.10909), measured 13 fractional bits, truncation and the format 1-8-13 on
// H100. Products with an infinity or a NaN are summed by the rules of IEEE 754.
#include "runtime/emulator/Float8.h"

#include "mpc/cpu.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

namespace mpc::rt::emulator {

namespace {
constexpr uint32_t kRows = 64, kDepth = 32, kLanes = 8, kWarp = 32;
constexpr int kFraction = 13;
constexpr double kNoExponent = -1000; ///< exponent of zero: it stays below every other one, even with another one added

struct Code {
  double value, exponent; ///< a subnormal has the exponent of the smallest normal number
};

std::array<Code, 256> makeCodes(int mantissaBits, int bias, bool hasInfinity) {
  std::array<Code, 256> codes;
  int exponents = 0x7F >> mantissaBits, mantissas = 1 << mantissaBits;
  for (int i = 0; i < 256; ++i) {
    int exponent = (i & 0x7F) >> mantissaBits, mantissa = i & (mantissas - 1), scale = std::max(exponent, 1) - bias;
    double value = std::ldexp(double(mantissa + (exponent ? mantissas : 0)), scale - mantissaBits);
    if (exponent == exponents && (hasInfinity || mantissa == mantissas - 1))
      value = hasInfinity && mantissa == 0 ? std::numeric_limits<double>::infinity()
                                           : std::numeric_limits<double>::quiet_NaN();
    codes[i] = {i & 0x80 ? -value : value, value == 0 ? kNoExponent : double(scale)};
  }
  return codes;
}

const std::array<Code, 256> &codesOf(uint32_t element) {
  // The codes are those of "FP8 Formats for Deep Learning", arXiv 2209.05433, table 1.
  static const std::array<Code, 256> e4m3 = makeCodes(3, 7, false), e5m2 = makeCodes(2, 15, true);
  return element == kE4M3 ? e4m3 : e5m2;
}

typedef double Lanes __attribute__((vector_size(64)));
typedef int32_t Counts __attribute__((vector_size(32)));

struct Operands {
  double a[kRows][kDepth], exponentsOfA[kRows][kDepth];
  Lanes b[kDepth], exponentsOfB[kDepth]; ///< eight columns of B
  bool finiteA[kRows], finiteB;
};

/// Converts the 32 elements of a row; `step` is the distance between elements of the output. Returns
/// whether all are finite.
bool convert(const char *shared, const uint32_t *places, const std::array<Code, 256> &codes, double *values,
             double *exponents, uint32_t step) {
  bool finite = true;
  for (uint32_t k = 0; k < kDepth; ++k) {
    const Code &code = codes[uint8_t(shared[places[k / 16] + k % 16])];
    values[k * step] = code.value;
    exponents[k * step] = code.exponent;
    finite &= std::isfinite(code.value);
  }
  return finite;
}

/// Rounds c + row times column, given in units of 2^(exponent - 13), to 13 bits after the leading one.
float finish(double count, int exponent) {
  double magnitude = std::abs(count);
  if (magnitude >= double(2 << kFraction)) {
    double last = std::ldexp(1.0, std::ilogb(magnitude) - kFraction);
    count = std::trunc(count / last) * last;
  }
  return float(std::ldexp(count, exponent - kFraction));
}

MPC_CPU_CLONES
void largestExponents(const double *exponentsOfA, const Lanes *exponentsOfB, Lanes &largest) {
  for (uint32_t k = 0; k < kDepth; ++k) {
    Lanes sum = exponentsOfA[k] + exponentsOfB[k];
    largest = sum > largest ? sum : largest;
  }
}

MPC_CPU_CLONES
void sumProducts(const double *a, const Lanes *b, const Lanes &perUnit, Counts &counts) {
  for (uint32_t k = 0; k < kDepth; ++k) // the products are exact and below 2^15 units; the conversion truncates
    counts += __builtin_convertvector(a[k] * b[k] * perUnit, Counts);
}

/// Multiplies row r with eight columns; sums[j] holds columns 2 j and 2 j + 1.
void multiplyRow(const Operands &o, uint32_t r, float *const sums[4]) {
  float *place[kLanes];
  for (uint32_t i = 0; i < kLanes; ++i)
    place[i] = sums[i / 2] + i % 2;
  bool finite = o.finiteA[r] && o.finiteB;
  Lanes largest, perUnit;
  for (uint32_t i = 0; i < kLanes; ++i) {
    float c = *place[i];
    finite &= std::isfinite(c);
    largest[i] = c == 0 ? 2 * kNoExponent : std::max(std::ilogb(c), -126);
  }
  if (!finite) {
    for (uint32_t i = 0; i < kLanes; ++i) {
      double sum = *place[i];
      for (uint32_t k = 0; k < kDepth; ++k)
        sum += o.a[r][k] * o.b[k][i];
      *place[i] = float(sum);
    }
    return;
  }
  largestExponents(o.exponentsOfA[r], o.exponentsOfB, largest);
  Counts counts = {};
  for (uint32_t i = 0; i < kLanes; ++i) {
    if (largest[i] < kNoExponent / 2) // all products and C are zeros
      largest[i] = 0;
    perUnit[i] = std::ldexp(1.0, kFraction - int(largest[i]));
    counts[i] = int32_t(*place[i] * perUnit[i]);
  }
  sumProducts(o.a[r], o.b, perUnit, counts);
  for (uint32_t i = 0; i < kLanes; ++i)
    *place[i] = finish(counts[i], int(largest[i]));
}
} // namespace

void multiplyFloat8(const char *shared, const uint32_t *placesOfA, const uint32_t *placesOfB, uint32_t columns,
                    uint32_t elementA, uint32_t elementB, float *const *sums) {
  Operands o;
  for (uint32_t r = 0; r < kRows; ++r)
    o.finiteA[r] = convert(shared, placesOfA + 2 * r, codesOf(elementA), o.a[r], o.exponentsOfA[r], 1);
  for (uint32_t j = 0; j < columns / kLanes; ++j) {
    o.finiteB = true;
    for (uint32_t i = 0; i < kLanes; ++i)
      o.finiteB &= convert(shared, placesOfB + 2 * (j * kLanes + i), codesOf(elementB),
                           reinterpret_cast<double *>(o.b) + i, reinterpret_cast<double *>(o.exponentsOfB) + i, kLanes);
    for (uint32_t r = 0; r < kRows; ++r) {
      // Sum 4 j + 2 h + p of lane l of warp w belongs to row 16 w + l / 4 + 8 h, column 8 j + 2 (l mod 4) + p.
      float *const *lanes = sums + r / 16 * kWarp + r % 8 * 4;
      uint32_t first = 4 * j + r % 16 / 8 * 2;
      float *const ofRow[4] = {lanes[0] + first, lanes[1] + first, lanes[2] + first, lanes[3] + first};
      multiplyRow(o, r, ofRow);
    }
  }
}

} // namespace mpc::rt::emulator
