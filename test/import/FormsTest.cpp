//===- FormsTest.cpp - what an import looks like: variables, entry, training and exported form ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ModelBuilder.h"
#include <gtest/gtest.h>

using namespace mpc;
using namespace mpc::test;
using L = std::vector<int64_t>;

static void expectIn(const Imported &result, std::initializer_list<const char *> parts, const char *error = nullptr) {
  if (error) {
    EXPECT_FALSE(result.ok()) << result.ir;
    EXPECT_NE(result.diagnostics.find(error), std::string::npos) << result.diagnostics;
    return;
  }
  ASSERT_TRUE(result.ok()) << result.diagnostics;
  for (const char *part : parts)
    EXPECT_NE(result.ir.find(part), std::string::npos) << part << "\nnot in\n" << result.ir.substr(0, 6000);
}

TEST(Forms, LeNet) {
  Imported r = import(lenet());
  expectIn(
      r, {"train.variable @conv1.weight parameter : tensor<6x1x5x5xf32> = dense_resource<conv1.weight>",
          "train.variable @conv1.bias parameter : tensor<6xf32> = dense<[", // 24 bytes are small enough to stay inline
          "%arg0: tensor<4x1x28x28xf32> {train.batched, train.name = \"x\"}",
          "%arg1: tensor<4xi64> {train.batched, train.labels_below = 10 : i64, train.name = \"target\"}",
          "{train.name = \"loss\", train.role = \"output\"}", "graph.matmul", "{transpose_b}",
          "graph.softmax_cross_entropy"});
  EXPECT_EQ(count(r.ir, "train.variable"), 8u);
  EXPECT_EQ(count(r.ir, "train.read"), 8u);
  EXPECT_EQ(count(r.ir, "graph.conv "), 2u);
  EXPECT_EQ(count(r.ir, "graph.max_pool"), 2u);
  EXPECT_TRUE(r.diagnostics.empty()) << r.diagnostics;
}

TEST(Forms, ValuesOfNodesAreRecordedOnRequest) {
  ModelBuilder m(17);
  m.input("x", {int64_t(2), int64_t(4)}).weight("w", {4, 4}).ints("shape", {4, 2});
  m.node("MatMul", {"x", "w"}, {"h"});
  m.node("Identity", {"shape"}, {"known"}); // is a constant of the import
  m.node("Identity", {"h"}, {"same"});
  m.node("Reshape", {"same", "known"}, {"y"});
  m.output("y");
  ImportOptions options;
  EXPECT_TRUE(import(m).report.values.empty());
  options.recordValues = true;
  std::string recorded;
  for (const ModelValue &value : import(m, options).report.values)
    recorded += value.name + ":" + value.op + " ";
  EXPECT_EQ(recorded, "h:MatMul same:Identity y:Reshape ");
}

TEST(Forms, IgnoredLabelsTravelWithTheBound) {
  for (int64_t ignore : {-100, 255, 3}) {
    ModelBuilder m(17);
    m.input("z", {int64_t(4), int64_t(10)}).input("y", {int64_t(4)}, onnx::TensorProto::INT64);
    m.node("SoftmaxCrossEntropyLoss", {"z", "y"}, {"loss"}, {{"ignore_index", ignore}});
    m.output("loss");
    std::string ignored = ignore == 3 ? "" : "train.labels_ignore = " + std::to_string(ignore) + " : i64, ";
    Imported r = import(m);
    expectIn(r, {("train.labels_below = 10 : i64, " + ignored + "train.name = \"y\"").c_str()});
  }
  // Labels that two losses share must fit both.
  ModelBuilder m(17);
  m.input("z", {int64_t(4), int64_t(10)}).input("y", {int64_t(4)}, onnx::TensorProto::INT64);
  m.node("SoftmaxCrossEntropyLoss", {"z", "y"}, {"loss"}, {{"ignore_index", int64_t(-100)}});
  m.node("SoftmaxCrossEntropyLoss", {"z", "y"}, {"other"});
  m.output("loss").output("other");
  expectIn(import(m), {"train.labels_below = 10 : i64, train.name = \"y\""});
}

