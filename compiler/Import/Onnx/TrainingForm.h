//===- TrainingForm.h - decides which norms and dropouts of a file train -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_IMPORT_ONNX_TRAININGFORM_H
#define MPC_IMPORT_ONNX_TRAININGFORM_H
#include "compiler/Import/Onnx/Model.h"

namespace mpc::onnx_import {

/// Whether a BatchNormalization uses the statistics of the batch, because the file says so or torch's name of
/// the operator does: the dynamo exporter writes the inference form for both of torch's modes.
bool normTrains(const onnx::NodeProto &, int64_t opset);

/// Returns whether torch's metadata say that a BatchNormalization is a batch norm of torch.
bool isTorchNorm(const onnx::NodeProto &);

/// Whether the file was exported for training, so that a norm or a dropout in inference form is intended:
/// `tools/torch/export.py` has written the file, or another of its norms or dropouts trains. Must be called
/// after Model::flatten().
bool exportedForTraining(const Model &);

} // namespace mpc::onnx_import
#endif
