// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// This target decodes JPEG files.
#include "test/fuzz/runtime/Pictures.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  mpc::rt::fuzz::decodePicture(data, size);
  return 0;
}
