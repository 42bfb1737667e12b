//===- RandomShapes.h - Seeded random descriptions --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_TEST_RUNTIME_LIBRARY_RANDOMSHAPES_H
#define MPC_TEST_RUNTIME_LIBRARY_RANDOMSHAPES_H

#include "Reference.h"

namespace mpc::test {

/// Returns a valid description of operation `op` with operands of `type`, which is the same for the same
/// seed. Sizes are small (about a million products at most) but reach past one tile, one panel and one block
/// of the depth; extents of one are frequent.
Desc randomDesc(int32_t op, int32_t type, uint64_t seed);

} // namespace mpc::test

#endif
