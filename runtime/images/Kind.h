// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Says what bytes are.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mpc::images {

enum class Kind { Jpeg, Png, Other };

/// Looks at the first bytes of a file. For another kind, `name` says what it is: "a GIF picture".
Kind kindOf(const uint8_t *data, size_t bytes, const char *&name);

} // namespace mpc::images