TEST(Forms, LabelsInColumnsAreBoundedApart) {
  ModelBuilder m(17);
  m.input("z", {int64_t(4), int64_t(10)}).input("v", {int64_t(4), int64_t(5)});
  m.input("y", {int64_t(4), int64_t(3)},
          onnx::TensorProto::INT64); // columns: one of ten classes, one of five, and a number
  m.ints("one", {1}).ints("two", {2}).ints("flat", {4}).ints("first", {0});
  m.node("Slice", {"y", "first", "one", "one"}, {"column0"});
  m.node("Reshape", {"column0", "flat"}, {"y0"});
  m.node("Slice", {"y", "one", "two", "one"}, {"column1"});
  m.node("Reshape", {"column1", "flat"}, {"y1"});
  m.node("SoftmaxCrossEntropyLoss", {"z", "y0"}, {"a"});
  m.node("SoftmaxCrossEntropyLoss", {"v", "y1"}, {"b"}, {{"ignore_index", int64_t(-100)}});
  m.output("a").output("b");
  expectIn(import(m), {"{train.batched, train.name = \"y\", train.parts = ["
                       "{from = array<i64: 0>, to = array<i64: 1>, train.labels_below = 10 : i64}, "
                       "{from = array<i64: 1>, to = array<i64: 2>, train.labels_below = 5 : i64, "
                       "train.labels_ignore = -100 : i64}]}"});
}

TEST(Forms, IndicesInDataAreBounded) {
  ModelBuilder m(17);
  m.input("rows", {int64_t(4)}, onnx::TensorProto::INT64)
      .input("cast", {int64_t(2), int64_t(2)}, onnx::TensorProto::INT32);
  m.input("elements", {int64_t(1), int64_t(6)}, onnx::TensorProto::INT64)
      .input("pairs", {int64_t(3), int64_t(2)}, onnx::TensorProto::INT64);
  m.input("columns", {int64_t(4), int64_t(2)}, onnx::TensorProto::INT64);
  m.weight("table", {5, 6})
      .weight("small", {3, 6})
      .ints("zero", {0})
      .ints("one", {1})
      .ints("flat", {4})
      .ints("last", {-1});
  m.node("Gather", {"table", "rows"}, {"a"});
  m.node("Gather", {"small", "rows"}, {"b"}); // rows index both tables: the smaller extent is the bound
  m.node("Cast", {"cast"}, {"wide"}, {{"to", int64_t(onnx::TensorProto::INT64)}});
  m.node("Reshape", {"wide", "flat"}, {"four"});
  m.node("Gather", {"table", "four"}, {"c"}, {{"axis", int64_t(1)}});
  m.node("GatherElements", {"table", "elements"}, {"d"}, {{"axis", int64_t(0)}});
  m.node("GatherND", {"table", "pairs"}, {"e"});
  m.node("Slice", {"columns", "zero", "one", "one"}, {"first"}); // each column indexes a table of its own
  m.node("Gather", {"table", "first"}, {"f"});
  m.node("Gather", {"columns", "last"}, {"second"}, {{"axis", int64_t(1)}}); // torch writes columns[:, 1] like this
  m.node("Gather", {"small", "second"}, {"g"});
  for (const char *name : {"a", "b", "c", "d", "e", "f", "g"})
    m.output(name);
  Imported r = import(m);
  expectIn(r, {"train.indices_below = 3 : i64, train.name = \"rows\"",
               "train.indices_below = 6 : i64, train.name = \"cast\"",
               "train.indices_below = 5 : i64, train.name = \"elements\"",
               "train.name = \"pairs\", train.parts = [{from = array<i64: 0>, to = array<i64: 1>, "
               "train.indices_below = 5 : i64}, "
               "{from = array<i64: 1>, to = array<i64: 2>, train.indices_below = 6 : i64}]}",
               "train.name = \"columns\", train.parts = [{from = array<i64: 0>, to = array<i64: 1>, "
               "train.indices_below = 5 : i64}, "
               "{from = array<i64: 1>, to = array<i64: 2>, train.indices_below = 3 : i64}]}"});
  EXPECT_TRUE(r.diagnostics.empty()) << r.diagnostics;
}

