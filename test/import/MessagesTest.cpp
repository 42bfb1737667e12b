//===- MessagesTest.cpp - what hints and notes of the import say ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ModelBuilder.h"
#include "compiler/Import/Onnx/Registry.h"
#include <gtest/gtest.h>

using namespace mpc;
using namespace mpc::test;
using L = std::vector<int64_t>;

TEST(Messages, NoAlternativeToWhatIsSupported) {
  for (const SupportedOp &op : supportedOps())
    EXPECT_TRUE(onnx_import::insteadOf(op.name).empty()) << op.name.str();
  EXPECT_FALSE(onnx_import::insteadOf("Unique").empty());
  EXPECT_TRUE(onnx_import::insteadOf("Frobnicate").empty());
}

/// A model x [2, 3] -> y = op(x).
static ModelBuilder unary(const std::string &op,
                          const std::vector<std::pair<std::string, Attribute>> &attributes = {}) {
  ModelBuilder m;
  m.input("x", {int64_t(2), int64_t(3)}).output("y");
  m.node(op, {"x"}, {"y"}, attributes);
  return m;
}

TEST(Messages, UnsupportedOpsSayWhatToExport) {
  Imported r = import(unary("SequenceMap"));
  ASSERT_EQ(r.report.problems.size(), 1u);
  EXPECT_NE(r.report.problems[0].hint.find("in a loop of Python"), std::string::npos);
  r = import(unary("Frobnicate"));
  ASSERT_EQ(r.report.problems.size(), 1u);
  EXPECT_EQ(r.report.problems[0].hint, "docs/ops.md lists the supported operators");
}

/// The model is right, so exporting it again helps nobody.
TEST(Messages, LimitsOfTheCompilerAreCalledThat) {
  ModelBuilder wide(26);
  wide.input("x", {int64_t(2), int64_t(5000)}).output("y").ints("axis", {1});
  wide.node("CumProd", {"x", "axis"}, {"y"});
  ModelBuilder soft;
  soft.input("x", {int64_t(2), int64_t(3)}).input("t", {int64_t(2)}).output("loss");
  soft.node("SoftmaxCrossEntropyLoss", {"x", "t"}, {"loss"});
  for (const ModelBuilder &m : {unary("Cast", {{"to", int64_t(onnx::TensorProto::STRING)}}), wide, soft}) {
    Imported r = import(m);
    ASSERT_EQ(r.report.problems.size(), 1u);
    EXPECT_EQ(r.report.problems[0].hint.find("export the model again"), std::string::npos) << r.diagnostics;
    EXPECT_FALSE(r.report.problems[0].hint.empty());
  }
}

TEST(Messages, OutputsWhoseStatedShapeDiffers) {
  auto notes = [](std::vector<int64_t> stated, std::optional<int64_t> batch = {}) {
    ModelBuilder m = unary("Relu");
    auto *shape = m.model.mutable_graph()->mutable_output(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
    for (int64_t d : stated) {
      auto *dim = shape->add_dim();
      if (d >= 0)
        dim->set_dim_value(d);
      else
        dim->set_dim_param("open");
    }
    ImportOptions options;
    options.batch = batch;
    return import(m, options).report.notes;
  };
  EXPECT_TRUE(notes({2, 3}).empty());
  EXPECT_TRUE(notes({-1, 3}).empty());
  EXPECT_EQ(notes({-1, 4}),
            std::vector<std::string>{"the file states the shape [open,4] for output 'y', but its nodes make [2,3]"});
  EXPECT_EQ(notes({2, 3, 1}).size(), 1u);
  EXPECT_TRUE(notes({2, 4}, 8).empty()); // stated for another batch
}

/// The kernel reaches 2 * (3 - 1) + 1 = 5 of the 6 elements that auto_pad gives.
TEST(Messages, TransposedConvolutionsWhosePaddingWouldBeNegative) {
  for (const char *mode : {"SAME_UPPER", "SAME_LOWER"}) {
    ModelBuilder m;
    m.input("x", {int64_t(1), int64_t(1), int64_t(3)}).weight("w", {1, 1, 1}).output("y");
    m.node("ConvTranspose", {"x", "w"}, {"y"}, {{"auto_pad", std::string(mode)}, {"strides", L{2}}});
    Imported r = import(m);
    ASSERT_EQ(r.report.problems.size(), 1u);
    EXPECT_NE(
        r.report.problems[0].why.find("makes dimension 2 of the result 6 (input * stride), but the kernel reaches "
                                      "only 5 elements"),
        std::string::npos)
        << r.diagnostics;
    EXPECT_NE(r.report.problems[0].hint.find("output_shape"), std::string::npos);
  }
}
