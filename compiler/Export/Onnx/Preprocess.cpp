// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Export/Onnx/Preprocess.h"
#include "compiler/Export/Onnx/Tensors.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::onnx_export;
using onnx_import::fail;
using onnx_import::HostTensor;
using onnx_import::printable;

static const char kLeaveOut[] = "export without --preprocess, and do the same before the model runs";

void onnx_export::setPreprocessing(onnx::ModelProto &model, const std::string &text) {
  auto &entries = *model.mutable_metadata_props();
  entries.erase(std::remove_if(entries.begin(), entries.end(),
                               [](const auto &entry) { return entry.key() == onnx_import::kPreprocessingKey; }),
                entries.end());
  if (text.empty())
    return;
  auto &entry = *entries.Add();
  entry.set_key(onnx_import::kPreprocessingKey);
  entry.set_value(text);
}

namespace {
/// Makes the nodes of one input.
class Front {
public:
  Front(MLIRContext &context, const onnx::ValueInfoProto &input, const std::string &path, llvm::StringSet<> &names,
        google::protobuf::RepeatedPtrField<onnx::NodeProto> &nodes)
      : input(input), path(path), names(names), nodes(nodes), type(input.type().tensor_type()),
        element(onnx_import::elementType(&context, type.elem_type())) {}

  /// Returns the name of the result.
  std::string add(const InputMap &map) {
    if (!isa_and_nonnull<FloatType>(element))
      fail(path, "input '" + map.input + "' is not of a float type, and takes no preprocessing", kLeaveOut);
    std::string value = input.name();
    auto apply = [&](const char *op, const char *what, const std::vector<double> &numbers, double neutral) {
      if (llvm::all_of(numbers, [&](double number) { return number == neutral; }))
        return;
      onnx::NodeProto &node = *nodes.Add();
      std::string operand = constant(input.name() + "." + what, numbers);
      node.set_op_type(op);
      node.add_input(value);
      node.add_input(operand);
      value = fresh(input.name() + "." + what + "d");
      node.set_name(value);
      node.add_output(value);
      nodes.SwapElements(nodes.size() - 2, nodes.size() - 1); // the Constant was added behind its reader
    };
    apply("Mul", "scale", map.scale, 1);
    apply("Add", "shift", map.shift, 0);
    return value;
  }

private:
  std::string fresh(const std::string &name) {
    std::string result = name;
    for (int i = 0; !names.insert(result).second; ++i)
      result = name + "_" + std::to_string(i);
    return result;
  }

  /// Adds a Constant: one number, or one for each channel, in the shape [channels, 1, ...] that spreads to the input.
  std::string constant(const std::string &name, const std::vector<double> &numbers) {
    SmallVector<int64_t> shape;
    if (numbers.size() > 1) {
      int rank = type.has_shape() ? type.shape().dim_size() : 0;
      const bool fits = rank >= 2 && (!type.shape().dim(1).has_dim_value() ||
                                      type.shape().dim(1).dim_value() == int64_t(numbers.size()));
      if (!fits)
        fail(path,
             "input '" + printable(input.name()) + "' has no dimension of " + std::to_string(numbers.size()) +
                 " channels behind the batch, which the preprocessing has",
             kLeaveOut);
      shape.assign(size_t(rank - 1), 1);
      shape[0] = int64_t(numbers.size());
    }
    HostTensor values = HostTensor::fromDoubles(RankedTensorType::get(shape, element), numbers);
    onnx::NodeProto &node = *nodes.Add();
    std::string result = fresh(name);
    node.set_op_type("Constant");
    node.set_name(result);
    node.add_output(result);
    onnx::AttributeProto &attribute = *node.add_attribute();
    attribute.set_name("value");
    attribute.set_type(onnx::AttributeProto::TENSOR);
    onnx::TensorProto &tensor = *attribute.mutable_t();
    tensor.set_data_type(type.elem_type());
    tensor.mutable_dims()->Add(shape.begin(), shape.end());
    setBytes(tensor, *values.bytes);
    return result;
  }

  const onnx::ValueInfoProto &input;
  const std::string &path;
  llvm::StringSet<> &names;
  google::protobuf::RepeatedPtrField<onnx::NodeProto> &nodes;
  const onnx::TypeProto::Tensor &type;
  Type element;
};
} // namespace

/// Mul and Add take operands of other shapes since opset 7.
static void checkOpset(const onnx::ModelProto &model, const std::string &path) {
  for (const auto &set : model.opset_import())
    if ((set.domain().empty() || set.domain() == "ai.onnx") && set.version() < 7)
      fail(path, "is of opset " + std::to_string(set.version()) + ", and preprocessing needs 7", kLeaveOut);
}

std::vector<std::string> onnx_export::putInFront(MLIRContext &context, onnx::ModelProto &model, ArrayRef<InputMap> maps,
                                                 const std::string &path) {
  onnx::GraphProto &main = *model.mutable_graph();
  llvm::StringSet<> names;
  forEachGraph(main, [&](onnx::GraphProto &graph) {
    for (const auto &value : graph.input())
      names.insert(value.name());
    for (const auto &tensor : graph.initializer())
      names.insert(tensor.name());
    for (const auto &node : graph.node())
      names.insert(node.output().begin(), node.output().end());
  });
  google::protobuf::RepeatedPtrField<onnx::NodeProto> front;
  std::map<std::string, std::string> results;
  std::vector<std::string> done;
  for (const InputMap &map : maps)
    for (const onnx::ValueInfoProto &input : main.input())
      if (printable(input.name()) == map.input) {
        checkOpset(model, path);
        results[input.name()] = Front(context, input, path, names, front).add(map);
        done.push_back(map.input);
      }
  forEachGraph(main, [&](onnx::GraphProto &graph) {
    for (onnx::NodeProto &node : *graph.mutable_node())
      for (std::string &operand : *node.mutable_input())
        if (auto result = results.find(operand); result != results.end())
          operand = result->second;
  });
  for (onnx::NodeProto &node : *main.mutable_node())
    front.Add()->Swap(&node);
  main.mutable_node()->Swap(&front);
  return done;
}
