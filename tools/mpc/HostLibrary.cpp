//===- HostLibrary.cpp - asks the host's library about its calls ---------------------------------===//
#include "tools/mpc/HostLibrary.h"
#include "runtime/host/LibraryProvider.h"
#include "runtime/host/generic/GenericLibrary.h"
#include <dlfcn.h>
#include <filesystem>
#include <thread>

namespace mpc::tool {

std::string executableFolder() {
  std::error_code code;
  auto path = std::filesystem::read_symlink("/proc/self/exe", code);
  return code ? "." : path.parent_path().string();
}

/// Returns the plugin beside this executable, or null.
static const mpc_library *plugin(int threads) {
  static const mpc_library *library = [threads]() -> const mpc_library * {
    void *handle = dlopen((executableFolder() + "/libmpc_onednn.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    auto entry = handle ? reinterpret_cast<mpc_library_entry_fn>(dlsym(handle, MPC_LIBRARY_ENTRY)) : nullptr;
    return entry ? entry(threads) : nullptr;
  }();
  return library;
}

LibraryScratchFn libraryScratch() {
  int threads = std::max(1u, std::thread::hardware_concurrency());
  return [threads](const mpc_library_desc &desc, int64_t &bytes, std::string &error) {
    bool computed = false;
    bytes = 0;
    auto ask = [&](const mpc_library *library) {
      char text[256] = "";
      mpc_library_primitive *primitive = library ? library->create(&desc, text, sizeof text) : nullptr;
      if (!primitive) {
        error = library ? text : error;
        return;
      }
      bytes = std::max<int64_t>(bytes, library->scratch_bytes(primitive));
      library->destroy(primitive);
      computed = true;
    };
    // The built-in loops use other blocks on one thread (`--threads 1`) than on several, and so another amount of scratch.
    for (int count : {1, threads})
      ask(mpc_generic_library(count));
    ask(plugin(threads));
    return computed;
  };
}

} // namespace mpc::tool
