// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// NumPy's .npy format, versions 1 to 3 (numpy.lib.format): one array behind a header that is a Python literal.
#pragma once

#include "runtime/core/data/Array.h"

namespace mpc::rt {

bool isNpy(std::string_view bytes);

/// Parses the array in `bytes`, which `owner` keeps alive. Fortran order is turned into C order. Supported are bool,
/// (u)int8 to 64, and float16 to 64, little endian. Throws Error located at `where`.
Array parseNpy(std::string_view bytes, std::shared_ptr<const void> owner, const std::string &where,
               const ArrayCheck &check = {});

/// The header, which stands before the elements.
struct NpyHeader {
  mpc_dtype dtype = MPC_F32;
  Shape shape;
  bool fortran = false;
  size_t bytes = 0, dataBytes = 0; // sizes of the header and of the elements
};
/// A header has at most this many bytes.
inline constexpr size_t kNpyHeaderBytes = 65536;
/// Parses the header at the beginning of `bytes`, which need not hold more than that.
NpyHeader parseNpyHeader(std::string_view bytes, const std::string &where);

/// Makes the .npy header for a C-ordered array; bf16 has no NumPy type and must be converted first.
std::string npyHeader(mpc_dtype dtype, const Shape &shape);

} // namespace mpc::rt
