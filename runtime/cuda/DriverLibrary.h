// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finds the library of NVIDIA's driver on a machine.
#pragma once

#include <span>
#include <string>

namespace mpc::rt::cuda {

struct OpenedLibrary {
  void *handle = nullptr; // what dlopen returned; null if no place has a library that loads
  std::string tried;      // the places that were tried in vain, each with its reason
};

/// Opens a library with the system's loader, which looks into LD_LIBRARY_PATH and its own list of folders, and then in
/// `folders` in their order. What lies in one of `folders` is loaded only if no other user could have put it there.
OpenedLibrary openLibrary(const std::string &name, std::span<const char *const> folders);

/// Opens libcuda.so.1 and returns its handle. Throws Error that lists where it was looked for.
void *openDriverLibrary();

} // namespace mpc::rt::cuda
