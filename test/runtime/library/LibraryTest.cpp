//===- LibraryTest.cpp - Providers against the reference ------------------===//
//
// Every provider, operation and type on seeded random shapes; repeated and differently threaded executions;
// memory that a primitive may not touch.
//
//===----------------------------------------------------------------------===//
#include "Kernels.h"
#include "Providers.h"
#include "RandomShapes.h"

#include <gtest/gtest.h>

#include <tuple>

namespace mpc::test {
namespace {

using Case = std::tuple<Provider, int32_t /*op*/, int32_t /*type*/>;

class LibraryTest : public testing::TestWithParam<Case> {
protected:
  void SetUp() override {
    std::tie(provider, op, type) = GetParam();
    library = provider.open(2);
    ASSERT_NE(library, nullptr);
    ASSERT_EQ(library->abi, uint32_t(MPC_LIBRARY_ABI));
  }
  Provider provider;
  int32_t op = 0, type = 0;
  const mpc_library *library = nullptr;
};

TEST_P(LibraryTest, MatchesReferenceOnRandomShapes) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const Desc desc = randomDesc(op, type, seed);
    SCOPED_TRACE(describe(desc) + " seed " + std::to_string(seed));
    Problem problem(library, desc, seed);
    problem.run();
    ASSERT_EQ(problem.check(), "");
    ASSERT_EQ(problem.integrity(), "");
  }
}

TEST_P(LibraryTest, RepeatsBitForBitWhateverTheScratchHolds) {
  for (uint64_t seed = 100; seed < 130; ++seed) {
    const Desc desc = randomDesc(op, type, seed);
    SCOPED_TRACE(describe(desc));
    Problem problem(library, desc, seed);
    problem.run();
    const std::vector<char> first = problem.result();
    problem.run(false, 0x3c);
    ASSERT_EQ(problem.result(), first);
    problem.run(true);
    ASSERT_EQ(problem.result(), first) << "with the addend in the result's buffer";
    ASSERT_EQ(problem.check(), "");
  }
}

TEST_P(LibraryTest, GenericResultsDoNotDependOnThreads) {
  if (std::string(provider.name) != "generic")
    GTEST_SKIP() << "oneDNN promises this only for a fixed number of threads";
  for (uint64_t seed = 200; seed < 230; ++seed) {
    const Desc desc = randomDesc(op, type, seed);
    SCOPED_TRACE(describe(desc));
    std::vector<std::vector<char>> results;
    for (int threads : {1, 2, 5}) {
      Problem problem(provider.open(threads), desc, seed);
      problem.run();
      results.push_back(problem.result());
    }
    ASSERT_EQ(results[0], results[1]);
    ASSERT_EQ(results[0], results[2]);
  }
}

TEST_P(LibraryTest, EveryInstructionSetMatchesReference) {
  if (std::string(provider.name) != "generic")
    GTEST_SKIP() << "oneDNN chooses by itself";
  const std::string best = generic::kernels<float>().name;
  for (const char *isa : {"baseline", "v3", "v4"})
    for (uint64_t seed = 300; seed < 320 && generic::useKernels(isa); ++seed) {
      const Desc desc = randomDesc(op, type, seed);
      SCOPED_TRACE(describe(desc) + " on " + isa);
      Problem problem(library, desc, seed);
      problem.run();
      EXPECT_EQ(problem.check(), "");
      EXPECT_EQ(problem.integrity(), "");
    }
  generic::useKernels(best.c_str());
}

std::string caseName(const testing::TestParamInfo<Case> &info) {
  static const char *const ops[] = {"", "Matmul", "ConvForward", "ConvInputGrad", "ConvWeightGrad"};
  static const char *const types[] = {"", "F16", "Bf16", "F32", "F64"};
  return std::string(std::get<0>(info.param).name) + ops[std::get<1>(info.param)] +
         types[std::get<2>(info.param)];
}

INSTANTIATE_TEST_SUITE_P(All, LibraryTest,
                         testing::Combine(testing::ValuesIn(providers()),
                                          testing::Values(MPC_MATMUL, MPC_CONV_FORWARD, MPC_CONV_INPUT_GRAD,
                                                          MPC_CONV_WEIGHT_GRAD),
                                          testing::Values(MPC_F16, MPC_BF16, MPC_F32, MPC_F64)),
                         caseName);

} // namespace
} // namespace mpc::test
