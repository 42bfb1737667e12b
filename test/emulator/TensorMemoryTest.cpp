// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// tensor_load and tensor_store: boxes of all kinds are compared with plain loops, the ring that the loads
// fill for wgmma is run, and faults are planted.
#include "HopperHarness.h"
#include <numeric>
#include <random>

using namespace mpc::test;
using mpc::rt::emulator::Fault;

static std::string list(const std::vector<int> &values) {
  std::string text;
  for (int v : values)
    text += (text.empty() ? "" : ", ") + std::to_string(v);
  return text;
}

/// Returns the text of a kernel with tensor maps.
static std::string withMaps(std::string text, const std::vector<std::string> &maps) {
  std::string list;
  for (const std::string &map : maps)
    list += (list.empty() ? "#kernel.tensor_map<" : ", #kernel.tensor_map<") + map + ">";
  return withEntry(text, "maps = [" + list + "]");
}

//===-- The ring of tensor_load and wgmma ---------------------------------------------===//

namespace {
/// Products of 128 x 128 x k, one in each block: thread 0 loads tiles, two warpgroups multiply 64 rows each.
/// b0 is A, [128][k] or transposed; b1 is B^T, [128][k] or transposed; b2 is the sums.
struct Gemm {
  bool transposedA = false, transposedB = false;
  HalfType type = kHalf;
  int k = 448, stages = 3;
  std::string bytes = "32768", arrivals = "2", waitForEmpty = "kernel.mbarrier_wait %empty, %flipped loc(\"empty\")",
              waitForFull = "kernel.mbarrier_wait %full, %parity loc(\"full\")";
  std::string loadA = "", loadB = ""; ///< text that replaces the right loads
  std::string fence = "kernel.mbarrier_fence", wait = "kernel.wgmma_wait 0",
              registers = "kernel.set_registers 240 increase";

