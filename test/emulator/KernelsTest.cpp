// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels without faults: their results are right, and the emulator finds nothing.
#include "EmulatorHarness.h"
#include <cmath>
#include <numeric>

using namespace mpc::test;
using mpc::rt::emulator::Fault;

TEST(Emulator, BlockReduction) {
  EmulatedKernel k(kernelText(128, 2, blockReduction));
  std::vector<float> x(128 * 70), y(70);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = float(i % 251) - 100; // sums of small integers are exact
  k.run({70}, x, y);
  for (size_t b = 0; b < y.size(); ++b)
    EXPECT_EQ(y[b], std::accumulate(x.begin() + b * 128, x.begin() + (b + 1) * 128, 0.0f)) << b;
}

TEST(Emulator, BlockIds) {
  EmulatedKernel k(kernelText(32, 1, R"(
    %t = kernel.thread_id
    %x = kernel.block_id x
    %y = kernel.block_id y
    %z = kernel.block_id z
    %c2 = arith.constant 2 : i32
    %c3 = arith.constant 3 : i32
    %c32 = arith.constant 32 : i32
    %zy = arith.muli %z, %c3 : i32
    %a = arith.addi %zy, %y : i32
    %a2 = arith.muli %a, %c2 : i32
    %b = arith.addi %a2, %x : i32
    %b32 = arith.muli %b, %c32 : i32
    %i = arith.addi %b32, %t : i32
    %p = llvm.getelementptr %b0[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    llvm.store %i, %p : i32, !llvm.ptr<1>)"));
  std::vector<int32_t> out(2 * 3 * 4 * 32), expected(out.size());
  std::iota(expected.begin(), expected.end(), 0);
  k.run({2, 3, 4}, out);
  EXPECT_EQ(out, expected);
}

TEST(Emulator, ShufflesAndVotes) {
  EmulatedKernel k(kernelText(64, 1, R"(
    %t = kernel.thread_id
    %c3 = arith.constant 3 : i32
    %c5 = arith.constant 5 : i32
    %c70 = arith.constant 70 : i32
    %c64 = arith.constant 64 : i32
    %c33 = arith.constant 33 : i32
    %s0 = kernel.shuffle xor %t, %c5 : i32
    %s1 = kernel.shuffle down %t, %c3 : i32
    %s2 = kernel.shuffle up %t, %c3 : i32
    %s3 = kernel.shuffle index %t, %c5 : i32
    %s4 = kernel.shuffle index %t, %c70 : i32
    %is33 = arith.cmpi eq, %t, %c33 : i32
    %above = arith.cmpi ult, %t, %c33 : i32
    %v0 = kernel.vote any %is33
    %v1 = kernel.vote all %above
    %w0 = arith.extui %v0 : i1 to i32
    %w1 = arith.extui %v1 : i1 to i32
    %q0 = llvm.getelementptr %b0[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    llvm.store %s0, %q0 : i32, !llvm.ptr<1>
    %q1 = llvm.getelementptr %q0[64] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
    llvm.store %s1, %q1 : i32, !llvm.ptr<1>
    %q2 = llvm.getelementptr %q0[128] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
    llvm.store %s2, %q2 : i32, !llvm.ptr<1>
    %q3 = llvm.getelementptr %q0[192] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
    llvm.store %s3, %q3 : i32, !llvm.ptr<1>
    %q4 = llvm.getelementptr %q0[256] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
    llvm.store %s4, %q4 : i32, !llvm.ptr<1>
    %q5 = llvm.getelementptr %q0[320] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
    llvm.store %w0, %q5 : i32, !llvm.ptr<1>
    %q6 = llvm.getelementptr %q0[384] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
    llvm.store %w1, %q6 : i32, !llvm.ptr<1>)"));
  std::vector<int32_t> out(7 * 64);
  k.run({1}, out);
  for (int t = 0; t < 64; ++t) {
    int lane = t % 32, base = t - lane;
    EXPECT_EQ(out[t], base + (lane ^ 5));
    EXPECT_EQ(out[64 + t], lane + 3 < 32 ? t + 3 : t);
    EXPECT_EQ(out[128 + t], lane >= 3 ? t - 3 : t);
    EXPECT_EQ(out[192 + t], base + 5);
    EXPECT_EQ(out[256 + t], base + 70 % 32);
    EXPECT_EQ(out[320 + t], t >= 32);
    EXPECT_EQ(out[384 + t], t < 32);
  }
}

// Two halves of the block exchange values through barriers of their own. A warp exits early, and the block's barrier
// does not wait for it.
TEST(Emulator, NamedBarriersAndEarlyExit) {
  EmulatedKernel k(R"(
  llvm.func @k(%x: !llvm.ptr<1>) attributes {kernel.entry = #kernel.entry<threads = 160>} {
    %t = kernel.thread_id
    %c128 = llvm.mlir.constant(128 : i32) : i32
    %c64 = llvm.mlir.constant(64 : i32) : i32
    %c127 = llvm.mlir.constant(127 : i32) : i32
    %c63 = llvm.mlir.constant(63 : i32) : i32
    %s = kernel.shared 512
    %stays = llvm.icmp "ult" %t, %c128 : i32
    llvm.cond_br %stays, ^work, ^exit
  ^work:
    %p = llvm.getelementptr %s[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
    llvm.store %t, %p : i32, !llvm.ptr<3>
    %low = llvm.icmp "ult" %t, %c64 : i32
    scf.if %low {
      kernel.barrier {id = 1 : i32, threads = 64 : i32}
    } else {
      kernel.barrier {id = 2 : i32, threads = 64 : i32}
    }
    %m = llvm.xor %t, %c63 : i32
    %q = llvm.getelementptr %s[%m] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
    %v = llvm.load %q : !llvm.ptr<3> -> i32
    kernel.barrier
    %r = llvm.sub %c127, %t : i32
    %w = llvm.getelementptr %s[%r] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
    llvm.store %v, %w : i32, !llvm.ptr<3>
    kernel.barrier
    %v2 = llvm.load %p : !llvm.ptr<3> -> i32
    %y = llvm.getelementptr %x[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    llvm.store %v2, %y : i32, !llvm.ptr<1>
    llvm.br ^exit
  ^exit:
    llvm.return
  })");
  std::vector<int32_t> out(128);
  k.run({3}, out);
  for (int t = 0; t < 128; ++t)
    EXPECT_EQ(out[t], (127 - t) ^ 63);
}

// Lanes of a warp take different branches and exchange values through shared memory after a warp_sync; the upper half
// exits before a vote.
TEST(Emulator, DivergentLanes) {
  EmulatedKernel k(R"(
  llvm.func @k(%x: !llvm.ptr<1>) attributes {kernel.entry = #kernel.entry<threads = 32>} {
    %t = kernel.thread_id
    %c16 = llvm.mlir.constant(16 : i32) : i32
    %c31 = llvm.mlir.constant(31 : i32) : i32
    %c100 = llvm.mlir.constant(100 : i32) : i32
    %s = kernel.shared 128
    %p = llvm.getelementptr %s[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
    %low = llvm.icmp "ult" %t, %c16 : i32
    scf.if %low {
      llvm.store %t, %p : i32, !llvm.ptr<3>
    } else {
      %u = llvm.add %t, %c100 : i32
      llvm.store %u, %p : i32, !llvm.ptr<3>
    }
    kernel.warp_sync
    %m = llvm.xor %t, %c31 : i32
    %q = llvm.getelementptr %s[%m] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
    %v = llvm.load %q : !llvm.ptr<3> -> i32
    %y = llvm.getelementptr %x[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    llvm.store %v, %y : i32, !llvm.ptr<1>
    llvm.cond_br %low, ^vote, ^exit
  ^vote:
    %all = kernel.vote all %low
    %w = llvm.zext %all : i1 to i32
    %z = llvm.getelementptr %y[32] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
    llvm.store %w, %z : i32, !llvm.ptr<1>
    llvm.br ^exit
  ^exit:
    llvm.return
  })");
  std::vector<int32_t> out(48);
  k.run({1}, out);
  for (int t = 0; t < 32; ++t)
    EXPECT_EQ(out[t], t < 16 ? 131 - t : 31 - t);
  for (int t = 0; t < 16; ++t)
    EXPECT_EQ(out[32 + t], 1);
}

// y = x shifted by one thread, through three stages of shared memory and two copies ahead; `valid`
// shortens the last copy.
TEST(Emulator, CopyAsyncPipeline) {
  EmulatedKernel k(kernelText(64, 2, R"(
    %t = kernel.thread_id
    %stages = kernel.shared 3072
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %two = arith.constant 2 : index
    %six = arith.constant 6 : index
    %c16 = arith.constant 16 : i32
    %c4 = arith.constant 4 : i32
    %c0 = arith.constant 0 : i32
    %c63 = arith.constant 63 : i32
    %c1 = arith.constant 1 : i32
    %c64 = arith.constant 64 : i32
    %c3 = arith.constant 3 : i32
    %c5 = arith.constant 5 : i32
    scf.for %s = %zero to %two step %one {
      %s32 = arith.index_cast %s : index to i32
      %row = arith.muli %s32, %c64 : i32
      %i = arith.addi %row, %t : i32
      %from = llvm.getelementptr %b0[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<4xf32>
      %to = llvm.getelementptr %stages[%i] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, vector<4xf32>
      kernel.copy_async %to, %from, 16
      kernel.copy_async_commit
    }
    scf.for %s = %zero to %six step %one {
      kernel.copy_async_wait 1
      kernel.barrier
      %s32 = arith.index_cast %s : index to i32
      %ahead = arith.index_cast %two : index to i32
      %n = arith.addi %s32, %ahead : i32
      %more = arith.cmpi ule, %n, %c5 : i32
      scf.if %more {
        %row = arith.muli %n, %c64 : i32
        %i = arith.addi %row, %t : i32
        %from = llvm.getelementptr %b0[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<4xf32>
        %stage = arith.remui %n, %c3 : i32
        %place = arith.muli %stage, %c64 : i32
        %j = arith.addi %place, %t : i32
        %to = llvm.getelementptr %stages[%j] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, vector<4xf32>
        %lastRow = arith.cmpi eq, %n, %c5 : i32
        %lastThread = arith.cmpi eq, %t, %c63 : i32
        %last = arith.andi %lastRow, %lastThread : i1
        %valid = arith.select %last, %c4, %c16 : i32
        kernel.copy_async %to, %from, 16 valid %valid
      }
      kernel.copy_async_commit
      %next = arith.addi %t, %c1 : i32
      %other = arith.andi %next, %c63 : i32
      %stage = arith.remui %s32, %c3 : i32
      %place = arith.muli %stage, %c64 : i32
      %j = arith.addi %place, %other : i32
      %p = llvm.getelementptr %stages[%j] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, vector<4xf32>
      %v = llvm.load %p : !llvm.ptr<3> -> vector<4xf32>
      %row = arith.muli %s32, %c64 : i32
      %i = arith.addi %row, %t : i32
      %q = llvm.getelementptr %b1[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<4xf32>
      llvm.store %v, %q : vector<4xf32>, !llvm.ptr<1>
    })"));
  // The input lacks its last three elements; `valid` keeps the copy from reading there.
  std::vector<float> x(6 * 64 * 4 - 3), y(6 * 64 * 4);
  std::iota(x.begin(), x.end(), 1.0f);
  k.run({2}, x, y);
  for (size_t i = 0; i < y.size(); ++i) {
    size_t row = i / 256, thread = i % 256 / 4, from = row * 256 + (thread + 1) % 64 * 4 + i % 4;
    EXPECT_EQ(y[i], from < x.size() ? x[from] : 0) << i;
  }
}

TEST(Emulator, Approximations) {
  EmulatedKernel k(kernelText(32, 2, R"(
    %t = kernel.thread_id
    %p = llvm.getelementptr %b0[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %p : !llvm.ptr<1> -> f32
    %a = kernel.approx exp2 %x
    %b = kernel.approx log2 %x
    %c = kernel.approx reciprocal %x
    %d = kernel.approx rsqrt %x
    %q0 = llvm.getelementptr %b1[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    llvm.store %a, %q0 : f32, !llvm.ptr<1>
    %q1 = llvm.getelementptr %q0[32] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
    llvm.store %b, %q1 : f32, !llvm.ptr<1>
    %q2 = llvm.getelementptr %q0[64] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
    llvm.store %c, %q2 : f32, !llvm.ptr<1>
    %q3 = llvm.getelementptr %q0[96] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
    llvm.store %d, %q3 : f32, !llvm.ptr<1>)"));
  std::vector<float> x(32), y(128);
  for (int i = 0; i < 32; ++i)
    x[i] = std::ldexp(1.0f + i / 40.0f, i - 8);
  x[0] = 0, x[1] = 1e-40f, x[2] = INFINITY, x[3] = NAN, x[4] = 3e38f;
  k.run({1}, x, y);
  for (int i = 0; i < 32; ++i) {
    if (i == 3) {
      for (int f = 0; f < 4; ++f)
        EXPECT_TRUE(std::isnan(y[f * 32 + i]));
      continue;
    }
    double v = i == 1 ? 0 : x[i]; // subnormals are flushed to zero
    EXPECT_EQ(y[i], float(std::exp2(v)));
    EXPECT_EQ(y[32 + i], float(std::log2(v)));
    EXPECT_EQ(y[64 + i], std::abs(1 / v) < 0x1p-126 ? 0 : float(1 / v));
    EXPECT_EQ(y[96 + i], float(1 / std::sqrt(v)));
  }
}
