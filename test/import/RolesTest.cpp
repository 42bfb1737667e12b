//===- RolesTest.cpp - what is trained, what is data --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ModelBuilder.h"
#include <gtest/gtest.h>

using namespace mpc;
using namespace mpc::test;
using L = std::vector<int64_t>;

static std::string roleOf(const Imported &r, const std::string &name) {
  for (const TensorVerdict &v : r.report.tensors)
    if (v.name == name)
      return v.role;
  return "none";
}

/// Makes a model with one initializer of every kind.
static ModelBuilder kinds() {
  ModelBuilder m;
  m.input("x", {int64_t(2), int64_t(8)}).input("ids", {int64_t(2)}, onnx::TensorProto::INT64);
  m.weight("table", {20, 8})
      .weight("w", {8, 8})
      .weight("b", {8})
      .weight("gain", {8})
      .weight("tw", {8, 8})
      .weight("shift", {8});
  m.weight("slope", {8}).scalar("scalar", 2).weight("exponent", {8}).scalar("low", 0).weight("unused", {4});
  m.node("Gather", {"table", "ids"}, {"e"});
  m.node("Add", {"x", "e"}, {"a"});
  m.node("MatMul", {"a", "w"}, {"h"});
  m.node("Add", {"h", "b"}, {"hb"});
  m.node("Mul", {"hb", "gain"}, {"g"});
  m.node("Mul", {"g", "scalar"}, {"s"});
  m.node("Transpose", {"tw"}, {"twt"});
  m.node("Identity", {"twt"}, {"twi"});
  m.node("MatMul", {"s", "twi"}, {"h2"});
  m.node("Pow", {"h2", "exponent"}, {"p"});
  m.node("Clip", {"p", "low"}, {"c"});
  m.node("Sub", {"c", "shift"}, {"d"});
  m.node("PRelu", {"d", "slope"}, {"y"});
  m.output("y");
  return m;
}

TEST(Roles, PositionsDecide) {
  Imported r = import(kinds());
  ASSERT_TRUE(r.ok()) << r.diagnostics;
  for (const char *name : {"table", "w", "b", "gain", "tw", "slope"})
    EXPECT_EQ(roleOf(r, name), "parameter") << name;
  for (const char *name : {"scalar", "exponent", "low", "shift", "unused"})
    EXPECT_EQ(roleOf(r, name), "constant") << name;
  EXPECT_EQ(roleOf(r, "x"), "data");
  EXPECT_EQ(count(r.ir, "train.variable"), 6u);
}

TEST(Roles, FreezeAndTrainable) {
  ImportOptions options;
  options.freeze = "^(w|b)$";
  Imported r = import(kinds(), options);
  EXPECT_EQ(roleOf(r, "w"), "buffer"); // a buffer stays in the checkpoint,
  EXPECT_EQ(roleOf(r, "b"), "buffer"); // however small it is
  EXPECT_EQ(roleOf(r, "gain"), "parameter");
  options = {};
  options.trainable = "shift|gain";
  r = import(kinds(), options);
  EXPECT_EQ(roleOf(r, "shift"), "parameter");
  EXPECT_EQ(roleOf(r, "gain"), "parameter");
  EXPECT_EQ(roleOf(r, "w"), "buffer");
  options.trainable = "(";
  r = import(kinds(), options);
  EXPECT_FALSE(r.ok());
  EXPECT_NE(r.diagnostics.find("--trainable: error: '(' is not a regular expression"), std::string::npos)
      << r.diagnostics;
}

/// Makes convolution, norm and dense layer, with all weights as graph inputs.
static ModelBuilder weightless() {
  ModelBuilder m;
  m.input("x", {int64_t(2), int64_t(3), int64_t(8), int64_t(8)})
      .input("cw", {int64_t(4), int64_t(3), int64_t(3), int64_t(3)});
  m.input("cb", {int64_t(4)})
      .input("s", {int64_t(4)})
      .input("nb", {int64_t(4)})
      .input("m", {int64_t(4)})
      .input("v", {int64_t(4)});
  m.input("fw", {int64_t(10), int64_t(4)})
      .input("fb", {int64_t(10)})
      .input("extra", {int64_t(4), int64_t(1), int64_t(1)});
  m.input("mask", {int64_t(2), int64_t(4), int64_t(1), int64_t(1)});
  m.node("Conv", {"x", "cw", "cb"}, {"c"});
  m.node("BatchNormalization", {"c", "s", "nb", "m", "v"}, {"n"});
  m.node("Mul", {"n", "extra"}, {"e"});
  m.node("Mul", {"e", "mask"}, {"k"});
  m.node("GlobalAveragePool", {"k"}, {"g"});
  m.node("Flatten", {"g"}, {"f"});
  m.node("Gemm", {"f", "fw", "fb"}, {"y"}, {{"transB", int64_t(1)}});
  m.output("y");
  return m;
}

