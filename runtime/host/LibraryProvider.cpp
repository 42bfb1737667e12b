// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/host/LibraryProvider.h"

#include "runtime/host/Trust.h"
#include "runtime/host/generic/GenericLibrary.h"
#include "runtime/support/Error.h"

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <unistd.h>
#include <vector>

namespace mpc::rt {

static constexpr char kPlugin[] = "libmpc_onednn.so";

/// Returns the places in the order in which they are tried. Unless the user has named the place, no other user may have
/// been able to put the plugin there.
static std::vector<CodeFile> pluginPlaces(const std::string &installation) {
  std::vector<CodeFile> places;
  auto add = [&](const std::string &path, CodeFile (*check)(const std::string &)) {
    if (access(path.c_str(), F_OK) == 0)
      places.push_back(check ? check(path) : CodeFile{path, ""});
  };
  if (std::string folder = programFolder(); !folder.empty())
    add(folder + kPlugin, codeFileBeside);
  bool planted = !places.empty() && !places[0].distrusted.empty();
  if (installation.starts_with('/'))
    add(concat(installation, "/", kPlugin), codeFile);
  if (const char *variable = std::getenv("MPC_LIBRARY_PATH")) {
    std::string_view list = variable;
    while (!list.empty()) {
      size_t colon = std::min(list.find(':'), list.size());
      if (colon > 0)
        add(concat(list.substr(0, colon), "/", kPlugin), nullptr);
      list.remove_prefix(std::min(colon + 1, list.size()));
    }
  }
  if (!planted) // the system's loader may look beside the program too, so it is not asked then
    places.push_back({kPlugin, ""});
  return places;
}

/// Opens the plugin; on failure returns null and says why in `reason`.
static const mpc_library *openPlugin(const std::string &installation, int threads, std::string &reason) {
  for (const CodeFile &place : pluginPlaces(installation)) {
    const std::string &path = place.path;
    if (!place.distrusted.empty()) {
      reason = concat(path, " is not loaded, because ", place.distrusted);
      continue;
    }
    void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
      const char *text = dlerror();
      if (path.find('/') != path.npos) // a file that is there and does not load is worth a message
        reason = text ? text : path;
      continue;
    }
    auto entry = reinterpret_cast<mpc_library_entry_fn>(dlsym(handle, MPC_LIBRARY_ENTRY));
    const mpc_library *library = entry ? entry(threads) : nullptr;
    if (library && library->abi == MPC_LIBRARY_ABI)
      return library;
    reason = concat(path, library ? " has another interface version" : " is no library provider or failed to start");
    dlclose(handle);
  }
  if (reason.empty())
    reason = concat(kPlugin, " not found");
  return nullptr;
}

LibraryProvider::LibraryProvider(std::string_view choice, int threads, const std::string &installation,
                                 const NoteSink &note) {
  if (choice != "auto" && choice != "onednn" && choice != "generic")
    fail("--library", concat("unknown provider '", choice, "'"), "use auto, onednn or generic");
  generic_ = mpc_generic_library(threads);
  if (choice == "generic")
    return;
  std::string reason;
  plugin_ = openPlugin(installation, threads, reason);
  if (plugin_)
    return;
  if (choice == "onednn")
    fail("--library=onednn", reason,
         "compile with --bundle, or put libmpc_onednn.so beside the program or into $MPC_LIBRARY_PATH");
  if (note)
    note(concat(reason, ": slower generic loops run matrix products and convolutions; `mpc compile --bundle` puts "
                        "oneDNN beside the program"));
}

void LibraryProvider::useThreads(Threads *threads) {
  if (!threads)
    return mpc_generic_set_parallel_for(nullptr, nullptr);
  mpc_generic_set_parallel_for(
      [](void *context, int64_t n, int64_t grain, void (*body)(void *, int64_t, int64_t), void *bodyContext) {
        static_cast<Threads *>(context)->parallelFor(body, bodyContext, n, grain);
      },
      threads);
}

LibraryProvider::Primitive LibraryProvider::create(const mpc_library_desc &desc, const std::string &where) const {
  char error[256] = "";
  for (const mpc_library *library : {plugin_, generic_})
    if (library)
      if (mpc_library_primitive *primitive = library->create(&desc, error, sizeof error))
        return {library, primitive};
  fail(where, concat("no library provider can run it: ", std::string_view(error)), "compile the model again");
}

} // namespace mpc::rt
