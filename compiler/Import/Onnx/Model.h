//===- Model.h - reading ONNX files: bytes, protobuf, functions, external data ---===//
//
// What can be wrong with a file, apart from its ops, is found here. Errors are exceptions of type
// ImportError; the importer catches them and makes them problems of its report.
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

/// A problem on its way to the report. Thrown within the importer only.
struct ImportError {
  ImportProblem problem;
};
/// Throws an ImportError about a tensor, a file or a node.
[[noreturn]] void fail(std::string node, std::string why, std::string hint = "");

/// A name as it may be shown: bytes that are not printable UTF-8 become \xNN.
std::string printable(llvm::StringRef name);

/// The name of the file that an external tensor lies in; "" when it says none.
std::string locationOf(const onnx::TensorProto &);

/// The elements of a tensor, of the file `where`'s data beside `folder` if they are external.
HostTensor readTensor(mlir::MLIRContext *, onnx::TensorProto &, const std::string &where,
                      const std::string &folder);

/// A node of the main graph, with functions already inlined.
struct FlatNode {
  onnx::NodeProto proto;
  int64_t opset = 0;    // of the node's domain
  std::string location; // the user's name of it
  bool inFunction = false; // from a function's body, which other calls may share
};

/// A parsed model.
class Model {
public:
  /// Parses; throws ImportError when the bytes are no model. `folder` is where external data lies.
  Model(llvm::StringRef bytes, llvm::StringRef name, llvm::StringRef folder);

  onnx::ModelProto proto;
  std::string name;
  int64_t opset = 0;
  /// Nodes of the main graph in an order in which every value is made before it is used.
  std::vector<FlatNode> nodes;

  /// What the random nodes make whose masks are dropout's (DropoutForms.h).
  std::set<std::string> dropoutDraws;

  /// Where tensors lay that have been read and are not in the model's file: paths in its folder.
  std::set<std::string> dataFiles;

  /// The elements of a tensor; takes raw bytes out of the proto. Throws ImportError.
  HostTensor tensor(mlir::MLIRContext *context, onnx::TensorProto &tensor, const std::string &where) {
    if (tensor.data_location() == onnx::TensorProto::EXTERNAL)
      dataFiles.insert(locationOf(tensor));
    return readTensor(context, tensor, where, folder);
  }

  /// What torch's exporter had changed. Empty before restore().
  torch::Restored restored;
  /// Puts back what torch's exporter changed, and gives each use of the initializers that `untie` chooses one of its own; returns whether any had more than
  /// one. Before flatten().
  bool restore(mlir::MLIRContext *, llvm::function_ref<bool(llvm::StringRef name)> untie);

  /// Inlines functions into `nodes`, sorts them and puts a node of kOwnDomain in the place of each recognised dropout; problems (unknown domains, cycles)
  /// go to the report.
  void flatten(ImportReport &);

private:
  std::string folder;
  void inlineNode(onnx::NodeProto &&, const std::map<std::string, int64_t> &opsets, const std::string &prefix,
                  int depth, ImportReport &);
  void sort(ImportReport &);
  void recogniseDropouts();
  std::map<std::array<std::string, 3>, const onnx::FunctionProto *> functions; // by domain, name and overload
  /// Counts a node of a function that is about to be copied into the graph. Throws ImportError beyond the bounds.
  void countUnfolded(const onnx::NodeProto &, const std::string &caller);
  size_t unfoldedNodes = 0, unfoldedBytes = 0, protoBytes = 0;
};

/// Sorts nodes so that values are made before they are used; `known` are values from outside. Returns the
/// nodes' indices, fewer than there are when the rest form cycles.
std::vector<size_t> topologicalOrder(const std::vector<const onnx::NodeProto *> &nodes);
/// All values that a node reads, those of its subgraphs from outside of them included.
void collectUses(const onnx::NodeProto &, std::vector<std::string> &uses);

} // namespace mpc::onnx_import
#endif
