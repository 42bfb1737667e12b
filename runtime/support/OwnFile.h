// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The file that this code was loaded from: the program itself, or the shared library that contains the runtime.
#pragma once

#include <string>

namespace mpc::rt {

/// Returns its path, which is absolute if the system tells it (this needs /proc for libraries opened by a relative
/// path). Throws Error.
std::string ownFile();

/// When the runtime lies in a library that was opened privately (dlopen with RTLD_LOCAL), makes its exported symbols
/// visible to objects that are opened later: compiled kernels import some.
void exposeOwnSymbols();

} // namespace mpc::rt
