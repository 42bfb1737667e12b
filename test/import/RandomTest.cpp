//===- RandomTest.cpp - random numbers, and dropout that is written with them ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ModelBuilder.h"
#include <gtest/gtest.h>

using namespace mpc;
using namespace mpc::test;
using L = std::vector<int64_t>;

namespace {

void expectIn(const Imported &result, std::initializer_list<const char *> parts) {
  ASSERT_TRUE(result.ok()) << result.diagnostics;
  for (const char *part : parts)
    EXPECT_NE(result.ir.find(part), std::string::npos) << part << "\nnot in\n" << result.ir.substr(0, 6000);
}
void expectError(const Imported &result, const char *error) {
  EXPECT_FALSE(result.ok()) << result.ir;
  EXPECT_NE(result.diagnostics.find(error), std::string::npos) << result.diagnostics;
}

constexpr const char *kStays = "random ops other than dropout also run in eval and predict";
constexpr const char *kDropped = "random masks whose mean is one are dropout, which eval and predict leave out";

/// Makes x [4, 3, 2] and the constants of stochastic depth; the caller adds the nodes.
ModelBuilder masked() {
  ModelBuilder m(17);
  m.input("x", {int64_t(4), int64_t(3), int64_t(2)}).output("y");
  m.scalar("keep", 0.8f).scalar("drop", 0.2f).scalar("zero", 0).scalar("one", 1).scalar("scale", 1.25f);
  m.ints("rows", {4, 1, 1}).ints("axes", {1, 2}).ints("four", {4}).ints("all", {4, 3, 2});
  m.node("ConstantOfShape", {"rows"}, {"like"});
  return m;
}
/// Adds u = RandomUniformLike(like) and mask = Cast(Less(u, keep)).
void bernoulli(ModelBuilder &m) {
  m.node("RandomUniformLike", {"like"}, {"u"});
  m.node("Less", {"u", "keep"}, {"below"});
  m.node("Cast", {"below"}, {"mask"}, {{"to", int64_t(onnx::TensorProto::FLOAT)}});
}
} // namespace

TEST(Random, NumbersOfEachOp) {
  ModelBuilder m(17);
  m.input("x", {int64_t(4), int64_t(3)});
  m.node("RandomUniformLike", {"x"}, {"a"}, {{"low", -1.0}, {"high", 3.0}, {"seed", 5.0}});
  m.node("RandomNormalLike", {"x"}, {"b"},
         {{"mean", 0.5}, {"scale", 0.25}, {"dtype", int64_t(onnx::TensorProto::FLOAT16)}});
  m.node("RandomUniform", {}, {"c"}, {{"shape", L{2, 2}}});
  m.node("RandomNormal", {}, {"d"}, {{"shape", L{5}}, {"dtype", int64_t(onnx::TensorProto::DOUBLE)}});
  m.node("Bernoulli", {"x"}, {"e"}, {{"dtype", int64_t(onnx::TensorProto::BOOL)}});
  m.node("Multinomial", {"x"}, {"f"}, {{"sample_size", int64_t(7)}});
  for (const char *name : {"a", "b", "c", "d", "e", "f"})
    m.output(name);
  Imported r = import(m);
  expectIn(r, {"graph.random uniform %0, %1 {salt = 0 : i64} : (tensor<i64>, tensor<i64>) -> tensor<4x3xf32>",
               "dense<4.000000e+00>", "dense<-1.000000e+00>",
               "graph.random normal %0, %1 {salt = 1 : i64} : (tensor<i64>, tensor<i64>) -> tensor<4x3xf16>",
               "graph.random uniform %0, %1 {salt = 2 : i64} : (tensor<i64>, tensor<i64>) -> tensor<2x2xf32>",
               "graph.random normal %0, %1 {salt = 3 : i64} : (tensor<i64>, tensor<i64>) -> tensor<5xf64>",
               "graph.compare lt", "-> tensor<4x7xi32>", "train.variable @rng.seed rng",
               "train.variable @rng.step counter"});
  EXPECT_NE(r.diagnostics.find(kStays), std::string::npos) << r.diagnostics;
}

