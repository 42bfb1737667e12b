//===- Float8Test.cpp - conversions of 8-bit floats, and the kernels that make factors of them ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CompiledArithmetic.h"
#include "dialects/Graph/IR/Shapes.h"
#include "mlir/AsmParser/AsmParser.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace mpc;
using namespace mpc::test;

namespace {

struct Format {
  std::string type;
  const llvm::fltSemantics &semantics;
  uint8_t largest;
};
const Format formats[] = {{"f8E4M3FN", llvm::APFloat::Float8E4M3FN(), 0x7e},
                          {"f8E5M2", llvm::APFloat::Float8E5M2(), 0x7b}};

double valueOf(const Format &format, uint8_t code) {
  return llvm::APFloat(format.semantics, llvm::APInt(8, code)).convertToDouble();
}
std::string encoder(const Format &f) {
  return loopOver("encode", "%r = kernel.encode_f8 %x to " + f.type, false, "f32", "i8");
}
std::string decoder(const Format &f) {
  return loopOver("decode", "%r = kernel.decode_f8 %x from " + f.type, false, "i8", "f32");
}

} // namespace

TEST(Float8, AllCodesDecode) {
  for (const Format &format : formats) {
    CompiledArithmetic compiled(decoder(format) + encoder(format));
    uint8_t codes[256], again[256];
    float values[256];
    for (int i = 0; i < 256; ++i)
      codes[i] = uint8_t(i);
    compiled.find("decode")(codes, nullptr, values, 256);
    compiled.find("encode")(values, nullptr, again, 256);
    for (int i = 0; i < 256; ++i) {
      double want = valueOf(format, uint8_t(i));
      EXPECT_TRUE(values[i] == want || (std::isnan(values[i]) && std::isnan(want)))
          << format.type << " " << i << ": " << values[i];
      EXPECT_TRUE(std::isnan(want) || std::signbit(values[i]) == ((i & 0x80) != 0)) << i;
      // The way back is checked too: infinities saturate, and all NaNs become one code.
      uint8_t code = std::isnan(want) ? 0x7f : std::isinf(want) ? uint8_t(format.largest | (i & 0x80)) : uint8_t(i);
      EXPECT_EQ(again[i], code) << format.type << " " << i;
    }
  }
}

TEST(Float8, RoundingBoundaries) {
  for (const Format &format : formats) {
    // The inputs are each code's value, the midpoint between it and the next, and the neighbours of that
    // midpoint. A midpoint goes to the even code. Everything beyond the largest value saturates to it.
    std::vector<float> in;
    std::vector<uint8_t> want;
    auto add = [&](float x, int code) {
      in.push_back(x), want.push_back(uint8_t(code));
      in.push_back(-x), want.push_back(uint8_t(code | 0x80));
    };
    for (int code = 0; code <= format.largest; ++code) {
      float value = float(valueOf(format, uint8_t(code)));
      add(value, code);
      if (code == format.largest)
        break;
      float half = float((double(value) + valueOf(format, uint8_t(code + 1))) / 2); // exact in f32
      add(half, code + (code & 1));
      add(std::nextafter(half, 0.0f), code);
      add(std::nextafter(half, INFINITY), code + 1);
    }
    float largest = float(valueOf(format, format.largest));
    for (float x : {std::nextafter(largest, INFINITY), largest * 1.03125f, largest * 1.0625f, largest * 2, 1e9f,
                    3.4e38f, INFINITY})
      add(x, format.largest);
    for (float x : {1e-45f, 1e-40f, 1.2e-38f}) // subnormals of f32
      add(x, 0);
    in.push_back(NAN), want.push_back(0x7f);
    in.push_back(-NAN), want.push_back(0x7f);
    CompiledArithmetic compiled(encoder(format));
    std::vector<uint8_t> got(in.size());
    compiled.find("encode")(in.data(), nullptr, got.data(), int64_t(in.size()));
    auto context = makeContext();
    auto element = llvm::cast<mlir::FloatType>(mlir::parseType(format.type, context.get()));
    for (size_t i = 0; i < in.size(); ++i) {
      EXPECT_EQ(got[i], want[i]) << format.type << " of " << in[i];
      // The evaluator and the constant folder have their own implementations of this rounding.
      double value = valueOf(format, want[i]), evaluated = roundTo(element, double(in[i]));
      EXPECT_TRUE(evaluated == value || (std::isnan(evaluated) && std::isnan(value))) << format.type << " of " << in[i];
      if (!std::isnan(in[i])) {
        EXPECT_EQ(graph::rounded(llvm::APFloat(in[i]), element).convertToDouble(), value)
            << format.type << " of " << in[i];
      }
    }
  }
}

