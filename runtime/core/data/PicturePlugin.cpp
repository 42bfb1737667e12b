// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/data/PicturePlugin.h"

#include "runtime/host/Plugins.h"
#include "runtime/support/Error.h"

#include <dlfcn.h>

namespace mpc::rt {

static constexpr char kPlugin[] = "libmpc_images.so";

void failAs(const mpc_data_error &error) { fail(error.where, error.what, error.hint); }

const mpc_data_plugin *picturePlugin(const std::string &what, const std::string &installation) {
  static const mpc_data_plugin *plugin = nullptr; // it stays loaded, and data is opened by one thread
  if (plugin)
    return plugin;
  std::string reason = loadPlugin(kPlugin, installation, [&](void *handle) -> std::string {
    auto entry = reinterpret_cast<mpc_data_entry_fn>(dlsym(handle, MPC_DATA_ENTRY));
    const mpc_data_plugin *found = entry ? entry() : nullptr;
    if (!found)
      return "is no data plugin";
    if (found->abi != MPC_DATA_ABI)
      return "has another interface version";
    plugin = found;
    return "";
  });
  if (!plugin)
    fail(what, concat("a plugin does what pictures need: ", reason),
         concat("compile with --bundle, or put ", kPlugin, " beside the program or into $MPC_LIBRARY_PATH"));
  return plugin;
}

} // namespace mpc::rt
