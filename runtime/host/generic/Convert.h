//===- Convert.h - 16-bit floats without hardware support -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exact conversions between f32 and the two 16-bit formats. They round to nearest even,
// keep subnormals, turn overflow into infinity, and keep NaN (made quiet). Everything is
// static: this header is compiled once per instruction set, and a shared inline
// function could leak the wide instructions of one into another.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_RUNTIME_HOST_GENERIC_CONVERT_H
#define MPC_RUNTIME_HOST_GENERIC_CONVERT_H

#include <stdint.h>

namespace mpc::generic {

static inline float floatOfBits(uint32_t bits) {
  float value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

static inline uint32_t bitsOfFloat(float value) {
  uint32_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  return bits;
}

[[maybe_unused]] static inline float widenF16(uint16_t half) {
  uint32_t sign = uint32_t(half & 0x8000) << 16, magnitude = half & 0x7fff;
  if (magnitude >= 0x7c00) // infinity or NaN; bit 22 makes a NaN quiet
    return floatOfBits(sign | 0x7f800000 | (magnitude & 0x3ff) << 13 | (magnitude > 0x7c00 ? 0x400000u : 0u));
  if (magnitude >= 0x0400) // a normal number: the exponent bias changes from 15 to 127
    return floatOfBits(sign | ((magnitude << 13) + 0x38000000));
  float subnormal = float(magnitude) * 0x1p-24f; // this is exact
  return floatOfBits(sign | bitsOfFloat(subnormal));
}

[[maybe_unused]] static inline uint16_t narrowF16(float value) {
  uint32_t bits = bitsOfFloat(value), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000)
    return uint16_t(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
  if (magnitude >= 0x477ff000) // 65520, halfway between the largest f16 and 2^16, and above
    return uint16_t(sign | 0x7c00);
  if (magnitude >= 0x38800000) { // 2^-14, the smallest normal f16
    uint32_t rebased = magnitude - 0x38000000;
    return uint16_t(sign | (rebased + 0xfff + (rebased >> 13 & 1)) >> 13);
  }
  if (magnitude < 0x33000000) // below 2^-25, half of the smallest subnormal
    return uint16_t(sign);
  uint32_t shift = 126 - (magnitude >> 23), mantissa = (magnitude & 0x7fffff) | 0x800000;
  uint32_t quotient = mantissa >> shift, rest = mantissa & ((1u << shift) - 1), half = 1u << (shift - 1);
  return uint16_t(sign | (quotient + (rest > half || (rest == half && (quotient & 1)))));
}

[[maybe_unused]] static inline float widenBf16(uint16_t value) { return floatOfBits(uint32_t(value) << 16); }

[[maybe_unused]] static inline uint16_t narrowBf16(float value) {
  uint32_t bits = bitsOfFloat(value);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return uint16_t(bits >> 16 | 0x40);
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

} // namespace mpc::generic

#endif
