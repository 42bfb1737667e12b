//===- Exporter.h - trained values back into an ONNX model ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_EXPORT_ONNX_EXPORTER_H
#define MPC_EXPORT_ONNX_EXPORTER_H
#include "mpc/kernel.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/StringRef.h"
#include <climits>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace mpc {

/// Trained values, and the place in the model that they go to.
struct TrainedTensor {
  std::string name;   // the name of an initializer or a graph input; with `input`, the name of the node's input
  std::string node;   // where the values serve one input of one node: that node's first output, "" in a function
  int64_t input = -1; // the index of that input; -1 where the values are an initializer's
  /// Whether the model would compute something else without a place for the values. Other values are left out
  /// where there is no place for them.
  bool required = false;
  std::string variable; // the program's name for it
  mpc_dtype type;       // the program's type; for values of one input also the model's, since buffers keep their type
  std::vector<int64_t> shape;
  std::function<std::vector<double>()> values; // row-major
};

/// How far a model is brought to its inference form: Set sets nodes to inference; Remove also removes
/// dropouts; Fold also puts batch norms into the convolutions before them.
enum class Inference { Set, Remove, Fold };

/// This is the preprocessing of one input: the network takes value * scale + shift. Scale and shift have one number for
/// all values, or one for each channel, which is the dimension behind the batch.
struct InputMap {
  std::string input; // the program's name for it
  std::vector<double> scale, shift;
};

/// This says what the training did to its inputs, and where the exported model keeps it.
struct TrainedInputs {
  /// This text goes into the model's metadata. "" removes the text that is there; without a value that stays.
  std::optional<std::string> metadata = {};
  std::vector<InputMap> nodes = {}; // these are put into the graph
};

/// What an export has done.
struct InferenceCounts {
  int64_t norms = 0;    ///< batch norms that were set to inference
  int64_t dropouts = 0; ///< dropouts that were set to inference or removed
  int64_t folded = 0;   ///< batch norms that are part of a convolution or Gemm now
  int64_t kept = 0;     ///< batch norms that could not be folded
  std::string firstKept;
};

/// The reason why an export fails: where, what, and the user's next action.
struct ExportError {
  std::string where, what, hint;
};

struct ExportedModel {
  std::string bytes;                       // the bytes of the ONNX file
  std::string dataFile, data{};            // a file beside it and its bytes; the name is empty when there is none
  std::vector<std::string> sources;        // the files that were read: the model and the data files that it names
  int64_t replaced = 0;                    // how many of the trained tensors it has
  InferenceCounts inference{};             // what was done to bring it into inference form
  std::vector<std::string> preprocessed{}; // the inputs with nodes in front
};

/// The model at `path`, with trained values, in inference form, as it is to be written to `output`. Where no
/// trained values are given it keeps its own.
///
/// Each value replaces its initializer's value, in the initializer's own type; a parameter that is a graph
/// input becomes an initializer. The values of one input of a node become a new initializer, which the node
/// then reads; a Constant that is then no longer read is removed. Data files of the model are read into it
/// when it goes to another folder. `inputs` are put in front of the model, or noted in it. If the file would be larger
/// than `maxBytes`, protobuf's limit, bytes are moved into one data file.
///
/// Returns false and sets `error` where the file is not a model, a data file cannot be read, a shape or type
/// differs, no name is in common, or there is no place for a required tensor (a function's body serves all of
/// its calls).
bool exportOnnx(mlir::MLIRContext &, const std::string &path, const std::string &output,
                std::optional<llvm::ArrayRef<TrainedTensor>>, Inference, ExportedModel &, ExportError &error,
                int64_t maxBytes = INT_MAX, const TrainedInputs &inputs = {});

} // namespace mpc
#endif
