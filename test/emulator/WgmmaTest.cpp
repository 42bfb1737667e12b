// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compares wgmma over every layout of its operands with plain loops, and checks its findings.
#include "HopperHarness.h"
#include <random>

using namespace mpc::test;
using mpc::rt::emulator::Fault;

namespace {
/// One warpgroup copies A (b0) and B (b1) to shared memory unchanged and multiplies 64 x k by k x n; b2 is its sums.
struct Product {
  TileLayout a, b;
  int n, k = 64;
  HalfType type = kHalf;
  std::string fence = "kernel.async_fence", barrier = "kernel.barrier", before = "", between = "",
              wait = "kernel.wgmma_wait 0", commit = "kernel.wgmma_commit";
  std::string wgmmaFence = "kernel.wgmma_fence";
  int alignment = 1024, shift = 0; ///< of the pieces; bytes that are added to the offsets of A
  int bytesOfA = 0;                ///< of A's piece, where it differs from what the tile needs
  bool registers = false;          ///< A comes from registers: b0 is [k / 16][4][128 threads] words
  bool fresh = false;              ///< the first product adds to nothing

  static int bytesOf(const TileLayout &layout, int rows, int k) {
    int last = 0;
    for (int r = 0; r < rows; ++r)
      for (int i = 0; i < k; ++i)
        last = std::max(last, layout.plain(r, i));
    return (last + 2 + 2047) / 2048 * 2048;
  }
  /// Returns the text that loads A's registers.
  std::string loads() const {
    std::string body;
    for (int i = 0; registers && i < k / 4; ++i) {
      std::string word = std::to_string(i);
      body += "%p" + word + " = llvm.getelementptr %b0[" + std::to_string(i * 128) +
              "] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32\n%q" + word + " = llvm.getelementptr %p" + word +
              "[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32\n%r" + word + " = llvm.load %q" + word +
              " : !llvm.ptr<1> -> i32\n";
    }
    return body;
  }
  std::string text() const {
    int bytesA = bytesOf(a, 64, k), bytesB = bytesOf(b, n, k), sums = n / 2;
    std::string align = " {alignment = " + std::to_string(alignment) + " : i64}\n";
    std::string body = "%t = kernel.thread_id\n%zero = llvm.mlir.constant(0.0 : f32) : f32\n%sa = kernel.shared " +
                       std::to_string(bytesOfA ? bytesOfA : bytesA) + align + "%sb = kernel.shared " +
                       std::to_string(bytesB) + align + copyIn(0, "%sa", bytesOfA ? bytesOfA : bytesA, "a") +
                       copyIn(1, "%sb", bytesB, "b") + fence + "\n" + barrier + "\n" + before + "\n" + loads() +
                       wgmmaFence + "\n";
    for (int step = 0; step < k / 16; ++step) {
      std::string name = "d" + std::to_string(step), c = step    ? valueList("d" + std::to_string(step - 1), sums)
                                                         : fresh ? ""
                                                                 : repeated("%zero", sums);
      std::string factor = "%sa[" + std::to_string(a.plain(0, 16 * step) + shift) + "] " + a.text();
      for (int i = 0; registers && i < 4; ++i)
        factor = (i == 0 ? "registers (%r" : factor + ", %r") + std::to_string(step * 4 + i) + (i == 3 ? ")" : "");
      body += "%" + name + ":" + std::to_string(sums) + " = kernel.wgmma " + type.name + " " + factor + ", %sb[" +
              std::to_string(b.plain(0, 16 * step)) + "] " + b.text() + " (" + c + ") : " + typeList("f32", sums) +
              " loc(\"product\")\n";
    }
    std::string last = "d" + std::to_string(k / 16 - 1);
    body += commit + "\n" + between + "\n";
    if (!wait.empty())
      body += "%e:" + std::to_string(sums) + " = " + wait + " (" + valueList(last, sums) +
              ") : " + typeList("f32", sums) + "\n" + storeSums("e", sums, 2);
    return kernelText(128, 3, body);
  }
};

struct Data {
  std::vector<float> a, b;        ///< [64][k], [k][n]
  std::vector<uint16_t> inA, inB; ///< as they are laid out in shared memory
  std::vector<float> sums;
  explicit Data(const Product &p)
      : a(64 * p.k), b(p.k * p.n), inA((p.bytesOfA ? p.bytesOfA : Product::bytesOf(p.a, 64, p.k)) / 2),
        inB(Product::bytesOf(p.b, p.n, p.k) / 2), sums(64 * p.n) {
    std::mt19937 random(3);
    std::uniform_real_distribution<float> draw(-2, 2);
    for (int r = 0; r < 64; ++r)
      for (int i = 0; i < p.k; ++i) {
        uint16_t bits = p.type.round(draw(random));
        a[r * p.k + i] = p.type.value(bits);
        if (p.registers) {
          int thread = r / 16 * 32 + r % 8 * 4 + i % 8 / 2, number = i / 16 * 4 + r / 8 % 2 + i / 8 % 2 * 2;
          inA[(number * 128 + thread) * 2 + i % 2] = bits;
        } else if (size_t place = p.a.offset(r, i) / 2; place < inA.size())
          inA[place] = bits;
      }
    for (int i = 0; i < p.k; ++i)
      for (int j = 0; j < p.n; ++j) {
        uint16_t bits = p.type.round(draw(random));
        b[i * p.n + j] = p.type.value(bits), inB[p.b.offset(j, i) / 2] = bits;
      }
  }
};

void PrintTo(const Product &p, std::ostream *out) { *out << p.a.text() << " " << p.b.text() << " n = " << p.n; }

std::string faultOf(const Product &p, Fault fault) {
  Data data(p);
  return EmulatedKernel(p.text()).fault(fault, {1}, data.inA, data.inB, data.sums);
}

constexpr TileLayout kPlain = {3, 0, 1024, false}, kTransposed = {3, 8192, 1024, true};
} // namespace

