// What a command writes must not be what it reads.
#pragma once

#include <string>
#include <vector>

namespace mpc::rt {

/// Throws Error when a file that is to be written is one of those that are read, under whatever name: another
/// path, a symbolic or a hard link. Names without a file behind them are of no matter, nor are devices and
/// pipes.
void checkOutput(const std::string &output, const std::vector<std::string> &inputs);

} // namespace mpc::rt
