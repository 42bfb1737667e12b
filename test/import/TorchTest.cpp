//===- TorchTest.cpp - what torch's exporter changes, and what comes back -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The models are built node by node as torch 2.15 writes them, with its metadata; test/torch exports real ones.
//
//===----------------------------------------------------------------------===//
#include "TorchModel.h"
#include <gtest/gtest.h>

using namespace mpc;
using namespace mpc::test;
using L = std::vector<int64_t>;

/// Makes two norms whose tensors are equal, and a Linear whose bias is zero.
static TorchModel merged() {
  TorchModel m;
  for (const char *name : {"ln1", "ln2"})
    for (const char *part : {"weight", "bias"})
      m.module(std::string("p_") + name + "_" + part, "PARAMETER", std::string(name) + "." + part);
  m.module("p_fc_weight", "PARAMETER", "fc.weight").module("p_fc_bias", "PARAMETER", "fc.bias");
  m.floats("ln1.weight", {4}, {1, 1, 1, 1}).floats("ln1.bias", {4}, {0, 0, 0, 0}).weight("fc.weight", {3, 4});
  m.call("LayerNormalization", {"x", "ln1.weight", "ln1.bias"}, "layer_norm", "layer_norm",
         "%x, [4], %p_ln1_weight, %p_ln1_bias, 1e-05, False");
  m.call("LayerNormalization", {"layer_norm", "ln1.weight", "ln1.bias"}, "layer_norm_1", "layer_norm",
         "%layer_norm, [4], %p_ln2_weight, %p_ln2_bias, 1e-05, False");
  m.call("Gemm", {"layer_norm_1", "fc.weight"}, "y", "linear", "%layer_norm_1, %p_fc_weight, %p_fc_bias",
         {{"transB", int64_t(1)}});
  m.output("y");
  return m;
}

TEST(Torch, MergedTensorsAndZeroBiasesComeBack) {
  Imported r = merged().run();
  ASSERT_TRUE(r.ok()) << r.diagnostics;
  EXPECT_EQ(variables(r), "ln1.weight ln1.bias fc.weight ln2.weight ln2.bias fc.bias ");
  EXPECT_TRUE(notes(r, "2 tensors that the exporter had merged"));
  EXPECT_TRUE(notes(r, "a bias that is zero is back"));
  EXPECT_NE(r.ir.find("@fc.bias parameter : tensor<3xf32> = dense<0.0"), std::string::npos) << r.ir;
  EXPECT_EQ(count(r.ir, "train.read @ln1.weight"), 1u);
  EXPECT_EQ(count(r.ir, "train.read @ln2.weight"), 1u);
}

/// Dynamo writes the inference form for both modes; the recorded call tells which it was.
TEST(Torch, NormsTrainAsTheCallSays) {
  TorchModel m;
  for (const char *part : {"weight", "bias"})
    m.module(std::string("p_bn_") + part, "PARAMETER", std::string("bn.") + part);
  for (const char *part : {"running_mean", "running_var"})
    for (const char *norm : {"bn", "frozen"})
      m.module(std::string("b_") + norm + "_" + part, "BUFFER", std::string(norm) + "." + part)
          .weight(std::string(norm) + "." + part, {4});
  m.weight("bn.weight", {4}).weight("bn.bias", {4});
  m.call("BatchNormalization", {"x", "bn.weight", "bn.bias", "bn.running_mean", "bn.running_var"}, "h",
         "_native_batch_norm_legit_functional",
         "%x, %p_bn_weight, %p_bn_bias, %b_bn_running_mean, %b_bn_running_var, True, 0.1, 1e-05");
  m.call("BatchNormalization", {"h", "bn.weight", "bn.bias", "frozen.running_mean", "frozen.running_var"}, "y",
         "_native_batch_norm_legit_no_training",
         "%h, %p_bn_weight, %p_bn_bias, %b_frozen_running_mean, %b_frozen_running_var, 0.1, 1e-05");
  m.output("y");
  Imported r = m.run();
  ASSERT_TRUE(r.ok()) << r.diagnostics;
  EXPECT_EQ(count(r.ir, "graph.batch_norm "), 1u) << r.ir;
  EXPECT_EQ(count(r.ir, "graph.batch_norm_inference"), 1u);
  EXPECT_EQ(count(r.ir, "train.assign @bn.running_"), 2u);
  // torch keeps the unbiased variance: of two values, twice the population's.
  EXPECT_EQ(count(r.ir, "dense<1.000000e-01>"), 1u) << r.ir;
  EXPECT_EQ(count(r.ir, "dense<2.000000e-01>"), 1u) << r.ir;
  EXPECT_TRUE(notes(r, "BatchNormalization stays in its inference form"));
  EXPECT_FALSE(notes(r, "exported for inference"));
}

