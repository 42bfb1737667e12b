//===- Tensors.h - all tensors of a model, and where their bytes lie --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_EXPORT_ONNX_TENSORS_H
#define MPC_EXPORT_ONNX_TENSORS_H
#include "compiler/Import/Onnx/Model.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace mpc::onnx_export {

/// Calls `fn` for every graph of a model: the main one, and those inside nodes, including nodes of functions.
void forEachGraph(onnx::GraphProto &, llvm::function_ref<void(onnx::GraphProto &)> fn);

/// Makes `raw` a tensor's elements, wherever they were stored before.
void setBytes(onnx::TensorProto &, std::string raw);

/// Reads the tensors that are stored in data files of `folder` into the model. Throws ImportError.
void readDataFiles(mlir::MLIRContext &, onnx::ModelProto &, const std::string &folder);

/// The data files that the model names.
std::set<std::string> dataFiles(onnx::ModelProto &);

/// Moves the bytes of the model's initializers to a data file of this name; returns the content of that file.
std::string moveToDataFile(onnx::ModelProto &, const std::string &name);

} // namespace mpc::onnx_export
#endif
