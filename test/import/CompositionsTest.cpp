//===- CompositionsTest.cpp - what Einsum, TopK, CumSum, Loop and If become --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ModelBuilder.h"
#include <gtest/gtest.h>

using namespace mpc;
using namespace mpc::test;

static Imported einsum(const std::string &equation, const std::vector<std::vector<int64_t>> &shapes) {
  ModelBuilder m;
  std::vector<std::string> names;
  for (const auto &shape : shapes) {
    names.push_back(("x" + llvm::Twine(names.size())).str());
    m.input(names.back(), Dims(shape.begin(), shape.end()));
  }
  m.node("Einsum", names, {"y"}, {{"equation", equation}});
  m.output("y");
  return import(m);
}

TEST(Compositions, AttentionsAreOneProductEach) {
  struct Case {
    const char *equation;
    std::vector<int64_t> a, b;
    size_t transposes;
  };
  for (const Case &c : {Case{"bhqd,bhkd->bhqk", {2, 3, 4, 5}, {2, 3, 6, 5}, 0},
                        {"bhqk,bhkd->bhqd", {2, 3, 4, 6}, {2, 3, 6, 5}, 0},
                        {"bhdq,bhdk->bhqk", {2, 3, 5, 4}, {2, 3, 5, 6}, 0},
                        {"bqk,bkd->bdq", {2, 4, 6}, {2, 6, 5}, 0}, // b is the left operand
                        {"bij,jk->bik", {2, 3, 4}, {4, 5}, 0},
                        {"ijk,jkl->il", {2, 3, 4}, {3, 4, 5}, 0},
                        {"bqhd,bkhd->bhqk", {2, 4, 3, 5}, {2, 6, 3, 5}, 2}}) {
    Imported r = einsum(c.equation, {c.a, c.b});
    ASSERT_TRUE(r.ok()) << c.equation << r.diagnostics;
    EXPECT_EQ(count(r.ir, "graph.matmul"), 1u) << c.equation << r.ir;
    EXPECT_EQ(count(r.ir, "graph.transpose"), c.transposes) << c.equation << r.ir;
    EXPECT_EQ(count(r.ir, "graph.mul "), 0u) << c.equation << r.ir;
  }
}

TEST(Compositions, ChainsAreMultipliedInTheCheapOrder) {
  // (b c) first: its result has 20 elements, that of (a b) 2000.
  Imported r = einsum("ab,bc,cd->ad", {{100, 10}, {10, 20}, {20, 2}});
  ASSERT_TRUE(r.ok()) << r.diagnostics;
  EXPECT_NE(r.ir.find("(tensor<10x20xf32>, tensor<20x2xf32>"), std::string::npos) << r.ir;
}

TEST(Compositions, RunningSumsTakeLinearWork) {
  ModelBuilder m;
  m.input("x", {int64_t(2), int64_t(100000)}).output("y").ints("axis", {1});
  m.node("CumSum", {"x", "axis"}, {"y"});
  Imported r = import(m);
  ASSERT_TRUE(r.ok()) << r.diagnostics;
  // 100000 elements are 1563 blocks of 64, and their sums 25 blocks.
  for (const char *part : {"tensor<3126x64x64x1xi1>", "tensor<50x64x64x1xi1>"})
    EXPECT_EQ(r.ir.find(part), std::string::npos) << "the mask is not repeated for each row";
  EXPECT_NE(r.ir.find("tensor<3126x1x64x1xf32>"), std::string::npos) << r.ir;
  EXPECT_NE(r.ir.find("tensor<50x1x64x1xf32>"), std::string::npos) << r.ir;
  EXPECT_EQ(r.ir.find("100000x100000"), std::string::npos) << r.ir;
}

TEST(Compositions, TheLargestElementsAreFoundInTheCheapestWay) {
  struct Way {
    int64_t length, k;
    size_t scans, extrema, scatters;
  };
  for (const Way &way :
       {Way{100, 2, 0, 2, 0}, Way{5000, 20, 1, 1, 0}, Way{100, 50, 0, 0, 1}, Way{20000, 300, 1, 0, 3}}) {
    ModelBuilder m;
    m.input("x", {int64_t(2), way.length}).output("v").output("i").ints("k", {way.k});
    m.node("TopK", {"x", "k"}, {"v", "i"});
    Imported r = import(m);
    ASSERT_TRUE(r.ok()) << r.diagnostics;
    EXPECT_EQ(count(r.ir, "graph.scan "), way.scans) << r.ir;
    EXPECT_EQ(count(r.ir, "graph.argmax"), way.extrema) << r.ir;
    EXPECT_EQ(count(r.ir, "graph.scatter "), way.scatters) << r.ir;
  }
  ModelBuilder m;
  m.input("x", {int64_t(2), int64_t(3)}).output("v").ints("k", {4});
  m.node("TopK", {"x", "k"}, {"v", "i"});
  EXPECT_NE(import(m).diagnostics.find("v: error: 'TopK' (opset 17): k is 4, and axis 1 has 3 elements"),
            std::string::npos)
      << import(m).diagnostics;
}

