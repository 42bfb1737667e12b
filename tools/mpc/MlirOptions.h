//===- MlirOptions.h - MLIR's own options on mpc's command line ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_TOOLS_MPC_MLIROPTIONS_H
#define MPC_TOOLS_MPC_MLIROPTIONS_H
#include <string>
#include <vector>

namespace mpc::tool {

/// Removes --mlir-... options (--mlir-timing, --mlir-print-ir-after-all, --mlir-pass-pipeline-crash-reproducer=FILE,
/// ...) from `words`, which then hold the rest of the command line, and hands them to MLIR. Prints an error and returns
/// false if MLIR does not know one.
bool takeMlirOptions(std::vector<std::string> &words);

} // namespace mpc::tool
#endif
