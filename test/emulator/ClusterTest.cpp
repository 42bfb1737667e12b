// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Clusters: their barrier, mbarriers of other blocks, loads to several blocks at once, and planted faults.
#include "HopperHarness.h"
#include <random>

using namespace mpc::test;
using mpc::rt::emulator::Fault;

namespace {
/// Two blocks of a cluster share A: y[block] = A B[rank] for A of 64 x k and B of k x 64. Each block loads one half of
/// A's rows to both blocks, and its own B. b0 is A, [64][k]; b1 is B^T, [2][64][k]; b2 is the sums.
struct Pair {
  int stages = 2, steps = 5;
  std::string blocks = "3", bytes = "16384", barrier = "kernel.cluster_barrier loc(\"start\")",
              end = "kernel.cluster_barrier loc(\"end\")";
  std::string arriveOwn = "kernel.mbarrier_arrive %empty loc(\"own\")",
              arriveOther = "kernel.mbarrier_arrive %empty block %peer loc(\"other\")", fence = "kernel.mbarrier_fence";
  std::string peer = "%peer = llvm.xor %rank, %c1 : i32", halfOffset = "%half = llvm.mul %rank, %c4096 : i32",
              cluster = "2";

  std::string text() const {
    std::string s = std::to_string(stages), tiles = std::to_string(stages * 8192), k = std::to_string(64 * steps), args,
                sums, products;
    for (int i = 0; i < 32; ++i)
      args += (i ? ", %acc_" : "%acc_") + std::to_string(i) + " = %zero",
          sums += (i ? ", %acc_" : "%acc_") + std::to_string(i);
    TileLayout layout = {3, 0, 1024, false};
    for (int step = 0; step < 4; ++step) {
      std::string n = std::to_string(step), offset = "[" + std::to_string(32 * step) + "] " + layout.text();
      products += "%d" + n + ":32 = kernel.wgmma f16 %ta" + offset + ", %tb" + offset + " (" +
                  (step ? valueList("d" + std::to_string(step - 1), 32) : sums) + ") : " + typeList("f32", 32) +
                  " loc(\"product\")\n";
    }
    std::string text =
        kernelText(256, 3,
                   constants({0, 1, 32, 64, 127, 128, 4096}) + "%cS = llvm.mlir.constant(" + s +
                       " : i32) : i32\n%mask = llvm.mlir.constant(" + blocks + " : i16) : i16\n%sa = kernel.shared " +
                       tiles + " {alignment = 1024 : i64}\n%sb = kernel.shared " + tiles +
                       " {alignment = 1024 : i64}\n%bars = kernel.shared " + std::to_string(16 * stages) +
                       " {alignment = 8 : i64}\n" + R"(
      %t = kernel.thread_id
      %rank = kernel.cluster_rank
      %zero = llvm.mlir.constant(0.0 : f32) : f32
      %lo = arith.constant 0 : index
      %one = arith.constant 1 : index
      %steps = arith.constant )" +
                       std::to_string(steps) + " : index\n" + peer + R"(
      %isFirst = llvm.icmp "eq" %t, %c0 : i32
      scf.if %isFirst {
)" + ringBarriers(stages, "1", "2") +
                       fence + "\n}\n" + barrier + R"(
      %isProducer = llvm.icmp "ult" %t, %c128 : i32
      scf.if %isProducer {
        scf.if %isFirst {
          %row = llvm.mul %rank, %c32 : i32
          %rowB = llvm.mul %rank, %c64 : i32
          scf.for %j = %lo to %steps step %one {
)" + ringStage(8192) + halfOffset +
                       R"(
            %mine = llvm.getelementptr %ta[%half] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
            kernel.mbarrier_wait %empty, %flipped loc("empty")
            %k0 = llvm.mul %i, %c64 : i32
            kernel.mbarrier_expect %full, )" +
                       bytes + R"( loc("expect")
            kernel.tensor_load %mine, %full map 0 [%k0, %row] blocks %mask loc("loadA")
            kernel.tensor_load %tb, %full map 1 [%k0, %rowB] loc("loadB")
          }
        }
      } else {
        %u = llvm.and %t, %c127 : i32
        %isLeader = llvm.icmp "eq" %u, %c0 : i32
        %r:32 = scf.for %j = %lo to %steps step %one iter_args()" +
                       args + ") -> (" + typeList("f32", 32) + ") {" + ringStage(8192) +
                       "kernel.mbarrier_wait %full, %parity loc(\"full\")\nkernel.wgmma_fence\n" + products +
                       "kernel.wgmma_commit\n%e:32 = kernel.wgmma_wait 0 (" + valueList("d3", 32) +
                       ") : " + typeList("f32", 32) + "\nscf.if %isLeader {\n" + arriveOwn + "\n" + arriveOther +
                       "\n}\nscf.yield " + valueList("e", 32) + " : " + typeList("f32", 32) + R"(
        }
        %x:32 = kernel.wgmma_wait 0 ()" +
                       valueList("r", 32) + ") : " + typeList("f32", 32) + R"(
        %block = kernel.block_id x
        %blockFirst = llvm.mul %block, %c4096 : i32
        %at = llvm.add %blockFirst, %u : i32
)" + storeSums("x", 32, 2, "%at") +
                       "}\n" + end);
    return withEntry(text, "cluster = " + cluster + ", maps = [#kernel.tensor_map<0 : f16 sizes [" + k +
                               ", 64] strides [" + std::to_string(128 * steps) +
                               "] box [64, 32] steps [1, 1] b128>, #kernel.tensor_map<1 : f16 sizes [" + k +
                               ", 128] strides [" + std::to_string(128 * steps) + "] box [64, 64] steps [1, 1] b128>]");
  }
};