TEST(Random, RefusesWhatItCannotDraw) {
  ModelBuilder ints(17);
  ints.input("x", {int64_t(4)}, onnx::TensorProto::INT64).output("y").node("RandomUniformLike", {"x"}, {"y"});
  expectError(import(ints), "y: error: 'RandomUniformLike' (opset 17): random numbers of an integer type are not "
                            "supported\nnote: hint: give a float type as dtype");
  ModelBuilder shapeless(17);
  shapeless.input("x", {int64_t(4)}).output("y").node("RandomNormal", {}, {"y"});
  expectError(import(shapeless), "attribute 'shape' is missing");
  ModelBuilder flat(17);
  flat.input("x", {int64_t(4)}).output("y").node("Multinomial", {"x"}, {"y"});
  expectError(import(flat), "the input must be [batch, classes]");
}

TEST(Random, MasksThatAreDropout) {
  using Build = std::function<void(ModelBuilder &)>;
  const std::vector<std::pair<const char *, Build>> forms = {
      {"x * (mask / keep)",
       [](ModelBuilder &m) {
         bernoulli(m);
         m.node("Div", {"mask", "keep"}, {"s"});
         m.node("Mul", {"x", "s"}, {"y"});
       }},
      {"(mask / keep) * x",
       [](ModelBuilder &m) {
         bernoulli(m);
         m.node("Div", {"mask", "keep"}, {"s"});
         m.node("Mul", {"s", "x"}, {"y"});
       }},
      {"x * mask / keep",
       [](ModelBuilder &m) {
         bernoulli(m);
         m.node("Mul", {"x", "mask"}, {"s"});
         m.node("Div", {"s", "keep"}, {"y"});
       }},
      {"x / keep * mask",
       [](ModelBuilder &m) {
         bernoulli(m);
         m.node("Div", {"x", "keep"}, {"s"});
         m.node("Mul", {"s", "mask"}, {"y"});
       }},
      {"x * mask * scale",
       [](ModelBuilder &m) {
         bernoulli(m);
         m.node("Mul", {"mask", "scale"}, {"s"});
         m.node("Mul", {"x", "s"}, {"y"});
       }},
      {"floor(u + keep)",
       [](ModelBuilder &m) {
         m.node("RandomUniformLike", {"like"}, {"u"});
         m.node("Add", {"keep", "u"}, {"sum"});
         m.node("Floor", {"sum"}, {"mask"});
         m.node("Div", {"x", "keep"}, {"s"});
         m.node("Mul", {"s", "mask"}, {"y"});
       }},
      {"Bernoulli",
       [](ModelBuilder &m) {
         m.node("Expand", {"keep", "rows"}, {"p"});
         m.node("Bernoulli", {"p"}, {"mask"});
         m.node("Div", {"mask", "keep"}, {"s"});
         m.node("Mul", {"x", "s"}, {"y"});
       }},
      {"u > drop",
       [](ModelBuilder &m) {
         m.node("RandomUniformLike", {"like"}, {"u"});
         m.node("Greater", {"u", "drop"}, {"above"});
         m.node("CastLike", {"above", "x"}, {"mask"});
         m.node("Div", {"mask", "keep"}, {"s"});
         m.node("Mul", {"x", "s"}, {"y"});
       }},
      {"where",
       [](ModelBuilder &m) {
         m.node("RandomUniformLike", {"like"}, {"u"});
         m.node("Less", {"u", "drop"}, {"below"});
         m.node("Mul", {"x", "scale"}, {"s"});
         m.node("Where", {"below", "zero", "s"}, {"y"});
       }},
      {"not",
       [](ModelBuilder &m) {
         m.node("RandomUniformLike", {"like"}, {"u"});
         m.node("GreaterOrEqual", {"keep", "u"}, {"below"});
         m.node("Not", {"below"}, {"not"});
         m.node("Not", {"not"}, {"again"});
         m.node("Where", {"again", "scale", "zero"}, {"s"});
         m.node("Mul", {"x", "s"}, {"y"});
       }},
      {"a vector of samples",
       [](ModelBuilder &m) {
         m.node("RandomUniform", {}, {"u"}, {{"shape", L{4}}});
         m.node("Less", {"u", "keep"}, {"below"});
         m.node("Cast", {"below"}, {"flat"}, {{"to", int64_t(onnx::TensorProto::FLOAT)}});
         m.node("Reshape", {"flat", "rows"}, {"mask"});
         m.node("Div", {"mask", "keep"}, {"s"});
         m.node("Mul", {"x", "s"}, {"y"});
       }},
      {"expanded",
       [](ModelBuilder &m) {
         bernoulli(m);
         m.node("Expand", {"mask", "all"}, {"wide"});
         m.node("Div", {"wide", "keep"}, {"s"});
         m.node("Mul", {"x", "s"}, {"y"});
       }},
  };
  for (const auto &[name, build] : forms) {
    ModelBuilder m = masked();
    build(m);
    Imported r = import(m);
    SCOPED_TRACE(name);
    expectIn(r, {"graph.dropout %arg0", "ratio = 0.1999999", "shared = array<i64: 1, 2>", "return %"});
    EXPECT_NE(r.diagnostics.find(kDropped), std::string::npos) << r.diagnostics;
    EXPECT_EQ(r.diagnostics.find(kStays), std::string::npos) << r.diagnostics;
    // A forward run refuses the model and says what to do.
    ImportOptions forward;
    forward.forwardOnly = true;
    expectError(import(m, forward), "draws random numbers in a forward run\nnote: hint: make the model's inference "
                                    "form: mpc export MODEL --inference");
  }
}

