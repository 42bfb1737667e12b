// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The CRC-32 of zip, gzip and programs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <zlib.h>

namespace mpc::rt {

/// Continues the checksum `crc` with more bytes. Zero bytes are handled here, because for zlib a null address, which an
/// empty tensor has, means to begin anew.
inline uint32_t checksum(uint32_t crc, const void *data, size_t bytes) {
  return bytes == 0 ? crc : uint32_t(crc32_z(crc, static_cast<const Bytef *>(data), bytes));
}

} // namespace mpc::rt
