// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/host/SharedObject.h"

#include "runtime/support/Error.h"
#include "runtime/support/OwnFile.h"

#include <cerrno>
#include <cstdlib>
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

namespace mpc::rt {

static void writeAll(int file, std::string_view bytes, const std::string &where) {
  while (!bytes.empty()) {
    ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      failErrno(where, "cannot unpack the kernels", errno);
    bytes.remove_prefix(size_t(written));
  }
}

SharedObject::SharedObject(std::string_view object, const std::string &where, bool global) {
  int file = memfd_create("mpc-kernels", MFD_CLOEXEC);
  std::string path = concat("/proc/self/fd/", file);
  bool temporary = file < 0 || access(path.c_str(), R_OK) != 0;
  if (temporary) { // without memfd or /proc it uses a file that is unlinked as soon as it is open
    if (file >= 0)
      close(file);
    const char *variable = std::getenv("TMPDIR");
    std::string own = ownFile();
    const std::string folders[] = {variable && *variable ? concat(variable, "/") : "/tmp/",
                                   own.substr(0, own.rfind('/') + 1)};
    file = -1;
    for (size_t i = 0; i < 2 && file < 0; ++i) {
      path = concat(folders[i], "mpc-kernels-XXXXXX");
      file = mkstemp(path.data());
    }
    if (file < 0)
      failErrno(path, "cannot create", errno);
  }
  try {
    writeAll(file, object, where);
  } catch (...) {
    close(file);
    if (temporary)
      unlink(path.c_str());
    throw;
  }
  exposeOwnSymbols();
  handle_ = dlopen(path.c_str(), RTLD_NOW | (global ? RTLD_GLOBAL : RTLD_LOCAL));
  std::string reason = handle_ ? "" : dlerror();
  if (temporary)
    unlink(path.c_str());
  if (!handle_) {
    close(file);
    fail(where, concat("cannot load the kernels: ", reason), "compile the model again");
  }
  file_ = file;
}

SharedObject::~SharedObject() {
  if (handle_)
    dlclose(handle_);
  if (file_ >= 0)
    close(file_);
}

void *SharedObject::symbol(const std::string &name) const { return dlsym(handle_, name.c_str()); }

} // namespace mpc::rt
