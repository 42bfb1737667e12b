//===- Restore.h - a network as it was before torch's exporter rewrote it --------===//
//
// `torch.onnx.export(..., dynamo=True)` optimises by default, for inference: equal tensors become one, biases that are zero go, weights are transposed
// beforehand, batch norms are folded. What is trained would then not be what the module is. All but the last comes back here, from what the exporter
// writes beside it (Metadata.h): the model is changed as a whole, before anything else reads it, so that import and export see the same tensors.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_IMPORT_ONNX_TORCH_RESTORE_H
#define MPC_IMPORT_ONNX_TORCH_RESTORE_H
#include "compiler/Import/Onnx/OnnxProto.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <map>
#include <string>
#include <vector>

namespace mpc::onnx_import::torch {

/// What a tensor of the file is by the module that was exported.
enum class Trained { Yes, Frozen, Buffer, Computed };

struct Restored {
  bool known = false;                   // the file says what the module was
  std::map<std::string, Trained> roles; // of its initializers
  std::vector<std::string> notes;       // what was put back
  std::vector<std::string> lost;        // what could not be, each a clause: "batch norm 'bn1' is folded into 'conv1'"
};

/// The elements of a tensor, row-major and little endian, wherever they lie.
using Bytes = llvm::function_ref<std::string(const onnx::TensorProto &)>;

/// Puts back what the metadata tell of, or, in files of the exporter before, what the names tell of; the rest is in `lost`.
Restored restore(onnx::ModelProto &, Bytes bytes);

} // namespace mpc::onnx_import::torch
#endif
