//===- Control.h - what the converters of Scan, Loop and If share ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_IMPORT_ONNX_OPS_CONTROL_H
#define MPC_IMPORT_ONNX_OPS_CONTROL_H
#include "compiler/Import/Onnx/Import.h"

namespace mpc::onnx_import {

/// A graph.scan whose body is a graph of the model.
struct Repetition {
  int64_t trips;
  bool backward = false; // whether the iterations go from the last slice to the first
  llvm::SmallVector<mlir::Value> inits = {}, stacked = {};
};

/// Builds the scan. `inputsOf` gives the inputs of the graph for the arguments of the scan's body, of which the first
/// are the carried values. `results` is shown what the graph returns; what it leaves there are the carried values and,
/// behind them, the slices of stacked results. What the body takes from the graph around it is invariant.
graph::ScanOp repeat(Node &, onnx::GraphProto &, const Repetition &,
                     llvm::function_ref<std::vector<Entry>(llvm::ArrayRef<mlir::BlockArgument>)> inputsOf,
                     llvm::function_ref<void(std::vector<Entry> &)> results);

/// The attribute that holds a body or a branch; fails where it is missing.
onnx::GraphProto &bodyOf(Node &, llvm::StringRef name);

void scanOp(Node &);
void loopOp(Node &);

} // namespace mpc::onnx_import
#endif
