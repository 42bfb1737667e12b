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
  static constexpr int chunk = 32; ///< elements of a row of A that lie together while a tile multiplies by them
  /// Reads A, which is row-major and of the mpc_dtype `type`, at `rows` instead of at product.a, and widens it. It
  /// takes at least `tileRows` rows, one behind the other (lda is the length), and does not accumulate.
  void (*streamRows)(const generic::Product<float> &product, const void *rows, int32_t type);
  /// Reads A as [chunks of k, lda / chunk, chunk], so that one register addresses all rows, and B as [length, ldb].
  void (*streamColumns)(const generic::Product<float> &product);
  /// Copies to[column * ldTo + row] = from[row * ldFrom + column] for all rows and columns up to the next multiples of
  /// the vector length, which must be readable and writable.
  void (*transpose)(const float *from, int64_t ldFrom, float *to, int64_t ldTo, int64_t rows, int64_t columns);
};

/// Returns the functions for the instruction set of generic::kernels().
const NarrowKernels &narrowKernels();

} // namespace mpc::onednn

#endif
