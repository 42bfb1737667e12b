// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// This target reads IDX files, plain and in gzip. Half of the mutations of a gzip file change what is packed in it.
#include "runtime/core/data/Idx.h"
#include "test/fuzz/runtime/Input.h"

#include <cstring>
#include <zlib.h>

using namespace mpc::rt;
using namespace mpc::rt::fuzz;

extern "C" {
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (isIdx(view(data, size)))
    accepts([&] { inspect(parseIdx(view(data, size), "input.idx")); });
  return 0;
}

/// Unpacks gzip, mutates the content, and packs it again; other bytes are mutated directly.
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize, unsigned seed) {
  constexpr size_t kMost = 4096;
  uint8_t plain[kMost];
  z_stream stream = {};
  if (size < 18 || data[0] != 0x1f || data[1] != 0x8b || seed % 2 == 0 || inflateInit2(&stream, 15 + 16) != Z_OK)
    return LLVMFuzzerMutate(data, size, maxSize);
  stream.next_in = data;
  stream.avail_in = uInt(size);
  stream.next_out = plain;
  stream.avail_out = kMost;
  int status = inflate(&stream, Z_FINISH);
  size_t unpacked = kMost - stream.avail_out;
  inflateEnd(&stream);
  if (status != Z_STREAM_END)
    return LLVMFuzzerMutate(data, size, maxSize);
  unpacked = LLVMFuzzerMutate(plain, unpacked, kMost);
  stream = {};
  // Windows and memory are small, because most of the time goes into deflate's tables.
  if (deflateInit2(&stream, 1, Z_DEFLATED, 9 + 16, 1, Z_DEFAULT_STRATEGY) != Z_OK)
    return size;
  stream.next_in = plain;
  stream.avail_in = uInt(unpacked);
  stream.next_out = data;
  stream.avail_out = uInt(maxSize);
  status = deflate(&stream, Z_FINISH);
  size_t packed = maxSize - stream.avail_out;
  deflateEnd(&stream);
  return status == Z_STREAM_END ? packed : LLVMFuzzerMutate(data, size, maxSize);
}
}
