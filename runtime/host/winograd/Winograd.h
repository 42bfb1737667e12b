//===- Winograd.h - Convolutions with fewer products -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_RUNTIME_HOST_WINOGRAD_WINOGRAD_H
#define MPC_RUNTIME_HOST_WINOGRAD_WINOGRAD_H

#include "Primitive.h"

namespace mpc::winograd {

/// Returns whether makeWinograd takes a description: a convolution or gradient of two dimensions in f16, bf16 or f32,
/// without dilations and groups, with 3 to 7 taps (4 to 7 with strides of 2) along each dimension, less padding than
/// taps, and at least 16 channels on either side.
bool computes(const mpc_library_desc &);

/// Returns whether Winograd's method is expected to be faster than direct sums. `isBf16Fast`: direct sums of bf16 are
/// computed by instructions for bf16, which are faster than those for f32.
bool isFaster(const mpc_library_desc &, bool isBf16Fast);

/// Makes the primitive of a description that computes() takes. Returns null where its scratch would be larger than
/// 256 MiB.
std::unique_ptr<generic::Primitive> makeWinograd(const mpc_library_desc &, int threads);

} // namespace mpc::winograd

#endif
