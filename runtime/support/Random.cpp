// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/support/Random.h"

#include <cmath>
#include <numbers>
#include <numeric>

namespace mpc::rt {

uint64_t hashOf(std::string_view text, uint64_t basis) {
  for (unsigned char c : text)
    basis = (basis ^ c) * 0x100000001b3;
  return basis;
}

std::array<uint32_t, 4> philox(std::array<uint32_t, 4> c, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    uint64_t p0 = uint64_t(0xD2511F53) * c[0], p1 = uint64_t(0xCD9E8D57) * c[2];
    c = {uint32_t(p1 >> 32) ^ c[1] ^ key[0], uint32_t(p1), uint32_t(p0 >> 32) ^ c[3] ^ key[1], uint32_t(p0)};
    key[0] += 0x9E3779B9; // the golden ratio
    key[1] += 0xBB67AE85; // sqrt(3) - 1
  }
  return c;
}

std::array<uint32_t, 4> RandomStream::block(uint64_t number) const {
  return philox({uint32_t(number), uint32_t(number >> 32), uint32_t(stream_), uint32_t(stream_ >> 32)},
                {uint32_t(seed_), uint32_t(seed_ >> 32)});
}

double RandomStream::uniform(uint64_t index) const { return (block(index / 4)[index % 4] >> 8) * 0x1p-24; }

double RandomStream::normal(uint64_t index) const {
  std::array<uint32_t, 4> words = block(index / 2);
  unsigned at = index % 2 * 2;
  double radius = std::sqrt(-2 * std::log((words[at] + 0.5) * 0x1p-32));
  return radius * std::cos(2 * std::numbers::pi * words[at + 1] * 0x1p-32);
}

std::vector<uint32_t> shuffledOrder(uint32_t count, uint64_t seed, uint64_t epoch) {
  std::vector<uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0u);
  // The generator is SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
  uint64_t state = hashOf("shuffle") ^ (seed * 0x9E3779B97F4A7C15) ^ (epoch * 0xD1B54A32D192ED03);
  auto next = [&state] {
    uint64_t z = state += 0x9E3779B97F4A7C15;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return z ^ z >> 31;
  };
  for (uint32_t i = count; i > 1; --i) {
    // The bias of a 64-bit draw modulo i <= 2^32 is below 2^-32.
    uint32_t j = uint32_t(next() % i);
    std::swap(order[i - 1], order[j]);
  }
  return order;
}

} // namespace mpc::rt