  std::string mapOf(int parameter, bool transposed) const {
    std::string p = std::to_string(parameter) + " : " + type.name;
    return transposed ? p + " sizes [128, " + std::to_string(k) + "] strides [256] box [64, 64] steps [1, 1] b128"
                      : p + " sizes [" + std::to_string(k) + ", 128] strides [" + std::to_string(2 * k) +
                            "] box [64, 128] steps [1, 1] b128";
  }
  static std::string load(const std::string &tile, int map, bool transposed) {
    std::string m = std::to_string(map);
    if (!transposed)
      return "kernel.tensor_load " + tile + ", %full map " + m + " [%k0, %c0] loc(\"load" + m + "\")\n";
    return "%upper" + m + " = llvm.getelementptr " + tile +
           "[8192] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8\nkernel.tensor_load " + tile + ", %full map " + m +
           " [%c0, %k0] loc(\"load" + m + "\")\nkernel.tensor_load %upper" + m + ", %full map " + m +
           " [%c64, %k0] loc(\"load" + m + "\")\n";
  }
  std::string text() const {
    std::string tiles = std::to_string(stages * 16384), s = std::to_string(stages), products, args;
    for (int i = 0; i < 64; ++i)
      args += (i ? ", %acc_" : "%acc_") + std::to_string(i) + " = %zero";
    std::string sums;
    for (int i = 0; i < 64; ++i)
      sums += (i ? ", %acc_" : "%acc_") + std::to_string(i);
    TileLayout a = {3, 8192, 1024, transposedA}, b = {3, 8192, 1024, transposedB};
    for (int step = 0; step < 4; ++step) {
      std::string n = std::to_string(step);
      products += "%d" + n + ":64 = kernel.wgmma " + type.name + " %mine[" + std::to_string(a.plain(0, 16 * step)) +
                  "] " + a.text() + ", %tb[" + std::to_string(b.plain(0, 16 * step)) + "] " + b.text() + " (" +
                  (step ? valueList("d" + std::to_string(step - 1), 64) : sums) + ") : " + typeList("f32", 64) +
                  " loc(\"product\")\n";
    }
    std::string text = constants({0, 1, 64, 127, 128, 8192}) + "%cS = llvm.mlir.constant(" + s +
                       " : i32) : i32\n%sa = kernel.shared " + tiles +
                       " {alignment = 1024 : i64}\n%sb = kernel.shared " + tiles +
                       " {alignment = 1024 : i64}\n%bars = kernel.shared " + std::to_string(16 * stages) +
                       " {alignment = 8 : i64}\n" + R"(
      %t = kernel.thread_id
      %zero = llvm.mlir.constant(0.0 : f32) : f32
      %lo = arith.constant 0 : index
      %one = arith.constant 1 : index
      %steps = arith.constant )" +
                       std::to_string((k + 63) / 64) + R"( : index
      %isFirst = llvm.icmp "eq" %t, %c0 : i32
      scf.if %isFirst {
)" + ringBarriers(stages, "1", arrivals) +
                       fence + R"(
      }
      kernel.barrier
      %isProducer = llvm.icmp "ult" %t, %c128 : i32
      scf.if %isProducer {
        kernel.set_registers 24
        scf.if %isFirst {
          kernel.tensor_prefetch 0
          scf.for %j = %lo to %steps step %one {
)" + ringStage(16384) + waitForEmpty +
                       "\n%k0 = llvm.mul %i, %c64 : i32\nkernel.mbarrier_expect %full, " + bytes +
                       " loc(\"expect\")\n" + (loadA.empty() ? load("%ta", 0, transposedA) : loadA) +
                       (loadB.empty() ? load("%tb", 1, transposedB) : loadB) + R"(
          }
        }
      } else {
)" + registers + R"(
        %u = llvm.sub %t, %c128 : i32
        %group = llvm.udiv %u, %c128 : i32
        %lane = llvm.and %u, %c127 : i32
        %isLeader = llvm.icmp "eq" %lane, %c0 : i32
        %half = llvm.mul %group, %c8192 : i32
        %r:64 = scf.for %j = %lo to %steps step %one iter_args()" +
                       args + ") -> (" + typeList("f32", 64) + ") {" + ringStage(16384) +
                       "%mine = llvm.getelementptr %ta[%half] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8\n" +
                       waitForFull + "\nkernel.wgmma_fence\n" + products + "kernel.wgmma_commit\n%e:64 = " + wait +
                       " (" + valueList("d3", 64) + ") : " + typeList("f32", 64) + R"(
          scf.if %isLeader { kernel.mbarrier_arrive %empty loc("emptied") }
          scf.yield )" +
                       valueList("e", 64) + " : " + typeList("f32", 64) + R"(
        }
        %x:64 = kernel.wgmma_wait 0 ()" +
                       valueList("r", 64) + ") : " + typeList("f32", 64) + R"(
        %block = kernel.block_id x
        %blockSize = llvm.mul %block, %c128 : i32
        %blockFirst = llvm.mul %blockSize, %c128 : i32
        %groupFirst = llvm.mul %half, %c1 : i32
        %at = llvm.add %blockFirst, %groupFirst : i32
        %at1 = llvm.add %at, %lane : i32
)" + storeSums("x", 64, 2, "%at1") +
                       "}";
    return withMaps(kernelText(384, 3, text), {mapOf(0, transposedA), mapOf(1, transposedB)});
  }
};

struct GemmData {
  std::vector<float> a, b; ///< [128][k], [k][128]
  std::vector<uint16_t> inA, inB;
  std::vector<float> sums;
  explicit GemmData(const Gemm &g, int blocks = 1)
      : a(128 * ((g.k + 15) / 16 * 16)), b(a.size()), inA(128 * g.k), inB(128 * g.k), sums(128 * 128 * blocks) {
    std::mt19937 random(4);
    std::uniform_real_distribution<float> draw(-2, 2);
    int padded = (g.k + 15) / 16 * 16;
    for (int r = 0; r < 128; ++r)
      for (int i = 0; i < g.k; ++i) {
        uint16_t x = g.type.round(draw(random)), y = g.type.round(draw(random));
        inA[g.transposedA ? i * 128 + r : r * g.k + i] = x, inB[g.transposedB ? i * 128 + r : r * g.k + i] = y;
        a[r * padded + i] = g.type.value(x), b[i * 128 + r] = g.type.value(y);
      }
  }
};