TEST(Forms, IndicesThatCannotBeBoundedAreNoted) {
  auto notes = [](const std::function<void(ModelBuilder &)> &build) {
    ModelBuilder m(17);
    m.input("ids", {int64_t(4), int64_t(2)}, onnx::TensorProto::INT64).input("x", {int64_t(4), int64_t(3)});
    m.input("one", {int64_t(2)}, onnx::TensorProto::INT64);
    m.weight("table", {5, 6}).ints("offset", {3}).ints("known", {0, 4});
    build(m);
    m.output("y");
    return import(m).diagnostics;
  };
  auto gather = [](ModelBuilder &m, const char *indices) { m.node("Gather", {"table", indices}, {"y"}); };
  const char *said = "indices that are computed from data cannot be checked";
  EXPECT_NE(notes([&](ModelBuilder &m) {
              m.node("Add", {"ids", "offset"}, {"shifted"});
              gather(m, "shifted");
            }).find(said),
            std::string::npos);
  EXPECT_NE(notes([&](ModelBuilder &m) {
              m.node("Cast", {"x"}, {"whole"}, {{"to", int64_t(onnx::TensorProto::INT64)}});
              gather(m, "whole");
            }).find(said),
            std::string::npos);
  // This is one pair of indices for the whole batch, so it is no part of a sample.
  EXPECT_NE(notes([&](ModelBuilder &m) { m.node("GatherND", {"table", "one"}, {"y"}); }).find(said), std::string::npos);
  EXPECT_EQ(notes([&](ModelBuilder &m) { gather(m, "ids"); }), "");
  EXPECT_EQ(notes([&](ModelBuilder &m) { gather(m, "known"); }), "");
  EXPECT_EQ(notes([&](ModelBuilder &m) {
              m.node("ArgMax", {"x"}, {"best"}, {{"axis", int64_t(1)}, {"keepdims", int64_t(0)}});
              gather(m, "best");
            }),
            "");
}

TEST(Forms, NodesNamesAreLocations) {
  mlir::MLIRContext context;
  auto module = importOnnxBytes(context, lenet().bytes(), "m", "", {});
  ASSERT_TRUE(module);
  std::vector<std::string> names;
  module->walk([&](graph::ReluOp op) { names.push_back(mlir::cast<mlir::NameLoc>(op.getLoc()).getName().str()); });
  EXPECT_EQ(names, (std::vector<std::string>{"r1", "r2", "r3"}));
}

static ModelBuilder norm(int64_t opset, std::vector<std::string> outputs, std::optional<int64_t> trainingMode) {
  ModelBuilder m(opset);
  m.input("x", {int64_t(2), int64_t(3), int64_t(4), int64_t(4)});
  m.weight("scale", {3}).weight("bias", {3}).weight("mean", {3}).weight("var", {3});
  auto &n = m.node("BatchNormalization", {"x", "scale", "bias", "mean", "var"}, outputs,
                   {{"momentum", 0.75}, {"epsilon", 0.001}});
  if (trainingMode)
    ModelBuilder::set(*n.add_attribute(), "training_mode", *trainingMode);
  m.output("y");
  return m;
}

TEST(Forms, EvalNormIsTurnedOn) {
  Imported r = import(norm(15, {"y"}, 0));
  expectIn(r, {"train.variable @scale parameter", "train.variable @mean buffer", "train.variable @var buffer",
               "graph.batch_norm %arg0", "train.running_mean = @mean, train.running_variance = @var",
               "dense<7.500000e-01>", "dense<2.500000e-01>", "train.assign @mean", "train.assign @var"});
  EXPECT_NE(r.diagnostics.find("remark: BatchNormalization was exported for inference"), std::string::npos)
      << r.diagnostics;
  ImportOptions options;
  options.mode = TrainingMode::AsExported;
  r = import(norm(15, {"y"}, 0), options);
  expectIn(r, {"graph.batch_norm_inference %arg0"});
  EXPECT_EQ(count(r.ir, "train.assign"), 0u);
  options = {};
  options.forwardOnly = true;
  r = import(norm(15, {"y"}, 0), options);
  expectIn(r, {"graph.batch_norm_inference %arg0"});
}

