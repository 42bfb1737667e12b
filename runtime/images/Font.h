// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Letters of 5x7 dots.
#pragma once

#include <cstdint>

namespace mpc::images {

constexpr int kLetterWidth = 5, kLetterHeight = 7;

/// Returns the columns of a letter from left to right; bit 0 is the uppermost dot. A letter that is not printable ASCII
/// is a question mark.
const uint8_t *letter(char c);

} // namespace mpc::images
