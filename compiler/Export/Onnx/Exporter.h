//===- Exporter.h - trained values back into an ONNX model ----------------------------------===//
#ifndef MPC_EXPORT_ONNX_EXPORTER_H
#define MPC_EXPORT_ONNX_EXPORTER_H
#include "mlir/IR/MLIRContext.h"
#include "mpc/kernel.h"
#include "llvm/ADT/StringRef.h"
#include <climits>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace mpc {

/// Trained values, and which of the model's they take the place of.
struct TrainedTensor {
  std::string name;   // of an initializer or a graph input; with `input`, what the node has there
  std::string node;   // the values serve one input of one node: its first output, "" in a function
  int64_t input = -1; // index of that input; -1: the values are an initializer's
  /// Without a place for it the model would compute something else; others are left out where there is none.
  bool required = false;
  std::string variable; // what the program calls it
  mpc_dtype type; // of the program's; for values of one input also the model's, since buffers keep their type
  std::vector<int64_t> shape;
  std::function<std::vector<double>()> values; // row-major
};

/// How far a model goes to its inference form: nodes are set to inference; dropouts leave the graph too; and batch norms go into the convolutions before them.
enum class Inference { Set, Remove, Fold };

/// What was done.
struct InferenceCounts {
  int64_t norms = 0;    ///< batch norms that were set to inference
  int64_t dropouts = 0; ///< dropouts that were set to inference or removed
  int64_t folded = 0;   ///< batch norms that are part of a convolution or Gemm now
  int64_t kept = 0;     ///< batch norms that could not be
  std::string firstKept;
};

/// What stands against an export: where, what, and the user's next action.
struct ExportError {
  std::string where, what, hint;
};

struct ExportedModel {
  std::string bytes;            // of the ONNX file
  std::string dataFile, data{}; // a file beside it and its bytes; no name when there is none
  std::vector<std::string> sources; // what was read: the model and the data files that it names
  int64_t replaced = 0;         // how many of the trained tensors it holds
  InferenceCounts inference{};  // what became of its training form
};

/// The model at `path`, with trained values, in inference form, as it is to be written to `output`. Without trained values it keeps its own.
///
/// Each value takes the place of its initializer's in the initializer's own type; a parameter that is a graph
/// input becomes an initializer. Values of one input of a node become an initializer of their own, which the
/// node then reads; a Constant that nothing reads any more goes. Data files of the model are read into it
/// when it goes to another folder, and what makes the file larger than `maxBytes`, protobuf's limit, goes to
/// one data file.
///
/// False with `error` set: not a model, a data file that cannot be read, a shape or type that differs, no
/// name in common, or no place for a required tensor (a function's body serves all of its calls).
bool exportOnnx(mlir::MLIRContext &, const std::string &path, const std::string &output,
                std::optional<llvm::ArrayRef<TrainedTensor>>, Inference, ExportedModel &, ExportError &error,
                int64_t maxBytes = INT_MAX);

} // namespace mpc
#endif
