//===- Words.h - the random words that one op draws ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_EVALUATOR_OPS_WORDS_H
#define MPC_EVALUATOR_OPS_WORDS_H
#include "compiler/Evaluator/HostTensor.h"
#include "compiler/Evaluator/Philox.h"

namespace mpc {

/// The words of Philox that the elements of one op use.
class Words {
public:
  Words(const HostTensor &seed, const HostTensor &step, int64_t salt)
      : seed(uint64_t(int64_t(seed.values[0]))), step(uint64_t(int64_t(step.values[0]))), salt(uint32_t(salt)) {}
  /// Word i % 4 of block i / 4.
  uint32_t operator[](int64_t i) {
    if (i / 4 != current)
      block = Philox4x32({uint32_t(i / 4), salt, uint32_t(step), uint32_t(step >> 32)}, uint32_t(seed),
                         uint32_t(seed >> 32));
    current = i / 4;
    return block[i % 4];
  }

private:
  uint64_t seed, step;
  uint32_t salt;
  int64_t current = -1; // the number of `block`
  Philox4x32 block{{}, 0, 0};
};

} // namespace mpc
#endif
