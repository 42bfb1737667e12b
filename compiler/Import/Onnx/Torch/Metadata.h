//===- Metadata.h - reads what torch's exporter writes about a network ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `torch.onnx.export(..., dynamo=True)` records in the file's metadata what the network was before the
// exporter rewrote it: the graph signature names every parameter and buffer of the module; each node records
// which call of torch it comes from, with the parameters that the call was given; and a value that was
// computed at export records what it was computed from. This code was written after files of torch 2.5 to
// 2.15; metadata that are missing or have another form are ignored.
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

/// A line of the signature: a placeholder of the traced graph ("p_fc1_weight") and the tensor of the module that it
/// stands for ("fc1.weight").
struct Origin {
  Kind kind;
  std::string target;
};

/// One call of the traced graph:
///   %linear : [...] = call_function[target=torch.ops.aten.linear.default](args = (%x, %p_fc1_weight, None), kwargs =
///   {})
struct Call {
  std::string name;              // "linear"
  std::string target;            // "linear": the operator without its namespace and overload
  std::vector<std::string> args; // as written: "%x", "[8]", "%p_fc1_weight", "None"
};

/// The arguments of a cross_entropy_loss or an nll_loss that decide what it computes.
struct LossCall {
  std::string reduction; // "none", "mean" or "sum"
  int64_t ignoreIndex = -100;
  double labelSmoothing = 0; // the exporter drops it
};

/// The arguments of an embedding that decide the gradient of its table.
struct EmbeddingCall {
  std::optional<int64_t> padding; // the row that gets no gradient
  bool scalesByFrequency = false; // whether the gradient of a row is divided by how often the batch reads the row
};

class Metadata {
public:
  explicit Metadata(const onnx::ModelProto &);

  /// Whether the file has a signature. Without one nothing is known.
  bool present() const { return !placeholders.empty(); }

  /// The tensor of the module that an argument of a call stands for; null for other values.
  const Origin *origin(const std::string &argument) const;
  /// Whether a value of the traced graph is an input or a tensor of the module, so that no call makes it.
  bool isInput(const std::string &value) const { return inputs.count(value) != 0; }
  /// The kind of a tensor of the module; nullopt for other names.
  std::optional<Kind> kindOf(const std::string &target) const;
  /// The values of the traced graph that forward writes to buffers, with the buffer.
  const std::vector<std::pair<std::string, std::string>> &mutations() const { return written; }
  /// All tensors of the module.
  const std::map<std::string, Kind> &tensors() const { return targets; }
  /// The values that an initializer was computed from at export; empty when it was not computed.
  const std::set<std::string> &foldedFrom(const std::string &initializer) const;

  /// The call that a node comes from.
  static std::optional<Call> callOf(const onnx::NodeProto &);
  /// Returns whether the gradient ends at a node: it is a detach, or an Identity that `tools/torch/export.py` has put
  /// behind a torch.no_grad region.
  static bool stopsGradient(const onnx::NodeProto &);
  /// The call that a loss on classes comes from; nullopt where the file does not say it.
  static std::optional<LossCall> lossCallOf(const onnx::NodeProto &);
  /// Returns the embedding that a node comes from; nullopt for other nodes.
  static std::optional<EmbeddingCall> embeddingCallOf(const onnx::NodeProto &);
  /// The probability of the dropout in a scaled_dot_product_attention, of which the exporter writes the inference form;
  /// 0 for other calls.
  static double attentionDropout(const Call &);
  /// The module that a node belongs to, such as "model.embed_tokens"; "" where the file does not say it.
  static std::string moduleOf(const onnx::NodeProto &);
  /// The rewrites of the exporter that made a node, such as "FuseBatchNormIntoConv".
  static std::string rewrites(const onnx::NodeProto &);
  /// Whether `tools/torch/export.py` has recorded that the parameter has requires_grad=False.
  bool frozen(const std::string &initializer) const { return withoutGradient.count(initializer) != 0; }

private:
  std::map<std::string, Origin> placeholders;
  std::map<std::string, Kind> targets;
  std::set<std::string> inputs;
  std::map<std::string, std::set<std::string>> folded;
  std::set<std::string> withoutGradient;
  std::vector<std::pair<std::string, std::string>> written;
};

} // namespace mpc::onnx_import::torch
#endif