void expectProduct(const Gemm &g) {
  GemmData data(g, 2);
  EmulatedKernel(g.text()).run({2}, data.inA, data.inB, data.sums);
  std::vector<float> expected(128 * 128);
  multiplyReference(data.a, data.b, expected, 128, 128, (g.k + 15) / 16 * 16);
  for (int block = 0; block < 2; ++block)
    for (int group = 0; group < 2; ++group)
      for (int t = 0; t < 128; ++t)
        for (int i = 0; i < 64; ++i)
          ASSERT_EQ(data.sums[block * 16384 + group * 8192 + i * 128 + t],
                    expected[(group * 64 + rowOfSum(t, i)) * 128 + columnOfSum(t, i)])
              << block << ": " << group * 64 + rowOfSum(t, i) << ", " << columnOfSum(t, i);
}

std::string faultOf(const Gemm &g, Fault fault) {
  GemmData data(g);
  return EmulatedKernel(g.text()).fault(fault, {1}, data.inA, data.inB, data.sums);
}
} // namespace

TEST(EmulatorTensorMemory, Products) {
  expectProduct({});
  expectProduct({.type = kBfloat, .stages = 1});
  expectProduct({.transposedA = true, .transposedB = true});
  expectProduct({.transposedA = true, .type = kBfloat, .stages = 4});
  expectProduct({.transposedB = true, .k = 200}); // zeros beyond k
}

TEST(EmulatorTensorMemoryFaults, Phases) {
  EXPECT_NAMES(faultOf({.waitForEmpty = "kernel.mbarrier_wait %empty, %parity loc(\"empty\")"}, Fault::EndlessWait),
               "waits at empty: kernel.mbarrier_wait");
  EXPECT_NAMES(faultOf({.waitForFull = ""}, Fault::UnawaitedLoad),
               "error: product: kernel.wgmma: unawaited tensor_load");
  faultOf({.waitForFull = "kernel.mbarrier_wait %full, %c0 loc(\"full\")"}, Fault::None);
  // The second round of loads overwrites tiles that are being read, or may be.
  std::string over = faultOf({.k = 256, .stages = 1, .waitForEmpty = ""}, Fault::UnawaitedLoad);
  EXPECT_NAMES(over, "error: load0: kernel.tensor_load: unawaited tensor_load");
}

TEST(EmulatorTensorMemoryFaults, TransactionCounts) {
  // The phase expects too few bytes and ends before the last ones have come.
  EXPECT_NAMES(faultOf({.bytes = "16384"}, Fault::UnawaitedLoad),
               "error: product: kernel.wgmma: unawaited tensor_load");
  EXPECT_NAMES(faultOf({.bytes = "16400"}, Fault::Mbarrier),
               "error: load1: kernel.tensor_load: misused mbarrier in test, kernel k, block (0, 0, 0), thread 0: "
               "16384 bytes come in phase 0 of the mbarrier of init0: kernel.mbarrier_init, which expects only 16 "
               "more");
  // The barrier expects no bytes.
  EXPECT_NAMES(faultOf({.bytes = "0"}, Fault::UnawaitedLoad), "product: kernel.wgmma");
  EXPECT_NAMES(faultOf({.bytes = "32784"}, Fault::EndlessWait),
               "of whose 1 arrivals 0 are missing, and 16 bytes; mbarrier of init0");
  EXPECT_NAMES(faultOf({.loadB = "\n"}, Fault::EndlessWait), "and 16384 bytes");
}

