//===- Restoration.h - restores the tensors of one file -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Restore.cpp works with metadata, Legacy.cpp with names, for files of the older exporter, which has no metadata.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_IMPORT_ONNX_TORCH_RESTORATION_H
#define MPC_IMPORT_ONNX_TORCH_RESTORATION_H
#include "compiler/Import/Onnx/Torch/Metadata.h"
#include "compiler/Import/Onnx/Torch/Restore.h"
#include "llvm/ADT/Twine.h"
#include <set>

namespace mpc::onnx_import::torch {

class Restoration {
public:
  Restoration(onnx::ModelProto &model, Bytes bytes) : graph(*model.mutable_graph()), metadata(model), bytes(bytes) {
    for (auto &tensor : *graph.mutable_initializer())
      tensors[tensor.name()] = &tensor;
  }
  bool known() const { return metadata.present(); }
  Restored run();
  Restored runWithoutMetadata();

private:
  void restoreInput(onnx::NodeProto &, const Call &, int input);
  void restoreFolded(onnx::NodeProto &, const Call &, int input);
  void restoreBias(onnx::NodeProto &, const Call &);
  // Legacy.cpp defines these, which work without metadata.
  void restoreLegacyIdentities();
  void restoreLegacyWeight(onnx::NodeProto &);
  void restoreLegacyChannels(onnx::NodeProto &);
  void loseLegacyComputed(const onnx::NodeProto &);
  /// The elements of a matrix, column by column.
  std::string transposedBytes(const onnx::TensorProto &matrix);
  bool transpose(onnx::NodeProto &, int input, const std::string &name);
  bool reshape(onnx::NodeProto &, int input, const std::string &name);
  void restoreGradientStops();
  void findWritten();
  void findLostDropouts();
  void hideKeys();
  void dropUnread();
  void findMissing();
  void noteRestored();
  void note(size_t count, const char *one, const char *many);
  void lose(const llvm::Twine &what) { result.lost.push_back(what.str()); }

  onnx::TensorProto *find(const std::string &name) {
    auto it = tensors.find(name);
    return it == tensors.end() ? nullptr : it->second;
  }
  onnx::TensorProto &add(const std::string &name, const onnx::TensorProto &like) {
    onnx::TensorProto &tensor = *graph.add_initializer();
    tensor = like;
    tensor.set_name(name);
    return *(tensors[name] = &tensor);
  }
  /// Inserts a node between a parameter and its use, only once; returns the node's result.
  std::string insert(const char *op, const std::string &name, llvm::function_ref<void(onnx::NodeProto &)> fill) {
    const std::string result = name + "/" + op;
    if (inserted.insert(result).second) {
      onnx::NodeProto &node = *graph.add_node();
      node.set_name(result);
      node.set_op_type(op);
      node.add_input(name);
      node.add_output(result);
      fill(node);
    }
    return result;
  }

  onnx::GraphProto &graph;
  Metadata metadata;
  Bytes bytes;
  Restored result;
  std::map<std::string, onnx::TensorProto *> tensors;
  std::set<std::string> inserted, replaced, gone; // gone: parameters whose loss has been reported
  std::map<std::string, int> callNodes;           // the number of nodes that a call has become
  std::string guessed;          // a computed tensor that was taken for a parameter's transpose only because of its name
  std::set<std::string> passed; // calls in front of which a call that does nothing is gone
  std::set<std::string> split, biases, transposed, reshaped, nameless;
};

} // namespace mpc::onnx_import::torch
#endif
