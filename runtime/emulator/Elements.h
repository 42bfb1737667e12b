// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Converts elements of matrix operations to f64, exactly.
#pragma once

#include <bit>
#include <cstdint>

namespace mpc::rt::emulator {

// These functions are always inlined, into functions that are compiled for several CPUs.

/// Converts f16 bits to double, exactly: the bits are placed in an f32, whose exponent is then corrected by a
/// multiplication, which is exact.
__attribute__((always_inline)) inline double halfValue(uint32_t h) {
  uint32_t magnitude = h & 0x7FFF;
  float value = std::bit_cast<float>(magnitude << 13) * 0x1p112f; // this is also right for subnormals
  float special = std::bit_cast<float>(0x7F800000 | magnitude << 13);
  float result = magnitude >= 0x7C00 ? special : value;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(result) | (h & 0x8000) << 16);
}
__attribute__((always_inline)) inline double bfloatValue(uint32_t b) { return std::bit_cast<float>(b << 16); }
/// Drops the low 13 bits, as the tensor cores do.
__attribute__((always_inline)) inline double tf32Value(uint32_t bits) {
  return std::bit_cast<float>(bits & 0xFFFFE000);
}

} // namespace mpc::rt::emulator
