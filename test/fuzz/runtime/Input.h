// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the fuzz targets of the runtime share.
#pragma once

#include "runtime/core/data/Array.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace mpc::rt::fuzz {

inline std::string_view view(const uint8_t *data, size_t size) { return {reinterpret_cast<const char *>(data), size}; }

/// Returns the path of a file in memory that holds the input, for readers that take a path. There is one such file at a
/// time. Its mapping ends where the file does (Input.cpp), so that AddressSanitizer finds a read beyond it.
const std::string &asFile(const uint8_t *data, size_t size);

/// Returns whether the reader took the input. A reader may refuse it by an Error that has a place, a clause and a hint.
/// Any other exception and any other Error is a finding and ends the process.
bool accepts(const std::function<void()> &reader);

/// Ends the process with a message, because the input shows a defect.
[[noreturn]] void finding(const std::string &what);

/// Checks what an array claims to hold: its shape has a size, its bytes are there, and its elements can be converted.
void inspect(const Array &array);

} // namespace mpc::rt::fuzz
