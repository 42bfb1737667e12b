// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Decides which files a program may load code from without being told to.
#pragma once

#include <string>

namespace mpc::rt {

/// Returns the folder of the running program, or of the library that contains the runtime, with a
/// trailing '/'; or empty.
std::string programFolder();

/// A file to load code from.
struct CodeFile {
  /// Has no links, so that a link which is changed after the check has no effect.
  std::string path;
  /// Says why the code may come from a user other than root and this one: "/tmp/x belongs to another user"; else empty.
  std::string distrusted;
};

/// Checks the file, and all folders above it.
CodeFile codeFile(const std::string &file);

/// Checks a file in the program's folder, but not the folders above it: whoever may replace the program has no need to
/// replace its libraries. But in a folder like /tmp anyone may put a file beside the program. The file may also belong
/// to the program's owner.
CodeFile codeFileBeside(const std::string &file);

} // namespace mpc::rt
