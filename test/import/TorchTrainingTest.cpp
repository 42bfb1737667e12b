//===- TorchTrainingTest.cpp - gradient stops, buffers and losses of torch modules ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a module does to gradients and buffers is not in the graph that torch's exporter writes, but beside it.
//
//===----------------------------------------------------------------------===//
#include "TorchModel.h"
#include <gtest/gtest.h>

using namespace mpc;
using namespace mpc::test;

/// Builds y = stopped(x * w) * v, where the node that stops is the caller's.
static TorchModel stopped() {
  TorchModel m;
  m.module("p_w", "PARAMETER", "w").module("p_v", "PARAMETER", "v").weight("w", {4}).weight("v", {4});
  m.call("Mul", {"x", "w"}, "mul", "mul", "%x, %p_w");
  m.output("y");
  return m;
}
/// Finishes that model behind the value that is stopped.
static TorchModel &times(TorchModel &m, const std::string &value, const std::string &argument) {
  m.call("Mul", {value, "v"}, "y", "mul", "%" + argument + ", %p_v");
  return m;
}

TEST(TorchTraining, DetachEndsGradients) {
  TorchModel m = stopped();
  m.call("Identity", {"mul"}, "detach", "detach", "%mul");
  times(m, "detach", "detach");
  Imported r = m.run();
  ASSERT_TRUE(r.ok()) << r.diagnostics;
  EXPECT_EQ(count(r.ir, "graph.stop_gradient"), 1u) << r.ir;
  EXPECT_TRUE(notes(r, "the gradient ends at this value: 'detach'"));
  ImportOptions options;
  options.forwardOnly = true;
  EXPECT_EQ(count(m.run(options).ir, "graph.stop_gradient"), 0u);
}

TEST(TorchTraining, ADetachedParameterIsStoppedForThisUseAlone) {
  TorchModel m;
  m.module("p_w", "PARAMETER", "w").weight("w", {4});
  m.call("Identity", {"w"}, "detach", "detach", "%p_w");
  m.call("Mul", {"x", "detach"}, "mul", "mul", "%x, %detach");
  m.call("Add", {"mul", "w"}, "y", "add", "%mul, %p_w");
  m.output("y");
  Imported r = m.run();
  ASSERT_TRUE(r.ok()) << r.diagnostics;
  EXPECT_NE(r.ir.find("%1 = graph.stop_gradient %0"), std::string::npos) << r.ir;
  EXPECT_NE(r.ir.find("graph.add %2, %0"), std::string::npos) << r.ir;
}

TEST(TorchTraining, MarksOfTheToolAndOtherIdentities) {
  for (bool marked : {false, true}) {
    TorchModel m = stopped();
    onnx::NodeProto &node = m.call("Identity", {"mul"}, "clone", "clone", "%mul");
    if (marked)
      TorchModel::entry(node, 9, "mpc.stop_gradient", "True");
    times(m, "clone", "clone");
    EXPECT_EQ(count(m.run().ir, "graph.stop_gradient"), marked ? 1u : 0u);
  }
}

