//===- ModelBuilder.h - small ONNX models for tests -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_TEST_IMPORT_MODELBUILDER_H
#define MPC_TEST_IMPORT_MODELBUILDER_H
#include "compiler/Import/Onnx/Importer.h"
#include "compiler/Import/Onnx/OnnxProto.h"
#include "dialects/Graph/IR/Graph.h"
#include "dialects/Train/IR/Train.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/raw_ostream.h"
#include <cstring>
#include <string>
#include <variant>
#include <vector>

namespace mpc::test {

using Dims = std::vector<std::variant<int64_t, std::string>>; // extents, or names of extents
using Attribute = std::variant<int64_t, double, std::string, std::vector<int64_t>, std::vector<float>>;

/// Builds a model node by node.
class ModelBuilder {
public:
  explicit ModelBuilder(int64_t opset = 17) {
    model.set_ir_version(8);
    model.set_producer_name("mpc-test");
    model.add_opset_import()->set_version(opset);
    model.mutable_graph()->set_name("test");
  }

  ModelBuilder &input(const std::string &name, const Dims &dims, int type = onnx::TensorProto::FLOAT) {
    describe(*model.mutable_graph()->add_input(), name, dims, type);
    return *this;
  }
  ModelBuilder &output(const std::string &name) {
    model.mutable_graph()->add_output()->set_name(name);
    return *this;
  }
  /// Adds a float initializer with elements 0.01, 0.02, ...
  ModelBuilder &weight(const std::string &name, const std::vector<int64_t> &dims) {
    int64_t count = 1;
    for (int64_t d : dims)
      count *= d;
    std::vector<float> values(count);
    for (int64_t i = 0; i < count; ++i)
      values[i] = 0.01f * float(i % 100 + 1);
    return floats(name, dims, values);
  }
  ModelBuilder &floats(const std::string &name, const std::vector<int64_t> &dims, const std::vector<float> &values) {
    auto *t = tensor(name, dims, onnx::TensorProto::FLOAT);
    t->set_raw_data(values.data(), values.size() * sizeof(float));
    return *this;
  }
  ModelBuilder &ints(const std::string &name, const std::vector<int64_t> &values) {
    auto *t = tensor(name, {int64_t(values.size())}, onnx::TensorProto::INT64);
    for (int64_t v : values)
      t->add_int64_data(v);
    return *this;
  }
  ModelBuilder &scalar(const std::string &name, float value) { return floats(name, {}, {value}); }

  /// Adds a node, whose name is its first output.
  onnx::NodeProto &node(const std::string &op, const std::vector<std::string> &inputs,
                        const std::vector<std::string> &outputs,
                        const std::vector<std::pair<std::string, Attribute>> &attributes = {}) {
    auto &n = *model.mutable_graph()->add_node();
    n.set_op_type(op);
    n.set_name(outputs.empty() ? op : outputs[0]);
    for (const auto &i : inputs)
      n.add_input(i);
    for (const auto &o : outputs)
      n.add_output(o);
    for (const auto &[name, value] : attributes)
      set(*n.add_attribute(), name, value);
    return n;
  }

  static void set(onnx::AttributeProto &a, const std::string &name, const Attribute &value) {
    a.set_name(name);
    if (auto *i = std::get_if<int64_t>(&value)) {
      a.set_type(onnx::AttributeProto::INT);
      a.set_i(*i);
    } else if (auto *d = std::get_if<double>(&value)) {
      a.set_type(onnx::AttributeProto::FLOAT);
      a.set_f(float(*d));
    } else if (auto *s = std::get_if<std::string>(&value)) {
      a.set_type(onnx::AttributeProto::STRING);
      a.set_s(*s);
    } else if (auto *list = std::get_if<std::vector<int64_t>>(&value)) {
      a.set_type(onnx::AttributeProto::INTS);
      for (int64_t v : *list)
        a.add_ints(v);
    } else {
      a.set_type(onnx::AttributeProto::FLOATS);
      for (float v : std::get<std::vector<float>>(value))
        a.add_floats(v);
    }
  }

  onnx::TensorProto *tensor(const std::string &name, const std::vector<int64_t> &dims, int type) {
    auto *t = model.mutable_graph()->add_initializer();
    t->set_name(name);
    t->set_data_type(type);
    for (int64_t d : dims)
      t->add_dims(d);
    return t;
  }

