// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// This target parses and inspects a .npy file, writes it again and parses the result.
#include "runtime/core/data/Npy.h"
#include "test/fuzz/runtime/Input.h"

#include <cstring>

using namespace mpc::rt;
using namespace mpc::rt::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  accepts([&] {
    Array array = parseNpy(view(data, size), nullptr, "input.npy");
    inspect(array);
    size_t bytes = size_t(array.elements()) * sizeOf(array.dtype);
    std::string header = npyHeader(array.dtype, array.shape);
    if (header.size() > 65535 + 10)
      return; // longer headers do not fit version 1, which we write
    std::string again = header + std::string(reinterpret_cast<const char *>(array.data), bytes);
    Array second = parseNpy(again, nullptr, "again.npy");
    if (second.dtype != array.dtype || second.shape != array.shape ||
        (bytes > 0 && std::memcmp(second.data, array.data, bytes) != 0))
      finding("an array differs after it was written and read");
  });
  return 0;
}