TEST(EmulatorTensorMemoryFaults, InUse) {
  // The stage is handed back while the last group is under way.
  EXPECT_NAMES(faultOf({.k = 256, .stages = 1, .wait = "kernel.wgmma_wait 1"}, Fault::InUse),
               "error: load0: kernel.tensor_load: write to memory in use");
  // The producer does not wait for the second warpgroup.
  faultOf({.k = 256, .stages = 1, .arrivals = "1"}, Fault::None);
}

TEST(EmulatorTensorMemoryFaults, Barriers) {
  EXPECT_NAMES(faultOf({.fence = ""}, Fault::Mbarrier), "error: load0: kernel.tensor_load: misused mbarrier");
  // The load for B goes into the tile of A.
  EXPECT_NAMES(
      faultOf({.loadB = "kernel.tensor_load %ta, %full map 1 [%k0, %c0] loc(\"twice\")\n"}, Fault::UnawaitedLoad),
      "error: twice: kernel.tensor_load");
}

TEST(EmulatorTensorMemoryFaults, EndsUnderWay) {
  std::string body = constants({0}) + R"(
    %s = kernel.shared 1024 {alignment = 1024 : i64}
    %bar = kernel.shared 8 {alignment = 8 : i64}
    %t = kernel.thread_id
    %isFirst = llvm.icmp "eq" %t, %c0 : i32
    scf.if %isFirst {
      kernel.mbarrier_init %bar, 1
      kernel.mbarrier_fence
      kernel.mbarrier_expect %bar, 1024
      kernel.tensor_load %s, %bar map 0 [%c0, %c0] loc("load")
    })";
  std::vector<uint16_t> x(4096);
  std::string map = "0 : f16 sizes [64, 64] strides [128] box [64, 8] steps [1, 1] b128";
  EXPECT_NAMES(EmulatedKernel(withMaps(kernelText(32, 1, body), {map})).fault(Fault::UnawaitedLoad, {1}, x),
               "the block ends, and nobody has waited for the end of phase 0");
  std::vector<uint16_t> small(4095);
  EXPECT_NAMES(EmulatedKernel(withMaps(kernelText(32, 1, body), {map})).fault(Fault::OutOfBoundsRead, {1}, small),
               "error: load: kernel.tensor_load: out-of-bounds read in test, kernel k, block (0, 0, 0), thread 0: "
               "tensor map 0 is of 8192 bytes of buffer 0, which has 8190");
  body.replace(body.find("1024 : i64"), 10, "512 : i64");
  EXPECT_NAMES(EmulatedKernel(withMaps(kernelText(32, 1, body), {map})).fault(Fault::Misaligned, {1}, x),
               "is not aligned to 1024");
}

//===-- Boxes ----------------------------------------------------------------------------===//

namespace {
struct Box {
  std::vector<int> sizes, box, steps, at;
  int swizzle = 0;
  const char *element = "i16";
  int pixels = 0; ///< for im2col; box is then the number of channels
  std::vector<int> lower = {}, upper = {}, offsets = {};

