// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The IDX format of MNIST: big-endian header (two zero bytes, element type, rank, dimensions), then the elements.
#pragma once

#include "runtime/core/data/Array.h"

namespace mpc::rt {

/// Returns true for IDX, plain or in gzip.
bool isIdx(std::string_view bytes);
/// Throws Error located at `where`. The result owns its elements in little-endian order. From gzip data it unpacks no
/// more than the header announces.
Array parseIdx(std::string_view bytes, const std::string &where, const ArrayCheck &check = {});

} // namespace mpc::rt