TEST(Torch, RunsAsItIsForInference) {
  ImportOptions options;
  options.forwardOnly = true;
  EXPECT_EQ(variables(merged().run(options)), "ln1.weight ln1.bias fc.weight ");
}

TEST(Torch, TransposedWeightsComeBackWithTheirTies) {
  TorchModel m;
  m.module("p_fc_weight", "PARAMETER", "fc.weight")
      .module("p_fc_bias", "PARAMETER", "fc.bias")
      .module("p_head_weight", "PARAMETER", "head.weight");
  m.weight("val_2", {4, 3}).weight("fc.bias", {3}).floats("head.weight", {3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  m.floats("val_5", {3, 3}, {1, 4, 7, 2, 5, 8, 3, 6, 9});
  m.folded("val_2", "['fc.weight']").folded("val_5", "['head.weight']");
  m.call("MatMul", {"x", "val_2"}, "val_3", "linear", "%x, %p_fc_weight, %p_fc_bias");
  m.call("Add", {"val_3", "fc.bias"}, "linear", "linear", "%x, %p_fc_weight, %p_fc_bias");
  m.call("MatMul", {"linear", "val_5"}, "linear_1", "linear", "%linear, %p_head_weight");
  m.call("MatMul", {"linear_1", "head.weight"}, "y", "matmul", "%linear_1, %p_head_weight");
  m.output("y");
  Imported r = m.run();
  ASSERT_TRUE(r.ok()) << r.diagnostics;
  EXPECT_EQ(variables(r), "fc.bias head.weight fc.weight ");
  // The values are 0.01 to 0.12 in rows of four: the transpose of what val_2 holds.
  EXPECT_NE(
      r.ir.find("@fc.weight parameter : tensor<3x4xf32> = dense<[[0.00999999977, 4.000000e-02, 7.000000e-02, 0.09"),
      std::string::npos)
      << r.ir;
  EXPECT_TRUE(notes(r, "2 parameters that were computed into another form"));
}

TEST(Torch, ScalesOfGroupNormsComeBackInTheirShape) {
  TorchModel m;
  m.module("p_gn_weight", "PARAMETER", "gn.weight")
      .module("p_gn_bias", "PARAMETER", "gn.bias")
      .module("p_gn2_weight", "PARAMETER", "gn2.weight");
  m.weight("val_21", {4, 1}).floats("val_22", {4, 1}, {0, 0, 0, 0});
  m.folded("val_22", "['gn.bias', 'val_15']");
  m.folded("val_21", "['gn.weight', 'val_15']");
  m.node("Unsqueeze", {"x", "axes"}, {"x3"});
  m.ints("axes", {2});
  m.call("Mul", {"x3", "val_21"}, "val_30", "group_norm", "%x3, 2, %p_gn_weight, %p_gn_bias, 1e-05, False");
  m.call("Add", {"val_30", "val_22"}, "group_norm", "group_norm", "%x3, 2, %p_gn_weight, %p_gn_bias, 1e-05, False");
  m.call("Mul", {"group_norm", "val_21"}, "y", "group_norm", "%group_norm, 2, %p_gn2_weight, None, 1e-05, False");
  m.output("y");
  Imported r = m.run();
  ASSERT_TRUE(r.ok()) << r.diagnostics;
  EXPECT_EQ(variables(r), "gn.weight gn.bias gn2.weight ");
  EXPECT_NE(r.ir.find("@gn2.weight parameter : tensor<4xf32>"), std::string::npos) << r.ir;
}

TEST(Torch, WhatIsLostIsAnError) {
  TorchModel m;
  m.module("p_c_weight", "PARAMETER", "c.weight")
      .module("p_bn_weight", "PARAMETER", "bn.weight")
      .module("p_bn_bias", "PARAMETER", "bn.bias");
  m.module("b_bn_running_mean", "BUFFER", "bn.running_mean").module("p_pos_weight", "PARAMETER", "pos.weight");
  m.weight("c.weight", {4, 4}).weight("embedding", {2, 4});
  m.folded("embedding", "['arange', 'pos.weight']");
  m.call("Gemm", {"x", "c.weight"}, "getitem", "_native_batch_norm_legit_functional",
         "%linear, %p_bn_weight, %p_bn_bias, %b_bn_running_mean, %b, True, 0.1, 1e-05");
  m.call("Add", {"getitem", "embedding"}, "y", "add", "%getitem, %embedding");
  m.output("y");
  Imported r = m.run();
  EXPECT_FALSE(r.ok());
  EXPECT_NE(r.diagnostics.find(
                "model.onnx: error: torch's exporter rewrote what would be trained: batch norm 'bn' is folded into "
                "Gemm 'c.weight'; "
                "'pos.weight' was computed into 'embedding'\nnote: hint: export it with tools/torch/export.py, or "
                "torch.onnx.export(model.train(), args, \"model.onnx\", dynamo=True, optimize=False), "
                "or train it as it is with --accept-exported"),
            std::string::npos)
      << r.diagnostics;
  ImportOptions options;
  options.acceptExported = true;
  r = m.run(options);
  ASSERT_TRUE(r.ok()) << r.diagnostics;
  EXPECT_EQ(variables(r), "c.weight embedding ");
  EXPECT_TRUE(notes(r, "batch norm 'bn' is folded"));
}

TEST(Torch, NodesThatWereTakenForOthersAreNoticed) {
  auto parallel = [](const std::string &second) {
    TorchModel m;
    m.module("p_a_weight", "PARAMETER", "a.weight")
        .module("p_b_weight", "PARAMETER", "b.weight")
        .floats("a.weight", {4}, {1, 1, 1, 1})
        .floats("zero", {4}, {0, 0, 0, 0});
    m.call("LayerNormalization", {"x", "a.weight", "zero"}, "layer_norm", "layer_norm",
           "%x, [4], %p_a_weight, None, 1e-05, False");
    m.call("Add", {"layer_norm", "layer_norm"}, "y", "add", "%layer_norm, " + second);
    m.output("y");
    return m.run();
  };
  Imported r = parallel("%layer_norm_1");
  EXPECT_NE(
      r.diagnostics.find("'b.weight' may be gone with 'layer_norm_1', which was equal to another node or did nothing"),
      std::string::npos)
      << r.diagnostics;
  // A module may have parameters that it does not use, and tied parameters have two names.
  EXPECT_TRUE(parallel("%layer_norm").ok());
  EXPECT_TRUE(parallel("%dropout_3").ok());
  // No node makes the bodies of torch.cond, nor their arguments.
  EXPECT_TRUE(parallel("%true_graph_0, %false_graph_12, (%layer_norm,)").ok());
  EXPECT_TRUE(parallel("%arg10_1").ok());
  EXPECT_FALSE(parallel("%true_graph").ok());
  EXPECT_FALSE(parallel("%arg_1").ok());
  EXPECT_FALSE(parallel("%expand_1").ok()); // expands a parameter, such as a class token
}

TEST(Torch, OneTensorUnderTwoNamesIsNotLost) {
  TorchModel m;
  m.module("p_embed_weight", "PARAMETER", "model.embed.weight")
      .module("p_head_weight", "PARAMETER", "head.weight")
      .weight("head.weight", {4, 4});
  onnx::NodeProto &node = m.call("MatMul", {"x", "head.weight"}, "matmul", "matmul", "%x, %p_head_weight");
  m.call("Add", {"matmul", "matmul"}, "y", "add", "%matmul, %view_3");
  m.output("y");
  EXPECT_NE(m.run().diagnostics.find("'model.embed.weight' may be gone with 'view_3'"), std::string::npos);
  m.scopes(node, "['', 'model', 'model.embed', 'matmul']");
  EXPECT_TRUE(m.run().ok()) << m.run().diagnostics;
}

TEST(Torch, NoInputIsReplacedByAnUnequalTensor) {
  // torch.add(base, delta, alpha=2) becomes two nodes, and both record the whole call.
  TorchModel m;
  m.module("p_base", "PARAMETER", "base")
      .module("p_delta", "PARAMETER", "delta")
      .weight("base", {4})
      .floats("delta", {4}, {1, 2, 3, 4})
      .scalar("two", 2);
  m.call("Mul", {"delta", "two"}, "val_0", "add", "%p_base, %p_delta");
  m.call("Add", {"base", "val_0"}, "add", "add", "%p_base, %p_delta");
  m.call("Add", {"x", "add"}, "y", "add", "%x, %add");
  m.output("y");
  Imported r = m.run();
  ASSERT_TRUE(r.ok()) << r.diagnostics;
  EXPECT_EQ(variables(r), "base delta ");
  EXPECT_EQ(r.report.notes.size(), 1u);
  EXPECT_TRUE(notes(r, "the file does not say which parts of the module are in torch.no_grad"));
  EXPECT_EQ(count(r.ir, "train.read @delta"), 1u);
  EXPECT_EQ(count(r.ir, "train.read @base"), 1u);
  // If both tensors were equal, one of them is gone, and the file does not tell which use was its own.
  TorchModel merged;
  merged.module("p_base", "PARAMETER", "base")
      .module("p_delta", "PARAMETER", "delta")
      .weight("base", {4})
      .scalar("two", 2);
  merged.call("Mul", {"base", "two"}, "val_0", "add", "%p_base, %p_delta");
  merged.call("Add", {"base", "val_0"}, "add", "add", "%p_base, %p_delta");
  merged.call("Add", {"x", "add"}, "y", "add", "%x, %add");
  merged.output("y");
  EXPECT_NE(merged.run().diagnostics.find("'delta' was merged with an equal tensor"), std::string::npos)
      << merged.run().diagnostics;
}

TEST(Torch, TensorsThatSomebodyAddedAreTrained) {
  TorchModel m;
  m.module("p_it_s_w", "PARAMETER", "it's.w")
      .weight("it's.w", {4})
      .weight("new_head.weight", {4, 3})
      .floats("val_3", {4}, {0, 0, -1e9f, 0});
  m.call("Mul", {"x", "it's.w"}, "mul", "mul", "%x, %p_it_s_w");
  m.call("Add", {"mul", "val_3"}, "add", "add", "%mul, %masked");
  m.node("MatMul", {"add", "new_head.weight"}, {"y"});
  m.output("y");
  EXPECT_EQ(variables(m.run()), "it's.w new_head.weight ");
}

TEST(Torch, SaysWhatIsTrained) {
  TorchModel m;
  m.module("p_w", "PARAMETER", "w")
      .module("p_scale", "PARAMETER", "scale")
      .module("p_off", "PARAMETER", "off")
      .module("p_old", "PARAMETER", "old");
  m.module("b_mask", "BUFFER", "mask").module("c_table", "CONSTANT_TENSOR", "table");
  m.weight("w", {4})
      .scalar("scale", 2)
      .weight("off", {4})
      .weight("old", {4})
      .floats("mask", {4}, {0, -1e9, 0, 0})
      .weight("table", {4})
      .weight("val_1", {4});
  m.folded("val_1", "['mask', 'table']").info("old", "mpc.requires_grad", "False");
  std::string value = "x";
  for (auto [op, name] : {std::pair("Mul", "w"),
                          {"Mul", "scale"},
                          {"Sub", "off"},
                          {"Mul", "old"},
                          {"Add", "mask"},
                          {"Add", "table"},
                          {"Add", "val_1"}}) {
    m.node(op, {value, name}, {std::string(name) + ".y"});
    value = std::string(name) + ".y";
  }
  m.output(value);
  Imported r = m.run();
  ASSERT_TRUE(r.ok()) << r.diagnostics;
  EXPECT_EQ(variables(r),
            "w scale off old(buffer) "); // the scalar and the subtrahend are trained too, which their positions alone
                                         // would not tell
  ImportOptions options;
  options.trainable = "^mask$";
  EXPECT_NE(variables(m.run(options)).find("mask "), std::string::npos);
}

/// The older exporter writes no metadata, so only names and values are known.
TEST(Torch, LegacyFilesAreReadByTheirNames) {
  TorchModel m(false);
  m.input("x", {int64_t(2), int64_t(4)});
  m.floats("ln1.weight", {4}, {1, 1, 1, 1})
      .floats("ln1.bias", {4}, {0, 0, 0, 0})
      .weight("onnx::MatMul_7", {4, 4})
      .weight("table.weight", {4, 4});
  m.floats("onnx::MatMul_8", {2, 4}, {1, 2, 3, 4, 5, 6, 7, 8})
      .floats("shared.weight", {4, 2}, {1, 5, 2, 6, 3, 7, 4, 8});
  auto named = [&](onnx::NodeProto &node, const char *name) { node.set_name(name); };
  m.node("Identity", {"ln1.bias"}, {"fc.proj_bias"});
  named(m.node("LayerNormalization", {"x", "ln1.weight", "ln1.bias"}, {"a"}), "/ln1/LayerNormalization");
  named(m.node("LayerNormalization", {"a", "ln1.weight", "ln1.bias"}, {"b"}),
        "/ln1_1/LayerNormalization"); // the module itself is used twice
  named(m.node("MatMul", {"b", "onnx::MatMul_7"}, {"c"}), "/fc/MatMul");
  named(m.node("Add", {"fc.proj_bias", "c"}, {"d"}), "/fc/Add");
  named(m.node("MatMul", {"d", "table.weight"}, {"e"}), "/enc/MatMul");
  named(m.node("MatMul", {"e", "table.weight"}, {"f"}), "/dec/MatMul");
  named(m.node("MatMul", {"f", "shared.weight"}, {"g"}), "/embed/MatMul");
  named(m.node("MatMul", {"g", "onnx::MatMul_8"}, {"y"}),
        "/head/MatMul"); // tied: holds the transpose of another tensor
  m.output("y");
  Imported r = m.run();
  ASSERT_TRUE(r.ok()) << r.diagnostics;
  EXPECT_EQ(variables(r), "ln1.weight ln1.bias table.weight shared.weight fc.proj_bias fc.proj_weight ");
  EXPECT_TRUE(notes(r, "a tensor that the exporter had merged")) << r.report.notes.size();
  EXPECT_TRUE(notes(r, "2 parameters that were computed into another form"));

  // In EVAL mode, merged tensors are recognised, and what was computed from parameters is lost.
  TorchModel merged(false);
  merged.input("x", {int64_t(2), int64_t(4)}).weight("a.weight", {4}).weight("onnx::Add_3", {2, 4});
  merged.node("Identity", {"a.weight"}, {"b.weight"});
  merged.node("Mul", {"x", "a.weight"}, {"c"});
  merged.node("Mul", {"c", "b.weight"}, {"d"});
  merged.node("Add", {"d", "onnx::Add_3"}, {"y"}).set_name("/pos/Add");
  merged.output("y");
  EXPECT_NE(merged.run().diagnostics.find(
                "'onnx::Add_3' of Add '/pos/Add' was computed at export from parameters or buffers of module 'pos'"),
            std::string::npos)
      << merged.run().diagnostics;
  ImportOptions accept;
  accept.acceptExported = true;
  EXPECT_EQ(variables(merged.run(accept)), "a.weight onnx::Add_3 b.weight ");
  // The weight of nn.Linear comes as it is; one that the exporter made of it and a mask does not.
  for (int64_t transB : {1, 0}) {
    TorchModel masked(false);
    masked.input("x", {int64_t(2), int64_t(4)}).weight("onnx::Gemm_3", {4, 4}).weight("a.bias", {4});
    masked.node("Gemm", {"x", "onnx::Gemm_3", "a.bias"}, {"y"}, {{"transB", transB}}).set_name("/a/Gemm");
    masked.output("y");
    const std::string said = masked.run().diagnostics;
    EXPECT_EQ(said.find("'onnx::Gemm_3' of Gemm '/a/Gemm' was computed at export") != std::string::npos, transB == 1)
        << said;
  }

  TorchModel folded(false);
  folded.input("x", {int64_t(1), int64_t(2), int64_t(5)}).weight("onnx::Conv_3", {2, 2, 3}).weight("onnx::Conv_4", {2});
  folded.node("Conv", {"x", "onnx::Conv_3", "onnx::Conv_4"}, {"y"}, {{"kernel_shape", L{3}}});
  folded.output("y");
  EXPECT_NE(folded.run().diagnostics.find(
                "1 batch norm is folded into convolutions, the first into 'onnx::Conv_3'\nnote: hint: export it with "
                "tools/torch/export.py, or torch.onnx.export(model.train(), args, \"model.onnx\", dynamo=False, "
                "training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False)"),
            std::string::npos)
      << folded.run().diagnostics;
}

TEST(Torch, UntieGivesEachUseAParameter) {
  ModelBuilder m;
  m.input("x", {int64_t(2), int64_t(4)})
      .floats("one", {4}, {1, 1, 1, 1})
      .weight("w", {4, 4})
      .floats("mask", {4}, {0, 0, -1e5f, 0});
  m.floats("positions", {2, 4}, {0, 1, 0, 1, 0.84f, 0.54f, 0.01f, 0.99f});
  m.node("Mul", {"x", "one"}, {"a"});
  m.node("MatMul", {"a", "w"}, {"b"});
  m.node("Mul", {"b", "one"}, {"c"});
  m.node("Add", {"c", "mask"}, {"d"});
  m.node("Add", {"d", "positions"}, {"y"});
  m.output("y");
  Imported r = import(m);
  EXPECT_EQ(variables(r), "one w mask positions ");
  EXPECT_TRUE(notes(
      r, "this one has one value and several uses, which train as one (--untie=REGEX gives each its own): 'one'"));
  EXPECT_TRUE(notes(r, "its values are those of a mask (--freeze=REGEX keeps them): 'mask'"));
  EXPECT_TRUE(notes(r, "its values are those of a table of positions (--freeze=REGEX keeps them): 'positions'"));
  ImportOptions options;
  options.untie = "^(one|w)$";
  r = import(m, options);
  EXPECT_EQ(variables(r), "one w mask positions one@c ");
  EXPECT_FALSE(notes(r, "several uses"));
  options.untie = "^w$";
  EXPECT_NE(import(m, options).diagnostics.find("--untie: error: '^w$' matches no float initializer with several uses"),
            std::string::npos);
  options.untie = "(";
  EXPECT_NE(import(m, options).diagnostics.find("--untie: error: '(' is not a regular expression"), std::string::npos);
}

TEST(Torch, TensorsInUnusualPlacesAreNotLeftOutInSilence) {
  TorchModel m(false); // without metadata, so only names and positions are known
  m.input("x", {int64_t(2), int64_t(4)})
      .weight("token", {1, 4})
      .weight("v", {4, 4})
      .weight("onnx::Sub_3", {4})
      .ints("axes", {1});
  m.node("Exp", {"token"}, {"t"});
  m.node("ReduceL2", {"v", "axes"}, {"norm"});
  m.node("Div", {"v", "norm"}, {"direction"}); // this is part of a weight norm
  m.node("Sub", {"x", "onnx::Sub_3"}, {"a"});
  m.node("MatMul", {"a", "direction"}, {"b"});
  m.node("Add", {"b", "t"}, {"y"});
  m.output("y");
  Imported r = m.run();
  ASSERT_TRUE(r.ok()) << r.diagnostics;
  EXPECT_EQ(variables(r), "v ");
  EXPECT_TRUE(notes(r, "not trained, for parameters of torch modules rarely stand where these do")) << r.diagnostics;
  EXPECT_TRUE(notes(r, "'token'"));
  EXPECT_FALSE(notes(r, "onnx::Sub_3"));
  ImportOptions options;
  options.trainable = "+^token$";
  EXPECT_EQ(variables(m.run(options)), "token v ");
  options.trainable = "^token$";
  EXPECT_EQ(variables(m.run(options)), "token v(buffer) ");
}

TEST(Torch, AStatisticThatIsTrainedTooBecomesTwoTensors) {
  ModelBuilder m;
  m.input("x", {int64_t(2), int64_t(4), int64_t(3)})
      .floats("scale", {4}, {1, 1, 1, 1})
      .floats("zero", {4}, {0, 0, 0, 0});
  m.node("BatchNormalization", {"x", "scale", "zero", "zero", "scale"}, {"y"});
  m.output("y");
  Imported r = import(m);
  ASSERT_TRUE(r.ok()) << r.diagnostics;
  EXPECT_EQ(variables(r), "scale zero scale@y(buffer) zero@y(buffer) ");
  EXPECT_TRUE(notes(r, "2 running statistics that were merged with other tensors have their own again"));
}

TEST(Torch, AModuleThatIsCalledTwiceHasOneSetOfStatistics) {
  TorchModel m;
  m.module("p_s", "PARAMETER", "bn.weight")
      .module("p_b", "PARAMETER", "bn.bias")
      .module("b_m", "BUFFER", "bn.running_mean")
      .module("b_v", "BUFFER", "bn.running_var");
  m.weight("bn.weight", {4})
      .weight("bn.bias", {4})
      .floats("bn.running_mean", {4}, {0, 0, 0, 0})
      .floats("bn.running_var", {4}, {1, 1, 1, 1});
  m.node("BatchNormalization", {"x", "bn.weight", "bn.bias", "bn.running_mean", "bn.running_var"}, {"a"});
  m.node("BatchNormalization", {"a", "bn.weight", "bn.bias", "bn.running_mean", "bn.running_var"}, {"y"});
  m.output("y");
  Imported r = m.run();
  ASSERT_TRUE(r.ok()) << r.diagnostics;
  EXPECT_EQ(variables(r), "bn.weight bn.bias bn.running_mean(buffer) bn.running_var(buffer) ");
  EXPECT_EQ(count(r.ir, "train.assign @bn.running_mean"), 1u) << r.ir;
  EXPECT_EQ(count(r.ir, "train.read @bn.running_mean"), 1u);
}
