// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/data/Finite.h"

#include <cstring>

namespace mpc::rt {

/// All bits of the exponent are ones in an infinity and in NaN. The loop takes 32 bits at a time, one f32 or two floats
/// of 16 bits, so that one loop, which the compiler vectorizes, is enough for all types.
bool surelyFinite(mpc_dtype type, const std::byte *floats, size_t count) {
  if (type == MPC_F64)
    return false;
  const uint32_t low = type == MPC_F32 ? 0x7f800000 : type == MPC_F16 ? 0x7c00 : 0x7f80;
  const uint32_t high = type == MPC_F32 ? low : low << 16;
  const size_t bytes = count * sizeOf(type), words = bytes / 4;
  uint32_t any = 0;
  for (size_t i = 0; i < words; ++i) {
    uint32_t word;
    std::memcpy(&word, floats + i * 4, 4);
    any |= uint32_t((word & low) == low) | uint32_t((word & high) == high);
  }
  if (bytes % 4 != 0) { // one float of 16 bits is left
    uint16_t last;
    std::memcpy(&last, floats + words * 4, 2);
    any |= uint32_t((last & low) == low);
  }
  return any == 0;
}

} // namespace mpc::rt