/// The exporter's optimizer removes Identity nodes; the calls still name what they were given.
TEST(TorchTraining, RemovedStopsComeBack) {
  TorchModel m = stopped();
  times(m, "mul", "detach_2");
  Imported r = m.run();
  ASSERT_TRUE(r.ok()) << r.diagnostics;
  EXPECT_EQ(count(r.ir, "graph.stop_gradient"), 1u) << r.ir;
  EXPECT_TRUE(notes(r, "a gradient stop (detach) is back"));

  // No parameter is behind the data.
  TorchModel data;
  data.module("p_w", "PARAMETER", "w").weight("w", {4});
  data.call("Mul", {"x", "w"}, "y", "mul", "%detach, %p_w");
  data.output("y");
  r = data.run();
  ASSERT_TRUE(r.ok()) << r.diagnostics;
  EXPECT_EQ(count(r.ir, "graph.stop_gradient"), 0u) << r.ir;

  // A value times itself, detached: the place of the argument tells which is which.
  TorchModel square = stopped();
  square.call("Mul", {"mul", "mul"}, "y", "mul", "%mul, %detach");
  r = square.run();
  ASSERT_TRUE(r.ok()) << r.diagnostics;
  EXPECT_NE(r.ir.find("%3 = graph.mul %1, %2"), std::string::npos) << r.ir;

  // A transpose that the import puts between a parameter and its use.
  TorchModel turned;
  turned.module("p_w", "PARAMETER", "w").weight("val_0", {4, 4});
  turned.folded("val_0", "['w']");
  turned.call("MatMul", {"x", "val_0"}, "linear", "linear", "%x, %p_w");
  turned.call("Mul", {"linear", "x"}, "y", "mul", "%detach, %x");
  turned.output("y");
  r = turned.run();
  ASSERT_TRUE(r.ok()) << r.diagnostics;
  EXPECT_EQ(count(r.ir, "graph.stop_gradient"), 1u) << r.ir;

  // What does nothing may have gone with a detach in front of it.
  TorchModel cloned = stopped();
  cloned.call("Mul", {"mul", "mul"}, "y", "mul", "%mul, %clone");
  r = cloned.run();
  ASSERT_TRUE(r.ok()) << r.diagnostics;
  EXPECT_TRUE(notes(r, "in front of 'y', and would have removed a detach beside it"));

  // Two values that the call does not name may be the one that was detached.
  TorchModel two = stopped();
  two.call("Add", {"x", "w"}, "add", "add", "%x, %p_w");
  two.call("Where", {"mask", "mul", "add"}, "y", "masked", "%detach, %view, %mask");
  two.input("mask", {int64_t(2), int64_t(4)}, onnx::TensorProto::BOOL);
  EXPECT_NE(two.run().diagnostics.find("the gradient stop 'detach' in front of 'y' was removed"), std::string::npos)
      << two.run().diagnostics;
}

/// Without its stop a node may be equal to another, of which the optimizer keeps one.
TEST(TorchTraining, AMergedNodeBehindAStopIsLost) {
  TorchModel m = stopped();
  m.call("Relu", {"mul"}, "relu", "relu", "%detach");
  m.call("Add", {"relu", "relu"}, "y", "add", "%relu, %relu_1");
  EXPECT_NE(m.run().diagnostics.find("'relu_1' was merged with an equal node, and gradients end in front of one"),
            std::string::npos)
      << m.run().diagnostics;
}

/// A call that became several nodes names what it was given, not the values between its nodes.
TEST(TorchTraining, StopsComeBackBetweenTheNodesOfCalls) {
  TorchModel m = stopped();
  m.call("Abs", {"mul"}, "val_0", "index", "%mul");
  m.call("Neg", {"val_0"}, "index", "index", "%mul");
  m.call("Sub", {"index", "mul"}, "val_1", "mse_loss", "%index, %detach");
  m.call("Mul", {"val_1", "v"}, "y", "mul", "%val_1, %p_v");
  Imported r = m.run();
  ASSERT_TRUE(r.ok()) << r.diagnostics;
  EXPECT_EQ(count(r.ir, "graph.stop_gradient"), 1u) << r.ir;
}

TEST(TorchTraining, TheUserEndsGradients) {
  ModelBuilder m;
  m.input("x", {int64_t(2), int64_t(4)}).weight("w", {4}).weight("v", {4});
  m.node("Mul", {"x", "w"}, {"teacher/mul"});
  m.node("Mul", {"teacher/mul", "v"}, {"y"});
  m.output("y");
  ImportOptions options;
  options.stopGradient = "^teacher/";
  Imported r = import(m, options);
  ASSERT_TRUE(r.ok()) << r.diagnostics;
  EXPECT_EQ(count(r.ir, "graph.stop_gradient"), 1u) << r.ir;
  for (auto [regex, error] : {std::pair("^w$", "--stop-gradient: error: '^w$' matches no value of a node"),
                              {"(", "--stop-gradient: error: '(' is not a regular expression"}}) {
    options.stopGradient = regex;
    EXPECT_NE(import(m, options).diagnostics.find(error), std::string::npos) << import(m, options).diagnostics;
  }
}

