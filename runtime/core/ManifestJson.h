// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Converts JSON text to a Manifest, without the checks that need more than one field.
#pragma once

#include "runtime/core/Manifest.h"

namespace mpc::rt {

/// Throws Error located at `where` for text that is not JSON, for another format version, and for missing or
/// mistyped fields.
Manifest parseManifestJson(std::string_view json, const std::string &where);

} // namespace mpc::rt
