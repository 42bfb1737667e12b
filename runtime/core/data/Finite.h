// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A quick check of floats that a step is to read.
#pragma once

#include "runtime/support/DType.h"

namespace mpc::rt {

/// Returns true if none of `count` floats, not necessarily aligned, is infinite or NaN. Returns false for f64 without
/// looking: few inputs are of that type.
bool surelyFinite(mpc_dtype type, const std::byte *floats, size_t count);

} // namespace mpc::rt