/// In a file that was exported for training, a norm in inference form was frozen on purpose.
TEST(Forms, InferenceNormStaysInAFileExportedForTraining) {
  auto withSecond = [](std::optional<int64_t> first) {
    ModelBuilder m = norm(15, {"h"}, first);
    m.weight("mean2", {3}).weight("var2", {3});
    m.model.mutable_graph()->mutable_output(0)->set_name("second");
    m.node("BatchNormalization", {"h", "scale", "bias", "mean2", "var2"}, {"second"});
    return m;
  };
  Imported r = import(withSecond(1));
  expectIn(r, {"graph.batch_norm %arg0", "graph.batch_norm_inference", "train.assign @mean,"});
  EXPECT_EQ(count(r.ir, "train.assign"), 2u);
  EXPECT_NE(r.diagnostics.find("remark: BatchNormalization stays in its inference form, since the file was exported "
                               "for training (--mode=train lets it train): 'second'"),
            std::string::npos)
      << r.diagnostics;
  ImportOptions all;
  all.mode = TrainingMode::Train;
  EXPECT_EQ(count(import(withSecond(1), all).ir, "graph.batch_norm_inference"), 0u);
  ModelBuilder frozen = withSecond(0);
  EXPECT_EQ(count(import(frozen).ir, "graph.batch_norm_inference"), 0u);
  auto &entry = *frozen.model.add_metadata_props(); // as tools/torch/export.py writes it
  entry.set_key("mpc.training_form");
  entry.set_value("True");
  EXPECT_EQ(count(import(frozen).ir, "graph.batch_norm_inference"), 2u);
}

TEST(Forms, InferenceNormStaysBesideADropoutThatTrains) {
  ModelBuilder m = norm(15, {"h"}, 0);
  m.scalar("ratio", 0.25);
  m.tensor("mode", {}, onnx::TensorProto::BOOL)->set_raw_data(std::string(1, 1));
  m.node("Dropout", {"h", "ratio", "mode"}, {"y"});
  expectIn(import(m), {"graph.batch_norm_inference %arg0", "graph.dropout"});
}

TEST(Forms, TrainingNormUpdatesBuffersThatDangle) {
  for (auto [opset, mode] : {std::pair<int64_t, std::optional<int64_t>>(15, 1), {14, 1}, {9, std::nullopt}}) {
    std::vector<std::string> outputs = {"y", "rm", "rv"};
    if (opset < 14)
      outputs.insert(outputs.end(), {"sm", "sv"});
    Imported r = import(norm(opset, outputs, mode));
    expectIn(r, {"graph.batch_norm %arg0", "train.assign @mean", "train.assign @var"});
    EXPECT_TRUE(r.diagnostics.empty()) << r.diagnostics;
    ImportOptions forward;
    forward.forwardOnly = true;
    r = import(norm(opset, outputs, mode), forward);
    expectIn(r, {"graph.batch_norm %arg0"});
    EXPECT_EQ(count(r.ir, "train.assign"), 0u);
  }
}

TEST(Forms, NormsThatShareABufferGetTheirOwn) {
  ModelBuilder m = norm(15, {"h"}, 0);
  m.node("BatchNormalization", {"h", "scale", "bias", "mean", "var"}, {"second"});
  m.model.mutable_graph()->mutable_output(0)->set_name("second");
  Imported r = import(m);
  expectIn(r, {"train.assign @mean,", "train.assign @\"mean@second\",", "train.variable @\"mean@second\" buffer"});
  // The attributes say where the values belong. The place is identified by the node's first output, not by its name.
  EXPECT_EQ(count(r.ir, "{train.input = 3 : i64, train.name = \"mean\", train.node = \"second\"}"), 1u) << r.ir;
  EXPECT_EQ(count(r.ir, "{train.input = 4 : i64, train.name = \"var\", train.node = \"second\"}"), 1u) << r.ir;
  EXPECT_EQ(count(r.ir, "train.input"), 2u);
}

