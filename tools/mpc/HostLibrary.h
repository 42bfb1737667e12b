//===- HostLibrary.h - asks the host's library about its calls -----------------------------------===//
#ifndef MPC_TOOLS_MPC_HOSTLIBRARY_H
#define MPC_TOOLS_MPC_HOSTLIBRARY_H
#include "compiler/Pipeline/Pipeline.h"

namespace mpc::tool {

/// Returns the scratch of library calls: the larger of the sizes that the built-in provider and the oneDNN plugin need.
LibraryScratchFn libraryScratch();
/// Returns the folder of this executable, which holds mpc-runner and the plugin.
std::string executableFolder();

} // namespace mpc::tool
#endif
