// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "HopperHarness.h"
#include "runtime/support/DType.h"

using namespace mpc;
using namespace mpc::test;

const HalfType mpc::test::kHalf = {"f16", [](float v) { return uint16_t(rt::floatToHalf(v)); },
                                   [](uint16_t b) { return rt::halfToFloat(b); }};
const HalfType mpc::test::kBfloat = {"bf16", [](float v) { return uint16_t(rt::floatToBfloat(v)); },
                                     [](uint16_t b) { return rt::bfloatToFloat(b); }};

int TileLayout::plain(int row, int k) const {
  if (!transposed)
    return row / 8 * stride + row % 8 * line() + (swizzle == 0 ? k / 8 * leading + k % 8 * 2 : k * 2);
  int rowsOfLine = line() / 2;
  int within = k % 8 * line() + row % rowsOfLine * 2;
  // Without swizzle, stride and leading change roles.
  return within +
         (swizzle == 0 ? row / rowsOfLine * stride + k / 8 * leading : row / rowsOfLine * leading + k / 8 * stride);
}

int TileLayout::offset(int row, int k) const {
  int p = plain(row, k), mask = (1 << swizzle) - 1;
  return p ^ ((p >> 7) & mask) << 4;
}

std::string TileLayout::text() const {
  const char *names[] = {"none", "b32", "b64", "b128"};
  return std::string("<") + names[swizzle] + " leading " + std::to_string(leading) + " stride " +
         std::to_string(stride) + " transposed " + (transposed ? "true>" : "false>");
}

std::string mpc::test::valueList(const std::string &name, int count) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text += (i ? ", %" : "%") + name + "#" + std::to_string(i);
  return text;
}

std::string mpc::test::repeated(const std::string &value, int count) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text += (i ? ", " : "") + value;
  return text;
}

std::string mpc::test::typeList(const std::string &type, int count) { return repeated(type, count); }

std::string mpc::test::constants(const std::vector<int> &values) {
  std::string text;
  for (int v : values)
    text += "%c" + std::to_string(v) + " = llvm.mlir.constant(" + std::to_string(v) + " : i32) : i32\n";
  return text;
}

std::string mpc::test::copyIn(int buffer, const std::string &piece, int bytes, const std::string &tag) {
  std::string b = std::to_string(buffer), steps = std::to_string(bytes / 2048);
  return "%lo" + tag + " = arith.constant 0 : index\n%hi" + tag + " = arith.constant " + steps + " : index\n%one" +
         tag + " = arith.constant 1 : index\n" + "%x" + tag + " = llvm.mlir.constant(128 : i32) : i32\nscf.for %j" +
         tag + " = %lo" + tag + " to %hi" + tag + " step %one" + tag + " {\n" + "%i" + tag + " = arith.index_cast %j" +
         tag + " : index to i32\n%m" + tag + " = llvm.mul %i" + tag + ", %x" + tag + " : i32\n%n" + tag +
         " = llvm.add %m" + tag + ", %t : i32\n%p" + tag + " = llvm.getelementptr %b" + b + "[%n" + tag +
         "] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<4xi32>\n%v" + tag + " = llvm.load %p" + tag +
         " : !llvm.ptr<1> -> vector<4xi32>\n%q" + tag + " = llvm.getelementptr " + piece + "[%n" + tag +
         "] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, vector<4xi32>\nllvm.store %v" + tag + ", %q" + tag +
         " : vector<4xi32>, !llvm.ptr<3>\n}\n";
}

std::string mpc::test::storeSums(const std::string &name, int count, int buffer, const std::string &thread) {
  std::string text = "%out" + name + " = llvm.getelementptr %b" + std::to_string(buffer) + "[" + thread +
                     "] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32\n";
  for (int i = 0; i < count; ++i) {
    std::string n = std::to_string(i);
    text += "%o" + name + n + " = llvm.getelementptr %out" + name + "[" + std::to_string(128 * i) +
            "] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32\nllvm.store %" + name + "#" + n + ", %o" + name + n +
            " : f32, !llvm.ptr<1>\n";
  }
  return text;
}

std::string mpc::test::ringStage(int tileBytes) {
  return "%cTile = llvm.mlir.constant(" + std::to_string(tileBytes) + " : i32) : i32" + R"(
        %i = arith.index_cast %j : index to i32
        %stage = llvm.urem %i, %cS : i32
        %round = llvm.udiv %i, %cS : i32
        %parity = llvm.and %round, %c1 : i32
        %flipped = llvm.xor %parity, %c1 : i32
        %full = llvm.getelementptr %bars[%stage] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
        %other = llvm.add %stage, %cS : i32
        %empty = llvm.getelementptr %bars[%other] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
        %offset = llvm.mul %stage, %cTile : i32
        %ta = llvm.getelementptr %sa[%offset] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
        %tb = llvm.getelementptr %sb[%offset] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
)";
}

std::string mpc::test::ringBarriers(int stages, const std::string &countOfFull, const std::string &countOfEmpty) {
  std::string text;
  for (int i = 0; i < 2 * stages; ++i) {
    std::string n = std::to_string(i);
    text += "%bar" + n + " = llvm.getelementptr %bars[" + n +
            "] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i64\nkernel.mbarrier_init %bar" + n + ", " +
            (i < stages ? countOfFull : countOfEmpty) + " loc(\"init" + n + "\")\n";
  }
  return text;
}

int mpc::test::rowOfSum(int thread, int i) { return thread / 32 * 16 + thread % 32 / 4 + i / 2 % 2 * 8; }
int mpc::test::columnOfSum(int thread, int i) { return i / 4 * 8 + thread % 4 * 2 + i % 2; }

void mpc::test::multiplyReference(const std::vector<float> &a, const std::vector<float> &b, std::vector<float> &c,
                                  int rows, int n, int k) {
  for (int r = 0; r < rows; ++r)
    for (int j = 0; j < n; ++j)
      for (int step = 0; step < k; step += 16) {
        double sum = 0;
        for (int i = step; i < step + 16; ++i)
          sum += double(a[r * k + i]) * b[i * n + j];
        c[r * n + j] = float(sum + c[r * n + j]);
      }
}

void mpc::test::expectNames(const std::string &message, const std::string &text, int line) {
  EXPECT_NE(message.find(text), std::string::npos) << "line " << line << ": " << message;
}
