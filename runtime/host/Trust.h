// Which files a program may load code from without being told to.
#pragma once

#include <string>

namespace mpc::rt {

/// The folder of the running program, or of the library that contains the runtime, with a trailing '/'; or empty.
std::string programFolder();

/// Why code in the file may be of somebody who is neither root nor this user: "/tmp/x belongs to another user". Empty when it cannot be. Looks
/// at the file, and at all folders on its way, since who may write to one of those may put another file in its place.
std::string distrust(const std::string &file);

/// The same for a file in the program's folder: who may replace the program need not replace its libraries, but in a folder like
/// /tmp anyone may put one beside it. Its owner may also be the program's.
std::string distrustBeside(const std::string &file);

} // namespace mpc::rt