/// PyTorch's exporters write cross entropy of probabilities as the node that ONNX defines for numbers of classes.
TEST(Compositions, LabelsMayBeProbabilities) {
  for (auto [reduction, sums] : {std::pair<std::string, size_t>{"mean", 1}, {"sum", 2}}) {
    ModelBuilder m;
    m.input("x", {int64_t(2), int64_t(3)}).input("t", {int64_t(2), int64_t(3)}).output("loss");
    m.node("SoftmaxCrossEntropyLoss", {"x", "t"}, {"loss"}, {{"reduction", reduction}});
    Imported r = import(m);
    ASSERT_TRUE(r.ok()) << r.diagnostics;
    EXPECT_EQ(count(r.ir, "graph.log_softmax"), 1u) << r.ir;
    EXPECT_EQ(count(r.ir, "graph.reduce_sum"), sums) << r.ir;
  }
}

static onnx::GraphProto *graphOf(onnx::NodeProto &node, const std::string &name) {
  auto *a = node.add_attribute();
  a->set_name(name);
  a->set_type(onnx::AttributeProto::GRAPH);
  return a->mutable_g();
}
static void addNode(onnx::GraphProto &graph, const std::string &op, const std::vector<std::string> &inputs,
                    const std::string &output) {
  auto &n = *graph.add_node();
  n.set_op_type(op);
  n.set_name(output);
  for (const std::string &input : inputs)
    n.add_input(input);
  n.add_output(output);
}

/// A Loop over x [5, 3] that adds rows, of `trips` iterations: `goesOn` is the op that makes the next condition from
/// the carried sum or from the condition.
static ModelBuilder loop(int64_t trips, const std::string &goesOn = "Identity") {
  ModelBuilder m;
  m.input("x", {int64_t(5), int64_t(3)}).floats("start", {3}, {0, 0, 0}).ints("trips", {trips}).output("y");
  auto &n = m.node("Loop", {"trips", "", "start"}, {"y"});
  onnx::GraphProto &body = *graphOf(n, "body");
  for (const char *name : {"t", "go", "s"})
    body.add_input()->set_name(name);
  addNode(body, "Gather", {"x", "t"}, "row");
  addNode(body, "Add", {"s", "row"}, "sum");
  if (goesOn == "Identity") {
    addNode(body, "Identity", {"go"}, "on");
  } else {
    addNode(body, "ReduceSum", {"sum"}, "total");
    addNode(body, "IsNaN", {"total"}, "on");
  }
  body.add_output()->set_name("on");
  body.add_output()->set_name("sum");
  return m;
}

TEST(Compositions, LoopsOfAKnownLengthAreScans) {
  Imported r = import(loop(5));
  ASSERT_TRUE(r.ok()) << r.diagnostics;
  EXPECT_EQ(count(r.ir, "graph.scan 5 "), 1u) << r.ir;
  EXPECT_EQ(count(r.ir, "graph.iota"), 1u) << r.ir;
  EXPECT_TRUE(r.diagnostics.empty()) << r.diagnostics; // the indices are known to be in range
}

TEST(Compositions, LoopsThatAreRefused) {
  EXPECT_NE(import(loop(6)).diagnostics.find("the loop around it has 6 iterations, whose numbers it takes as indices "
                                             "of 5 elements\nnote: hint: "),
            std::string::npos)
      << import(loop(6)).diagnostics;
  EXPECT_NE(import(loop(5, "IsNaN")).diagnostics.find("computes from data whether to go on"), std::string::npos)
      << import(loop(5, "IsNaN")).diagnostics;
  ModelBuilder open = loop(5);
  open.model.mutable_graph()->mutable_node(0)->set_input(0, "");
  EXPECT_NE(import(open).diagnostics.find("only its condition ends it"), std::string::npos) << import(open).diagnostics;
}

/// If (the sum of x is a number) x, else op(x).
static ModelBuilder branches(const std::string &op, bool sameShape = true) {
  ModelBuilder m;
  m.input("x", {int64_t(2), int64_t(3)}).output("y");
  m.node("ReduceSum", {"x"}, {"total"}, {{"keepdims", int64_t(0)}});
  m.node("IsNaN", {"total"}, {"condition"});
  auto &n = m.node("If", {"condition"}, {"y"});
  for (const char *name : {"then_branch", "else_branch"}) {
    onnx::GraphProto &branch = *graphOf(n, name);
    const bool isThen = std::string(name) == "then_branch";
    addNode(branch, isThen ? "Tanh" : op, {"x"}, isThen ? "a" : "b");
    if (!isThen && !sameShape)
      addNode(branch, "ReduceSum", {"b"}, "c");
    branch.add_output()->set_name(isThen ? "a" : sameShape ? "b" : "c");
  }
  return m;
}

TEST(Compositions, BranchesOfAnUnknownConditionAreBothComputed) {
  Imported r = import(branches("Log"));
  ASSERT_TRUE(r.ok()) << r.diagnostics;
  for (const char *op : {"graph.tanh", "graph.log"})
    EXPECT_EQ(count(r.ir, op), 1u) << r.ir;
  // One select chooses; the others end the gradients of the branch that is not chosen.
  EXPECT_EQ(count(r.ir, "graph.select"), 3u) << r.ir;
  EXPECT_EQ(count(r.ir, "graph.stop_gradient"), 2u) << r.ir;
  EXPECT_NE(r.diagnostics.find("remark: both branches are computed"), std::string::npos) << r.diagnostics;
  EXPECT_NE(import(branches("Log", false)).diagnostics.find("the branches make values of different types for output 0"),
            std::string::npos)
      << import(branches("Log", false)).diagnostics;
}
