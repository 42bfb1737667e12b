// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// This target decodes PNG files. Mutations keep the checksums right, since otherwise nearly all would end there.
#include "test/fuzz/runtime/Pictures.h"

#include <cstring>
#include <string>
#include <zlib.h>

namespace {
constexpr size_t kSignature = 8, kAround = 12; // a chunk has its length, type and checksum around its data

uint32_t number(const uint8_t *bytes) {
  return uint32_t(bytes[0]) << 24 | uint32_t(bytes[1]) << 16 | uint32_t(bytes[2]) << 8 | bytes[3];
}
void store(uint8_t *bytes, uint32_t value) {
  for (int i = 0; i < 4; ++i)
    bytes[i] = uint8_t(value >> (24 - 8 * i));
}

/// Returns where a chunk of pixels begins, or `size`.
size_t pixelsAt(const uint8_t *data, size_t size) {
  for (size_t at = kSignature; at + kAround <= size;) {
    if (std::memcmp(data + at + 4, "IDAT", 4) == 0)
      return number(data + at) <= size - at - kAround ? at : size;
    size_t length = number(data + at);
    if (length > size - at - kAround)
      break;
    at += kAround + length;
  }
  return size;
}

void mendChecksums(uint8_t *data, size_t size) {
  for (size_t at = kSignature; at + kAround <= size;) {
    size_t length = number(data + at);
    if (length > size - at - kAround)
      break;
    store(data + at + 8 + length, uint32_t(crc32(0, data + at + 4, uInt(length + 4))));
    at += kAround + length;
  }
}
} // namespace

extern "C" {
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  mpc::rt::fuzz::decodePicture(data, size);
  return 0;
}

/// Mutates the rows within the packed stream, or the file.
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize, unsigned seed) {
  constexpr size_t kMost = 4096;
  size_t at = seed % 2 ? pixelsAt(data, size) : size;
  uint8_t rows[kMost], packed[2 * kMost];
  uLongf unpacked = kMost, bytes = sizeof packed;
  if (at < size && uncompress(rows, &unpacked, data + at + 8, number(data + at)) == Z_OK) {
    size_t mutated = LLVMFuzzerMutate(rows, unpacked, kMost);
    size_t behind = at + kAround + number(data + at), rest = size - behind;
    if (compress2(packed, &bytes, rows, uLong(mutated), 1) == Z_OK && at + kAround + bytes + rest <= maxSize) {
      std::memmove(data + at + kAround + bytes, data + behind, rest);
      store(data + at, uint32_t(bytes));
      std::memcpy(data + at + 8, packed, bytes);
      size = at + kAround + bytes + rest;
    }
  } else {
    size = LLVMFuzzerMutate(data, size, maxSize);
  }
  if (seed % 16 != 0)
    mendChecksums(data, size);
  return size;
}
}