class EmulatorWgmma : public testing::TestWithParam<Product> {};
static std::string nameOfProduct(const testing::TestParamInfo<Product> &info) {
  auto part = [](const TileLayout &l) {
    return (l.transposed ? std::string("T") : std::string("K")) + std::to_string(l.swizzle);
  };
  return (info.param.registers ? "R" : part(info.param.a)) + part(info.param.b) + "_n" + std::to_string(info.param.n) +
         "_" + info.param.type.name;
}
INSTANTIATE_TEST_SUITE_P(
    Layouts, EmulatorWgmma,
    testing::Values(Product{kPlain, kPlain, 128}, Product{kPlain, kPlain, 256, 64, kBfloat},
                    Product{kTransposed, kTransposed, 128}, Product{kTransposed, kPlain, 64, 64, kBfloat},
                    Product{kPlain, {3, 8192, 1024, true}, 192},
                    // The atoms of these are not adjacent.
                    Product{{3, 0, 2048, false}, {3, 1024, 4096, true}, 96},
                    Product{{2, 0, 512, false}, {2, 0, 1024, false}, 40, 32},
                    Product{{2, 2048, 512, true}, {2, 512, 2048, true}, 128, 32, kBfloat},
                    Product{{1, 0, 256, false}, {1, 0, 512, false}, 8, 16},
                    Product{{1, 256, 2048, true}, {1, 2048, 256, true}, 48, 64},
                    Product{{0, 128, 256, false}, {0, 1024, 128, false}, 64, 16},
                    Product{{0, 1024, 128, true}, {0, 128, 1024, true}, 24, 64},
                    Product{.a = kPlain, .b = kTransposed, .n = 128, .registers = true},
                    Product{.a = kPlain, .b = kPlain, .n = 40, .type = kBfloat, .registers = true, .fresh = true}),
    nameOfProduct);

TEST_P(EmulatorWgmma, AgreesWithLoops) {
  const Product &p = GetParam();
  Data data(p);
  EmulatedKernel kernel(p.text());
  kernel.run({1}, data.inA, data.inB, data.sums);
  std::vector<float> expected(64 * p.n);
  multiplyReference(data.a, data.b, expected, 64, p.n, p.k);
  for (int t = 0; t < 128; ++t)
    for (int i = 0; i < p.n / 2; ++i)
      ASSERT_EQ(data.sums[i * 128 + t], expected[rowOfSum(t, i) * p.n + columnOfSum(t, i)])
          << rowOfSum(t, i) << ", " << columnOfSum(t, i);
}

TEST(EmulatorWgmmaFaults, MissingAsyncFence) {
  EXPECT_NAMES(faultOf({.a = kPlain, .b = kPlain, .n = 64, .fence = ""}, Fault::MissingFence),
               "error: product: kernel.wgmma: missing async_fence");
  // A fence after the barrier is too late.
  EXPECT_NAMES(
      faultOf({.a = kPlain, .b = kPlain, .n = 64, .fence = "", .before = "kernel.async_fence"}, Fault::MissingFence),
      "wrote byte 0 of piece 0 of shared memory and passed no async_fence before the barrier behind");
  EXPECT_NAMES(faultOf({.a = kPlain, .b = kPlain, .n = 64, .barrier = ""}, Fault::Race), "read of byte");
}

