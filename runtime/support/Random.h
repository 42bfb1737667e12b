// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Random numbers that do not depend on the platform, the thread count or the order of the draws.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace mpc::rt {

/// Computes FNV-1a, 64 bits.
uint64_t hashOf(std::string_view text, uint64_t basis = 0xcbf29ce484222325);

/// Computes Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011): four 32-bit words
/// from a 128-bit counter and a 64-bit key.
std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

/// Gives draw number `index` of the stream `name` under `seed`. The key is the seed; the counter is (index / 4,
/// hash of the name).
class RandomStream {
public:
  RandomStream(uint64_t seed, std::string_view name) : seed_(seed), stream_(hashOf(name)) {}
  /// Returns a uniform number in [0, 1), a multiple of 2^-24.
  double uniform(uint64_t index) const;
  /// Returns a standard normal number, by Box-Muller on two draws.
  double normal(uint64_t index) const;

private:
  std::array<uint32_t, 4> block(uint64_t number) const;
  uint64_t seed_, stream_;
};

/// Returns the order of the samples in one epoch: Fisher-Yates over 0 … count-1 driven by SplitMix64.
std::vector<uint32_t> shuffledOrder(uint32_t count, uint64_t seed, uint64_t epoch);

} // namespace mpc::rt
