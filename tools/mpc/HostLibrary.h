//===- HostLibrary.h - asks the host's library about its calls -----------------------------------===//
#ifndef MPC_TOOLS_MPC_HOSTLIBRARY_H
#define MPC_TOOLS_MPC_HOSTLIBRARY_H
#include "compiler/Pipeline/Pipeline.h"

namespace mpc::tool {

/// Scratch of library calls: the larger of what the built-in provider and the oneDNN plugin ask for.
LibraryScratchFn libraryScratch();
/// The folder of this executable: where mpc-runner and the plugin lie.
std::string executableFolder();

} // namespace mpc::tool
#endif
