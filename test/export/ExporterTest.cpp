// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where trained values go in an ONNX model, and which ones have no place there.
#include "compiler/Export/Onnx/Exporter.h"
#include "test/import/ModelBuilder.h"
#include "llvm/ADT/STLExtras.h"
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace mpc;
using namespace mpc::test;

namespace {
using Values = std::vector<double>;

TrainedTensor byName(const std::string &name, std::vector<int64_t> shape, Values values, bool required = true) {
  return {name, "", -1, required, name, MPC_F32, std::move(shape), [values] { return values; }};
}
TrainedTensor atNode(const std::string &variable, const std::string &node, int64_t input, Values values,
                     mpc_dtype type = MPC_F32) {
  return {"", node, input, true, variable, type, {int64_t(values.size())}, [values] { return values; }};
}

void write(const std::filesystem::path &path, const std::string &bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

class Exporter : public testing::Test {
protected:
  Exporter() : folder(std::filesystem::temp_directory_path() / ("mpc-export-" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder / "other");
  }
  ~Exporter() override { std::filesystem::remove_all(folder); }

  std::string path(const std::string &name = "model.onnx") const { return (folder / name).string(); }

  /// Exports to `output` and returns the exported model.
  onnx::ModelProto exported(const ModelBuilder &model, const std::vector<TrainedTensor> &tensors,
                            const std::string &output = "out.onnx", int64_t maxBytes = INT_MAX,
                            Inference form = Inference::Set, const TrainedInputs &inputs = {}) {
    write(path(), model.bytes());
    ExportError error;
    result = {};
    EXPECT_TRUE(exportOnnx(context, path(), path(output), tensors, form, result, error, maxBytes, inputs))
        << error.what;
    onnx::ModelProto proto;
    EXPECT_TRUE(proto.ParseFromString(result.bytes));
    return proto;
  }
  /// Returns "WHERE: what" of an export that fails, without the folder's name. Every error must have a hint.
  std::string refusal(const ModelBuilder &model, const std::vector<TrainedTensor> &tensors,
                      const std::string &output = "out.onnx", int64_t maxBytes = INT_MAX,
                      const TrainedInputs &inputs = {}) {
    write(path(), model.bytes());
    ExportError error;
    EXPECT_FALSE(exportOnnx(context, path(), path(output), tensors, Inference::Set, result, error, maxBytes, inputs));
    EXPECT_NE(error.hint, "");
    std::string text = error.where + ": " + error.what, prefix = folder.string() + "/";
    if (size_t at = text.find(prefix); at != std::string::npos)
      text.erase(at, prefix.size());
    return text;
  }

  std::filesystem::path folder;
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  ExportedModel result;
};

const onnx::TensorProto *initializer(const onnx::ModelProto &model, const std::string &name) {
  for (const auto &tensor : model.graph().initializer())
    if (tensor.name() == name)
      return &tensor;
  return nullptr;
}
template <typename T = float>
std::vector<T> values(const onnx::TensorProto *tensor) {
  std::vector<T> result(tensor ? tensor->raw_data().size() / sizeof(T) : 0);
  if (tensor)
    std::memcpy(result.data(), tensor->raw_data().data(), result.size() * sizeof(T));
  return result;
}
const onnx::NodeProto &node(const onnx::ModelProto &model, const std::string &output) {
  return *llvm::find_if(model.graph().node(), [&](const auto &node) { return node.output(0) == output; });
}

/// A model of two normalisations with one mean, the second of which has no name.
ModelBuilder sharedMean() {
  ModelBuilder m;
  m.input("x", {int64_t(4), int64_t(2)}).output("y2");
  m.floats("s", {2}, {1, 1}).floats("b", {2}, {0, 0}).floats("mean", {2}, {0, 0}).floats("var", {2}, {1, 1});
  m.node("BatchNormalization", {"x", "s", "b", "mean", "var"}, {"y1"});
  m.node("BatchNormalization", {"y1", "s", "b", "mean", "var"}, {"y2"}).clear_name();
  return m;
}
} // namespace

TEST_F(Exporter, RoundsToTheTypeOfEachInitializer) {
  ModelBuilder m;
  m.tensor("half", {2}, onnx::TensorProto::FLOAT16)->set_raw_data(std::string(4, '\0'));
  m.tensor("bfloat", {2}, onnx::TensorProto::BFLOAT16)->set_raw_data(std::string(4, '\0'));
  m.tensor("wide", {2}, onnx::TensorProto::DOUBLE)->add_double_data(0);
  // 1 + 2^-11 and 1 + 1.5 * 2^-10 are halfway between f16 numbers, and 1 + 2^-8 between bf16 numbers.
  // Each rounds to even.
  onnx::ModelProto out =
      exported(m, {byName("half", {2}, {1 + 0x1p-11, 1 + 0x1.8p-10}), byName("bfloat", {2}, {1 + 0x1p-8, -2}),
                   byName("wide", {2}, {0.1, 1 + 0x1p-50})});
  EXPECT_EQ(result.replaced, 3);
  EXPECT_EQ(values<uint16_t>(initializer(out, "half")), (std::vector<uint16_t>{0x3c00, 0x3c02}));
  EXPECT_EQ(values<uint16_t>(initializer(out, "bfloat")), (std::vector<uint16_t>{0x3f80, 0xc000}));
  EXPECT_EQ(values<double>(initializer(out, "wide")), (std::vector<double>{0.1, 1 + 0x1p-50}));
  EXPECT_EQ(initializer(out, "wide")->double_data_size(), 0);
}

TEST_F(Exporter, ParametersThatAreInputsBecomeInitializers) {
  ModelBuilder m;
  m.input("w", {int64_t(2)});
  onnx::ModelProto out = exported(m, {byName("w", {2}, {3, 4})});
  EXPECT_EQ(values(initializer(out, "w")), (std::vector<float>{3, 4}));
}

TEST_F(Exporter, SharedStatisticsPart) {
  onnx::ModelProto out = exported(sharedMean(), {byName("mean", {2}, {1, 2}), atNode("mean@y2", "y2", 3, {3, 4})});
  EXPECT_EQ(values(initializer(out, "mean")), (std::vector<float>{1, 2}));
  EXPECT_EQ(node(out, "y1").input(3), "mean");
  EXPECT_EQ(node(out, "y2").input(3), "mean@y2");
  EXPECT_EQ(values(initializer(out, "mean@y2")), (std::vector<float>{3, 4}));
  EXPECT_EQ(node(out, "y2").input(4), "var");
}

TEST_F(Exporter, NewInitializersHaveNamesOfTheirOwn) {
  ModelBuilder m = sharedMean();
  m.floats("mean@y2", {1}, {7});
  m.model.set_ir_version(3); // in IR version 3, initializers are inputs too
  onnx::ModelProto out = exported(m, {atNode("mean@y2", "y2", 3, {3, 4})});
  EXPECT_EQ(node(out, "y2").input(3), "mean@y2_0");
  EXPECT_EQ(values(initializer(out, "mean@y2")), (std::vector<float>{7}));
  EXPECT_EQ(out.graph().input(1).name(), "mean@y2_0");
  EXPECT_EQ(out.graph().input(1).type().tensor_type().shape().dim(0).dim_value(), 2);
}

TEST_F(Exporter, ConstantsBecomeInitializers) {
  ModelBuilder m = sharedMean();
  for (const char *name : {"zero", "kept"}) {
    onnx::TensorProto &value = *m.node("Constant", {}, {name}).add_attribute()->mutable_t();
    m.model.mutable_graph()->mutable_node()->rbegin()->mutable_attribute(0)->set_name("value");
    value.set_data_type(onnx::TensorProto::DOUBLE);
    value.add_dims(2);
    value.set_raw_data(std::string(16, '\0'));
  }
  m.output("kept");
  m.model.mutable_graph()->mutable_node(0)->set_input(3, "zero");
  m.model.mutable_graph()->mutable_node(1)->set_input(3, "kept");
  onnx::ModelProto out =
      exported(m, {atNode("running/y1", "y1", 3, {3, 4}, MPC_F64), atNode("running/y2", "y2", 3, {5, 6})});
  EXPECT_EQ(values<double>(initializer(out, "running/y1")), (std::vector<double>{3, 4}));
  EXPECT_EQ(node(out, "y1").input(3), "running/y1");
  EXPECT_EQ(node(out, "y2").input(3), "running/y2");
  // A Constant that is an output stays, and one that nothing reads is removed.
  EXPECT_EQ(out.graph().node_size(), 3);
  EXPECT_EQ(out.graph().node(2).output(0), "kept");
}

TEST_F(Exporter, WhatHasNoPlaceIsRefused) {
  ModelBuilder m = sharedMean();
  m.ints("axes", {1, 2});
  TrainedTensor mean = byName("mean", {2}, {1, 2});
  EXPECT_EQ(refusal(m, {mean, byName("missing", {2}, {1, 2})}),
            "model.onnx: has no initializer or input 'missing', which the program trained");
  EXPECT_EQ(refusal(m, {byName("mean", {1}, {1})}),
            "model.onnx: initializer 'mean' has another shape in the checkpoint");
  EXPECT_EQ(refusal(m, {byName("axes", {2}, {1, 2})}), "model.onnx: initializer 'axes' is not of a float type");
  EXPECT_EQ(refusal(m, {byName("other", {2}, {1, 2}, /*required=*/false)}),
            "model.onnx: has no initializer that the checkpoint names");
  EXPECT_EQ(refusal(m, {mean, atNode("mean@f", "", 3, {1, 2})}),
            "model.onnx: has no place for 'mean@f': its node is in a function, whose body serves all calls");
  EXPECT_EQ(refusal(m, {mean, atNode("mean@z", "z", 3, {1, 2})}),
            "model.onnx: has no node that makes 'z', to which 'mean@z' belongs");
  EXPECT_EQ(refusal(m, {mean, atNode("mean@y2", "y2", 5, {1, 2})}),
            "model.onnx: the node that makes 'y2' has no input 5, where 'mean@y2' belongs");
  EXPECT_EQ(refusal(m, {mean, atNode("mean@y2", "y2", 3, {1, 2, 3})}),
            "model.onnx: 'mean', which the node that makes 'y2' reads, has another shape in the checkpoint");
  // Plain weights may have tensors that the model does not have.
  exported(m, {mean, byName("other", {2}, {1, 2}, /*required=*/false)});
  EXPECT_EQ(result.replaced, 1);
}

TEST_F(Exporter, NamesThatLookAlikeAreToldApart) {
  ModelBuilder m = sharedMean();
  m.floats("a\n", {1}, {0}).floats("a\\x0A", {1}, {0});
  onnx::ModelProto out = exported(m, {byName("a\\x0A", {1}, {1}), byName("a\\x5Cx0A", {1}, {2})});
  EXPECT_EQ(values(initializer(out, "a\n")), (std::vector<float>{1}));
  EXPECT_EQ(values(initializer(out, "a\\x0A")), (std::vector<float>{2}));
}

TEST_F(Exporter, NamesThatCannotBeToldApartAreRefused) {
  ModelBuilder m = sharedMean();
  m.floats("a\n", {1}, {0}).floats("a\n", {1}, {0});
  EXPECT_EQ(refusal(m, {byName("a\\x0A", {1}, {1})}), "model.onnx: has several initializers called 'a\\x0A'");
  m = sharedMean();
  // Two branches may make values of the same name.
  onnx::NodeProto &choice = m.node("If", {"x"}, {"chosen"});
  for (const char *branch : {"then_branch", "else_branch"}) {
    onnx::AttributeProto &attribute = *choice.add_attribute();
    attribute.set_name(branch);
    *attribute.mutable_g()->add_node() = m.model.graph().node(1);
    attribute.mutable_g()->mutable_node(0)->set_output(0, "inner");
  }
  EXPECT_EQ(refusal(m, {atNode("mean@inner", "inner", 3, {1, 2})}),
            "model.onnx: has several nodes that make 'inner', to one of which 'mean@inner' belongs");
  choice.mutable_attribute(1)->mutable_g()->mutable_node(0)->set_output(0, "outer");
  onnx::ModelProto out = exported(m, {atNode("mean@inner", "inner", 3, {1, 2})});
  EXPECT_EQ(node(out, "chosen").attribute(0).g().node(0).input(3), "mean@inner");
  EXPECT_EQ(node(out, "chosen").attribute(1).g().node(0).input(3), "mean");
  EXPECT_EQ(values(initializer(out, "mean@inner")), (std::vector<float>{1, 2}));
}

TEST_F(Exporter, WhatIsNoModelIsRefused) {
  ExportError error;
  EXPECT_FALSE(
      exportOnnx(context, path("nowhere.onnx"), path("out.onnx"), std::nullopt, Inference::Set, result, error));
  EXPECT_EQ(error.where, path("nowhere.onnx"));
  write(path("text.onnx"), "no model");
  EXPECT_FALSE(exportOnnx(context, path("text.onnx"), path("out.onnx"), std::nullopt, Inference::Set, result, error));
  EXPECT_NE(error.what.find("not an ONNX model"), std::string::npos) << error.what;
}

TEST_F(Exporter, DataFilesGoWithTheModel) {
  ModelBuilder m = sharedMean();
  auto external = [](onnx::TensorProto &tensor, const char *offset) {
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
    for (auto [key, value] :
         {std::pair("location", "weights.bin"), std::pair("offset", offset), std::pair("length", "8")}) {
      auto *entry = tensor.add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    }
  };
  external(*m.tensor("frozen", {2}, onnx::TensorProto::FLOAT), "8");
  onnx::TensorProto &constant = *m.node("Constant", {}, {"c"}).add_attribute()->mutable_t();
  constant.set_data_type(onnx::TensorProto::INT64);
  external(constant, "0");
  std::vector<TrainedTensor> mean = {byName("mean", {2}, {1, 2})};
  EXPECT_EQ(refusal(m, mean, "other/out.onnx").find("frozen: external data file 'weights.bin'"), 0u);

  float elements[4] = {0, 0, 5, 6};
  write(path("weights.bin"), std::string(reinterpret_cast<char *>(elements), sizeof elements));
  onnx::ModelProto out = exported(m, mean, "other/out.onnx");
  EXPECT_EQ(result.dataFile, "");
  EXPECT_FALSE(initializer(out, "frozen")->data_location() == onnx::TensorProto::EXTERNAL);
  EXPECT_EQ(values(initializer(out, "frozen")), (std::vector<float>{5, 6}));
  EXPECT_EQ(node(out, "c").attribute(0).t().raw_data(), std::string(8, '\0'));
  EXPECT_EQ(node(out, "c").attribute(0).t().external_data_size(), 0);

  // If the exported model is beside the original, the data stay where they are.
  out = exported(m, mean);
  EXPECT_EQ(initializer(out, "frozen")->external_data(0).value(), "weights.bin");
  EXPECT_EQ(values(initializer(out, "mean")), (std::vector<float>{1, 2}));
}

TEST_F(Exporter, LargeModelsGetADataFile) {
  ModelBuilder m = sharedMean();
  m.weight("small", {300}).weight("large", {1000});
  Values trained(1000, 0.5);
  onnx::ModelProto out = exported(m, {byName("large", {1000}, trained)}, "other/out.onnx", /*maxBytes=*/2000);
  EXPECT_EQ(result.dataFile, "out.onnx.data");
  EXPECT_EQ(result.data.size(), 4096u + 4000u);
  EXPECT_LE(result.bytes.size(), 2000u);
  // The importer reads back what was exported.
  write(path("other/out.onnx"), result.bytes);
  write(path("other/" + result.dataFile), result.data);
  ExportedModel again;
  ExportError error;
  const std::vector<TrainedTensor> mean = {byName("mean", {2}, {1, 2})}, large = {byName("large", {1000}, trained)};
  ASSERT_TRUE(exportOnnx(context, path("other/out.onnx"), path("again.onnx"), mean, Inference::Set, again, error))
      << error.what;
  ASSERT_TRUE(out.ParseFromString(again.bytes));
  EXPECT_EQ(values(initializer(out, "large")), std::vector<float>(1000, 0.5f));
  EXPECT_EQ(initializer(out, "small")->raw_data(), initializer(m.model, "small")->raw_data());

  // A data file that the model needs is not overwritten.
  ExportedModel beside;
  ASSERT_TRUE(exportOnnx(context, path("other/out.onnx"), path("other/out.onnx"), large, Inference::Set, beside, error,
                         /*maxBytes=*/3000))
      << error.what;
  EXPECT_EQ(beside.dataFile, "out.onnx.data_0");
  ASSERT_TRUE(out.ParseFromString(beside.bytes));
  EXPECT_EQ(initializer(out, "small")->external_data(0).value(), "out.onnx.data");
  EXPECT_EQ(initializer(out, "large")->external_data(0).value(), "out.onnx.data_0");

  EXPECT_EQ(refusal(m, {byName("large", {1000}, trained)}, "out.onnx", /*maxBytes=*/100),
            "model.onnx: is too large for an ONNX file, without its initializers");
}

/// Before IR version 4 every initializer is an input too: both are removed when nothing reads them. So are the declared
/// types of removed values; others stay.
TEST_F(Exporter, InferenceFormTakesAwayWhatNobodyReads) {
  ModelBuilder m(13);
  m.model.set_ir_version(3);
  m.input("x", {int64_t(4), int64_t(2)})
      .input("ratio", {})
      .input("mode", {}, onnx::TensorProto::BOOL)
      .input("w", {int64_t(2), int64_t(2)})
      .output("y");
  m.scalar("ratio", 0.5).weight("w", {2, 2});
  m.tensor("mode", {}, onnx::TensorProto::BOOL)->set_raw_data(std::string(1, 1));
  m.node("Dropout", {"x", "ratio", "mode"}, {"d"});
  m.node("MatMul", {"d", "w"}, {"h"});
  m.node("Dropout", {"h", "ratio", "mode"}, {"y"}); // y is an output of the graph
  for (const char *name : {"d", "h", "w"})
    m.model.mutable_graph()->add_value_info()->set_name(name);
  auto names = [](const auto &list) {
    std::string text;
    for (const auto &each : list)
      text += each.name() + " ";
    return text;
  };
  onnx::ModelProto out = exported(m, {byName("w", {2, 2}, {1, 2, 3, 4})}, "out.onnx", INT_MAX, Inference::Remove);
  EXPECT_EQ(names(out.graph().initializer()), "w ");
  EXPECT_EQ(names(out.graph().input()), "x w ");
  EXPECT_EQ(names(out.graph().value_info()), "h w ");
  EXPECT_EQ(out.graph().node_size(), 2);
  EXPECT_EQ(node(out, "h").input(0), "x");
  EXPECT_EQ(node(out, "y").op_type(), "Identity");
  EXPECT_EQ(result.inference.dropouts, 2);

  out = exported(m, {byName("w", {2, 2}, {1, 2, 3, 4})});
  EXPECT_EQ(names(out.graph().initializer()), "ratio w ");
  EXPECT_EQ(names(out.graph().value_info()), "d h w ");
  EXPECT_EQ(node(out, "y").op_type(), "Dropout");
  EXPECT_EQ(node(out, "y").input_size(), 2);
}

/// torch's dynamo exporter gives a convolution without a bias a computed one, which is zero, expanded to the channels.
TEST_F(Exporter, NormsAreFoldedBehindAnExpandedBias) {
  ModelBuilder m(15);
  m.input("x", {int64_t(1), int64_t(1), int64_t(2), int64_t(2)}).output("y");
  m.weight("w", {2, 1, 1, 1})
      .floats("s", {2}, {1, 2})
      .floats("b", {2}, {5, 6})
      .floats("mean", {2}, {1, 2})
      .floats("var", {2}, {1, 1});
  m.floats("zero", {}, {0}).ints("channels", {2});
  m.node("CastLike", {"zero", "w"}, {"like"});
  m.node("Expand", {"like", "channels"}, {"bias"});
  m.node("Conv", {"x", "w", "bias"}, {"h"});
  m.node("BatchNormalization", {"h", "s", "b", "mean", "var"}, {"y"}, {{"epsilon", 3.0}});
  onnx::ModelProto out = exported(m, {byName("w", {2, 1, 1, 1}, {4, 8})}, "out.onnx", INT_MAX, Inference::Fold);
  EXPECT_EQ(result.inference.folded, 1);
  ASSERT_EQ(out.graph().node_size(), 1);
  EXPECT_EQ(values(initializer(out, out.graph().node(0).input(1))), (std::vector<float>{2, 8}));
  EXPECT_EQ(values(initializer(out, out.graph().node(0).input(2))), (std::vector<float>{4.5, 4}));
}

/// A norm is kept where its input is read elsewhere, where its statistics are not known, and in a branch.
TEST_F(Exporter, NormsThatCannotBeFolded) {
  ModelBuilder m(15);
  m.input("x", {int64_t(4), int64_t(2)}).input("given", {int64_t(2)}).output("y").output("h").output("z");
  m.weight("w", {2, 2})
      .floats("s", {2}, {1, 1})
      .floats("b", {2}, {0, 0})
      .floats("mean", {2}, {0, 0})
      .floats("var", {2}, {1, 1});
  m.node("Gemm", {"x", "w"}, {"h"});
  m.node("BatchNormalization", {"h", "s", "b", "mean", "var"}, {"y"});
  m.node("Gemm", {"y", "w"}, {"i"});
  m.node("BatchNormalization", {"i", "s", "b", "given", "var"}, {"z"});
  onnx::ModelProto out = exported(m, {byName("mean", {2}, {1, 2})}, "out.onnx", INT_MAX, Inference::Fold);
  EXPECT_EQ(out.graph().node_size(), 4);
  EXPECT_EQ(result.inference.folded, 0);
  EXPECT_EQ(result.inference.kept, 2);
  EXPECT_EQ(result.inference.firstKept, "y");
}

namespace {
/// x [N, 2, 3] is read by an op, by a branch, and is an output itself.
ModelBuilder pictures() {
  ModelBuilder m;
  m.input("x", {std::string("N"), int64_t(2), int64_t(3)}).input("choice", {}, onnx::TensorProto::BOOL);
  m.output("y").output("x").output("z").floats("w", {3}, {1, 2, 3});
  m.node("Mul", {"x", "w"}, {"y"});
  onnx::NodeProto &choice = m.node("If", {"choice"}, {"z"});
  for (const char *branch : {"then_branch", "else_branch"}) {
    onnx::AttributeProto &attribute = *choice.add_attribute();
    attribute.set_name(branch);
    attribute.set_type(onnx::AttributeProto::GRAPH);
    onnx::NodeProto &inner = *attribute.mutable_g()->add_node();
    inner.set_op_type("Neg");
    inner.add_input("x");
    inner.add_output(branch);
    attribute.mutable_g()->add_output()->set_name(branch);
  }
  return m;
}
std::string metadata(const onnx::ModelProto &model) {
  for (const auto &entry : model.metadata_props())
    if (entry.key() == "mpc.preprocessing")
      return entry.value();
  return "absent";
}
} // namespace

TEST_F(Exporter, PreprocessingIsPutInFrontOfInputs) {
  const std::vector<TrainedTensor> weights = {byName("w", {3}, {1, 1, 1})};
  const TrainedInputs inputs = {"", {{"x", {2, 4}, {0, -1}}, {"target", {3}, {0}}}};
  onnx::ModelProto out = exported(pictures(), weights, "out.onnx", INT_MAX, Inference::Set, inputs);
  EXPECT_EQ(result.preprocessed, std::vector<std::string>{"x"}); // the target is no input of the model
  ASSERT_EQ(out.graph().node_size(), 6);
  const char *ops[] = {"Constant", "Mul", "Constant", "Add", "Mul", "If"};
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(out.graph().node(i).op_type(), ops[i]) << i;
  EXPECT_EQ(out.graph().node(1).input(0), "x");
  EXPECT_EQ(out.graph().node(3).input(0), out.graph().node(1).output(0));
  const onnx::TensorProto &scale = out.graph().node(0).attribute(0).t();
  EXPECT_EQ(std::vector<int64_t>(scale.dims().begin(), scale.dims().end()), (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(values(&scale), (std::vector<float>{2, 4}));
  EXPECT_EQ(values(&out.graph().node(2).attribute(0).t()), (std::vector<float>{0, -1}));
  const std::string made = out.graph().node(3).output(0);
  EXPECT_EQ(node(out, "y").input(0), made);
  EXPECT_EQ(node(out, "z").attribute(1).g().node(0).input(0), made);
  EXPECT_EQ(out.graph().output(1).name(), "x");
  EXPECT_EQ(metadata(out), "absent");
  // A step that changes nothing has no node.
  out = exported(pictures(), weights, "out.onnx", INT_MAX, Inference::Set, {"", {{"x", {0.5}, {0}}}});
  EXPECT_EQ(out.graph().node_size(), 4);
  EXPECT_EQ(out.graph().node(0).attribute(0).t().dims_size(), 0);
}

TEST_F(Exporter, PreprocessingIsNotedInTheMetadata) {
  const std::vector<TrainedTensor> weights = {byName("w", {3}, {1, 1, 1})};
  ModelBuilder m = pictures();
  auto exportedWith = [&](const TrainedInputs &inputs) {
    return metadata(exported(m, weights, "out.onnx", INT_MAX, Inference::Set, inputs));
  };
  EXPECT_EQ(exportedWith({}), "absent");
  EXPECT_EQ(exportedWith({"x\tscale\t2", {}}), "x\tscale\t2");
  onnx::StringStringEntryProto &old = *m.model.add_metadata_props();
  old.set_key("mpc.preprocessing");
  old.set_value("x\tscale\t3");
  EXPECT_EQ(exportedWith({}), "x\tscale\t3"); // nothing is known of the new training
  EXPECT_EQ(exportedWith({"x\tscale\t2", {}}), "x\tscale\t2");
  EXPECT_EQ(exportedWith({"", {}}), "absent");
}

TEST_F(Exporter, PreprocessingThatHasNoPlaceIsRefused) {
  const std::vector<TrainedTensor> weights = {byName("w", {3}, {1, 1, 1})};
  auto refused = [&](const ModelBuilder &m, const InputMap &map) {
    return refusal(m, weights, "out.onnx", INT_MAX, {"", {map}});
  };
  EXPECT_EQ(refused(pictures(), {"x", {2, 3, 4}, {0, 0, 0}}),
            "model.onnx: input 'x' has no dimension of 3 channels behind the batch, which the preprocessing has");
  EXPECT_EQ(refused(pictures(), {"choice", {2}, {0}}),
            "model.onnx: input 'choice' is not of a float type, and takes no preprocessing");
  ModelBuilder old = pictures();
  old.model.mutable_opset_import(0)->set_version(6);
  EXPECT_EQ(refused(old, {"x", {2}, {0}}), "model.onnx: is of opset 6, and preprocessing needs 7");
}
