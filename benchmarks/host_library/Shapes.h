//===- Shapes.h - What training steps ask of the library --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_BENCHMARKS_HOST_LIBRARY_SHAPES_H
#define MPC_BENCHMARKS_HOST_LIBRARY_SHAPES_H

#include "mpc/library.h"

#include <string>
#include <vector>

namespace mpc::bench {

struct Shape {
  std::string name;
  mpc_library_desc desc; // types are left to the caller
};

/// Returns the forward pass, input gradient and weight gradient of the layers of an MLP (batch 128, 784-512-512-10),
/// LeNet (batch 128) and ResNet-18 on 32x32 images (batch 32), and one attention head's products.
std::vector<Shape> shapes();

/// Returns the multiply-adds times two.
double flops(const mpc_library_desc &);
/// Returns the numbers of elements of the two operands and the result.
void elements(const mpc_library_desc &, int64_t (&counts)[3]);

} // namespace mpc::bench

#endif
