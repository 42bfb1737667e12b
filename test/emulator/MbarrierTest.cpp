// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mbarriers, set_registers, and the ring that a producer and a consumer warpgroup make of them; with planted faults.
#include "HopperHarness.h"
#include <random>

using namespace mpc::test;
using mpc::rt::emulator::Fault;

namespace {
/// 64 x 64 products of K = 64 * steps: threads 0 to 127 copy tiles to a ring, threads 128 to 255 multiply
/// them. b0 and b1 are tiles of A and B as they are laid out in shared memory; b2 is the sums.
struct Ring {
  int stages = 3, steps = 7;
  bool copyAsync = false;
  std::string producerRegisters = "kernel.set_registers 40", consumerRegisters = "kernel.set_registers 240";
  std::string initialised = "kernel.mbarrier_fence", afterInit = "kernel.barrier", arrivals = "128";
  std::string waitForEmpty = "kernel.mbarrier_wait %empty, %flipped loc(\"empty\")",
              waitForFull = "kernel.mbarrier_wait %full, %parity loc(\"full\")";
  std::string fence = "kernel.async_fence", arriveFull = "kernel.mbarrier_arrive %full loc(\"filled\")",
              arriveEmpty = "kernel.mbarrier_arrive %empty loc(\"emptied\")";
  std::string wait = "kernel.wgmma_wait 0";

  std::string text() const {
    std::string s = std::to_string(stages), tiles = std::to_string(stages * 8192), bars = std::to_string(16 * stages),
                inits = ringBarriers(stages, arrivals, arrivals);
    std::string stage = ringStage(8192);
    auto chunk = [&](const char *operand, const char *buffer) {
      std::string o = operand;
      return "%f" + o + " = llvm.getelementptr " + buffer +
             "[%n] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<4xi32>\n%to" + o + " = llvm.getelementptr %t" + o +
             "[%m] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, vector<4xi32>\n" +
             (copyAsync ? "kernel.copy_async %to" + o + ", %f" + o + ", 16 loc(\"fill\")\n"
                        : "%v" + o + " = llvm.load %f" + o + " : !llvm.ptr<1> -> vector<4xi32>\nllvm.store %v" + o +
                              ", %to" + o + " : vector<4xi32>, !llvm.ptr<3> loc(\"fill\")\n");
    };
    std::string products;
    for (int k = 0; k < 4; ++k) {
      std::string n = std::to_string(k), before = k ? valueList("d" + std::to_string(k - 1), 32) : valueList("acc", 32),
                  offset = "[" + std::to_string(32 * k) + "]";
      products += "%d" + n + ":32 = kernel.wgmma f16 %ta" + offset +
                  " <b128 leading 0 stride 1024 transposed false>, %tb" + offset +
                  " <b128 leading 0 stride 1024 transposed false> (" + before + ") : " + typeList("f32", 32) +
                  " loc(\"product\")\n";
    }
    std::string waited = wait.empty() ? "%e:32 = kernel.wgmma_wait 1 (" : "%e:32 = " + wait + " (";
    return kernelText(
        256, 3,
        constants({0, 1, 128, 512, 8192}) + "%cS = llvm.mlir.constant(" + s + " : i32) : i32\n%sa = kernel.shared " +
            tiles + " {alignment = 1024 : i64}\n%sb = kernel.shared " + tiles +
            " {alignment = 1024 : i64}\n%bars = kernel.shared " + bars + " {alignment = 8 : i64}\n" + R"(
      %t = kernel.thread_id
      %zero = llvm.mlir.constant(0.0 : f32) : f32
      %lo = arith.constant 0 : index
      %one = arith.constant 1 : index
      %four = arith.constant 4 : index
      %steps = arith.constant )" +
            std::to_string(steps) + R"( : index
      %isFirst = llvm.icmp "eq" %t, %c0 : i32
      scf.if %isFirst {
)" + inits + initialised +
            "\n}\n" + afterInit + R"(
      %isProducer = llvm.icmp "ult" %t, %c128 : i32
      scf.if %isProducer {
)" + producerRegisters +
            "\nscf.for %j = %lo to %steps step %one {" + stage + waitForEmpty + R"(
        %first = llvm.mul %i, %c512 : i32
        scf.for %l = %lo to %four step %one {
          %li = arith.index_cast %l : index to i32
          %lm = llvm.mul %li, %c128 : i32
          %m = llvm.add %lm, %t : i32
          %n = llvm.add %first, %m : i32
)" + chunk("a", "%b0") +
            chunk("b", "%b1") + "}\n" + (copyAsync ? "kernel.copy_async_commit\nkernel.copy_async_wait 0\n" : "") +
            fence + "\n" + arriveFull + R"(
        }
      } else {
        %u = llvm.sub %t, %c128 : i32
)" + consumerRegisters +
            "\n%r:32 = scf.for %j = %lo to %steps step %one iter_args(" +
            [] {
              std::string args;
              for (int i = 0; i < 32; ++i)
                args += (i ? ", %acc_" : "%acc_") + std::to_string(i) + " = %zero";
              return args;
            }() +
            ") -> (" + typeList("f32", 32) + ") {" + stage + waitForFull + "\nkernel.wgmma_fence\n" +
            [&] {
              for (int i = 32; i-- > 0;) // iteration arguments need names of their own
                for (std::string from = "%acc#" + std::to_string(i); products.find(from) != std::string::npos;)
                  products.replace(products.find(from), from.size(), "%acc_" + std::to_string(i));
              return products;
            }() +
            "kernel.wgmma_commit\n" + waited + valueList("d3", 32) + ") : " + typeList("f32", 32) + "\n" + arriveEmpty +
            "\nscf.yield " + valueList("e", 32) + " : " + typeList("f32", 32) + "\n}\n" +
            "%x:32 = kernel.wgmma_wait 0 (" + valueList("r", 32) + ") : " + typeList("f32", 32) + "\n" +
            storeSums("x", 32, 2, "%u") + "}");
  }
};