TEST(Random, MasksOfElementsAndOfEverything) {
  ModelBuilder m = masked();
  m.node("RandomUniformLike", {"x"}, {"u"});
  m.node("Less", {"u", "keep"}, {"below"});
  m.node("Cast", {"below"}, {"mask"}, {{"to", int64_t(onnx::TensorProto::FLOAT)}});
  m.node("Div", {"mask", "keep"}, {"s"});
  m.node("Mul", {"x", "s"}, {"y"});
  Imported r = import(m);
  expectIn(r, {"graph.dropout %arg0"});
  EXPECT_EQ(r.ir.find("shared"), std::string::npos) << r.ir;

  ModelBuilder whole = masked();
  whole.node("RandomUniform", {}, {"u"}, {{"shape", L{1, 1}}});
  whole.node("Less", {"u", "keep"}, {"below"});
  whole.node("Cast", {"below"}, {"mask"}, {{"to", int64_t(onnx::TensorProto::FLOAT)}});
  whole.node("Div", {"mask", "keep"}, {"s"});
  whole.node("Mul", {"x", "s"}, {"y"});
  expectIn(import(whole), {"shared = array<i64: 0, 1, 2>"});
}

/// Noise, and factors whose mean is not one, stay random, because nothing says that evaluation leaves them out.
TEST(Random, MasksThatAreNot) {
  using Build = std::function<void(ModelBuilder &)>;
  const std::vector<std::pair<const char *, Build>> forms = {
      {"no scale",
       [](ModelBuilder &m) {
         bernoulli(m);
         m.node("Mul", {"x", "mask"}, {"y"});
       }},
      {"another scale",
       [](ModelBuilder &m) {
         bernoulli(m);
         m.node("Div", {"mask", "drop"}, {"s"});
         m.node("Mul", {"x", "s"}, {"y"});
       }},
      {"added",
       [](ModelBuilder &m) {
         bernoulli(m);
         m.node("Div", {"mask", "keep"}, {"s"});
         m.node("Add", {"x", "s"}, {"y"});
       }},
      {"another range",
       [](ModelBuilder &m) {
         m.node("RandomUniformLike", {"like"}, {"u"}, {{"high", 2.0}});
         m.node("Less", {"u", "keep"}, {"below"});
         m.node("Cast", {"below"}, {"mask"}, {{"to", int64_t(onnx::TensorProto::FLOAT)}});
         m.node("Div", {"mask", "keep"}, {"s"});
         m.node("Mul", {"x", "s"}, {"y"});
       }},
      {"normal", [](ModelBuilder &m) {
         m.node("RandomNormalLike", {"like"}, {"u"});
         m.node("Less", {"u", "keep"}, {"below"});
         m.node("Cast", {"below"}, {"mask"}, {{"to", int64_t(onnx::TensorProto::FLOAT)}});
         m.node("Div", {"mask", "keep"}, {"s"});
         m.node("Mul", {"x", "s"}, {"y"});
       }}};
  for (const auto &[name, build] : forms) {
    ModelBuilder m = masked();
    build(m);
    Imported r = import(m);
    SCOPED_TRACE(name);
    expectIn(r, {"graph.random"});
    EXPECT_EQ(r.ir.find("graph.dropout"), std::string::npos) << r.ir;
    EXPECT_NE(r.diagnostics.find(kStays), std::string::npos) << r.diagnostics;
  }
}