TEST(Forms, ConstantStatisticsSayWhichInputTheyServe) {
  ModelBuilder m = norm(15, {"y"}, 0);
  m.node("Identity", {"mean"}, {"unused"});
  onnx::AttributeProto &value = *m.node("Constant", {}, {"zero"}).add_attribute();
  value.set_name("value");
  value.set_type(onnx::AttributeProto::TENSOR);
  for (const auto &initializer : m.model.graph().initializer())
    if (initializer.name() == "mean")
      *value.mutable_t() = initializer;
  auto &nodes = *m.model.mutable_graph()->mutable_node();
  nodes.Mutable(0)->set_name("the norm");
  nodes.Mutable(0)->set_input(3, "zero");
  Imported r = import(m);
  expectIn(r, {"train.variable @\"running/the norm\" buffer",
               "{train.input = 3 : i64, train.name = \"zero\", train.node = \"y\"}"});
}

TEST(Forms, StatisticsInFunctionsHaveNoPlaceToBeExportedTo) {
  ModelBuilder m = norm(15, {"h"}, 0);
  m.model.mutable_graph()->mutable_node(0)->set_op_type("Norm");
  m.model.mutable_graph()->mutable_node(0)->set_domain("local");
  m.node("Norm", {"h", "scale", "bias", "mean", "var"}, {"second"}).set_domain("local");
  m.model.mutable_graph()->mutable_node(0)->clear_attribute();
  m.model.mutable_graph()->mutable_output(0)->set_name("second");
  onnx::FunctionProto &function = *m.model.add_functions();
  function.set_name("Norm");
  function.set_domain("local");
  function.add_opset_import()->set_version(15);
  onnx::NodeProto &body = *function.add_node();
  body.set_op_type("BatchNormalization");
  for (const char *input : {"X", "S", "B", "M", "V"}) {
    function.add_input(input);
    body.add_input(input);
  }
  function.add_output("Y");
  body.add_output("Y");
  Imported r = import(m);
  expectIn(r, {"train.assign @mean,", "train.name = \"mean\", train.node = \"\"}"});
  EXPECT_NE(r.diagnostics.find("mpc export will refuse what was trained"), std::string::npos) << r.diagnostics;
}

static ModelBuilder dropout(int64_t opset, bool training) {
  ModelBuilder m(opset);
  m.input("x", {int64_t(2), int64_t(3)}).output("y");
  if (opset < 12) {
    m.node("Dropout", {"x"}, {"y", "mask"}, {{"ratio", 0.25}});
  } else {
    m.scalar("ratio", 0.25);
    m.tensor("mode", {}, onnx::TensorProto::BOOL)->set_raw_data(std::string(1, char(training)));
    m.node("Dropout", {"x", "ratio", "mode"}, {"y", "mask"});
  }
  return m;
}

TEST(Forms, Dropout) {
  for (int64_t opset : {9, 11, 12, 13, 17}) {
    Imported r = import(dropout(opset, false));
    expectIn(r, {"graph.dropout %arg0", "ratio = 2.500000e-01", "train.variable @rng.seed rng : tensor<i64>",
                 "train.variable @rng.step counter : tensor<i64>"});
    EXPECT_NE(r.diagnostics.find("remark: Dropout was exported"), std::string::npos);
    EXPECT_EQ(count(r.ir, "train.assign"), 0u);
    ImportOptions exported;
    exported.mode = TrainingMode::AsExported;
    r = import(dropout(opset, false), exported);
    expectIn(r, {"return %arg0"});
  }
  ImportOptions exported;
  exported.mode = TrainingMode::AsExported;
  expectIn(import(dropout(13, true), exported), {"graph.dropout"});
  EXPECT_TRUE(import(dropout(13, true)).diagnostics.empty());
}

TEST(Forms, DropoutMaskFollowsTheSameDraw) {
  ModelBuilder m = dropout(13, true);
  m.output("mask");
  Imported r = import(m);
  expectIn(r, {"graph.compare ne"});
  EXPECT_EQ(count(r.ir, "graph.dropout"), 2u);
  EXPECT_EQ(count(r.ir, "salt = 0"), 2u);
}

TEST(Forms, Batch) {
  ImportOptions options;
  options.batch = 32;
  expectIn(import(lenet(4), options),
           {"tensor<32x1x28x28xf32> {train.batched", "tensor<32xi64> {train.batched", "tensor<32x256xf32>"});
  options.batch = 0;
  EXPECT_FALSE(import(lenet(4), options).ok());
}

