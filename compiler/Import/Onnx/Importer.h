//===- Importer.h - ONNX models become modules of graph and train ops --------===//
//
// The one door from ONNX. Callers see MLIR and plain structs, never protobuf.
//
// Result: a module of `train.variable`s (symbols are the ONNX names; where they cannot be, `train.name`,
// `train.node` and `train.input` say what in the model a variable stands for) and
// `func.func @forward`, whose arguments are the data inputs (train.name, train.batched, train.labels_below)
// and whose results are the graph outputs (train.name, train.role = "output"). Everything in it is static in
// shape; the locations are NameLocs of the ONNX nodes' names.
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

/// This decides what becomes of batch norms and dropouts that a file has in inference form.
enum class TrainingMode {
  Auto,       // they train, except in a file that was exported for training: there somebody has frozen them
  Train,      // they train
  AsExported, // they stay as they are
};

/// What the user decides about an import. Regular expressions are POSIX extended and match anywhere in a
/// name.
struct ImportOptions {
  /// Leading dimension of the data inputs: binds it when it is open, rebinds it when it is fixed.
  std::optional<int64_t> batch;
  /// Taken where the batch is open and neither `batch` nor `dims` says it.
  std::optional<int64_t> openBatch;
  /// Values of named dimensions ("seq" -> 128).
  std::map<std::string, int64_t> dims;
  /// Graph inputs whose values are fixed: shapes, axes and the like, which must be known at compile time.
  std::map<std::string, TensorData> constants;
  TrainingMode mode = TrainingMode::Auto;
  /// Graph inputs that are parameters. Without it: those used as nothing but weights, biases and statistics.
  std::string params;
  /// Float initializers that are trained, whatever their position; without it the positions decide. "+REGEX": these besides those in a parameter's position.
  std::string trainable;
  /// Float initializers and parameters that are not trained.
  std::string freeze;
  /// Float initializers of which each use is a parameter of its own: exporters merge equal tensors.
  std::string untie;
  /// Trains what an exporter made of the network, also where parameters of the module are lost in it.
  bool acceptExported = false;
  /// How parameters without a value start: kaiming, xavier or normal.
  std::string init = "kaiming";
  /// Inference form (mpc run, conformance): as exported, no state changes, no input is taken for a parameter
  /// unless `params` says so.
  bool forwardOnly = false;
  /// For finding further problems (compiler/Pipeline/Check.h): a module comes back although the report has some, with stand-ins for what is
  /// not supported, where the file states its type. It is not what the model computes.
  bool keepGoing = false;
};

/// One thing that stands against an import.
struct ImportProblem {
  std::string node;      // ONNX node name (or the tensor's, or the file's)
  std::string op;        // ONNX op type; empty when it is not about a node
  int64_t opset = 0;     // of the op's domain
  std::string attribute; // the attribute or input it is about, if one
  std::string why;
  std::string hint;
  std::vector<std::string> path = {}; // for a missing gradient: from the op back to a parameter
};

/// What a named tensor of the model is to training.
struct TensorVerdict {
  std::string name, type;
  std::string role; // "parameter", "buffer", "constant", "data"
  std::string why;
};

/// An output of the graph as far as the file states it.
struct OutputStatement {
  std::string name;
  bool isFloat = false;
  std::optional<std::vector<int64_t>> shape; ///< -1: open
};

/// All that `mpc check` prints.
struct ImportReport {
  std::string producer;
  int64_t irVersion = 0, opset = 0;
  std::vector<ImportProblem> problems;
  std::vector<std::string> unboundDims;     // "x[0] (batch)"
  std::vector<std::string> neededConstants; // graph inputs that must be in ImportOptions::constants
  std::vector<TensorVerdict> tensors;
  std::vector<std::string> notes;         // what the importer changed or assumed
  std::vector<std::string> assumed;       // what was chosen where the user said nothing: "--batch=32: why"
  std::vector<OutputStatement> outputs;   // also where the import fails
  std::map<std::string, int64_t> opCount; // by op type
  std::vector<std::string> files;         // that were read: the model and its data files
  bool ok() const { return problems.empty(); }
};

/// Imports a model. Null on error; every problem is emitted as a located error with a hint, every note as a
/// remark.
mlir::OwningOpRef<mlir::ModuleOp> importOnnx(mlir::MLIRContext &, llvm::StringRef path, const ImportOptions &,
                                             ImportReport *report = nullptr);
/// The same from memory. `name` stands for the file in diagnostics, `folder` holds external data ("": there
/// is none).
mlir::OwningOpRef<mlir::ModuleOp> importOnnxBytes(mlir::MLIRContext &, llvm::StringRef bytes,
                                                  llvm::StringRef name, llvm::StringRef folder,
                                                  const ImportOptions &, ImportReport *report = nullptr);
/// Everything unsupported, at once, and what is trained; emits no diagnostics.
ImportReport checkOnnx(mlir::MLIRContext &, llvm::StringRef path, const ImportOptions &);
ImportReport checkOnnxBytes(mlir::MLIRContext &, llvm::StringRef bytes, llvm::StringRef name,
                            llvm::StringRef folder, const ImportOptions &);

/// Reads a serialised TensorProto (the inputs and outputs of ONNX's backend tests). Emits a diagnostic on
/// failure.
mlir::FailureOr<TensorData> readOnnxTensor(mlir::MLIRContext &, llvm::StringRef bytes, llvm::StringRef name);

/// A row of the documentation's op table.
struct SupportedOp {
  llvm::StringRef name, family;
  int64_t since, until; // opsets
  llvm::StringRef limits;
};
/// All rows, by family and name.
std::vector<SupportedOp> supportedOps();

/// Lowest and highest opset of the default domain that is accepted: 9 and up in full, older ones as far as
/// the rows of the table go (an op that has none there is an error at its node).
inline constexpr int64_t kMinOpset = 1, kMaxOpset = 28;

} // namespace mpc
#endif
