//===- ResizeTaps.h - interpolation by the elements that each result reads ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_IMPORT_ONNX_OPS_RESIZETAPS_H
#define MPC_IMPORT_ONNX_OPS_RESIZETAPS_H
#include "compiler/Import/Onnx/Node.h"

namespace mpc::onnx_import {

/// This is what Resize does along one dimension, where graph.resize has no mode for it.
struct Filter {
  bool cubic = false; // cubic convolution (Keys 1981) with `a`; else linear
  double a = -0.75;
  bool antialias = false;      // the filter is as wide as the pixels of the result
  bool excludeOutside = false; // elements outside get no weight; else the edge stands for them
};

/// These are the elements that each result reads along a dimension, and their weights: each result has `taps` numbers.
struct Taps {
  std::vector<int64_t> indices; // [results, taps], within the dimension
  std::vector<double> weights;
  int64_t taps = 0;
};

/// `coordinates` says where each result lies, in pixels of an operand of `extent` elements; `scale` is results for each
/// element.
Taps tapsOf(const Filter &, llvm::ArrayRef<double> coordinates, double scale, int64_t extent);

/// Interpolates x along one dimension: sums of gathered elements. Computes in x's element type.
mlir::Value applyTaps(Node &, mlir::Value x, int64_t dim, const Taps &);

} // namespace mpc::onnx_import
#endif
