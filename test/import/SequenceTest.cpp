//===- SequenceTest.cpp - sequences of tensors fold away ----------------------------------===//
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
void expectError(const ModelBuilder &m, const char *error) {
  Imported result = import(m);
  EXPECT_FALSE(result.ok()) << result.ir;
  EXPECT_NE(result.diagnostics.find(error), std::string::npos) << result.diagnostics;
}

/// Makes x [2, 6] and the positions 0, 1, 2, -1.
ModelBuilder sequences() {
  ModelBuilder m(17);
  m.input("x", {int64_t(2), int64_t(6)}).output("y");
  for (int64_t i : {0, 1, 2, -1}) {
    auto *t = m.tensor(std::string("p").append(std::to_string(i)), {}, onnx::TensorProto::INT64);
    t->add_int64_data(i);
  }
  return m;
}
} // namespace

/// torch splits one projection into query, key and value like this.
TEST(Sequence, SplitAndAt) {
  ModelBuilder m = sequences();
  m.node("SplitToSequence", {"x", "p2"}, {"s"}, {{"axis", int64_t(-1)}, {"keepdims", int64_t(1)}});
  m.node("SequenceAt", {"s", "p1"}, {"y"});
  Imported r = import(m);
  expectIn(r, {"graph.slice %arg0 {sizes = array<i64: 2, 2>, starts = array<i64: 0, 2>, strides = array<i64: 1, 1>}"});
  EXPECT_TRUE(r.diagnostics.empty()) << r.diagnostics;
}

TEST(Sequence, SplitForms) {
  // The forms are single columns, with and without their dimension, and given sizes; below, parts of four and a rest.
  const std::vector<std::tuple<L, int64_t, const char *, const char *>> forms = {
      {{}, 1, "p-1", "-> tensor<2x1xf32>"},
      {{}, 0, "p-1", "tensor<2x1xf32> to tensor<2xf32>"},
      {{1, 5}, 1, "p-1", "-> tensor<2x5xf32>"}};
  for (const auto &[sizes, keepdims, at, shape] : forms) {
    ModelBuilder m = sequences();
    std::vector<std::string> inputs = {"x"};
    if (!sizes.empty()) {
      m.ints("sizes", sizes);
      inputs.push_back("sizes");
    }
    m.node("SplitToSequence", inputs, {"s"}, {{"axis", int64_t(1)}, {"keepdims", keepdims}});
    m.node("SequenceAt", {"s", at}, {"y"});
    expectIn(import(m), {shape});
  }
  ModelBuilder m = sequences();
  m.tensor("four", {}, onnx::TensorProto::INT64)->add_int64_data(4);
  m.node("SplitToSequence", {"x", "four"}, {"s"}, {{"axis", int64_t(1)}});
  m.node("SequenceAt", {"s", "p-1"}, {"y"});
  expectIn(import(m), {"-> tensor<2x2xf32>"});
}

/// This uses every list op: the list is x0, then [x0, x1], then x2 is inserted in front and x0 erased again; what
/// is left is joined.
TEST(Sequence, Lists) {
  ModelBuilder m = sequences();
  m.node("SplitToSequence", {"x", "p2"}, {"parts"}, {{"axis", int64_t(1)}});
  for (const char *i : {"0", "1", "2"})
    m.node("SequenceAt", {"parts", std::string("p") + i}, {std::string("x") + i});
  m.node("SequenceEmpty", {}, {"empty"}, {{"dtype", int64_t(onnx::TensorProto::FLOAT)}});
  m.node("SequenceInsert", {"empty", "x0"}, {"one"});
  m.node("SequenceInsert", {"one", "x1", "p1"}, {"two"});
  m.node("SequenceInsert", {"two", "x2", "p0"}, {"three"});
  m.node("SequenceErase", {"three", "p1"}, {"left"});
  m.node("SequenceErase", {"left"}, {"first"});
  m.node("SequenceAt", {"first", "p0"}, {"again"});
  m.node("SequenceConstruct", {"again", "x0"}, {"pair"});
  m.node("SequenceLength", {"pair"}, {"length"});
  m.node("Cast", {"length"}, {"number"}, {{"to", int64_t(onnx::TensorProto::FLOAT)}});
  m.node("ConcatFromSequence", {"pair"}, {"joined"}, {{"axis", int64_t(1)}});
  m.node("ConcatFromSequence", {"pair"}, {"stacked"}, {{"axis", int64_t(0)}, {"new_axis", int64_t(1)}});
  m.node("Mul", {"joined", "number"}, {"y"});
  m.output("stacked");
  Imported r = import(m);
  expectIn(r, {"starts = array<i64: 0, 4>", "dense<2.000000e+00>", "-> tensor<2x4xf32>", "-> tensor<2x2x2xf32>"});
  EXPECT_NE(r.ir.find("graph.concat %2, %0 {axis = 1 : i64}"), std::string::npos) << r.ir; // x2 comes before x0
}

