// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Locks that keep two processes from writing the same files. The kernel releases them when a process ends,
// however it ends.
#pragma once

#include <functional>
#include <string>

namespace mpc::rt {

enum class Lock { Taken, Busy, Impossible }; // Impossible: for example on this file system; errno says why
/// Takes the lock of an open file, and keeps it as long as the file stays open. It never waits.
Lock lockFile(int file);

/// While an object of this class lives, no other process has one for the same folder. It locks the file ".mpc-lock" in
/// the folder; such a file that a killed process leaves behind has no effect.
class FolderLock {
public:
  /// Throws Error that names the process that holds the lock. If a folder cannot be locked (because only others may
  /// write it, or the file system has no locks), it goes on without a lock and tells `note`.
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
