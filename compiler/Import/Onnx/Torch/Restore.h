//===- Restore.h - undoes what torch's exporter did to a network ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `torch.onnx.export(..., dynamo=True)` optimises for inference by default: it merges equal tensors, drops
// biases that are zero, transposes weights in advance and folds batch norms. What is trained would then
// differ from the module. Everything but folded batch norms is restored here, from what the exporter writes
// beside it (Metadata.h): the whole model is changed before any other code reads it, so that import and
// export see the same tensors.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_IMPORT_ONNX_TORCH_RESTORE_H
#define MPC_IMPORT_ONNX_TORCH_RESTORE_H
#include "compiler/Import/Onnx/OnnxProto.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <map>
#include <set>
#include <string>
#include <vector>

namespace mpc::onnx_import::torch {

/// The role of a tensor of the file in the module that was exported.
enum class Trained { Yes, Frozen, Buffer, Computed };

struct Restored {
  bool known = false;                         // whether the file says what the module was
  std::map<std::string, Trained> roles;       // the roles of the file's initializers
  std::map<std::string, std::string> written; // values that forward writes to buffers; maps the value to the buffer
  std::set<std::string> stopped;              // values without a gradient whose detach the exporter has removed
  std::vector<std::string> notes;             // what was restored
  std::vector<std::string> lost; // what could not be restored, each a clause: "batch norm 'bn1' is folded into 'conv1'"
};

/// Returns the elements of a tensor, row-major and little endian, wherever they are stored.
using Bytes = llvm::function_ref<std::string(const onnx::TensorProto &)>;

/// Restores what the metadata tell or, in files of the older exporter, what the names tell; the rest is in `lost`.
Restored restore(onnx::ModelProto &, Bytes bytes);

} // namespace mpc::onnx_import::torch
#endif
