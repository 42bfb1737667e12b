// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/cuda/DriverLibrary.h"

#include "runtime/host/Trust.h"
#include "runtime/support/Error.h"

#include <dlfcn.h>
#include <unistd.h>

namespace mpc::rt::cuda {

static constexpr char kLibrary[] = "libcuda.so.1";
/// The folders where drivers lie on machines whose loader does not list them.
static constexpr const char *kFolders[] = {
    "/usr/local/nvidia/lib64",   // containers into which the driver of their machine is mounted
    "/usr/lib/x86_64-linux-gnu", // Debian and Ubuntu
    "/usr/lib64",                // Red Hat, SUSE
    "/usr/lib/wsl/lib",          // Windows (WSL 2)
    "/run/opengl-driver/lib",    // NixOS
    "/usr/local/cuda/compat",    // NVIDIA's newer library for an older driver; last, because few GPUs support it
};

OpenedLibrary openLibrary(const std::string &name, std::span<const char *const> folders) {
  constexpr int flags = RTLD_NOW | RTLD_LOCAL;
  OpenedLibrary opened;
  opened.handle = dlopen(name.c_str(), flags);
  if (opened.handle)
    return opened;
  opened.tried = concat("the system's loader says: ", dlerror());
  std::string without;
  for (const char *folder : folders) {
    std::string path = concat(folder, "/", name);
    if (access(path.c_str(), F_OK) != 0) {
      without += concat(without.empty() ? "" : ", ", folder);
      continue;
    }
    CodeFile file = codeFile(path);
    if (!file.distrusted.empty()) {
      opened.tried += concat("; ", path, " is not loaded, because ", file.distrusted);
      continue;
    }
    opened.handle = dlopen(file.path.c_str(), flags);
    if (opened.handle)
      return opened;
    opened.tried += concat("; ", dlerror());
  }
  if (!without.empty())
    opened.tried += concat("; it is not in ", without);
  return opened;
}

void *openDriverLibrary() {
  OpenedLibrary opened = openLibrary(kLibrary, kFolders);
  if (!opened.handle)
    fail("cuda", concat("this machine has no NVIDIA driver (", opened.tried, ")"),
         "install the driver of its GPU, or, if `find / -name libcuda.so.1` finds one, put its folder into "
         "LD_LIBRARY_PATH");
  return opened.handle;
}

} // namespace mpc::rt::cuda
