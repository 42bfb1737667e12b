//===- RecurrentTest.cpp - RNN, GRU and LSTM become products and scans ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ModelBuilder.h"
#include <gtest/gtest.h>

using namespace mpc;
using namespace mpc::test;
using Attributes = std::vector<std::pair<std::string, Attribute>>;

namespace {

/// A network of one recurrent node: x [5, 2, 3], hidden size 4.
struct Network {
  std::string op = "LSTM";
  int64_t gates = 4, directions = 1;
  Attributes attributes = {};
  std::vector<std::string> further = {}; // inputs behind B
  ModelBuilder model = ModelBuilder(17);

  Imported import() {
    model.input("x", {int64_t(5), int64_t(2), int64_t(3)});
    model.weight("w", {directions, gates * 4, 3}).weight("r", {directions, gates * 4, 4});
    model.weight("b", {directions, 2 * gates * 4});
    attributes.push_back({"hidden_size", int64_t(4)});
    std::vector<std::string> inputs = {"x", "w", "r", "b"};
    inputs.insert(inputs.end(), further.begin(), further.end());
    model.node(op, inputs, {"y"}, attributes);
    model.output("y");
    return test::import(model);
  }
};

void expectError(Network network, const char *why, const char *hint = "") {
  Imported r = network.import();
  ASSERT_EQ(r.report.problems.size(), 1u) << r.ir;
  EXPECT_NE(r.report.problems[0].why.find(why), std::string::npos) << r.report.problems[0].why;
  EXPECT_NE(r.report.problems[0].hint.find(hint), std::string::npos) << r.report.problems[0].hint;
}

} // namespace

TEST(Recurrent, TheProductForTheInputsIsInFrontOfTheLoop) {
  Imported r = Network{}.import();
  ASSERT_TRUE(r.ok()) << r.diagnostics;
  const size_t scan = r.ir.find("graph.scan 5 carry"), first = r.ir.find("graph.matmul");
  EXPECT_LT(first, scan);
  EXPECT_EQ(count(r.ir, "graph.matmul"), 2u);
  EXPECT_NE(r.ir.find("(tensor<10x3xf32>, tensor<16x3xf32>) -> tensor<10x16xf32>"), std::string::npos) << r.ir;
  EXPECT_EQ(count(r.ir, "parameter :"), 3u); // w, r, b
}

TEST(Recurrent, DirectionsAreScansOfTheirOwn) {
  Imported r = Network{"GRU", 3, 2, {{"direction", std::string("bidirectional")}}}.import();
  ASSERT_TRUE(r.ok()) << r.diagnostics;
  EXPECT_EQ(count(r.ir, "graph.scan 5 carry"), 1u);
  EXPECT_EQ(count(r.ir, "graph.scan 5 reverse carry"), 1u);
  EXPECT_NE(r.ir.find("tensor<5x2x2x4xf32>"), std::string::npos);
}

TEST(Recurrent, LengthsThatAreDataAreBounded) {
  Network network{"RNN", 1};
  network.further = {"lengths"};
  network.model.input("lengths", {int64_t(2)}, onnx::TensorProto::INT32);
  Imported r = network.import();
  ASSERT_TRUE(r.ok()) << r.diagnostics;
  EXPECT_NE(r.ir.find("train.lengths_up_to = 5"), std::string::npos) << r.ir;
}

TEST(Recurrent, LengthsThatATableCountsAreBounded) {
  ModelBuilder model(17);
  model.ints("table", {0, 1, 2, 3, 4, 5}).input("lengths", {int64_t(2)}, onnx::TensorProto::INT64);
  model.node("Gather", {"table", "lengths"}, {"y"});
  model.output("y");
  Imported r = test::import(model);
  ASSERT_TRUE(r.ok()) << r.diagnostics;
  EXPECT_NE(r.ir.find("train.lengths_up_to = 5"), std::string::npos) << r.ir;
  EXPECT_EQ(r.ir.find("train.indices_below"), std::string::npos) << r.ir;
}