struct Data {
  std::vector<float> a, b[2]; ///< [64][k], [k][64]
  std::vector<uint16_t> inA, inB;
  std::vector<float> sums;
  explicit Data(int steps, int blocks)
      : a(64 * 64 * steps), b{a, a}, inA(a.size()), inB(2 * a.size()), sums(4096 * blocks) {
    std::mt19937 random(8);
    std::uniform_real_distribution<float> draw(-2, 2);
    int k = 64 * steps;
    for (size_t i = 0; i < a.size(); ++i)
      inA[i] = kHalf.round(draw(random)), a[i] = kHalf.value(inA[i]);
    for (int rank = 0; rank < 2; ++rank)
      for (int c = 0; c < 64; ++c)
        for (int i = 0; i < k; ++i) {
          uint16_t bits = inB[(rank * 64 + c) * k + i] = kHalf.round(draw(random));
          b[rank][i * 64 + c] = kHalf.value(bits);
        }
  }
};

std::string faultOf(const Pair &pair, Fault fault) {
  Data data(pair.steps, 2);
  return EmulatedKernel(pair.text()).fault(fault, {2}, data.inA, data.inB, data.sums);
}
} // namespace

TEST(EmulatorCluster, SharesLoads) {
  Pair pair;
  Data data(pair.steps, 4);
  EmulatedKernel(pair.text()).run({4}, data.inA, data.inB, data.sums);
  for (int block = 0; block < 4; ++block) {
    std::vector<float> expected(4096);
    multiplyReference(data.a, data.b[block % 2], expected, 64, 64, 64 * pair.steps);
    for (int t = 0; t < 128; ++t)
      for (int i = 0; i < 32; ++i)
        ASSERT_EQ(data.sums[block * 4096 + i * 128 + t], expected[rowOfSum(t, i) * 64 + columnOfSum(t, i)])
            << block << ": " << rowOfSum(t, i) << ", " << columnOfSum(t, i);
  }
}

