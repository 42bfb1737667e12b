// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Import/Onnx/TrainingForm.h"
#include "compiler/Import/Onnx/Torch/Metadata.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

using namespace mpc::onnx_import;

bool mpc::onnx_import::normTrains(const onnx::NodeProto &node, int64_t opset) {
  if (opset < 14)
    return node.output_size() > 1 && !node.output(1).empty();
  for (const auto &attribute : node.attribute())
    if (attribute.name() == "training_mode" && attribute.i() != 0)
      return true;
  std::optional<torch::Call> call = torch::Metadata::callOf(node);
  return call && llvm::StringRef(call->target).contains("batch_norm_legit_functional");
}

bool mpc::onnx_import::isTorchNorm(const onnx::NodeProto &node) {
  std::optional<torch::Call> call = torch::Metadata::callOf(node);
  return call && llvm::StringRef(call->target).contains("batch_norm");
}

/// Whether this is a boolean scalar that is true; torch's legacy exporter writes the mode of a Dropout like that.
static bool isTrue(const onnx::TensorProto &tensor) {
  return tensor.data_type() == onnx::TensorProto::BOOL &&
         (tensor.raw_data() == std::string(1, '\1') || (tensor.int32_data_size() == 1 && tensor.int32_data(0) != 0));
}

bool mpc::onnx_import::exportedForTraining(const Model &model) {
  for (const auto &entry : model.proto.metadata_props())
    if (entry.key() == "mpc.training_form" && entry.value() == "True")
      return true;
  std::set<std::string> switchedOn;
  for (const auto &initializer : model.proto.graph().initializer())
    if (isTrue(initializer))
      switchedOn.insert(initializer.name());
  for (const FlatNode &node : model.nodes)
    if (node.proto.op_type() == "Constant" && node.proto.output_size() == 1)
      for (const auto &attribute : node.proto.attribute())
        if (attribute.name() == "value" && isTrue(attribute.t()))
          switchedOn.insert(node.proto.output(0));
  return llvm::any_of(model.nodes, [&](const FlatNode &node) {
    const llvm::StringRef op = node.proto.op_type();
    return (op == "BatchNormalization" && normTrains(node.proto, node.opset)) ||
           (op == "Dropout" && node.opset >= 12 && node.proto.input_size() > 2 &&
            switchedOn.count(node.proto.input(2)) != 0);
  });
}
