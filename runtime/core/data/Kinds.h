// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Says what a file is that cannot be data, and how to make data of it.
#pragma once

#include <string>
#include <string_view>

namespace mpc::rt {

/// Throws Error for a folder that holds files of arrays and no folders, and names one of the files.
void refuseFolderOfArrays(const std::string &path);

/// Throws Error for a file whose bytes are no array: it names the kind of file (a picture, an archive, text ...), and
/// says how to make an array of that.
[[noreturn]] void refuseData(const std::string &path, std::string_view bytes);

} // namespace mpc::rt