TEST(Float8, RandomFloatsRoundAsTheEvaluatorSays) {
  for (const Format &format : formats) {
    std::vector<float> in; // a million bit patterns from all over f32
    for (uint64_t bits = 0; bits < (uint64_t(1) << 32); bits += 4099) {
      uint32_t low = uint32_t(bits);
      float x;
      std::memcpy(&x, &low, sizeof x);
      in.push_back(x);
    }
    CompiledArithmetic compiled(encoder(format));
    std::vector<uint8_t> codes(in.size());
    compiled.find("encode")(in.data(), nullptr, codes.data(), int64_t(in.size()));
    auto context = makeContext();
    mlir::Type element = mlir::parseType(format.type, context.get());
    int64_t wrong = 0;
    for (size_t i = 0; i < in.size(); ++i) {
      double value = valueOf(format, codes[i]), want = roundTo(element, double(in[i]));
      wrong +=
          !(value == want && std::signbit(value) == std::signbit(want)) && !(std::isnan(value) && std::isnan(want));
    }
    EXPECT_EQ(wrong, 0) << format.type;
  }
}

// Covers casts to and from every type that a kernel may hold, on the host and as GPU kernels.
TEST(Float8, Casts) {
  Batch batch;
  for (const Format &format : formats) {
    std::string own = "tensor<5x67x" + format.type + ">";
    for (std::string other : {"f32", "f16", "bf16", "f64", "i32", "i8", "f8E4M3FN", "f8E5M2"}) {
      std::string type = "tensor<5x67x" + other + ">";
      bool fromFloat = other[0] != 'i';
      batch.add({.name = type + " to " + own,
                 .inputs = {type},
                 .body = "%a = graph.cast %0 : " + type + " to " + own,
                 .yields = {"%a : " + own},
                 .draws = {fromFloat ? Draw{-500, 500, true} : Draw{-100, 100}}});
      batch.add({.name = own + " to " + type,
                 .inputs = {own},
                 .body = "%a = graph.cast %0 : " + own + " to " + type,
                 .yields = {"%a : " + type},
                 .draws = {fromFloat ? Draw{-100, 100, true} : Draw{-100, 100}}});
    }
  }
  batch.run();
}

/// Makes the case y = x * scale in 8 bits, together with its transpose.
static Case factorCase(const std::string &dims, const std::string &swapped, int rank, const std::string &from,
                       const std::string &to) {
  std::string x = "tensor<" + dims + "x" + from + ">", wide = "tensor<" + dims + "x" + "f32>",
              y = "tensor<" + dims + "x" + to + ">", t = "tensor<" + swapped + "x" + to + ">";
  std::string permutation = rank == 2 ? "1, 0" : "0, 2, 1";
  return {.name = "factor " + x + " to " + to,
          .inputs = {x, "tensor<f32>"},
          .body = "%w = graph.cast %0 : " + x + " to " + wide + "\n%s = graph.mul %w, %1 : (" + wide +
                  ", tensor<f32>) -> " + wide + "\n%c = graph.cast %s : " + wide + " to " + y +
                  "\n%t = graph.transpose %c {permutation = array<i64: " + permutation + ">} : (" + y + ") -> " + t,
          .yields = {"%c : " + y, "%t : " + t}};
}

TEST(Float8, FactorsAndTheirTransposes) {
  Batch batch;
  const std::pair<std::string, std::string> shapes[] = {
      {"64x64", "64x64"},   {"128x192", "192x128"}, {"80x48", "48x80"}, {"200x72", "72x200"},
      {"33x130", "130x33"}, {"1x16", "16x1"},       {"70x8", "8x70"}};
  for (const Format &format : formats)
    for (std::string from : {"f32", "f16", "bf16"})
      for (auto &[dims, swapped] : shapes)
        batch.add(factorCase(dims, swapped, 2, from, format.type));
  batch.add(factorCase("3x80x144", "3x144x80", 3, "f16", "f8E4M3FN"));
  batch.add(factorCase("2x17x65", "2x65x17", 3, "bf16", "f8E5M2"));
  // Kernels of the same form also write wider elements, only the transpose, or results of two types.
  batch.add(factorCase("96x136", "136x96", 2, "f32", "f16"));
  batch.add(factorCase("65x70", "70x65", 2, "f16", "bf16"));
  Case alone = factorCase("80x144", "144x80", 2, "f16", "f8E4M3FN");
  alone.yields.erase(alone.yields.begin());
  batch.add(alone);
  Case both = factorCase("80x144", "144x80", 2, "f16", "f8E4M3FN");
  both.body += "\n%g = graph.cast %s : tensor<80x144xf32> to tensor<80x144xf8E5M2>\n%gt = graph.transpose %g "
               "{permutation = array<i64: 1, 0>} : "
               "(tensor<80x144xf8E5M2>) -> tensor<144x80xf8E5M2>";
  both.yields.push_back("%gt : tensor<144x80xf8E5M2>");
  both.yields.push_back("%s : tensor<80x144xf32>");
  batch.add(both);
  batch.run();
  // On a GPU they have the form that writes both at once.
  auto context = makeContext();
  auto module = parseCase(context.get(), factorCase("64x64", "64x64", 2, "f16", "f8E4M3FN"));
  EXPECT_EQ(dispatchOf(*module).getForm(), kernel::Form::Pointwise);
  setTarget(*module, "sm_80");
  EXPECT_EQ(dispatchOf(*module).getForm(), kernel::Form::TransposedCopy);
}