struct Data {
  std::vector<float> a, b; ///< [64][K], [K][64]
  std::vector<uint16_t> inA, inB;
  std::vector<float> sums = std::vector<float>(64 * 64);
  explicit Data(int steps) : a(64 * 64 * steps), b(a.size()), inA(a.size()), inB(a.size()) {
    std::mt19937 random(4);
    std::uniform_real_distribution<float> draw(-2, 2);
    TileLayout layout = {3, 0, 1024, false};
    int k = 64 * steps;
    for (int r = 0; r < 64; ++r)
      for (int i = 0; i < k; ++i) {
        size_t place = size_t(i / 64) * 4096 + layout.offset(r, i % 64) / 2;
        inA[place] = kHalf.round(draw(random)), inB[place] = kHalf.round(draw(random));
        a[r * k + i] = kHalf.value(inA[place]), b[i * 64 + r] = kHalf.value(inB[place]);
      }
  }
};

void expectClean(const Ring &ring) {
  Data data(ring.steps);
  EmulatedKernel(ring.text()).run({1}, data.inA, data.inB, data.sums);
  std::vector<float> expected(64 * 64);
  multiplyReference(data.a, data.b, expected, 64, 64, 64 * ring.steps);
  for (int t = 0; t < 128; ++t)
    for (int i = 0; i < 32; ++i)
      ASSERT_EQ(data.sums[i * 128 + t], expected[rowOfSum(t, i) * 64 + columnOfSum(t, i)])
          << rowOfSum(t, i) << ", " << columnOfSum(t, i);
}

std::string faultOf(const Ring &ring, Fault fault) {
  Data data(ring.steps);
  return EmulatedKernel(ring.text()).fault(fault, {1}, data.inA, data.inB, data.sums);
}

} // namespace