  int rank() const { return int(sizes.size()); }
  int elementBytes() const { return std::string(element) == "i16" ? 2 : std::string(element) == "f32" ? 4 : 1; }
  std::vector<int> strides() const { ///< bytes of all dimensions; there is a gap after every row
    std::vector<int> result = {elementBytes()};
    for (int d = 1; d < rank(); ++d)
      result.push_back(d == 1 ? (sizes[0] * elementBytes() + 31) / 16 * 16 : result.back() * sizes[d - 1]);
    return result;
  }
  int bytes() const { return strides().back() * sizes.back(); }
  std::string map(int parameter) const {
    const char *names[] = {"none", "b32", "b64", "b128"};
    std::vector<int> outer = strides();
    outer.erase(outer.begin());
    return std::to_string(parameter) + " : " + element + " sizes [" + list(sizes) + "]" +
           (outer.empty() ? "" : " strides [" + list(outer) + "]") + " box [" + list(box) + "] steps [" + list(steps) +
           "] " + names[swizzle] +
           (pixels ? " im2col " + std::to_string(pixels) + " lower [" + list(lower) + "] upper [" + list(upper) + "]"
                   : std::string());
  }
  /// Returns the rows of the box as the coordinates of their first elements.
  std::vector<std::vector<int>> rows() const {
    std::vector<std::vector<int>> result;
    if (pixels) {
      // These are all positions of the box in each image, in order, from the one that `at` names.
      std::vector<std::vector<int>> positions;
      std::vector<int> p = at;
      for (int n = at.back(); n < at.back() + 3; ++n) {
        std::vector<std::vector<int>> image = {{}};
        for (int d = rank() - 2; d >= 1; --d) { // outer dimensions first
          std::vector<std::vector<int>> longer;
          for (auto &prefix : image)
            for (int x = lower[d - 1]; x <= sizes[d] - 1 + upper[d - 1]; x += steps[d]) {
              longer.push_back(prefix);
              longer.back().insert(longer.back().begin(), x);
            }
          image = longer;
        }
        for (auto &x : image) {
          std::vector<int> full = {at[0]};
          full.insert(full.end(), x.begin(), x.end());
          full.push_back(n);
          positions.push_back(full);
        }
      }
      size_t first = size_t(std::find(positions.begin(), positions.end(), p) - positions.begin());
      for (int i = 0; i < pixels; ++i) {
        std::vector<int> row = positions.at(first + i);
        for (int d = 1; d < rank() - 1; ++d)
          row[d] += offsets[d - 1];
        result.push_back(row);
      }
      return result;
    }
    result.push_back(at);
    for (int d = 1; d < rank(); ++d) {
      std::vector<std::vector<int>> longer;
      for (int i = 0; i < box[d]; i += steps[d])
        for (auto row : result) {
          row[d] += i;
          longer.push_back(row);
        }
      result = longer;
    }
    return result;
  }
  int rowBytes() const { return box[0] * elementBytes(); }
  int boxBytes() const { return int(rows().size()) * rowBytes(); }
  /// Calls what(byte in shared memory, byte in the tensor or -1) for all bytes of the box.
  template <typename What>
  void forBytes(What what) const {
    std::vector<std::vector<int>> all = rows();
    std::vector<int> s = strides();
    for (size_t r = 0; r < all.size(); ++r)
      for (int i = 0; i < rowBytes(); ++i) {
        int64_t from = i % elementBytes();
        for (int d = 0; d < rank(); ++d) {
          int x = all[r][d] + (d == 0 ? i / elementBytes() : 0);
          from = from < 0 || x < 0 || x >= sizes[d] ? -1 : from + int64_t(x) * s[d];
        }
        int to = int(r) * rowBytes() + i;
        to ^= ((to >> 7) & ((1 << swizzle) - 1)) << 4;
        what(to, from);
      }
  }
  std::string coordinates() const {
    std::string text;
    for (int d = 0; d < rank(); ++d)
      text += "%at" + std::to_string(d) + " = llvm.mlir.constant(" + std::to_string(at[d]) + " : i32) : i32\n";
    for (size_t d = 0; d < offsets.size(); ++d)
      text += "%by" + std::to_string(d) + " = llvm.mlir.constant(" + std::to_string(offsets[d]) + " : i16) : i16\n";
    return text;
  }
  static std::string names(const std::string &prefix, size_t count) {
    std::string text;
    for (size_t i = 0; i < count; ++i)
      text += (i ? ", %" : "%") + prefix + std::to_string(i);
    return text;
  }
  /// b0 is the tensor; b1 is the box as it is laid out in shared memory.
  std::string loadText() const {
    std::string bytes = std::to_string(boxBytes()), chunks = std::to_string(boxBytes() / 16);
    return withMaps(kernelText(32, 2,
                               constants({0, 32}) + coordinates() + "%s = kernel.shared " + bytes +
                                   " {alignment = 1024 : i64}\n" + R"(
      %bar = kernel.shared 8 {alignment = 8 : i64}
      %t = kernel.thread_id
      %isFirst = llvm.icmp "eq" %t, %c0 : i32
      scf.if %isFirst {
        kernel.mbarrier_init %bar, 1
        kernel.mbarrier_fence
      }
      kernel.barrier
      scf.if %isFirst {
        kernel.mbarrier_expect %bar, )" +
                                   bytes + "\nkernel.tensor_load %s, %bar map 0 [" + names("at", at.size()) + "]" +
                                   (pixels ? " im2col [" + names("by", offsets.size()) + "]" : std::string()) + R"(
      }
      kernel.mbarrier_wait %bar, %c0
      %first = arith.index_cast %t : i32 to index
      %step = arith.constant 32 : index
      %end = arith.constant )" + chunks +
                                   R"( : index
      scf.for %j = %first to %end step %step {
        %i = arith.index_cast %j : index to i32
        %p = llvm.getelementptr %s[%i] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, vector<4xi32>
        %v = llvm.load %p : !llvm.ptr<3> -> vector<4xi32>
        %q = llvm.getelementptr %b1[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<4xi32>
        llvm.store %v, %q : vector<4xi32>, !llvm.ptr<1>
      })"),
                    {map(0)});
  }
  /// b0 is the box as it is laid out in shared memory; b1 is the tensor.
  std::string storeText(const std::string &fence = "kernel.async_fence",
                        const std::string &wait = "kernel.tensor_store_wait 0 read",
                        const std::string &behind = "") const {
    std::string bytes = std::to_string(boxBytes()), chunks = std::to_string(boxBytes() / 16);
    return withMaps(kernelText(32, 2,
                               constants({0}) + coordinates() + "%s = kernel.shared " + bytes +
                                   " {alignment = 1024 : i64}\n" + R"(
      %t = kernel.thread_id
      %isFirst = llvm.icmp "eq" %t, %c0 : i32
      %first = arith.index_cast %t : i32 to index
      %step = arith.constant 32 : index
      %end = arith.constant )" + chunks +
                                   R"( : index
      scf.for %j = %first to %end step %step {
        %i = arith.index_cast %j : index to i32
        %p = llvm.getelementptr %b0[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<4xi32>
        %v = llvm.load %p : !llvm.ptr<1> -> vector<4xi32>
        %q = llvm.getelementptr %s[%i] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, vector<4xi32>
        llvm.store %v, %q : vector<4xi32>, !llvm.ptr<3>
      }
)" + fence + R"(
      kernel.barrier
      scf.if %isFirst {
        kernel.tensor_store %s map 0 [)" +
                                   names("at", at.size()) + R"(] loc("store")
        kernel.tensor_store_commit
)" + behind + "\n" + wait + "\n}"),
                    {map(1)});
  }
};