TEST(Recurrent, ErrorsSayWhatIsWrong) {
  expectError({"LSTM", 4, 1, {{"direction", std::string("sideways")}}}, "direction 'sideways' is not known",
              "bidirectional");
  expectError({"LSTM", 4, 1, {{"clip", -1.0}}}, "clip is -1", "not negative");
  expectError({"LSTM", 3, 1}, "W is 1x12x3, not 1x16x3");
  expectError({"GRU", 3, 1, {{"direction", std::string("bidirectional")}}}, "W is 1x12x3, not 2x12x3");
  Network lengths{"LSTM", 4, 1};
  lengths.further = {"lengths"};
  lengths.model.tensor("lengths", {2}, onnx::TensorProto::INT32)->add_int32_data(3);
  lengths.model.model.mutable_graph()->mutable_initializer(0)->add_int32_data(6);
  expectError(lengths, "the length of sample 1 is 6, but there are 5 time steps", "lengths from 0 to 5");
  Network projected{"LSTM", 4, 1};
  projected.further = {"", "", "c"};
  projected.model.input("c", {int64_t(1), int64_t(2), int64_t(7)});
  expectError(projected, "initial_c is 1x2x7, not 1x2x4", "proj_size");
}

TEST(Recurrent, ActivationsHaveDefaultsAndErrors) {
  auto named = [&](const std::string &name) {
    ModelBuilder model(17);
    model.input("x", {int64_t(5), int64_t(2), int64_t(3)});
    model.weight("w", {1, 4, 3}).weight("r", {1, 4, 4});
    auto &node = model.node("RNN", {"x", "w", "r"}, {"y"},
                            {{"hidden_size", int64_t(4)}, {"activation_alpha", std::vector<float>{0.25f}}});
    auto &attribute = *node.add_attribute();
    attribute.set_name("activations");
    attribute.set_type(onnx::AttributeProto::STRINGS);
    attribute.add_strings(name);
    model.output("y");
    return test::import(model);
  };
  Imported r = named("LeakyRelu");
  ASSERT_TRUE(r.ok()) << r.diagnostics;
  EXPECT_NE(r.ir.find("graph.leaky_relu"), std::string::npos);
  EXPECT_NE(r.ir.find("alpha = 2.5"), std::string::npos) << r.ir;
  r = named("Gelu");
  ASSERT_EQ(r.report.problems.size(), 1u);
  EXPECT_EQ(r.report.problems[0].why.find("activation 'Gelu' is not known"), 0u) << r.report.problems[0].why;
  EXPECT_EQ(r.report.problems[0].attribute, "activations");
}

TEST(Recurrent, NotesAStateThatGoesOnFromSampleToSample) {
  // The data [5, 2, 3] reach the node through `nodes`, as value "in".
  auto notes = [](bool timeFirst, const std::function<void(ModelBuilder &)> &nodes, bool forwardOnly = false) {
    ModelBuilder model(17);
    model.input("x", {int64_t(5), int64_t(2), int64_t(3)});
    nodes(model);
    model.weight("w", {1, 4, 3}).weight("r", {1, 4, 4});
    model.node("RNN", {"in", "w", "r"}, {"y"}, {{"hidden_size", int64_t(4)}, {"layout", int64_t(timeFirst ? 0 : 1)}});
    model.output("y");
    ImportOptions options;
    options.forwardOnly = forwardOnly;
    Imported r = import(model, options);
    EXPECT_TRUE(r.ok()) << r.diagnostics;
    std::string found;
    for (const std::string &note : r.report.notes)
      if (note.find("from sample to sample of 'x'") != std::string::npos)
        found += note;
    return found;
  };
  auto taken = [](ModelBuilder &m) { m.node("Tanh", {"x"}, {"in"}); };
  auto transposed = [](ModelBuilder &m) {
    m.node("Transpose", {"x"}, {"in"}, {{"perm", std::vector<int64_t>{1, 0, 2}}});
  };
  EXPECT_NE(notes(true, taken).find("batch_first=True"), std::string::npos);
  EXPECT_EQ(notes(true, taken, true), ""); // mpc run has no samples
  EXPECT_EQ(notes(true, transposed), "");
  EXPECT_EQ(notes(false, taken), "");
  EXPECT_NE(notes(false, transposed), "");
}
