//===- BFloat16Test.cpp - rounding to bf16 -------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CompiledArithmetic.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace mpc;
using namespace mpc::test;

static uint32_t bitsOf(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

// Every number of bf16 is an upper half of an f32; around each, the lower halves are those at which rounding changes.
TEST(BFloat16, RoundsToNearestEvenAndNaNsBecomeOne) {
  std::vector<float> in;
  for (uint32_t upper = 0; upper < (1u << 16); ++upper)
    for (uint32_t lower : {0u, 1u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu}) {
      uint32_t bits = upper << 16 | lower;
      float x;
      std::memcpy(&x, &bits, sizeof x);
      in.push_back(x);
    }
  std::vector<float> out(in.size());
  CompiledArithmetic compiled(loopOver("round", "%r = kernel.round_bf16 %x", false, "f32", "f32"));
  compiled.find("round")(in.data(), nullptr, out.data(), int64_t(in.size()));
  for (size_t i = 0; i < in.size(); ++i) {
    llvm::APFloat want(in[i]);
    bool losesInfo = false;
    want.convert(llvm::APFloat::BFloat(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    uint32_t bits = std::isnan(in[i]) ? 0x7fff0000u : uint32_t(want.bitcastToAPInt().getZExtValue() << 16);
    ASSERT_EQ(bitsOf(out[i]), bits) << in[i] << " with the bits " << bitsOf(in[i]);
  }
}
