// Which files a program may load code from without being told to.
#pragma once

#include <string>

namespace mpc::rt {

/// The folder of the running program, or of the library that contains the runtime, with a trailing '/'; or empty.
std::string programFolder();

/// A file to load code from.
struct CodeFile {
  std::string path;       // without links: one that is changed after the check changes nothing
  std::string distrusted; // why its code may be of somebody who is neither root nor this user: "/tmp/x belongs to another user"; else empty
};

/// Looks at the file, and at all folders on its way.
CodeFile codeFile(const std::string &file);

/// The same for a file in the program's folder: who may replace the program need not replace its libraries, but in a folder like
/// /tmp anyone may put one beside it. Its owner may also be the program's.
CodeFile codeFileBeside(const std::string &file);

} // namespace mpc::rt