static ModelBuilder reshaped(L shape) {
  ModelBuilder m;
  m.input("x", {int64_t(4), int64_t(6)}).ints("shape", shape).node("Reshape", {"x", "shape"}, {"y"});
  m.output("y");
  return m;
}

TEST(Forms, BatchAndReshapeConstants) {
  ImportOptions options;
  options.batch = 8;
  expectIn(import(reshaped({4, 2, 3}), options), {"to tensor<8x2x3xf32>"});
  expectIn(import(reshaped({4, -1}), options), {"tensor<8x6xf32>"});
  expectIn(import(reshaped({-1, 3}), options), {"to tensor<16x3xf32>"});
  expectIn(import(reshaped({0, 3, 2}), options), {"to tensor<8x3x2xf32>"});
  expectIn(import(reshaped({2, 4, 3}), options), {}, "holds the exported batch 4");
  expectIn(import(reshaped({8, 3}), options), {"to tensor<16x3xf32>"}); // the shape [batch*2, 3]
  expectIn(import(reshaped({3, -1}), options), {}, "holds the exported batch 4");
  Imported r = import(reshaped({4, 7}), options);
  EXPECT_FALSE(r.ok());
  EXPECT_NE(r.diagnostics.find("y: error: 'Reshape' (opset 17): its constant shape holds the exported batch "
                               "4, which --batch=8 changes"),
            std::string::npos)
      << r.diagnostics;
}

TEST(Forms, NamedDimensions) {
  ModelBuilder m;
  m.input("x", {std::string("N"), std::string("seq")}).node("Relu", {"x"}, {"y"});
  m.output("y");
  Imported r = import(m);
  EXPECT_FALSE(r.ok());
  EXPECT_EQ(r.report.unboundDims, (std::vector<std::string>{"x[0] (N)", "x[1] (seq)"}));
  EXPECT_NE(r.diagnostics.find("hint: bind it with --batch=N or --dim N=N"), std::string::npos) << r.diagnostics;
  ImportOptions options;
  options.batch = 3;
  options.dims["seq"] = 7;
  expectIn(import(m, options), {"tensor<3x7xf32> {train.batched"});
  options.dims["sqe"] = 7;
  EXPECT_NE(import(m, options).diagnostics.find("hint: the model's are: N, seq"), std::string::npos);
}

TEST(Forms, FunctionsAreInlinedWithAttributes) {
  ModelBuilder m;
  m.input("x", {int64_t(2), int64_t(3)}).output("y");
  auto &call = m.node("Leaky", {"x"}, {"y"}, {{"slope", 0.5}});
  call.set_domain("mine");
  m.model.add_opset_import()->set_domain("mine");
  auto *f = m.model.add_functions();
  f->set_name("Leaky");
  f->set_domain("mine");
  f->add_input("in");
  f->add_output("out");
  f->add_attribute("slope");
  f->add_opset_import()->set_version(17);
  auto *n = f->add_node();
  n->set_op_type("LeakyRelu");
  n->set_name("inner");
  n->add_input("in");
  n->add_output("t");
  auto *a = n->add_attribute();
  a->set_name("alpha");
  a->set_type(onnx::AttributeProto::FLOAT);
  a->set_ref_attr_name("slope");
  n = f->add_node();
  n->set_op_type("Relu");
  n->add_input("t");
  n->add_output("out");
  expectIn(import(m), {"graph.leaky_relu %arg0 {alpha = 5.000000e-01 : f64}", "graph.relu"});
  // Without the attribute, the inner op has ONNX's default.
  m.model.mutable_graph()->mutable_node(0)->clear_attribute();
  expectIn(import(m), {"alpha = 1.000000e-02"});
}

