// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products of 8-bit floats as Hopper's tensor cores sum them.
#pragma once

#include <cstdint>

namespace mpc::rt::emulator {

constexpr uint32_t kE4M3 = 3, kE5M2 = 4; ///< element codes of a wgmma

/// Adds A B to sums, for 64 rows, `columns` (a multiple of 8) columns and 32 of k. k is contiguous: bytes 16 h … of row
/// r of A lie at shared + placesOfA[2 r + h], those of a column of B at placesOfB in the same way. `sums` has one entry
/// per thread of the warpgroup. The sums are not rounded as f32 is, see Float8.cpp.
void multiplyFloat8(const char *shared, const uint32_t *placesOfA, const uint32_t *placesOfB, uint32_t columns,
                    uint32_t elementA, uint32_t elementB, float *const *sums);

} // namespace mpc::rt::emulator