TEST(Sequence, ConstantsStayConstants) {
  ModelBuilder m = sequences();
  m.ints("shape", {3, 4, 7});
  m.node("SplitToSequence", {"shape"}, {"s"}, {{"keepdims", int64_t(1)}});
  m.node("SequenceAt", {"s", "p0"}, {"a"});
  m.node("SequenceAt", {"s", "p1"}, {"b"});
  m.node("SequenceConstruct", {"b", "a"}, {"swapped"});
  m.node("ConcatFromSequence", {"swapped"}, {"target"}, {{"axis", int64_t(0)}});
  m.node("Reshape", {"x", "target"}, {"y"});
  expectIn(import(m), {"to tensor<4x3xf32>"});
}

TEST(Sequence, WeightsStayWeights) {
  ModelBuilder m = sequences();
  m.weight("w", {6, 6});
  m.tensor("three", {}, onnx::TensorProto::INT64)->add_int64_data(3);
  m.node("SplitToSequence", {"w", "three"}, {"s"}, {{"axis", int64_t(1)}});
  m.node("SequenceAt", {"s", "p0"}, {"half"});
  m.node("MatMul", {"x", "half"}, {"y"});
  expectIn(import(m), {"train.variable @w parameter"});
}

TEST(Sequence, Errors) {
  ModelBuilder unknown = sequences();
  unknown.input("i", {}, onnx::TensorProto::INT64);
  unknown.node("SplitToSequence", {"x", "p2"}, {"s"}, {{"axis", int64_t(1)}});
  unknown.node("SequenceAt", {"s", "i"}, {"y"});
  expectError(unknown, "y: error: 'SequenceAt' (opset 17): the position in the sequence (input 1, 'i') is not known at "
                       "compile time\nnote: hint: ");
  ModelBuilder beyond = sequences();
  beyond.node("SplitToSequence", {"x", "p2"}, {"s"}, {{"axis", int64_t(0)}});
  beyond.node("SequenceAt", {"s", "p1"}, {"y"});
  expectError(beyond, "position 1 is out of range for 1 tensors");
  ModelBuilder given = sequences();
  given.node("SequenceConstruct", {"x", "x"}, {"y"});
  expectError(given, "y: error: this graph output is a sequence of tensors\nnote: hint: give its elements out");
  ModelBuilder tensor = sequences();
  tensor.node("SequenceConstruct", {"x", "x"}, {"s"});
  tensor.node("Relu", {"s"}, {"y"});
  expectError(tensor,
              "'Relu' (opset 17): input 0 is a sequence, not a tensor\nnote: hint: take its elements with SequenceAt");
  ModelBuilder sequence = sequences();
  sequence.node("SequenceAt", {"x", "p0"}, {"y"});
  expectError(sequence, "input 0 is a tensor, not a sequence");
  ModelBuilder empty = sequences();
  empty.node("SequenceEmpty", {}, {"s"});
  empty.node("SequenceErase", {"s"}, {"t"});
  empty.node("ConcatFromSequence", {"s"}, {"y"}, {{"axis", int64_t(0)}});
  expectError(empty, "the sequence is empty: there is nothing to erase");
  expectError(empty, "the sequence is empty: there is nothing to join");
  ModelBuilder sizes = sequences();
  sizes.ints("sizes", {2, 2});
  sizes.node("SplitToSequence", {"x", "sizes"}, {"s"}, {{"axis", int64_t(1)}});
  sizes.node("SequenceAt", {"s", "p0"}, {"y"});
  expectError(sizes, "the sizes add up to 4, not 6");
}