  std::string bytes() const { return model.SerializeAsString(); }
  onnx::ModelProto model;

private:
  static void describe(onnx::ValueInfoProto &info, const std::string &name, const Dims &dims, int type) {
    info.set_name(name);
    auto *t = info.mutable_type()->mutable_tensor_type();
    t->set_elem_type(type);
    t->mutable_shape();
    for (const auto &d : dims) {
      auto *dim = t->mutable_shape()->add_dim();
      if (auto *extent = std::get_if<int64_t>(&d))
        dim->set_dim_value(*extent);
      else
        dim->set_dim_param(std::get<std::string>(d));
    }
  }
};

/// The result of an import: the module, or the diagnostics.
struct Imported {
  std::string ir;          // empty on failure
  std::string diagnostics; // lines such as "name: error: ..."
  ImportReport report;
  bool ok() const { return !ir.empty(); }
};

/// Returns the module's text with each run of spaces replaced by one.
inline std::string print(mlir::ModuleOp module) {
  std::string text, squeezed;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  for (char c : text)
    if (c != ' ' || squeezed.empty() || squeezed.back() != ' ')
      squeezed += c;
  return squeezed;
}

inline Imported import(const std::string &bytes, const ImportOptions &options = {}, const std::string &folder = "") {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  Imported result;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &d) {
    llvm::raw_string_ostream stream(result.diagnostics);
    if (auto name = mlir::dyn_cast<mlir::NameLoc>(d.getLocation()))
      stream << name.getName().getValue() << ": ";
    stream << (d.getSeverity() == mlir::DiagnosticSeverity::Error ? "error: " : "remark: ") << d.str() << "\n";
    for (mlir::Diagnostic &note : d.getNotes())
      stream << "note: " << note.str() << "\n";
    return mlir::success();
  });
  auto module = importOnnxBytes(context, bytes, "model.onnx", folder, options, &result.report);
  if (module)
    result.ir = print(*module);
  return result;
}
inline Imported import(const ModelBuilder &builder, const ImportOptions &options = {}) {
  return import(builder.bytes(), options);
}

inline size_t count(const std::string &text, const std::string &what) {
  size_t n = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + what.size()))
    ++n;
  return n;
}

/// Makes LeNet for 28x28 images, with a loss.
inline ModelBuilder lenet(int64_t batch = 4) {
  ModelBuilder m;
  m.input("x", {batch, int64_t(1), int64_t(28), int64_t(28)}).input("target", {batch}, onnx::TensorProto::INT64);
  m.weight("conv1.weight", {6, 1, 5, 5})
      .weight("conv1.bias", {6})
      .weight("conv2.weight", {16, 6, 5, 5})
      .weight("conv2.bias", {16});
  m.weight("fc1.weight", {32, 256}).weight("fc1.bias", {32}).weight("fc2.weight", {10, 32}).weight("fc2.bias", {10});
  using L = std::vector<int64_t>;
  m.node("Conv", {"x", "conv1.weight", "conv1.bias"}, {"c1"}, {{"kernel_shape", L{5, 5}}});
  m.node("Relu", {"c1"}, {"r1"});
  m.node("MaxPool", {"r1"}, {"p1"}, {{"kernel_shape", L{2, 2}}, {"strides", L{2, 2}}});
  m.node("Conv", {"p1", "conv2.weight", "conv2.bias"}, {"c2"}, {{"kernel_shape", L{5, 5}}});
  m.node("Relu", {"c2"}, {"r2"});
  m.node("MaxPool", {"r2"}, {"p2"}, {{"kernel_shape", L{2, 2}}, {"strides", L{2, 2}}});
  m.node("Flatten", {"p2"}, {"f"}, {{"axis", int64_t(1)}});
  m.node("Gemm", {"f", "fc1.weight", "fc1.bias"}, {"g1"}, {{"transB", int64_t(1)}});
  m.node("Relu", {"g1"}, {"r3"});
  m.node("Gemm", {"r3", "fc2.weight", "fc2.bias"}, {"logits"}, {{"transB", int64_t(1)}});
  m.node("SoftmaxCrossEntropyLoss", {"logits", "target"}, {"loss"}, {{"reduction", std::string("mean")}});
  m.output("loss").output("logits");
  return m;
}

} // namespace mpc::test
#endif
