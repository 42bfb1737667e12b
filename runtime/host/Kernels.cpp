#include "runtime/host/Kernels.h"

#include "mpc/cpu.h"
#include "runtime/support/Error.h"
#include "runtime/support/OwnFile.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

namespace mpc::rt {

extern "C" void mpc_kernel_imports_anchor(); // keeps KernelImports.cpp in every program

/// Those of `needed` (names of mpc/cpu.h, separated by spaces) that this CPU lacks, separated by ", ".
static std::string lackedFeatures(std::string_view needed) {
#define MPC_FEATURE(NAME) {NAME, bool(__builtin_cpu_supports(NAME))},
  const std::pair<std::string_view, bool> features[] = {MPC_CPU_FEATURES(MPC_FEATURE)};
#undef MPC_FEATURE
  std::string lacked;
  while (!needed.empty()) {
    size_t length = std::min(needed.find(' '), needed.size());
    std::string_view name = needed.substr(0, length);
    needed.remove_prefix(std::min(length + 1, needed.size()));
    bool has = false;
    for (const auto &[known, runs] : features)
      has |= known == name && runs;
    if (!has)
      lacked += concat(lacked.empty() ? "" : ", ", name);
  }
  return lacked;
}

std::string bestKernelObject(const std::map<std::string, std::string_view> &sections,
                             const std::string &where) {
  auto level = [](bool runs, const char *name) { return std::string(runs ? "" : name); };
  auto needed = sections.find("host.native.cpu");
  struct Candidate {
    const char *section;
    std::string lacked; // what it needs and this CPU has not
  };
  const Candidate candidates[] = {
      {"host.native.so", needed == sections.end() ? "" : lackedFeatures(needed->second)},
      {"host.x86-64-v4.so", level(__builtin_cpu_supports("x86-64-v4"), "x86-64-v4")},
      {"host.x86-64-v3.so", level(__builtin_cpu_supports("x86-64-v3"), "x86-64-v3")},
  };
  std::string present;
  for (const Candidate &candidate : candidates) {
    if (!sections.count(candidate.section))
      continue;
    if (candidate.lacked.empty())
      return candidate.section;
    present += concat(present.empty() ? "" : "; ", candidate.section, " needs ", candidate.lacked);
  }
  if (!present.empty())
    fail(where, concat("this CPU can run none of its kernels: ", present),
         "run it on a CPU that has that, or compile the model for this one: --cpu=native here, or "
         "--cpu=x86-64-v3");
  return "";
}

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

void Kernels::load(std::string_view object, const std::string &where) {
  mpc_kernel_imports_anchor();
  where_ = where;
  int file = memfd_create("mpc-kernels", MFD_CLOEXEC);
  std::string path = concat("/proc/self/fd/", file);
  bool temporary = file < 0 || access(path.c_str(), R_OK) != 0;
  if (temporary) { // no memfd or no /proc: a file that is unlinked as soon as it is open
    if (file >= 0)
      close(file);
    const char *variable = std::getenv("TMPDIR");
    std::string own = ownFile();
    const std::string folders[] = {variable && *variable ? concat(variable, "/") : "/tmp/", own.substr(0, own.rfind('/') + 1)};
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
  handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  std::string reason = handle_ ? "" : dlerror();
  file_ = file;
  if (temporary)
    unlink(path.c_str());
  if (!handle_)
    fail(where, concat("cannot load the kernels: ", reason), "compile the model again");
}

Kernels::~Kernels() {
  if (handle_)
    dlclose(handle_);
  if (file_ >= 0)
    close(file_);
}

mpc_kernel_fn Kernels::find(const std::string &symbol) const {
  if (auto it = table_.find(symbol); it != table_.end())
    return it->second;
  void *address = handle_ ? dlsym(handle_, symbol.c_str()) : nullptr;
  if (!address)
    fail(where_, concat("has no kernel '", symbol, "'"), "compile the model again");
  return reinterpret_cast<mpc_kernel_fn>(address);
}

} // namespace mpc::rt