TEST(EmulatorCluster, GridIsOfClusters) {
  Pair pair;
  std::vector<std::vector<char>> buffers(3, std::vector<char>(1 << 17));
  auto error = EmulatedKernel(pair.text()).launch(0, {3}, buffers);
  ASSERT_TRUE(error);
  EXPECT_NAMES(error->text(), "launches kernel k over 3 blocks, which are no clusters of 2");
}

TEST(EmulatorClusterFaults, Masks) {
  // Each block loads to itself only, so that the other one misses half of A.
  EXPECT_NAMES(faultOf({.blocks = "1"}, Fault::None), "block (");
  EXPECT_NAMES(faultOf({.blocks = "7"}, Fault::Cluster), "thread 0: there is no block 2 in a cluster of 2");
  EXPECT_NAMES(faultOf({.peer = "%peer = llvm.add %rank, %c1 : i32"}, Fault::Cluster), "other: kernel.mbarrier_arrive");
  // Both blocks write the lower half.
  EXPECT_NAMES(faultOf({.halfOffset = "%half = llvm.mul %c0, %rank : i32"}, Fault::UnawaitedLoad),
               "loadA: kernel.tensor_load");
}

TEST(EmulatorClusterFaults, Counts) {
  EXPECT_NAMES(faultOf({.bytes = "12288"}, Fault::None), "block (");
  EXPECT_NAMES(faultOf({.bytes = "20480"}, Fault::EndlessWait), "and 4096 bytes");
  // A block does not report that it has read its tile, but reports twice for the other block.
  faultOf({.arriveOwn = "kernel.mbarrier_arrive %empty block %peer"}, Fault::None);
  faultOf({.arriveOther = "kernel.mbarrier_arrive %empty"}, Fault::None);
}

TEST(EmulatorClusterFaults, Beginning) {
  // A barrier of the block does not guarantee that the other block's mbarriers are initialised.
  EXPECT_NAMES(faultOf({.barrier = "kernel.barrier"}, Fault::Mbarrier), "misused mbarrier");
  EXPECT_NAMES(faultOf({.fence = ""}, Fault::Mbarrier), "no mbarrier_fence came behind its initialisation by thread 0");
}

TEST(EmulatorClusterFaults, End) {
  // A block may end while the other one still hands back a stage to it.
  Pair pair{.end = ""};
  Data data(pair.steps, 2);
  EmulatedKernel kernel(pair.text());
  int found = 0;
  auto bytes = [](const auto &v) {
    return std::vector<char>(reinterpret_cast<const char *>(v.data()),
                             reinterpret_cast<const char *>(v.data() + v.size()));
  };
  for (uint64_t seed = 0; seed < 8; ++seed) {
    std::vector<std::vector<char>> buffers = {bytes(data.inA), bytes(data.inB), bytes(data.sums)};
    if (auto error = kernel.launch(seed, {2}, buffers)) {
      ++found;
      EXPECT_NAMES(error->text(), "of the cluster has ended, and its shared memory with it");
    }
  }
  EXPECT_GT(found, 0);
  // A cluster barrier does not wait for a block that has ended, but it waits for one whose threads wait elsewhere.
  std::string text = kernelText(32, 0, constants({0, 1}) + R"(
    %s = kernel.shared 8 {alignment = 8 : i64}
    %t = kernel.thread_id
    %rank = kernel.cluster_rank
    %isFirst = llvm.icmp "eq" %t, %c0 : i32
    scf.if %isFirst { kernel.mbarrier_init %s, 1 }
    kernel.barrier
    %lower = llvm.icmp "eq" %rank, %c0 : i32
    scf.if %lower { kernel.cluster_barrier loc("end") } else { kernel.mbarrier_wait %s, %c0 loc("wait") })");
  text = withEntry(text, "cluster = 2");
  EXPECT_NAMES(EmulatedKernel(text).fault(Fault::EndlessWait, {2}),
               "block (1, 0, 0), thread 0: 32 threads wait for ever");
  text.replace(text.find("kernel.mbarrier_wait %s, %c0 loc(\"wait\")"), 40, "");
  EmulatedKernel(text).run({2});
}
