// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the fuzz targets of the picture plugin share.
#pragma once

#include "runtime/images/Reader.h"
#include "test/fuzz/runtime/Input.h"

namespace mpc::rt::fuzz {

/// Runs `work`, whose errors may have no place, because the plugin's C interface adds the sample's. Returns whether it
/// took the input.
bool acceptsPicture(const std::function<void()> &work);

/// Decodes the bytes in grey and in colours, whole and at a reduced scale, and checks what the results claim.
void decodePicture(const uint8_t *data, size_t size);

/// Opens a source, checks what it says of its samples, and reads the first of them if `read`.
void inspectSource(std::unique_ptr<const images::Source> source, bool read);

} // namespace mpc::rt::fuzz
