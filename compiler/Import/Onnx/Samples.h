//===- Samples.h - where the samples of the data lie ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_IMPORT_ONNX_SAMPLES_H
#define MPC_IMPORT_ONNX_SAMPLES_H
#include "compiler/Import/Onnx/Node.h"

namespace mpc::onnx_import {

/// Adds a note where dimension `time` of x, along which a node carries a state, is the first dimension of the data:
/// the network then carries its state from sample to sample. Modules of PyTorch that are not batch_first do so when
/// they take the data as they are.
void noteTimeAlongSamples(Node &, mlir::Value x, int64_t time);

} // namespace mpc::onnx_import
#endif
