// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A shared object that is opened from memory.
#pragma once

#include <string>
#include <string_view>

namespace mpc::rt {

class SharedObject {
public:
  /// Opens the object and binds all symbols at once; `global` makes its own symbols visible to objects that are
  /// opened later. Its imports resolve to libm, libc and the symbols that this program exports. Throws Error
  /// located at `where`.
  SharedObject(std::string_view bytes, const std::string &where, bool global = false);
  ~SharedObject();
  SharedObject(const SharedObject &) = delete;
  SharedObject &operator=(const SharedObject &) = delete;

  /// Returns the address of a symbol, or null when there is none of this name.
  void *symbol(const std::string &name) const;

private:
  void *handle_ = nullptr;
  // Stays open as long as the object, because dlopen takes two objects of one name, /proc/self/fd/N, for the same.
  int file_ = -1;
};

} // namespace mpc::rt
