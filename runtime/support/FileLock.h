// Locks that tell processes apart which write the same files. The kernel releases them when a process ends, however it ends.
#pragma once

#include <functional>
#include <string>

namespace mpc::rt {

enum class Lock { Taken, Busy, Impossible }; // Impossible: on this file system, for example; errno says why
/// Takes the lock of an open file, as long as that stays open. Never waits.
Lock lockFile(int file);

/// While one lives, no other process has one of the same folder. It is the lock of the file ".mpc-lock" in it; one that a killed
/// process leaves behind has no meaning.
class FolderLock {
public:
  /// Throws Error that names the process that holds it. A folder that cannot be locked (one that only others may write, a file
  /// system without locks) is not: `note` is told.
  FolderLock(const std::string &folder, const std::function<void(const std::string &)> &note);
  ~FolderLock();
  FolderLock(const FolderLock &) = delete;
  FolderLock &operator=(const FolderLock &) = delete;

private:
  Lock take();
  std::string path_;
  int file_ = -1;
};

} // namespace mpc::rt
