// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The log as a file of JSON lines, or as a CSV table.
#pragma once

#include "runtime/core/LogSink.h"

#include <memory>
#include <string>
#include <vector>

namespace mpc::rt {

/// Opens the file that RunLog describes, a table of `columns` where its name ends in ".csv". With `keepBelow` >= 0 it
/// keeps the lines whose step is at most that number, else none. Throws Error when the file cannot be written, when
/// another training is writing it, when it is no log, and when it is a table with other columns.
std::unique_ptr<LogSink> openLogFile(const std::string &path, int64_t keepBelow,
                                     const std::vector<std::string> &columns);

} // namespace mpc::rt
