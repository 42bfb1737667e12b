//===- LibraryTest.cpp - Providers against the reference ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tests cover every provider, operation and type on seeded random shapes, repeated executions and
// different threads, and memory that a primitive must not touch.
//
//===----------------------------------------------------------------------===//
#include "Kernels.h"
#include "Providers.h"
#include "RandomShapes.h"

#include "mpc/cpu.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

namespace mpc::test {
namespace {

using Case = std::tuple<Provider, int32_t /*op*/, int32_t /*type*/>;

/// Compares with the reference, and expects the same bits from scratch memory that holds something else.
void checkTwice(const mpc_library *library, const Desc &desc) {
  SCOPED_TRACE(describe(desc));
  Problem problem(library, desc, 1);
  problem.run();
  const std::vector<char> first = problem.result();
  EXPECT_EQ(problem.check(), "") << problem.implementation();
  problem.run(true, 0x3c);
  EXPECT_EQ(problem.result(), first) << problem.implementation();
  EXPECT_EQ(problem.integrity(), "") << problem.implementation();
}

class LibraryTest : public testing::TestWithParam<Case> {
protected:
  void SetUp() override {
    std::tie(provider, op, type) = GetParam();
    library = provider.open(2);
    ASSERT_NE(library, nullptr);
    ASSERT_EQ(library->abi, uint32_t(MPC_LIBRARY_ABI));
  }
  void checkTwice(const Desc &desc) { test::checkTwice(library, desc); }
  Provider provider;
  int32_t op = 0, type = 0;
  const mpc_library *library = nullptr;
};
class ConvolutionTest : public LibraryTest {};
/// Properties that the generic kernels promise and oneDNN does not, since it chooses instruction sets by
/// itself and repeats bits only for a fixed number of threads.
class GenericTest : public LibraryTest {};

TEST_P(LibraryTest, MatchesReferenceOnRandomShapes) {
  // oneDNN chooses among more kernels, and sanitizers, which are slow, do not run it.
  const uint64_t seeds = provider.name == std::string("onednn") ? 150 : 60;
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    const Desc desc = randomDesc(op, type, seed);
    SCOPED_TRACE(describe(desc) + " seed " + std::to_string(seed));
    Problem problem(library, desc, seed);
    problem.run();
    EXPECT_EQ(problem.check(), "") << problem.implementation();
    EXPECT_EQ(problem.integrity(), "") << problem.implementation();
    // oneDNN's reference loops are never executed: the generic kernels are faster.
    const std::string implementation = problem.implementation();
    EXPECT_TRUE(implementation.starts_with("generic") || implementation.starts_with("oneDNN ") ||
                implementation == "winograd")
        << implementation;
    EXPECT_FALSE(implementation.starts_with("oneDNN ref")) << implementation;
  }
}

// A step of a recurrent cell multiplies few rows by large weights.
TEST_P(LibraryTest, MatchesReferenceOnProductsOfFewRows) {
  if (op != MPC_MATMUL)
    return;
  for (int64_t m : {16, 32, 37, 64})
    for (int32_t transposed : {0, 1})
      for (int epilogue = 0; epilogue < 3; ++epilogue) {
        Desc desc = {};
        desc.op = op;
        desc.type_a = desc.type_b = desc.type_out = type;
        desc.batch = 1;
        desc.m = m;
        desc.n = epilogue == 0 ? 544 : epilogue == 1 ? 555 : 528; // the last one leaves a vector behind its panels
        desc.k = 515;
        desc.transpose_b = transposed;
        desc.has_bias = desc.activation = epilogue == 1;
        desc.has_addend = epilogue == 2;
        desc.type_bias = desc.type_out;
        checkTwice(desc);
      }
}

// The lines of one operand lie 4 KiB apart, as in the weight gradients of wide layers.
TEST_P(LibraryTest, MatchesReferenceOnProductsOfLinesThatCompete) {
  if (op != MPC_MATMUL)
    return;
  for (int64_t batch : {1, 2})
    for (int32_t of : {0, 1, 2}) // of a, of b, of a that all products of the batch share
      for (int epilogue = 0; epilogue < 3; ++epilogue) {
        Desc desc = {};
        desc.op = op;
        desc.type_a = desc.type_b = desc.type_out = type;
        desc.batch = batch;
        desc.m = of == 1 ? 33 : 1024;
        desc.n = of == 1 ? 1024 : 33;
        desc.k = 21;
        desc.transpose_a = 1;
        desc.transpose_b = epilogue == 2 && of != 1;
        desc.broadcast_a = of == 2;
        desc.has_bias = desc.activation = epilogue == 1;
        desc.has_addend = epilogue == 2;
        desc.type_bias = desc.type_out;
        checkTwice(desc);
      }
}

// These shapes take code paths of their own; networks have them, with larger batches.
TEST_P(ConvolutionTest, MatchesReferenceOnLayersOfNetworks) {
  struct Layer {
    const char *what;
    int64_t N, C, in, O, kernel, stride, pad, groups, dilation = 1;
  };
  const Layer layers[] = {{"LeNet's first: planes, whole windows", 3, 1, 28, 6, 5, 1, 2, 1},
                          {"LeNet's second: planes in the input gradient", 2, 6, 14, 16, 5, 1, 0, 1},
                          {"colour images", 1, 3, 32, 32, 3, 1, 1, 1},
                          {"narrow map, many channels: blocked layouts", 2, 64, 4, 96, 3, 1, 1, 1},
                          {"strided to a narrow map", 2, 64, 8, 80, 3, 2, 1, 1},
                          {"downsampling 1x1", 2, 48, 8, 64, 1, 2, 0, 1},
                          {"depthwise", 2, 24, 9, 24, 3, 1, 1, 24},
                          {"several steps of positions in a piece", 5, 16, 32, 16, 3, 1, 1, 1},
                          {"dilated, channels that fill no block", 2, 57, 14, 5, 4, 1, 0, 1, 3},
                          {"strided 1x1, channels that fill no block", 3, 9, 27, 1, 1, 3, 0, 1},
                          {"strided 1x1 of one channel", 3, 1, 16, 8, 1, 2, 0, 1},
                          {"depthwise 5x5 with a stride", 2, 40, 14, 40, 5, 2, 2, 40},
                          {"depthwise in blocks of columns", 1, 4, 260, 4, 3, 1, 1, 4},
                          {"positions in the padding alone", 2, 50, 15, 17, 1, 3, 1, 1}};
  for (const Layer &l : layers) {
    Desc desc = {};
    desc.op = op;
    desc.type_a = desc.type_b = desc.type_out = type;
    desc.spatial = 2;
    desc.N = l.N;
    desc.C = l.C;
    desc.O = l.O;
    desc.groups = l.groups;
    for (int i = 0; i < 2; ++i) {
      desc.in[i] = l.in;
      desc.kernel[i] = l.kernel;
      desc.stride[i] = l.stride;
      desc.dilation[i] = l.dilation;
      desc.pad_low[i] = desc.pad_high[i] = l.pad;
      desc.out[i] = (l.in + 2 * l.pad - (l.kernel - 1) * l.dilation - 1) / l.stride + 1;
    }
    for (int epilogue = 0; epilogue < (op == MPC_CONV_WEIGHT_GRAD ? 1 : 3); ++epilogue) {
      desc.has_bias = desc.activation = epilogue == 1;
      desc.has_addend = epilogue == 2;
      desc.type_bias = desc.type_out;
      SCOPED_TRACE(std::string(l.what) + ": " + describe(desc));
      Problem problem(library, desc, 1);
      problem.run();
      EXPECT_EQ(problem.check(), "");
      EXPECT_EQ(problem.integrity(), "");
    }
  }
}

// Each channel by itself: in blocks of columns, in several chunks of channels, in one and three dimensions, and with
// windows that span more than a slab should.
TEST_P(ConvolutionTest, MatchesReferenceOnDepthwiseConvolutions) {
  struct Layer {
    int spatial;
    int64_t N, C, in[3], kernel[3], stride, dilation, pad;
  };
  const Layer layers[] = {{1, 2, 40, {1300}, {5}, 2, 1, 2},         {1, 1, 70, {600}, {3}, 1, 200, 200},
                          {2, 1, 8, {40, 40}, {3, 3}, 1, 36, 36},   {2, 1, 4, {64, 640}, {16, 16}, 16, 1, 0},
                          {2, 2, 33, {12, 9}, {3, 2}, 3, 1, 1},     {3, 2, 36, {5, 6, 7}, {3, 3, 3}, 2, 1, 1},
                          {3, 1, 5, {4, 9, 11}, {2, 3, 1}, 1, 2, 2}};
  for (const Layer &l : layers) {
    Desc desc = {};
    desc.op = op;
    desc.type_a = desc.type_b = desc.type_out = type;
    desc.spatial = l.spatial;
    desc.N = l.N;
    desc.C = desc.O = desc.groups = l.C;
    for (int i = 0; i < l.spatial; ++i) {
      desc.in[i] = l.in[i];
      desc.kernel[i] = l.kernel[i];
      desc.stride[i] = l.stride;
      desc.dilation[i] = l.dilation;
      desc.pad_low[i] = desc.pad_high[i] = l.pad;
      desc.out[i] = (l.in[i] + 2 * l.pad - (l.kernel[i] - 1) * l.dilation - 1) / l.stride + 1;
    }
    SCOPED_TRACE(describe(desc));
    Problem problem(library, desc, 1);
    problem.run();
    EXPECT_EQ(problem.check(), "") << problem.implementation();
    EXPECT_EQ(problem.integrity(), "") << problem.implementation();
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

TEST_P(GenericTest, ResultsDoNotDependOnThreads) {
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

#ifdef MPC_ONEDNN_PLUGIN
TEST(Plugin, ComputesALayerOfVggByWinogradsMethod) {
  const Desc desc = convolution(MPC_CONV_FORWARD, MPC_F32, 1, 64, 64, 56, 56);
  EXPECT_EQ(Problem(providers().back().open(2), desc, 1).implementation(), "winograd");
}

// On Intel's processors with AVX-512 oneDNN's GEMM computes these shapes, and oneDNN would choose other kernels.
TEST(Plugin, MatchesReferenceOnProductsOfManyRowsOrColumns) {
  struct Shape {
    int64_t m, n, k;
    int32_t transpose_a, transpose_b;
    bool isGemmWithBias;
  };
  const mpc_library *onednn = providers().back().open(2);
  for (const Shape &shape :
       {Shape{1024, 512, 9, 0, 0, false}, Shape{1025, 257, 513, 0, 0, false}, Shape{1025, 771, 17, 0, 1, false},
        Shape{65, 2049, 5, 0, 0, true}, Shape{64, 3072, 7, 1, 0, true}, Shape{65, 515, 1027, 1, 0, true}})
    for (int epilogue = 0; epilogue < 4; ++epilogue) {
      Desc desc = {};
      desc.op = MPC_MATMUL;
      desc.type_a = desc.type_b = desc.type_out = desc.type_bias = MPC_F32;
      desc.batch = 1;
      desc.m = shape.m, desc.n = shape.n, desc.k = shape.k;
      desc.transpose_a = shape.transpose_a, desc.transpose_b = shape.transpose_b;
      desc.has_bias = epilogue == 1 || epilogue == 3;
      desc.activation = desc.has_bias ? MPC_ACT_RELU : MPC_ACT_NONE;
      desc.has_addend = epilogue >= 2;
      checkTwice(onednn, desc);
#if defined(__x86_64__)
      if (__builtin_cpu_is("intel") && (!desc.has_bias || shape.isGemmWithBias)) {
        const std::string implementation = Problem(onednn, desc, 1).implementation();
        EXPECT_TRUE(implementation.starts_with("oneDNN gemm:jit")) << implementation << ": " << describe(desc);
      }
#endif
    }
}
#endif

/// The levels that the generic kernels are compiled for, the best last.
#define MPC_LEVEL(LEVEL, NAME) #LEVEL,
const std::string levels[] = {"baseline", MPC_CPU_LEVELS(MPC_LEVEL)};
#undef MPC_LEVEL

TEST_P(GenericTest, EveryInstructionSetMatchesReference) {
  const std::string best = generic::kernels<float>().name;
  for (const std::string &isa : levels)
    for (uint64_t seed = 300; seed < 320 && generic::useKernels(isa.c_str()); ++seed) {
      const Desc desc = randomDesc(op, type, seed);
      SCOPED_TRACE(describe(desc) + " on " + isa);
      Problem problem(library, desc, seed);
      problem.run();
      EXPECT_EQ(problem.check(), "");
      EXPECT_EQ(problem.integrity(), "");
    }
  generic::useKernels(best.c_str());
}

// A level may share the f64 kernels of another one, which then has to be no better: its CPUs must have what they need.
TEST(Levels, ThatShareKernelsOfF64TakeThoseOfNoBetterLevel) {
  const std::string best = generic::kernels<float>().name;
  for (const std::string &isa : levels)
    if (generic::useKernels(isa.c_str())) {
      const std::string taken = generic::kernels<double>().name;
      EXPECT_LE(std::find(std::begin(levels), std::end(levels), taken),
                std::find(std::begin(levels), std::end(levels), isa))
          << isa << " takes the f64 kernels of " << taken << " (runtime/host/generic/Kernels.cpp)";
    }
  generic::useKernels(best.c_str());
}

std::string caseName(const testing::TestParamInfo<Case> &info) {
  static const char *const ops[] = {"", "Matmul", "ConvForward", "ConvInputGrad", "ConvWeightGrad"};
  static const char *const types[] = {"", "F16", "Bf16", "F32", "F64"};
  return std::string(std::get<0>(info.param).name) + ops[std::get<1>(info.param)] + types[std::get<2>(info.param)];
}

const auto convolutions = testing::Values(MPC_CONV_FORWARD, MPC_CONV_INPUT_GRAD, MPC_CONV_WEIGHT_GRAD);
const auto ops = testing::Values(MPC_MATMUL, MPC_CONV_FORWARD, MPC_CONV_INPUT_GRAD, MPC_CONV_WEIGHT_GRAD);
const auto types = testing::Values(MPC_F16, MPC_BF16, MPC_F32, MPC_F64);
const auto genericOnly = testing::Values(providers().front());

INSTANTIATE_TEST_SUITE_P(All, LibraryTest, testing::Combine(testing::ValuesIn(providers()), ops, types), caseName);
INSTANTIATE_TEST_SUITE_P(All, ConvolutionTest, testing::Combine(testing::ValuesIn(providers()), convolutions, types),
                         caseName);
INSTANTIATE_TEST_SUITE_P(All, GenericTest, testing::Combine(genericOnly, ops, types), caseName);

} // namespace
} // namespace mpc::test
