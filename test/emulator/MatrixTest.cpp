// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compares load_matrix and mma with plain loops in double.
#include "EmulatorHarness.h"
#include "runtime/support/DType.h"
#include <bit>
#include <cmath>
#include <random>

using namespace mpc::test;
using namespace mpc::rt;

//===-- load_matrix -----------------------------------------------------------------===//

/// One warp copies 4 matrices of 8 x 8 16-bit words to shared memory unchanged, loads `count` of them, and writes its
/// registers: out[i * 32 + lane].
static std::string loadKernel(int count, bool transpose) {
  std::string body = R"(
    %t = kernel.thread_id
    %s = kernel.shared 512
    %p = llvm.getelementptr %b0[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<4xi32>
    %v = llvm.load %p : !llvm.ptr<1> -> vector<4xi32>
    %row = llvm.getelementptr %s[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, vector<4xi32>
    llvm.store %v, %row : vector<4xi32>, !llvm.ptr<3>
    kernel.warp_sync
    %o = llvm.getelementptr %b1[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    %r)" + (count > 1 ? ":" + std::to_string(count) : std::string()) +
                     " = kernel.load_matrix %row" + (transpose ? " {transpose}" : "") + " : i32";
  for (int i = 1; i < count; ++i)
    body += ", i32";
  for (int i = 0; i < count; ++i) {
    std::string n = std::to_string(i);
    body += "\n%o" + n + " = llvm.getelementptr %o[" + std::to_string(32 * i) +
            "] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32\nllvm.store %r" + (count > 1 ? "#" + n : "") + ", %o" + n +
            " : i32, !llvm.ptr<1>";
  }
  return kernelText(32, 2, body);
}

TEST(Emulator, LoadMatrix) {
  std::vector<uint16_t> x(4 * 64);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = uint16_t(i * 257 + 3);
  for (int count : {1, 2, 4})
    for (bool transpose : {false, true}) {
      EmulatedKernel k(loadKernel(count, transpose));
      std::vector<uint32_t> out(count * 32);
      k.run({1}, x, out);
      for (int m = 0; m < count; ++m)
        for (int lane = 0; lane < 32; ++lane)
          for (int half = 0; half < 2; ++half) {
            int row = lane / 4, column = lane % 4 * 2 + half;
            EXPECT_EQ(uint16_t(out[m * 32 + lane] >> 16 * half),
                      x[m * 64 + (transpose ? column * 8 + row : row * 8 + column)])
                << count << (transpose ? " transposed" : "") << " matrix " << m << " lane " << lane;
          }
    }
}

TEST(Emulator, StoreMatrix) {
  // store_matrix is the inverse of load_matrix: 4 matrices go to the upper half of the piece and are
  // written out from there.
  for (bool transpose : {false, true}) {
    std::string flag = transpose ? " {transpose}" : "";
    EmulatedKernel k(kernelText(32, 2,
                                R"(
      %t = kernel.thread_id
      %s = kernel.shared 1024
      %p = llvm.getelementptr %b0[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<4xi32>
      %v = llvm.load %p : !llvm.ptr<1> -> vector<4xi32>
      %row = llvm.getelementptr %s[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, vector<4xi32>
      llvm.store %v, %row : vector<4xi32>, !llvm.ptr<3>
      kernel.warp_sync
      %r:4 = kernel.load_matrix %row : i32, i32, i32, i32
      %to = llvm.getelementptr %row[512] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
      kernel.store_matrix %to, %r#0, %r#1, %r#2, %r#3)" +
                                    flag + R"(
      kernel.warp_sync
      %w = llvm.load %to : !llvm.ptr<3> -> vector<4xi32>
      %q = llvm.getelementptr %b1[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<4xi32>
      llvm.store %w, %q : vector<4xi32>, !llvm.ptr<1>)"));
    std::vector<uint16_t> x(256), y(256);
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = uint16_t(i * 257 + 3);
    k.run({1}, x, y);
    for (int m = 0; m < 4; ++m)
      for (int r = 0; r < 8; ++r)
        for (int c = 0; c < 8; ++c)
          EXPECT_EQ(y[m * 64 + r * 8 + c], x[m * 64 + (transpose ? c * 8 + r : r * 8 + c)])
              << transpose << " " << m << " " << r << " " << c;
  }
}

//===-- mma ---------------------------------------------------------------------------===//

namespace {
struct Shape {
  const char *element;
  int k;
};
/// How an element type is stored: in 16 or 32 bits, and which value these have.
struct Element {
  bool wide;
  uint32_t (*round)(float);
  double (*value)(uint32_t);
};
Element elementOf(const std::string &name) {
  if (name == "f16")
    return {false, [](float v) { return uint32_t(floatToHalf(v)); },
            [](uint32_t bits) { return double(halfToFloat(uint16_t(bits))); }};
  if (name == "bf16")
    return {false, [](float v) { return uint32_t(floatToBfloat(v)); },
            [](uint32_t bits) { return double(bfloatToFloat(uint16_t(bits))); }};
  // tf32 keeps the upper 19 bits of an f32; the tensor cores ignore the others.
  return {true, [](float v) { return std::bit_cast<uint32_t>(v); },
          [](uint32_t bits) { return double(std::bit_cast<float>(bits & ~0x1FFFu)); }};
}

/// b0 has the fragments of A [4][32], b1 those of B [2][32], b2 is C, b3 is D [4][32].
std::string mmaKernel(Shape shape) {
  bool tf32 = shape.element == std::string("tf32");
  int a = shape.k == 16 || tf32 ? 4 : 2;
  std::string body = "%t = kernel.thread_id\n", operands[3];
  int counts[3] = {a, a / 2, 4};
  const char *names[3] = {"fa", "fb", "fc"}, *types[3] = {"i32", "i32", "f32"};
  for (int operand = 0; operand < 3; ++operand)
    for (int i = 0; i < counts[operand]; ++i) {
      std::string n = names[operand] + std::to_string(i), type = types[operand];
      body += "%p" + n + " = llvm.getelementptr %b" + std::to_string(operand) +
              "[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32\n%q" + n + " = llvm.getelementptr %p" + n + "[" +
              std::to_string(32 * i) + "] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32\n%" + n + " = llvm.load %q" + n +
              " : !llvm.ptr<1> -> " + type + "\n";
      operands[operand] += (i ? ", %" : "%") + n;
    }
  body += "%d:4 = kernel.mma " + std::string(shape.element) + " " + std::to_string(shape.k) + " (" + operands[0] +
          ") (" + operands[1] + ") (" + operands[2] + ")\n";
  for (int i = 0; i < 4; ++i) {
    std::string n = std::to_string(i);
    body += "%o" + n + " = llvm.getelementptr %b3[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32\n%w" + n +
            " = llvm.getelementptr %o" + n + "[" + std::to_string(32 * i) +
            "] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32\nllvm.store %d#" + n + ", %w" + n + " : f32, !llvm.ptr<1>\n";
  }
  return kernelText(32, 4, body);
}

struct Tile {
  std::vector<uint32_t> a, b;                     ///< bits: [16][k], [k][8]
  std::vector<float> c = std::vector<float>(128); ///< [16][8]
};

/// Distributes a tile over lanes by the tables of the PTX manual (written there as functions of groupID and
/// threadID_in_group), runs the kernel, and gathers D.
std::vector<float> runMma(EmulatedKernel &kernel, Shape shape, const Tile &tile) {
  Element element = elementOf(shape.element);
  int k = shape.k;
  std::vector<uint32_t> a(128), b(64);
  std::vector<float> c(128), d(128), result(128);
  for (int lane = 0; lane < 32; ++lane) {
    int group = lane >> 2, inGroup = lane & 3;
    if (element.wide) {
      for (int i = 0; i < 4; ++i)
        a[i * 32 + lane] = tile.a[(group + (i == 1 || i == 3 ? 8 : 0)) * k + inGroup + (i >= 2 ? 4 : 0)];
      for (int i = 0; i < 2; ++i)
        b[i * 32 + lane] = tile.b[(inGroup + (i == 1 ? 4 : 0)) * 8 + group];
    } else {
      // The manual counts elements a0 … a7: the row is groupID for a0 a1 a4 a5, else groupID + 8; the column is
      // inGroup * 2 + (i & 1), + 8 from a4 on.
      for (int i = 0; i < k / 2; ++i) {
        int row = (i & 2) ? group + 8 : group, column = inGroup * 2 + (i & 1) + (i >= 4 ? 8 : 0);
        a[i / 2 * 32 + lane] |= tile.a[row * k + column] << 16 * (i & 1);
      }
      for (int i = 0; i < k / 4; ++i) {
        int row = inGroup * 2 + (i & 1) + (i >= 2 ? 8 : 0);
        b[i / 2 * 32 + lane] |= tile.b[row * 8 + group] << 16 * (i & 1);
      }
    }
    for (int i = 0; i < 4; ++i)
      c[i * 32 + lane] = tile.c[(i < 2 ? group : group + 8) * 8 + inGroup * 2 + (i & 1)];
  }
  kernel.run({1}, a, b, c, d);
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 4; ++i)
      result[((lane >> 2) + (i < 2 ? 0 : 8)) * 8 + (lane & 3) * 2 + (i & 1)] = d[i * 32 + lane];
  return result;
}
} // namespace

class EmulatorMma : public testing::TestWithParam<Shape> {};
static std::string shapeName(const testing::TestParamInfo<Shape> &info) {
  return std::string(info.param.element) + "_k" + std::to_string(info.param.k);
}
INSTANTIATE_TEST_SUITE_P(Types, EmulatorMma,
                         testing::Values(Shape{"f16", 8}, Shape{"f16", 16}, Shape{"bf16", 16}, Shape{"tf32", 8}),
                         shapeName);

TEST_P(EmulatorMma, AgreesWithDouble) {
  Shape shape = GetParam();
  Element element = elementOf(shape.element);
  EmulatedKernel kernel(mmaKernel(shape));
  std::mt19937 random(5);
  for (int round = 0; round < 4; ++round) {
    // The last rounds draw numbers among f16's subnormals, and large numbers.
    float scale = round < 2 ? 1.0f : round == 2 ? 1e-6f : 100.0f;
    std::uniform_real_distribution<float> draw(-scale, scale);
    Tile tile{std::vector<uint32_t>(16 * shape.k), std::vector<uint32_t>(8 * shape.k)};
    for (uint32_t &v : tile.a)
      v = element.round(draw(random));
    for (uint32_t &v : tile.b)
      v = element.round(draw(random));
    for (float &v : tile.c)
      v = round == 1 ? 0 : draw(random);
    std::vector<float> d = runMma(kernel, shape, tile);
    for (int i = 0; i < 16; ++i)
      for (int j = 0; j < 8; ++j) {
        double sum = 0;
        for (int k = 0; k < shape.k; ++k)
          sum += element.value(tile.a[i * shape.k + k]) * element.value(tile.b[k * 8 + j]);
        // Both sum in the order of k in f64, which is exact here, so the results are equal and not only close.
        EXPECT_EQ(d[i * 8 + j], float(sum + tile.c[i * 8 + j])) << i << ", " << j;
      }
  }
}

TEST_P(EmulatorMma, PropagatesSpecials) {
  Shape shape = GetParam();
  Element element = elementOf(shape.element);
  Tile tile{std::vector<uint32_t>(16 * shape.k, element.round(1)),
            std::vector<uint32_t>(8 * shape.k, element.round(1))};
  tile.a[0 * shape.k + 3] = element.round(INFINITY);
  tile.a[1 * shape.k + 2] = element.round(NAN);
  tile.a[2 * shape.k + 1] = element.round(INFINITY), tile.a[2 * shape.k + 5] = element.round(-INFINITY);
  tile.c[3 * 8 + 4] = -INFINITY;
  EmulatedKernel kernel(mmaKernel(shape));
  std::vector<float> d = runMma(kernel, shape, tile);
  for (int j = 0; j < 8; ++j) {
    EXPECT_EQ(d[j], INFINITY);
    EXPECT_TRUE(std::isnan(d[8 + j]));
    EXPECT_TRUE(std::isnan(d[16 + j]));
    EXPECT_EQ(d[24 + j], j == 4 ? -INFINITY : float(shape.k));
    EXPECT_EQ(d[32 + j], float(shape.k));
  }
}
