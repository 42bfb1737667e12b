// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// This target opens archives of pictures and reads them. Mutations keep the checksums of headers right.
#include "test/fuzz/runtime/Pictures.h"

#include <cstdio>
#include <cstring>

using namespace mpc::rt::fuzz;

extern "C" {
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string &path = asFile(data, size);
  std::unique_ptr<const mpc::images::Source> source;
  if (accepts([&] { source = mpc::images::openArchives({path}); }))
    inspectSource(std::move(source), true);
  return 0;
}

/// Goes through the blocks as their sizes say, and writes the checksum of each.
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize, unsigned seed) {
  constexpr size_t kBlock = 512;
  size = LLVMFuzzerMutate(data, size, maxSize);
  if (seed % 16 == 0)
    return size;
  for (size_t at = 0; at + kBlock <= size;) {
    uint8_t *block = data + at;
    bool zero = true;
    for (size_t i = 0; i < kBlock; ++i)
      zero &= block[i] == 0;
    if (zero)
      break;
    std::memset(block + 148, ' ', 8);
    unsigned sum = 0;
    for (size_t i = 0; i < kBlock; ++i)
      sum += block[i];
    std::snprintf(reinterpret_cast<char *>(block + 148), 8, "%06o", sum);
    char digits[13] = {};
    std::memcpy(digits, block + 124, 12);
    unsigned long bytes = 0;
    if (std::sscanf(digits, "%lo", &bytes) != 1 || bytes > size)
      bytes = 0;
    at += kBlock + (bytes + kBlock - 1) / kBlock * kBlock;
  }
  return size;
}
}
