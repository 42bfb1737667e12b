// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Planted faults: each is found under every order of threads, and its message names the op. The same kernel without
// the fault is clean.
#include "HopperHarness.h"

using namespace mpc::test;
using mpc::rt::emulator::Fault;

/// One block of 64 threads computes y[t] = x[t + shift] on buffers of 64 words.
static std::string shifted(const std::string &readShift, const std::string &writeShift) {
  return kernelText(64, 2,
                    R"(
    %t = kernel.thread_id
    %p0 = llvm.getelementptr %b0[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %p = llvm.getelementptr %p0[)" +
                        readShift + R"(] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
    %v = llvm.load %p : !llvm.ptr<1> -> f32 loc("node_a")
    %q0 = llvm.getelementptr %b1[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %q = llvm.getelementptr %q0[)" +
                        writeShift + R"(] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
    llvm.store %v, %q : f32, !llvm.ptr<1> loc("node_b"))");
}

TEST(EmulatorFaults, GlobalBounds) {
  std::vector<float> x(64, 1.0f), y(64);
  EmulatedKernel clean(shifted("0", "0"));
  clean.run({1}, x, y);
  EXPECT_EQ(y, x);
  EmulatedKernel above(shifted("1", "0")), below(shifted("-1", "0")), write(shifted("0", "1"));
  std::string message = above.fault(Fault::OutOfBoundsRead, {1}, x, y);
  EXPECT_NAMES(message, "error: node_a: llvm.load: out-of-bounds read in test, kernel k, block (0, 0, 0), thread 63: "
                        "4 bytes at byte 256 of buffer 0, which has 256");
  EXPECT_NAMES(below.fault(Fault::OutOfBoundsRead, {1}, x, y), "thread 0: 4 bytes at byte -4 of buffer 0");
  EXPECT_NAMES(write.fault(Fault::OutOfBoundsWrite, {1}, x, y),
               "node_b: llvm.store: out-of-bounds write in test, kernel k, block (0, 0, 0), thread 63");
}

TEST(EmulatorFaults, FirstFaultyBlockIsNamed) {
  EmulatedKernel k(kernelText(32, 1, R"(
    %b = kernel.block_id x
    %p = llvm.getelementptr %b0[%b] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    %v = llvm.load %p : !llvm.ptr<1> -> i32)"));
  std::vector<int32_t> x(37);
  EXPECT_NAMES(k.fault(Fault::OutOfBoundsRead, {200}, x), "block (37, 0, 0), thread 0");
}

TEST(EmulatorFaults, WriteToInput) {
  EmulatedKernel k(shifted("0", "0"));
  std::vector<std::vector<char>> buffers(2, std::vector<char>(256));
  auto error = k.launch(0, {1}, buffers, /*readOnly=*/true);
  ASSERT_TRUE(error);
  EXPECT_NAMES(error->text(), "node_b: llvm.store: write to a read-only buffer");
}

TEST(EmulatorFaults, MisalignedVectorLoad) {
  auto text = [](const char *type) {
    return kernelText(32, 1,
                      R"(
    %p = llvm.getelementptr %b0[2] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
    %v = llvm.load %p : !llvm.ptr<1> -> vector<)" +
                          std::string(type) + ">");
  };
  std::vector<float> x(64);
  EmulatedKernel(text("2xf32")).run({1}, x);
  EXPECT_NAMES(EmulatedKernel(text("4xf32")).fault(Fault::Misaligned, {1}, x),
               "an access of 16 bytes in global memory is not aligned to 16");
  // A piece of shared memory counts as aligned to what it states and no more, even if its offset is aligned better.
  EmulatedKernel shared(kernelText(32, 0, R"(
    %s = kernel.shared 512 {alignment = 8 : i64}
    %v = llvm.mlir.zero : vector<4xf32>
    %t = kernel.thread_id
    %p = llvm.getelementptr %s[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, vector<4xf32>
    llvm.store %v, %p : vector<4xf32>, !llvm.ptr<3>)"));
  EXPECT_NAMES(shared.fault(Fault::Misaligned, {1}), "an access of 16 bytes in shared memory is not aligned to 16");
}

/// 64 threads reverse 64 words through shared memory.
static std::string reversal(const std::string &between, const std::string &bytes = "256") {
  return kernelText(64, 1,
                    R"(
    %t = kernel.thread_id
    %c63 = llvm.mlir.constant(63 : i32) : i32
    %c32 = llvm.mlir.constant(32 : i32) : i32
    %low = llvm.icmp "ult" %t, %c32 : i32
    %s = kernel.shared )" +
                        bytes + R"(
    %p = llvm.getelementptr %s[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
    llvm.store %t, %p : i32, !llvm.ptr<3> loc("write")
)" + between + R"(
    %r = llvm.sub %c63, %t : i32
    %q = llvm.getelementptr %s[%r] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
    %v = llvm.load %q : !llvm.ptr<3> -> i32 loc("read")
    %o = llvm.getelementptr %b0[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    llvm.store %v, %o : i32, !llvm.ptr<1>)");
}

TEST(EmulatorFaults, MissingBarrier) {
  std::vector<int32_t> y(64);
  EmulatedKernel(reversal("kernel.barrier")).run({2}, y);
  for (int t = 0; t < 64; ++t)
    EXPECT_EQ(y[t], 63 - t);
  // Without any barrier a thread may read before the writer (the word was never written) or after it (a race).
  // Both are this fault.
  EmulatedKernel none(reversal(""));
  std::vector<std::vector<char>> buffers(1, std::vector<char>(256));
  for (uint64_t seed = 0; seed < 8; ++seed) {
    auto error = none.launch(seed, {1}, buffers);
    ASSERT_TRUE(error) << seed;
    EXPECT_NAMES(error->text(), "read: llvm.load: ");
  }
  // A warp_sync orders the lanes of a warp, not the warps; shuffles and votes order nothing. A barrier is missing after
  // the write of the other warp.
  std::string crossing = reversal(R"(kernel.warp_sync
    %any = kernel.vote any %low
    scf.if %low { kernel.barrier {id = 1 : i32, threads = 32 : i32} })");
  EmulatedKernel warps(crossing);
  for (uint64_t seed = 0; seed < 8; ++seed)
    EXPECT_TRUE(warps.launch(seed, {1}, buffers)) << seed;
}

TEST(EmulatorFaults, Races) {
  // The second write of a pipeline comes before others have read the first one: a write after read.
  auto text = [](const std::string &second) {
    return kernelText(64, 0, R"(
    %t = kernel.thread_id
    %c63 = llvm.mlir.constant(63 : i32) : i32
    %s = kernel.shared 256
    %p = llvm.getelementptr %s[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
    llvm.store %t, %p : i32, !llvm.ptr<3>
    kernel.barrier
    %r = llvm.sub %c63, %t : i32
    %q = llvm.getelementptr %s[%r] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
    %v = llvm.load %q : !llvm.ptr<3> -> i32
)" + second + R"(
    llvm.store %v, %p : i32, !llvm.ptr<3> loc("again"))");
  };
  EmulatedKernel(text("kernel.barrier")).run({1});
  std::vector<std::vector<char>> none;
  // Whether the read or the write comes first, the op that comes second is named.
  EXPECT_NAMES(EmulatedKernel(text("")).fault(Fault::Race, {1}),
               "of piece 0 of shared memory without a barrier after the ");
  EXPECT_NAMES(EmulatedKernel(text("kernel.warp_sync")).fault(Fault::Race, {1}),
               "race in test, kernel k, block (0, 0, 0), thread ");
  // All threads write one word.
  EmulatedKernel same(kernelText(64, 0, R"(
    %t = kernel.thread_id
    %s = kernel.shared 16
    llvm.store %t, %s : i32, !llvm.ptr<3>)"));
  EXPECT_NAMES(same.fault(Fault::Race, {1}),
               "write of byte 0 of piece 0 of shared memory without a barrier after the write by thread ");
  // Atomics do not race with each other, and neither do accesses to different halves of a word.
  EmulatedKernel atomics(kernelText(64, 1, R"(
    %t = kernel.thread_id
    %c0 = llvm.mlir.constant(0 : i32) : i32
    %c1 = llvm.mlir.constant(1 : i32) : i32
    %s = kernel.shared 16
    %h = kernel.shared 128
    %first = llvm.icmp "eq" %t, %c0 : i32
    scf.if %first { llvm.store %c0, %s : i32, !llvm.ptr<3> }
    %short = llvm.trunc %t : i32 to i16
    %p = llvm.getelementptr %h[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i16
    llvm.store %short, %p : i16, !llvm.ptr<3>
    kernel.barrier
    %old = llvm.atomicrmw add %s, %c1 monotonic : !llvm.ptr<3>, i32
    kernel.barrier
    %sum = llvm.load %s : !llvm.ptr<3> -> i32
    %q = llvm.getelementptr %b0[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    llvm.store %sum, %q : i32, !llvm.ptr<1>)"));
  std::vector<int32_t> sums(64);
  atomics.run({1}, sums);
  EXPECT_EQ(sums, std::vector<int32_t>(64, 64));
}

TEST(EmulatorFaults, DivergentBarrier) {
  // The two warps wait at different barriers, and both wait for ever.
  std::string text = kernelText(64, 0, R"(
    %t = kernel.thread_id
    %c32 = llvm.mlir.constant(32 : i32) : i32
    %low = llvm.icmp "ult" %t, %c32 : i32
    scf.if %low {
      kernel.barrier {id = 1 : i32, threads = 64 : i32} loc("one")
    } else {
      kernel.barrier {id = 2 : i32, threads = 64 : i32} loc("two")
    })");
  EXPECT_NAMES(EmulatedKernel(text).fault(Fault::DivergentBarrier, {1}),
               "one: kernel.barrier: divergent barrier in test, kernel k, block (0, 0, 0), thread 0: 32 threads wait "
               "here for ever; thread 32 waits at "
               "two: kernel.barrier");
  // The lanes of one warp wait at two ops for the same barrier: the count is right, but the warp is divergent.
  std::string split = kernelText(32, 0, R"(
    %t = kernel.thread_id
    %c16 = llvm.mlir.constant(16 : i32) : i32
    %low = llvm.icmp "ult" %t, %c16 : i32
    scf.if %low {
      kernel.barrier loc("one")
    } else {
      kernel.barrier loc("two")
    })");
  EXPECT_NAMES(EmulatedKernel(split).fault(Fault::DivergentBarrier, {1}), "other threads of the same warp wait at ");
}

TEST(EmulatorFaults, ExitBeforeBarrier) {
  auto text = [](int stay, const char *barrier) {
    return kernelText(96, 0,
                      R"(
    %t = kernel.thread_id
    %c = llvm.mlir.constant()" +
                          std::to_string(stay) + R"( : i32) : i32
    %stays = llvm.icmp "ult" %t, %c : i32
    scf.if %stays { kernel.barrier )" +
                          barrier + " }");
  };
  EmulatedKernel(text(64, "")).run({1}); // the barrier does not wait for a whole warp that has exited
  EXPECT_NAMES(EmulatedKernel(text(70, "")).fault(Fault::DivergentBarrier, {1}),
               "thread 70 of the same warp has exited");
  EXPECT_NAMES(EmulatedKernel(text(64, "{threads = 96 : i32}")).fault(Fault::DivergentBarrier, {1}),
               "64 threads wait here for ever; thread 64 has exited");
}

TEST(EmulatorFaults, DivergentWarp) {
  auto text = [](const char *op) {
    return kernelText(32, 0,
                      R"(
    %t = kernel.thread_id
    %c16 = llvm.mlir.constant(16 : i32) : i32
    %low = llvm.icmp "ult" %t, %c16 : i32
    scf.if %low { )" + std::string(op) +
                          " }");
  };
  EmulatedKernel(text("%v = kernel.vote all %low")).run({1});
  EXPECT_NAMES(EmulatedKernel(text("%v = kernel.shuffle xor %t, %t : i32")).fault(Fault::DivergentWarp, {1}),
               "thread 16 of the warp has exited");
}

TEST(EmulatorFaults, UninitializedShared) {
  EmulatedKernel k(kernelText(32, 1, R"(
    %t = kernel.thread_id
    %c31 = llvm.mlir.constant(31 : i32) : i32
    %s = kernel.shared 128
    %p = llvm.getelementptr %s[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
    %low = llvm.icmp "ult" %t, %c31 : i32
    scf.if %low { llvm.store %t, %p : i32, !llvm.ptr<3> }
    kernel.barrier
    %v = llvm.load %p : !llvm.ptr<3> -> i32 loc("read")
    %q = llvm.getelementptr %b0[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    llvm.store %v, %q : i32, !llvm.ptr<1>)"));
  std::vector<int32_t> y(32);
  EXPECT_NAMES(k.fault(Fault::Uninitialized, {1}, y),
               "read: llvm.load: uninitialised read in test, kernel k, block (0, 0, 0), thread 31");
  // A block does not see what the block before it wrote to shared memory.
  EXPECT_NAMES(k.fault(Fault::Uninitialized, {4}, y), "block (0, 0, 0)");
}

TEST(EmulatorFaults, SharedBounds) {
  std::vector<int32_t> y(64);
  EmulatedKernel k(reversal("%next = kernel.shared 256\nkernel.barrier", "252"));
  EXPECT_NAMES(k.fault(Fault::OutOfBoundsWrite, {1}, y),
               "write: llvm.store: out-of-bounds write in test, kernel k, block (0, 0, 0), thread 63: "
               "4 bytes at byte 252 of piece 0 of shared memory, which has 252");
}

/// A warp fills 8 x 16 bytes and loads them as a matrix whose rows are `stride` bytes apart and start at `first`.
static std::string matrixLoad(int stride, int first) {
  return kernelText(32, 0,
                    R"(
    %t = kernel.thread_id
    %s = kernel.shared 128
    %p = llvm.getelementptr %s[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
    llvm.store %t, %p : i32, !llvm.ptr<3>
    kernel.barrier
    %c8 = llvm.mlir.constant(8 : i32) : i32
    %stride = llvm.mlir.constant()" +
                        std::to_string(stride) + R"( : i32) : i32
    %first = llvm.mlir.constant()" +
                        std::to_string(first) + R"( : i32) : i32
    %lane = llvm.urem %t, %c8 : i32
    %o = llvm.mul %lane, %stride : i32
    %o1 = llvm.add %o, %first : i32
    %row = llvm.getelementptr %s[%o1] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
    %r = kernel.load_matrix %row : i32 loc("load"))");
}

TEST(EmulatorFaults, LoadMatrixAddress) {
  EmulatedKernel(matrixLoad(16, 0)).run({1});
  EXPECT_NAMES(EmulatedKernel(matrixLoad(16, 8)).fault(Fault::Misaligned, {1}),
               "load: kernel.load_matrix: misaligned access in test, kernel k, block (0, 0, 0), thread 0");
  EXPECT_NAMES(EmulatedKernel(matrixLoad(32, 0)).fault(Fault::OutOfBoundsRead, {1}),
               "load: kernel.load_matrix: out-of-bounds read in test, kernel k, block (0, 0, 0), thread 4: 16 bytes at "
               "byte 128");
}

/// Each thread copies 16 bytes and, after `wait`, reads those that thread 63 - t copied.
static std::string copied(const std::string &wait, const char *shift = "0") {
  return kernelText(64, 2,
                    R"(
    %t = kernel.thread_id
    %c63 = llvm.mlir.constant(63 : i32) : i32
    %s = kernel.shared 1024
    %from0 = llvm.getelementptr %b0[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<4xf32>
    %from = llvm.getelementptr %from0[)" +
                        std::string(shift) + R"(] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
    %to = llvm.getelementptr %s[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, vector<4xf32>
    kernel.copy_async %to, %from, 16 loc("copy")
    kernel.copy_async_commit
)" + wait + R"(
    %r = llvm.sub %c63, %t : i32
    %p = llvm.getelementptr %s[%r] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, vector<4xf32>
    %v = llvm.load %p : !llvm.ptr<3> -> vector<4xf32> loc("read")
    %q = llvm.getelementptr %b1[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<4xf32>
    llvm.store %v, %q : vector<4xf32>, !llvm.ptr<1>)");
}

TEST(EmulatorFaults, UnawaitedCopy) {
  std::vector<float> x(256), y(256);
  for (int i = 0; i < 256; ++i)
    x[i] = float(i);
  EmulatedKernel(copied("kernel.copy_async_wait 0\nkernel.barrier")).run({1}, x, y);
  for (int i = 0; i < 256; ++i)
    EXPECT_EQ(y[i], x[(63 - i / 4) * 4 + i % 4]);
  EXPECT_NAMES(EmulatedKernel(copied("kernel.barrier")).fault(Fault::UnawaitedCopy, {1}, x, y),
               "read: llvm.load: unawaited copy_async");
  // One group may still be under way.
  EmulatedKernel(copied("kernel.copy_async_wait 1\nkernel.barrier")).fault(Fault::UnawaitedCopy, {1}, x, y);
  // Each thread awaits its copies, but without a barrier the other threads do not see them.
  EmulatedKernel noBarrier(copied("kernel.copy_async_wait 0"));
  std::vector<std::vector<char>> buffers(2, std::vector<char>(1024));
  for (uint64_t seed = 0; seed < 8; ++seed)
    EXPECT_TRUE(noBarrier.launch(seed, {1}, buffers)) << seed;
  EXPECT_NAMES(EmulatedKernel(copied("kernel.copy_async_wait 0", "1")).fault(Fault::Misaligned, {1}, x, y),
               "copy: kernel.copy_async");
  EXPECT_NAMES(
      EmulatedKernel(copied("kernel.copy_async_wait 0\nkernel.barrier", "4")).fault(Fault::OutOfBoundsRead, {1}, x, y),
      "copy: kernel.copy_async");
}