/// Builds y = x * w / (ema / 2 + x), whose quotient's second operand is written to `ema`.
static TorchModel averaged(const std::string &kind = "FLOAT") {
  TorchModel m;
  m.module("p_w", "PARAMETER", "w").module("b_ema", "BUFFER", "ema").weight("w", {4}).scalar("half", 0.5);
  if (kind == "FLOAT")
    m.floats("ema", {2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  m.call("Mul", {"ema", "half"}, "mul", "mul", "%b_ema, 0.5");
  m.call("Add", {"mul", "x"}, "add", "add", "%mul, %x");
  m.call("Mul", {"x", "w"}, "mul_1", "mul", "%x, %p_w");
  m.call("Div", {"mul_1", "add"}, "y", "div", "%mul_1, %add");
  m.output("y").model.set_ir_version(10);
  return m;
}

TEST(TorchTraining, BuffersThatForwardWritesAreState) {
  TorchModel m = averaged();
  EXPECT_EQ(variables(m.run()), "w ");
  Imported r = m.writes("add", "ema").run();
  ASSERT_TRUE(r.ok()) << r.diagnostics;
  EXPECT_EQ(variables(r), "w ema(buffer) ");
  EXPECT_EQ(count(r.ir, "train.variable @ema buffer"), 1u) << r.ir;
  EXPECT_EQ(count(r.ir, "train.assign @ema"), 1u) << r.ir;
  EXPECT_EQ(count(r.ir, "graph.barrier"), 1u) << r.ir;
  EXPECT_TRUE(notes(r, "each step updates a buffer of the torch module"));
  // An input may be the new value, and one value may be that of two buffers.
  TorchModel same = averaged();
  same.module("b_last", "BUFFER", "last")
      .module("b_ema2", "BUFFER", "ema2")
      .floats("last", {2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  same.floats("ema2", {2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}).node("Add", {"last", "ema2"}, {"unread"});
  r = same.writes("add", "ema").writes("add", "ema2").writes("x", "last").run();
  ASSERT_TRUE(r.ok()) << r.diagnostics;
  for (const char *buffer : {"train.assign @ema,", "train.assign @ema2,", "train.assign @last,"})
    EXPECT_EQ(count(r.ir, buffer), 1u) << buffer << "\n" << r.ir;
  // One that is not in the file is noted; a parameter that forward updates cannot be trained as well.
  EXPECT_TRUE(
      notes(averaged().writes("add_3", "steps").run(), "forward updates the buffer 'steps', which is not in the file"));
  ImportOptions options;
  options.trainable = "^(w|ema)$";
  EXPECT_NE(
      averaged().writes("mul_1", "ema").run(options).diagnostics.find("forward updates 'ema', so the optimizer cannot"),
      std::string::npos);
  // A batch norm's statistics are results of its node, and torch's counter of batches is read by nothing.
  EXPECT_TRUE(averaged().writes("add_9", "bn.num_batches_tracked").run().ok());
}

TEST(TorchTraining, ABufferWhoseNewValueIsGoneIsLost) {
  Imported r = averaged().writes("copy", "ema").run();
  EXPECT_NE(r.diagnostics.find("the new value 'copy' of the buffer 'ema' is gone"), std::string::npos) << r.diagnostics;
  // The exporter's optimizer takes a buffer for a constant.
  TorchModel m = averaged("computed");
  m.folded("val_9", "['ema']").writes("add", "ema").floats("val_9", {2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  m.model.mutable_graph()->mutable_node(0)->set_input(0, "val_9");
  r = m.run();
  EXPECT_NE(r.diagnostics.find("the buffer 'ema', which forward updates, was computed into 'val_9'"), std::string::npos)
      << r.diagnostics;
}

/// Builds a loss on classes as F.cross_entropy with these last arguments becomes one.
static TorchModel crossEntropy(const std::string &arguments,
                               const std::vector<std::pair<std::string, Attribute>> &attributes) {
  TorchModel m;
  m.module("p_w", "PARAMETER", "w").weight("w", {4}).input("t", {int64_t(2)}, onnx::TensorProto::INT64);
  m.call("Mul", {"x", "w"}, "mul", "mul", "%x, %p_w");
  m.call("SoftmaxCrossEntropyLoss", {"mul", "t"}, "y", "cross_entropy_loss", "%mul, %t, " + arguments, attributes);
  m.output("y");
  return m;
}

TEST(TorchTraining, LabelSmoothingComesBack) {
  const std::vector<std::pair<std::string, Attribute>> mean = {{"reduction", std::string("mean")}},
                                                       none = {{"reduction", std::string("none")}};
  Imported r = crossEntropy("None, 1, -100, 0.1", mean).run();
  ASSERT_TRUE(r.ok()) << r.diagnostics;
  EXPECT_TRUE(notes(r, "label smoothing is back"));
  EXPECT_EQ(count(r.ir, "graph.log_softmax"), 1u) << r.ir;
  r = crossEntropy("None, 0, -100, 0.1", none).run();
  ASSERT_TRUE(r.ok()) << r.diagnostics;
  EXPECT_NE(r.ir.find("-> tensor<2xf32>"), std::string::npos) << r.ir;
  r = crossEntropy("None, 1, -100, 0.0", mean).run();
  EXPECT_FALSE(notes(r, "label smoothing"));
}

TEST(TorchTraining, RowsOfPaddingHaveNoGradient) {
  auto embedding = [](const std::string &arguments) {
    TorchModel m;
    m.module("p_w", "PARAMETER", "w")
        .weight("w", {5, 4})
        .input("t", {int64_t(2), int64_t(3)}, onnx::TensorProto::INT64);
    m.call("Gather", {"w", "t"}, "y", "embedding", "%p_w, %t" + arguments);
    m.output("y");
    return m;
  };
  Imported r = embedding(", 2").run();
  ASSERT_TRUE(r.ok()) << r.diagnostics;
  EXPECT_EQ(count(r.ir, "graph.stop_gradient"), 1u) << r.ir;
  EXPECT_EQ(count(r.ir, "graph.select"), 1u) << r.ir;
  for (const char *none : {"", ", -1", ", -1, False, True", ", None", ", 99999999999999999999"}) {
    r = embedding(none).run();
    ASSERT_TRUE(r.ok()) << none << r.diagnostics;
    EXPECT_EQ(count(r.ir, "graph.stop_gradient"), 0u) << none << r.ir;
  }
  EXPECT_NE(embedding(", -1, True").run().diagnostics.find("scale_grad_by_freq=True"), std::string::npos);
}

TEST(TorchTraining, AClampPassesNoGradientAtItsBounds) {
  auto clamp = [](const std::string &target) {
    TorchModel m = stopped();
    m.scalar("low", 0).scalar("high", 6);
    m.call("Max", {"mul", "low"}, "max", target, "%mul, %scalar_tensor_default, %scalar_tensor_default_1");
    m.call("Min", {"max", "high"}, "y", target, "%mul, %scalar_tensor_default, %scalar_tensor_default_1");
    return m;
  };
  Imported r = clamp("clamp").run();
  ASSERT_TRUE(r.ok()) << r.diagnostics;
  EXPECT_EQ(count(r.ir, "graph.clip"), 2u) << r.ir;
  // The bounds are tensors of the module, at which a clamp passes half of the gradient.
  TorchModel m = stopped();
  m.scalar("low", 0);
  m.call("Max", {"mul", "low"}, "y", "clamp", "%mul, %b_low");
  r = m.run();
  ASSERT_TRUE(r.ok()) << r.diagnostics;
  EXPECT_EQ(count(r.ir, "graph.clip"), 0u) << r.ir;
  r = clamp("maximum").run();
  EXPECT_EQ(count(r.ir, "graph.clip"), 0u) << r.ir;
  EXPECT_EQ(count(r.ir, "graph.max"), 1u) << r.ir;
}

TEST(TorchTraining, AHiddenKeyIsHidden) {
  constexpr float lowest = std::numeric_limits<float>::lowest();
  // Writes the mask of an attention as the exporter does: a bias, a softmax, and zeros in place of NaN.
  auto masked = [](float number, const std::string &target, bool guarded) {
    TorchModel m;
    m.module("p_w", "PARAMETER", "w").weight("w", {4}).input("seen", {int64_t(2), int64_t(4)}, onnx::TensorProto::BOOL);
    m.scalar("zero", 0).scalar("number", number);
    const std::string arguments = "%x, %x, %x, %seen";
    auto node = [&](const std::string &op, const std::vector<std::string> &inputs, const std::string &output) {
      TorchModel::entry(m.node(op, inputs, {output}), 9, "pkg.torch.onnx.fx_node",
                        "%attention : [num_users=1] = call_function[target=torch.ops.aten." + target +
                            ".default](args = (" + arguments + "), kwargs = {})");
    };
    m.call("Mul", {"x", "w"}, "mul", "mul", "%x, %p_w");
    node("Where", {"seen", "zero", "number"}, "bias");
    node("Add", {"mul", "bias"}, "scores");
    node("Softmax", {"scores"}, guarded ? "p" : "y");
    if (guarded) {
      node("IsNaN", {"p"}, "is_nan");
      node("Where", {"is_nan", "zero", "p"}, "y");
    }
    m.output("y");
    return m.run();
  };
  auto hides = [](const Imported &r) { return r.ir.find("0xFF800000") != std::string::npos; };
  Imported r = masked(lowest, "scaled_dot_product_attention", true);
  ASSERT_TRUE(r.ok()) << r.diagnostics;
  EXPECT_TRUE(hides(r)) << r.ir;
  EXPECT_FALSE(hides(masked(-1e4f, "scaled_dot_product_attention", true)));
  EXPECT_FALSE(hides(masked(lowest, "scaled_dot_product_attention", false)));
  EXPECT_FALSE(hides(masked(lowest, "softmax", true)));
}

TEST(TorchTraining, MeansOfScatteredValuesAreRefused) {
  auto scatter = [](const std::string &how) {
    TorchModel m = stopped();
    m.input("t", {int64_t(2), int64_t(4)}, onnx::TensorProto::INT64);
    m.call("ScatterElements", {"mul", "t", "mul"}, "y", "scatter_reduce", "%mul, 1, %t, %mul, " + how);
    return m.run();
  };
  EXPECT_NE(scatter("mean").diagnostics.find("takes the mean of what is scattered to one place"), std::string::npos);
  EXPECT_TRUE(scatter("sum").ok());
}

TEST(TorchTraining, CastsOfNumbersToTheTypeOfATensorAreNumbers) {
  TorchModel m = stopped();
  m.scalar("low", 0).scalar("high", 6);
  m.node("CastLike", {"low", "mul"}, {"lowest"});
  m.node("CastLike", {"high", "mul"}, {"highest"});
  m.call("Clip", {"mul", "lowest", "highest"}, "y", "relu6", "%mul");
  Imported r = m.run();
  ASSERT_TRUE(r.ok()) << r.diagnostics;
  EXPECT_EQ(count(r.ir, "graph.clip"), 1u) << r.ir;
  EXPECT_EQ(count(r.ir, "graph.max"), 0u) << r.ir;
}

TEST(TorchTraining, NumbersThatNoCallHasAreRefusedOrIgnored) {
  const std::vector<std::pair<std::string, Attribute>> mean = {{"reduction", std::string("mean")}};
  for (const char *smoothing : {"inf", "7.5", "-1"})
    EXPECT_NE(crossEntropy(std::string("None, 1, -100, ") + smoothing, mean)
                  .run()
                  .diagnostics.find("label_smoothing of the torch module"),
              std::string::npos);
  for (const char *call : {"None, 1, 1e300, 0.1", "None, 99999999999999999999, -100", "None, nan, -100, 0.1"})
    EXPECT_FALSE(notes(crossEntropy(call, mean).run(), "label smoothing")) << call;
}

TEST(TorchTraining, ALossThatIsNotTheModulesIsRefused) {
  EXPECT_NE(crossEntropy("None, 2", {{"reduction", std::string("mean")}})
                .run()
                .diagnostics.find("reduction is 'mean', but the torch module's is 'sum'"),
            std::string::npos);
  EXPECT_NE(crossEntropy("None, 1, 7", {{"ignore_index", int64_t(3)}})
                .run()
                .diagnostics.find("ignore_index is 3, but the torch module's is 7"),
            std::string::npos);
  // torch 2.15 believes that the losses of scores [N, C] are one number, and writes their sum as Identity.
  TorchModel m = crossEntropy("None, 0", {{"reduction", std::string("none")}});
  auto *stated = m.model.mutable_graph()->add_value_info();
  stated->set_name("y");
  stated->mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
  stated->mutable_type()->mutable_tensor_type()->mutable_shape();
  EXPECT_NE(m.run().diagnostics.find("took the losses of 2 samples for one number"), std::string::npos);
  // The exporter left it out.
  Imported r = crossEntropy("None, 1, 3", {}).run();
  ASSERT_TRUE(r.ok()) << r.diagnostics;
  EXPECT_NE(r.ir.find("ignore_index = 3"), std::string::npos) << r.ir;
}

TEST(TorchTraining, AttentionDropsInTrainMode) {
  // Both nodes come from one call.
  auto attention = [](bool node, const std::string &probability) {
    TorchModel m = stopped().byTool();
    m.scalar("ratio", 0.25);
    const std::string call = "%scaled_dot_product_attention : [num_users=1] = call_function[target=torch.ops.aten."
                             "scaled_dot_product_attention.default](args = (%mul, %mul, %mul, None, " +
                             probability + "), kwargs = {})";
    if (node)
      TorchModel::entry(m.node("Dropout", {"mul", "ratio"}, {"dropped"}), 9, "pkg.torch.onnx.fx_node", call);
    TorchModel::entry(m.node("Mul", {node ? "dropped" : "mul", "v"}, {"y"}), 9, "pkg.torch.onnx.fx_node", call);
    return m;
  };
  Imported r = attention(true, "0.25").run();
  ASSERT_TRUE(r.ok()) << r.diagnostics;
  EXPECT_EQ(count(r.ir, "graph.dropout"), 1u) << r.ir;
  EXPECT_TRUE(notes(r, "attention drops again"));
  ImportOptions options;
  options.mode = TrainingMode::AsExported;
  EXPECT_EQ(count(attention(true, "0.25").run(options).ir, "graph.dropout"), 0u);
  EXPECT_NE(attention(false, "0.25").run().diagnostics.find("the dropout of 'scaled_dot_product_attention' is gone"),
            std::string::npos);
  EXPECT_TRUE(attention(false, "0.0").run().ok());
}

TEST(TorchTraining, SaysWhatAFileCannotTell) {
  TorchModel m = stopped();
  times(m, "mul", "mul");
  EXPECT_TRUE(notes(m.run(), "the file does not say which parts of the module are in torch.no_grad"));
  EXPECT_TRUE(m.byTool().run().report.notes.empty());
  TorchModel legacy(false);
  legacy.input("x", {int64_t(2), int64_t(4)}).weight("w", {4}).node("Mul", {"x", "w"}, {"y"});
  legacy.output("y");
  EXPECT_TRUE(notes(legacy.run(), "the file does not say where gradients end"));
}