/// A mask that is applied to two values (dropout over time) is drawn once.
TEST(Random, AMaskThatIsUsedTwiceIsDrawnOnce) {
  ModelBuilder m = masked();
  m.input("z", {int64_t(4), int64_t(3), int64_t(2)}).output("w");
  bernoulli(m);
  m.node("Div", {"mask", "keep"}, {"s"});
  m.node("Mul", {"x", "s"}, {"y"});
  m.node("Mul", {"z", "s"}, {"w"});
  Imported r = import(m);
  EXPECT_EQ(count(r.ir, "graph.dropout"), 2u) << r.ir;
  EXPECT_EQ(count(r.ir, "salt = 1 "), 3u) << r.ir; // the third is the draw itself, which nothing reads any more
}

/// Legacy exports have the batch of their example in their shapes.
TEST(Random, MasksFollowTheBatch) {
  ModelBuilder m = masked();
  bernoulli(m);
  m.node("Div", {"mask", "keep"}, {"s"});
  m.node("Mul", {"x", "s"}, {"y"});
  ImportOptions options;
  options.batch = 16;
  expectIn(import(m, options), {"graph.dropout %arg0", "shared = array<i64: 1, 2>", "-> tensor<16x3x2xf32>"});
}

/// A weight to which dropout is applied is still a weight.
TEST(Random, DroppedWeightsAreTrained) {
  ModelBuilder m(17);
  m.input("x", {int64_t(4), int64_t(3)})
      .output("y")
      .weight("w", {3, 2})
      .scalar("keep", 0.5f)
      .scalar("ratio", 0.5f)
      .weight("v", {2, 2});
  m.node("RandomUniformLike", {"w"}, {"u"});
  m.node("Less", {"u", "keep"}, {"below"});
  m.node("Cast", {"below"}, {"mask"}, {{"to", int64_t(onnx::TensorProto::FLOAT)}});
  m.node("Div", {"mask", "keep"}, {"s"});
  m.node("Mul", {"w", "s"}, {"dropped"});
  m.node("MatMul", {"x", "dropped"}, {"h"});
  m.node("Dropout", {"v", "ratio"}, {"v2"});
  m.node("MatMul", {"h", "v2"}, {"y"});
  expectIn(import(m), {"train.variable @w parameter", "train.variable @v parameter"});
}

/// The parts of a dropout may be in functions.
TEST(Random, MasksOfFunctions) {
  ModelBuilder m = masked();
  auto &call = m.node("Mask", {"like"}, {"s"});
  call.set_domain("mine");
  m.node("Mul", {"x", "s"}, {"y"});
  m.model.add_opset_import()->set_domain("mine");
  auto *f = m.model.add_functions();
  f->set_name("Mask");
  f->set_domain("mine");
  f->add_input("like");
  f->add_output("scaled");
  f->add_opset_import()->set_version(17);
  auto add = [&](const char *op, std::initializer_list<const char *> inputs, const char *output) -> onnx::NodeProto & {
    auto *n = f->add_node();
    n->set_op_type(op);
    for (const char *input : inputs)
      n->add_input(input);
    n->add_output(output);
    return *n;
  };
  ModelBuilder::set(*add("Constant", {}, "p").add_attribute(), "value_float", 0.8);
  add("RandomUniformLike", {"like"}, "u");
  add("Less", {"u", "p"}, "below");
  add("CastLike", {"below", "p"}, "mask");
  add("Div", {"mask", "p"}, "scaled");
  expectIn(import(m), {"graph.dropout %arg0", "shared = array<i64: 1, 2>"});
}
