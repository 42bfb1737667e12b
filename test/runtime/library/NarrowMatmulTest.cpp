//===- NarrowMatmulTest.cpp - Products of few rows against the reference --===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The oneDNN plugin computes these products with the best instruction set. Here every one computes them.
//
//===----------------------------------------------------------------------===//
#include "NarrowMatmul.h"
#include "Kernels.h"
#include "Providers.h"

#include "mpc/cpu.h"

#include <gtest/gtest.h>

namespace mpc::test {
namespace {

template <int Threads>
const mpc_library *narrowLibrary() {
  return libraryOf<onednn::makeNarrowMatmul, Threads>();
}

Desc product(int32_t type, int64_t m, int64_t n, int64_t k, bool transposed) {
  Desc d = {};
  d.op = MPC_MATMUL;
  d.type_a = d.type_b = d.type_out = type;
  d.type_bias = MPC_F32;
  d.batch = 1;
  d.m = m;
  d.n = n;
  d.k = k;
  d.transpose_b = transposed;
  return d;
}

/// Checks a product on two threads, which pack a copy of a each, and on five, which pack one together.
void check(const Desc &desc) {
  SCOPED_TRACE(describe(desc) + " on " + generic::kernels<float>().name);
  ASSERT_NE(onednn::makeNarrowMatmul(desc, 2), nullptr);
  Problem problem(narrowLibrary<2>(), desc, 1);
  problem.run();
  const std::vector<char> first = problem.result();
  EXPECT_EQ(problem.check(), "");
  problem.run(true, 0x3c);
  EXPECT_EQ(problem.result(), first) << "with other scratch, and the addend in the result's buffer";
  EXPECT_EQ(problem.integrity(), "");
  Problem other(narrowLibrary<5>(), desc, 1);
  other.run();
  EXPECT_EQ(other.result(), first) << "on five threads";
  EXPECT_EQ(other.integrity(), "");
}

class NarrowMatmulTest : public testing::TestWithParam<int32_t /*type*/> {
protected:
  const int32_t type = GetParam();
};

TEST_P(NarrowMatmulTest, EveryInstructionSetMatchesReference) {
  const std::string best = generic::kernels<float>().name;
#define MPC_LEVEL(LEVEL, NAME) #LEVEL,
  for (const char *isa : {"baseline", MPC_CPU_LEVELS(MPC_LEVEL)}) {
#undef MPC_LEVEL
    if (!generic::useKernels(isa))
      continue;
    const int64_t tile = generic::kernels<float>().tileRows, lanes = generic::kernels<float>().panelColumns / 2;
    for (bool transposed : {true, false}) {
      if (!transposed && type != MPC_F32)
        continue;
      const int64_t most = (transposed ? 8 : 4) * tile;
      // The fewest and the most rows; columns and terms that fill units, blocks and vectors, and that do not.
      for (int64_t m : {lanes, (lanes + most) / 2 | 1, most}) {
        Desc whole = product(type, m, 8 * most, 512, transposed);
        whole.n = std::max<int64_t>(whole.n, 512);
        check(whole);
        Desc ragged = product(type, m, whole.n + (transposed ? 13 : lanes), 517, transposed);
        ragged.has_bias = ragged.has_addend = 1;
        ragged.activation = MPC_ACT_RELU;
        check(ragged);
        ragged.type_out = ragged.type_bias = MPC_F32;
        check(ragged);
      }
    }
  }
  generic::useKernels(best.c_str());
}

// With more than a MiB of packed rows the threads share one copy.
TEST_P(NarrowMatmulTest, MatchesReferenceOnManyTerms) { check(product(type, 16, 128, 18001, true)); }

TEST_P(NarrowMatmulTest, LeavesOtherProducts) {
  const int64_t lanes = generic::kernels<float>().panelColumns / 2;
  EXPECT_EQ(onednn::makeNarrowMatmul(product(type, lanes - 1, 2048, 512, true), 2), nullptr) << "too few rows";
  EXPECT_EQ(onednn::makeNarrowMatmul(product(type, 128, 2048, 512, true), 2), nullptr) << "too many rows";
  EXPECT_EQ(onednn::makeNarrowMatmul(product(type, 16, 128, 512, true), 2), nullptr) << "small weights";
  Desc desc = product(type, 16, 2048, 512, true);
  desc.transpose_a = 1;
  EXPECT_EQ(onednn::makeNarrowMatmul(desc, 2), nullptr) << "a transposed a";
}

std::string typeName(const testing::TestParamInfo<int32_t> &info) {
  return info.param == MPC_F32 ? "F32" : info.param == MPC_F16 ? "F16" : "Bf16";
}
INSTANTIATE_TEST_SUITE_P(All, NarrowMatmulTest, testing::Values(MPC_F32, MPC_F16, MPC_BF16), typeName);

} // namespace
} // namespace mpc::test
