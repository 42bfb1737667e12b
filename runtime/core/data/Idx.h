// The IDX format of MNIST: big-endian header (two zero bytes, element type, rank, dimensions), then the
// elements.
#pragma once

#include "runtime/core/data/Array.h"

namespace mpc::rt {

/// True for IDX, plain or in gzip.
bool isIdx(std::string_view bytes);
/// Throws Error located at `where`. The result owns its elements in little-endian order. Of data in gzip no more is unpacked
/// than the header says.
Array parseIdx(std::string_view bytes, const std::string &where, const ArrayCheck &check = {});

} // namespace mpc::rt
