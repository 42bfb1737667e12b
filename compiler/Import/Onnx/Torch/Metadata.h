//===- Metadata.h - what torch's exporter writes about a network ---------------===//
//
// `torch.onnx.export(..., dynamo=True)` keeps in the file's metadata what the network was before the exporter rewrote it: the graph signature names
// every parameter and buffer of the module, each node says which call of torch it comes from, with the parameters that the call was given, and a value
// that was computed at export says from what. Written after files of torch 2.5 to 2.15; what is not there, or reads otherwise, is left out.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_IMPORT_ONNX_TORCH_METADATA_H
#define MPC_IMPORT_ONNX_TORCH_METADATA_H
#include "compiler/Import/Onnx/OnnxProto.h"
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace mpc::onnx_import::torch {

enum class Kind { Parameter, Buffer, Constant };

/// A line of the signature: a placeholder of the traced graph ("p_fc1_weight") and the tensor of the module that it stands for ("fc1.weight").
struct Origin {
  Kind kind;
  std::string target;
};

/// One call of the traced graph: `%linear : [...] = call_function[target=torch.ops.aten.linear.default](args = (%x, %p_fc1_weight, None), kwargs = {})`.
struct Call {
  std::string name;              // "linear"
  std::string target;            // "linear": the operator without its namespace and overload
  std::vector<std::string> args; // as written: "%x", "[8]", "%p_fc1_weight", "None"
};

class Metadata {
public:
  explicit Metadata(const onnx::ModelProto &);

  /// Whether the file has a signature. Without one there is nothing to know.
  bool present() const { return !placeholders.empty(); }

  /// The tensor of the module that an argument of a call means; null for other values.
  const Origin *origin(const std::string &argument) const;
  /// Tells whether a value of the traced graph is an input or a tensor of the module, so that no call makes it.
  bool isInput(const std::string &value) const { return inputs.count(value) != 0; }
  /// What a name of the module is; nothing for other names.
  std::optional<Kind> kindOf(const std::string &target) const;
  /// All tensors of the module.
  const std::map<std::string, Kind> &tensors() const { return targets; }
  /// The values that an initializer was computed from at export; empty when it was not.
  const std::set<std::string> &foldedFrom(const std::string &initializer) const;

  /// The call that a node comes from.
  static std::optional<Call> callOf(const onnx::NodeProto &);
  /// The module that a node belongs to: "model.embed_tokens"; "" where that is not written.
  static std::string moduleOf(const onnx::NodeProto &);
  /// The rewrites of the exporter that made a node, such as "FuseBatchNormIntoConv".
  static std::string rewrites(const onnx::NodeProto &);
  /// What `tools/torch/export.py` says of a parameter with requires_grad=False.
  bool frozen(const std::string &initializer) const { return withoutGradient.count(initializer) != 0; }

private:
  std::map<std::string, Origin> placeholders;
  std::map<std::string, Kind> targets;
  std::set<std::string> inputs;
  std::map<std::string, std::set<std::string>> folded;
  std::set<std::string> withoutGradient;
};

} // namespace mpc::onnx_import::torch
#endif
