// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/host/Trust.h"

#include "runtime/support/Error.h"
#include "runtime/support/OwnFile.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>

namespace mpc::rt {

static std::string ownPath() {
  std::string whole;
  attempt([&] { whole = ownFile(); });
  return whole;
}

std::string programFolder() {
  std::string whole = ownPath();
  size_t slash = whole.rfind('/');
  return slash == whole.npos ? "" : whole.substr(0, slash + 1);
}

/// Says why a file or folder may be another user's, by its owner and by who may write to it; "" if it may not.
static std::string distrustOne(const std::string &path, uid_t alsoTrusted) {
  struct stat info;
  if (lstat(path.c_str(), &info) != 0)
    return concat(path, ": ", std::strerror(errno));
  if (info.st_uid != 0 && info.st_uid != geteuid() && info.st_uid != alsoTrusted)
    return path + " belongs to another user";
  // In a sticky folder nobody can remove another user's entry, and the entry in question has been checked already. A
  // link's mode means nothing.
  if (S_ISLNK(info.st_mode) || (S_ISDIR(info.st_mode) && (info.st_mode & S_ISVTX)))
    return "";
  // Many systems give each user a group of the same number and make files writable for it by default.
  bool others =
      (info.st_mode & S_IWOTH) || ((info.st_mode & S_IWGRP) && info.st_gid != 0 && info.st_gid != info.st_uid);
  return others ? path + " may be written by other users" : "";
}

/// Checks the file and all folders above it, because whoever may write to one of those may put another
/// file in its place.
static std::string distrustWay(std::string path, uid_t alsoTrusted) {
  for (;;) {
    if (std::string why = distrustOne(path, alsoTrusted); !why.empty() || path == "/")
      return why;
    path.resize(std::max<size_t>(path.rfind('/'), 1));
  }
}

static CodeFile resolved(const std::string &file) {
  char real[PATH_MAX];
  if (!realpath(file.c_str(), real))
    return {file, concat(file, ": ", std::strerror(errno))};
  return {real, ""};
}

CodeFile codeFile(const std::string &file) {
  CodeFile found = resolved(file);
  if (found.distrusted.empty())
    found.distrusted = distrustWay(found.path, geteuid());
  return found;
}

CodeFile codeFileBeside(const std::string &file) {
  struct stat program, entry;
  uid_t owner = stat(ownPath().c_str(), &program) == 0 ? program.st_uid : geteuid();
  CodeFile found = resolved(file);
  if (!found.distrusted.empty())
    return found;
  // The target of a link lies in other folders, which only the link's owner chose; so all of them are checked.
  bool linked = lstat(file.c_str(), &entry) == 0 && S_ISLNK(entry.st_mode);
  found.distrusted = linked ? distrustOne(file, owner) : "";
  if (found.distrusted.empty())
    found.distrusted = linked ? distrustWay(found.path, owner) : distrustOne(found.path, owner);
  return found;
}

} // namespace mpc::rt
