// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// This target opens lists of pictures, without reading what they name.
#include "test/fuzz/runtime/Pictures.h"

using namespace mpc::rt::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string &path = asFile(data, size);
  std::unique_ptr<const mpc::images::Source> source;
  if (accepts([&] { source = mpc::images::openList(path); }))
    inspectSource(std::move(source), false);
  return 0;
}
