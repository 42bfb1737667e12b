// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Files and folders that a command writes.
#pragma once

#include <string>
#include <vector>

namespace mpc::rt {

/// Throws Error when a file that is to be written is one of those that are read, under whatever name: another path, a
/// symbolic or a hard link. Names without a file behind them are allowed, and so are devices and pipes.
void checkOutput(const std::string &output, const std::vector<std::string> &inputs);

/// Makes a folder, and those above it, where they are missing. Returns whether it is there now.
bool makeFolders(const std::string &folder);

} // namespace mpc::rt
