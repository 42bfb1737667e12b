//===- Winograd.h - Convolutions with a third of the products -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_RUNTIME_HOST_WINOGRAD_WINOGRAD_H
#define MPC_RUNTIME_HOST_WINOGRAD_WINOGRAD_H

#include "Primitive.h"

namespace mpc::winograd {

/// Returns whether makeWinograd takes a description: a convolution or gradient of two dimensions in f16, bf16 or f32,
/// without dilations and groups, with 3 to 7 taps (4 to 7 with strides of 2) along each dimension, less padding than
/// taps, and at least 16 channels on either side.
bool computes(const mpc_library_desc &);

/// Returns whether it is expected to be faster than direct sums of f32, or of bf16 in the processor's own instructions.
bool isFaster(const mpc_library_desc &, bool hasBf16);

std::unique_ptr<generic::Primitive> makeWinograd(const mpc_library_desc &, int threads);

} // namespace mpc::winograd

#endif
