//===- NarrowMatmul.h - Products of few rows --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_RUNTIME_ONEDNN_NARROWMATMUL_H
#define MPC_RUNTIME_ONEDNN_NARROWMATMUL_H

#include "Primitive.h"

namespace mpc::onednn {

/// Makes a product of few rows and a large second operand, in f16, bf16 or f32, that is read where it lies. Returns
/// null for other products, and for [k,n] operands in 16 bits, which the generic kernels widen as they pack them.
std::unique_ptr<generic::Primitive> makeNarrowMatmul(const mpc_library_desc &, int threads);

} // namespace mpc::onednn

#endif
