//===- InferenceForm.h - brings a model into the form that predicts -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Networks that were exported for training normalise by the batch (BatchNormalization with training_mode=1,
// or with more than one output) and drop elements (Dropout with training_mode true, masks of random numbers).
// In inference form they compute what a program's `predict` does.
//
//===----------------------------------------------------------------------------------------===//
#ifndef MPC_EXPORT_ONNX_INFERENCEFORM_H
#define MPC_EXPORT_ONNX_INFERENCEFORM_H
#include "compiler/Export/Onnx/Exporter.h"
#include "compiler/Import/Onnx/OnnxProto.h"
#include <map>

namespace mpc::onnx_export {

/// Brings a model, its branches and its functions into inference form; opsets and names of values stay.
/// `written` are the values that the network writes to buffers, whose readers get the stored value of the buffer; maps
/// the value to the buffer. `folder` has the external data. Throws ImportError where the nodes of one dropout lie
/// inside and outside of a function.
InferenceCounts toInferenceForm(mlir::MLIRContext &, onnx::ModelProto &, Inference, const std::string &path,
                                const std::string &folder, const std::map<std::string, std::string> &written);

} // namespace mpc::onnx_export
#endif
