//===- NarrowKernels.h - Vector code for products of few rows ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The register tiles of `generic`, except that they fetch a large operand ahead, which is read once from beyond the
// caches. For operands that are packed first, that costs 3 to 6 percent and gains nothing. The code is compiled once
// per instruction set.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_RUNTIME_ONEDNN_NARROWKERNELS_H
#define MPC_RUNTIME_ONEDNN_NARROWKERNELS_H

#include "Kernels.h"

namespace mpc::onednn {

/// These take a product of one run that starts at 0.
struct NarrowKernels {
  /// Reads A, which is row-major and of the mpc_dtype `type`, at `rows` instead of at product.a, and widens it. It takes
  /// at least `tileRows` rows and does not accumulate.
  void (*streamRows)(const generic::Product<float> &product, const void *rows, int32_t type);
  /// Reads a column-major A, and B as a matrix [length, ldb].
  void (*streamColumns)(const generic::Product<float> &product);
};

/// Returns the functions for the instruction set of generic::kernels().
const NarrowKernels &narrowKernels();

} // namespace mpc::onednn

#endif
