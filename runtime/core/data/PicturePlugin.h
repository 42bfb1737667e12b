// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The plugin for pictures, libmpc_images.so (mpc/data.h).
#pragma once

#include "mpc/data.h"

#include <string>

namespace mpc::rt {

/// Returns the plugin. `what` needs it (a file or an option), and is where the Error is located that is thrown if it
/// cannot be loaded. `installation`: see loadPlugin.
const mpc_data_plugin *picturePlugin(const std::string &what, const std::string &installation);

/// Throws what the plugin says.
[[noreturn]] void failAs(const mpc_data_error &error);

} // namespace mpc::rt
