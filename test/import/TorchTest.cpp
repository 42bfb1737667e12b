//===- TorchTest.cpp - what torch's exporter changes, and what comes back -----------------------===//
//
// The models are those of torch 2.15, node by node, with the metadata that it writes; test/torch exports real ones.
//
//===----------------------------------------------------------------------===//
#include "ModelBuilder.h"
#include <gtest/gtest.h>

using namespace mpc;
using namespace mpc::test;
using L = std::vector<int64_t>;

namespace {
/// A model of torch's exporter.
class TorchModel : public ModelBuilder {
public:
  explicit TorchModel(bool dynamo = true) : ModelBuilder(20) {
    model.set_producer_name("pytorch");
    if (!dynamo)
      return;
    input("x", {int64_t(2), int64_t(4)});
  }
  /// A parameter or buffer of the module. It need not be in the file.
  TorchModel &module(const std::string &placeholder, const std::string &kind, const std::string &target) {
    signature += placeholder + ": " + kind + " target='" + target + "'\n";
    return *this;
  }
  /// A node and the call that it comes from.
  onnx::NodeProto &call(const std::string &op, const std::vector<std::string> &inputs, const std::string &output, const std::string &target,
                        const std::string &args, const std::vector<std::pair<std::string, Attribute>> &attributes = {}) {
    onnx::NodeProto &made = node(op, inputs, {output}, attributes);
    entry(made, 9, "pkg.torch.onnx.fx_node",
          "%" + output + " : [num_users=1] = call_function[target=torch.ops.aten." + target + ".default](args = (" + args + "), kwargs = {})");
    return made;
  }
  TorchModel &folded(const std::string &value, const std::string &from) {
    info(value, "pkg.onnxscript.optimizer.folded_from", from);
    return *this;
  }
  void info(const std::string &value, const std::string &key, const std::string &text) {
    auto *described = model.mutable_graph()->add_value_info();
    described->set_name(value);
    entry(*described, 4, key, text);
  }
  Imported run(const ImportOptions &options = {}) {
    TorchModel whole = *this;
    if (!signature.empty())
      entry(*whole.model.mutable_graph(), 16, "pkg.torch.export.ExportedProgram.graph_signature",
            "\n# inputs\n" + signature + "x: USER_INPUT\n\n# outputs\ny: USER_OUTPUT\n");
    return import(whole, options);
  }

private:
  std::string signature;
  template <typename Message>
  static void entry(Message &message, int number, const std::string &key, const std::string &value) {
    onnx::StringStringEntryProto made;
    made.set_key(key);
    made.set_value(value);
    message.mutable_unknown_fields()->AddLengthDelimited(number, made.SerializeAsString());
  }
};

/// "name role" of each tensor that is no constant and no data, in the order of the file.
std::string variables(const Imported &r) {
  std::string text;
  for (const TensorVerdict &v : r.report.tensors)
    if (v.role == "parameter" || v.role == "buffer")
      text += v.name + (v.role == "buffer" ? "(buffer) " : " ");
  return text;
}
bool notes(const Imported &r, const std::string &text) {
  return llvm::any_of(r.report.notes, [&](const std::string &note) { return note.find(text) != note.npos; });
}
} // namespace

