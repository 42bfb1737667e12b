// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Import/Onnx/Untie.h"
#include "llvm/ADT/STLExtras.h"
#include <set>
#include <utility>
#include <vector>

static bool isFloat(const onnx::TensorProto &tensor) {
  return tensor.data_type() == onnx::TensorProto::FLOAT || tensor.data_type() == onnx::TensorProto::FLOAT16 ||
         tensor.data_type() == onnx::TensorProto::BFLOAT16 || tensor.data_type() == onnx::TensorProto::DOUBLE;
}

namespace {
/// Copies of initializers, called "NAME@NODE". They are added at the end, since the list must not move while
/// it is examined.
class Copies {
public:
  explicit Copies(onnx::GraphProto &graph) : graph(graph) {
    for (const auto &tensor : graph.initializer())
      names.insert(tensor.name());
  }
  /// Makes a copy for a node and returns its name.
  std::string of(const onnx::TensorProto &tensor, const onnx::NodeProto &node) {
    const std::string base =
        tensor.name() + "@" + (node.name().empty() && node.output_size() > 0 ? node.output(0) : node.name());
    std::string name = base;
    for (int i = 1; !names.insert(name).second; ++i)
      name = base + "_" + std::to_string(i);
    copies.push_back(tensor);
    copies.back().set_name(name);
    return name;
  }
  size_t finish() {
    for (onnx::TensorProto &copy : copies)
      *graph.add_initializer() = std::move(copy);
    return copies.size();
  }

private:
  onnx::GraphProto &graph;
  std::set<std::string> names;
  std::vector<onnx::TensorProto> copies;
};
} // namespace

size_t mpc::onnx_import::untieStatistics(onnx::GraphProto &graph) {
  auto isNorm = [](const onnx::NodeProto &node) {
    return node.domain().empty() && node.op_type() == "BatchNormalization";
  };
  std::set<std::string> read;                            // values that are read in another role than as a statistic
  std::vector<std::pair<std::string, std::string>> same; // an Identity's result and what it reads
  for (const auto &output : graph.output())
    read.insert(output.name());
  forEachNode(std::as_const(graph), [&](const onnx::NodeProto &node) {
    if (node.domain().empty() && node.op_type() == "Identity" && node.input_size() == 1 && node.output_size() == 1) {
      same.emplace_back(node.output(0), node.input(0));
      return;
    }
    for (int i = 0; i < node.input_size(); ++i)
      if (!isNorm(node) || i < 3)
        read.insert(node.input(i));
  });
  // A module that is called twice passes its statistics on: torch writes an Identity, which the second norm reads.
  // Later ones may read earlier ones.
  for (const auto &[result, from] : llvm::reverse(same))
    if (read.count(result))
      read.insert(from);
  Copies copies(graph);
  for (const auto &tensor : graph.initializer())
    if (isFloat(tensor) && read.count(tensor.name()))
      forEachNode(graph, [&](onnx::NodeProto &node) {
        for (int i = 3; isNorm(node) && i < node.input_size(); ++i)
          if (node.input(i) == tensor.name())
            node.set_input(i, copies.of(tensor, node));
      });
  return copies.finish();
}

bool mpc::onnx_import::untieInitializers(onnx::GraphProto &graph, llvm::function_ref<bool(llvm::StringRef)> chosen) {
  Copies copies(graph);
  for (const auto &tensor : graph.initializer()) {
    if (!isFloat(tensor) || !chosen(tensor.name()))
      continue;
    bool first = true;
    forEachNode(graph, [&](onnx::NodeProto &node) {
      for (std::string &input : *node.mutable_input())
        if (input == tensor.name() && !std::exchange(first, false))
          input = copies.of(tensor, node);
    });
  }
  return copies.finish() > 0;
}
