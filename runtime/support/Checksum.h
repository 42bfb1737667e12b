// The CRC-32 of zip, gzip and programs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <zlib.h>

namespace mpc::rt {

/// Of what `crc` is the checksum of, and the bytes behind it. To zlib no bytes at a null address, as an empty tensor has them,
/// mean something else: to begin anew.
inline uint32_t checksum(uint32_t crc, const void *data, size_t bytes) {
  return bytes == 0 ? crc : uint32_t(crc32_z(crc, static_cast<const Bytef *>(data), bytes));
}

} // namespace mpc::rt