/// Two norms whose tensors are equal, a Linear whose bias is zero.
static TorchModel merged() {
  TorchModel m;
  for (const char *name : {"ln1", "ln2"})
    for (const char *part : {"weight", "bias"})
      m.module(std::string("p_") + name + "_" + part, "PARAMETER", std::string(name) + "." + part);
  m.module("p_fc_weight", "PARAMETER", "fc.weight").module("p_fc_bias", "PARAMETER", "fc.bias");
  m.floats("ln1.weight", {4}, {1, 1, 1, 1}).floats("ln1.bias", {4}, {0, 0, 0, 0}).weight("fc.weight", {3, 4});
  m.call("LayerNormalization", {"x", "ln1.weight", "ln1.bias"}, "layer_norm", "layer_norm", "%x, [4], %p_ln1_weight, %p_ln1_bias, 1e-05, False");
  m.call("LayerNormalization", {"layer_norm", "ln1.weight", "ln1.bias"}, "layer_norm_1", "layer_norm",
         "%layer_norm, [4], %p_ln2_weight, %p_ln2_bias, 1e-05, False");
  m.call("Gemm", {"layer_norm_1", "fc.weight"}, "y", "linear", "%layer_norm_1, %p_fc_weight, %p_fc_bias", {{"transB", int64_t(1)}});
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

TEST(Torch, RunsAsItIsForInference) {
  ImportOptions options;
  options.forwardOnly = true;
  EXPECT_EQ(variables(merged().run(options)), "ln1.weight ln1.bias fc.weight ");
}

TEST(Torch, TransposedWeightsComeBackWithTheirTies) {
  TorchModel m;
  m.module("p_fc_weight", "PARAMETER", "fc.weight").module("p_fc_bias", "PARAMETER", "fc.bias").module("p_head_weight", "PARAMETER", "head.weight");
  m.weight("val_2", {4, 3}).weight("fc.bias", {3}).weight("head.weight", {3, 3}).floats("val_5", {3, 3}, {1, 4, 7, 2, 5, 8, 3, 6, 9});
  m.folded("val_2", "['fc.weight']").folded("val_5", "['head.weight']");
  m.call("MatMul", {"x", "val_2"}, "val_3", "linear", "%x, %p_fc_weight, %p_fc_bias");
  m.call("Add", {"val_3", "fc.bias"}, "linear", "linear", "%x, %p_fc_weight, %p_fc_bias");
  m.call("MatMul", {"linear", "val_5"}, "linear_1", "linear", "%linear, %p_head_weight");
  m.call("MatMul", {"linear_1", "head.weight"}, "y", "matmul", "%linear_1, %p_head_weight");
  m.output("y");
  Imported r = m.run();
  ASSERT_TRUE(r.ok()) << r.diagnostics;
  EXPECT_EQ(variables(r), "fc.bias head.weight fc.weight ");
  // 0.01 to 0.12 by rows of four: the transpose of what val_2 holds.
  EXPECT_NE(r.ir.find("@fc.weight parameter : tensor<3x4xf32> = dense<[[0.00999999977, 4.000000e-02, 7.000000e-02, 0.09"), std::string::npos) << r.ir;
  EXPECT_TRUE(notes(r, "2 parameters that were computed into another form"));
}

TEST(Torch, ScalesOfGroupNormsComeBackInTheirShape) {
  TorchModel m;
  m.module("p_gn_weight", "PARAMETER", "gn.weight").module("p_gn_bias", "PARAMETER", "gn.bias").module("p_gn2_weight", "PARAMETER", "gn2.weight");
  m.weight("val_21", {4, 1});
  m.folded("val_21", "['gn.weight', 'val_15']");
  m.node("Unsqueeze", {"x", "axes"}, {"x3"});
  m.ints("axes", {2});
  m.call("Mul", {"x3", "val_21"}, "val_30", "group_norm", "%x3, 2, %p_gn_weight, %p_gn_bias, 1e-05, False");
  m.call("Mul", {"val_30", "val_21"}, "y", "group_norm", "%val_30, 2, %p_gn2_weight, None, 1e-05, False");
  m.output("y");
  Imported r = m.run();
  ASSERT_TRUE(r.ok()) << r.diagnostics;
  EXPECT_EQ(variables(r), "gn.weight gn2.weight ");
  EXPECT_NE(r.ir.find("@gn2.weight parameter : tensor<4xf32>"), std::string::npos) << r.ir;
}

TEST(Torch, WhatIsLostIsAnError) {
  TorchModel m;
  m.module("p_c_weight", "PARAMETER", "c.weight").module("p_bn_weight", "PARAMETER", "bn.weight").module("p_bn_bias", "PARAMETER", "bn.bias");
  m.module("b_bn_running_mean", "BUFFER", "bn.running_mean").module("p_pos_weight", "PARAMETER", "pos.weight");
  m.weight("c.weight", {4, 4}).weight("embedding", {2, 4});
  m.folded("embedding", "['arange', 'pos.weight']");
  m.call("Gemm", {"x", "c.weight"}, "getitem", "_native_batch_norm_legit_functional", "%linear, %p_bn_weight, %p_bn_bias, %b_bn_running_mean, %b, True, 0.1, 1e-05");
  m.call("Add", {"getitem", "embedding"}, "y", "add", "%getitem, %embedding");
  m.output("y");
  Imported r = m.run();
  EXPECT_FALSE(r.ok());
  EXPECT_NE(r.diagnostics.find("model.onnx: error: torch's exporter rewrote what would be trained: batch norm 'bn' is folded into Gemm 'c.weight'; "
                               "'pos.weight' was computed into 'embedding'\nnote: hint: export it with torch.onnx.export(model, args, \"model.onnx\", dynamo=True, optimize=False), "
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
    m.module("p_a_weight", "PARAMETER", "a.weight").module("p_b_weight", "PARAMETER", "b.weight").floats("a.weight", {4}, {1, 1, 1, 1}).floats("zero", {4}, {0, 0, 0, 0});
    m.call("LayerNormalization", {"x", "a.weight", "zero"}, "layer_norm", "layer_norm", "%x, [4], %p_a_weight, None, 1e-05, False");
    m.call("Add", {"layer_norm", "layer_norm"}, "y", "add", "%layer_norm, " + second);
    m.output("y");
    return m.run();
  };
  Imported r = parallel("%layer_norm_1");
  EXPECT_NE(r.diagnostics.find("'b.weight' is gone with 'layer_norm_1', which was equal to another node, or did nothing"), std::string::npos) << r.diagnostics;
  // A module may have parameters that it does not use, and tied ones two names.
  EXPECT_TRUE(parallel("%layer_norm").ok());
  EXPECT_TRUE(parallel("%view_3").ok());
}

TEST(Torch, SaysWhatIsTrained) {
  TorchModel m;
  m.module("p_w", "PARAMETER", "w").module("p_scale", "PARAMETER", "scale").module("p_off", "PARAMETER", "off").module("p_old", "PARAMETER", "old");
  m.module("b_mask", "BUFFER", "mask").module("c_table", "CONSTANT_TENSOR", "table");
  m.weight("w", {4}).scalar("scale", 2).weight("off", {4}).weight("old", {4}).floats("mask", {4}, {0, -1e9, 0, 0}).weight("table", {4}).weight("val_1", {4});
  m.folded("val_1", "['mask', 'table']").info("old", "mpc.requires_grad", "False");
  std::string value = "x";
  for (auto [op, name] : {std::pair("Mul", "w"), {"Mul", "scale"}, {"Sub", "off"}, {"Mul", "old"}, {"Add", "mask"}, {"Add", "table"}, {"Add", "val_1"}}) {
    m.node(op, {value, name}, {std::string(name) + ".y"});
    value = std::string(name) + ".y";
  }
  m.output(value);
  Imported r = m.run();
  ASSERT_TRUE(r.ok()) << r.diagnostics;
  EXPECT_EQ(variables(r), "w scale off "); // a scalar and a subtrahend too, which positions alone would not say
  ImportOptions options;
  options.trainable = "^mask$";
  EXPECT_NE(variables(m.run(options)).find("mask "), std::string::npos);
}

/// The exporter before writes no metadata: names and values are all there is.
TEST(Torch, LegacyFilesAreReadByTheirNames) {
  TorchModel m(false);
  m.input("x", {int64_t(2), int64_t(4)});
  m.floats("ln1.weight", {4}, {1, 1, 1, 1}).floats("ln1.bias", {4}, {0, 0, 0, 0}).weight("onnx::MatMul_7", {4, 4}).weight("table.weight", {4, 4});
  auto named = [&](onnx::NodeProto &node, const char *name) { node.set_name(name); };
  named(m.node("LayerNormalization", {"x", "ln1.weight", "ln1.bias"}, {"a"}), "/ln1/LayerNormalization");
  named(m.node("LayerNormalization", {"a", "ln1.weight", "ln1.bias"}, {"b"}), "/blocks/blocks.0/ln2/LayerNormalization");
  named(m.node("LayerNormalization", {"b", "ln1.weight", "ln1.bias"}, {"b2"}), "/ln1/LayerNormalization_1"); // the module itself is used twice
  named(m.node("MatMul", {"b2", "onnx::MatMul_7"}, {"c"}), "/fc/MatMul");
  named(m.node("Add", {"ln1.bias", "c"}, {"d"}), "/fc/Add");
  named(m.node("MatMul", {"d", "table.weight"}, {"e"}), "/enc/MatMul"); // tied, and not of one value
  named(m.node("MatMul", {"e", "table.weight"}, {"y"}), "/dec/MatMul");
  m.output("y");
  Imported r = m.run();
  ASSERT_TRUE(r.ok()) << r.diagnostics;
  EXPECT_EQ(variables(r), "ln1.weight ln1.bias table.weight blocks.0.ln2.weight blocks.0.ln2.bias fc.bias fc.weight ");
  EXPECT_TRUE(notes(r, "3 tensors that the exporter had merged")) << r.report.notes.size();

  // Merged tensors in EVAL mode, and one that is shared under a name of the exporter's own.
  TorchModel merged(false);
  merged.input("x", {int64_t(2), int64_t(4)}).weight("a.weight", {4}).weight("onnx::Mul_3", {4});
  merged.node("Identity", {"a.weight"}, {"b.weight"});
  merged.node("Identity", {"onnx::Mul_3"}, {"onnx::Mul_4"});
  std::string value = "x";
  for (const char *name : {"a.weight", "b.weight", "onnx::Mul_3", "onnx::Mul_4"}) {
    merged.node("Mul", {value, name}, {std::string(name) + "/y"});
    value = std::string(name) + "/y";
  }
  merged.output(value);
  EXPECT_EQ(variables(merged.run()), "a.weight onnx::Mul_3 b.weight ");

  TorchModel folded(false);
  folded.input("x", {int64_t(1), int64_t(2), int64_t(5)}).weight("onnx::Conv_3", {2, 2, 3}).weight("onnx::Conv_4", {2});
  folded.node("Conv", {"x", "onnx::Conv_3", "onnx::Conv_4"}, {"y"}, {{"kernel_shape", L{3}}});
  folded.output("y");
  EXPECT_NE(folded.run().diagnostics.find("1 batch norm is folded into convolutions, the first into 'onnx::Conv_3'\nnote: hint: export it with "
                                          "torch.onnx.export(model, args, \"model.onnx\", dynamo=False, training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False)"),
            std::string::npos)
      << folded.run().diagnostics;
}

TEST(Torch, UntieGivesEachUseAParameter) {
  ModelBuilder m;
  m.input("x", {int64_t(2), int64_t(4)}).floats("one", {4}, {1, 1, 1, 1}).weight("w", {4, 4}).floats("mask", {4}, {0, 0, -1e5f, 0});
  m.floats("positions", {2, 4}, {0, 1, 0, 1, 0.84f, 0.54f, 0.01f, 0.99f});
  m.node("Mul", {"x", "one"}, {"a"});
  m.node("MatMul", {"a", "w"}, {"b"});
  m.node("Mul", {"b", "one"}, {"c"});
  m.node("Add", {"c", "mask"}, {"d"});
  m.node("Add", {"d", "positions"}, {"y"});
  m.output("y");
  Imported r = import(m);
  EXPECT_EQ(variables(r), "one w mask positions ");
  EXPECT_TRUE(notes(r, "this one has one value and several uses, which train as one (--untie=REGEX gives each its own): 'one'"));
  EXPECT_TRUE(notes(r, "its values are those of a mask (--freeze=REGEX keeps them): 'mask'"));
  EXPECT_TRUE(notes(r, "its values are those of a table of positions (--freeze=REGEX keeps them): 'positions'"));
  ImportOptions options;
  options.untie = "^(one|w)$";
  r = import(m, options);
  EXPECT_EQ(variables(r), "one w mask positions one@c ");
  EXPECT_FALSE(notes(r, "several uses"));
  options.untie = "(";
  EXPECT_NE(import(m, options).diagnostics.find("--untie: error: '(' is not a regular expression"), std::string::npos);
}
