//===- HostLibrary.h - what the compiler needs of this machine's runtime -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_TOOLS_MPC_HOSTLIBRARY_H
#define MPC_TOOLS_MPC_HOSTLIBRARY_H
#include "compiler/Pipeline/Pipeline.h"

namespace mpc::tool {

/// Returns options under which library calls get the scratch that they need on this machine, with one thread and with
/// all of its threads: the most that the built-in loops and the oneDNN plugin beside this executable ask for.
HostOptions hostOptions();
/// Returns what the compiler takes from the runtime.
RuntimeHooks runtimeHooks();
/// Returns the folder of this executable, which holds mpc-runner and the plugin.
std::string executableFolder();

} // namespace mpc::tool
#endif