const std::vector<Box> &boxes() {
  static const std::vector<Box> all = {
      {.sizes = {40}, .box = {32}, .steps = {1}, .at = {16}},
      {.sizes = {100, 50}, .box = {64, 48}, .steps = {1, 1}, .at = {60, -3}, .swizzle = 3},
      {.sizes = {100, 50}, .box = {32, 16}, .steps = {1, 1}, .at = {-5, 40}, .swizzle = 2},
      {.sizes = {30, 9, 7}, .box = {16, 4, 5}, .steps = {1, 1, 1}, .at = {20, 3, -1}, .swizzle = 1},
      {.sizes = {20, 9, 7, 3}, .box = {8, 5, 4, 2}, .steps = {1, 2, 3, 1}, .at = {4, 2, 1, 2}},
      {.sizes = {12, 5, 4, 3, 4},
       .box = {8, 2, 2, 2, 2},
       .steps = {1, 1, 1, 1, 1},
       .at = {0, 4, 2, 1, 3},
       .element = "f32"},
      {.sizes = {200, 6}, .box = {128, 8}, .steps = {1, 1}, .at = {100, -1}, .swizzle = 3, .element = "i8"},
  };
  return all;
}
} // namespace

static void expectLoad(const Box &box) {
  std::vector<uint8_t> tensor(box.bytes()), tile(box.boxBytes()), expected(box.boxBytes());
  std::mt19937 random(9);
  for (uint8_t &v : tensor)
    v = uint8_t(random());
  EmulatedKernel(box.loadText()).run({1}, tensor, tile);
  box.forBytes([&](int to, int64_t from) { expected[to] = from < 0 ? 0 : tensor[from]; });
  EXPECT_EQ(tile, expected) << box.map(0);
}

