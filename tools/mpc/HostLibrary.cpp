//===- HostLibrary.cpp - what the compiler needs of this machine's runtime -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/mpc/HostLibrary.h"
#include "runtime/host/generic/GenericLibrary.h"
#include "tools/mpc/LossWeights.h"
#include <filesystem>
#include <thread>

namespace mpc::tool {

std::string executableFolder() {
  std::error_code code;
  auto path = std::filesystem::read_symlink("/proc/self/exe", code);
  return code ? "." : path.parent_path().string();
}

RuntimeHooks runtimeHooks() { return {.builtInLibrary = mpc_generic_library, .expandLossWeights = expandLossWeights}; }

/// Returns the path of the plugin beside this executable, or nothing where it is missing or does not start; the
/// built-in loops compute without it.
static std::string plugin() {
  std::string path = executableFolder() + "/libmpc_onednn.so", why;
  return openLibrary(path, why) ? path : "";
}

HostOptions hostOptions() {
  static const std::string library = plugin();
  HostOptions options;
  options.scratch = {.threads = std::max(1u, std::thread::hardware_concurrency()), .library = library};
  options.builtInLibrary = mpc_generic_library;
  return options;
}

} // namespace mpc::tool