TEST(EmulatorMbarrier, RingOfStores) {
  expectClean({});
  expectClean({.stages = 1});
  expectClean({.stages = 4, .steps = 3});
}

TEST(EmulatorMbarrier, RingOfCopies) { expectClean({.copyAsync = true}); }

TEST(EmulatorMbarrier, GroupsOverlap) {
  // The group of a round is under way until the next round, and its stage would be handed back only then.
  // Here no stage is ever handed back.
  expectClean({.stages = 3, .steps = 3, .arriveEmpty = "", .wait = "kernel.wgmma_wait 1"});
}

TEST(EmulatorMbarrierFaults, WrongPhase) {
  // The producer waits for the phase after the right one. It never ends, since the consumer never gets the
  // first tile.
  std::string stuck =
      faultOf({.waitForEmpty = "kernel.mbarrier_wait %empty, %parity loc(\"empty\")"}, Fault::EndlessWait);
  EXPECT_NAMES(stuck, "error: empty: kernel.mbarrier_wait: endless mbarrier_wait");
  EXPECT_NAMES(stuck, "128 threads wait for ever for the end of phase 0 (parity 0), of whose 128 arrivals "
                      "128 are missing, and 0 bytes; mbarrier of init3");
  // In every order of threads something is found, though not always the same fault: the consumer does not
  // wait in the first round and reads what nobody has written, or waits for ever.
  faultOf({.waitForFull = "kernel.mbarrier_wait %full, %flipped loc(\"full\")"}, Fault::None);
  // The parity does not alternate, so nothing waits for the second round.
  faultOf({.waitForFull = "kernel.mbarrier_wait %full, %c0 loc(\"full\")"}, Fault::None);
  faultOf({.waitForEmpty = "kernel.mbarrier_wait %empty, %c1 loc(\"empty\")"}, Fault::None);
}

TEST(EmulatorMbarrierFaults, NoWait) {
  faultOf({.waitForFull = ""}, Fault::None);
  faultOf({.waitForEmpty = ""}, Fault::None);
  faultOf({.waitForFull = "", .arriveFull = ""}, Fault::None);
}

TEST(EmulatorMbarrierFaults, MissingAsyncFence) {
  EXPECT_NAMES(faultOf({.fence = ""}, Fault::MissingFence), "error: product: kernel.wgmma: missing async_fence");
  EXPECT_NAMES(faultOf({.copyAsync = true, .fence = ""}, Fault::MissingFence),
               "passed no async_fence before the barrier behind");
  // A fence after the arrival is too late.
  EXPECT_NAMES(faultOf({.steps = 1, .fence = "", .arriveFull = "kernel.mbarrier_arrive %full\nkernel.async_fence"},
                       Fault::MissingFence),
               "product");
}

TEST(EmulatorMbarrierFaults, Counts) {
  EXPECT_NAMES(faultOf({.arrivals = "129"}, Fault::EndlessWait), "of whose 129 arrivals 1 are missing");
  // The phase ends before all producers have arrived.
  faultOf({.arrivals = "64"}, Fault::None);
  EXPECT_NAMES(faultOf({.arriveFull = "kernel.mbarrier_expect %full, 16 loc(\"filled\")"}, Fault::EndlessWait),
               "arrivals 0 are missing, and 2048 bytes");
  EXPECT_NAMES(faultOf({.arriveFull = "kernel.mbarrier_expect %full, 16\nkernel.mbarrier_arrive %full loc(\"again\")"},
                       Fault::Mbarrier),
               "more than 128 arrivals in phase 0");
  EXPECT_NAMES(faultOf({.arriveFull = "kernel.mbarrier_expect %full, 1048575 loc(\"filled\")"}, Fault::Mbarrier),
               "filled: kernel.mbarrier_expect");
}