TEST(Forms, IfWithAKnownConditionFolds) {
  ModelBuilder m;
  m.input("x", {int64_t(2), int64_t(3)}).output("y");
  m.tensor("cond", {}, onnx::TensorProto::BOOL)->set_raw_data(std::string(1, 1));
  auto &n = m.node("If", {"cond"}, {"y"});
  for (auto [name, op] : {std::pair("then_branch", "Relu"), std::pair("else_branch", "Tanh")}) {
    auto *a = n.add_attribute();
    a->set_name(name);
    a->set_type(onnx::AttributeProto::GRAPH);
    auto *inner = a->mutable_g()->add_node();
    inner->set_op_type(op);
    inner->add_input("x");
    inner->add_output(std::string(name) + "_out");
    a->mutable_g()->add_output()->set_name(std::string(name) + "_out");
  }
  Imported r = import(m);
  expectIn(r, {"graph.relu %arg0"});
  EXPECT_EQ(count(r.ir, "graph.tanh"), 0u);
}

static onnx::GraphProto *branchOf(onnx::NodeProto &node, const std::string &name) {
  auto *a = node.add_attribute();
  a->set_name(name);
  a->set_type(onnx::AttributeProto::GRAPH);
  return a->mutable_g();
}
static void addNode(onnx::GraphProto &graph, const std::string &op, const std::vector<std::string> &inputs,
                    const std::vector<std::string> &outputs) {
  auto &n = *graph.add_node();
  n.set_op_type(op);
  for (const std::string &input : inputs)
    n.add_input(input);
  for (const std::string &output : outputs)
    n.add_output(output);
}

TEST(Forms, BranchesBesideEachOtherMayRepeatNames) {
  ModelBuilder m;
  m.input("x", {int64_t(2), int64_t(3)}).output("z");
  m.tensor("yes", {}, onnx::TensorProto::BOOL)->set_raw_data(std::string(1, 1));
  m.tensor("no", {}, onnx::TensorProto::BOOL)->set_raw_data(std::string(1, 0));
  auto addIf = [&](onnx::NodeProto &n, const std::string &x, const std::string &op) {
    for (const char *name : {"then_branch", "else_branch"}) {
      auto *g = branchOf(n, name);
      auto *c = g->add_initializer();
      c->set_name("c");
      c->set_data_type(onnx::TensorProto::FLOAT);
      c->add_float_data(0.5f);
      addNode(*g, std::string(name) == "then_branch" ? op : "Tanh", {x}, {"t"});
      addNode(*g, "Add", {"t", "c"}, {"u"});
      g->add_output()->set_name("u");
    }
  };
  addIf(m.node("If", {"yes"}, {"y1"}), "x", "Exp");
  addIf(m.node("If", {"no"}, {"y2"}), "y1", "Exp");
  addIf(m.node("If", {"yes"}, {"y3"}), "y2", "Sin");
  // A later value of the graph has a name that a branch has used.
  m.node("Relu", {"y3"}, {"t"});
  m.node("Neg", {"t"}, {"z"});
  Imported r = import(m);
  expectIn(r, {"graph.exp %arg0", "graph.tanh", "graph.sin", "graph.relu", "graph.neg"});
  EXPECT_EQ(count(r.ir, "graph.add"), 3u);

  // A branch must not make a value that the graph around it has.
  m = ModelBuilder();
  m.input("x", {int64_t(2), int64_t(3)}).output("z");
  m.tensor("yes", {}, onnx::TensorProto::BOOL)->set_raw_data(std::string(1, 1));
  m.node("Abs", {"x"}, {"u"});
  addIf(m.node("If", {"yes"}, {"y"}), "x", "Exp");
  m.node("Add", {"y", "u"}, {"z"});
  EXPECT_NE(import(m).diagnostics.find(
                "y: error: 'If' (opset 17): the branch makes value 'u', which the graph around it has"),
            std::string::npos);
}

TEST(Forms, BranchesSeeWhatIsUsedWithinThem) {
  ModelBuilder m;
  m.input("x", {int64_t(2), int64_t(3)}).output("y").scalar("zero", 0);
  m.tensor("yes", {}, onnx::TensorProto::BOOL)->set_raw_data(std::string(1, 1));
  auto &n = m.node("If", {"yes"}, {"y"});
  auto *g = branchOf(n, "then_branch");
  addNode(*g, "Dropout", {"x"}, {"dropped", "mask"}); // nothing outside the branch reads the mask
  addNode(*g, "Where", {"mask", "dropped", "zero"}, {"w"});
  g->add_output()->set_name("w");
  expectIn(import(m), {"graph.select"});
}

