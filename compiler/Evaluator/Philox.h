//===- Philox.h - the random numbers of graph.dropout and graph.random ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_EVALUATOR_PHILOX_H
#define MPC_EVALUATOR_PHILOX_H
#include <array>
#include <cstdint>

namespace mpc {

/// Philox4x32 with 10 rounds: four words that are a function of counter and key (Salmon et al. 2011, section
/// 3.3; constants of its table 2).
class Philox4x32 {
public:
  Philox4x32(std::array<uint32_t, 4> counter, uint32_t key0, uint32_t key1) : words(counter) {
    for (int round = 0; round < 10; ++round) {
      uint64_t p0 = uint64_t(0xD2511F53) * words[0], p1 = uint64_t(0xCD9E8D57) * words[2];
      words = {uint32_t(p1 >> 32) ^ words[1] ^ key0, uint32_t(p1), uint32_t(p0 >> 32) ^ words[3] ^ key1, uint32_t(p0)};
      key0 += 0x9E3779B9; // golden ratio
      key1 += 0xBB67AE85; // sqrt(3) - 1
    }
  }
  uint32_t operator[](unsigned i) const { return words[i]; }

private:
  std::array<uint32_t, 4> words;
};

} // namespace mpc
#endif
