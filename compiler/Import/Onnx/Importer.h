//===- Importer.h - ONNX models become modules of graph and train ops --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This is the only header that callers of the ONNX import include. They see MLIR and plain structs, never protobuf.
//
// The result is a module of `train.variable`s (their symbols are the ONNX names; where that is not possible,
// `train.name`, `train.node` and `train.input` say what in the model a variable stands for) and `func.func
// @forward`. Its arguments are the data inputs (train.name, train.batched, train.labels_below), and its
// results are the graph outputs (train.name, train.role = "output"). All shapes in it are static; the
// locations are NameLocs of the ONNX nodes' names.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_IMPORT_ONNX_IMPORTER_H
#define MPC_IMPORT_ONNX_IMPORTER_H
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mpc {

/// A tensor of a file: row-major, little endian, one byte per boolean.
struct TensorData {
  std::string name;
  mlir::RankedTensorType type;
  std::string bytes;
};

/// What happens to batch norms and dropouts that a file has in inference form.
enum class TrainingMode {
  Auto,       // they train, except in a file that was exported for training, where they were frozen on purpose
  Train,      // they train
  AsExported, // they stay as they are
};

/// This is what the user decides about an import. Regular expressions are POSIX extended and match anywhere in a name.
struct ImportOptions {
  /// The leading dimension of the data inputs: it binds an open one and replaces a fixed one.
  std::optional<int64_t> batch;
  /// The batch where it is open and neither `batch` nor `dims` gives it.
  std::optional<int64_t> openBatch;
  /// Values of named dimensions ("seq" -> 128).
  std::map<std::string, int64_t> dims;
  /// Values of named dimensions that may be missing in the model, where `dims` does not give them.
  std::map<std::string, int64_t> openDims;
  /// Graph inputs whose values are fixed: shapes, axes and the like, which must be known at compile time.
  std::map<std::string, TensorData> constants;
  TrainingMode mode = TrainingMode::Auto;
  /// Matches graph inputs that are parameters. Without it these are the inputs that are only used as weights,
  /// biases and statistics.
  std::string params;
  /// Matches float initializers that are trained, whatever their position; without it the positions decide.
  /// "+REGEX" adds these to the ones in a parameter's position.
  std::string trainable;
  /// Matches float initializers and parameters that are not trained.
  std::string freeze;
  /// Matches float initializers of which each use becomes a parameter of its own, since exporters merge equal tensors.
  std::string untie;
  /// Matches values of nodes that no gradient passes, as torch's `detach` does.
  std::string stopGradient;
  /// Trains the network as an exporter has rewritten it, even where parameters of the module are lost in it.
  bool acceptExported = false;
  /// Initializer for parameters that have no value: kaiming, xavier or normal.
  std::string init = "kaiming";
  /// Imports for inference (mpc run, conformance): as exported, without changes of state; no input is taken
  /// for a parameter unless `params` says so.
  bool forwardOnly = false;
  /// Serves to find further problems (compiler/Pipeline/Check.h): a module is returned although the report
  /// has some, with stand-ins for unsupported values whose type the file states. The module does not compute
  /// what the model computes.
  bool keepGoing = false;
  /// Fills ImportReport::values.
  bool recordValues = false;
};

/// One reason why an import fails.
struct ImportProblem {
  std::string node;      // the ONNX node's name (or the tensor's, or the file's)
  std::string op;        // the ONNX op type; empty when the problem is not about a node
  int64_t opset = 0;     // the opset of the op's domain
  std::string attribute; // the attribute or input that the problem is about, if there is one
  std::string why;
  std::string hint;
  std::vector<std::string> path = {}; // for a missing gradient: the way from the op back to a parameter
};

/// The role of a named tensor of the model in training.
struct TensorVerdict {
  std::string name, type;
  std::string role; // "parameter", "buffer", "constant", "data"
  std::string why;
};

/// An output of the graph, as far as the file states it.
struct OutputStatement {
  std::string name;
  bool isFloat = false;
  std::optional<std::vector<int64_t>> shape; ///< -1 where a dimension is open
};

/// A value that a node of the model makes.
struct ModelValue {
  std::string name, node, op; // `op` is the ONNX op type
  mlir::Value value;          // in @forward, as long as the module is as the import made it
};

/// The key in a model's metadata_props under which an export says what the training did to its inputs, in the form of
/// checkpoints (runtime/core/data/Preprocessing.h).
namespace onnx_import {
inline constexpr char kPreprocessingKey[] = "mpc.preprocessing";
}

/// Everything that `mpc check` prints.
struct ImportReport {
  std::string producer;
  bool byTool = false; // whether tools/torch/export.py has written the file
  int64_t irVersion = 0, opset = 0;
  std::vector<ImportProblem> problems;
  std::vector<std::string> unboundDims;     // "x[0] (batch)"
  std::vector<std::string> neededConstants; // graph inputs that must be in ImportOptions::constants
  std::vector<TensorVerdict> tensors;
  std::vector<std::string> notes;         // what the importer has changed or assumed
  std::vector<std::string> assumed;       // choices that the user did not make: "--batch=32: why"
  std::vector<OutputStatement> outputs;   // these are known even where the import fails
  std::map<std::string, int64_t> opCount; // by op type
  std::vector<std::string> files;         // the files that were read: the model and its data files
  std::string
      preprocessing; // what the training of an exported model did to its inputs (kPreprocessingKey); "": unknown
  /// With ImportOptions::recordValues: what nodes of the main graph make, in their order, except constants.
  std::vector<ModelValue> values;
  bool ok() const { return problems.empty(); }
};

/// Imports a model. Returns null on error. Every problem is emitted as a located error with a hint, every
/// note as a remark.
mlir::OwningOpRef<mlir::ModuleOp> importOnnx(mlir::MLIRContext &, llvm::StringRef path, const ImportOptions &,
                                             ImportReport *report = nullptr);
/// Does the same from memory. `name` stands for the file in diagnostics; `folder` has the external data (""
/// if there is none).
mlir::OwningOpRef<mlir::ModuleOp> importOnnxBytes(mlir::MLIRContext &, llvm::StringRef bytes, llvm::StringRef name,
                                                  llvm::StringRef folder, const ImportOptions &,
                                                  ImportReport *report = nullptr);
/// Reports everything that is unsupported at once, and what is trained; emits no diagnostics.
ImportReport checkOnnx(mlir::MLIRContext &, llvm::StringRef path, const ImportOptions &);
ImportReport checkOnnxBytes(mlir::MLIRContext &, llvm::StringRef bytes, llvm::StringRef name, llvm::StringRef folder,
                            const ImportOptions &);

/// Reads a serialised TensorProto (the inputs and outputs of ONNX's backend tests). Emits a diagnostic on failure.
mlir::FailureOr<TensorData> readOnnxTensor(mlir::MLIRContext &, llvm::StringRef bytes, llvm::StringRef name);

/// A row of the documentation's op table.
struct SupportedOp {
  llvm::StringRef name, family;
  int64_t since, until; // opsets
  llvm::StringRef limits;
};
/// All rows, sorted by family and name.
std::vector<SupportedOp> supportedOps();

/// The lowest and the highest opset of the default domain that is accepted. Opsets from 9 on are supported in full,
/// older ones as far as the table has rows (an op that has no row for an opset is an error at its node).
inline constexpr int64_t kMinOpset = 1, kMaxOpset = 28;

} // namespace mpc
#endif
