#include "compiler/Import/Onnx/Untie.h"
#include <set>
#include <utility>
#include <vector>

bool mpc::onnx_import::untieInitializers(onnx::GraphProto &graph, llvm::function_ref<bool(llvm::StringRef)> chosen) {
  std::set<std::string> names;
  for (const auto &tensor : graph.initializer())
    names.insert(tensor.name());
  std::vector<onnx::TensorProto> copies;
  for (const auto &tensor : graph.initializer()) {
    bool isFloat = tensor.data_type() == onnx::TensorProto::FLOAT || tensor.data_type() == onnx::TensorProto::FLOAT16 ||
                   tensor.data_type() == onnx::TensorProto::BFLOAT16 || tensor.data_type() == onnx::TensorProto::DOUBLE;
    if (!isFloat || !chosen(tensor.name()))
      continue;
    bool first = true;
    forEachNode(graph, [&](onnx::NodeProto &node) {
      for (std::string &input : *node.mutable_input()) {
        if (input != tensor.name() || std::exchange(first, false))
          continue;
        const std::string base = tensor.name() + "@" + (node.name().empty() && node.output_size() > 0 ? node.output(0) : node.name());
        std::string name = base;
        for (int i = 1; !names.insert(name).second; ++i)
          name = base + "_" + std::to_string(i);
        copies.push_back(tensor);
        copies.back().set_name(name);
        input = name;
      }
    });
  }
  const bool any = !copies.empty();
  for (onnx::TensorProto &copy : copies)
    *graph.add_initializer() = std::move(copy);
  return any;
}