TEST(EmulatorTensorMemory, LoadsBoxes) {
  for (const Box &box : boxes())
    expectLoad(box);
}

TEST(EmulatorTensorMemory, LoadsPixels) {
  // The filters are 3 x 3 with padding 1, one of 3 with dilation 2 and stride 2, and one of three spatial dimensions.
  for (int w : {0, 1, 2})
    for (int h : {0, 2})
      expectLoad({.sizes = {64, 7, 5, 3},
                  .box = {64},
                  .steps = {1, 1, 1, 1},
                  .at = {0, 3, 2, 1},
                  .swizzle = 3,
                  .pixels = 48,
                  .lower = {-1, -1},
                  .upper = {-1, -1},
                  .offsets = {w, h}});
  expectLoad({.sizes = {40, 9, 3},
              .box = {32},
              .steps = {1, 2, 1},
              .at = {16, -2, 0},
              .swizzle = 2,
              .pixels = 8,
              .lower = {-2},
              .upper = {-2},
              .offsets = {4}});
  expectLoad({.sizes = {8, 4, 3, 2, 2},
              .box = {8},
              .steps = {1, 1, 1, 1, 1},
              .at = {0, 1, 0, 1, 0},
              .pixels = 30,
              .lower = {0, -1, 0},
              .upper = {-1, 0, 0},
              .offsets = {1, 1, 0}});
}

TEST(EmulatorTensorMemory, StoresBoxes) {
  for (const Box &box : boxes()) {
    std::vector<uint8_t> tile(box.boxBytes()), tensor(box.bytes(), 0xAB);
    std::iota(tile.begin(), tile.end(), uint8_t(1));
    std::vector<uint8_t> expected = tensor;
    EmulatedKernel(box.storeText()).run({1}, tile, tensor);
    box.forBytes([&](int from, int64_t to) {
      if (to >= 0)
        expected[to] = tile[from];
    });
    EXPECT_EQ(tensor, expected) << box.map(1);
  }
}

TEST(EmulatorTensorMemoryFaults, Stores) {
  Box box = boxes()[1];
  std::vector<uint8_t> tile(box.boxBytes()), tensor(box.bytes());
  auto faultOf = [&](const std::string &text, Fault fault) {
    return EmulatedKernel(text).fault(fault, {1}, tile, tensor);
  };
  EXPECT_NAMES(faultOf(box.storeText(""), Fault::MissingFence),
               "error: store: kernel.tensor_store: missing async_fence");
  EXPECT_NAMES(faultOf(box.storeText("kernel.async_fence", ""), Fault::UnawaitedStore),
               "the thread ends while 1 of its tensor_stores are under way");
  EXPECT_NAMES(faultOf(box.storeText("kernel.async_fence", "kernel.tensor_store_wait 1"), Fault::UnawaitedStore),
               "store: kernel.tensor_store");
  EXPECT_NAMES(faultOf(box.storeText("kernel.async_fence", "kernel.tensor_store_wait 0",
                                     "llvm.store %t, %s : i32, !llvm.ptr<3> loc(\"overwrite\")"),
                       Fault::InUse),
               "error: overwrite: llvm.store: write to memory in use in test, kernel k, block (0, 0, 0), "
               "thread 0: byte 0 of piece 0 of shared memory is in use by tensor_store");
  std::vector<std::vector<char>> buffers = {std::vector<char>(box.boxBytes()), std::vector<char>(box.bytes())};
  auto error = EmulatedKernel(box.storeText()).launch(0, {1}, buffers, /*readOnly=*/true);
  ASSERT_TRUE(error);
  EXPECT_NAMES(error->text(), "write to a read-only buffer");
}
