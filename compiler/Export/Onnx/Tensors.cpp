// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Export/Onnx/Tensors.h"

using namespace mpc;
using namespace mpc::onnx_import;
using onnx::TensorProto;

using TensorFn = llvm::function_ref<void(TensorProto &, const std::string &where)>;

/// Calls `graphs` for the graphs inside a node, and `tensors` for the tensors of its attributes.
static void visit(onnx::NodeProto &node, llvm::function_ref<void(onnx::GraphProto &)> graphs, TensorFn tensors) {
  const std::string where = node.name().empty() && node.output_size() ? node.output(0) : node.name();
  auto sparse = [&](onnx::SparseTensorProto &tensor) {
    tensors(*tensor.mutable_values(), where);
    tensors(*tensor.mutable_indices(), where);
  };
  for (auto &attribute : *node.mutable_attribute()) {
    if (attribute.has_g())
      graphs(*attribute.mutable_g());
    for (auto &graph : *attribute.mutable_graphs())
      graphs(graph);
    if (attribute.has_t())
      tensors(*attribute.mutable_t(), where);
    for (auto &tensor : *attribute.mutable_tensors())
      tensors(tensor, where);
    if (attribute.has_sparse_tensor())
      sparse(*attribute.mutable_sparse_tensor());
    for (auto &tensor : *attribute.mutable_sparse_tensors())
      sparse(tensor);
  }
}

static void visit(onnx::GraphProto &graph, TensorFn tensors) {
  for (TensorProto &tensor : *graph.mutable_initializer())
    tensors(tensor, tensor.name());
  for (auto &sparse : *graph.mutable_sparse_initializer()) {
    tensors(*sparse.mutable_values(), sparse.values().name());
    tensors(*sparse.mutable_indices(), sparse.values().name());
  }
  for (onnx::NodeProto &node : *graph.mutable_node())
    visit(node, [&](onnx::GraphProto &inner) { visit(inner, tensors); }, tensors);
}

static void visit(onnx::ModelProto &model, TensorFn tensors) {
  visit(*model.mutable_graph(), tensors);
  for (auto &function : *model.mutable_functions())
    for (onnx::NodeProto &node : *function.mutable_node())
      visit(node, [&](onnx::GraphProto &inner) { visit(inner, tensors); }, tensors);
}

void onnx_export::forEachGraph(onnx::GraphProto &graph, llvm::function_ref<void(onnx::GraphProto &)> fn) {
  fn(graph);
  for (onnx::NodeProto &node : *graph.mutable_node())
    visit(node, [&](onnx::GraphProto &inner) { forEachGraph(inner, fn); }, [](TensorProto &, const std::string &) {});
}

void onnx_export::setBytes(TensorProto &tensor, std::string raw) {
  tensor.clear_float_data();
  tensor.clear_double_data();
  tensor.clear_int32_data();
  tensor.clear_int64_data();
  tensor.clear_uint64_data();
  tensor.clear_external_data();
  tensor.clear_data_location();
  tensor.set_raw_data(std::move(raw));
}

void onnx_export::readDataFiles(mlir::MLIRContext &context, onnx::ModelProto &model, const std::string &folder) {
  visit(model, [&](TensorProto &tensor, const std::string &where) {
    if (tensor.data_location() == TensorProto::EXTERNAL)
      setBytes(tensor, *readTensor(&context, tensor, printable(where), folder).bytes);
  });
}

std::set<std::string> onnx_export::dataFiles(onnx::ModelProto &model) {
  std::set<std::string> names;
  visit(model, [&](TensorProto &tensor, const std::string &) {
    if (tensor.data_location() == TensorProto::EXTERNAL)
      names.insert(locationOf(tensor));
  });
  return names;
}

std::string onnx_export::moveToDataFile(onnx::ModelProto &model, const std::string &name) {
  // Tensors at multiples of 4 KiB can be memory-mapped (onnx.proto, external_data); small ones stay in the model.
  constexpr size_t kAlignment = 4096, kSmall = 1024;
  std::string data;
  for (TensorProto &tensor : *model.mutable_graph()->mutable_initializer()) {
    if (tensor.raw_data().size() < kSmall)
      continue;
    data.resize((data.size() + kAlignment - 1) / kAlignment * kAlignment);
    std::pair<const char *, std::string> entries[] = {{"location", name},
                                                      {"offset", std::to_string(data.size())},
                                                      {"length", std::to_string(tensor.raw_data().size())}};
    data += tensor.raw_data();
    tensor.clear_raw_data();
    tensor.set_data_location(TensorProto::EXTERNAL);
    for (auto &[key, value] : entries) {
      auto *entry = tensor.add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    }
  }
  return data;
}