TEST(EmulatorMbarrierFaults, Initialisation) {
  std::string none = R"(
    %s = kernel.shared 8 {alignment = 8 : i64}
    %t = kernel.thread_id
    kernel.mbarrier_arrive %s loc("arrive"))";
  EXPECT_NAMES(EmulatedKernel(kernelText(32, 0, none)).fault(Fault::Mbarrier, {1}),
               "error: arrive: kernel.mbarrier_arrive: misused mbarrier in test");
  std::string alignment = R"(
    %s = kernel.shared 8 {alignment = 4 : i64}
    kernel.mbarrier_init %s, 32)";
  EXPECT_NAMES(EmulatedKernel(kernelText(32, 0, alignment)).fault(Fault::Misaligned, {1}), "is not aligned to 8");
  std::string stored = constants({0}) + R"(
    %s = kernel.shared 8 {alignment = 8 : i64}
    %t = kernel.thread_id
    %first = llvm.icmp "eq" %t, %c0 : i32
    scf.if %first { kernel.mbarrier_init %s, 32 }
    kernel.barrier
    scf.if %first { llvm.store %t, %s : i32, !llvm.ptr<3> loc("overwrite") })";
  EXPECT_NAMES(EmulatedKernel(kernelText(32, 0, stored)).fault(Fault::Mbarrier, {1}),
               "overwrite: llvm.store: misused mbarrier");
  faultOf({.afterInit = ""}, Fault::None);
}

TEST(EmulatorMbarrierFaults, HandedBackTooEarly) {
  // The stage is handed back while a wgmma that reads it is under way.
  faultOf({.stages = 1, .wait = "kernel.wgmma_wait 1"}, Fault::None);
}

TEST(EmulatorRegisters, MinBlocks) {
  // If two blocks must fit on an SM, a thread starts with 128 registers.
  std::string text = kernelText(256, 0, constants({128}) + R"(
    %t = kernel.thread_id
    %p = llvm.icmp "ult" %t, %c128 : i32
    scf.if %p { kernel.set_registers 40 } else { kernel.set_registers 216 increase })");
  EXPECT_TRUE(EmulatedKernel(text).fault(Fault::Registers, {1}).size());
  EmulatedKernel(withEntry(text, "min_blocks = 2")).run({1});
}

TEST(EmulatorRegisters, Rules) {
  // The 256 threads start with 248 registers each.
  EXPECT_NAMES(faultOf({.producerRegisters = "", .consumerRegisters = "kernel.set_registers 240 increase loc(\"set\")"},
                       Fault::Registers),
               "error: set: kernel.set_registers: wrong set_registers in test");
  auto three = [](const std::string &producer, const std::string &consumers) {
    return kernelText(384, 0,
                      constants({128, 32}) +
                          "%t = kernel.thread_id\n%p = llvm.icmp \"ult\" %t, %c128 : i32\n%w = llvm.icmp "
                          "\"ult\" %t, %c32 : i32\nscf.if %p {\n" +
                          producer + " loc(\"give\")\n} else {\n" + consumers + " loc(\"take\")\n}");
  };
  EmulatedKernel(three("kernel.set_registers 24", "kernel.set_registers 240 increase")).run({1});
  EXPECT_NAMES(EmulatedKernel(three("kernel.set_registers 40", "kernel.set_registers 240 increase"))
                   .fault(Fault::Registers, {1}),
               "the warpgroup waits for ever for 240 registers a thread: it has 168, and the block has");
  EXPECT_NAMES(
      EmulatedKernel(three("kernel.set_registers 176", "kernel.set_registers 160")).fault(Fault::Registers, {1}),
      "decreases to 176 registers of a thread that has 168");
  EXPECT_NAMES(EmulatedKernel(three("scf.if %w { kernel.set_registers 24 loc(\"one\") }", "kernel.set_registers 160"))
                   .fault(Fault::DivergentWarp, {1}),
               "one: kernel.set_registers: divergent warp operation");
}
