// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/host/LibraryProvider.h"

#include "runtime/host/Plugins.h"
#include "runtime/host/generic/GenericLibrary.h"
#include "runtime/support/Error.h"

#include <dlfcn.h>

namespace mpc::rt {

static constexpr char kPlugin[] = "libmpc_onednn.so";

/// Opens the plugin; on failure returns null and says why in `reason`.
static const mpc_library *openPlugin(const std::string &installation, int threads, std::string &reason) {
  const mpc_library *library = nullptr;
  reason = loadPlugin(kPlugin, installation, [&](void *handle) -> std::string {
    auto entry = reinterpret_cast<mpc_library_entry_fn>(dlsym(handle, MPC_LIBRARY_ENTRY));
    const mpc_library *found = entry ? entry(threads) : nullptr;
    if (!found)
      return "is no library provider or failed to start";
    if (found->abi != MPC_LIBRARY_ABI)
      return "has another interface version";
    library = found;
    return "";
  });
  return library;
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
