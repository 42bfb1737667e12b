// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finds the libraries that a program loads when it needs them.
#pragma once

#include "runtime/host/Trust.h"

#include <functional>
#include <string>
#include <vector>

namespace mpc::rt {

/// Loads a plugin: calls `accept` with the handle of each library found, until it takes one. A plugin stays loaded
/// until the process ends.
///
/// The file is looked for beside the program, in `installation` (the folder of the mpc that compiled the program; may
/// be empty), in $MPC_LIBRARY_PATH (folders separated by ':'), then by the system's loader. In the first two it is
/// taken only if no other user can have put it there (Trust.h). `accept` returns "" to take the library, or says what
/// is wrong with it: "has another interface version". Returns "" on success, else a sentence that says why there is no
/// plugin.
std::string loadPlugin(const char *file, const std::string &installation,
                       const std::function<std::string(void *handle)> &accept);

} // namespace mpc::rt