TEST(Roles, WeightsAsInputs) {
  Imported r = import(weightless());
  ASSERT_TRUE(r.ok()) << r.diagnostics;
  for (const char *name : {"cw", "cb", "s", "nb", "fw", "fb", "extra"})
    EXPECT_EQ(roleOf(r, name), "parameter") << name;
  for (const char *name : {"m", "v"})
    EXPECT_EQ(roleOf(r, name), "buffer") << name;
  for (const char *name : {"x", "mask"}) // the mask has the batch dimension
    EXPECT_EQ(roleOf(r, name), "data") << name;
  // Kaiming initialization gives sqrt(2/27) and sqrt(2/4); biases are 0, scales and variances 1.
  for (const char *part :
       {"@cw parameter : tensor<4x3x3x3xf32> = #train.normal<0.000000e+00 : f64, 0.27216",
        "@fw parameter : tensor<10x4xf32> = #train.normal<0.000000e+00 : f64, 0.7071",
        "@cb parameter : tensor<4xf32> = #train.fill<0.000000e+00",
        "@s parameter : tensor<4xf32> = #train.fill<1.000000e+00",
        "@v buffer : tensor<4xf32> = #train.fill<1.000000e+00", "@m buffer : tensor<4xf32> = #train.fill<0.000000e+00",
        "@extra parameter : tensor<4x1x1xf32> = #train.fill<1.000000e+00"})
    EXPECT_NE(r.ir.find(part), std::string::npos) << part << "\n" << r.ir.substr(0, 3000);
  EXPECT_NE(r.diagnostics.find("remark: graph inputs are taken for parameters"), std::string::npos);
}

TEST(Roles, InitAndParams) {
  ImportOptions options;
  options.init = "xavier";
  Imported r = import(weightless(), options);
  // The bound is sqrt(6/(27 + 36)), from fan-in 3*9 and fan-out 4*9.
  EXPECT_NE(r.ir.find("@cw parameter : tensor<4x3x3x3xf32> = #train.uniform<-0.3086"), std::string::npos)
      << r.ir.substr(0, 2000);
  options.init = "zeros";
  EXPECT_FALSE(import(weightless(), options).ok());
  options = {};
  options.params = "^(cw|cb|fw)$";
  r = import(weightless(), options);
  EXPECT_EQ(roleOf(r, "cw"), "parameter");
  EXPECT_EQ(roleOf(r, "fb"), "data");
  options = {};
  options.forwardOnly = true;
  r = import(weightless(), options);
  EXPECT_EQ(count(r.ir, "train.variable"), 0u);
}

TEST(Roles, AwkwardNames) {
  ModelBuilder m;
  m.input("x", {int64_t(2), int64_t(3)});
  m.weight("forward", {3}).weight(std::string("bad\xff\n"), {3});
  m.node("Add", {"x", "forward"}, {"a"});
  m.node("Add", {"a", std::string("bad\xff\n")}, {"y"});
  m.output("y");
  Imported r = import(m);
  ASSERT_TRUE(r.ok()) << r.diagnostics;
  EXPECT_NE(r.ir.find("train.variable @forward_0 parameter"), std::string::npos) << r.ir;
  EXPECT_NE(r.ir.find("{train.name = \"forward\"}"), std::string::npos) << r.ir;
  EXPECT_NE(r.ir.find("@\"bad\\\\xFF\\\\x0A\""), std::string::npos) << r.ir;
}

TEST(Roles, NamesThatLookAlikeAreOfDifferentVariables) {
  // A checkpoint stores parameters under these names, and "__metadata__" is no name for a tensor there.
  ModelBuilder m;
  const std::vector<std::string> names = {"a\n", "a\\x0A", "a\\x5Cx0A", "a\\", "\\xff", "__metadata__"};
  m.input("x", {int64_t(2), int64_t(3)});
  std::string last = "x";
  for (const std::string &name : names) {
    m.weight(name, {3}).node("Add", {last, name}, {"sum/" + name});
    last = "sum/" + name;
  }
  m.output(last);
  Imported r = import(m);
  ASSERT_TRUE(r.ok()) << r.diagnostics;
  EXPECT_EQ(count(r.ir, "train.variable"), names.size());
  // MLIR prints a backslash twice.
  for (const char *symbol : {R"(@"a\\x0A")", R"(@"a\\x5Cx0A")", R"(@"a\\x5Cx5Cx0A")", R"(@"a\\")", R"(@"\\xff")",
                             "@__metadata___0 parameter"})
    EXPECT_EQ(count(r.ir, std::string("train.variable ") + symbol), 1u) << symbol << "\n" << r.ir;
  EXPECT_EQ(count(r.ir, "train.name = \"__metadata__\""), 1u) << r.ir;
}