TEST(EmulatorWgmmaFaults, Descriptors) {
  // The tile of A is larger than its piece.
  EXPECT_NAMES(faultOf({.a = {3, 0, 2048, false}, .b = kPlain, .n = 64, .bytesOfA = 8192}, Fault::OutOfBoundsRead),
               "16 bytes at byte 8192 of piece 0 of shared memory, which has 8192");
  EXPECT_NAMES(faultOf({.a = kPlain, .b = kPlain, .n = 64, .shift = 1024}, Fault::OutOfBoundsRead),
               "of piece 0 of shared memory, which has 8192");
  EXPECT_NAMES(faultOf({.a = kPlain, .b = kPlain, .n = 64, .shift = 8}, Fault::Misaligned),
               "offset 8, leading 0 or stride 1024 is no multiple of 16");
  EXPECT_NAMES(faultOf({.a = kPlain, .b = kPlain, .n = 64, .alignment = 512}, Fault::Misaligned),
               "is not aligned to 1024");
}

TEST(EmulatorWgmmaFaults, Unwritten) {
  Product p{.a = kPlain, .b = kPlain, .n = 64};
  std::string text = p.text(), piece = "%sb = kernel.shared 8192";
  text.replace(text.find(piece), piece.size(),
               "%sb = kernel.shared 16384"); // one more atom row than is copied
  std::string stride = "%sb[0] " + kPlain.text();
  text.replace(text.find(stride), stride.size(), "%sb[0] <b128 leading 0 stride 2048 transposed false>");
  Data data(p);
  EXPECT_NAMES(EmulatedKernel(text).fault(Fault::Uninitialized, {1}, data.inA, data.inB, data.sums),
               "product: kernel.wgmma: uninitialised read");
}

TEST(EmulatorWgmmaFaults, WrittenWhileRead) {
  std::string store = R"(
    %w = llvm.getelementptr %sb[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, vector<4xi32>
    %nothing = llvm.mlir.zero : vector<4xi32>
    llvm.store %nothing, %w : vector<4xi32>, !llvm.ptr<3> loc("overwrite"))";
  EXPECT_NAMES(faultOf({.a = kPlain, .b = kPlain, .n = 64, .between = store}, Fault::InUse),
               "error: overwrite: llvm.store: write to memory in use");
  std::string copy = R"(
    %w = llvm.getelementptr %sa[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, vector<4xi32>
    %f = llvm.getelementptr %b0[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<4xi32>
    kernel.copy_async %w, %f, 16 loc("overwrite"))";
  EXPECT_NAMES(faultOf({.a = kPlain, .b = kPlain, .n = 64, .between = copy}, Fault::InUse),
               "of shared memory is in use by wgmma");
  // The group that the second wait leaves under way still reads the tile.
  EXPECT_NAMES(
      faultOf({.a = kPlain, .b = kPlain, .n = 64, .between = "kernel.wgmma_wait 1 ()\n" + store}, Fault::InUse),
      "in use by wgmma");
}

TEST(EmulatorWgmmaFaults, Unawaited) {
  EXPECT_NAMES(faultOf({.a = kPlain, .b = kPlain, .n = 64, .wait = ""}, Fault::UnawaitedProduct),
               "the thread ends while wgmmas of its warpgroup are under way");
  // A wait covers committed groups only.
  EXPECT_NAMES(faultOf({.a = kPlain, .b = kPlain, .n = 64, .commit = ""}, Fault::UnawaitedProduct),
               "product: kernel.wgmma: unawaited wgmma");
  EXPECT_NAMES(faultOf({.a = kPlain, .b = kPlain, .n = 64, .wgmmaFence = ""}, Fault::UnawaitedProduct),
               "no wgmma_fence before it");
}

TEST(EmulatorWgmmaFaults, Divergence) {
  // One warp passes an additional fence.
  std::string own = constants({32}) + R"(
    %first = llvm.icmp "ult" %t, %c32 : i32
    scf.if %first { kernel.wgmma_fence })";
  EXPECT_NAMES(faultOf({.a = kPlain, .b = kPlain, .n = 64, .before = own}, Fault::DivergentWarp),
               "past different wgmma_fences, commits or waits");
  // Only one warp multiplies.
  std::string text = kernelText(128, 0, constants({32}) + R"(
    %t = kernel.thread_id
    %zero = llvm.mlir.constant(0.0 : f32) : f32
    %s = kernel.shared 8192 {alignment = 1024 : i64}
    %first = llvm.icmp "ult" %t, %c32 : i32
    scf.if %first {
      kernel.wgmma_fence
      %d:4 = kernel.wgmma f16 %s[0] <b128 leading 0 stride 1024 transposed false>, %s[0] <b128 leading 0 stride 1024 transposed false> (%zero, %zero, %zero, %zero) : f32, f32, f32, f32 loc("product")
    })");
  EXPECT_NAMES(EmulatedKernel(text).fault(Fault::DivergentWarp, {1}),
               "32 threads wait here for ever; thread 32 has exited");
}
