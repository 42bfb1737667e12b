//===- FoldNorms.h - puts batch norms into the convolutions before them -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_EXPORT_ONNX_FOLDNORMS_H
#define MPC_EXPORT_ONNX_FOLDNORMS_H
#include "compiler/Export/Onnx/InferenceForm.h"

namespace mpc::onnx_export {

/// Puts each batch norm in inference form into the Conv, ConvTranspose or Gemm that produces its input, where nothing
/// else reads that:
///   y = (w x + b - mean) * f + beta  with f = scale / sqrt(variance + epsilon)
/// so the weights become w * f, and the bias (b - mean) * f + beta.
/// All of the tensors must be initializers or Constants; the bias may also be such a tensor, expanded. Sums are in
/// float64 and rounded once to the type of the weights. The node takes the name of the norm's result.
void foldNorms(mlir::MLIRContext &, onnx::GraphProto &, const std::string &folder, InferenceCounts &);

} // namespace mpc::onnx_export
#endif
