//===- Model.h - reading ONNX files: bytes, protobuf, functions, external data ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This part of the import finds everything that can be wrong with a file, apart from its ops. Errors are
// exceptions of type ImportError, which the importer catches and turns into problems of its report.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_IMPORT_ONNX_MODEL_H
#define MPC_IMPORT_ONNX_MODEL_H
#include "compiler/Import/Onnx/HostTensor.h"
#include "compiler/Import/Onnx/Importer.h"
#include "compiler/Import/Onnx/OnnxProto.h"
#include "compiler/Import/Onnx/Torch/Restore.h"
#include <array>
#include <map>
#include <set>

namespace mpc::onnx_import {

/// A problem on its way to the report. It is thrown only inside the importer.
struct ImportError {
  ImportProblem problem;
};
/// Thrown by a converter that needs the result of a failed node: the failure itself has been reported already.
struct FollowsFailure {};

/// Throws an ImportError about a tensor, a file or a node.
[[noreturn]] void fail(std::string node, std::string why, std::string hint = "");

/// Returns a name in a form that can be printed: bytes that are not printable UTF-8 become \xNN. Different names have
/// different forms, because programs and checkpoints know a parameter by this one: the backslash of a name that has
/// "\xNN" itself becomes \x5C.
std::string printable(llvm::StringRef name);

/// The name of the file that an external tensor lies in; "" when the tensor names none.
std::string locationOf(const onnx::TensorProto &);

/// The elements of a tensor. External ones are read from `folder`; `where` names the tensor in errors.
HostTensor readTensor(mlir::MLIRContext *, onnx::TensorProto &, const std::string &where, const std::string &folder);

/// A node of the main graph, with functions already inlined.
struct FlatNode {
  onnx::NodeProto proto;
  int64_t opset = 0;       // the opset of the node's domain
  std::string location;    // the user's name for it
  bool inFunction = false; // whether it is from a function's body, which other calls may share
};

/// A parsed model.
class Model {
public:
  /// Parses a model. Throws ImportError when the bytes are not a model. `folder` has the external data.
  Model(llvm::StringRef bytes, llvm::StringRef name, llvm::StringRef folder);

  onnx::ModelProto proto;
  std::string name;
  int64_t opset = 0;
  /// The nodes of the main graph, in an order in which every value is made before it is used.
  std::vector<FlatNode> nodes;

  /// The outputs of random nodes whose masks are a dropout's (DropoutForms.h).
  std::set<std::string> dropoutDraws;

  /// The files in the model's folder from which tensors have been read.
  std::set<std::string> dataFiles;

  /// The elements of a tensor. Takes raw bytes out of the proto. Throws ImportError.
  HostTensor tensor(mlir::MLIRContext *context, onnx::TensorProto &tensor, const std::string &where) {
    if (tensor.data_location() == onnx::TensorProto::EXTERNAL)
      dataFiles.insert(locationOf(tensor));
    return readTensor(context, tensor, where, folder);
  }

  /// What torch's exporter had changed. It is empty before restore().
  torch::Restored restored;
  /// Puts back what torch's exporter changed, and gives each use of the initializers that `untie` chooses one
  /// of its own. Returns whether any of these had more than one use. Must be called before flatten().
  bool restore(mlir::MLIRContext *, llvm::function_ref<bool(llvm::StringRef name)> untie);

  /// The values that the network writes to buffers; maps the value to the buffer. The model need not be restored.
  std::map<std::string, std::string> writtenBuffers(mlir::MLIRContext *);

  /// Inlines functions into `nodes`, sorts them and replaces each recognised dropout by a node of kOwnDomain;
  /// problems (unknown domains, cycles) go to the report.
  void flatten(ImportReport &);

private:
  std::string folder;
  torch::Restored restore(mlir::MLIRContext *, onnx::ModelProto &);
  void inlineNode(onnx::NodeProto &&, const std::map<std::string, int64_t> &opsets, const std::string &prefix,
                  int depth, ImportReport &);
  void sort(ImportReport &);
  void recogniseDropouts();
  std::map<std::array<std::string, 3>, const onnx::FunctionProto *> functions; // keyed by domain, name and overload
  /// Counts a node of a function that is about to be copied into the graph. Throws ImportError where the
  /// limits are exceeded.
  void countUnfolded(const onnx::NodeProto &, const std::string &caller);
  size_t unfoldedNodes = 0, unfoldedBytes = 0, protoBytes = 0;
};

/// Sorts nodes so that values are made before they are used. Returns the nodes' indices; there are fewer than
/// nodes when the others form cycles.
std::vector<size_t> topologicalOrder(const std::vector<const onnx::NodeProto *> &nodes);
/// Collects all values that a node reads, including those that its subgraphs read from outside.
void collectUses(const onnx::NodeProto &, std::vector<std::string> &uses);

} // namespace mpc::onnx_import
#endif
