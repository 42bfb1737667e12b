//===- Preprocess.h - what a training did to its inputs, in the exported model ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_EXPORT_ONNX_PREPROCESS_H
#define MPC_EXPORT_ONNX_PREPROCESS_H
#include "compiler/Export/Onnx/Exporter.h"
#include "compiler/Import/Onnx/Model.h"

namespace mpc::onnx_export {

/// Puts the text, or no text, into the model's metadata in place of the one that is there.
void setPreprocessing(onnx::ModelProto &, const std::string &text);

/// Puts value * scale + shift in front of the inputs, whose readers then read the result. The inputs keep their names,
/// types and shapes. Inputs that the model does not have, such as the targets of its training, are left out. Returns
/// the names of the others. Throws ImportError.
std::vector<std::string> putInFront(mlir::MLIRContext &, onnx::ModelProto &, llvm::ArrayRef<InputMap>,
                                    const std::string &path);

} // namespace mpc::onnx_export
#endif