TEST(Forms, FunctionsMayBeCalledTwice) {
  ModelBuilder m;
  m.input("x", {int64_t(2), int64_t(3)}).output("z");
  m.tensor("yes", {}, onnx::TensorProto::BOOL)->set_raw_data(std::string(1, 1));
  for (auto [in, out] : {std::pair("x", "y"), std::pair("y", "z")}) {
    auto &call = m.node("Twice", {in, "yes"}, {out});
    call.set_domain("mine");
    call.clear_name();
  }
  m.model.add_opset_import()->set_domain("mine");
  auto *f = m.model.add_functions();
  f->set_name("Twice");
  f->set_domain("mine");
  f->add_input("in");
  f->add_input("condition");
  f->add_output("out");
  f->add_opset_import()->set_version(17);
  auto *n = f->add_node();
  n->set_op_type("If");
  n->add_input("condition");
  n->add_output("t");
  auto *g = branchOf(*n, "then_branch");
  addNode(*g, "Exp", {"in"}, {"u"});
  addNode(*g, "Sin", {"u"}, {"v"});
  g->add_output()->set_name("v");
  n = f->add_node();
  n->set_op_type("Neg");
  n->add_input("t");
  n->add_output("out");
  Imported r = import(m);
  expectIn(r, {"graph.exp %arg0"});
  for (const char *op : {"graph.exp", "graph.sin", "graph.neg"})
    EXPECT_EQ(count(r.ir, op), 2u) << op << r.diagnostics;
}

TEST(Forms, ShapeArithmeticFolds) {
  ModelBuilder m;
  m.input("x", {int64_t(2), int64_t(3), int64_t(4)}).ints("one", {1}).ints("zero", {0}).ints("minus", {-1});
  m.node("Shape", {"x"}, {"s"});
  m.node("Gather", {"s", "zero"}, {"first"});
  m.node("Slice", {"s", "one", "minus", "zero"}, {"middle"});
  m.node("Mul", {"first", "middle"}, {"product"});
  m.node("Concat", {"product", "minus"}, {"shape"}, {{"axis", int64_t(0)}});
  m.node("Reshape", {"x", "shape"}, {"y"});
  m.output("y");
  Imported r = import(m);
  expectIn(r, {"graph.reshape %arg0 : tensor<2x3x4xf32> to tensor<6x4xf32>"});
  EXPECT_EQ(count(r.ir, "graph."), 1u);
}

TEST(Forms, AForwardRunKnowsItsParameters) {
  ModelBuilder m(13);
  m.input("x", {int64_t(1), int64_t(3), int64_t(4)}).floats("both", {3}, {1, 1, 2}).weight("w", {3, 3, 1});
  m.node("Resize", {"x", "", "both"}, {"r"}, {{"mode", std::string("linear")}});
  m.node("Conv", {"r", "w", "both"}, {"y"});
  m.output("y");
  EXPECT_NE(import(m).diagnostics.find(
                "(input 2, 'both') is not known at compile time\nnote: hint: it is a trained parameter"),
            std::string::npos);
  ImportOptions options;
  options.forwardOnly = true;
  expectIn(import(m, options), {"graph.resize", "train.variable @both parameter"});
}

TEST(Forms, ResizeToOneElementReadsOneCoordinate) {
  // One scale for both axes, 2/10: the first has a length of 0.6 before it is rounded to 1.
  ModelBuilder m(18);
  m.input("x", {int64_t(1), int64_t(1), int64_t(3), int64_t(10)}).ints("sizes", {3, 2});
  m.node("Resize", {"x", "", "", "sizes"}, {"y"},
         {{"mode", std::string("linear")},
          {"coordinate_transformation_mode", std::string("align_corners")},
          {"keep_aspect_ratio_policy", std::string("not_larger")},
          {"axes", L{2, 3}}});
  m.output("y");
  expectIn(import(m), {"graph.resize", "array<f64: 1.000000e+00, 1.000000e+00, 0.000000e+00, 9.000000e+00>",
                       "-> tensor<1x1x1x2xf32>"});
}
